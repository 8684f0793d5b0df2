"""The README's commands run, and print what it says. `python tests/test_readme.py` renews it."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LEARNED = re.compile(r"^```console\n[^\n]*best\.parquet.*?^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def settle(text):
    """Blank out what differs from run to run and from machine to machine."""
    text = re.sub(r"(about +)[\d.,e+]+( MB| s)", r"\1…\2", text)
    return re.sub(r"in [\d.]+ s\b", "in … s", text)


def about(text):
    """Return the text without what models that learn may get otherwise elsewhere, and its numbers.

    They learn by single precision, whose last digits differ between processors.
    """
    plain = re.sub(r"[█░ ]+", " ", text)
    return re.sub(r"\d+(\.\d+)?", "…", plain), [float(number) for number in NUMBER.findall(plain)]


def cfl(line, folder):
    """Run one `cfl …` line in `folder`; return what it prints, but for progress on a slow day."""
    words = line.split()
    assert words[0] == "cfl"
    run = subprocess.run(
        [sys.executable, "-m", "cfl_cli", *words[1:]],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stdout
    return re.sub(
        r"^(?:(?:round|fold|sample|shuffled)[^:]*: (?:neighbors|weights|propagation)"
        r"|boosting[^:]*|network[^:]*|encode|judge|decode): .*\n",
        "",
        run.stdout,
        flags=re.MULTILINE,
    )


def quick_start():
    """Return the `cfl` commands in the two lines that set everything up."""
    lines = re.findall(r"^    (pip install .*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 2
    return [part for line in lines for part in line.split(" && ") if part.startswith("cfl ")]


def renew(text, folder):
    """Return the README with the output of every console block as it comes out today."""

    def block(match):
        first = match[1].splitlines()[0]
        output = cfl(first.removeprefix("$ "), folder)
        return f"```console\n{first}\n{output}```"

    return CONSOLE.sub(block, text)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    return tmp_path


def test_every_cfl_line_runs_and_prints_what_the_readme_shows(folder):
    for line in quick_start():
        cfl(line, folder)
    text = README.read_text(encoding="utf-8")
    assert len(CONSOLE.findall(text)) >= 4
    renewed = settle(renew(text, folder))
    assert LEARNED.sub("", renewed) == LEARNED.sub("", settle(text))
    shown, found = (about("".join(LEARNED.findall(it))) for it in (settle(text), renewed))
    assert shown[0] == found[0]
    assert found[1] == pytest.approx(shown[1], rel=0.3, abs=0.05)


def test_the_python_example_runs(folder):
    (example,) = PYTHON.findall(README.read_text(encoding="utf-8"))
    subprocess.run([sys.executable, "-c", example], cwd=folder, check=True)


def test_the_schema_example_is_the_one_that_loads():
    from cfl_cli import Schema  # noqa: PLC0415 — the script below needs none of it

    whole, mechanisms = re.findall(
        r"^```yaml\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert list(Schema.parse(whole).complementary) == ["job", "diagnosis"]
    head = "version: 1\ncolumns:\n  age: {role: ordinary, type: numeric}\n"
    told = Schema.parse(head + mechanisms).complementary
    assert told["job"].mechanism == ((0, 0.5, 0.5), (0.75, 0, 0.25), (0.75, 0.25, 0))
    assert told["ward"].mechanism[0] == (0, 0.9, 0.1)


def test_the_sample_is_what_its_script_makes(folder):
    subprocess.run([sys.executable, folder / "sample_data" / "make.py"], check=True)
    for name in ("triage.csv", "triage_truth.csv"):
        made, kept = folder / "sample_data" / name, ROOT / "sample_data" / name
        assert made.read_bytes() == kept.read_bytes()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(ROOT / "sample_data", place / "sample_data")
        for command in quick_start():
            cfl(command, place)
        README.write_text(renew(README.read_text(encoding="utf-8"), place), encoding="utf-8")
