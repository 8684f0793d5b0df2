"""What the user gave a command: from the command line, else from the environment, else nothing.

The table of settings makes the options: an entry there is an option with its help, its variable and
its check in every command that it names. What names a file or permits overwriting has no variable.
"""

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any

import typer

from cfl_cli.cli.log import LOG
from cfl_cli.cli.options import Columns
from cfl_cli.core.entries import Setting
from cfl_cli.core.kinds import Names, Switch
from cfl_cli.core.settings import SETTINGS
from cfl_cli.errors import UsageError

OPTION = re.compile(r"--[a-z-]*[a-z]")
Values = dict[str, Any]  # what was given, by name
ON, OFF = {"1", "y", "yes", "t", "true", "on"}, {"0", "n", "no", "f", "false", "off"}


def settings_of(command: str) -> tuple[Setting, ...]:
    """Return the settings that a command has."""
    return tuple(setting for setting in SETTINGS.values() if setting.belongs_to(command))


def takes(
    command: str, **groups: Sequence[Setting]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command its settings, as `given`, and other groups of options, each as `Values`."""
    groups = {"given": settings_of(command), **groups}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**values: Any) -> None:
            variables: dict[str, str] = {}
            for group, options in groups.items():
                asked = {option.name: values.pop(option.name) for option in options}
                values[group] = given(options, asked)
                variables |= used_variables(options, asked)
            LOG.verbose = values["given"].get("verbose", False)
            try:
                function(**{name: values[name] for name in own.parameters})
            except UsageError as error:
                problems = [blamed_on(variables, problem) for problem in error.problems]
                raise UsageError(*problems, more=error.more) from error

        own = inspect.signature(function)
        parameters = [
            *(p for p in own.parameters.values() if p.name not in groups),
            *(_parameter(option) for options in groups.values() for option in options),
        ]
        facts: Any = run
        facts.__signature__ = own.replace(parameters=parameters)
        facts.__annotations__ = {p.name: p.annotation for p in parameters}
        facts.variables = {o.name: o.env for group in groups.values() for o in group if o.env}
        return run

    return decorate


def given(options: Sequence[Setting], values: Mapping[str, Any]) -> Values:
    """Return what was given on the command line or in the environment, read and checked."""
    read: Values = {}
    problems = []
    for option in options:
        source, value = option.option, values[option.name]
        if value is None and option.env:
            source, value = option.env, _from_environment(option)
        if value is None:
            continue
        try:
            read[option.name] = option.read(value)
        except ValueError as error:
            problems.append(f"{source}: {error}")
    if problems:
        raise UsageError(*problems)
    return read


def used_variables(options: Sequence[Setting], values: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that gave a value, by the option in whose place they did."""
    return {
        option.option: option.env
        for option in options
        if option.env and values[option.name] is None and os.environ.get(option.env)
    }


def blamed_on(variables: Mapping[str, str], problem: str) -> str:
    """Return a problem that begins with an option, with the variable in its place if it was that.

    Whoever finds the problem knows the option alone, and nobody may have typed it.
    """
    option = OPTION.match(problem)
    if option is None or option[0] not in variables:
        return problem
    return variables[option[0]] + problem[option.end() :]


def _from_environment(option: Setting) -> Any:
    text = os.environ.get(option.env or "") or None  # an empty one is not given
    if isinstance(option.kind, Switch) and text:
        return text.lower() in ON if text.lower() in ON | OFF else text
    return text


def _parameter(option: Setting) -> inspect.Parameter:
    """Return an option as Typer reads it: as text, or as a switch."""
    name = f"{option.option}/{option.opposite}" if option.opposite else option.option
    flags = [name, *([f"-{option.short}"] if option.short else [])]
    switch, repeated = isinstance(option.kind, Switch), isinstance(option.kind, Columns | Names)
    default = default_of(option) if not switch or option.opposite else ""
    info = typer.Option(
        *flags,
        metavar=None if switch else option.kind.metavar,
        help=f"{option.help} Default: {default}." if default else option.help,
        rich_help_panel=option.panel.title(),
        autocompletion=_completion(option.kind.choices) if option.kind.choices else None,
    )
    value: Any = bool if switch else list[str] if repeated else str
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[value | None, info],
    )


def default_of(option: Setting) -> str:
    """Return what holds if the option is not given, in words; empty if there is nothing to say."""
    if option.default_text:
        return option.default_text
    if isinstance(option.kind, Switch):
        return "on" if option.default else "off"
    value = f"{option.default:g}" if isinstance(option.default, float) else option.default
    return "" if value is None else str(value)


def _completion(words: Sequence[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete
