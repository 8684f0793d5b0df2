"""The line with which spreadsheets name the delimiter before the header: `sep=;`."""

import re

SEP = re.compile(rb'"?sep=([\t -/:-@\[-`{-~])"?[;,\t|]*\r?\n', re.IGNORECASE)


def sep_line(text: bytes) -> tuple[str | None, int]:
    """Return the delimiter that the first line of a text names, and where the next one begins.

    None and 0: the first line names none.
    """
    match = SEP.match(text)
    return (match[1].decode(), match.end()) if match else (None, 0)
