"""German lists out of spreadsheets."""

from benchmarks.messy import kinds as k
from benchmarks.messy.cells import Dice, dated, in_words, written
from benchmarks.messy.files import MessyFile

FEVER = ["Grippe", "Masern", "Covid-19", "Angina", "Bronchitis"]
BRANDS = ["Adidas", "Asics", "Nike", "Puma", "Reebok"]
SYMPTOMS = ["Husten", "Schnupfen", "Übelkeit", "Müdigkeit", "Kopfschmerz"]
BANDS = ["18-24", "25-34", "35-44", "45-54", "55-64", "65+"]
FIRST = ["Anna", "Jürgen", "Zoë", "Björn", "Müge", "Ömer", "Jörg", "Ute", "Käthe", "Uwe"]
LAST = ["Müller", "Schäfer", "Köhler", "Weiß", "Groß", "Jäger", "Böhm", "Vogt", "Krüger", "Lang"]
STREETS = ["Hauptstraße", "Lindenweg", "Am Markt", "Gartenstraße", "Schloßallee", "Bergstraße"]


def clinic(dice: Dice) -> MessyFile:
    """Return a German clinic list out of a spreadsheet: cp1252, semicolons."""
    names = [f"{last}, {first}" for last in LAST for first in FIRST]
    diagnoses = dice.lists(FEVER, "; ", 3)
    return MessyFile(
        "clinic-de",
        (
            k.left_out("Fall-Nr.", "id", [f"F{n:05d}" for n in range(dice.rows)]),
            k.left_out("Name", "names", dice.pick(names)),
            k.date(
                "Aufnahme", dated(dice.days("2023-01-01", "2023-12-31"), "%d.%m.%Y"), "%d.%m.%Y"
            ),
            k.comma(
                "Temperatur",
                dice.sprinkled(written(dice.normal(38, 0.8), 1, ","), {"k.A.": 0.05}),
                codes=("k.A.",),
            ),
            k.comma(
                "Leukozyten",
                dice.sprinkled(written(dice.skewed(7), 2, ","), {"999": 0.03, "-9": 0.02}),
                kind="sentinel",
                codes=("999", "-9"),
                doubtful=True,
            ),
            k.boolean("Fieber", dice.pick(["ja", "nein"])),
            k.ordered(
                "Schweregrad",
                dice.pick(["leicht", "mittel", "schwer"]),
                ["leicht", "mittel", "schwer"],
            ),
            k.category("Station", dice.pick(["Innere", "Chirurgie", "HNO", "Kinder", "Süd"])),
            k.code("PLZ", dice.pick(["01067", "04109", "50667", "80331", "20095", "99084"])),
            k.left_out(
                "Bemerkung",
                "note",
                dice.texts(
                    ["Pat. {a}, {b}; {c}", "{c}, {a}", "{b} seit gestern, {a}"],
                    a=["müde", "wach", "blass", "unruhig", "schläft viel"],
                    b=["Husten trocken", "kein Appetit", "Schmerz beim Schlucken", "Ödeme"],
                    c=["Kontrolle morgen", "Röntgen erwünscht", "Anruf Hausarzt nötig"],
                ),
            ),
            k.excluded(
                "ausgeschlossen",
                dice.sprinkled(
                    dice.marked(diagnoses, "gesichert: ", FEVER, 0.1), {"-": 0.05, "k.A.": 0.03}
                ),
                FEVER,
                separator=";",
                exact="gesichert:",
                codes=("-", "k.A."),
                doubtful=True,
            ),
        ),
        delimiter=";",
        encoding="cp1252",
    )


def clinic_utf8(dice: Dice) -> MessyFile:
    """Return a German symptom list in UTF-8 with a byte-order mark, and commas."""
    return MessyFile(
        "symptome-de-bom",
        (
            k.plain("Alter", dice.whole(1, 95)),
            k.pair("Geschlecht", dice.pick(["m", "w"])),
            k.comma("Gewicht", written(dice.normal(75, 12), 1, ",")),
            k.comma(
                "Größe",
                [f"{text} cm" for text in written(dice.normal(172, 9), 0)],
                kind="unit",
                decimals=(None, ".", ","),
                units=("cm",),
            ),
            k.boolean(
                "raucht",
                dice.sprinkled(dice.pick(["Ja", "Nein"]), {"keine Angabe": 0.04}),
                codes=("keine Angabe",),
            ),
            k.ordered(
                "Zufriedenheit",
                dice.pick(
                    [
                        "sehr unzufrieden",
                        "unzufrieden",
                        "teils/teils",
                        "zufrieden",
                        "sehr zufrieden",
                    ]
                ),
                ["sehr unzufrieden", "unzufrieden", "teils/teils", "zufrieden", "sehr zufrieden"],
            ),
            k.ordered("Altersgruppe", dice.pick(BANDS), BANDS, kind="bands"),
            k.left_out(
                "Telefon",
                "phone",
                [
                    f"0{n}/{m}"
                    for n, m in zip(dice.whole(30, 9999), dice.whole(100000, 9999999), strict=True)
                ],
            ),
            k.date(
                "Datum",
                in_words(dice.days("2022-02-01", "2024-03-01"), "de"),
                "%d. %B %Y",
                kind="date in words",
                doubtful=True,
            ),
            k.excluded("nicht", dice.lists(SYMPTOMS, "|", 3), SYMPTOMS, separator="|"),
        ),
        encoding="utf-8-sig",
    )


def orders_de(dice: Dice) -> MessyFile:
    """Return German orders with money, thousands and percent."""
    return MessyFile(
        "auftraege-de",
        (
            k.left_out("Auftrag", "id", range(10001, 10001 + dice.rows)),
            k.comma(
                "Umsatz",
                [f"{t} €" for t in written(dice.skewed(2500), 2, ",", ".")],
                kind="currency",
                units=("€",),
            ),
            k.comma(
                "Menge",
                written(dice.skewed(3000, 1.2), 0, ",", "."),
                kind="thousands",
                doubtful=True,
            ),
            k.comma(
                "Rabatt",
                [f"{t} %" for t in written(dice.normal(12, 3), 1, ",")],
                kind="percent",
                units=("%",),
            ),
            k.category(
                "Land",
                dice.sprinkled(dice.pick(["DE", "AT", "CH", "NL"]), {"NA": 0.02}),
                kind="two letters",
                either=("NA",),
                doubtful=True,
            ),
            k.boolean("bezahlt", dice.pick(["J", "N"])),
            k.date(
                "Lieferung",
                dated(dice.days("2023-01-01", "2024-12-31"), "%d.%m.%y"),
                "%d.%m.%y",
                doubtful=True,
            ),
            k.left_out(
                "Anschrift",
                "address",
                dice.texts(
                    ["{s} {n}, {p} {c}"],
                    s=STREETS,
                    n=[str(n) for n in range(1, 90)],
                    p=[f"{n:05d}" for n in range(1067, 99000, 977)],
                    c=["Köln", "Jena", "Gießen"],
                ),
            ),
            k.category("Größe", dice.pick(["rot", "grün", "blau", "weiß"])),
            k.excluded("Marke nicht", dice.pick(BRANDS), BRANDS, kind="CF, one each"),
        ),
        delimiter=";",
        encoding="cp1252",
        above="sep=;",
    )
