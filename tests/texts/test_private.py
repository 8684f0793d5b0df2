import pytest

from cfl_cli.texts.identifiers import says_identifier, says_private


@pytest.mark.parametrize(
    "name",
    [
        "diagnosis_code",
        "Krankheit",
        "état de santé",
        "renda",
        "INCOME",
        "sexualOrientation",
        "race",
    ],
)
def test_names_of_what_people_keep_to_themselves(name):
    assert says_private(name)


@pytest.mark.parametrize("name", ["job", "trace", "embrace", "contact", "colour", "weekday", ""])
def test_other_names_are_not_private(name):
    assert not says_private(name)


@pytest.mark.parametrize("name", ["e-mail", "SSN", "last_name", "Nachname", "phoneNumber"])
def test_some_names_say_alone_that_cells_name_somebody(name):
    assert says_identifier(name, different=0.1)


@pytest.mark.parametrize("name", ["id", "patientId", "name", "Patientennummer", "customer no"])
def test_others_say_so_if_nearly_every_cell_is_another(name):
    assert says_identifier(name, different=1.0)
    assert not says_identifier(name, different=0.2)
