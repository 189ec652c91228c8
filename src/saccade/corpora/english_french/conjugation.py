"""French verbs: the tenses that the grammar needs, from the infinitive. Six forms each: je tu il nous vous ils."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from saccade.corpora.english_french.french import FrenchAdjective, adjective

__all__ = ["FrenchVerb", "conjugate"]

Forms = tuple[str, ...]

_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")


class FrenchVerb(NamedTuple):
    """The forms of a verb. `tail` always follows it: `besoin` in "avoir besoin"."""

    infinitive: str
    present: Forms
    imperfect: Forms
    future: Forms
    conditional: Forms
    participle: FrenchAdjective
    being: bool  # its past is formed with être
    reflexive: bool
    tail: tuple[str, ...] = ()


# infinitive: je tu il nous vous ils, participle, stem of the future
_IRREGULAR = {
    "être": ("suis es est sommes êtes sont", "été", "ser"),
    "avoir": ("ai as a avons avez ont", "eu", "aur"),
    "aller": ("vais vas va allons allez vont", "allé", "ir"),
    "voir": ("vois vois voit voyons voyez voient", "vu", "verr"),
    "savoir": ("sais sais sait savons savez savent", "su", "saur"),
    "pouvoir": ("peux peux peut pouvons pouvez peuvent", "pu", "pourr"),
    "vouloir": ("veux veux veut voulons voulez veulent", "voulu", "voudr"),
    "devoir": ("dois dois doit devons devez doivent", "dû", "devr"),
    "dire": ("dis dis dit disons dites disent", "dit", "dir"),
    "lire": ("lis lis lit lisons lisez lisent", "lu", "lir"),
    "écrire": ("écris écris écrit écrivons écrivez écrivent", "écrit", "écrir"),
    "promettre": ("promets promets promet promettons promettez promettent", "promis", "promettr"),
    "prendre": ("prends prends prend prenons prenez prennent", "pris", "prendr"),
    "venir": ("viens viens vient venons venez viennent", "venu", "viendr"),
    "tenir": ("tiens tiens tient tenons tenez tiennent", "tenu", "tiendr"),
    "ouvrir": ("ouvre ouvres ouvre ouvrons ouvrez ouvrent", "ouvert", "ouvrir"),
    "offrir": ("offre offres offre offrons offrez offrent", "offert", "offrir"),
    "partir": ("pars pars part partons partez partent", "parti", "partir"),
    "dormir": ("dors dors dort dormons dormez dorment", "dormi", "dormir"),
    "boire": ("bois bois boit buvons buvez boivent", "bu", "boir"),
    "croire": ("crois crois croit croyons croyez croient", "cru", "croir"),
    "connaître": ("connais connais connaît connaissons connaissez connaissent", "connu", "connaîtr"),
    "disparaître": ("disparais disparais disparaît disparaissons disparaissez disparaissent", "disparu", "disparaîtr"),
    "recevoir": ("reçois reçois reçoit recevons recevez reçoivent", "reçu", "recevr"),
    "suivre": ("suis suis suit suivons suivez suivent", "suivi", "suivr"),
    "conduire": ("conduis conduis conduit conduisons conduisez conduisent", "conduit", "conduir"),
    "construire": ("construis construis construit construisons construisez construisent", "construit", "construir"),
    "traduire": ("traduis traduis traduit traduisons traduisez traduisent", "traduit", "traduir"),
    "mourir": ("meurs meurs meurt mourons mourez meurent", "mort", "mourr"),
    "courir": ("cours cours court courons courez courent", "couru", "courr"),
    "rire": ("ris ris rit rions riez rient", "ri", "rir"),
    "sourire": ("souris souris sourit sourions souriez sourient", "souri", "sourir"),
    "peindre": ("peins peins peint peignons peignez peignent", "peint", "peindr"),
    "envoyer": ("envoie envoies envoie envoyons envoyez envoient", "envoyé", "enverr"),
    "appartenir": ("appartiens appartiens appartient appartenons appartenez appartiennent", "appartenu", "appartiendr"),
}
_DERIVED = {  # prefix + a verb above
    "apprendre": "prendre",
    "comprendre": "prendre",
    "revenir": "venir",
    "devenir": "venir",
    "soutenir": "tenir",
    "souvenir": "venir",
}
_BEING = {"aller", "venir", "arriver", "partir", "rester", "tomber", "mourir", "revenir", "devenir", "retourner"}
_DOUBLING = ("appeler", "rejeter")  # il appelle, il rejette
_GRAVE = ("acheter", "lever")  # il achète
_ACUTE = ("espérer", "posséder")  # il espère


@cache
def conjugate(text: str) -> FrenchVerb:
    """Return the forms of "lire", "se lever" or "avoir besoin"."""
    reflexive = text.startswith(("se ", "s' "))
    infinitive, *tail = text.removeprefix("se ").removeprefix("s' ").split()
    present, participle, stem = _parts(infinitive)
    nous = "ét" if infinitive == "être" else present[3].removesuffix("ons")
    soft = nous.removesuffix("e") if nous.endswith("ge") else nous.replace("ç", "c") if nous.endswith("ç") else nous
    return FrenchVerb(
        infinitive,
        present,
        tuple((soft if ending[0] == "i" else nous) + ending for ending in _IMPERFECT),
        tuple(stem + ending for ending in _FUTURE),
        tuple(stem + ending for ending in _IMPERFECT),
        adjective(participle),
        infinitive in _BEING or reflexive,
        reflexive,
        tuple(tail),
    )


def _parts(infinitive: str) -> tuple[Forms, str, str]:
    """Return the present, the participle, and the stem of the future."""
    if infinitive in _IRREGULAR:
        present, participle, stem = _IRREGULAR[infinitive]
        return tuple(present.split()), participle, stem
    if infinitive in _DERIVED:
        root = _DERIVED[infinitive]
        prefix = infinitive.removesuffix(root)
        forms, participle, stem = _parts(root)
        return tuple(prefix + form for form in forms), prefix + participle, prefix + stem
    if infinitive.endswith("er"):
        return _first_group(infinitive)
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        endings = ("is", "is", "it", "issons", "issez", "issent")
        return tuple(stem + ending for ending in endings), stem + "i", infinitive
    endings = ("s", "s", "", "ons", "ez", "ent")
    return tuple(stem + ending for ending in endings), stem + "u", infinitive[:-1]


def _first_group(infinitive: str) -> tuple[Forms, str, str]:
    stem = infinitive[:-2]
    weak = stem  # before a silent e
    future = infinitive
    if infinitive in _DOUBLING:
        weak = stem + stem[-1]
        future = weak + "er"
    elif infinitive in _GRAVE:
        place = stem.rindex("e")
        weak = stem[:place] + "è" + stem[place + 1 :]
        future = weak + "er"
    elif infinitive in _ACUTE:
        place = stem.rindex("é")
        weak = stem[:place] + "è" + stem[place + 1 :]
    elif infinitive.endswith(("oyer", "uyer")):
        weak = stem[:-1] + "i"
        future = weak + "er"
    nous = stem + ("e" if stem.endswith("g") else "")
    if stem.endswith("c"):
        nous = stem[:-1] + "ç"
    return (weak + "e", weak + "es", weak + "e", nous + "ons", stem + "ez", weak + "ent"), stem + "é", future
