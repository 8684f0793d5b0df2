"""The manual, from the commands' own help: Markdown for `docs/reference/command-line.md`, roff for `cfl.1`.

    python -m cfl_cli.cli.manual DIRECTORY

writes both there, and `problems.md`, the list of all problems.
"""

import ast
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import typer

from cfl_cli import __version__
from cfl_cli.cli.app import app
from cfl_cli.cli.help import ENVIRONMENT, PANELS, HelpEntry, HelpPage
from cfl_cli.commands import COMMANDS, GROUPS
from cfl_cli.core.settings import SETTINGS
from cfl_cli.errors import ExitCode

_ENDS = {
    ExitCode.DONE: "Done.",
    ExitCode.WRONG_INPUT: "The data or the schema is wrong.",
    ExitCode.USAGE: "The command line is wrong.",
    ExitCode.FLAGGED: "Done, but a CF is flagged in the way that --fail-on names.",
    ExitCode.RESOURCES: "Out of memory or disk, or the solver failed.",
    ExitCode.HUNG_UP: "The terminal was closed; no partial file was left.",
    ExitCode.INTERRUPTED: "Interrupted; no partial file was left.",
    ExitCode.TERMINATED: "Terminated; no partial file was left.",
}
EXIT_CODES = [HelpEntry(str(code.value), words) for code, words in _ENDS.items()]
VARIABLES = (
    f"{ENVIRONMENT.format(example='CFL_K=30')} The command line wins over the environment, and the "
    "environment wins over the schema. A variable that names several columns, such as CFL_CF, holds "
    "one name per line."
)
_SCHEMA = (
    "Settings can also be given under `settings:` in the schema, with _ for -, such as "
    "`min_confidence: 0.8`. The settings engine, scheduler, workers, run_dir, resume, infer and "
    "sample belong to a single run and cannot be in a schema."
)
_READING = (
    "Every command that reads a table takes these options. `file:` in the schema holds them too, "
    "and the command line wins. `cfl init` detects delimiter, quote and encoding and writes them "
    "into the schema. A command that writes a table also takes --output-format."
)
_RARE = "`cfl COMMAND --help-all` lists all options of a command, also these."
_LONG = 90  # characters of a text that one command has and others refer to
_MANY = 4  # commands that share an option, which is described once then
_LINE = 72  # characters of a line of roff, before hyphens are escaped


def pages() -> tuple[HelpPage, list[tuple[HelpPage, HelpPage]]]:
    """Return the first page, and of each command its help and the whole of it."""
    group: Any = typer.main.get_command(app)
    ctx = group.make_context("cfl", [], resilient_parsing=True)
    found = []
    for name in COMMANDS:
        command = group.get_command(ctx, name)
        own = command.make_context(name, [], parent=ctx, resilient_parsing=True)
        found.append((command.page(own), command.page(own, whole=True)))
    return group.page(ctx), found


def common(page: HelpPage) -> list[HelpEntry]:
    """Return what most people use of a command, without what every command has."""
    shown = (one for title, one in page.panels.items() if title != PANELS["reading"])
    return [entry for panel in shown for entry in panel if "--help" not in entry.name]


def reading() -> list[HelpEntry]:
    (init,) = (page for page, _ in pages()[1] if page.name == "cfl init")
    return init.panels[PANELS["reading"]]


def rare() -> list[tuple[HelpEntry, list[str]]]:
    """Return the options that no command lists but by --help-all, and the commands of each."""
    found: dict[tuple[str, str], tuple[HelpEntry, list[str]]] = {}
    shown = {(entry.name, entry.text) for page, _ in pages()[1] for entry in common(page)}
    shared = {entry.name for entry in reading()}
    for _, page in pages()[1]:
        for entry in (entry for panel in page.panels.values() for entry in panel if entry.rare):
            key = entry.name, entry.text
            if entry.name not in shared and key not in shown:
                found.setdefault(key, (entry, []))[1].append(page.name.removeprefix("cfl "))
    every = ["every command"]
    return [(one, every if names == [*COMMANDS] else names) for one, names in found.values()]


def markdown_of_commands() -> str:
    return "\n\n".join(_paragraphs()) + "\n"


def _paragraphs() -> Iterator[str]:
    first, others = pages()
    # A long text stands with `cfl impute` if that has it, otherwise where it comes first.
    before = {one.text: p.name for p, _ in others if p.name == "cfl impute" for one in common(p)}
    uses = Counter(one for page, _ in others for one in common(page))
    shared = [one for one, times in uses.items() if times >= _MANY and len(one.text) < _LONG]
    yield "# Command line"
    yield "<!-- made by `python -m cfl_cli.cli.manual docs` -->"
    yield from map(_code_marked, first.paragraphs)
    for title in GROUPS:
        yield _table(title, first.panels[title])
    yield _fenced(first.example)
    for page, _ in others:
        yield f"## {page.name}"
        yield from map(_code_marked, page.paragraphs)
        yield _fenced(f"{page.usage}\n{page.example}")
        own, elsewhere = [], dict[str, list[str]]()
        for one in common(page):
            at = before.setdefault(one.text, page.name)
            if one in shared:
                elsewhere.setdefault("[shared options](#shared-options)", []).append(one.name)
            elif at != page.name and len(one.text) >= _LONG:
                elsewhere.setdefault(f"`{at}`", []).append(one.name)
            else:
                own.append(one)
        yield from [_table("Option", own)] if own else []
        lists = [f"{', '.join(map(_short, names))} (see {at})" for at, names in elsewhere.items()]
        yield from [f"Also {'; '.join(lists)}."] if lists else []
    yield "## Shared options"
    yield _table("Option", shared)
    yield "## Reading text tables"
    yield _code_marked(_READING)
    yield _table("Option", reading())
    yield "## Further options"
    yield _code_marked(_RARE)
    lines = [
        f"| `{_cell(one.name)}` | {_cell(_code_marked(one.text))} | {', '.join(commands)} |"
        for one, commands in rare()
    ]
    yield "\n".join(["| Option | | Commands |", "| --- | --- | --- |", *lines])
    yield "## Settings"
    yield _code_marked(_SCHEMA)
    decides = [f"`{setting.name}`" for setting in SETTINGS.values() if setting.decides]
    yield f"These change the result: {', '.join(decides)}."
    yield "## Options of cfl itself"
    yield _table("Option", first.panels["Options"])
    yield "## Environment variables"
    yield _code_marked(VARIABLES)
    yield "## Exit codes"
    yield _table("Code", EXIT_CODES)


def _short(name: str) -> str:
    """Return the long name of an option without its values: `--out` of `-o, --out FILE`."""
    return f"`{name.partition(' / ')[0].rpartition(', ')[2].partition(' ')[0]}`"


def _table(title: str, entries: list[HelpEntry]) -> str:
    rows = [f"| `{_cell(e.name)}` | {_cell(_code_marked(e.text))} |" for e in entries]
    return "\n".join([f"| {title} | |", "| --- | --- |", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code_marked(text: str) -> str:
    bare = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*|CFL_[A-Z_]*(?:=\w+)?)(?![\w`])")
    parts = re.split("(`[^`]*`)", text)
    return "".join(one if at % 2 else bare.sub(r"`\1`", one) for at, one in enumerate(parts))


def _fenced(text: str) -> str:
    return f"```\n{text}\n```"


def roff() -> str:
    return "\n".join(_roff()) + "\n"


def _roff() -> Iterator[str]:
    first, others = pages()
    summary = first.paragraphs[0][0].lower() + first.paragraphs[0][1:].rstrip(".")
    yield f'.TH CFL 1 "" "cfl {__version__}" "User Commands"'
    yield f".SH NAME\ncfl \\- {_filled(summary)}"
    yield f".SH SYNOPSIS\n.B {_escaped(first.usage)}"
    yield ".SH DESCRIPTION"
    yield "\n.PP\n".join(map(_filled, first.paragraphs[1:]))
    yield ".SH OPTIONS"
    yield from _entries(first.panels["Options"])
    yield ".SH COMMANDS"
    for page, _ in others:
        yield f'.SS "{_escaped(page.name)}"'
        yield "\n.PP\n".join(map(_filled, page.paragraphs))
        yield f".PP\n.B {_escaped(page.usage)}"
        yield from _entries(common(page))
        yield f".PP\nExample:\n.PP\n{_shown(page.example)}"
    yield f".SH READING TEXT TABLES\n{_filled(_READING)}"
    yield from _entries(reading())
    yield f".SH FURTHER OPTIONS\n{_filled(_RARE)}"
    yield from _entries(
        [one._replace(text=f"{one.text} Commands: {', '.join(names)}.") for one, names in rare()]
    )
    yield f".SH ENVIRONMENT\n{_filled(VARIABLES)}"
    yield ".SH EXIT STATUS"
    yield from _entries(EXIT_CODES)
    yield f".SH EXAMPLES\n{_shown(first.example)}"


def _entries(entries: list[HelpEntry]) -> Iterator[str]:
    for entry in entries:
        yield f".TP\n.B {_escaped(entry.name)}\n{_filled(entry.text)}"


def _shown(text: str) -> str:
    lines = "\n".join(map(_escaped, text.splitlines()))
    return f".nf\n.RS 4\n{lines}\n.RE\n.fi"


def _escaped(text: str) -> str:
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def _filled(text: str) -> str:
    lines = textwrap.wrap(text, _LINE, break_on_hyphens=False, break_long_words=False)
    return "\n".join(map(_escaped, lines))


def catalog() -> dict[str, tuple[str, str]]:
    text = files("cfl_cli").joinpath("problems.txt").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {code: (meaning, fix) for code, meaning, fix in lines}


def sentences() -> dict[str, str]:
    """Return the sentence of each problem as the source has it, by its code.

    It stands in the call of `Problem` or beside the code in a tuple, or it is the text that its
    name was bound to last in the same function.
    """
    found: dict[str, str] = {}
    codes = catalog()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        bound: dict[str, str] = {}
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for node in sorted(nodes, key=lambda node: getattr(node, "lineno", 0)):
            match node:
                case ast.FunctionDef():
                    bound = {}
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    value = value.body if isinstance(value, ast.IfExp) else value
                    text = value.value if isinstance(value, ast.Constant) else None
                    bound[name] = text if isinstance(text, str) else ""
                case ast.Tuple(elts=[ast.Constant(value=str(code)), ast.Constant(value=str(text))]):
                    if code in codes and " " in text:
                        found.setdefault(code, text)
                case ast.Call(
                    func=ast.Name(id="Problem"), args=[ast.Constant(value=str(code)), what, *_]
                ):
                    text = getattr(what, "value", None) or bound.get(getattr(what, "id", ""))
                    if isinstance(text, str) and text:
                        found.setdefault(code, text)
    return found


def problems_page() -> str:
    shown = sentences()
    lines = [
        "# Problems",
        "",
        "<!-- made by `python -m cfl_cli.cli.manual docs` -->",
        "",
        "Every problem has a stable code. `cfl check` with `--format json`, `--log-format json` and Python's",
        "`error.problems` carry it, with the place (file, line, row, cell), the column, the value and",
        "the remedy. A message names the place first and the fix last. It is quoted here, without",
        "both, where it uses other words than the meaning. Braces mark names, values and numbers.",
        "",
        "| code | meaning | fix |",
        "| --- | --- | --- |",
    ]
    for code, (meaning, fix) in catalog().items():
        message = _middle(shown.get(code, ""))
        quoted = f" `{message}`" if _news(message, f"{meaning} {fix}") else ""
        lines.append(f"| {' | '.join(map(_cell, (f'`{code}`', meaning + quoted, fix)))} |")
    return "\n".join(lines) + "\n"


def _middle(message: str) -> str:
    """Return a message without its place and its remedy."""
    parts = re.sub(r"\{(\w+)[^}]*\}", r"{\1}", message).split(": ")
    while parts and not _words(parts[0]):
        parts.pop(0)
    while parts and not _words(parts[-1]):
        parts.pop()
    return ": ".join(parts)


def _news(message: str, known: str) -> bool:
    words = _words(message)
    return len(words) > 2 * len(words & _words(known))


def _words(text: str) -> set[str]:
    bare = re.sub(r"\{\w+\}|\b(?:columns?|rows?|line|cfl_row)\b", "", text.lower())
    return {*re.findall(r"\w{4,}", bare)}


WRITTEN = {
    "reference/problems.md": problems_page,
    "reference/command-line.md": markdown_of_commands,
    "cfl.1": roff,
}


def write_manual(folder: Path) -> None:
    for name, page_of in WRITTEN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(page_of(), encoding="utf-8")


if __name__ == "__main__":
    write_manual(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
