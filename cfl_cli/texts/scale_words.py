"""Scales that people answer on, from the lowest to the highest, in eight languages.

A line is a scale, with those below it that are indented; `|` parts its rungs, `/` the spellings of
one, and a rung in parentheses is one that many scales lack.
"""

_LINES = """
(xxs/2xs)|xs|s|m|l|xl|(xxl/2xl)|(xxxl/3xl)|(4xl)
(very small/tiny)|small|medium|large|(very large/extra large/x-large)|(huge)
(sehr klein)|klein|mittel|groß/gross|(sehr groß/sehr gross)
(très petit/très petite)|petit/petite|moyen/moyenne|grand/grande|(très grand/très grande)
(muy pequeño)|pequeño/pequeña|mediano/mediana|grande|(muy grande)
(none/no/zero/nil)|(very low/minimal)|low|(medium low)|medium/med/moderate/mid/average
    |(medium high)|high|(very high)|(critical/extreme)
(keine/kein)|(sehr niedrig/sehr gering)|niedrig/gering/tief|mittel/mäßig|hoch|(sehr hoch)
    |(kritisch)
(nul/nulle/aucun)|(très faible/très bas/très basse)|faible/bas/basse|moyen/moyenne/modéré|élevé
    /élevée/haut/haute/fort/forte|(très élevé/très élevée/très haut/très fort)
(nulo/ninguno)|(muy bajo/muy baja)|bajo/baja|medio/media/moderado|alto/alta|(muy alto/muy alta)
(nullo/nessuno)|(molto basso/molto bassa)|basso/bassa|medio/media/moderato|alto/alta/elevato
    |(molto alto/molto alta)
(geen)|(zeer laag/heel laag)|laag|gemiddeld/middel/midden|hoog|(zeer hoog/heel hoog)
(nenhum)|(muito baixo/muito baixa)|baixo/baixa|médio/média/moderado|alto/alta|(muito alto
    /muito alta)
(brak)|(bardzo niski/bardzo niska/bardzo niskie)|niski/niska/niskie|średni/średnia/średnie
    |wysoki/wysoka/wysokie|(bardzo wysoki/bardzo wysoka/bardzo wysokie)
(none/no/absent/normal)|(minimal/trace)|mild/slight|(mild to moderate)|moderate
    |(moderate to severe)|severe|(very severe/critical/extreme)|(fatal)
(keine/kein/normal)|leicht/mild|(mäßig/mittel/mittelschwer/moderat)|(mittelgradig)|schwer/stark
    |(sehr schwer/kritisch)
(aucun/aucune/absent)|léger/légère|modéré/modérée|sévère/grave|(très sévère/critique)
(ninguno/ninguna)|leve|moderado/moderada|grave/severo/severa|(muy grave/crítico)
(nessuno/nessuna)|lieve|moderato/moderata|grave/severo|(molto grave/critico)
(geen)|licht/mild|matig|ernstig/zwaar|(zeer ernstig)
(brak)|łagodny/łagodna/lekki/lekka|umiarkowany/umiarkowana|ciężki/ciężka|(krytyczny)
(nenhum/nenhuma)|leve|moderado/moderada|grave/severo|(muito grave/crítico)
never|(almost never/very rarely/hardly ever)|(rarely/seldom)|(occasionally)|sometimes
    |(frequently)|(often)|(usually/mostly/most of the time/very often)|(almost always)|(always
    /all the time)
never|(less than monthly/yearly/less often)|(monthly or less/monthly)|(weekly
    /several times a month)|(several times a week)|(daily/almost daily/daily or almost daily
    /every day)|(several times a day)
nie/niemals|(fast nie/sehr selten)|selten|(gelegentlich)|(manchmal/ab und zu/hin und wieder
    /teils)|(häufig)|(oft)|(meistens/sehr oft/sehr häufig)|(fast immer)|(immer/ständig)
nie|(seltener)|(monatlich)|(wöchentlich)|(täglich)
jamais|(presque jamais/très rarement)|rarement|(occasionnellement)|(parfois/quelquefois
    /de temps en temps)|(souvent)|(très souvent/généralement/la plupart du temps)
    |(presque toujours)|(toujours)
nunca|(casi nunca)|(rara vez/raramente/pocas veces)|(ocasionalmente)|(a veces/algunas veces
    /de vez en cuando)|(a menudo/frecuentemente/muchas veces/con frecuencia)|(generalmente)
    |(casi siempre/muy a menudo)|(siempre)
mai|(quasi mai)|(raramente/di rado)|(occasionalmente)|(a volte/qualche volta/talvolta)|(spesso)
    |(di solito/molto spesso)|(quasi sempre)|(sempre)
nooit|(bijna nooit)|(zelden)|(af en toe)|(soms)|(regelmatig)|(vaak)|(meestal/heel vaak)
    |(bijna altijd)|(altijd)
nunca|(quase nunca)|(raramente)|(ocasionalmente)|(às vezes/algumas vezes/por vezes)
    |(frequentemente/muitas vezes)|(geralmente)|(quase sempre)|(sempre)
nigdy|(prawie nigdy/bardzo rzadko)|(rzadko)|(sporadycznie)|(czasami/czasem)|(często)|(zazwyczaj
    /zwykle/bardzo często)|(prawie zawsze)|(zawsze)
(very poor/very bad/terrible/awful)|poor/bad|(fair/average/ok/okay/acceptable/satisfactory
    /neutral)|(good)|(very good)|(excellent/outstanding)
(very bad/terrible)|bad|(neither good nor bad/so so)|good|(very good)
(sehr schlecht)|schlecht|(eher schlecht)|(mittelmäßig/mittel/teils teils/teils, teils/teils
    /teils-teils/durchschnittlich/neutral/befriedigend/ok)|(eher gut)|gut|(sehr gut)
    |(ausgezeichnet)
ungenügend|mangelhaft|ausreichend|befriedigend|gut|(sehr gut)
(mangelhaft)|ausreichend|befriedigend|gut|(sehr gut)
(très mauvais/très mauvaise)|mauvais/mauvaise|(médiocre)|(moyen/moyenne/passable/correct
    /assez bien/assez bon/assez bonne)|bon/bonne/bien|(très bon/très bonne/très bien)|(excellent
    /excellente)
(muy malo/muy mala/muy mal)|malo/mala/mal|(regular/normal/aceptable)|bueno/buena/bien|(muy bueno
    /muy buena/muy bien)|(excelente)
(pessimo/pessima/molto male)|(cattivo/cattiva/scarso/scarsa/male/insufficiente)|(sufficiente
    /discreto/discreta/mediocre)|buono/buona/bene|(molto buono/molto buona/ottimo/ottima
    /molto bene)|(eccellente)
(zeer slecht/heel slecht)|slecht|(matig)|(redelijk/neutraal/voldoende/gemiddeld)|goed|(zeer goed
    /heel goed)|(uitstekend)
(muito ruim/péssimo/muito mau)|ruim/mau/má|(regular/razoável/médio)|bom/boa|(muito bom
    /muito boa)|(excelente/ótimo)
(bardzo zły/bardzo zła/bardzo źle)|zły/zła/źle|(przeciętny/przeciętna/średni/średnia/średnio
    /dostateczny)|dobry/dobra/dobrze|(bardzo dobry/bardzo dobra/bardzo dobrze)|(doskonały
    /znakomity/celujący)
(strongly disagree/completely disagree/totally disagree)|(disagree)|(somewhat disagree
    /slightly disagree/tend to disagree)|(neutral/neither agree nor disagree/neither/undecided)
    |(somewhat agree/slightly agree/tend to agree)|agree|(strongly agree/completely agree
    /totally agree)
(stimme überhaupt nicht zu/stimme gar nicht zu/trifft überhaupt nicht zu/trifft gar nicht zu
    /lehne stark ab/stimme absolut nicht zu)|(stimme nicht zu/trifft nicht zu/lehne ab)
    |(stimme eher nicht zu/trifft eher nicht zu/lehne eher ab/stimme weniger zu
    /trifft weniger zu)|(neutral/teils teils/teils, teils/teils-teils/teils/weder noch
    /unentschieden/stimme teilweise zu/trifft teilweise zu/trifft teils zu/stimme teils zu
    /teilweise/mittelmäßig)|(stimme eher zu/trifft eher zu)|(stimme zu/trifft zu)
    |(stimme voll zu/stimme voll und ganz zu/stimme völlig zu/trifft voll zu
    /trifft voll und ganz zu/trifft völlig zu/stimme sehr zu/stimme stark zu/stimme absolut zu)
(pas du tout d'accord/tout à fait en désaccord/fortement en désaccord)|(pas d'accord
    /en désaccord)|(plutôt pas d'accord/plutôt en désaccord)|(ni d'accord ni pas d'accord/neutre
    /indécis/ni en accord ni en désaccord)|(plutôt d'accord)|(d'accord/en accord)
    |(tout à fait d'accord/entièrement d'accord/fortement d'accord/totalement d'accord)
(totalmente en desacuerdo/muy en desacuerdo/completamente en desacuerdo)|(en desacuerdo)
    |(algo en desacuerdo)|(ni de acuerdo ni en desacuerdo/neutral/neutro/indeciso/indiferente)
    |(algo de acuerdo)|(de acuerdo)|(totalmente de acuerdo/muy de acuerdo
    /completamente de acuerdo)
(fortemente in disaccordo/totalmente in disaccordo/completamente in disaccordo
    /per niente d'accordo/per nulla d'accordo)|(in disaccordo/non d'accordo)|(poco d'accordo
    /abbastanza in disaccordo)|(neutrale/né d'accordo né in disaccordo/neutro/indeciso)
    |(abbastanza d'accordo)|(d'accordo)|(fortemente d'accordo/totalmente d'accordo
    /completamente d'accordo/molto d'accordo/del tutto d'accordo)
(helemaal mee oneens/zeer mee oneens/helemaal oneens/helemaal niet mee eens/zeer oneens)
    |(mee oneens/oneens/niet mee eens)|(enigszins mee oneens/beetje oneens)|(neutraal
    /niet mee eens, niet mee oneens/noch mee eens, noch mee oneens/geen mening)
    |(enigszins mee eens/beetje eens)|(mee eens/eens)|(helemaal mee eens/zeer mee eens
    /helemaal eens/zeer eens)
(discordo totalmente/discordo fortemente/discordo completamente)|(discordo)
    |(discordo parcialmente)|(neutro/nem concordo nem discordo/indiferente
    /não concordo nem discordo/indeciso)|(concordo parcialmente)|(concordo)|(concordo totalmente
    /concordo fortemente/concordo completamente)
(zdecydowanie się nie zgadzam/zdecydowanie nie zgadzam się/zdecydowanie nie)|(nie zgadzam się
    /nie)|(raczej się nie zgadzam/raczej nie zgadzam się/raczej nie)
    |(ani się zgadzam, ani się nie zgadzam/neutralnie/trudno powiedzieć/nie mam zdania
    /ani tak, ani nie)|(raczej się zgadzam/raczej zgadzam się/raczej tak)|(zgadzam się/tak)
    |(zdecydowanie się zgadzam/zdecydowanie zgadzam się/zdecydowanie tak)
(very dissatisfied/very unsatisfied/extremely dissatisfied)|(dissatisfied/unsatisfied)
    |(somewhat dissatisfied)|(neutral/neither satisfied nor dissatisfied/neither)
    |(somewhat satisfied)|satisfied|(very satisfied/extremely satisfied)
(sehr unzufrieden)|(unzufrieden)|(eher unzufrieden)|(neutral/teils teils/teils, teils
    /teils-teils/weder noch/mittel)|(eher zufrieden)|(zufrieden)|(sehr zufrieden)
(très insatisfait/très insatisfaite/pas du tout satisfait)|(insatisfait/insatisfaite
    /pas satisfait)|(plutôt insatisfait/peu satisfait)|(neutre/ni satisfait ni insatisfait
    /moyennement satisfait)|(plutôt satisfait/assez satisfait)|(satisfait/satisfaite)
    |(très satisfait/très satisfaite/tout à fait satisfait)
(muy insatisfecho/muy insatisfecha)|(insatisfecho/insatisfecha)|(neutral/neutro
    /ni satisfecho ni insatisfecho)|(satisfecho/satisfecha)|(muy satisfecho/muy satisfecha)
(molto insoddisfatto)|(insoddisfatto/poco soddisfatto)|(neutrale
    /né soddisfatto né insoddisfatto)|(abbastanza soddisfatto)|(soddisfatto)|(molto soddisfatto)
(zeer ontevreden)|(ontevreden)|(neutraal)|(tevreden)|(zeer tevreden)
(muito insatisfeito)|(insatisfeito)|(neutro/nem satisfeito nem insatisfeito)|(satisfeito)
    |(muito satisfeito)
(bardzo niezadowolony/bardzo niezadowolona)|(niezadowolony/niezadowolona)|(raczej niezadowolony)
    |(neutralny/neutralna/ani zadowolony, ani niezadowolony)|(raczej zadowolony)|(zadowolony
    /zadowolona)|(bardzo zadowolony/bardzo zadowolona)
(very unlikely/extremely unlikely)|(unlikely)|(somewhat unlikely)|(neutral/possible
    /neither likely nor unlikely)|(somewhat likely)|(likely/probable)|(very likely
    /extremely likely)|(certain)
(sehr unwahrscheinlich)|(unwahrscheinlich)|(eher unwahrscheinlich)|(neutral/möglich)
    |(eher wahrscheinlich)|(wahrscheinlich)|(sehr wahrscheinlich)|(sicher)
(not at all important/not important/unimportant)|(slightly important/somewhat important)
    |(moderately important/neutral)|(important)|(very important)|(extremely important)
(völlig unwichtig/gar nicht wichtig/sehr unwichtig)|(unwichtig/nicht wichtig)|(eher unwichtig)
    |(neutral/teils teils)|(eher wichtig)|(wichtig)|(sehr wichtig)
not at all|(slightly/a little/a little bit/a bit/several days)|(somewhat/moderately
    /more than half the days)|(quite a bit/very/a lot/nearly every day)|(extremely/very much)
gar nicht/überhaupt nicht|(kaum)|(wenig/ein wenig/etwas/ein bisschen/an einzelnen tagen)|(mittel
    /mäßig/mittelmäßig/einigermaßen/an mehr als der hälfte der tage)|(ziemlich/stark/überwiegend
    /beinahe jeden tag)|(sehr/sehr stark/völlig/außerordentlich)
pas du tout|(un peu/peu)|(moyennement/assez/modérément)|(beaucoup)|(énormément/extrêmement)
nada|(poco/un poco)|(algo/moderadamente)|(bastante)|(mucho/muchísimo)
per niente/per nulla|(poco/un po')|(abbastanza)|(molto)|(moltissimo)
helemaal niet|(een beetje/weinig)|(enigszins/matig)|(tamelijk/nogal)|(zeer/erg/veel)
nada|(pouco/um pouco)|(moderadamente/mais ou menos)|(bastante)|(muito/extremamente)
wcale|(trochę/mało)|(umiarkowanie/średnio)|(dość/znacznie)|(bardzo)
(no education/none/no schooling)|(preschool)|primary/elementary/primary school|(lower secondary
    /middle school)|secondary/high school/secondary school|(upper secondary)|(vocational
    /post-secondary/some college)|(tertiary/higher/university/college/bachelor/bachelor's)
    |(master/masters/master's)|(doctorate/phd)
(no degree)|(less than high school/some high school)|high school|(some college)|(associate
    /associate's/associate degree/associate's degree)|bachelor/bachelors/bachelor's
    /bachelor's degree|master/masters/master's/master's degree|(phd/doctorate/doctoral)
first|second|third|(fourth)|(fifth)|(sixth)
erste/erster/erstes|zweite/zweiter/zweites|dritte/dritter/drittes|(vierte/vierter)|(fünfte
    /fünfter)
1st|2nd|3rd|(4th)|(5th)|(6th)|(7th)|(8th)|(9th)|(10th)
beginner/novice|(elementary)|intermediate|(upper intermediate)|advanced|(expert/proficient)
anfänger|(grundkenntnisse)|fortgeschritten|(experte)
junior|(mid/mid-level/intermediate/regular)|senior|(lead)|(principal)
bronze|silver|gold|(platinum)|(diamond)
green|(yellow)|(orange/amber)|red|(black)
(infant/baby)|child|(adolescent/teenager/teen)|(young adult)|adult|(middle-aged)|(senior
    /elderly)
january/jan|february/feb|march/mar|april/apr|may|june/jun|july/jul|august/aug|september/sep/sept
    |october/oct|november/nov|december/dec
januar/jan|februar/feb|märz/mär/mrz|april/apr|mai|juni/jun|juli/jul|august/aug|september/sep
    /sept|oktober/okt|november/nov|dezember/dez
janvier/janv|février/févr|mars|avril/avr|mai|juin|juillet/juil|août|septembre/sept|octobre/oct
    |novembre/nov|décembre/déc
enero/ene|febrero/feb|marzo/mar|abril/abr|mayo/may|junio/jun|julio/jul|agosto/ago|septiembre/sep
    /sept|octubre/oct|noviembre/nov|diciembre/dic
gennaio/gen|febbraio/feb|marzo/mar|aprile/apr|maggio/mag|giugno/giu|luglio/lug|agosto/ago
    |settembre/set|ottobre/ott|novembre/nov|dicembre/dic
januari/jan|februari/feb|maart/mrt|april/apr|mei|juni/jun|juli/jul|augustus/aug|september/sep
    |oktober/okt|november/nov|december/dec
janeiro/jan|fevereiro/fev|março/mar|abril/abr|maio/mai|junho/jun|julho/jul|agosto/ago|setembro
    /set|outubro/out|novembro/nov|dezembro/dez
styczeń/sty|luty/lut|marzec/mar|kwiecień/kwi|maj|czerwiec/cze|lipiec/lip|sierpień/sie|wrzesień
    /wrz|październik/paź|listopad/lis|grudzień/gru
a1|a2|b1|b2|c1|c2
(f)|(e)|(d-)|(d)|(d+)|(c-)|(c)|(c+)|(b-)|(b)|(b+)|(a-)|(a)|(a+)
i|ii|iii|iv|(v)|(vi)|(vii)|(viii)|(ix)|(x)
"""
WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mon tue wed thu fri sat sun",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "mo di mi do fr sa so",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lun mar mer jeu ven sam dim",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "segunda terça quarta quinta sexta sábado domingo",
    "poniedziałek wtorek środa czwartek piątek sobota niedziela",
)


def _rungs(line: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """Return a scale's rungs: the spellings of each, and whether many scales lack it."""
    found = []
    for rung in line.split("|"):
        bare = rung.strip("()") if rung.startswith("(") else rung
        found.append((tuple(bare.casefold().split("/")), rung.startswith("(")))
    return tuple(found)


SCALES = tuple(_rungs(line) for line in _LINES.replace("\n    ", "").strip().splitlines())
