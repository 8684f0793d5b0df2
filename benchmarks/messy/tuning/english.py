"""An English survey, and lists of products and visits."""

from benchmarks.messy import kinds as k
from benchmarks.messy.cells import Dice, dated, written
from benchmarks.messy.files import MessyFile

BRANDS = ["Adidas", "Asics", "Nike", "Puma", "Reebok"]
BANDS = ["18-24", "25-34", "35-44", "45-54", "55-64", "65+"]
AGREE = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
FIRST = ["Anna", "Jürgen", "Zoë", "Björn", "Müge", "Ömer", "Jörg", "Ute", "Käthe", "Uwe"]
LAST = ["Müller", "Schäfer", "Köhler", "Weiß", "Groß", "Jäger", "Böhm", "Vogt", "Krüger", "Lang"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def survey(dice: Dice) -> MessyFile:
    """Return an English web survey: long questions, US dates, other answers."""
    often = ["Never", "Rarely", "Sometimes", "Often", "Always"]
    moments = dice.moments("2024-01-01", "2024-06-30")
    return MessyFile(
        "survey-en",
        (
            k.date(
                "Timestamp",
                [f"{m.month}/{m.day}/{m.year} {m:%H:%M:%S}" for m in moments],
                "%m/%d/%Y %H:%M:%S",
            ),
            k.left_out("Respondent", "id", [f"R_{n:x}" for n in dice.different(2**20)]),
            k.ordered(
                "How old are you?",
                dice.sprinkled(dice.pick(BANDS), {"Prefer not to say": 0.05}),
                BANDS,
                kind="bands",
                codes=("Prefer not to say",),
                doubtful=True,
            ),
            k.ordered(
                "I like running.",
                dice.pick([text.capitalize() for text in AGREE]),
                [text.capitalize() for text in AGREE],
            ),
            k.ordered("How often?", dice.pick(often), often),
            k.grid(
                "Q7_1",
                dice.sprinkled([str(n) for n in dice.whole(1, 5)], {"99": 0.04}),
                codes=("99",),
            ),
            k.grid(
                "Q7_2",
                dice.sprinkled([str(n) for n in dice.whole(1, 7)], {"-99": 0.04}),
                codes=("-99",),
            ),
            k.category(
                "Gender",
                dice.sprinkled(
                    dice.pick(["Female", "Male", "Non-binary"]), {"Prefer not to say": 0.04}
                ),
                codes=("Prefer not to say",),
                doubtful=True,
            ),
            k.many(
                "Where do you run?", dice.lists(["Road", "Trail", "Track", "Treadmill"], ";", 3)
            ),
            k.left_out(
                "Anything else?",
                "note",
                dice.sprinkled(
                    dice.texts(
                        [
                            "I {v} my {n} because it is {a}.",
                            "The {n} is {a}, I {v} it.",
                            "{a} {n}!",
                        ],
                        v=["love", "like", "dislike", "return"],
                        n=["shoe", "lace", "sole", "insole", "box"],
                        a=["too tight", "very light", "soft", "not cheap", "okay for me"],
                    ),
                    {"": 0.4},
                ),
            ),
            k.plain("Pairs owned", dice.whole(0, 30)),
            k.excluded(
                "Brands you would not buy", dice.lists(BRANDS, "; ", 3), BRANDS, separator=";"
            ),
        ),
        newline="\n",
    )


def shoes(dice: Dice) -> MessyFile:
    """Return English sizes and ratings, with spelling variants and a lone `n/a`."""
    sizes = ["XS", "S", "M", "L", "XL"]
    return MessyFile(
        "shoes-en",
        (
            k.ordered("size", dice.pick(sizes), sizes),
            k.category(
                "brand",
                dice.pick(["Nike", "nike", "Nike ", "Puma", "Asics"], [40, 3, 2, 30, 20]),
                kind="mixed case",
                doubtful=True,
            ),
            k.numbers(
                "price",
                "lone code",
                dice.once(written(dice.skewed(80), 2), "n/a"),
                codes=("n/a",),
                decimals=(None, "."),
                doubtful=True,
            ),
            k.numbers(
                "cost",
                "currency",
                [f"${t}" for t in written(dice.skewed(1500), 2, ".", ",")],
                decimals=(".",),
                units=("$",),
            ),
            k.boolean("in stock", dice.pick(["yes", "no"])),
            k.boolean("returned", dice.pick(["TRUE", "FALSE"])),
            k.ordered(
                "rating",
                dice.pick(["1 - poor", "2 - fair", "3 - good", "4 - excellent"]),
                ["1 - poor", "2 - fair", "3 - good", "4 - excellent"],
            ),
            k.category(
                "colour",
                dice.sprinkled(dice.pick(["red", "green", "blue"]), {"none": 0.05}),
                either=("none",),
                doubtful=True,
            ),
            k.left_out("sku", "id", [f"{n:012d}" for n in dice.different(10**6)]),
            k.left_out("batch", "constant", ["2024A"] * dice.rows),
            k.excluded(
                "not brand", dice.marked(dice.pick(BRANDS), "=", BRANDS, 0.1), BRANDS, exact="="
            ),
        ),
        delimiter="|",
    )


def products(dice: Dice) -> MessyFile:
    """Return products whose thousands cannot be told from decimals in any single column."""
    return MessyFile(
        "products-en",
        (
            k.numbers(
                "sold",
                "thousands",
                written([n + 1000 for n in dice.skewed(6000)], 0, ".", ","),
                decimals=(".",),
                doubtful=True,
            ),
            k.plain("weight", written(dice.skewed(3), 3)),
            k.numbers(
                "margin",
                "percent",
                [f"{t}%" for t in written(dice.normal(20, 5), 1)],
                units=("%",),
                decimals=(None, "."),
            ),
            k.left_out(
                "url",
                "id",
                [f"https://shop.example/p/{n}" for n in dice.different(10**5)],
            ),
            k.category(
                "weekday",
                dice.pick(["Mon", "Tue", "Wed", "Thu", "Fri"]),
                doubtful=True,
                order=("Mon", "Tue", "Wed", "Thu", "Fri"),
            ),
            k.ordered(
                "month",
                dice.pick(MONTHS),
                MONTHS,
                doubtful=True,
            ),
            k.category("kind", dice.pick(["shoe, men", "shoe, women", "bag", "sock"])),
            k.boolean("sale", dice.pick(["Y", "N"])),
            k.excluded(
                "not sold in",
                dice.lists(["north", "south", "east", "west"], " & ", 2),
                ["north", "south", "east", "west"],
                separator="&",
            ),
        ),
        quoting="all",
    )


def visits(dice: Dice) -> MessyFile:
    """Return visits with trailing blanks and dates that leave open what comes first."""
    early = [day.replace(day=1 + day.day % 12) for day in dice.days("2023-01-01", "2023-12-31")]
    pain = ["none", "mild", "moderate", "severe"]
    return MessyFile(
        "visits-en",
        (
            k.date(
                "visit",
                dated(early, "%d/%m/%Y"),
                "%d/%m/%Y",
                "%m/%d/%Y",
                kind="open date",
                marked=True,
                doubtful=True,
            ),
            k.plain("age", [f"{n} " for n in dice.whole(20, 80)]),
            k.ordered("pain", dice.pick(pain), pain, doubtful=True),
            k.boolean("insured", [f"{text} " for text in dice.pick(["yes", "no"])]),
            k.date(
                "day",
                dated(dice.days("2021-01-01", "2023-12-31"), "%Y%m%d"),
                "%Y%m%d",
                "",
                kind="eight digits",
                doubtful=True,
            ),
            k.category(
                "ward", [f"{text}  " for text in dice.pick(["A north", "B south", "C east"])]
            ),
            k.plain(
                "stay",
                dice.sprinkled([str(n) for n in dice.whole(0, 20)], {"?": 0.03}),
                codes=("?",),
            ),
            k.left_out("doctor", "names", dice.texts(["Dr {f} {l}-{m}"], f=FIRST, l=LAST, m=LAST)),
            k.excluded(
                "not",
                dice.lists(["flu", "cold", "covid", "allergy"], "+", 2),
                ["flu", "cold", "covid", "allergy"],
                separator="+",
            ),
        ),
    )
