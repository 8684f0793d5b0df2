"""Shell completion: Typer answers the Tab key; these are the scripts that let a shell ask it."""

import sys

import typer

PROGRAM, VARIABLE = "cfl", "_CFL_COMPLETE"
# Typer's own script for zsh loses the first Tab of every session: zsh loads it then, and it only
# registers a function for the next time.
ZSH = """\
#compdef cfl

_cfl_completion() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _CFL_COMPLETE=complete_zsh cfl)
}

if [[ "$funcstack[1]" == "_cfl" ]]; then
  _cfl_completion "$@"
else
  compdef _cfl_completion cfl
fi
"""


def prepare() -> None:
    """Let Typer know the shells, so that it can answer them."""
    from typer.completion import get_completion_inspect_parameters  # noqa: PLC0415 — seldom needed

    get_completion_inspect_parameters()


def install(ctx: typer.Context, value: bool) -> None:  # noqa: FBT001 — Typer's signature
    """Write the script for the shell that runs `cfl`, where it finds it, and stop."""
    if not value or ctx.resilient_parsing:
        return
    _refuse_arguments(ctx)
    from typer import completion  # noqa: PLC0415 — seldom needed

    shell, path = completion.install(prog_name=PROGRAM, complete_var=VARIABLE)  # type: ignore[attr-defined]  # typer's types lack it
    if shell == "zsh":
        path.write_text(ZSH, encoding="utf-8")
    typer.echo(f"{shell} completion is in {path}; it works in new terminals")
    raise typer.Exit


def show(ctx: typer.Context, value: bool) -> None:  # noqa: FBT001 — Typer's signature
    """Print the script for the shell that runs `cfl`, and stop."""
    if not value or ctx.resilient_parsing:
        return
    _refuse_arguments(ctx)
    from typer import completion  # noqa: PLC0415 — seldom needed

    shell = completion._get_shell_name()  # type: ignore[attr-defined]  # noqa: SLF001 — no other way
    script = completion.get_completion_script(  # type: ignore[attr-defined]  # typer's types lack it
        prog_name=PROGRAM, complete_var=VARIABLE, shell=shell or ""
    )
    typer.echo(ZSH if shell == "zsh" else script)
    raise typer.Exit


def _refuse_arguments(ctx: typer.Context) -> None:
    """Raise if something follows the option: the shell is the one that runs `cfl`, never named."""
    option, *others = sys.argv[1:] or [""]
    if others:
        raise typer.BadParameter(
            f"{option}: takes no value; it is for the shell that runs cfl", ctx
        )
