"""How facts are shown: to people as a table or Markdown, to programs as JSON or CSV.

`report`, `scores` and `trials` make a page each, and a renderer makes text of any page. A new
format is one function in `layout` and one entry below. Pages for browsers are in `web`.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cfl_cli.core.messages import printable

if TYPE_CHECKING:
    from cfl_cli.trust.intervals import Interval

# A page of facts: what a command has to show, before it becomes text in any format.

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Field(Generic[Fact]):
    heading: str
    show: Callable[[Fact], str]
    right: bool = False
    folds: bool = False  # rather than be cropped where there is no room
    splits: bool = False  # at commas, a part a line: folded, it would break within words
    style: Callable[[Fact], str] = lambda _: ""
    from_width: int = 0  # a narrower terminal gets the table without this column
    drawing: bool = False  # made of blocks, for terminals alone
    begins: bool = False  # a line, if there is one more anyway for want of width
    spare: bool = False  # shows what another column says: only where there is room
    share: Callable[[Fact], float] | None = None  # from 0 to 1, for a bar on pages for browsers
    # An interval from 0 to 1 and another estimate, for a dot, its line and a hollow mark there.
    spread: "Callable[[Fact], tuple[Interval, float | None] | None] | None" = None


def name_field(name: Callable[[Fact], str]) -> Field[Fact]:
    return Field("CF", lambda fact: printable(name(fact)), folds=True, style=lambda _: "bold")


@dataclass(frozen=True)
class Dot:
    name: str
    position: tuple[float, float]  # of the middle, seen from the thing itself
    weight: float
    says: str
    alike: bool  # does it say what is answered?


@dataclass(frozen=True)
class Surroundings:
    dots: Sequence[Dot]  # most weight first
    answer: str
    spread: tuple[float, float]  # share of the squared distances along the two axes


@dataclass(frozen=True)
class Section(Generic[Fact]):
    title: str
    fields: Sequence[Field[Fact]]
    facts: Sequence[Fact]
    notes: Sequence[str]
    lead: str = field(default="", kw_only=True)  # below the title, in a line or two
    picture: Surroundings | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Page(Section[Fact]):
    records: Sequence[Mapping[str, object]]  # all with the same names; nothing nested
    json: str  # one object that holds everything
    more: Sequence[Section[Any]] = field(default=(), kw_only=True)

    @property
    def sections(self) -> list[Section[Any]]:
        return [self, *self.more]


def interval_text(interval: "Interval | None") -> str:
    if interval is None:
        return "-"
    return f"{interval.value:.2f} ({interval.low:.2f}–{interval.high:.2f})"


# By name, as help does: `layout` loads rich, which takes a while.
RENDERERS = {"table": "table", "json": "json_text", "csv": "comma_separated", "md": "markdown"}

# What shows itself in Python: by its type, the module that makes a page of it.
_PAGES = {
    "Report": "cli.pages.report",
    "Evaluation": "commands.evaluate.job",
    "Tuning": "commands.tune.job",
    "Audited": "commands.audit.work",
    "Explanation": "commands.explain.page",
    "SuspectCells": "commands.suspects.job",
    "Risk": "commands.risk.work",
    "Tabulation": "commands.tabulate.page",
    "Checked": "commands.check.job",  # lines, not a page
}


def render(page: Page[Any], form: str, *, color: bool = False, width: int | None = None) -> str:
    renderer = getattr(import_module("cfl_cli.cli.pages.layout"), RENDERERS[form])
    return str(renderer(page, color=color, width=width))


def show_in_python(thing: object, form: str) -> Any:
    """Return how a thing is shown: as a text in a format, or as `records`, a list of mappings.

    `html` is a part for notebooks, `page` a whole page for browsers.
    """
    shown = _shown_in_python(thing, form)
    is_report = type(thing).__name__ == "Report" and form in {"html", "table"}
    return _as_called(shown) if is_report else shown


# Steps and options in the texts of a report, which are those of the command line; see `trust`.
_VALUED = re.compile(r"--(method|folds|mode|gamma|bias)[ ]([a-z]+|[\d.]*\d)\b")
_CALLED = {
    r"cfl audit OUT --draw (\d+) --out rows\.csv": r"cfl_cli.audit(result, draw=\1)",
    r"cfl fit DATA --schema S --model M": "cfl_cli.fit(frame, schema)",
    r"cfl check DATA --schema S": "cfl_cli.check(frame, schema)",
    r"--diagnostics cells\.csv": "result.diagnostics",
    r"--keep-flagged\b": "keep_flagged=True",
    r"--no-calibration\b": "calibration=False",
    r"--infer\b": "infer",
}


def _as_called(text: str) -> str:
    """Return a text with its steps as they are written in Python."""
    for typed, called in _CALLED.items():
        text = re.sub(typed, called, text)
    return _VALUED.sub(
        lambda found: (
            f"{found[1]}={found[2]!r}" if found[2].isalpha() else f"{found[1]}={found[2]}"
        ),
        text,
    )


def _shown_in_python(thing: object, form: str) -> Any:
    layout = import_module("cfl_cli.cli.pages.layout")
    kind = type(thing).__name__
    if form in {"html", "page"} and kind == "Report":
        web = import_module("cfl_cli.cli.pages.web.report")
        return str(web.page(thing) if form == "page" else web.fragment(thing))
    module = import_module(f"cfl_cli.{_PAGES[kind]}")
    if form == "records":
        return module.page(thing).records
    if hasattr(module, "lines"):
        lines = module.lines(thing)
        return f"<div>{layout.paragraphs(lines)}</div>" if form == "html" else "\n".join(lines)
    page = module.page(thing)
    notes = [*page.notes, *(module.summary(thing) if hasattr(module, "summary") else ())]
    if kind != "Report":  # whose page has them
        notes += [f"warning: {warning}." for warning in getattr(thing, "warnings", ())]
    page = replace(page, notes=notes)
    if form == "html":
        if page.more:  # sections, with pictures
            return str(import_module("cfl_cli.cli.pages.web").fragment(page))
        return str(layout.html_fragment(page))
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return render(page, form, width=get_terminal_size().columns if terminal else None)
