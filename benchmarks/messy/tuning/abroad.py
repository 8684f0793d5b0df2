"""French, Spanish, Polish, Dutch and Japanese lists and surveys."""

from benchmarks.messy import kinds as k
from benchmarks.messy.cells import Dice, dated, written
from benchmarks.messy.files import MessyFile

FIXED = "\u00a0"  # the blank between thousands
PAINS = ["angine", "grippe", "rhume", "otite", "sinusite", "bronchite"]


def ventes(dice: Dice) -> MessyFile:
    """Return French sales: narrow blanks between thousands, oui and non."""
    return MessyFile(
        "ventes-fr",
        (
            k.left_out("N° client", "id", [f"C-{n:04d}" for n in dice.different(9000)]),
            k.comma("Montant", written(dice.skewed(4000), 2, ",", FIXED), kind="thousands"),
            k.comma(
                "Prix",
                [f"{t} €" for t in written(dice.skewed(40), 2, ",")],
                kind="currency",
                units=("€",),
            ),
            k.date(
                "Date d'achat", dated(dice.days("2023-01-01", "2023-12-31"), "%d/%m/%Y"), "%d/%m/%Y"
            ),
            k.boolean("Abonné", dice.pick(["oui", "non"])),
            k.ordered(
                "Satisfaction",
                dice.sprinkled(
                    dice.pick(
                        ["Pas du tout satisfait", "Peu satisfait", "Satisfait", "Très satisfait"]
                    ),
                    {"NSP": 0.05},
                ),
                ["Pas du tout satisfait", "Peu satisfait", "Satisfait", "Très satisfait"],
                codes=("NSP",),
                doubtful=True,
            ),
            k.ordered(
                "Fréquence",
                dice.pick(["jamais", "rarement", "parfois", "souvent", "toujours"]),
                ["jamais", "rarement", "parfois", "souvent", "toujours"],
            ),
            k.category(
                "Région",
                dice.sprinkled(
                    dice.pick(["Île-de-France", "Bretagne", "Provence", "Alsace"]),
                    {"non renseigné": 0.04},
                ),
                codes=("non renseigné",),
                doubtful=True,
            ),
            k.code(
                "Code postal", dice.pick(["01000", "06000", "35000", "67000", "75011", "13001"])
            ),
            k.clock(
                "Heure",
                [
                    f"{h:02d}h{m:02d}"
                    for h, m in zip(dice.whole(8, 19), dice.whole(0, 59), strict=True)
                ],
                "%Hh%M",
            ),
            k.excluded(
                "exclu",
                dice.sprinkled(dice.lists(PAINS, ", ", 3), {"NR": 0.03}),
                PAINS,
                separator=",",
                codes=("NR",),
            ),
        ),
        delimiter=";",
        encoding="cp1252",
    )


def encuesta(dice: Dice) -> MessyFile:
    """Return a Spanish survey in UTF-8, tabs."""
    scale = ["muy malo", "malo", "regular", "bueno", "muy bueno"]
    return MessyFile(
        "encuesta-es",
        (
            k.left_out("marca temporal", "id", [f"{n:08x}-0000" for n in dice.whole(0, 2**31)]),
            k.ordered(
                "edad",
                dice.pick(["menos de 18", "18 a 29", "30 a 44", "45 a 59", "60 o más"]),
                ["menos de 18", "18 a 29", "30 a 44", "45 a 59", "60 o más"],
                kind="bands",
            ),
            k.boolean("trabaja", dice.pick(["Sí", "No"])),
            k.ordered(
                "servicio",
                dice.sprinkled(dice.pick(scale), {"no sabe": 0.05}),
                scale,
                codes=("no sabe",),
                doubtful=True,
            ),
            k.comma(
                "gasto",
                dice.sprinkled(written(dice.skewed(120), 2, ",", "."), {"s/o": 0.05}),
                codes=("s/o",),
            ),
            k.grid(
                "P1",
                dice.sprinkled([str(n) for n in dice.whole(1, 5)], {"99": 0.05}),
                codes=("99",),
            ),
            k.grid("P2", [str(n) for n in dice.whole(1, 5)]),
            k.many(
                "redes", dice.lists(["Facebook", "Instagram", "X", "TikTok", "ninguna"], ", ", 3)
            ),
            k.category("ciudad", dice.pick(["Madrid", "Málaga", "León", "Cádiz", "A Coruña"])),
            k.excluded(
                "no usa",
                dice.sprinkled(
                    dice.lists(["coche", "metro", "bus", "bici", "moto"], "; ", 2),
                    {"sin dato": 0.04},
                ),
                ["coche", "metro", "bus", "bici", "moto"],
                separator=";",
                codes=("sin dato",),
            ),
        ),
        delimiter="\t",
        suffix=".tsv",
    )


def ankieta(dice: Dice) -> MessyFile:
    """Return a Polish survey in cp1250."""
    scale = ["bardzo źle", "źle", "średnio", "dobrze", "bardzo dobrze"]
    return MessyFile(
        "ankieta-pl",
        (
            k.plain("wiek", dice.whole(18, 80)),
            k.boolean("palenie", dice.pick(["Tak", "Nie"])),
            k.ordered("samopoczucie", dice.pick(scale), scale),
            k.comma("dochód", written(dice.skewed(4200), 2, ",", FIXED), kind="thousands"),
            k.category(
                "województwo",
                dice.sprinkled(
                    dice.pick(["łódzkie", "śląskie", "małopolskie", "świętokrzyskie"]),
                    {"b.d.": 0.04},
                ),
                codes=("b.d.",),
                doubtful=True,
            ),
            k.comma(
                "BMI",
                dice.sprinkled(written(dice.normal(26, 4), 1, ","), {"brak": 0.03}),
                codes=("brak",),
            ),
            k.date(
                "data", dated(dice.days("2021-01-01", "2022-12-31"), "%Y-%m-%d"), "", "%Y-%m-%d"
            ),
            k.pair("płeć", dice.pick(["kobieta", "mężczyzna"])),
            k.excluded(
                "nie lubi",
                dice.lists(["żurek", "bigos", "pączki", "pierogi"], ";", 2),
                ["żurek", "bigos", "pączki", "pierogi"],
                separator=";",
            ),
        ),
        delimiter=";",
        encoding="cp1250",
    )


def enquete(dice: Dice) -> MessyFile:
    """Return a Dutch survey: commas, quoted decimal commas."""
    scale = ["helemaal oneens", "oneens", "neutraal", "eens", "helemaal eens"]
    return MessyFile(
        "enquete-nl",
        (
            k.left_out("e-mail", "id", [f"p{n}@voorbeeld.nl" for n in range(dice.rows)]),
            k.ordered("stelling 1", dice.pick(scale), scale),
            k.ordered(
                "stelling 2",
                dice.sprinkled(dice.pick(scale), {"weet niet": 0.06}),
                scale,
                codes=("weet niet",),
                doubtful=True,
            ),
            k.comma(
                "bedrag",
                [f"€ {t}" for t in written(dice.skewed(900), 2, ",", ".")],
                kind="currency",
                units=("€",),
            ),
            k.boolean(
                "lid",
                dice.sprinkled(dice.pick(["ja", "nee"]), {"onbekend": 0.03}),
                codes=("onbekend",),
            ),
            k.date("datum", dated(dice.days("2020-01-01", "2023-12-31"), "%d-%m-%Y"), "%d-%m-%Y"),
            k.code("postcode", dice.pick(["1011 AB", "3511 CD", "9711 EF", "6211 GH", "2312 JK"])),
            k.plain("kinderen", dice.whole(0, 5)),
            k.excluded(
                "geen van",
                dice.lists(["hond", "kat", "vis", "konijn"], " / ", 2),
                ["hond", "kat", "vis", "konijn"],
                separator="/",
            ),
        ),
    )


def kanja(dice: Dice) -> MessyFile:
    """Return a Japanese patient list in Shift-JIS."""
    return MessyFile(
        "kanja-ja",
        (
            k.plain("年齢", dice.whole(0, 99)),
            k.pair("性別", dice.pick(["男", "女"])),
            k.boolean("喫煙", dice.pick(["はい", "いいえ"])),
            k.plain("体温", written(dice.normal(36.8, 0.5), 1)),
            k.date(
                "受診日", dated(dice.days("2023-04-01", "2024-03-31"), "%Y/%m/%d"), "%Y/%m/%d", ""
            ),
            k.category("地域", dice.pick(["東京", "大阪", "北海道", "福岡"])),
            k.numbers(
                "費用",
                "thousands",
                written(dice.skewed(12000), 0, ".", ","),
                decimals=(".",),
                doubtful=True,
            ),
            k.excluded(
                "除外",
                dice.lists(["風邪", "肺炎", "喘息", "花粉症"], "、", 2),
                ["風邪", "肺炎", "喘息", "花粉症"],
                separator="、",
                doubtful=True,
            ),
        ),
        encoding="shift_jis",
    )
