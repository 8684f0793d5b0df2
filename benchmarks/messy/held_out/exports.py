"""Exports of programs: a panel's survey, pandas, R, a register, a laboratory, a shop."""

import json

from benchmarks.messy import files as k
from benchmarks.messy.cells import Dice, dated, written
from benchmarks.messy.files import Column, MessyFile

TRANSPORT = ["Bus", "Car", "Bicycle", "Train", "On foot"]
LIKELY = ["Very unlikely", "Unlikely", "Neither", "Likely", "Very likely"]
GENERA = ["quercus", "fagus", "acer", "betula"]
INCOME = ["<20k", "20k-40k", "40k-60k", "60k-100k", ">100k"]


def panel(dice: Dice) -> MessyFile:
    """Return a panel's survey: codes for don't know, other answers, grids of seven."""
    spans = ["Less than 1 year", "1-2 years", "3-5 years", "More than 5 years"]
    other = dice.sprinkled(dice.pick(TRANSPORT), {"Other: ferry": 0.02, "Other: scooter": 0.01})
    return MessyFile(
        "panel-en",
        (
            k.left_out("ResponseId", "id", [f"R_{n:07X}" for n in _numbers(dice)]),
            k.date(
                "StartDate",
                dated(dice.moments("2023-03-01", "2023-05-30"), "%Y-%m-%d %H:%M:%S"),
                *("", "%Y-%m-%d %H:%M:%S"),
            ),
            k.plain("Duration (in seconds)", [round(n) for n in dice.skewed(400)]),
            k.boolean("Finished", dice.pick(["True", "False"], [9, 1])),
            k.ordered("Q1", dice.pick(LIKELY), LIKELY),
            k.ordered(
                "Q2", dice.sprinkled(dice.pick(spans), {"Don't know": 0.05}), spans, kind="bands",
                codes=("Don't know",), doubtful=True,
            ),
            k.grid("Q3_1", dice.sprinkled([str(n) for n in dice.whole(1, 7)], {"99": 0.06}),
                   codes=("99",)),
            k.grid("Q3_2", dice.sprinkled([str(n) for n in dice.whole(0, 10)], {"777": 0.03}),
                   codes=("777",)),
            k.category("Q4", other, kind="other answers", doubtful=True),
            k.many("Q5", dice.lists(TRANSPORT, ",", 4)),
            k.ordered("Income", dice.sprinkled(dice.pick(INCOME), {"Refused": 0.05}), INCOME,
                      kind="bands", codes=("Refused",), doubtful=True),
            k.excluded("Q6_never", dice.lists(TRANSPORT, ",", 3), TRANSPORT, separator=","),
        ),
        encoding="utf-8-sig",
        newline="\n",
    )  # fmt: skip


def register(dice: Dice) -> MessyFile:
    """Return a tree register: tabs, UTF-16, coordinates, empty rows at the end."""
    empty = [""] * 3
    vigour = ["poor", "fair", "good", "excellent"]
    width = dice.rows

    def tail(cells: list[str]) -> list[str]:
        return [*cells[: width - 3], *empty]

    return MessyFile(
        "register-en",
        (
            k.left_out("Tree Code", "id", tail([f"T-{n}" for n in _numbers(dice)])),
            k.plain("lat", tail(written(dice.normal(51.5, 0.1), 5))),
            k.plain("lon", tail(written(dice.normal(-0.1, 0.1), 5))),
            k.numbers("girth", "unit", tail([f"{t} cm" for t in written(dice.skewed(90), 0)]),
                      units=("cm",)),
            k.ordered("vigour", tail(dice.pick(vigour)), vigour),
            k.date("planted", tail(dated(dice.days("1980-01-01", "2020-12-31"), "%d-%b-%Y")),
                   "%d-%b-%Y"),
            k.boolean("protected", tail(dice.pick(["Y", "N"]))),
            k.numbers("value", "currency",
                      tail([f"£{t}" for t in written(dice.skewed(4000), 2, ".", ",")]),
                      units=("£",), decimals=(".",)),
            k.category("owner", tail(dice.pick(["Borough, North", "Borough, South", "private"]))),
            k.excluded("not genus",
                       tail(dice.marked(dice.lists(GENERA, " | ", 2), "!", GENERA, 0.1)),
                       GENERA, separator="|", exact="!"),
        ),
        delimiter="\t",
        encoding="utf-16",
        suffix=".tsv",
    )  # fmt: skip


def ledger(dice: Dice) -> MessyFile:
    """Return a Swiss ledger: an apostrophe between thousands, times, minus signs."""
    signed = [f"{n:,.2f}".replace(",", "'") for n in dice.normal(0, 9000)]
    return MessyFile(
        "ledger-ch",
        (
            k.left_out("Beleg", "id", [f"{n:08d}" for n in _numbers(dice)]),
            k.numbers("Saldo", "thousands", signed, decimals=(".",)),
            k.numbers("Kurs", "number", written(dice.normal(0.95, 0.02), 4), decimals=(None, ".")),
            k.numbers("Zins", "percent", [f"{t}%" for t in written(dice.normal(1, 0.2), 2)],
                      units=("%",), decimals=(None, ".")),
            k.date("Valuta", dated(dice.days("2021-01-01", "2023-12-31"), "%d.%m.%Y"), "%d.%m.%Y"),
            k.clock("Uhrzeit", dated(dice.moments("2021-01-01", "2021-02-01"), "%H:%M:%S"),
                    "%H:%M:%S"),
            k.category("Währung", dice.pick(["CHF", "EUR", "USD"])),
            k.boolean("storniert", dice.pick(["wahr", "falsch"], [1, 6])),
            k.left_out("IBAN", "id", [f"CH93 0076 2011 {n:07d}" for n in _numbers(dice)]),
            k.excluded("nicht",
                       dice.sprinkled(dice.pick(["Bar", "Karte", "Giro"]), {"offen": 0.03}),
                       ["Bar", "Karte", "Giro", "offen"], kind="CF, one each", either=("offen",),
                       doubtful=True),
        ),
        delimiter=";",
        encoding="cp1252",
        quoting="all",
    )  # fmt: skip


def frame(dice: Dice) -> MessyFile:
    """Return a frame that pandas wrote: index, floats of whole numbers, NaN, zones, lists."""
    moments = dated(dice.moments("2022-01-01", "2022-12-31"), "%Y-%m-%d %H:%M:%S+00:00")
    tags = [json.dumps([a, b]) for a, b in
            zip(dice.pick(["red", "blue"]), dice.pick(["x", "y", "z"]), strict=True)]  # fmt: skip
    return MessyFile(
        "frame-pandas",
        (
            k.left_out("index", "index", range(dice.rows)),
            k.date("created_at", moments, "", "%Y-%m-%d %H:%M:%S%z"),
            k.plain("visits", dice.sprinkled([f"{n}.0" for n in dice.whole(1, 60)], {"": 0.05})),
            k.boolean("active", dice.sprinkled(dice.pick(["True", "False"]), {"": 0.05})),
            k.boolean("flag", dice.pick(["1.0", "0.0"])),
            k.plain("amount", [f"{n:.6g}" for n in dice.skewed(3e5, 2.0)]),
            k.many("tags", tags),
            k.category("plan", dice.sprinkled(dice.pick(["free", "pro", "team"]), {"None": 0.05}),
                       either=("None",), doubtful=True),
            k.category("country", dice.sprinkled(dice.pick(["FR", "IT", "SE"]), {"NA": 0.03}),
                       kind="two letters", either=("NA",), doubtful=True),
            k.left_out("user", "id", [f"{n:08x}-{n % 9999:04x}-4a00-8000-00{n:010x}" for n in
                                      _numbers(dice)]),
            k.left_out("wait", "duration", [f"{n} days 0{n % 9}:00:00" for n in dice.whole(0, 90)],
                       doubtful=True),
            k.excluded("not_plan", dice.lists(["free", "pro", "team", "trial"], "|", 2),
                       ["free", "pro", "team", "trial"], separator="|"),
        ),
        newline="\n",
    )  # fmt: skip


def study(dice: Dice) -> MessyFile:
    """Return a data frame of R: everything quoted, NA, factors, a decimal comma (write.csv2)."""
    doses = ["low", "mid", "high"]
    return MessyFile(
        "study-r",
        (
            k.comma("weight", dice.sprinkled(written(dice.normal(70, 9), 1, ","), {"NA": 0.05}),
                    codes=("NA",)),
            k.boolean("smoker", dice.sprinkled(dice.pick(["TRUE", "FALSE"]), {"NA": 0.05}),
                      codes=("NA",)),
            k.ordered("dose", dice.pick(doses), doses, doubtful=True),
            k.ordered("grade", dice.pick(["G1", "G2", "G3"]), ["G1", "G2", "G3"], doubtful=True),
            k.category("blood", dice.pick(["A+", "A-", "B+", "0+", "AB+"])),
            k.plain("cyl", dice.pick(["4", "6", "8"])),
            k.date("born", dated(dice.days("1940-01-01", "2000-12-31"), "%Y-%m-%d"), "",
                   "%Y-%m-%d"),
            k.ordered("time", dice.pick(["week 1", "week 2", "week 4", "week 12"]),
                      ["week 1", "week 2", "week 4", "week 12"], kind="bands"),
            k.excluded("not_type", dice.sprinkled(dice.pick(["I", "II", "III"]), {"NA": 0.05}),
                       ["I", "II", "III"], kind="CF, one each", codes=("NA",)),
        ),
        delimiter=";",
        quoting="texts",
        newline="\n",
    )  # fmt: skip


def laboratory(dice: Dice) -> MessyFile:
    """Return a German laboratory's list: bounds, detection limits, findings, ranges."""
    below = {"<0,5": 0.06, "> 50": 0.02}
    findings = ["Sepsis", "Pneumonie", "Harnwegsinfekt", "Cholezystitis"]
    return MessyFile(
        "labor-de",
        (
            k.left_out("Auftragsnr.", "id", [f"L{n}" for n in _numbers(dice)]),
            k.bounds("PCT", dice.sprinkled(written(dice.skewed(4), 2, ","), below),
                     either=tuple(below)),
            k.comma("Kreatinin", dice.sprinkled(written(dice.normal(1.1, 0.2), 2, ","),
                                                {"hämolytisch": 0.04}), codes=("hämolytisch",),
                    doubtful=True),
            k.ordered("Nitrit", dice.pick(["-", "+", "++", "+++"]), ["-", "+", "++", "+++"],
                      doubtful=True),
            k.date("Eingang", dated(dice.moments("2024-01-01", "2024-04-01"), "%d.%m.%Y %H:%M"),
                   "%d.%m.%Y %H:%M"),
            k.comma("Natrium", [f"{t} mmol/l" for t in written(dice.normal(140, 4), 0)],
                    kind="unit", units=("mmol/l",), decimals=(None, ".", ",")),
            k.category("Material", dice.pick(["Blut", "Urin", "Liquor", "Abstrich"])),
            k.boolean("nüchtern", dice.sprinkled(dice.pick(["Ja", "Nein"]), {"unbekannt": 0.05}),
                      codes=("unbekannt",)),
            k.excluded("ausgeschl. Diagnose",
                       dice.sprinkled(
                           dice.marked(dice.lists(findings, ", ", 2), "sicher=", findings, 0.1),
                           {"n.b.": 0.03}),
                       findings, separator=",", exact="sicher=", codes=("n.b.",), doubtful=True),
        ),
        delimiter=";",
        encoding="cp1252",
    )  # fmt: skip


def shop(dice: Dice) -> MessyFile:
    """Return a US shop: month first, dollars, sizes, ratings with stars, a comma in every name."""
    sizes = ["Small", "Medium", "Large", "X-Large"]
    stars = ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"]
    return MessyFile(
        "shop-us",
        (
            k.date("Order Date", [f"{d.month}/{d.day}/{d.year}" for d in
                                  dice.days("2022-01-01", "2023-12-31")], "%m/%d/%Y"),
            k.numbers("Total", "currency",
                      [f"${t}" for t in written(dice.skewed(900, 1.0), 2, ".", ",")],
                      units=("$",), decimals=(".",)),
            k.ordered("Size", dice.pick(sizes), sizes),
            k.ordered("Stars", dice.pick(stars), stars),
            k.left_out("Customer", "names", dice.texts(
                ["{a}, {b} {c}."], a=["Smith", "O'Neil", "Lee", "Ng", "Diaz", "Kay", "Roy"],
                b=["Al", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"], c=list("ABCDEFGH"))),
            k.code("ZIP", dice.pick(["02139", "10001", "60601", "94105", "00501"])),
            k.numbers("Units", "thousands",
                      written([n + 900 for n in dice.skewed(2500)], 0, ".", ","),
                      decimals=(".",), doubtful=True),
            k.category("Channel",
                       dice.sprinkled(dice.pick(["web", "store", "phone"]), {"#N/A": 0.04}),
                       codes=("#N/A",), doubtful=True),
            Column("Gift", "cross or empty", tuple(dice.pick(["X", ""], [1, 3])),
                   ("binary", "ignore"), doubtful=True),
            k.excluded("Not interested in", dice.lists(["Shoes", "Hats", "Bags", "Belts"], "; ", 2),
                       ["Shoes", "Hats", "Bags", "Belts"], separator=";"),
        ),
    )  # fmt: skip


def _numbers(dice: Dice) -> list[int]:
    return [number + 1_000_000 for number in dice.different(9_000_000)]
