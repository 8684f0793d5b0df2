"""A command's help as data: usage, panels of options, an example; and as text for a terminal."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

PANELS = ("Arguments", "Input", "Method", "Judging", "Output", "Run", "Options", "Commands")
ENVIRONMENT = (
    "Settings can also be given as environment variables: CFL_ and the option's name, such as "
    "{example}. What names a file or permits overwriting has none."
)
INDENT = 2
_NARROWEST = 24  # columns that a description gets at least; in less, it starts on its own line


@dataclass(frozen=True)
class Entry:
    """An argument, an option or a command, and what it is for."""

    name: str  # -j, --jobs N
    text: str


@dataclass(frozen=True)
class Page:
    """The help of one command."""

    name: str  # cfl impute
    usage: str
    paragraphs: tuple[str, ...]  # the first one says it all
    panels: dict[str, list[Entry]]
    example: str
    notes: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What the command does, in a sentence."""
        return self.paragraphs[0]


def page(command: Any, ctx: Any, *, commands: Sequence[Entry] = ()) -> Page:
    """Return the help of a command; `commands` are those that it leads to."""
    params = [param for param in command.get_params(ctx) if not param.hidden]
    panels: dict[str, list[Entry]] = {title: [] for title in PANELS}
    for param in params:
        panels[_panel(param)].append(Entry(_name(param), _text(param)))
    if commands:  # the first page
        panels = {"Commands": [*commands], "Options": [e for p in panels.values() for e in p]}
    paragraphs = tuple(
        " ".join(part.split()) for part in (command.help or "").split("\n\n") if part
    )
    settable = getattr(command.callback, "variables", {})
    return Page(
        ctx.command_path,
        _usage(params, ctx, leads_on=bool(commands)),
        paragraphs,
        {title: entries for title, entries in panels.items() if entries},
        command.epilog or "",
        (ENVIRONMENT.format(example=_example(settable.values())),) if settable else (),
    )


def _example(variables: Iterable[str]) -> str:
    return "CFL_K=30" if "CFL_K" in variables else "CFL_LOG_FORMAT=json"


def as_text(shown: Page, width: int | None = None) -> str:
    """Return the help for a terminal `width` columns wide."""
    width = max(width or shutil.get_terminal_size().columns, 2 * _NARROWEST)
    names = [entry.name for entries in shown.panels.values() for entry in entries]
    column = min(INDENT + max(map(len, names)) + 2, max(width // 3, _NARROWEST))
    parts = [_wrapped(f"Usage: {shown.usage}", width, hanging=7)]
    parts += [_wrapped(text, width) for text in shown.paragraphs]
    for title, entries in shown.panels.items():
        lines = [line for entry in entries for line in _lines(entry, column, width)]
        parts.append("\n".join([f"{title}:", *lines]))
    if shown.example:
        commands = (f"{' ' * INDENT}{line}" for line in shown.example.splitlines())
        parts.append("\n".join(["Example:", *commands]))
    parts += [_wrapped(text, width) for text in shown.notes]
    return "\n\n".join(parts) + "\n"


def _usage(params: Sequence[Any], ctx: Any, *, leads_on: bool) -> str:
    needed = [
        param.metavar if param.param_type_name == "argument" else f"{param.opts[0]} {param.metavar}"
        for param in params
        if param.required
    ]
    return " ".join([ctx.command_path, *needed, *(["COMMAND"] if leads_on else []), "[OPTIONS]"])


def _panel(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    return str(getattr(param, "rich_help_panel", None) or "Run")


def _name(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.metavar)
    short_first = sorted(param.opts, key=len)
    names = ", ".join(short_first)
    if param.secondary_opts:
        names += f" / {', '.join(param.secondary_opts)}"
    return names if param.is_flag else f"{names} {param.metavar}"


def _text(param: Any) -> str:
    text = (param.help or "").strip()
    return f"{text} Required." if param.required and param.param_type_name == "option" else text


def _lines(entry: Entry, column: int, width: int) -> list[str]:
    text = textwrap.wrap(
        entry.text, max(width - column, _NARROWEST), break_on_hyphens=False, break_long_words=False
    ) or [""]
    name = f"{' ' * INDENT}{entry.name}"
    if len(name) + 2 > column:
        return [name, *(f"{' ' * column}{line}" for line in text)]
    first, *rest = text
    return [f"{name:<{column}}{first}".rstrip(), *(f"{' ' * column}{line}" for line in rest)]


def _wrapped(text: str, width: int, *, hanging: int = 0) -> str:
    return textwrap.fill(
        text,
        width,
        subsequent_indent=" " * hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
