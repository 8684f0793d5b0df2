"""Texts that people write where a value is missing: `k.A.`, `n/a`, `-`, `#N/A`."""

import re
from collections.abc import Sequence

from cfl_cli.texts.tally import Tally, words

# Compared without case, final dots, and blanks behind a dot.
SURE = frozenset(
    """
    -|--|---|–|—|−|.|..|...|…|?|??|???|*|/|//|na|n/a|n.a|#n/a|#na|<na>|nan|nat|null|nil|<null>|(null)
    |\\n|missing|<missing>|(missing)|missing value|blank|(blank)|(empty)|unknown|(unknown)
    |not stated|no answer|no response|no data|refused
    |refuse to answer|refused to answer|prefer not to say
    |prefer not to answer|rather not say|decline to answer|declined to answer|declined|don't know
    |dont know|don’t know|do not know|not known|not available|not recorded|not reported
    |not specified|unspecified|not given|not provided|not answered|undisclosed|n/k|dk|dk/na|d/k
    |k.a|ka|k/a|keine angabe|keine angaben|ohne angabe|o.a|o.ang|unbekannt|nicht bekannt|fehlt
    |fehlend|fehlender wert|n.b|nicht beantwortet|weiß nicht|weiss nicht|w.n|keine antwort
    |nd|n.d|n/d|nsp|n.s.p|ne sait pas|nr|n.r|n/r|non renseigné|non renseigne|non spécifié|inconnu
    |inconnue|non réponse|sans réponse|pas de réponse|donnée manquante|manquant
    |s/o|sin dato|sin datos|s/d|no sabe|no contesta|ns/nc|ns|n.s|desconocido|desconocida
    |no responde|no disponible|sin respuesta|no informado
    |sconosciuto|sconosciuta|non so|non noto|non disponibile|non risponde|dato mancante|n.p
    |onbekend|weet niet|geen antwoord|niet bekend|niet ingevuld|geen opgave
    |sem dados|sem informação|sem resposta|não informado|não sabe|não disponível|desconhecido
    |desconhecida|n/i|não respondeu
    |brak|brak danych|b.d|bd|b/d|nie wiem|nieznany|nieznana|nieznane|brak odpowiedzi|brak informacji
    |okänd|okänt|ej svar|inget svar|uppgift saknas|saknas|vet ej|vet inte|ej angivet|ej uppgivet
    |ej känt|vill ej svara|ukendt|ikke oplyst|uoplyst|ved ikke|intet svar|ikke angivet|mangler
    |ukjent|ikke oppgitt|vet ikke|ubesvart|ikke besvart|ikke kjent
    |tuntematon|ei tietoa|ei tiedossa|ei vastausta|puuttuu|en osaa sanoa|ei ilmoitettu|eos
    |neznámý|neznámá|neznámé|neznámo|neuvedeno|nezjištěno|nevím|neví|bez odpovědi|chybí|není známo
    |neznámy|neznáma|neuvedené|nezistené|neviem|chýba|bez odpovede|nie je známe
    |ismeretlen|nincs adat|nem ismert|nem tudja|nem tudom|nincs válasz|hiányzik|n.a|nem válaszolt
    |necunoscut|necunoscută|nu știu|nu stiu|nu știe|fără răspuns|lipsă|nespecificat|nespecificată
    |nedeclarat|nu răspund|nu se cunoaște|fără date|ns/nr|nș/nr
    |нет данных|неизвестно|неизвестный|неизвестен|неизвестна|н/д|не указано|не указан|не указана
    |не знаю|нет ответа|нет информации|отказ от ответа|затрудняюсь ответить|не определено|нд
    |невідомо|немає даних|не вказано|не знаю|немає відповіді|важко відповісти|не визначено
    |неизвестно|няма данни|не е посочено|непознато|nepoznato|nema podataka|neznano|ni podatka
    |bilinmiyor|bilinmeyen|belirtilmemiş|belirtilmedi|bilmiyorum|cevap yok|veri yok|yanıt yok|boş
    |cevapsız|yanıtsız|belirsiz|fikrim yok
    |άγνωστο|άγνωστη|άγνωστος|δεν γνωρίζω|δεν ξέρω|δ.α|δ/α|δγ/δα|δξ/δα|χωρίς απάντηση
    |δεν απαντώ|δεν αναφέρεται|μ.δ|μη διαθέσιμο|δεν απάντησε|ελλιπή στοιχεία
    |不明|無回答|未回答|該当なし|未記入|わからない|分からない|回答なし|欠損|データなし|記載なし|未定|無記入|不詳
    |未知|不详|不清楚|不知道
    |未填写|未填|无数据|缺失|拒答|未回答|無資料|未提供|不確定|暂无|暂缺
    |모름|알 수 없음|미상|무응답|응답 없음|응답없음|미응답|해당 없음|해당없음|결측|불명
    |자료 없음|모르겠음|잘 모름
    |tidak diketahui|tidak tahu|không rõ|không biết|ไม่ทราบ|לא ידוע|غير معروف|अज्ञात
    |teadmata|nezināms
    |nežinoma|indisponible|non communiqué|non connu|ne se prononce pas|nspp|no se sabe|ignorado
    |ignora|non indicato|non rilevato|dato non disponibile|não sabe/não respondeu|ns/nr
    |não declarado|ikke relevant|odmowa odpowiedzi|odmowa|nie podano|niepodano|weigert
    |wil niet zeggen|geen idee|weet ik niet
    |geen informatie|k. a|keine aussage|unklar|nicht angegeben
    |nicht erfasst|nicht ermittelt|verweigert|unbestimmt
    |undetermined|indeterminate|not determined|unsure
    |not sure|no info|no information|not assessed|not collected|unavailable|unreported|unrecorded
    |n/av|n/ap
    |#value!|#ref!|#div/0!|#num!|#name?|#null!|#nv|#wert!|#bezug!|#zahl!|#valeur!
    """.casefold()
    .replace("\n", "")
    .replace("    ", "")
    .split("|")
)
# Of these, what means something else too: sure among numbers, doubtful among texts.
WEAK = frozenset(
    words(
        """nd nr ns ka bd dk nsp s/o s/d n/i k/a d/k * / // .. refused declined blank brak fehlt
        saknas mangler puuttuu chybí chýba hiányzik lipsă boş belirsiz unklar unsure odmowa ignora
        weigert verweigert eos нд 未定 ignorado unbestimmt undetermined indeterminate"""
    )
)
# Of these, what people answer who have no opinion.
NO_OPINION = frozenset(
    one.casefold()
    for one in (
        "don't know", "dont know", "don’t know", "do not know", "dk", "weiß nicht", "w.n", "nsp",
        "ne sait pas", "no sabe", "ns/nc", "non so", "weet niet", "não sabe", "nie wiem",
        "prefer not to say", "prefer not to answer", "rather not say",
        "vet ej", "vet inte", "ved ikke", "vet ikke", "en osaa sanoa", "nevím", "neviem",
        "nem tudom", "nu știu", "nu stiu", "не знаю", "затрудняюсь ответить", "важко відповісти",
        "bilmiyorum", "fikrim yok", "δεν γνωρίζω", "δεν ξέρω", "わからない", "分からない", "不知道",
        "不清楚", "모름", "모르겠음", "weet ik niet", "geen idee", "not sure", "unsure",
    )
)  # fmt: skip
# Answers until shown otherwise, such as in a column that else holds numbers.
DOUBTFUL = frozenset(
    """
    none|(none)|no|nothing|other|others|pending|open|tbd|tba|not applicable|not done|not tested|nt
    |not measured|skipped|void|invalid|error|failed
    |inf|-inf|+inf|infinity|-infinity|infinite|unendlich
    |keine|keiner|kein|nein|offen|andere|sonstige|sonstiges|entfällt|nicht zutreffend
    |trifft nicht zu|nicht erhoben|ausstehend|nicht gemessen|k.w|ungültig
    |aucun|aucune|autre|sans objet|sans|non|en attente|so|ninguno|ninguna|otro|otra|no aplica
    |pendiente|nessuno|nessuna|altro|in attesa|geen|andere|anders|n.v.t|nvt|open
    |nenhum|nenhuma|outro|outra|não se aplica|żaden|żadne|inne|inny|inna|nie dotyczy
    |ingen|inga|inget|annat|annan|övrigt|ej aktuellt|ej tillämpligt|andet|anden|øvrige|annet|andre
    |ei mikään|muu|muut|ei sovellu|žádný|žádná|žádné|jiné|jiný|ostatní|netýká se|žiadny|iné|iný
    |nincs|egyéb|más|nem releváns|niciunul|niciuna|altul|alta|altele|alt|nu se aplică|nu este cazul
    |другое|другой|другая|прочее|прочие|иное|нет|не применимо|неприменимо|інше|інший|немає
    |yok|hiçbiri|diğer|geçerli değil|uygulanamaz|κανένα|κανένας|καμία|άλλο|άλλη|άλλος|δεν ισχύει
    |その他|なし|其他|其它|无|没有|无关|기타|없음
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)
_BEHIND_DOT = re.compile(r"(?<=\.)\s+")
_BLANKS = re.compile(r"\s+")
SIGNS = re.compile(r"[-–−]{1,3}|\+{1,3}|0|o|±|\+/[-–−]|[-–−]/\+|\*+", re.IGNORECASE)  # of a scale
LONGEST = 40  # signs of a code, with its blanks
MOSTLY = 0.6  # a code that holds more than this share of the cells may be an answer


def folded(text: str) -> str:
    """Return the text without what spellings of one code differ in."""
    text = _BEHIND_DOT.sub("", _BLANKS.sub(" ", text.strip().casefold()))
    return text.rstrip(".") or text


def is_code(text: str) -> bool:
    """Return whether a text says that the value is missing, wherever it stands."""
    return folded(text) in SURE


def is_doubtful(text: str) -> bool:
    """Return whether a text may say so, but is an answer in most columns."""
    return folded(text) in DOUBTFUL


def codes(tally: Tally) -> tuple[str, ...]:
    """Return the texts that say that a value is missing, the commonest first."""
    found = [(-count, text) for text, count in tally if _may_be(text) and is_code(text)]
    return tuple(text for _, text in sorted(found))


def doubtful(tally: Tally) -> tuple[str, ...]:
    """Return the texts that may say so, the commonest first."""
    found = [(-count, text) for text, count in tally if _may_be(text) and is_doubtful(text)]
    return tuple(text for _, text in sorted(found))


def _may_be(text: str) -> bool:
    """Return whether a text may be a code at all, which is quicker to see."""
    return len(text) <= LONGEST and not text[0].isdigit() and not text[-1].isdigit()


def may_be_answers(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that look like the other texts, or hold most cells.

    `NA` among two capitals is Namibia, `-` among single signs is one of them.
    """
    if len(tally) > 2 and _are_signs(tally.without({*found}).texts):
        return ()
    counts, most = dict(tally), MOSTLY * (tally.cells + tally.empty)
    same = _same_shape(tally, found)
    return tuple(text for text in found if text in same or counts[text] > most)


def no_opinion(found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that are answers without an opinion."""
    return tuple(text for text in found if folded(text) in NO_OPINION)


def weak(found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that are doubtful among texts."""
    return tuple(text for text in found if folded(text) in WEAK)


def alike(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that are values rather: `-` beside `+`, ND beside NY and TX.

    `NA` is not among them, since programs write it.
    """
    others = tally.without({*found}).texts
    if len(tally) > 2 and _are_signs(others):  # from -- to ++
        return tuple(text for text in found if SIGNS.fullmatch(text))
    return tuple(text for text in _same_shape(tally, found) if folded(text) != "na")


def _are_signs(texts: Sequence[str]) -> bool:
    """Return whether the texts are some of 0, + and ++, or stars: rungs of a scale of signs."""
    return (
        bool(texts)
        and any("+" in text or "**" in text for text in texts)
        and all(map(SIGNS.fullmatch, texts))
    )


def _same_shape(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that look like all other texts do."""
    if not found:
        return ()
    shapes = {_shape(text) for text in tally.without({*found}).texts}
    return tuple(text for text in found if shapes == {_shape(text)})


def _shape(text: str) -> str:
    """Return what a short text looks like; all others look like nothing."""
    if len(text) == 1 and not text.isalnum():
        return "a sign"
    if 2 <= len(text) <= 3 and text.isalpha():
        return f"{len(text)} {'capitals' if text.isupper() else 'letters'}"
    return text
