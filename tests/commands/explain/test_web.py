from builders.markup import check, parsed
from builders.web_reports import explained

from cfl_cli.commands.explain.web import explanation_page, reasons


def test_the_page_has_bars_for_values_and_up_to_three_reasons_above_the_details():
    found = explained()
    made = parsed(explanation_page(found))
    check(made)
    assert [one.text for one in made.all("h2")][: len(found.cfs)] == [
        f"{cf.name}: {cf.value}" for cf in found.cfs
    ]
    assert "open" not in made.one("details", id="details").attributes
    for cf, bars, steps in zip(
        found.cfs, made.all("figure", cls="bars"), made.all("ul", cls="steps"), strict=True
    ):
        shown = [li.text for li in bars.all("li")]
        assert len(shown) == min(len(cf.values), 6)
        assert sum(text.endswith("ruled out") for text in shown) <= len(cf.cell.ruled_out)
        assert [li.text for li in steps.all("li")] == [*reasons(cf, found)][:3]


def test_reasons_name_the_cell_the_similar_rows_and_what_the_others_say():
    [cf, *_] = explained().cfs
    texts = [*reasons(cf, explained())]
    assert any(text.startswith("The cell ") for text in texts)
    assert all(text.endswith(".") for text in texts)
