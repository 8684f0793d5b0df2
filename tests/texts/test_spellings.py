from itertools import product

import pytest

from cfl_cli.texts.matching import misspelt


def edits(word):
    """Return all words one edit away, as a checker of spelling makes them."""
    splits = [(word[:n], word[n:]) for n in range(len(word) + 1)]
    letters = "abmort"
    found = {a + b[1:] for a, b in splits if b}
    found |= {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    found |= {a + c + b[1:] for (a, b), c in product(splits, letters) if b}
    found |= {a + c + b for (a, b), c in product(splits, letters)}
    return found - {word}


def test_all_words_one_edit_away_are_found_and_no_others():
    near = edits("motor")
    for word in near | {one for it in edits("moor") for one in edits(it)}:
        right = {"motor": 100, word: 1}
        expected = {word: "motor"} if word in near and word != "motor" else {}
        if word != "motor":
            assert misspelt(right, 101) == expected, word


@pytest.mark.parametrize(
    "counts", [{"motor": 100, "moter": 30}, {"A1": 90, "A2": 1}, {"Motor": 9, "motor": 1}]
)
def test_frequent_values_codes_and_case_are_no_slips(counts):
    assert misspelt(counts, sum(counts.values())) == {}
