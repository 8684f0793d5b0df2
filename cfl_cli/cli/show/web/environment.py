"""The templates, and the page around them: styles and script within, nothing from outside."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

PACKAGE = "cfl_cli.cli.show.web"


@cache
def environment() -> Environment:
    """Return what renders templates: everything is escaped, and nothing may be missing."""
    return Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def source(name: str) -> str:
    """Return the text of a template as it is: our styles, our script."""
    loader, all_templates = environment().loader, environment()
    assert loader is not None  # noqa: S101 — it was given above
    return loader.get_source(all_templates, name)[0].replace("\r\n", "\n")


def policy(style: str, script: str) -> str:
    """Return what a browser may do with the page: use this style and this script, load nothing."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def page(template: str, **content: Any) -> str:
    """Return a whole page that extends `base.html`."""
    style, script = source("style.css"), source("script.js")
    return (
        environment()
        .get_template(template)
        .render(style=style, script=script, policy=policy(style, script), **content)
    )


def fragment(template: str, **content: Any) -> str:
    """Return a piece for a notebook, without script; it has no ids, so none can occur twice."""
    return environment().get_template(template).render(style=source("fragment.css"), **content)
