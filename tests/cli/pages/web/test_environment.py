"""What holds of every page, whatever it shows."""

import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest
from builders.markup import parsed
from builders.web_reports import full_column, full_report
from jinja2 import UndefinedError

from cfl_cli.cli.pages import web
from cfl_cli.cli.pages.web.report import fragment, page

TEMPLATES = Path(web.__file__).parent / "templates"
ROOT = Path(__file__).parents[4]
STYLE = web.source("style.css")


def test_only_our_style_and_our_script_are_not_escaped():
    marked = {
        (path.name, found)
        for path in TEMPLATES.iterdir()
        for found in re.findall(r"\{\{[^}]*\|\s*safe[^}]*\}\}", path.read_text(encoding="utf-8"))
    }
    assert marked == {
        ("base.html", "{{ style|safe }}"),
        ("base.html", "{{ script|safe }}"),
        ("fragment.html", "{{ style|safe }}"),
        ("sections_fragment.html", "{{ style|safe }}"),
    }
    code = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES.parent.glob("*.py"))
    assert not re.search(r"Markup\(|import Markup|autoescape=False", code)
    assert "autoescape false" not in "".join(
        p.read_text(encoding="utf-8") for p in TEMPLATES.iterdir()
    )


def test_templates_escape_and_miss_nothing():
    made = web.environment()
    assert (
        made.from_string("<svg>{{ x }}</svg>").render(x="<b>'\"")
        == "<svg>&lt;b&gt;&#39;&#34;</svg>"
    )
    with pytest.raises(UndefinedError):
        made.from_string("{{ missing }}").render()


def test_the_policy_allows_this_style_and_this_script_alone():
    root = parsed(page(full_report(full_column())))
    policy = root.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for rule, tag in (("style-src", "style"), ("script-src", "script")):
        (text,) = root.one(tag).children
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert {rules[rule] for rule in ("default-src", "base-uri", "form-action")} == {"'none'"}
    head = [child.tag for child in root.one("head").children if not isinstance(child, str)]
    assert head[:2] == ["meta", "meta"]  # the charset, then the policy
    assert "charset" in root.one("head").children[1].attributes


def test_the_script_is_small_and_makes_no_markup_of_text_and_styles_load_nothing():
    script = web.source("script.js")
    assert len(script) < 5000
    assert not re.search("innerHTML|outerHTML|insertAdjacent|document.write|eval|Storage", script)
    assert not re.search(r"fetch|XMLHttp|import|https?:", script)
    assert not re.search(r"url\(|@import|https?:|expression", STYLE)


def variables(text):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))


def luminance(color):
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """As WCAG 2.2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


LIGHT = variables(STYLE.partition("@media")[0])
DARK = LIGHT | variables(STYLE.split("@media (prefers-color-scheme: dark)")[1].partition("* {")[0])
PRINTED = LIGHT | variables(STYLE.split("@media print")[1])


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINTED], ids=["light", "dark", "printed"])
def test_texts_and_marks_stand_out_from_their_ground(theme):
    for text in ("text", "muted", "link", "use", "care", "bad", "unknown"):
        for ground in ("ground", "panel"):
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    for state in ("use", "care", "bad", "unknown"):
        assert contrast(theme[state], theme[f"{state}-ground"]) >= 4.5, state
    for mark in ("est", "base", "axis", "focus"):
        assert contrast(theme[mark], theme["ground"]) >= 3, mark


def test_colors_without_styles_are_those_of_the_light_theme():
    used = {
        color.lower()
        for path in TEMPLATES.glob("*.html")
        for color in re.findall(r'(?:fill|stroke)="(#\w+)"', path.read_text(encoding="utf-8"))
    }
    assert used <= {LIGHT[name] for name in ("est", "base", "axis", "muted", "ground", "grid")}


def test_every_style_of_a_notebook_is_below_one_class():
    rules = re.findall(r"([^{}]+)\{", web.source("fragment.css"))
    selectors = [one.strip() for rule in rules for one in rule.split(",")]
    assert all(one.startswith(".cfl-report") for one in selectors)
    assert len(fragment(full_report(full_column()))) < 100_000


@pytest.mark.slow
def test_a_wheel_holds_the_templates(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, ROOT]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution" in made.stderr:
        pytest.skip("hatchling cannot be fetched")
    (wheel,) = tmp_path.glob("*.whl")
    held = {Path(name).name for name in ZipFile(wheel).namelist() if "/web/templates/" in name}
    assert held == {path.name for path in TEMPLATES.iterdir()}
