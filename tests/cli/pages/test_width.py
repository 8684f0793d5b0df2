import pytest

from cfl_cli.cli.pages.width import cell_len, cut, cut_apart, wrapped


def test_later_lines_of_a_note_are_indented_and_commands_stay_whole():
    text = "- it is old: run `cfl fit new.csv --schema s.yml --model m.cfl` and see"
    assert wrapped(text, 40).splitlines() == [
        "- it is old: run",
        "  `cfl fit new.csv --schema s.yml --model m.cfl`",
        "  and see",
    ]


@pytest.mark.parametrize("text", ["one two three " * 20, "診断名" * 60, "a: " + "名前 " * 50])
@pytest.mark.parametrize("width", [20, 80, 120])
def test_no_line_is_too_wide_and_nothing_is_lost(text, width):
    lines = wrapped(text.strip(), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(line.startswith("  ") for line in lines[1:])


def test_a_command_on_its_own_line_is_not_wrapped():
    assert wrapped("  cfl impute a.csv --schema s.yml", 20) == "  cfl impute a.csv --schema s.yml"


def test_names_are_cut_such_that_they_differ():
    assert cut("diagnosis", 5) == "diag…"
    assert cut_apart(["diagnosis", "ward"], 5) == ["diag…", "ward"]
    assert cut_apart(["visit_2023", "visit_2024"], 7) == ["vis…023", "vis…024"]
    assert cut_apart(["診断名の一", "診断名の二"], 7) == ["診…一", "診…二"]
