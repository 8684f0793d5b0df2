"""Pages of reports and explanations in a real browser: what is shown, done and printed."""

import re
from dataclasses import replace
from unicodedata import normalize

import pytest
from builders import web_reports
from builders.reports import column

from cfl_cli.cli.pages import web
from cfl_cli.cli.pages.web import visible
from cfl_cli.cli.pages.web.report import fragment, history_page
from cfl_cli.cli.pages.web.report import page as page_report
from cfl_cli.commands.explain.web import explanation_page
from cfl_cli.commands.risk import work as risk

FOUR = web_reports.full_report(
    web_reports.full_column(audit=web_reports.AUDITED),
    web_reports.poor(),
    web_reports.unknown(),
    web_reports.unmeasured(),
)
# So many that a row has lines to be cut between.
FLAGS = ("small-entropy-reduction", "no-better-than-commonest", "new-categories", "fallback-rows")
OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; });"
# Texts in a drawing that cross another one, or are too small to be read.
TEXTS = """
const bad = [];
for (const svg of document.querySelectorAll("svg")) {
  const boxes = [...svg.querySelectorAll("text")]
    .map((one) => [one.textContent, one.getBoundingClientRect(), getComputedStyle(one).fontSize])
    .filter(([, box]) => box.width > 0);
  const frame = svg.getBoundingClientRect();
  const scale = frame.width / svg.viewBox.baseVal.width;
  boxes.forEach(([text, a, size], place) => {
    if (parseFloat(size) * scale < 10.99) bad.push(["small", text, size, scale]);
    if (a.left < frame.left - 1 || a.right > frame.right + 1) bad.push(["cut", text]);
    for (const [other, b] of boxes.slice(place + 1))
      if (a.left < b.right - 1 && b.left < a.right - 1
          && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        bad.push(["crossing", text, other]);
  });
}
return bad;
"""
WIDTHS = "return [document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files by name."""
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "four": page_report(FOUR, batches=web_reports.history().lines),
        "twenty": page_report(web_reports.several(20)),
        "hostile": page_report(web_reports.hostile()),
        "history": history_page(web_reports.history()),
        "wide": page_report(web_reports.several(1, 200)),
        "explained": explanation_page(web_reports.explained()),
        "risk": web.page(risk.page(web_reports.risked())),
        "single": page_report(web_reports.full_report(web_reports.full_column(parts=()))),
        "long": page_report(
            web_reports.full_report(*(column(f"cf_{n}", flags=FLAGS) for n in range(1, 31)))
        ),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8", newline="\n")
    return {name: folder / f"{name}.html" for name in made}


def tab_to(browser, wanted, most=80):
    """Press Tab until an element has the focus, and return how it is outlined."""
    for _ in range(most):
        press(browser, "Tab")
        if browser.run(f"return document.activeElement.matches({wanted!r})"):
            return browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    raise AssertionError(f"Tab does not reach {wanted}")


def press(browser, key):
    codes = {"Tab": 9, "Enter": 13, " ": 32}
    text = {"Enter": "\r", " ": " "}.get(key)
    settings = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
    browser.cdp(
        "Input.dispatchKeyEvent", type="keyDown", **settings, **({"text": text} if text else {})
    )
    browser.cdp("Input.dispatchKeyEvent", type="keyUp", **settings)


@pytest.mark.parametrize("name", ["four", "hostile", "history", "explained"])
def test_nothing_is_loaded_and_nothing_complained_about(browser, pages, name):
    browser.open(pages[name])
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.console() == []
    assert browser.run("return typeof window.cracked") == "undefined"


@pytest.mark.parametrize(
    ("name", "width"),
    [
        *(("four", width) for width in (360, 800, 1600)),
        *(("hostile", width) for width in (360, 1600)),
        ("explained", 360),
        ("risk", 360),
    ],
)
def test_no_text_crosses_another_and_no_page_scrolls_sideways(browser, pages, name, width):
    browser.open(pages[name], width=width)
    browser.run(OPEN)
    assert browser.run(TEXTS) == []
    scrolled, inner = browser.run(WIDTHS)
    assert scrolled <= inner


@pytest.mark.slow  # the widest matrix
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 360, 480, 600, 800, 1000, 1600])
@pytest.mark.parametrize(
    "name", ["four", "twenty", "hostile", "history", "wide", "explained", "risk"]
)
def test_every_page_is_free_of_barriers_at_every_width(browser, pages, name, width, dark):
    browser.open(pages[name], width=width, dark=dark)
    browser.run(OPEN)
    assert browser.run(TEXTS) == []
    scrolled, inner = browser.run(WIDTHS)
    assert scrolled <= inner
    found = browser.barriers()
    assert found["violations"] == []
    assert {rule for rule, _ in found["incomplete"]} <= {"color-contrast"}


@pytest.mark.parametrize(
    ("name", "width", "dark", "printed"),
    [
        ("four", 360, False, False),
        ("four", 1600, True, False),
        ("explained", 360, False, False),
        ("risk", 360, True, False),
        pytest.param("four", 800, True, True, marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_barrier(browser, pages, name, width, dark, printed):
    browser.open(pages[name], width=width, dark=dark, printed=printed)
    browser.run(OPEN)
    found = browser.barriers()
    assert found["violations"] == []
    # Contrasts of drawn texts are computed in another test: axe cannot.
    assert {rule for rule, _ in found["incomplete"]} <= {"color-contrast"}


@pytest.mark.slow  # axe looks at the table's roles in CI
def test_a_table_stays_one_where_it_is_shown_as_cards(browser, pages):
    for width in (360, 1600):
        browser.open(pages["four"], width=width)
        tree = browser.cdp("Accessibility.getFullAXTree")["nodes"]
        roles = [one["role"]["value"] for one in tree if not one.get("ignored") and "role" in one]
        assert roles.count("rowheader") >= 4
        assert "table" in roles
        assert roles.count("columnheader") >= 5


def test_the_script_is_stopped_if_a_byte_of_it_is_changed(browser, pages, tmp_path):
    changed = tmp_path / "changed.html"
    text = pages["twenty"].read_text(encoding="utf-8")
    changed.write_text(text.replace('"use strict";', '"use strict"; ', 1), encoding="utf-8")
    browser.open(changed)
    assert not browser.run("return document.querySelectorAll('button').length")
    assert "Content Security Policy" in browser.console()[0]
    browser.open(pages["twenty"])
    assert browser.run("return document.querySelectorAll('button').length") == 7


def names(browser):
    script = (
        "return [...document.querySelectorAll('.overview tbody tr:not([hidden]) th a')]"
        ".map((one) => one.textContent)"
    )
    return browser.run(script)


def test_the_table_is_sorted_by_keyboard_with_the_unknown_last(browser, pages):
    browser.open(pages["twenty"])
    before = names(browser)
    assert tab_to(browser, "a.skip") != "none"
    assert tab_to(browser, "#details > summary") != "none"
    press(browser, "Enter")
    assert tab_to(browser, "thead th:nth-child(3) button") != "none"
    press(browser, "Enter")
    head = "return document.querySelector('thead th:nth-child(3)').getAttribute('aria-sort')"
    assert browser.run(head) == "ascending"
    accuracy = {
        one.name: one.estimated_accuracy and one.estimated_accuracy.value
        for one in web_reports.several(20).columns
    }
    for sign in (1, -1):
        found = [accuracy[name] for name in names(browser)]
        known = [one for one in found if one is not None]
        assert known == sorted(known, key=lambda one: sign * one)
        assert found[len(known) :] == [None] * (20 - len(known))
        press(browser, " ")
    assert sorted(names(browser)) == sorted(before)


def test_the_table_is_filtered_by_name_and_verdict(browser, pages):
    browser.open(pages["twenty"])
    browser.run(OPEN)
    assert tab_to(browser, "input[type=search]") != "none"
    browser.cdp("Input.insertText", text="COLUMN_1")
    expected = [one.name for one in web_reports.several(20).columns if "column_1" in one.name]
    assert sorted(names(browser)) == sorted(expected)
    status = "return document.querySelector('[role=status]').textContent"
    assert browser.run(status) == f"{len(expected)} of 20 shown"
    browser.run(
        "const one = document.querySelector('select'); one.value = 'do-not-use';"
        "one.dispatchEvent(new Event('change'));"
    )
    assert sorted(names(browser)) == ["column_10", "column_17"]


def test_sections_open_and_close_by_keyboard_and_by_link(browser, pages):
    count = "return document.querySelectorAll('details.cf[open]').length"
    browser.open(pages["twenty"])
    assert browser.run(count) == 0
    browser.run("details.open = true")
    browser.run("document.querySelector('#openers button').focus()")
    assert tab_to(browser, "#cf1 > summary") != "none"
    press(browser, "Enter")
    assert browser.run(count) == 1
    browser.run("details.open = false")
    browser.run("document.querySelector('#use a[href=\"#cf3\"]').click()")
    assert browser.run("return new Promise((done) => setTimeout(() => done(details.open), 50))")
    assert browser.run("return new Promise((done) => setTimeout(() => done(cf3.open), 50))")
    for text, opened in (("Open all", 20), ("Close all", 0)):
        browser.run(
            "[...document.querySelectorAll('#openers button')]"
            f".find((one) => one.textContent === {text!r}).click()"
        )
        assert browser.run(count) == opened


def test_without_scripts_everything_is_there_and_nothing_is_dead(browser, pages):
    browser.open(pages["four"], scripts=False)
    found = browser.cdp("DOM.getDocument", depth=0)["root"]["nodeId"]
    count = lambda what: len(  # noqa: E731 — a short name for a long call
        browser.cdp("DOM.querySelectorAll", nodeId=found, selector=what)["nodeIds"]
    )
    assert count("button, input, select") == 0
    assert count("details.cf[open]") == 4
    assert count("svg.plot") >= 5


def sheets(browser, **how):
    """What stands on each sheet of paper."""
    texts = (normalize("NFKC", one.extract_text()) for one in browser.pdf(**how).pages)
    return [re.sub(r"\s+", " ", text) for text in texts]


def test_paper_is_light_and_has_what_is_folded_on_the_screen(browser, pages):
    browser.open(pages["long"], dark=True)
    texts = sheets(browser)
    assert (
        sum(len(re.findall(r"empty cells [0-9,]+ held-out cells [0-9]", text)) for text in texts)
        == 30
    )
    browser.look(dark=True, printed=True)
    colors = browser.run(
        "const one = getComputedStyle(document.body); return [one.backgroundColor, one.color]"
    )
    assert colors == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    tools = "return getComputedStyle(document.querySelector('.tools')).display"
    assert browser.run(tools) == "none"


def test_no_row_is_cut_on_paper_and_each_sheet_has_the_head(browser, pages):
    browser.open(pages["long"])
    for height in (8.0, 8.26):  # sheets end elsewhere in a row
        texts = sheets(browser, paperHeight=height, pageRanges="1-8")
        rows = [
            re.findall(r"(cf_\d+) 3 values (?:(?!cf_).)*fallback- ?rows filled in", text)
            for text in texts
        ]
        whole = [name for found in rows for name in found]
        assert whole == [f"cf_{number}" for number in range(1, 31)]
        for text, found in zip(texts, rows, strict=True):
            assert not found or ("CF Verdict" in text and "Flags Action" in text)
        assert sum(map(bool, rows)) >= 3


def test_no_figure_is_cut_on_paper(browser, pages):
    browser.open(pages["single"])
    for height in (6.5, 7.0):
        texts = sheets(browser, paperHeight=height)
        for begin, end in (
            ("-confidence do?", "The band is the 95 %"),
            ("Choice of the number", "Dashed: round 2."),
        ):
            (sheet,) = [text for text in texts if begin in text]
            assert end in sheet


def test_hostile_names_are_seen_as_they_are(browser, pages):
    browser.open(pages["hostile"])
    headings = browser.run(
        "return [...document.querySelectorAll('h3 bdi')].map((one) => one.textContent)"
    )
    assert headings == [visible(one) for one in web_reports.HOSTILE]
    assert browser.run("return document.scripts.length") == 1
    assert browser.run("return document.images.length") == 0
    assert browser.run("return document.title").startswith(web_reports.HOSTILE[0])


def test_a_notebook_shows_two_reports_without_styles(browser, tmp_path):
    text = fragment(FOUR) + fragment(replace(FOUR, rows=5))
    bare = re.sub("<style>.*?</style>", "", text, flags=re.DOTALL)
    for name, body in (("styled", text), ("bare", bare)):
        file = tmp_path / f"{name}.html"
        head = (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>x</title><main><h1>x</h1>'
        )
        file.write_text(f"{head}{body}</main></html>", encoding="utf-8")
        browser.open(file)
        assert browser.console() == []
        assert browser.run("return document.querySelectorAll('[id]').length") == 0
        fills = browser.run(
            "return [...document.querySelectorAll('circle')]"
            ".map((one) => getComputedStyle(one).fill)"
        )
        assert set(fills) == {"rgb(0, 114, 178)"}


@pytest.mark.slow
def test_a_hundred_cfs_of_200_values_are_made_and_loaded_in_time(browser, tmp_path):
    text = page_report(web_reports.several(100, 200))
    assert len(text.encode()) < 5_000_000
    file = tmp_path / "hundred.html"
    file.write_text(text, encoding="utf-8")
    browser.open(file)
    took = "const [one] = performance.getEntriesByType('navigation'); return one.loadEventEnd"
    assert browser.run(took) < 3000


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 1500)])
def test_the_first_screen_has_verdicts_chart_and_what_to_do(browser, pages, width, height):
    browser.open(pages["four"], width=width)
    inside = (
        "return [...document.querySelectorAll('.card, .bars svg, .steps li')]"
        ".every((one) => { const box = one.getBoundingClientRect();"
        f" return box.width > 0 && box.left >= 0 && box.right <= {width} && box.bottom <= {height}; }})"
    )
    assert browser.run(inside)
    assert browser.run("return document.querySelectorAll('.card').length") == 4
