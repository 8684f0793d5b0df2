"""What a run would cost, in words."""

from cfl_cli.core.messages import count
from cfl_cli.jobs.cost import Plan


def describe(plan: Plan) -> str:
    """Return the plan in words, a line each."""
    lines = [
        f"rows           {plan.rows:,} ({plan.distinct_rows:,} distinct by their OFs)",
        f"OFs            {plan.ofs} in {count(plan.features, 'feature')}",
        f"CFs            {plan.cfs} with {plan.confidences} domain values",
        f"memory, about  {_round(plan.memory_mb):,.0f} MB",
        f"time, about    {_round(plan.seconds):,g} s with these settings",
        *([] if plan.model_mb is None else [f"model, about   {_round(plan.model_mb):,g} MB"]),
        *(f"warning: {warning}" for warning in plan.warnings),
        "no problems found",
    ]
    return "\n".join(lines) + "\n"


def _round(number: float) -> float:
    """Return the number to two digits, which is all that an estimate is good for."""
    return float(f"{number:.1e}")
