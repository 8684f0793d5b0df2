"""Words, signs and habits of languages that no guess was tuned on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """How people who speak it write tables."""

    name: str
    encodings: tuple[str, ...]
    decimal: str
    thousands: tuple[str, ...]
    days: tuple[str, ...]  # formats of dates
    money: tuple[str, ...]  # with {} for the number
    booleans: tuple[tuple[str, str], ...]
    codes: tuple[str, ...]  # missing
    unsure: str  # don't know
    scales: tuple[tuple[str, ...], ...]
    bands: tuple[tuple[str, ...], ...]
    sexes: tuple[str, str]
    cities: tuple[str, ...]
    surnames: tuple[str, ...]
    first_names: tuple[str, ...]
    streets: tuple[str, ...]
    notes: tuple[str, ...]
    domain: tuple[str, ...]  # of CFs
    exact: str
    headers: tuple[str, ...]  # age, date, amount, note, city, name, answer, share, excluded

    def header(self, place: int) -> str:
        return self.headers[place]


AGE, DATE, AMOUNT, NOTE, CITY, NAME, ANSWER, SHARE, EXCLUDED = range(9)
FIXED = "\u00a0"

ITALIAN = Language(
    "it", ("cp1252", "utf-8-sig", "utf-8"), ",", (".", ""), ("%d/%m/%Y", "%d-%m-%Y"),
    ("€ {}", "{} €"), (("sì", "no"), ("SI", "NO"), ("Vero", "Falso")),
    ("n.d.", "non so", "N/D", "manca"), "non saprei",
    (("per niente", "poco", "abbastanza", "molto", "moltissimo"),
     ("mai", "raramente", "qualche volta", "spesso", "sempre"),
     ("pessimo", "scarso", "sufficiente", "buono", "ottimo")),
    (("fino a 17", "18-30", "31-45", "46-60", "oltre 60"), ("0-9", "10-19", "20-49", "50+")),
    ("maschio", "femmina"), ("Forlì", "Cefalù", "Nardò", "Torino", "Bari"),
    ("Rossi", "Bianchi", "D'Angelo", "De Luca", "Nicolò", "Conti", "Gallo", "Ferri"),
    ("Niccolò", "Giosuè", "Anna", "Luca", "Noè", "Sara", "Irene", "Ivo"),
    ("via Garibaldi", "corso Libertà", "piazza Unità", "viale Virtù"),
    ("il cliente è già tornato, {}", "da richiamare perché {}", "{}; più tardi", "{}, così"),
    ("tosse", "febbre", "asma", "otite", "gastrite"), "confermato: ",
    ("età", "data visita", "importo", "osservazioni", "città", "cognome e nome", "risposta",
     "quota", "escluso"),
)  # fmt: skip
PORTUGUESE = Language(
    "pt", ("cp1252", "utf-8", "utf-8-sig"), ",", (".", " "), ("%d/%m/%Y", "%d.%m.%Y"),
    ("R$ {}", "{} €"), (("sim", "não"), ("S", "N"), ("Sim", "Não")),
    ("sem resposta", "não informado", "NI", "ignorado"), "não sei",
    (("discordo totalmente", "discordo", "indiferente", "concordo", "concordo totalmente"),
     ("nunca", "raramente", "às vezes", "frequentemente", "sempre"),
     ("muito ruim", "ruim", "regular", "bom", "muito bom")),
    (("até 24", "25 a 39", "40 a 59", "60 ou mais"), ("1-2", "3-5", "6-10", "11+")),
    ("homem", "mulher"), ("São Paulo", "Brasília", "Maceió", "Recife", "Goiânia"),
    ("Gonçalves", "Araújo", "Conceição", "Silva", "Simões", "Leão", "Brandão", "Melo"),
    ("João", "Inês", "Antônio", "Mário", "Zélia", "Rui", "Assunção", "Caio"),
    ("Rua das Flores", "Avenida São João", "Praça da Sé", "Travessa do Pão"),
    ("o paciente não voltou, {}", "{} após a refeição", "ligação perdida; {}", "{} até amanhã"),
    ("dengue", "zika", "gripe", "sarampo", "malária"), "certo=",
    ("idade", "data", "valor", "observação", "cidade", "nome", "opinião", "participação",
     "descartado"),
)  # fmt: skip
SWEDISH = Language(
    "sv", ("cp1252", "utf-8-sig", "utf-16"), ",", (FIXED, " "), ("%Y-%m-%d", "%Y-%m-%d %H:%M"),
    ("{} kr", "{} SEK"), (("ja", "nej"), ("Ja", "Nej"), ("J", "N")),
    ("saknas", "uppgift saknas", "ej svar", "vet ej"), "vet inte",
    (("mycket dåligt", "dåligt", "varken eller", "bra", "mycket bra"),
     ("aldrig", "sällan", "ibland", "ofta", "alltid"),
     ("låg", "medel", "hög")),
    (("under 20", "20–39", "40–64", "65–"), ("0-5 år", "6-15 år", "16-64 år", "65+ år")),
    ("man", "kvinna"), ("Göteborg", "Malmö", "Umeå", "Växjö", "Örebro"),
    ("Öberg", "Sjöström", "Åkesson", "Lind", "Hägg", "Bäck", "Ek", "Nyström"),
    ("Åsa", "Björn", "Märta", "Göran", "Eva", "Nils", "Sören", "Siv"),
    ("Storgatan", "Kungsvägen", "Åsgatan", "Björkstigen"),
    ("kunden är på väg, {}", "{} för tillfället", "återkommer; {}", "{}, men gärna före åtta"),
    ("förkylning", "influensa", "astma", "allergi"), "säker: ",
    ("ålder", "datum", "belopp", "anteckning", "ort", "namn", "svar", "andel", "utesluten"),
)  # fmt: skip
CZECH = Language(
    "cs", ("cp1250", "utf-8-sig", "utf-8"), ",", (FIXED, " "), ("%d.%m.%Y", "%d. %m. %Y"),
    ("{} Kč", "{} Kč"), (("ano", "ne"), ("Ano", "Ne"), ("A", "N")),
    ("neuvedeno", "nezjištěno", "neví", "chybí"), "nevím",
    (("velmi špatný", "špatný", "průměrný", "dobrý", "výborný"),
     ("nikdy", "zřídka", "někdy", "často", "vždy"),
     ("nízká", "střední", "vysoká")),
    (("do 18", "19-35", "36-50", "51-65", "nad 65"), ("0–4", "5–9", "10–14", "15+")),
    ("muž", "žena"), ("Plzeň", "Třebíč", "Ústí", "Brno", "Břeclav"),
    ("Dvořák", "Novotný", "Černý", "Růžička", "Kučera", "Šťastný", "Bílek", "Horák"),
    ("Jiří", "Zdeněk", "Tomáš", "Věra", "Hana", "Růžena", "Ivan", "Šárka"),
    ("Nádražní", "Květná", "Příčná", "U Lípy"),
    ("pacient přišel pěšky, {}", "{} zítra ráno", "nutná kontrola; {}", "{}, zavolat později"),
    ("chřipka", "angína", "zánět", "rýma", "spála"), "potvrzeno: ",
    ("věk", "datum", "částka", "poznámka", "město", "jméno", "odpověď", "podíl", "vyloučeno"),
)  # fmt: skip
HUNGARIAN = Language(
    "hu", ("cp1250", "utf-8-sig", "utf-8"), ",", (" ", "."), ("%Y.%m.%d", "%Y. %m. %d."),
    ("{} Ft", "{} HUF"), (("igen", "nem"), ("Igen", "Nem"), ("I", "N")),
    ("nincs adat", "nem ismert", "n.a.", "hiányzik"), "nem tudja",
    (("nagyon rossz", "rossz", "közepes", "jó", "nagyon jó"),
     ("soha", "ritkán", "néha", "gyakran", "mindig"),
     ("alacsony", "közepes", "magas")),
    (("18 alatt", "18-29", "30-49", "50-64", "65 felett"), ("1-3", "4-6", "7-9", "10+")),
    ("férfi", "nő"), ("Győr", "Szűcsi", "Pécs", "Gödöllő", "Szeged"),
    ("Szabó", "Kőszegi", "Tűzkő", "Nagy", "Erdős", "Kovács", "Hegedűs", "Tóth"),
    ("László", "Győző", "Zsófia", "Örs", "Anna", "Béla", "Szőke", "Éva"),
    ("Fő utca", "Kossuth Lajos út", "Tölgyfa köz", "Erdő sor"),
    ("a beteg később jön, {}", "{} holnap délután", "visszahívást kér; {}", "{}, de nem sürgős"),
    ("nátha", "influenza", "asztma", "tüdőgyulladás"), "igazolt: ",
    ("kor", "dátum", "összeg", "megjegyzés", "város", "név", "válasz", "arány", "kizárva"),
)  # fmt: skip
RUSSIAN = Language(
    "ru", ("cp1251", "utf-8-sig", "utf-16"), ",", (FIXED, " "), ("%d.%m.%Y", "%d.%m.%Y %H:%M"),
    ("{} руб.", "{} р."), (("да", "нет"), ("Да", "Нет"), ("ДА", "НЕТ")),
    ("нет данных", "н/д", "неизвестно", "не указано"), "затрудняюсь ответить",
    (("очень плохо", "плохо", "удовлетворительно", "хорошо", "отлично"),
     ("никогда", "редко", "иногда", "часто", "всегда"),
     ("низкий", "средний", "высокий")),
    (("до 18", "18-29", "30-44", "45-59", "60+"), ("0-1", "2-3", "4-5", "6+")),
    ("муж", "жен"), ("Тверь", "Казань", "Омск", "Пермь", "Орёл"),
    ("Иванов", "Соловьёв", "Щукин", "Жуков", "Лебедев", "Попов", "Фёдоров", "Ильин"),
    ("Пётр", "Анна", "Юрий", "Ольга", "Семён", "Нина", "Глеб", "Вера"),
    ("ул. Ленина", "пр. Мира", "пер. Садовый", "ул. Лесная"),
    ("пациент придёт позже, {}", "{} завтра утром", "перезвонить; {}", "{}, но не срочно"),
    ("грипп", "ангина", "бронхит", "корь", "отит"), "подтверждено: ",
    ("возраст", "дата", "сумма", "примечание", "город", "ФИО", "ответ", "доля", "исключено"),
)  # fmt: skip
FINNISH = Language(
    "fi", ("utf-8-sig", "cp1252", "utf-8"), ",", (FIXED, " "), ("%d.%m.%Y", "%d.%m.%Y %H:%M"),
    ("{} €", "{} e"), (("kyllä", "ei"), ("Kyllä", "Ei"), ("K", "E")),
    ("ei tietoa", "puuttuu", "ei vastausta", "tuntematon"), "en osaa sanoa",
    (("erittäin huono", "huono", "kohtalainen", "hyvä", "erittäin hyvä"),
     ("ei koskaan", "harvoin", "joskus", "usein", "aina"),
     ("matala", "keskitaso", "korkea")),
    (("alle 25", "25–44", "45–64", "yli 64"), ("0-2", "3-6", "7-12", "13-17")),
    ("mies", "nainen"), ("Jyväskylä", "Hämeenlinna", "Pori", "Kemijärvi", "Lahti"),
    ("Mäkinen", "Hämäläinen", "Lehtinen", "Järvi", "Säilä", "Koski", "Niemi", "Yrjölä"),
    ("Päivi", "Jyrki", "Väinö", "Aino", "Eino", "Hilja", "Pekka", "Sami"),
    ("Mäkikatu", "Järvitie", "Asemakatu", "Pihlajapolku"),
    ("asiakas palaa myöhemmin, {}", "{} tänään", "soitettava; {}", "{}, mutta ei kiireellinen"),
    ("nuha", "yskä", "flunssa", "kuume"), "varma: ",
    ("ikä", "päivä", "summa", "huomautus", "kunta", "nimi", "vastaus", "osuus", "poissuljettu"),
)  # fmt: skip
DANISH = Language(
    "da", ("cp1252", "utf-8", "utf-8-sig"), ",", (".", ""), ("%d-%m-%Y", "%d/%m-%Y"),
    ("{} kr.", "kr. {}"), (("ja", "nej"), ("JA", "NEJ"), ("sand", "falsk")),
    ("ukendt", "uoplyst", "ikke besvaret", "mangler"), "ved ikke",
    (("meget uenig", "uenig", "hverken eller", "enig", "meget enig"),
     ("aldrig", "sjældent", "nogle gange", "ofte", "altid"),
     ("let", "moderat", "svær")),
    (("under 30", "30-49", "50-69", "70+"), ("1-4", "5-9", "10-49", "50-99", "100+")),
    ("mand", "kvinde"), ("Århus", "Ålborg", "Køge", "Odense", "Rødovre"),
    ("Sørensen", "Mørk", "Nørgård", "Holm", "Bæk", "Kjær", "Lund", "Krogh"),
    ("Søren", "Åse", "Jørgen", "Bodil", "Inge", "Mads", "Rikke", "Bjørn"),
    ("Søndergade", "Kærvej", "Åboulevarden", "Nørregade"),
    ("kunden er på ferie, {}", "{} på tirsdag", "ringes op; {}", "{}, gerne før otte"),
    ("hoste", "feber", "astma", "høfeber"), "sikker: ",
    ("alder", "dato", "beløb", "bemærkning", "by", "navn", "svar", "andel", "udelukket"),
)  # fmt: skip

LANGUAGES = (ITALIAN, PORTUGUESE, SWEDISH, CZECH, HUNGARIAN, RUSSIAN, FINNISH, DANISH)
FILLERS = {
    "it": ("è stanco", "dorme poco", "senza appetito", "con tosse secca", "un po' meglio"),
    "pt": ("sem febre", "com dor", "já tomou café", "está cansado", "um pouco melhor"),
    "sv": ("trött i dag", "äter lite", "ingen feber", "hosta på natten", "mår bättre"),
    "cs": ("bez horečky", "unavený", "spí málo", "kašel v noci", "trochu lépe"),
    "hu": ("láz nélkül", "fáradt", "keveset alszik", "éjjel köhög", "kicsit jobban"),
    "ru": ("без жара", "устал", "мало спит", "кашель ночью", "немного лучше"),
    "fi": ("ei kuumetta", "väsynyt", "nukkuu vähän", "yskä yöllä", "vähän parempi"),
    "da": ("uden feber", "træt", "sover lidt", "hoster om natten", "lidt bedre"),
}
