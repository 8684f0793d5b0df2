"""A command's help as data: usage, panels of options, an example; and as text for a terminal."""

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

PANELS = ("Arguments", "Input", "Method", "Judging", "Output", "Run", "Options", "Commands")
ENVIRONMENT = (
    "Settings can also be given as environment variables: CFL_ and the option's name, such as "
    "{example}. What names a file or permits overwriting has none."
)
INDENT = 2
_NARROWEST = 24  # columns that a description gets at least; in less, it starts on its own line


class HelpEntry(NamedTuple):
    name: str  # -j, --jobs N
    text: str


class HelpPage(NamedTuple):
    name: str  # cfl impute
    usage: str
    paragraphs: tuple[str, ...]  # the first one says it all, in a sentence
    panels: dict[str, list[HelpEntry]]
    example: str
    notes: tuple[str, ...]


def page(command: Any, ctx: Any, *, commands: Sequence[HelpEntry] = ()) -> HelpPage:
    panels: dict[str, list[HelpEntry]] = {title: [] for title in PANELS}
    usage = [ctx.command_path]
    for param in (param for param in command.get_params(ctx) if not param.hidden):
        text = (param.help or "").strip()
        if param.param_type_name == "argument":
            panel = "Arguments"
            name = needed = str(param.metavar)
        else:
            panel = str(getattr(param, "rich_help_panel", None) or "Run")
            name = ", ".join(sorted(param.opts, key=len))
            if param.secondary_opts:
                name += f" / {', '.join(param.secondary_opts)}"
            name += "" if param.is_flag else f" {param.metavar}"
            needed = f"{param.opts[0]} {param.metavar}"
            text += " Required." if param.required else ""
        panels[panel].append(HelpEntry(name, text))
        usage += [needed] if param.required else []
    if commands:  # the first page
        usage.append("COMMAND")
        panels = {"Commands": [*commands], "Options": [e for p in panels.values() for e in p]}
    paragraphs = (" ".join(part.split()) for part in (command.help or "").split("\n\n") if part)
    settable = getattr(command.callback, "variables", {})
    example = "CFL_K=30" if "CFL_K" in settable.values() else "CFL_LOG_FORMAT=json"
    return HelpPage(
        ctx.command_path,
        " ".join([*usage, "[OPTIONS]"]),
        tuple(paragraphs),
        {title: entries for title, entries in panels.items() if entries},
        command.epilog or "",
        (ENVIRONMENT.format(example=example),) if settable else (),
    )


def help_text(shown: HelpPage, width: int | None = None) -> str:
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
