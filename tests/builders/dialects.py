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


def usual(r, words=WORDS):
    names = NAMES[: r.randint(3, 6)]
    return names, records(r, len(names), words=words)


def table(names, rows, *, read=None, called=None, above="", below="", **how):
    text = above + lines([names, *rows], **how) + below
    return Written(text.encode(), read or rows, called or names)


def filled(rows, width):
    return [row + [""] * (width - len(row)) for row in rows]


def plain(r, **how):
    return table(*usual(r), **how)


def no_header(r):
    rows = records(r, 4)
    rows = [["1", "1", *rows[0][2:]], *rows]
    return Written(lines(rows).encode(), rows)


def nameless(r):
    names, rows = usual(r)
    return table([names[0], "", *names[2:]], rows, called=[names[0], "column_2", *names[2:]])


def twice(r):
    names, rows = usual(r)
    return table([*names[:-1], names[1]], rows, called=[*names[:-1], f"{names[1]}_2"])


def preamble(r):
    names, rows = usual(r)
    above = ["Report of the office", "", "made by a program"][: r.randint(1, 3)]
    return table(names, rows, above="\n".join(above) + "\n")


def padded_preamble(r):
    names, rows = usual(r)
    return table(names, rows, above=lines(filled([["Report"], []], len(names))))


def long_preamble(r):
    return table(*usual(r), above="".join(f"# note {n}: said so\n" for n in range(12)))


def short_rows(r):
    names, rows = usual(r)
    cut = [row[: r.randint(2, len(names))] for row in rows]
    return table(names, cut, read=filled(cut, len(names)))


def long_rows(r):
    names, rows = usual(r)
    rows = [row + ["more"] * (n == 5) for n, row in enumerate(rows)]
    wide = len(names) + 1
    return table(names, rows, read=filled(rows, wide), called=[*names, f"column_{wide}"])


def trailing(r):
    names, rows = usual(r)
    rows = [[*row, ""] for row in rows]
    return table([*names, ""], rows, called=[*names, f"column_{len(names) + 1}"])


def trailing_below(r):
    names, rows = usual(r)
    rows = [[*row, "", ""] for row in rows]
    return Written(lines([names, *rows]).encode(), rows)


def footer(r):
    names, rows = usual(r)
    end = filled([["source: the office"]], len(names))
    return table(names, rows, read=rows + end, below="\nsource: the office\n")


def blank_lines(r):
    names, rows = usual(r)
    return table(names, rows[:4], read=rows, below="\n\n" + lines(rows[4:]))


def two_tables(r):
    names, rows = usual(r)
    other = [["total", str(n)] for n in range(3)]
    return table(names, rows, read=rows + filled(other, len(names)), below="\n" + lines(other))


def header_again(r):
    names, rows = usual(r)
    return table(names, [*rows, names])


def escaped(r):
    names, rows = usual(r, ['say "so"', "a,b", "back\\slash", "plain"])
    rows[0][1] = 'a "b" c'
    return table(names, rows, escape="\\")


def blanks_before_quotes(r, *, delimiter=",", escape=None):
    names, rows = usual(r)
    rows[0][1] = f"x{delimiter} y"
    before, behind = r.choice([(" ", ""), ("", " "), (" ", "\t"), ("  ", "")])
    how = {"delimiter": delimiter, "escape": escape, "always": True}
    texts = ([cell(one, **how) + behind for one in row] for row in [names, *rows])
    text = "".join((delimiter + before).join(row) + "\n" for row in texts)
    return Written(text.encode(), rows, names)


def stray_quotes(r):
    names, rows = usual(r, ["north", "Köln", "x y"])
    rows[3][1] = '5" pipe'
    text = "".join(",".join(row) + "\n" for row in [names, *rows])
    return Written(text.encode(), rows, names)


def single_quotes(r):
    names, rows = usual(r, ["north", "a,b", "x y"])
    rows[0][1] = "a,b"
    return table(names, rows, mark="'", always=True)


def mixed_ends(r):
    names, rows = usual(r)
    below = lines(rows[3:6]) + lines(rows[6:], end="\r")
    return table(names, rows[:3], read=rows, end="\r\n", below=below)


def blanks_and_semicolons(r):
    names, rows = usual(r)
    above = "\ufeffTitle of the export\n\n"
    called = [names[0], f"{names[0]}_2", *names[2:]]
    names = [names[0], names[0], *names[2:]]
    return table(names, rows, called=called, above=above, delimiter=";", end="\r\n")


def instrument(r):
    """Lines of settings, a blank one, a header with a stray quote, numbers with blanks before."""
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
    called = [*NAMES, f"column_{len(row)}"]
    return table(NAMES, [row], called=called, delimiter=";", always=True)


KINDS_OF_FILES = {
    "semicolons": lambda r: plain(r, delimiter=";"),
    "tabs": lambda r: plain(r, delimiter="\t", end="\r\n"),
    "quoted semicolons": lambda r: plain(r, delimiter=";", always=True),
    "quoted tabs": lambda r: plain(r, delimiter="\t", always=True),
    "bars": lambda r: plain(r, delimiter="|"),
    "blanks, semicolons": lambda r: blanks_before_quotes(r, delimiter=";"),
    "blanks, escapes": lambda r: blanks_before_quotes(r, escape="\\"),
    "returns": lambda r: plain(r, end="\r"),
}
KINDS_OF_FILES |= {
    kind.__name__.replace("_", " "): kind
    for kind in (
        *(plain, no_header, nameless, twice, preamble, padded_preamble, long_preamble),
        *(short_rows, long_rows, trailing, trailing_below, footer, blank_lines, two_tables),
        *(header_again, escaped, blanks_before_quotes, stray_quotes, single_quotes, mixed_ends),
        *(blanks_and_semicolons, instrument, numbers_below_a_title, one_wide_record),
    )
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
    return [[one or "" for one in row] for row in table.frame.rows()]
