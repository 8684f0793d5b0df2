"""Text tables as programs and people write them, with the cells that they hold.

A kind takes random cells and returns the bytes of a file and its rows as they should be read:
without titles above, blank lines and padding, each row as wide as the widest. `following` adds the
options that messages propose, one message after the other, until the table is read.
"""

import re
import shlex
from dataclasses import dataclass

from cfl_cli.errors import DataError
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.codec import read_bytes as read
from cfl_cli.tables.formats import KINDS

OPTION = re.compile(r"--([a-z-]+)(?: ('[^']*'|\"[^\"]*\"|(?!--)[^\s,;:]+))?")
WORDS = ["north", "O'Neil", "x y", "Köln", "a,b", 'say "so"', "3.5", "-7", "", "two\nlines", "c;d"]
MOST = 8  # messages


@dataclass(frozen=True)
class Written:
    """A file, its columns and rows as they should be read."""

    data: bytes
    rows: list[list[str]]
    names: list[str] | None = None  # None: any


def records(r, width, *, rows=12, words=WORDS):
    return [
        [f"id{n}", *(r.choice(words) for _ in range(width - 2)), str(r.randint(0, 999))]
        for n in range(rows)
    ]


def cell(text, *, delimiter=",", mark='"', escape=None, always=False):
    special = {delimiter, mark, "\r", "\n"}
    if escape:
        text = text.replace(escape, escape * 2)
    if not always and not special & {*text}:
        return text
    return mark + text.replace(mark, (escape + mark) if escape else mark * 2) + mark


def lines(rows, *, delimiter=",", end="\n", **how):
    return "".join(
        delimiter.join(cell(one, delimiter=delimiter, **how) for one in row) + end for row in rows
    )


NAMES = ["key", "place", "remark", "size", "rate", "sum"]


def usual(r, **how):
    names = NAMES[: r.randint(3, 6)]
    rows = records(r, len(names), words=how.pop("words", WORDS))
    return names, rows, lines([names, *rows], **how)


def plain(r, **how):
    names, rows, text = usual(r, **how)
    return Written(text.encode(), rows, names)


def no_header(r):
    rows = records(r, 4)
    return Written(
        lines([["1", "1", *rows[0][2:]], *rows]).encode(), [["1", "1", *rows[0][2:]], *rows]
    )


def nameless(r):
    names, rows, _ = usual(r)
    names = [names[0], "", *names[2:]]
    called = [names[0], "column_2", *names[2:]]
    return Written(lines([names, *rows]).encode(), rows, called)


def twice(r):
    names, rows, _ = usual(r)
    names = [*names[:-1], names[1]]
    return Written(lines([names, *rows]).encode(), rows, [*names[:-1], f"{names[1]}_2"])


def preamble(r):
    names, rows, text = usual(r)
    above = ["Report of the office", "", "made by a program"][: r.randint(1, 3)]
    return Written(("\n".join(above) + "\n" + text).encode(), rows, names)


def padded_preamble(r):
    names, rows, _ = usual(r)
    above = [["Report", *[""] * (len(names) - 1)], [""] * len(names)]
    return Written(lines([*above, names, *rows]).encode(), rows, names)


def long_preamble(r):
    names, rows, text = usual(r)
    above = "".join(f'# note {n}: said "so"\n' for n in range(12)).replace('"', "")
    return Written((above + text).encode(), rows, names)


def short_rows(r):
    names, rows, _ = usual(r)
    cut = [row[: r.randint(2, len(names))] for row in rows]
    return Written(
        lines([names, *cut]).encode(), [row + [""] * (len(names) - len(row)) for row in cut], names
    )


def long_rows(r):
    names, rows, _ = usual(r)
    rows = [row + ["more"] * (n == 5) for n, row in enumerate(rows)]
    wide = [row + [""] * (len(names) + 1 - len(row)) for row in rows]
    return Written(lines([names, *rows]).encode(), wide, [*names, f"column_{len(names) + 1}"])


def trailing(r):
    names, rows, _ = usual(r)
    rows = [[*row, ""] for row in rows]
    return Written(
        lines([[*names, ""], *rows]).encode(), rows, [*names, f"column_{len(names) + 1}"]
    )


def trailing_below(r):
    names, rows, _ = usual(r)
    rows = [[*row, "", ""] for row in rows]
    return Written(lines([names, *rows]).encode(), rows)


def footer(r):
    names, rows, text = usual(r)
    end = ["source: the office", *[""] * (len(names) - 1)]
    return Written((text + "\nsource: the office\n").encode(), [*rows, end], names)


def blank_lines(r):
    names, rows, _ = usual(r)
    text = lines([names, *rows[:4]]) + "\n\n" + lines(rows[4:])
    return Written(text.encode(), rows, names)


def two_tables(r):
    names, rows, text = usual(r)
    other = [["total", str(n)] for n in range(3)]
    wide = [row + [""] * (len(names) - 2) for row in other]
    return Written((text + "\n" + lines(other)).encode(), [*rows, *wide], names)


def header_again(r):
    names, rows, text = usual(r)
    return Written((text + lines([names])).encode(), [*rows, names], names)


def escaped(r):
    words = ['say "so"', "a,b", "back\\slash", "plain"]
    names, rows, _ = usual(r, escape="\\", words=words)
    rows[0][1] = 'a "b" c'
    return Written(lines([names, *rows], escape="\\").encode(), rows, names)


def blanks_before_quotes(r, *, delimiter=",", mark='"', escape=None):
    names, rows, _ = usual(r)
    rows[0][1] = f"x{delimiter} y"
    sides = [(" ", ""), ("", " "), (" ", "\t"), ("  ", "")]
    before, behind = r.choice(sides)
    return Written(
        "".join(
            delimiter.join(
                (before if place else "")
                + cell(one, delimiter=delimiter, mark=mark, escape=escape, always=True)
                + behind
                for place, one in enumerate(row)
            )
            + "\n"
            for row in [names, *rows]
        ).encode(),
        rows,
        names,
    )


def stray_quotes(r):
    names, rows, _ = usual(r, words=["north", "Köln", "x y"])
    rows[3][1] = '5" pipe'
    text = "".join(",".join(row) + "\n" for row in [names, *rows])
    return Written(text.encode(), rows, names)


def single_quotes(r):
    names, rows, _ = usual(r, mark="'", words=["north", "a,b", "x y"], always=True)
    rows[0][1] = "a,b"
    return Written(lines([names, *rows], mark="'", always=True).encode(), rows, names)


def returns(r):
    names, rows, text = usual(r, end="\r")
    return Written(text.encode(), rows, names)


def mixed_ends(r):
    names, rows, _ = usual(r)
    text = lines([names, *rows[:3]], end="\r\n") + lines(rows[3:6]) + lines(rows[6:], end="\r")
    return Written(text.encode(), rows, names)


def blanks_and_semicolons(r):
    names, rows, _ = usual(r)
    above = "Title of the export\n\n"
    names = [names[0], names[0], *names[2:]]
    called = [names[0], f"{names[0]}_2", *names[2:]]
    data = (above + lines([names, *rows], delimiter=";", end="\r\n")).encode("utf-8-sig")
    return Written(data, rows, called)


def instrument(r):
    settings = "".join(f"#SETTING {n}: ,value {n}   \n" for n in range(r.randint(5, 20)))
    names = ["##Temp./°C", "Time/min", "E'(1 Hz)/MPa", 'E"(1 Hz)/MPa']
    rows = [[f" {r.random():.5f}" for _ in names] for _ in range(30)]
    text = settings + "\n" + "".join(",".join(row) + "\n" for row in [names, *rows])
    return Written(text.encode(), rows, names)


def numbers_below_a_title(r):
    rows = [[f"{r.random():.3f}" for _ in range(4)] for _ in range(8)]
    return Written(("Run 7, made by hand\n" + lines(rows)).encode(), rows)


def one_wide_record(r):
    """All cells quoted, and the only record ends with one that holds the line's end."""
    row = [str(r.randint(0, 99)) for _ in NAMES] + ["\n"]
    text = lines([NAMES, row], delimiter=";", always=True)
    return Written(text.encode(), [row], [*NAMES, f"column_{len(row)}"])


KINDS_OF_FILES = {
    "plain": plain,
    "semicolons": lambda r: plain(r, delimiter=";"),
    "tabs": lambda r: plain(r, delimiter="\t", end="\r\n"),
    "quoted semicolons": lambda r: plain(r, delimiter=";", always=True),
    "quoted tabs": lambda r: plain(r, delimiter="\t", always=True),
    "bars": lambda r: plain(r, delimiter="|"),
    "no header": no_header,
    "nameless": nameless,
    "twice": twice,
    "preamble": preamble,
    "padded preamble": padded_preamble,
    "long preamble": long_preamble,
    "short rows": short_rows,
    "long rows": long_rows,
    "trailing": trailing,
    "trailing below": trailing_below,
    "footer": footer,
    "blank lines": blank_lines,
    "two tables": two_tables,
    "header again": header_again,
    "escaped": escaped,
    "blanks": blanks_before_quotes,
    "blanks, semicolons": lambda r: blanks_before_quotes(r, delimiter=";"),
    "blanks, escapes": lambda r: blanks_before_quotes(r, escape="\\"),
    "stray quotes": stray_quotes,
    "single quotes": single_quotes,
    "returns": returns,
    "mixed ends": mixed_ends,
    "title, semicolons, twice": blanks_and_semicolons,
    "instrument": instrument,
    "numbers below a title": numbers_below_a_title,
    "one wide record": one_wide_record,
}


def proposed(message):
    """The options that a message names, each as it would be typed; the last word is not taken."""
    found = {}
    for option, value in OPTION.findall(message.partition(", or file:")[0]):
        name = option.replace("-", "_")
        if name == "on_bad_row":
            continue
        found[name] = shlex.split(value)[0] if value else "yes"
    return found


def following(data, *, set_aside=None):
    """Return the table and the options by which it is read, or None and the message left."""
    dialect = {}
    for _ in range(MOST):
        options = ReadOptions(KINDS["csv"], "t.csv", dialect, set_aside)
        try:
            return read(data, options), dialect
        except DataError as error:
            more = proposed(error.texts[0])
            more = {name: "\t" if value == "tab" else value for name, value in more.items()}
            if not more or {**dialect, **more} == dialect:
                return None, error.texts[0]
            dialect = {**dialect, **more}
    return None, "no end"


def cells(table):
    """The cells as text; nothing between delimiters is the empty text."""
    return [[one or "" for one in row] for row in table.frame.rows()]
