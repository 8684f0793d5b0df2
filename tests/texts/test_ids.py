import uuid

import pytest
from builders.tallies import tallied

from cfl_cli.texts.identifiers import id_kind, is_name_of_id, says_identifier, says_private


def test_row_numbers_are_an_id_and_measurements_are_not():
    up = [str(number) for number in range(7, 40)]
    assert id_kind(tallied(up), numbers=True)[1]
    assert id_kind(tallied(up[::-1]), numbers=True) is None
    assert id_kind(tallied(up[::-1], "patient_id"), numbers=True) is not None
    assert id_kind(tallied(["1.5", "2.5", "3.5"]), numbers=True, whole=False) is None


@pytest.mark.parametrize(
    "text",
    [lambda n: str(uuid.UUID(int=n)), "user{}@example.org".format, "DE{:020d}".format,
     "https://example.org/{}".format],
)  # fmt: skip
def test_shapes_of_ids_are_known_even_if_they_repeat(text):
    assert id_kind(tallied([text(number % 5) for number in range(10)]), numbers=False)[1]


def test_texts_that_differ_almost_everywhere_are_an_id():
    cells = [f"p{number}" for number in range(97)] + ["p0", "p1", "p2"]
    assert id_kind(tallied(cells[:97]), numbers=False) == ("a different value in every row", True)
    assert id_kind(tallied(cells), numbers=False) is None
    assert id_kind(tallied(cells, "key"), numbers=False) == (
        "97 different values in 100 cells",
        False,
    )


def test_names_of_ids_are_known_from_others():
    named, others = ["id", "patientId", "Kd.-Nr.", "row_no"], ["width", "idea", "node", "normal"]
    assert [name for name in [*named, *others] if is_name_of_id(name)] == named


def test_names_of_what_people_keep_to_themselves_are_private_and_others_are_not():
    private = ["diagnosis_code", "Krankheit", "état de santé", "renda", "INCOME", "race"]
    private.append("sexualOrientation")
    others = ["job", "trace", "embrace", "contact", "colour", "weekday", ""]
    assert [name for name in [*private, *others] if says_private(name)] == private


def test_some_names_say_alone_that_cells_name_somebody_others_if_nearly_every_cell_is_another():
    alone = ["e-mail", "SSN", "last_name", "Nachname", "phoneNumber"]
    every = [*alone, "id", "patientId", "name", "Patientennummer", "customer no"]
    assert [name for name in every if says_identifier(name, different=0.1)] == alone
    assert [name for name in every if says_identifier(name, different=0.2)] == alone
    assert [name for name in every if says_identifier(name, different=1.0)] == every
