"""Words that a data engineer would not use, in what users and maintainers read."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / "cfl_cli").glob("**/*.py"),
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    ROOT / "docs" / "cfl.1",
]
DIALECT = re.compile(
    r"fore(tell|told)|told best|stands (here )?twice|is nothing for|all but contradict|goes without"
    r"|drawn by lot|environment twin|whole or not there|without a look|make it first"
    r"|there is no column|told of|nothing is written|ways on\b|bears? on it|do no harm"
    r"|class (Pupil|Lesson|Climb|Enough|Race|Bench)\b|hasty"
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_are_plain(path):
    lines = path.read_text().splitlines()
    assert not [line for line in lines if DIALECT.search(line)]
