import pytest
from builders.tallies import tallied

from cfl_cli.texts.lists import is_name_of_exclusions, negated


@pytest.mark.parametrize("word", ["not", "kein", "nicht", "pas de", "sin", "geen", "ruled out:"])
def test_cells_that_say_what_a_value_is_not_are_seen(word):
    assert negated(tallied([f"{word} flu", f"{word} cold", ""])) == f"{word} flu"
    assert negated(tallied([f"{word} flu", "cold", "gout"])) is None


def test_a_bare_no_is_an_answer():
    assert negated(tallied(["no", "not", "nothing"])) is None
    assert negated(tallied(["Norway", "Notting Hill"])) is None


@pytest.mark.parametrize(
    "name", ["not_diagnosis", "excluded", "Ausgeschlossen", "diagnosisExcluded"]
)
def test_names_that_say_so_are_seen(name):
    assert is_name_of_exclusions(name)


@pytest.mark.parametrize("name", ["note", "notes", "nose", "diagnosis", "exclusive_offer_price"])
def test_other_names_do_not(name):
    assert not is_name_of_exclusions(name)
