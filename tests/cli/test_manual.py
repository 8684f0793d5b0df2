import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cfl_cli.cli import manual
from cfl_cli.commands import COMMANDS
from cfl_cli.core.settings import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(__file__).parents[2] / "cfl_cli"


def test_the_files_in_docs_are_up_to_date_and_written_where_asked(tmp_path):
    manual.write_manual(tmp_path)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("**/*.*"))
    assert names == ["cfl.1", "reference/command-line.md", "reference/problems.md"]
    for name in names:
        made, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, DOCS))
        assert made == kept, "out of date: python -m cfl_cli.cli.manual docs"


def test_every_problem_of_the_source_is_in_the_list_and_the_other_way_round():
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    known = manual.catalog()
    assert {*manual.sentences()} <= {*known, "more"}
    for code in known:
        assert f'"{code}"' in source or f'"{code.partition("-")[2]}"' in source


@pytest.mark.parametrize("text", [manual.markdown_of_commands, manual.roff])
def test_every_command_and_every_setting_is_described(text):
    shown = text().replace("\\-", "-")
    for name in COMMANDS:
        assert re.search(rf'^(## |\.SS ")cfl {name}"?$', shown, re.MULTILINE)
    for setting in SETTINGS.values():
        assert setting.option in shown
        assert " ".join(setting.help.replace("|", "\\|").split()[:4]).split("--")[0] in shown


def test_no_table_of_the_markdown_has_a_column_too_many():
    for line in manual.markdown_of_commands().splitlines():
        if line.startswith("| `-"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4), line


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_has_nothing_to_complain_about():
    command = ["groff", "-ww", "-z", "-man", DOCS / "cfl.1"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""


def test_the_wheel_installs_the_man_page():
    project = (DOCS.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert '"docs/cfl.1" = "share/man/man1/cfl.1"' in project
