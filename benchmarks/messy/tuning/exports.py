"""Tables that pandas, R and a laboratory wrote."""

from benchmarks.messy import kinds as k
from benchmarks.messy.cells import Dice, dated, written
from benchmarks.messy.files import MessyFile

PAINS = ["angine", "grippe", "rhume", "otite", "sinusite", "bronchite"]


def staff(dice: Dice) -> MessyFile:
    """Return an HR table out of pandas with its index."""
    moments = dice.moments("2015-01-01", "2024-01-01")
    levels = ["low", "medium", "high"]
    return MessyFile(
        "staff-pandas",
        (
            k.left_out("Unnamed: 0", "index", range(dice.rows)),
            k.left_out(
                "employee_id",
                "id",
                [f"{n:08x}" for n in dice.different(2**30 // 1000)],
            ),
            k.boolean("remote", dice.pick(["True", "False"])),
            k.plain("salary", dice.sprinkled(written(dice.skewed(52000, 0.3), 1), {"": 0.05})),
            k.date("hired", dated(moments, "%Y-%m-%d %H:%M:%S"), "", "%Y-%m-%d %H:%M:%S"),
            k.plain("children", dice.sprinkled([f"{n}.0" for n in dice.whole(0, 4)], {"": 0.06})),
            k.ordered("risk", dice.pick(levels), levels),
            k.category(
                "team",
                dice.sprinkled(dice.pick(["sales", "it", "legal", "hr"]), {"NaN": 0.04}),
                codes=("NaN",),
                doubtful=True,
            ),
            k.many(
                "skills",
                [
                    str(sorted({a, b}))
                    for a, b in zip(
                        dice.pick(["sql", "python", "r"]),
                        dice.pick(["excel", "r", "go"]),
                        strict=True,
                    )
                ],
            ),
            k.excluded(
                "not_office",
                dice.pick(["Berlin", "Oslo", "Rome", "Riga"]),
                ["Berlin", "Oslo", "Rome", "Riga"],
                kind="CF, one each",
            ),
        ),
        newline="\n",
    )


def staff_floats(dice: Dice) -> MessyFile:
    """Return a pandas table whose whole numbers became floats, index without a name."""
    return MessyFile(
        "staff-floats-pandas",
        (
            k.left_out("", "index", range(dice.rows)),
            k.boolean("manager", dice.sprinkled(dice.pick(["1.0", "0.0"]), {"": 0.05})),
            k.plain(
                "age",
                dice.sprinkled([f"{n}.0" for n in dice.whole(19, 66)], {"nan": 0.03}),
                codes=("nan",),
            ),
            k.date(
                "left",
                dice.sprinkled(
                    dated(dice.days("2020-01-01", "2024-01-01"), "%Y-%m-%d"), {"NaT": 0.5}
                ),
                "",
                "%Y-%m-%d",
                codes=("NaT",),
                doubtful=True,
            ),
            k.plain("score", [repr(number) for number in dice.normal(0, 1)]),
            k.plain("year", dice.whole(1990, 2023)),
            k.code("site", dice.pick(["DE-01", "DE-02", "FR-01", "IT-09"])),
            k.excluded(
                "not_role",
                dice.lists(["dev", "ops", "qa", "pm"], ",", 2),
                ["dev", "ops", "qa", "pm"],
                separator=",",
            ),
        ),
        newline="\n",
    )


def trial(dice: Dice) -> MessyFile:
    """Return an R export: quotes, NA, TRUE and FALSE, factors, row names."""
    stages = ["I", "II", "III", "IV"]
    return MessyFile(
        "trial-r",
        (
            k.left_out("", "index", range(1, dice.rows + 1)),
            k.boolean("treated", dice.pick(["TRUE", "FALSE"])),
            k.plain(
                "bp", dice.sprinkled(written(dice.normal(130, 14), 1), {"NA": 0.06}), codes=("NA",)
            ),
            k.category(
                "arm",
                dice.sprinkled(dice.pick(["placebo", "drug A", "drug B"]), {"NA": 0.04}),
                codes=("NA",),
                doubtful=True,
            ),
            k.ordered("stage", dice.pick(stages), stages, doubtful=True),
            k.ordered(
                "severity",
                dice.pick(["mild", "moderate", "severe"]),
                ["mild", "moderate", "severe"],
            ),
            k.date(
                "visit", dated(dice.days("2019-01-01", "2020-12-31"), "%Y-%m-%d"), "", "%Y-%m-%d"
            ),
            k.pair("sex", dice.pick(["female", "male"])),
            k.excluded(
                "not_cause",
                dice.sprinkled(dice.pick(["virus", "bacteria", "fungus"]), {"NA": 0.05}),
                ["virus", "bacteria", "fungus"],
                codes=("NA",),
                kind="CF, one each",
            ),
        ),
        quoting="texts",
        newline="\n",
    )


def lab(dice: Dice) -> MessyFile:
    """Return laboratory values: bounds, units, sentinels, UTF-16."""
    few = dice.sprinkled(written(dice.skewed(20), 1), {"<5": 0.04, ">200": 0.02})
    return MessyFile(
        "lab-en-utf16",
        (
            k.left_out("sample", "id", [f"S{n:06d}" for n in range(1, dice.rows + 1)]),
            k.bounds("crp", few, either=("<5", ">200")),
            k.numbers("dose", "unit", [f"{n} mg" for n in dice.whole(1, 900)], units=("mg",)),
            k.numbers(
                "glucose",
                "sentinel",
                dice.sprinkled(written(dice.normal(5.4, 0.7), 1), {"-9": 0.02, "999": 0.02}),
                codes=("-9", "999"),
                decimals=(None, "."),
                doubtful=True,
            ),
            k.plain("ph", written(dice.normal(7.4, 0.05), 2)),
            k.category("result", dice.pick(["positive", "negative", "unclear"])),
            k.date(
                "taken",
                dated(dice.moments("2023-01-01", "2023-06-01"), "%Y-%m-%dT%H:%M:%S"),
                "",
                "%Y-%m-%dT%H:%M:%S",
            ),
            k.clock("at", dated(dice.moments("2023-01-01", "2023-06-01"), "%H:%M"), "%H:%M"),
            k.excluded(
                "ruled out",
                dice.marked(dice.lists(PAINS, ";", 3), "confirmed: ", PAINS, 0.1),
                PAINS,
                separator=";",
                exact="confirmed:",
                doubtful=True,
            ),
        ),
        delimiter="\t",
        encoding="utf-16",
    )
