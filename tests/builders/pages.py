"""README and docs as tests see them: pages, their code blocks, and a place to run their commands.

`python tests/builders/pages.py` runs every command and renews the output that the pages show.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
# Written by a command of their own, and compared with what it writes elsewhere.
GENERATED = {"command-line.md", "results.md", "speed.md"}
PAGES = [
    README,
    *(page for page in sorted(ROOT.glob("docs/**/*.md")) if page.name not in GENERATED),
]

BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"# ([\w.]+\.\w+)$", re.MULTILINE)
LEARNING = {"auto", "boost", "net", "forest"}
# What the README's first command wrote, where it has just been run: .ci/run says so.
WRITTEN = os.environ.get("CFL_README_TABLE")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Step:
    command: str
    shown: str


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(text: str, *kinds: str) -> list[str]:
    return [match["body"] for match in BLOCK.finditer(text) if match["kind"] in kinds]


def steps(block: str) -> list[Step]:
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    assert parts[0] == "", f"a console block starts with a command: {block}"
    return [Step(*pair) for pair in zip(parts[1::2], parts[2::2], strict=True)]


def all_steps(text: str) -> list[Step]:
    return [step for block in blocks(text, "console") for step in steps(block)]


def indented(text: str) -> list[str]:
    return re.findall(r"^ {4}(\S.*)$", BLOCK.sub("", text), re.MULTILINE)


def set_up() -> list[str]:
    return [line for line in indented(text_of(README)) if line.startswith("pip install ")]


class Place:
    """A folder with the sample, in which commands run; the same one on the sample runs once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outputs: dict[str, str] = {}
        self.learned: set[str] = set()  # files that models wrote that learn in single precision
        shutil.copytree(ROOT / "sample_data", folder / "sample_data")

    def set_up(self) -> None:
        for line in set_up():
            for part in line.split(" && "):
                if part.startswith("cfl impute ") and WRITTEN:
                    self.learned.add(Path(shutil.copy(WRITTEN, self.folder)).name)
                elif part.startswith("cfl "):
                    self.run(part)

    def run(self, line: str) -> str:
        if line in self.outputs:
            return self.outputs[line]
        command, _, filters = line.partition(" | ")
        words = shlex.split(command)
        if words[0] == "cfl":
            output = self._cfl(words[1:])
        else:
            output, filters = self.shell(line), ""
        if filters:
            output = self.shell(filters, given=output)
        if "sample_data/" in line:
            self.outputs[line] = output
        return output

    def learns(self, line: str) -> bool:
        return not self.learned.isdisjoint(shlex.split(line))

    def save(self, body: str) -> None:
        """Write a block that opens with its file name (`# survey.yml`); run it if it is Python."""
        name = FILE_NAME.match(body)
        assert name, body
        (self.folder / name[1]).write_text(body, encoding="utf-8")
        if name[1].endswith(".py"):
            subprocess.run([sys.executable, name[1]], cwd=self.folder, check=True)

    def renewed(self, page: Path) -> str:
        """Do what the page says from top to bottom; return it with what its commands print now."""

        def block(match: re.Match[str]) -> str:
            if match["kind"] == "console":
                body = "".join(self._renewed(step) for step in steps(match["body"]))
                return f"```console\n{body}```"
            if FILE_NAME.match(match["body"]):
                self.save(match["body"])
            return match[0]

        return BLOCK.sub(block, text_of(page))

    def _renewed(self, step: Step) -> str:
        output = self.run(step.command)
        same = settled(output) == settled(step.shown)
        return f"$ {step.command}\n{step.shown if same else output}"

    def _cfl(self, words: list[str]) -> str:
        from cfl_cli.cli.app import app

        no_progress = patch("cfl_cli.cli.progress.PATIENCE", inf)  # not even on a slow day
        with chdir(self.folder), no_progress:
            result = CliRunner().invoke(app, words)
        flagged = result.exit_code == 3 and "--fail-on" in words
        assert flagged or result.exit_code in {0, 1}, result.output
        assert result.exit_code != 1 or result.output.startswith("cfl: "), result.output
        given = dict(pairwise(words))
        if words[0] == "impute" and self._method(given) in LEARNING:
            self.learned |= {given["--out"], f"{given['--out']}.report.json"}
        return result.output

    def _method(self, given: dict[str, str]) -> str:
        schema = (self.folder / given["--schema"]).read_text(encoding="utf-8")
        named = re.search(r"^settings: \{method: (\w+)", schema, re.MULTILINE)
        return given.get("--method") or (named[1] if named else "graph")

    def shell(self, line: str, given: str | None = None) -> str:
        run = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", line],
            cwd=self.folder,
            input=None if given is None else given.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
        )
        return run.stdout.decode(errors="replace")


def settled(text: str) -> str:
    """Return the text without what differs from run to run and from machine to machine."""
    text = re.sub(r"(about +)[\d.,e+]+( MB| s)", r"\1…\2", text)
    text = re.sub(r"(mostly) [\d.,e+]+ to [\d.,e+]+ s", r"\1 … s", text)
    return re.sub(r"in [\d.]+ s\b", "in … s", text)


def without_numbers(text: str) -> tuple[str, list[float]]:
    """Return the text without bars and numbers, and the numbers.

    Models that learn do so in single precision, whose last digits differ between processors.
    """
    plain = re.sub(r"[█░ ]+", " ", text)
    return NUMBER.sub("…", plain), [float(number) for number in NUMBER.findall(plain)]


def renew(folder: Path) -> None:
    place = Place(folder)
    place.set_up()
    for page in PAGES:
        page.write_text(place.renewed(page), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        renew(Path(name))
