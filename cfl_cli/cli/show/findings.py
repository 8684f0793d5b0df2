"""What `cfl check` found, in words: problems, warnings, and what a run would cost."""

from cfl_cli.cli.streams import complain, print_out
from cfl_cli.core.messages import count, printable
from cfl_cli.jobs.check import Checked
from cfl_cli.jobs.cost import Plan


def show(checked: Checked, form: str, *, name: str, quiet: bool = False) -> None:
    """Print what was found; `name` is that of the table, before each line of text."""
    if form == "json":
        print_out(checked.to_json() + "\n")
        return
    place = f"{name}: " if name else ""
    complain(*(f"{place}{finding.text}" for finding in checked.problems))
    if not quiet:
        print_out(describe(checked, place=place))


def lines(checked: Checked) -> list[str]:
    """Return everything in words, problems first."""
    problems = (f"{finding.text}" for finding in checked.problems)
    return [*map(printable, problems), *describe(checked).splitlines()]


def describe(checked: Checked, *, place: str = "") -> str:
    """Return the plan and the warnings in words, a line each, and how many there are."""
    problems, warnings = len(checked.problems), len(checked.warnings)
    lines = [
        *(_cost(checked.plan) if checked.plan else ()),
        *([] if checked.resumes is None else [_run_directory(resumes=checked.resumes)]),
        *(f"warning: {place}{finding.text}" for finding in checked.warnings),
        (f"{count(problems, 'problem')}" if problems else "no problems")
        + (f" and {count(warnings, 'warning')}" if warnings else "")
        + " found",
    ]
    return "\n".join(map(printable, lines)) + "\n"


def _cost(plan: Plan) -> list[str]:
    """Return what a run costs."""
    return [
        f"rows           {plan.rows:,} ({plan.distinct_rows:,} distinct by their OFs)",
        f"OFs            {plan.ofs} in {count(plan.features, 'feature')}",
        f"CFs            {plan.cfs} with {plan.confidences} domain values",
        f"memory, about  {_round(plan.memory_mb):,.0f} MB",
        f"time, about    {_round(plan.seconds):,g} s with these settings",
        *([] if plan.model_mb is None else [f"model, about   {_round(plan.model_mb):,g} MB"]),
    ]


def _run_directory(*, resumes: bool) -> str:
    what = "a run would go on with what is done there" if resumes else "a run can begin there"
    return f"run directory  {what}"


def _round(number: float) -> float:
    """Return the number to two digits, which is all that an estimate is good for."""
    return float(f"{number:.1e}")
