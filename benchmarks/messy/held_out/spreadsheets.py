"""Spreadsheets in other languages: columns of drawn kinds, written as that language does."""

from collections.abc import Callable

from benchmarks.messy import files as k
from benchmarks.messy.cells import Dice, dated, written
from benchmarks.messy.files import Column, MessyFile
from benchmarks.messy.held_out import words as w
from benchmarks.messy.held_out.words import Language

UNITS = ("kg", "cm", "mmHg", "°C", "km/h", "l")
JOINTS = ("; ", ";", ", ", " | ", "/", " + ")


def sheet(language: Language, dice: Dice, number: int) -> MessyFile:
    encoding = language.encodings[number % len(language.encodings)]
    delimiter = ";" if number % 3 != 1 else ("\t" if number % 2 else ",")
    order = [KINDS[int(place)] for place in dice.rng.permutation(len(KINDS))]
    columns = [make(language, dice, f"_{place}") for place, make in enumerate(order[:11])]
    columns.insert(int(dice.rng.integers(len(columns))), _excluded(language, dice, delimiter))
    return MessyFile(
        f"{language.name}-{number}", tuple(columns), delimiter=delimiter, encoding=encoding
    )


def _chance(dice: Dice) -> bool:
    return bool(dice.rng.random() < 0.5)


def _one(dice: Dice, values: tuple[str, ...]) -> str:
    return values[int(dice.rng.integers(len(values)))]


def _id(language: Language, dice: Dice, tail: str) -> Column:
    numbers = [number + 100000 for number in dice.different(900000)]
    if _chance(dice):
        return k.left_out(f"ID{tail}", "id", [f"{language.name.upper()}-{n}" for n in numbers])
    return k.left_out(f"Nr{tail}", "id", range(2001, 2001 + dice.rows))


def _name(language: Language, dice: Dice, tail: str) -> Column:
    form = "{a}, {b}" if _chance(dice) else "{b} {a}"
    cells = dice.texts([form], a=language.surnames, b=language.first_names)
    return k.left_out(language.header(w.NAME) + tail, "names", cells)


def _address(language: Language, dice: Dice, tail: str) -> Column:
    numbers = [str(n) for n in range(1, 120)]
    cells = dice.texts(["{s} {n}, {c}"], s=language.streets, n=numbers, c=language.cities)
    return k.left_out(f"adr{tail}", "address", cells)


def _age(language: Language, dice: Dice, tail: str) -> Column:
    name, cells = language.header(w.AGE) + tail, [str(n) for n in dice.whole(18, 88)]
    if _chance(dice):
        code = _one(dice, language.codes)
        return k.plain(name, dice.sprinkled(cells, {code: 0.04}), codes=(code,), doubtful=True)
    return k.plain(name, cells)


def _decimals(language: Language, dice: Dice, tail: str) -> Column:
    cells = written(dice.normal(24, 5), 1 + int(dice.rng.integers(2)), language.decimal)
    if _chance(dice):
        return k.comma(f"BMI{tail}", cells)
    code = _one(dice, language.codes)
    return k.comma(f"BMI{tail}", dice.sprinkled(cells, {code: 0.05}), codes=(code,), doubtful=True)


def _lone(language: Language, dice: Dice, tail: str) -> Column:
    code = _one(dice, language.codes)
    cells = dice.once(written(dice.normal(37, 0.7), 1, language.decimal), code)
    return k.comma(f"temp{tail}", cells, kind="lone code", codes=(code,), doubtful=True)


def _money(language: Language, dice: Dice, tail: str) -> Column:
    form, thousands = _one(dice, language.money), _one(dice, language.thousands)
    texts = written(dice.skewed(1800), 2, language.decimal, thousands)
    unit = form.replace("{}", "").strip()
    return k.comma(
        language.header(w.AMOUNT) + tail,
        [form.format(text) for text in texts],
        kind="currency",
        units=(unit,),
    )


def _large(language: Language, dice: Dice, tail: str) -> Column:
    thousands = language.thousands[0]
    cells = written(dice.skewed(9000, 1.0), 2, language.decimal, thousands)
    return k.comma(f"total{tail}", cells, kind="thousands")


def _share(language: Language, dice: Dice, tail: str) -> Column:
    blank = " " if _chance(dice) else ""
    cells = [f"{text}{blank}%" for text in written(dice.normal(40, 9), 1, language.decimal)]
    return k.comma(language.header(w.SHARE) + tail, cells, kind="percent", units=("%",))


def _unit(language: Language, dice: Dice, tail: str) -> Column:
    unit = _one(dice, UNITS)
    cells = [f"{text} {unit}" for text in written(dice.normal(70, 9), 1, language.decimal)]
    return k.comma(f"X{tail}", cells, kind="unit", units=(unit,))


def _sentinel(language: Language, dice: Dice, tail: str) -> Column:
    codes = ("-99", "999,9") if _chance(dice) else ("9999",)
    cells = written(dice.normal(120, 15), 1, language.decimal)
    return k.comma(
        f"RR{tail}",
        dice.sprinkled(cells, dict.fromkeys(codes, 0.03)),
        kind="sentinel",
        codes=codes,
        doubtful=True,
    )


def _day(language: Language, dice: Dice, tail: str) -> Column:
    form = _one(dice, language.days)
    cells = dated(dice.moments("2018-01-01", "2024-12-31", seconds=False), form)
    formats = (form, "") if form.startswith("%Y-") else (form,)
    return k.date(language.header(w.DATE) + tail, cells, *formats)


def _gap_day(language: Language, dice: Dice, tail: str) -> Column:
    form = language.days[0]
    code = _one(dice, language.codes)
    cells = dice.sprinkled(dated(dice.days("2010-01-01", "2024-12-31"), form), {code: 0.1})
    formats = (form, "") if form.startswith("%Y-") else (form,)
    return k.date(
        f"{language.header(w.DATE)} 2{tail}", cells, *formats, codes=(code,), doubtful=True
    )


def _boolean(language: Language, dice: Dice, tail: str) -> Column:
    true, false = language.booleans[int(dice.rng.integers(len(language.booleans)))]
    cells = dice.pick([true, false])
    if _chance(dice):
        return k.boolean(f"B{tail}", [*cells[:-9], *[""] * 9])
    code = _one(dice, language.codes)
    return k.boolean(f"B{tail}", dice.sprinkled(cells, {code: 0.05}), codes=(code,))


def _scale(language: Language, dice: Dice, tail: str) -> Column:
    scale = language.scales[int(dice.rng.integers(len(language.scales)))]
    name = language.header(w.ANSWER) + tail
    if _chance(dice):
        return k.ordered(name, dice.pick(scale), scale)
    cells = dice.sprinkled(
        [text.capitalize() for text in dice.pick(scale)], {language.unsure: 0.05}
    )
    return k.ordered(
        name, cells, [text.capitalize() for text in scale], codes=(language.unsure,), doubtful=True
    )


def _bands(language: Language, dice: Dice, tail: str) -> Column:
    bands = language.bands[int(dice.rng.integers(len(language.bands)))]
    return k.ordered(f"G{tail}", dice.pick(bands), bands, kind="bands")


def _city(language: Language, dice: Dice, tail: str) -> Column:
    name = language.header(w.CITY) + tail
    if _chance(dice):
        return k.category(name, [f"{city} " for city in dice.pick(language.cities)])
    code = _one(dice, language.codes)
    cells = dice.sprinkled(dice.pick(language.cities), {code: 0.04})
    return k.category(name, cells, codes=(code,), doubtful=True)


def _case(language: Language, dice: Dice, tail: str) -> Column:
    one, *others = language.cities
    cells = dice.pick([one, one.upper(), one.lower(), *others], [30, 4, 3, 20, 20, 20, 20])
    return k.category(f"C{tail}", cells, kind="mixed case", doubtful=True)


def _postal(_: Language, dice: Dice, tail: str) -> Column:
    cells = dice.pick([f"{n:05d}" for n in (12, 300, 4470, 10115, 28195, 60311)])
    return k.code(f"ZIP{tail}", cells)


def _phone(_: Language, dice: Dice, tail: str) -> Column:
    numbers = dice.whole(1000000, 9999999)
    return k.left_out(f"tel{tail}", "phone", [f"+39 0{n % 90 + 10} {n}" for n in numbers])


def _note(language: Language, dice: Dice, tail: str) -> Column:
    filler = w.FILLERS[language.name]
    forms = [f"{form.format('{a}')} – {{b}}" for form in language.notes]
    cells = dice.sprinkled(dice.texts(forms, a=filler, b=filler), {"": 0.3})
    return k.left_out(language.header(w.NOTE) + tail, "note", cells)


def _grid(_: Language, dice: Dice, tail: str) -> Column:
    high, code = [(5, "8"), (7, "99"), (10, "-1"), (5, "88")][int(dice.rng.integers(4))]
    cells = [str(n) for n in dice.whole(1, high)]
    if _chance(dice):
        return k.grid(f"F{tail}", cells)
    if code in {"8", "-1"}:  # nothing in the column tells them from an answer
        return k.grid(f"F{tail}", dice.sprinkled(cells, {code: 0.05}), either=(code,))
    return k.grid(f"F{tail}", dice.sprinkled(cells, {code: 0.05}), codes=(code,))


def _count(_: Language, dice: Dice, tail: str) -> Column:
    return k.plain(f"n{tail}", [int(n) for n in dice.rng.poisson(1.4, dice.rows)])


def _cross(_: Language, dice: Dice, tail: str) -> Column:
    cells = dice.pick(["x", ""], [1, 2])
    return Column(f"K{tail}", "cross or empty", tuple(cells), ("binary", "ignore"), doubtful=True)


def _many(language: Language, dice: Dice, tail: str) -> Column:
    return k.many(f"M{tail}", dice.lists(language.cities, ", ", 3))


def _clock(_: Language, dice: Dice, tail: str) -> Column:
    form = "%H:%M" if _chance(dice) else "%H.%M"
    cells = dated(dice.moments("2020-01-01", "2020-02-01"), form)
    if form == "%H.%M":
        return Column(
            f"h{tail}", "time of day", tuple(cells), ("date", "ignore", "numeric"),
            formats=(form,), doubtful=True, decimals=(None, "."),
        )  # fmt: skip
    return k.clock(f"h{tail}", cells, form)


def _year(_: Language, dice: Dice, tail: str) -> Column:
    return Column(
        f"J{tail}", "year", tuple(str(n) for n in dice.whole(1950, 2024)), ("numeric", "date"),
        formats=("%Y",),
    )  # fmt: skip


def _same(_: Language, dice: Dice, tail: str) -> Column:
    text = "A" if _chance(dice) else ""
    return k.left_out(f"Z{tail}", "constant", [text] * dice.rows)


def _sex(language: Language, dice: Dice, tail: str) -> Column:
    return k.pair(f"S{tail}", dice.pick(language.sexes))


def _pressure(_: Language, dice: Dice, tail: str) -> Column:
    pairs = zip(dice.whole(100, 160), dice.whole(60, 95), strict=True)
    return Column(
        f"BP{tail}", "two numbers", tuple(f"{a}/{b}" for a, b in pairs), ("ignore",), doubtful=True
    )


def _icd(_: Language, dice: Dice, tail: str) -> Column:
    codes = [f"{letter}{n:02d}.{n % 10}" for letter, n in zip("JKLMNJKL", range(3, 90, 11))]  # noqa: B905 — as many as there are letters
    return k.code(f"ICD{tail}", dice.pick(codes))


def _three(language: Language, dice: Dice, tail: str) -> Column:
    cells = written(dice.normal(4, 1.2), 3, language.decimal)
    return k.comma(f"pos{tail}", cells, kind="three decimals", doubtful=True)


def _excluded(language: Language, dice: Dice, delimiter: str) -> Column:
    joint = _one(dice, JOINTS)
    cells: list[str] = dice.lists(language.domain, joint, 2)
    code = _one(dice, language.codes)
    exact = None
    if _chance(dice):
        cells, exact = dice.marked(cells, language.exact, language.domain, 0.12), language.exact
    return k.excluded(
        language.header(w.EXCLUDED),
        dice.sprinkled(cells, {code: 0.04}),
        language.domain,
        separator=joint.strip(),
        exact=exact.strip() if exact else None,
        codes=(code,),
        doubtful=bool(exact) or joint.strip() == delimiter,
    )


KINDS: tuple[Callable[[Language, Dice, str], Column], ...] = (
    *(_id, _name, _address, _age, _decimals, _decimals, _lone, _money, _large, _share, _unit),
    *(_sentinel, _day, _day, _gap_day, _boolean, _boolean, _scale, _scale, _bands, _city, _case),
    *(_postal, _phone, _note, _grid, _grid, _count, _cross, _many, _clock, _year, _same, _sex),
    *(_pressure, _icd, _three),
)
