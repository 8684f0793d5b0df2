"""A command's help as data: usage, panels of options, an example; and as text for a terminal.

A page lists the options that most people use; a whole page, for --help-all, lists every option.
"""

import re
import shutil
import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

PANELS = {  # by the name that options know
    "arguments": "Arguments",
    "input": "Input",
    "method": "Method",
    "judging": "Evaluation",
    "output": "Output",
    "reading": "Reading text tables",
    "run": "Run",
}
WORDS = {
    r"\bCFs?\b": "An exclusion column (complementary feature, CF) says what a value is not.",
    r"\bOFs?\b": "A feature column (ordinary feature, OF) says what a value is.",
}
ENVIRONMENT = (
    "Settings can also be given as environment variables: CFL_ and the option's name, such as "
    "{example}. Options that name files or allow overwriting can't be set this way."
)
MORE = (
    "`{command} --help-all` lists all options, also those for reading text tables (delimiter, "
    "encoding and so on), which `cfl init --help` describes."
)
FEWER = "`{command} --help-all` lists all options."
INDENT = 2
_NARROWEST = 24  # columns that a description gets at least; in less, it starts on its own line


class HelpEntry(NamedTuple):
    name: str  # -j, --jobs N
    text: str
    rare: bool = False


class HelpPage(NamedTuple):
    name: str  # cfl impute
    usage: str
    paragraphs: tuple[str, ...]  # the first one says it all, in a sentence
    words: str  # what CF and OF are, if the page speaks of them
    panels: dict[str, list[HelpEntry]]
    example: str
    notes: tuple[str, ...]


def page(
    command: Any,
    ctx: Any,
    *,
    whole: bool = False,
    commands: Mapping[str, list[HelpEntry]] | None = None,
) -> HelpPage:
    """Return the help of a command; `commands` are those of the first page, by heading."""
    rare, settable = (getattr(command.callback, name, {}) for name in ("rare", "variables"))
    panels: dict[str, list[HelpEntry]] = {name: [] for name in PANELS}
    usage, left_out = [ctx.command_path], set[str]()
    for param in (param for param in command.get_params(ctx) if not param.hidden):
        panel = "arguments"
        if param.param_type_name == "option":
            panel = getattr(param, "rich_help_panel", None) or "run"
        entry, needed = _entry(param, rare=param.name in rare)
        optional = [f"[{needed}]"] if panel == "arguments" else []
        usage += [needed] if param.required else optional
        if entry.rare and not whole:
            left_out.add(panel)
        else:
            panels[panel].append(entry)
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n") if part]
    notes, words = [], ""
    if commands:  # the first page
        usage.append("COMMAND")
        panels = {**commands, "Options": [entry for one in panels.values() for entry in one]}
        notes.append("`cfl help COMMAND` shows what a command does and its options.")
    else:
        panels = {title: panels[name] for name, title in PANELS.items()}
        shown = " ".join([*paragraphs, *(e.text for entries in panels.values() for e in entries)])
        words = " ".join(said for name, said in WORDS.items() if re.search(name, shown))
    if left_out:
        notes.append((MORE if "reading" in left_out else FEWER).format(command=ctx.command_path))
    if whole and settable:
        example = "CFL_K=30" if "CFL_K" in settable.values() else "CFL_LOG_FORMAT=json"
        notes.append(ENVIRONMENT.format(example=example))
    return HelpPage(
        ctx.command_path,
        " ".join([*usage, "[OPTIONS]"]),
        tuple(paragraphs),
        words,
        {title: [*entries] for title, entries in panels.items() if entries},
        command.epilog or "",
        tuple(notes),
    )


def _entry(param: Any, *, rare: bool) -> tuple[HelpEntry, str]:
    """Return what help says of an argument or option, and how usage shows it."""
    text = (param.help or "").strip()
    if param.param_type_name == "argument":
        return HelpEntry(str(param.metavar), text), str(param.metavar)
    name = ", ".join(sorted(param.opts, key=len))
    if param.secondary_opts:
        name += f" / {', '.join(param.secondary_opts)}"
    name += "" if param.is_flag else f" {param.metavar}"
    text += " Required." if param.required else ""
    return HelpEntry(name, text, rare), f"{param.opts[0]} {param.metavar}"


def help_text(shown: HelpPage, width: int | None = None) -> str:
    width = max(width or shutil.get_terminal_size().columns, 2 * _NARROWEST)
    names = [entry.name for entries in shown.panels.values() for entry in entries]
    column = min(INDENT + max(map(len, names)) + 2, max(width // 3, _NARROWEST))
    parts = [_wrapped(f"Usage: {shown.usage}", width, hanging=7)]
    summary, *more = shown.paragraphs
    parts += [_wrapped(text, width) for text in (summary, shown.words, *more) if text]
    for title, entries in shown.panels.items():
        lines = [line for entry in entries for line in _lines(entry, column, width)]
        parts.append("\n".join([f"{title}:", *lines]))
    if shown.example:
        commands = (f"{' ' * INDENT}{line}" for line in shown.example.splitlines())
        parts.append("\n".join(["Example:", *commands]))
    parts += [_wrapped(text, width) for text in shown.notes]
    return "\n\n".join(parts) + "\n"


def _lines(entry: HelpEntry, column: int, width: int) -> list[str]:
    text = _wrapped(entry.text, max(width - column, _NARROWEST)).split("\n")
    name = f"{' ' * INDENT}{entry.name}"
    if len(name) + 2 > column:
        return [name, *(f"{' ' * column}{line}" for line in text)]
    first, *rest = text
    return [f"{name:<{column}}{first}".rstrip(), *(f"{' ' * column}{line}" for line in rest)]


def _wrapped(text: str, width: int, *, hanging: int = 0) -> str:
    whole: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}
    return textwrap.fill(text, width, subsequent_indent=" " * hanging, **whole)
