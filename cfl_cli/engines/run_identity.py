"""What a run is of, and in which words two of them differ: only the same run is gone on with."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfl_cli.core.wording import option
from cfl_cli.errors import DataError, UsageError

FORMAT = 1
_HASH = re.compile("[0-9a-f]{64}")


def begin_anew() -> str:
    """Return the way out where a run directory cannot be read."""
    return "remove the run's folder to begin anew"


def content_of(about: Path) -> dict[str, Any]:
    """Return what a run says of itself."""
    try:
        content = json.loads(about.read_bytes())
        if content["format"] == FORMAT and isinstance(content["identity"], dict):
            return dict(content)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{about}: cannot be read: {begin_anew()}") from error
    raise DataError(f"{about}: of another version of cfl: {begin_anew()}")


def compare(path: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise if what is to be resumed is a run of something else; name all differences."""
    names = [*before, *(name for name in now if name not in before)]
    differ = [
        _difference(name, before.get(name, ""), now.get(name, ""))
        for name in names
        if before.get(name) != now.get(name)
    ]
    if differ:
        way_out = (
            f"{option('resume')} goes on with the same run only: remove the folder, or name another"
        )
        raise UsageError(*(f"{path}: {one}" for one in differ), way_out)


def _difference(name: str, before: str, now: str) -> str:
    """Return in words what differs, entry by entry if both are JSON objects."""
    old, new = _entries(before), _entries(now)
    if old is not None and new is not None:
        changed = [
            f"{key}: {json.dumps(old.get(key))} → {json.dumps(new.get(key))}"
            for key in [*old, *(key for key in new if key not in old)]
            if old.get(key) != new.get(key)
        ]
        return f"the {name} differ: {', '.join(changed)}"
    if _HASH.fullmatch(before) or _HASH.fullmatch(now) or "\n" in before + now:
        return f"the {name} is another one" if name != "data" else "the data are others"
    return f"{name}: {before or 'none'} → {now or 'none'}"


def _entries(text: str) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
