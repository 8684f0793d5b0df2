"""Where people can watch a cluster: a link that is said only if there is something to see."""

import json
from http.client import HTTPException
from urllib.request import ProxyHandler, build_opener

PATIENCE = 5.0  # seconds
# A list of what the page can show: quick to make, which the page is not, and empty without bokeh.
CONTENT = "individual-plots.json"


def checked_link(link: str | None) -> str:
    """Return the link if Dask's page is there; nothing if it is not, as without bokeh."""
    if not link or not link.startswith(("http://", "https://")):
        return ""
    try:
        # Not by a proxy: whoever can talk to a scheduler reaches it directly.
        opener = build_opener(ProxyHandler({}))
        with opener.open(f"{link.rpartition('/')[0]}/{CONTENT}", timeout=PATIENCE) as content:
            return link if json.loads(content.read()) else ""
    except (OSError, ValueError, HTTPException):
        return ""
