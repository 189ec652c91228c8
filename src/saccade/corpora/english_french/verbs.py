"""The verbs: the kinds of their subjects and objects, and their constructions in each language."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from saccade.corpora.english_french import english
from saccade.corpora.english_french.conjugation import FrenchVerb, conjugate

__all__ = ["BE", "BE_DONE", "BY_ENGLISH", "CAN", "CONTROL", "MUST", "REPORTS", "VERBS", "Control", "Verb"]
__all__ += ["doing_to", "done_by"]


class Verb(NamedTuple):
    """One verb in both languages, in one construction.

    frame: none (she sleeps), direct (reads a book), to (answers the teacher: à), of (talks about the war: de), give
    (gives Marie a book), adjective (becomes famous), go (goes to Paris), live (lives in Paris).
    """

    english: english.EnglishVerb
    french: FrenchVerb
    frame: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    state: bool = False  # not an event: no progressive ("is knowing"), and the imperfect in the French past
    brief: bool = False  # no progressive
    passive: bool = False
    still: bool = False  # takes no adverbial of place
    calm: bool = False  # may take "quietly" or "here"
    pace: bool = False  # may take "slowly" or "quickly"
    no_shift: bool = False  # "explains it to him", not "explains him it"


_FLAGS = {"state", "brief", "passive", "still", "calm", "pace", "no_shift"}
# English | French | subjects | objects | flags
_TABLE = {
    "none": """
        sleep|dormir|person animal||calm
        work|travailler|person||pace
        laugh|rire|person
        smile|sourire|person
        cry|pleurer|person youth
        sing|chanter|person||calm
        dance|danser|person||pace
        swim|nager|person||still pace
        run|courir|person animal
        travel|voyager|person||still
        walk|marcher|person||pace
        play|jouer|youth||calm
        arrive|arriver|person scheduled||brief
        leave|partir|person scheduled||still
        return|revenir|person scheduled||still
        fall|tomber|person object||brief
        die|mourir|person animal||brief
        wait|attendre|person||calm
        stop|s' arrêter|person scheduled driven||brief
        get up|se lever|person||still
        rest|se reposer|person||calm
        begin|commencer|begun||brief still
        end|se terminer|begun||brief still
        disappear|disparaître|object animal person||brief still
        hesitate|hésiter|group chief person||still
    """,
    "direct": """
        see|voir|person animal|person animal vehicle building place object|brief
        read|lire|person|read|passive
        write|écrire|person|text|passive
        sign|signer|person group|legal|passive
        adopt|adopter|group|legal plan|passive
        approve|approuver|group chief|plan legal|passive
        reject|rejeter|group chief|plan legal|passive
        publish|publier|group chief|published|passive
        prepare|préparer|person group|plan event text|passive
        organise|organiser|person group|organised|passive
        examine|examiner|person group|plan legal topic text|passive
        support|soutenir|group chief|plan|
        propose|proposer|group chief|plan legal|passive
        announce|annoncer|group chief|plan organised|passive
        buy|acheter|person|bought|passive
        sell|vendre|person|bought|passive
        find|trouver|person|portable animal|passive brief
        lose|perdre|person|portable clothes|brief
        look for|chercher|person|portable clothes animal person
        open|ouvrir|person|openable|passive
        close|fermer|person|closable|passive
        eat|manger|person animal|eaten food|
        drink|boire|person|drink|
        wash|laver|person|washed|passive
        clean|nettoyer|person|cleaned|passive
        break|casser|person youth|fragile|passive brief
        repair|réparer|person|mechanical|passive
        build|construire|person company government army|building|passive still
        visit|visiter|person|building place|passive
        know|connaître|person|person place building|state
        like|aimer|person|person animal place text fruit music|state
        watch|regarder|person|watched|
        listen to|écouter|person|person heard|
        wait for|attendre|person|person awaited|
        meet|rencontrer|person|person|brief
        help|aider|person group|person|
        invite|inviter|person|person|brief
        thank|remercier|person|person|brief
        follow|suivre|person animal|person driven animal|
        carry|porter|person|portable|
        wear|porter|person|clothes|
        choose|choisir|person|bought plan event|passive brief
        draw|dessiner|person youth|drawn|
        paint|peindre|person|painted place|passive
        take|prendre|person|portable|brief
        forget|oublier|person|portable|brief
        steal|voler|person|portable|passive brief
        drive|conduire|person|driven|
        understand|comprendre|person|understood|brief
        learn|apprendre|youth person|taught|
        study|étudier|person|text legal language topic|
        explain|expliquer|person group|plan topic legal|passive
        translate|traduire|person|text|passive
        finish|finir|person|finished|brief
        hear|entendre|person animal|person animal heard|brief
        receive|recevoir|person group|text|brief
        accept|accepter|person group|plan|brief passive
        refuse|refuser|person group|plan|brief
        change|changer|group chief|plan legal|passive
        own|posséder|person group|owned|state
        have|avoir|person|vehicle pet portable clothes|state
        win|gagner|person team|won|brief
        leave|quitter|person|quitted|brief still
        lose|perdre|team person|won|brief
    """,
    "to": """
        speak to|parler|person|person
        write to|écrire|person group|person
        answer|répondre|person group|person letter|brief
        belong to|appartenir|object clothes vehicle building|person|state
        resemble|ressembler|person|person|state
        attend|assister|person|attended|brief
    """,
    "of": """
        talk about|parler|person group|person event topic place plan|
        need|avoir besoin|person group|person plan|state
        remember|se souvenir|person|person event place topic|state
    """,
    "give": """
        give|donner|person|given
        send|envoyer|person group|text
        show|montrer|person|given text building
        lend|prêter|person|lent
        offer|offrir|person|given
        bring|apporter|person|brought
        tell|raconter|person|told
        explain|expliquer|person|plan topic legal|no_shift
        return|rendre|person|portable|no_shift
    """,
    "go": """
        go|aller|person scheduled
        return|retourner|person
        come|venir|person
    """,
    "live": """
        live|habiter|person|resident|state
        stay|rester|person|resident building
        work|travailler|person|worked
    """,
    "adjective": """
        become|devenir|person||brief
        seem|sembler|person group plan text||state
    """,
}


def _verb(frame: str, row: str) -> Verb:
    cells = [*row.strip().split("|"), "", "", ""]
    flags = dict.fromkeys(cells[4].split(), True)
    assert set(flags) <= _FLAGS, row
    return Verb(
        english.verb(cells[0]), conjugate(cells[1]), frame, tuple(cells[2].split()), tuple(cells[3].split()), **flags
    )


VERBS = [_verb(frame, row) for frame, rows in _TABLE.items() for row in rows.strip().splitlines()]
BY_ENGLISH = {(" ".join((verb.english.base, *verb.english.particles)), verb.frame): verb for verb in VERBS}


BE = _verb("adjective", "be|être|||state")
BE_DONE = _verb("adjective", "be|être|||")  # the passive: "was signed" is an event
CAN = Verb(english.EnglishVerb("can", "can", "could", "", ""), conjugate("pouvoir"), "control", ("person",), (), True)
MUST = Verb(english.EnglishVerb("must", "must", "", "", ""), conjugate("devoir"), "control", ("person",), (), True)


class Control(NamedTuple):
    """A verb with an infinitive: "decides to leave", "décide de partir"."""

    verb: Verb
    to: bool
    link: str  # de, à, or nothing


CONTROL = [
    Control(CAN, False, ""),
    Control(MUST, False, ""),
    Control(_verb("control", "want|vouloir|||state"), True, ""),
    Control(_verb("control", "hope|espérer|||state"), True, ""),
    Control(_verb("control", "try|essayer"), True, "de"),
    Control(_verb("control", "refuse|refuser|||brief"), True, "de"),
    Control(_verb("control", "decide|décider|||brief"), True, "de"),
    Control(_verb("control", "forget|oublier|||brief"), True, "de"),
    Control(_verb("control", "begin|commencer|||brief"), True, "à"),
    Control(_verb("control", "learn|apprendre"), True, "à"),
]

# They take a clause: "says that ...", "dit que ...". None of them requires the subjunctive.
REPORTS = [
    _verb("that", row)
    for row in """
        say|dire|person
        think|penser|person||state
        know|savoir|person||state
        believe|croire|person||state
        hope|espérer|person||state
        announce|annoncer|person group||brief
        explain|expliquer|person group||brief
        forget|oublier|person||brief
        promise|promettre|person group||brief
    """.strip().splitlines()
]


@cache
def done_by(frame: str, kinds: frozenset[str]) -> list[Verb]:
    """Return the verbs of a frame whose subject may be of one of these kinds."""
    return [verb for verb in VERBS if verb.frame == frame and not kinds.isdisjoint(verb.subjects)]


@cache
def doing_to(kinds: frozenset[str], passive: bool = False) -> list[Verb]:
    """Return the verbs whose direct object may be of one of these kinds."""
    return [
        verb
        for verb in VERBS
        if verb.frame == "direct" and not kinds.isdisjoint(verb.objects) and (verb.passive or not passive)
    ]
