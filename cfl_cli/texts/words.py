"""Words in a row, as lists of them are written here."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text that are separated by blanks."""
    return tuple(text.split())
