"""What a file may say of a model beside its arrays is checked before use."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from builders.reports import without_checksums
from builders.tables import SCHEMA, table

from cfl_cli import DataError, fit
from cfl_cli.models import Content
from cfl_cli.run.model import Kept
from cfl_cli.schema.model import Schema

CONTENT = fit(table(), SCHEMA, method="commonest").content
COLUMNS = CONTENT.more["reference"]["columns"]


def more(**changes):
    return replace(CONTENT, more={**CONTENT.more, **changes})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (more(powers=[1.0]), "its powers are not one for each CF"),
        (more(powers=[0.0, 1.0]), "a power must be a number"),
        (more(powers=["1", None]), "a power must be a number"),
        (more(reference={"columns": [{**COLUMNS[0], "shares": [1.0]}, COLUMNS[1]]}), "shares are"),
        (more(reference={"columns": [{**COLUMNS[0], "low": 0}, COLUMNS[1]]}), "and nothing else"),
        (more(reference={"columns": []}), "drift has 0 CFs"),
        (replace(CONTENT, settings={**CONTENT.settings, "k": 0}), "its settings: k:"),
        (replace(CONTENT, settings={**CONTENT.settings, "x": 0}), "are not those of this cfl"),
        (replace(CONTENT, settings={**CONTENT.settings, "method": "graph"}), "another method"),
        (replace(CONTENT, schema="version: 1\n"), "its schema: "),
        (replace(CONTENT, schema="a: &x [*x]\n"), "its schema: "),
        (replace(CONTENT, encoding={}), "'ordinary'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(content, words, tmp_path):
    path = tmp_path / "m.cfl"
    content.write(path)
    with pytest.raises(DataError) as refusal:
        Kept.load(path)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith(f"{path}: is damaged")
    assert "\n" not in str(refusal.value)


def test_a_report_of_other_cfs_is_refused(tmp_path):
    facts = without_checksums(json.loads(CONTENT.report))
    other = json.dumps(facts).replace('"name": "one"', '"name": "three"')
    replace(CONTENT, report=other).write(tmp_path / "m.cfl")
    with pytest.raises(DataError, match="its report is of other CFs"):
        Kept.load(tmp_path / "m.cfl")


def test_what_was_written_is_read_again(tmp_path):
    CONTENT.write(tmp_path / "m.cfl")
    assert Content.read(tmp_path / "m.cfl").checksum == CONTENT.digest()


def test_the_schema_is_kept_without_its_comments(tmp_path):
    written = Schema.parse(f"# dates like '25.2.1962'\n{SCHEMA.text}# Miller, ward 7\n")
    model = fit(table(), written, method="commonest")
    model.save(tmp_path / "m.cfl")
    held = (tmp_path / "m.cfl").read_bytes()
    assert b"1962" not in held
    assert b"Miller" not in held
    kept = Kept.load(tmp_path / "m.cfl")
    assert (kept.schema, kept.schema.run) == (written, written.run)
    assert kept.sources.schema_sha256 == sha256(written.text.encode()).hexdigest()
