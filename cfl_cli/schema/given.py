"""What Python may give for a schema, or where it has a text: a path, numbers, switches, arrays.

YAML leaves every scalar the text that was written. Python has 0 and True instead, which are spelled
as tables spell them: `0` and `true`. A float is refused: 1.0 may stand for cells `1` or `1.0`.
"""

import os
from pathlib import Path
from typing import Any

from cfl_cli.core.kinds import plain
from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.errors import SchemaError
from cfl_cli.schema.validation import refused


def as_text(value: object) -> object:
    """Return the text that a scalar stands for; what cannot be one is left for others to refuse."""
    value = plain(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        raise refused(
            f"expected text, found the number {value!r}: write it as the cells do, such as "
            f"{quote(f'{value:g}')}"
        )
    return str(value) if isinstance(value, str) else value


def as_tuple(value: object) -> object:
    """Return a list, or a column of a table or an array, as a tuple; other things as they are."""
    value = plain(value)
    listed: Any = getattr(value, "to_list", None) or getattr(value, "tolist", None)
    items = listed() if listed else value
    return tuple(items) if isinstance(items, list | range) else value


def there(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the path of a schema if there is anything, or raise with what is there instead."""
    if os.path.exists(path):  # noqa: PTH110 — Path raises at names that no file can have
        return path
    name, folder = os.fspath(path), Path(path).parent
    near = did_you_mean(Path(path).name, [one.name for one in folder.glob("*.y*ml")])
    raise SchemaError(
        f"schema: no file {quote(name)} in {folder.absolute()}{near}: pass the path of a YAML "
        "file, a dict or a Schema"
    )
