"""Python's functions have the settings of the command line, from the one list of settings.

`python tests/builders/signatures.py` writes parameters and their docs into the functions anew.
"""

import re
import textwrap
from pathlib import Path

from cfl_cli.core import settings as table
from cfl_cli.core.settings import SETTINGS, Setting

PACKAGE = Path(__file__).parents[2] / "cfl_cli"
WIDTH = 100
OF_OUTPUT = ("min_confidence", "keep_flagged", "infer")


def settings_of(command, *, without=()):
    every = (one for one in SETTINGS.values() if one.in_python and command in one.commands)
    return [one for one in every if one.name not in without]


LEARNING = settings_of("explain", without=OF_OUTPUT)
SEARCH = [one for one in LEARNING if one.name != "budget"]  # which is the search's own
ONE_ROW = ("min_confidence", "keep_flagged", "jobs", "infer")
# By module and function: its settings, and whether the docs of each are spelled out.
FUNCTIONS = {
    ("run/impute.py", "impute"): (settings_of("impute"), True),
    ("run/fit.py", "fit"): (settings_of("fit"), False),
    ("run/result.py", "apply"): (settings_of("apply"), False),
    ("run/result.py", "explain"): ([SETTINGS[name] for name in ONE_ROW], False),
    ("commands/check/job.py", "check"): (settings_of("check"), False),
    ("commands/explain/job.py", "explain"): (settings_of("explain"), False),
    ("commands/risk/job.py", "risk"): (LEARNING, False),
    ("commands/tune/job.py", "tune"): (SEARCH, False),
}
EXPLAINED = {"sample"}  # that `impute` does not have


def annotation(setting: Setting) -> str:
    match setting.kind:
        case table.Choice() if setting.name != "method":
            kind = f"Literal[{', '.join(map(quoted, setting.kind.choices))}]"
        case table.Switch():
            kind = "bool"
        case table.Number():
            kind = setting.kind.made.__name__ + (" | Auto" if setting.kind.auto else "")
        case table.ByteSize():
            kind = "int | str"
        case table.Names():
            kind = "str | Sequence[str]"
        case _:
            kind = "str"
    return f"{kind} | None"


def quoted(text):
    return f'"{text}"'


def kind_in_docs(setting: Setting) -> str:
    match setting.kind:
        case table.Choice():
            return f"{{{', '.join(map(quoted, setting.kind.choices))}}}"
        case table.Switch():
            return "bool"
        case table.Number():
            return setting.kind.made.__name__ + (' or "auto"' if setting.kind.auto else "")
        case table.ByteSize():
            return "int or str"
        case table.Names():
            return "str or list of str"
        case _:
            return "str"


def in_python(text):
    """Return a help text with arguments in the place of options."""

    def argument(match):
        name, blank, value = match["name"].replace("-", "_"), match["blank"], match["value"]
        if value and value in getattr(SETTINGS[name].kind, "choices", ()):
            return f'`{name}="{value}"`'
        return f"`{name}`{blank}{value}"

    text = re.sub(r"--(?P<name>[a-z-]+)(?P<blank> ?)(?P<value>[a-z]*)", argument, text)
    return text.replace("`cfl apply`", "`Model.apply`").replace(
        "; repeat it for more", ", or several"
    )


def default(setting: Setting) -> str:
    value = setting.default
    if setting.default_text:
        return in_python(setting.default_text)
    return quoted(value) if isinstance(value, str) else str(value)


def entry(setting: Setting, indent: str) -> list[str]:
    first = f"{setting.name} : {kind_in_docs(setting)}, default {default(setting)}"
    body = textwrap.wrap(in_python(setting.help), WIDTH - len(indent) - 4)
    return [*folded(first, indent), *(f"{indent}    {line}" for line in body)]


def folded(first, indent):
    """Return the line that opens an entry; numpydoc wants it to be one, however long."""
    return [f"{indent}{first}"]


def docs(settings, indent, *, spelled_out):
    if spelled_out:
        return [line for one in settings for line in entry(one, indent)]
    named = ", ".join(one.name for one in settings if one.name not in EXPLAINED)
    lines = [f"{indent}{line}" for line in textwrap.wrap(named, WIDTH - len(indent) - 1)]
    lines = [*lines, f"{indent}    As in `impute`."]
    own = [one for one in settings if one.name in EXPLAINED]
    return [*lines, *docs(own, indent, spelled_out=True)] if own else lines


def renewed(text, function, settings, *, spelled_out):
    """Return a module's text with the settings of one function as they are now."""
    head = re.search(rf"^( *)def {function}\(\n.*?\n\1\)", text, re.DOTALL | re.MULTILINE)
    lines = head[0].split("\n")
    names, indent = {one.name for one in settings}, head[1] + "    "
    at = lines.index(f"{indent}*,") + 1
    end = next(n for n in range(at, len(lines)) if name_in(lines[n]) not in names)
    lines[at:end] = [f"{indent}{one.name}: {annotation(one)} = None," for one in settings]
    start, stop = head.end(), text.index('"""\n', text.index('"""', head.end()) + 3)
    body = text[start:stop].split("\n")
    opened = {n: name_in(line) for n, line in enumerate(body) if re.match(rf"{indent}\w", line)}
    first = next(n for n, name in opened.items() if name in names)
    last = next(n for n in opened if n > first and opened[n] not in names | {""})
    body[first:last] = docs(settings, indent, spelled_out=spelled_out)
    return text[: head.start()] + "\n".join(lines) + "\n".join(body) + text[stop:]


def name_in(line):
    found = re.match(r" *(\w+)(?=: | : |, |$)", line)
    return found[1] if found else ""


def all_renewed():
    texts = {}
    for (module, function), (settings, spelled_out) in FUNCTIONS.items():
        path = PACKAGE / module
        text = texts.get(path) or path.read_text()
        texts[path] = renewed(text, function, settings, spelled_out=spelled_out)
    return texts


if __name__ == "__main__":
    for path, text in all_renewed().items():
        path.write_text(text)
