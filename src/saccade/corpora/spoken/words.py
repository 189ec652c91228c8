"""words: pronunciations of the base forms of all words that the corpus says, in X-SAMPA.

`'` is before the stressed vowel; words of one syllable have none. `lexicon` makes the other forms.
"""

from __future__ import annotations

__all__ = ["LETTERS", "WORDS"]

_ALPHABET = "eI bi si di i Ef dZi eItS aI dZeI keI El Em En oU pi kju Ar Es ti ju vi d'Vb@lju Eks waI zi"
LETTERS = _ALPHABET.split()
"""The names of the letters, from a to z."""

_NUMBERS = """
zero z'iroU one wVn two tu three Tri four fOr five faIv six sIks seven s'Ev@n eight eIt nine naIn ten tEn
eleven Il'Ev@n twelve twElv thirteen T3t'in fourteen fOrt'in fifteen fIft'in sixteen sIkst'in seventeen sEv@nt'in
eighteen eIt'in nineteen naInt'in twenty tw'Enti thirty T'3ti forty f'Orti fifty f'Ifti sixty s'Iksti seventy s'Ev@nti
eighty 'eIti ninety n'aInti hundred h'Vndr@d thousand T'aUz@nd million m'Ilj@n first f3st second s'Ek@nd third T3d
fourth fOrT fifth fIfT sixth sIksT seventh s'Ev@nT eighth eItT ninth naInT tenth tEnT eleventh Il'Ev@nT twelfth twElfT
thirteenth T3t'inT fourteenth fOrt'inT fifteenth fIft'inT sixteenth sIkst'inT seventeenth sEv@nt'inT eighteenth eIt'inT
nineteenth naInt'inT twentieth tw'Enti@T thirtieth T'3ti@T point pOInt minus m'aIn@s plus plVs half haf quarter kw'Ort3
past past o'clock @kl'Ak o oU noon nun midnight m'IdnaIt
"""
_DAYS = """
monday m'Vndi tuesday tj'uzdi wednesday w'Enzdi thursday T'3zdi friday fr'aIdi saturday s'at3di sunday s'Vndi
january dZ'anjuEri february f'Ebr@Eri march mArtS april 'eIpr@l may meI june dZun july dZul'aI august 'Og@st
september sEpt'Emb3 october Akt'oUb3 november noUv'Emb3 december dIs'Emb3
"""
_NAMES = """
alice 'al@s anne an antoine antw'An claire klEr hélène El'En jean ZAn jeanne Zan julie Z'uli marc mArk marie m@r'i
martin m'Artan olivier oUl'IvjeI paul pOl pierre pjEr sophie s'oUfi thomas t'Am@s éric 'ErIk dubois djubw'A
girard ZIr'Ar lambert lAmb'Er laurent lOr'An moreau mOr'oU amsterdam 'amst3dam athens 'aT@nz belgium b'EldZ@m
berlin b3l'In brazil br@z'Il brussels br'Vs@lz canada k'an@d@ egypt 'idZIpt england 'INgl@nd france frans
geneva dZ@n'iv@ germany dZ'3m@ni greece gris hamburg h'amb3g hungary h'VNg@ri india 'Indi@ italy 'It@li japan dZ@p'an
london l'Vnd@n lyon li'On madrid m@dr'Id netherlands n'ED3l@ndz oslo 'AzloU paris p'arIs portugal p'OrtS@g@l rome roUm
spain speIn states steIts switzerland sw'Its3l@nd venice v'EnIs vienna vi'En@ america @m'ErIk@ american @m'Er@k@n
english 'INglIS european jUr@p'i@n french frEntS german dZ'3m@n italian It'alj@n japanese dZap@n'iz spanish sp'anIS
mr m'Ist3 mrs m'IsIz euro j'UroU supreme s@pr'im united jun'aItId
"""
_SMALL = """
a @ about @b'aUt after 'aft3 ago @g'oU all Ol alone @l'oUn already Olr'Edi always 'OlweIz am am an @n and and any 'Eni
are Ar at at because bIk'Oz before bIf'Or behind bIh'aInd between bItw'in but bVt by baI can kan cannot k'anAt
could kUd did dId do du does dVz done dVn during dj'UrIN every 'Evri few fju finally f'aIn@li for fOr from frVm
front frVnt had had has haz have hav he hi her h3 here hIr him hIm his hIz how haU however haU'Ev3 i aI if If in In
into 'Intu is Iz it It its Its last last less lEs like laIk many m'Eni me mi more mOr must mVst my maI near nIr
never n'Ev3 next nEkst no noU nobody n'oUb@di not nAt now naU of Vv off Of often 'Of@n on An or Or other 'VD3 our 'aU3
own oUn please pliz rarely r'Erli several s'Evr@l she Si so soU some sVm sometimes s'VmtaImz soon sun than Dan that Dat
the D@ their DEr them DEm there DEr these Diz they DeI this DIs to tu today t@d'eI tomorrow t@m'AroU up Vp us Vs
was wVz we wi were w3 what wVt when wEn where wEr which wItS while waIl who hu whom hum whose huz why waI will wIl
with wID would wUd yesterday j'Est3deI yet jEt you ju your jUr down daUn out aUt again @g'En quickly kw'Ikli
quietly kw'aI@tli slowly sl'oUli left lEft right raIt too tu
"""
_VERBS = """
accept @ks'Ept adopt @d'Apt announce @n'aUns answer 'ans3 approve @pr'uv arrive @r'aIv attend @t'End ate eIt be bi
became bIk'eIm become bIk'Vm been bIn began bIg'an begin bIg'In begun bIg'Vn believe bIl'iv belong bIl'ON bought bOt
break breIk bring brIN broke broUk broken br'oUk@n brought brOt build bIld built bIlt buy baI call kOl came keIm
carry k'ari change tSeIndZ choose tSuz chose tSoUz chosen tS'oUz@n clean klin close kloUz come kVm cried kraId cry kraI
dance dans decide dIs'aId die daI disappear dIs@p'Ir draw drO drawn drOn drew dru drank drank drink drINk drive draIv
driven dr'Iv@n drove droUv drunk drVNk eat it eaten 'it@n end End examine Igz'am@n explain Ikspl'eIn fall fOl
fallen f'Ol@n fell fEl find faInd finish f'InIS follow f'AloU forget f3g'Et forgot f3g'At forgotten f3g'At@n
found faUnd gave geIv get gEt give gIv given g'Iv@n go goU goes goUz going g'oUIN gone gOn got gAt hear hIr heard h3d
help hElp hesitate h'Ez@teIt hope hoUp invite Inv'aIt knew nju know noU laugh laf learn l3n leave liv leaves livz
lend lEnd lent lEnt listen l'Is@n live lIv look lUk lose luz lost lOst lower l'oU3 meet mit met mEt move muv need nid
offer 'Of3 open 'oUp@n organise 'Org@naIz paint peInt pause pOz play pleI prepare prIp'Er promise pr'AmIs
propose pr@p'oUz publish p'VblIS raise reIz ran ran read rid receive rIs'iv refuse rIfj'uz reject rIdZ'Ekt
remember rIm'Emb3 repair rIp'Er repeat rIp'it resemble rIz'Emb@l rest rEst return rIt'3n run rVn said sEd sang saN
saw sO say seI says sEz see si seem sim seen sin sell sEl send sEnd sent sEnt set sEt show SoU shown SoUn shut SVt
sign saIn sing sIN sleep slip slept slEpt smile smaIl snow snoU sold soUld speak spik spoke spoUk spoken sp'oUk@n
start stArt stay steI steal stil stole stoUl stolen st'oUl@n stop stAp studied st'Vdid study st'Vdi sung sVN
support s@p'Ort swam swam swim swIm swum swVm switch swItS take teIk taken t'eIk@n talk tOk tell tEl thank TaNk
think TINk thought TOt told toUld took tUk translate tr'anzleIt travel tr'av@l travelled tr'av@ld traveller tr'av@l3
travelling tr'av@lIN tried traId try traI turn t3n understand Vnd3st'and understood Vnd3st'Ud visit v'IzIt wait weIt
wake weIk walk wOk want wAnt wash wAS watch wAtS wear wEr went wEnt win wIn won wVn wore wOr work w3k worn wOrn
worried w'3id write raIt written r'It@n wrote roUt
"""
_QUALITIES = """
absent 'abs@nt angry 'aNgri bad bad beautiful bj'ut@f@l big bIg black blak blue blu brave breIv bright braIt
brown braUn busy b'Izi central s'Entr@l clear klIr cold koUld commercial k@m'3S@l complex kAmpl'Eks cultural k'VltS3@l
curious kj'Uri@s dangerous d'eIndZ3@s dark dArk difficult d'If@k@lt dirty d'3ti dry draI economic Ek@n'AmIk
empty 'Empti expensive Iksp'EnsIv famous f'eIm@s financial faIn'anS@l foreign f'Or@n fresh frES full fUl
generous dZ'En3@s good gUd great greIt green grin grey greI happy h'api heavy h'Evi honest 'An@st hot hAt
hungry h'VNgri ill Il important Imp'Ort@nt intelligent Int'El@dZ@nt interesting 'Intr@stIN international Int3n'aS@n@l
jealous dZ'El@s kind kaInd large lArdZ local l'oUk@l long lON military m'Il@tEri modern m'Ad3n national n'aS@n@l
necessary n'Es@sEri new nju official @f'IS@l old oUld patient p'eIS@nt political p@l'It@k@l poor pUr powerful p'aU3f@l
pretty pr'Iti proud praUd public p'VblIk quick kwIk quiet kw'aI@t ready r'Edi recent r'is@nt red rEd rich rItS
ripe raIp round raUnd sad sad scientific saI@nt'IfIk secret s'ikr@t serious s'Iri@s short SOrt shy SaI simple s'Imp@l
slow sloU small smOl social s'oUS@l strange streIndZ strong strON surprised s3pr'aIzd tall tOl tired t'aI3d
useful j'usf@l warm wOrm white waIt wrong rON yellow j'EloU young jVN younger j'VNg3 longer l'ONg3 stronger str'ONg3
"""
_THINGS = """
actor 'akt3 actress 'aktr@s agreement @gr'im@nt afternoon aft3n'un agriculture 'agr@kVltS3 airport 'ErpOrt alarm @l'Arm
apple 'ap@l area 'Eri@ army 'Armi article 'Art@k@l assembly @s'Embli association @soUsi'eIS@n aunt ant axe aks bag bag
ball bOl bank baNk bathroom b'aTrum beach bitS bean bin bed bEd bedroom b'Edrum bicycle b'aIs@k@l bird b3d
blinds blaInz boat boUt book bUk bottle b'At@l box bAks boy bOI bread brEd bridge brIdZ brother br'VD3 budget b'VdZ@t
building b'IldIN bus bVs butter b'Vt3 cake keIk car kAr castle k'as@l cat kat cathedral k@T'idr@l ceremony s'Er@moUni
chair tSEr cheese tSiz child tSaIld children tS'Ildr@n chocolate tS'Okl@t church tS3tS city s'Iti clock klAk coat koUt
coffee k'Ofi commission k@m'IS@n committee k@m'Iti community k@mj'un@ti company k'Vmp@ni computer k@mpj'ut3
concert k'Ans3t conference k'Anf3@ns contract k'Antrakt convention k@nv'EnS@n council k'aUns@l court kOrt cousin k'Vz@n
cow kaU crises kr'aIsiz crisis kr'aIsIs cross krOs culture k'VltS3 cup kVp curtain k'3t@n daughter d'Ot3 day deI
debate dIb'eIt decision dIs'IZ@n director d3'Ekt3 doctor d'Akt3 dog dOg donkey d'ONki door dOr dress drEs
education EdZuk'eIS@n egg Eg election Il'EkS@n employment Impl'OIm@nt energy 'En3dZi engineer EndZ@n'Ir evening 'ivnIN
exhibition Eks@b'IS@n factory f'akt@ri fan fan farm fArm farmer f'Arm3 father f'AD3 festival f'Est@v@l field fild
film fIlm floor flOr flower fl'aU3 forest f'Or@st fox fAks friend frEnd garage g@r'AZ garden g'Ard@n gift gIft girl g3l
glass glas government g'Vv3nm@nt grandmother gr'anmVD3 hall hOl hamlet h'aml@t harbour h'Arb3 harp hArp hat hat
health hElT heating h'itIN hedgehog h'EdZhOg hero h'IroU honey h'Vni horse hOrs hospital h'AspIt@l hotel hoUt'El
hour 'aU3 house haUs houses h'aUzIz husband h'Vzb@nd idea aId'i@ island 'aIl@nd jacket dZ'ak@t journalist dZ'3n@lIst
journey dZ'3ni judge dZVdZ justice dZ'VstIs key ki king kIN kitchen k'ItS@n knife naIf knives naIvz lake leIk lamp lamp
language l'aNgwIdZ law lO lawyer l'OI3 lesson l'Es@n letter l'Et3 library l'aIbrEri light laIt lorry l'Ori man man
manager m'anIdZ3 map map market m'Ark@t match matS mayor m'eI3 meat mit meeting m'itIN member m'Emb3 men mEn
message m'EsIdZ milk mIlk minister m'In@st3 minute m'InIt mirror m'Ir3 moment m'oUm@nt month mVnT morning m'OrnIN
mother m'VD3 mountain m'aUnt@n museum mjuz'i@m music mj'uzIk neighbour n'eIb3 news njuz newspaper nj'uzpeIp3 night naIt
novel n'Av@l nurse n3s office 'OfIs oil OIl orange 'OrIndZ organisation Org@n@z'eIS@n owl aUl oven 'Vv@n
painting p'eIntIN park pArk parliament p'Arl@m@nt peace pis pear pEr pen pEn photograph f'oUt@graf plan plan
plane pleIn poem p'oU@m poet p'oU@t policy p'Al@si president pr'Ez@d@nt problem pr'Abl@m programme pr'oUgram
project pr'AdZEkt proposal pr@p'oUz@l pupil pj'up@l queen kwin question kw'EstS@n rabbit r'ab@t radio r'eIdioU
rain reIn reform rIf'Orm report rIp'Ort researcher r'is3tS3 resolution rEz@l'uS@n restaurant r'Est@rAnt result rIz'Vlt
rice raIs ring rIN river r'Iv3 room rum sandwich s'anwItS scarf skArf scarves skArvz school skul secretary s'Ekr@tEri
security s@kj'Ur@ti shirt S3t shop SAp singer s'IN3 sister s'Ist3 situation sItSu'eIS@n soldier s'oUldZ3 son sVn
song sON soup sup speech spitS station st'eIS@n story st'Ori strawberry str'ObEri street strit student stj'ud@nt
suitcase s'utkeIs summer s'Vm3 symphony s'Imf@ni table t'eIb@l tea ti teacher t'itS3 team tim telephone t'El@foUn
television t'El@vIZ@n theatre T'i@t3 theory T'iri timer t'aIm3 tomato t@m'eItoU trade treId train treIn treaty tr'iti
tree tri umbrella Vmbr'El@ uncle 'VNk@l uniform j'un@fOrm union j'unj@n university jun@v'3s@ti valley v'ali
village v'IlIdZ violin vaI@l'In volume v'Aljum wall wOl war wOr water w'Ot3 wedding w'EdIN week wik wife waIf
window w'IndoU wine waIn winter w'Int3 wolf wUlf wolves wUlvz woman w'Um@n women w'ImIn worker w'3k3 world w3ld
writer r'aIt3 year jIr degrees dIgr'iz percent p3s'Ent
"""


def _read(*blocks: str) -> dict[str, str]:
    entries = " ".join(blocks).split()
    return dict(zip(entries[::2], entries[1::2], strict=True))


WORDS: dict[str, str] = _read(_NUMBERS, _DAYS, _NAMES, _SMALL, _VERBS, _QUALITIES, _THINGS)
"""Pronunciation of each base form."""
