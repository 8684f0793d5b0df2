"""An explanation as a page for browsers: the value as a bar chart, three reasons, then details."""

from collections.abc import Iterator
from types import SimpleNamespace

from cfl_cli.cli.pages import web
from cfl_cli.cli.pages.web import charts, shown_name
from cfl_cli.commands.explain.job import CfExplained, Explanation
from cfl_cli.commands.explain.page import page
from cfl_cli.core.messages import either, printable, row_name

BARS = 6  # values, at most
REASONS = 3
_CLEAR = 0.05  # by how much a feature changes the confidence, to be a reason


def explanation_page(explained: Explanation) -> str:
    key = f" ({printable(explained.key)})" if explained.key else ""
    return web.rendered_sections(
        page(explained),
        "explained.html",
        row=shown_name(f"Row {row_name(explained.row)}{key}"),
        cfs=[_front(cf, explained) for cf in explained.cfs],
    )


def _front(cf: CfExplained, explained: Explanation) -> SimpleNamespace:
    ranked = sorted(range(len(cf.values)), key=lambda at: (-cf.confidences[at], at))
    return SimpleNamespace(
        name=shown_name(cf.name),
        value=shown_name(cf.written) if cf.written is not None else None,
        bars=[
            SimpleNamespace(
                value=shown_name(cf.values[at]),
                share=charts.percent(cf.confidences[at]),
                width=charts.bar(cf.confidences[at], 1.0, 100),
                excluded=cf.values[at] in cf.cell.ruled_out,
            )
            for at in ranked[:BARS]
        ],
        more=max(len(ranked) - BARS, 0),
        reasons=[web.visible(text) for text in [*reasons(cf, explained)][:REASONS]],
    )


def reasons(cf: CfExplained, explained: Explanation) -> Iterator[str]:
    """Yield sentences on why a value is imputed, the most telling first."""
    value, name = printable(cf.value), printable(cf.name)
    if cf.left_empty == "flagged":
        yield f"{name} was left as recorded, because the report flags it."
    elif cf.left_empty is not None:
        yield f"{name} was left empty, because no value is likely enough."
    if cf.cell.kind == "exact":
        yield f"The cell states the value: {value}."
        return
    if cf.cell.kind == "stated":
        yield f"The cell states {printable(cf.cell.stated or '')}, which may be wrong."
    if cf.cell.kind == "candidates":
        yield f"The cell leaves {either([*map(printable, cf.cell.candidates)], 'or')}."
    if cf.cell.kind == "exclusions":
        yield f"The cell rules out {either([*map(printable, cf.cell.ruled_out)], 'and')}."
    taken = next((one for one in cf.rounds if one.taken), None)
    if taken is not None:
        near = explained.near[taken.near]
        agree = sum(
            neighbor.weight
            for neighbor, said in zip(near.neighbors, taken.said, strict=True)
            if said.value == cf.value
        )
        alike = sorted(near.nearness.items(), key=lambda one: -one[1])[:2]
        named = " and ".join(printable(of) for of, share in alike if share > 0)
        most = f", most of all in {named}" if named else ""
        rows = len(near.neighbors)
        yield f"{rows} rows are most similar{most}; {charts.percent(agree)} of their weight points to {value}."
    for one in sorted(cf.contributions, key=lambda one: one.without):
        if cf.confidence is None or cf.confidence - one.without < _CLEAR:
            break
        cell = explained.cells.get(one.name) if one.kind == "ordinary" else None
        what = printable(one.name) + ("" if cell is None else f" ({printable(cell)})")
        yield (
            f"{what} speaks for {value}. Without it the confidence would be "
            f"{charts.percent(one.without)}."
        )
    if cf.cell.kind == "empty":
        yield "The cell is empty, so any value is possible."
    else:
        share = charts.percent(cf.prior[cf.values.index(cf.value)])
        yield f"The other columns give {value} a probability of {share} without this cell."
