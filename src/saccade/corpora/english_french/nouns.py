"""The nouns by kinds of meaning; verbs and adjectives select their nouns by these kinds."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from saccade.corpora.english_french import english, french

__all__ = ["BY_ENGLISH", "NOUNS", "Noun", "nouns"]


class Noun(NamedTuple):
    """One noun in both languages."""

    english: str
    englishes: str
    french: str
    frenches: str
    feminine: bool
    kind: str
    kinds: frozenset[str]

    @property
    def mass(self) -> bool:
        """Whether it is a mass noun, such as bread or water."""
        return self.kind in ("food", "drink")


_TABLE = {
    "person": (
        "doctor médecin m,teacher professeur m,student étudiant m,nurse infirmière f,lawyer avocat m,judge juge m,"
        "farmer agriculteur m,writer écrivain m,singer chanteuse f,actor acteur m,actress actrice f,"
        "journalist journaliste m,minister ministre m,engineer ingénieur m,soldier soldat m,king roi m,"
        "queen reine f,neighbour voisin m,friend ami m,man homme m,woman femme f,worker ouvrier m,"
        "traveller voyageur m,hero héros m,secretary secrétaire f,researcher chercheur m,mayor maire m,poet poète m"
    ),
    "youth": "child enfant m,boy garçon m,girl fille f,pupil élève m",
    "kin": (
        "brother frère m,sister sœur f,mother mère f,father père m,uncle oncle m,aunt tante f,cousin cousin m,"
        "son fils m,daughter fille f,grandmother grand-mère f,husband mari m,wife épouse f"
    ),
    "chief": "director directeur m,president président m,manager gérant m,member membre m",
    "group": (
        "government gouvernement m,parliament parlement m,company entreprise f,committee comité m,"
        "university université f,bank banque f,court tribunal m,army armée f,union syndicat m,"
        "association association f,team équipe f,commission commission f"
    ),
    "animal": (
        "dog chien m,cat chat m,horse cheval m,bird oiseau m,cow vache f,owl hibou m,hedgehog hérisson m,"
        "rabbit lapin m,wolf loup m,fox renard m,donkey âne m"
    ),
    "text": (
        "letter lettre f,book livre m,report rapport m,article article m,novel roman m,poem poème m,"
        "message message m,newspaper journal m,story histoire f,speech discours m"
    ),
    "legal": (
        "agreement accord m,treaty traité m,contract contrat m,law loi f,resolution résolution f,"
        "convention convention f"
    ),
    "plan": (
        "plan plan m,project projet m,proposal proposition f,reform réforme f,budget budget m,decision décision f,"
        "programme programme m,idea idée f"
    ),
    "topic": (
        "problem problème m,question question f,policy politique f,situation situation f,crisis crise f,"
        "theory théorie f,result résultat m"
    ),
    "matter": (
        "agriculture agriculture f,education éducation f,energy énergie f,trade commerce m,health santé f,"
        "security sécurité f,culture culture f,peace paix f,justice justice f,employment emploi m"
    ),
    "talk": "meeting réunion f,conference conférence f,debate débat m",
    "event": (
        "election élection f,concert concert m,wedding mariage m,festival festival m,match match m,"
        "exhibition exposition f,ceremony cérémonie f,war guerre f,lesson leçon f,visit visite f,journey voyage m"
    ),
    "object": (
        "key clé f,chair chaise f,table table f,box boîte f,bag sac m,bottle bouteille f,glass verre m,cup tasse f,"
        "knife couteau m,lamp lampe f,clock horloge f,watch montre f,umbrella parapluie m,painting tableau m,"
        "photograph photo f,computer ordinateur m,telephone téléphone m,pen stylo m,mirror miroir m,bed lit m,"
        "gift cadeau m,ball balle f,flower fleur f,ring bague f,suitcase valise f,axe hache f,violin violon m,"
        "harp harpe f,door porte f,window fenêtre f,map carte f,wall mur m,tree arbre m"
    ),
    "clothes": (
        "hat chapeau m,coat manteau m,shirt chemise f,dress robe f,jacket veste f,scarf écharpe f,uniform uniforme m"
    ),
    "vehicle": "car voiture f,train train m,bus bus m,bicycle vélo m,boat bateau m,plane avion m,lorry camion m",
    "building": (
        "house maison f,school école f,hospital hôpital m,station gare f,church église f,hotel hôtel m,"
        "restaurant restaurant m,museum musée m,library bibliothèque f,office bureau m,factory usine f,"
        "shop magasin m,theatre théâtre m,castle château m,farm ferme f,airport aéroport m,cathedral cathédrale f,"
        "bridge pont m"
    ),
    "room": "kitchen cuisine f,bedroom chambre f",
    "place": (
        "city ville f,village village m,garden jardin m,street rue f,park parc m,forest forêt f,"
        "mountain montagne f,river rivière f,beach plage f,island île f,valley vallée f,field champ m,lake lac m,"
        "hamlet hameau m,market marché m,harbour port m"
    ),
    "fruit": (
        "apple pomme f,cake gâteau m,egg œuf m,orange orange f,tomato tomate f,pear poire f,sandwich sandwich m,"
        "bean haricot m,strawberry fraise f"
    ),
    "food": (
        "bread pain m,cheese fromage m,meat viande f,rice riz m,butter beurre m,soup soupe f,honey miel m,"
        "chocolate chocolat m,oil huile f"
    ),
    "drink": "water eau f,wine vin m,milk lait m,coffee café m,tea thé m",
    "music": "song chanson f,symphony symphonie f,film film m",
    "language": "language langue f",
}
# Finer kinds, which some verbs require.
_ALSO = {
    "pet": "dog cat horse cow rabbit donkey",
    "scheduled": "train bus plane boat",
    "owned": "house farm castle hotel shop restaurant factory car boat bicycle bus lorry",
    "openable": "door window box bag bottle suitcase letter gift",
    "closable": "door window box bag bottle suitcase book",
    "fragile": "glass cup bottle window mirror lamp violin chair clock",
    "portable": (
        "key box bag bottle glass lamp umbrella painting computer gift suitcase axe violin chair knife book "
        "newspaper flower mirror"
    ),
    "mechanical": "car bus bicycle boat plane lorry computer telephone clock watch lamp bed chair door",
    "driven": "car bus lorry train",
    "awaited": "train bus plane boat letter message result decision",
    "bought": (
        "house car bicycle boat book newspaper novel hat coat shirt dress jacket scarf farm castle lamp clock "
        "watch umbrella painting computer telephone pen mirror bed chair table gift flower ring suitcase violin "
        "horse cow donkey apple cake orange pear sandwich tomato bread cheese meat wine milk honey chocolate dog "
        "cat"
    ),
    "given": "key book letter flower gift ring watch photograph painting cake apple pen hat newspaper map",
    "watched": "match film exhibition bird boat train child mountain river",
    "heard": "song symphony concert speech bird train owl",
    "drawn": "horse bird house flower cat castle boat tree church mountain dog fox",
    "painted": "house door wall bridge boat castle chair window church",
    "cleaned": "house kitchen window table shop street car mirror garden church office",
    "washed": "car shirt dress window glass cup apple scarf",
    "understood": "question problem decision story law poem situation message language theory article",
    "finished": "letter book report novel poem painting lesson article project",
    "begun": "meeting conference concert match debate ceremony war lesson festival exhibition visit",
    "won": "match election debate",
    "organised": "meeting conference concert festival match exhibition debate ceremony visit journey election",
    "attended": "meeting conference concert wedding match debate ceremony lesson festival exhibition",
    "eaten": "apple cake egg orange tomato pear sandwich bean strawberry",
    "resident": "house village city castle farm hamlet valley",
    "read": "letter book report article novel poem message newspaper story contract treaty law",
    "published": "letter book report article novel poem story photograph",
    "told": "story",
    "quitted": "house school hospital station hotel restaurant office theatre city village island meeting company",
    "taught": "language lesson poem song",
    "worked": "school hospital hotel restaurant library office factory shop theatre farm garden kitchen bank museum",
    "lent": "book car bicycle umbrella pen suitcase computer knife map axe novel coat",
    "brought": "key book letter flower gift cake newspaper chair bread wine coffee water tea cheese",
    "parted": "city village house garden street forest island valley castle church museum school",
    "event": "meeting conference debate",
}


def _read() -> list[Noun]:
    tags: dict[str, set[str]] = {}
    for tag, words in _ALSO.items():
        for word in words.split():
            tags.setdefault(word, set()).add(tag)
    found: dict[str, Noun] = {}
    for kind, entries in _TABLE.items():
        for entry in entries.split(","):
            word, translation, gender = entry.split()
            kinds = frozenset({kind, word, *tags.get(word, ())})  # a verb may also require a single noun
            if kind in ("kin", "chief", "youth"):
                kinds |= {"person"}
            found[word] = Noun(
                word, english.plural(word), translation, french.plural(translation), gender == "f", kind, kinds
            )
    return list(found.values())


NOUNS = _read()
BY_ENGLISH = {noun.english: noun for noun in NOUNS}


@cache
def nouns(kinds: tuple[str, ...]) -> list[Noun]:
    """Return all nouns of any of these kinds."""
    return [noun for noun in NOUNS if not noun.kinds.isdisjoint(kinds)]
