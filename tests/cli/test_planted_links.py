"""A link in a place that a command will write to, planted by somebody who foresees its name."""

import pytest
from builders.command_line import cfl, done, impute

IMPUTE = "impute data.csv -s schema.yml -q --out"
COMMANDS = {  # and the places that each writes to
    f"{IMPUTE} out.csv": ["out.csv", "out.csv.report.json"],
    f"{IMPUTE} out.csv --on-bad-row set-aside": ["out.csv.rejects.csv"],
    f"{IMPUTE} out.csv --diagnostics d.csv": ["d.csv"],
    f"{IMPUTE} out.csv --report r.json": ["r.json"],
    f"{IMPUTE} out.csv --model m.cfl": ["m.cfl"],
    f"{IMPUTE} out.csv --draws 3 --for y": ["out.csv", "out.csv.report.json"],
    f"{IMPUTE} out.xlsx": ["out.xlsx", "out.xlsx.report.json"],
    f"{IMPUTE} out.parquet": ["out.parquet"],
    f"{IMPUTE} out/": ["out"],
    "impute data.csv more.csv -s schema.yml -q --out out/": ["out/data.csv", "out/more.csv"],
    "run data.csv --cf cf --out r.csv": ["r.csv", "r.csv.schema.yml", "r.csv.report.json"],
    "init data.csv --cf cf --out s.yml": ["s.yml"],
    "fit data.csv -s schema.yml --model m.cfl": ["m.cfl"],
    "tabulate data.csv -s schema.yml --cf cf --out t.json --format json": ["t.json"],
    "explain data.csv -s schema.yml --row 1 --format html --out e.html": ["e.html"],
    "suspects in.csv --out s.csv --format csv": ["s.csv"],
    "report in.csv --format html --out page.html": ["page.html"],
    "audit in.csv --draw 2 --out sheet.csv": ["sheet.csv"],
    "mask data.csv -s schema.yml --out masked.csv": ["masked.csv"],
    "risk data.csv -s schema.yml --out risk.json --format json": ["risk.json"],
}
PLACES = [(command, place) for command, places in COMMANDS.items() for place in places]


@pytest.mark.parametrize("content", [None, "precious"])
@pytest.mark.parametrize(("command", "place"), PLACES)
def test_no_command_follows_a_planted_link(folder, command, place, content):
    if " in.csv" in command:
        done(impute("--diagnostics", "doubtful.csv", out="in.csv"))
    (folder / "more.csv").write_bytes((folder / "data.csv").read_bytes())
    away = folder / "away"
    away.mkdir()
    if content:
        (away / "theirs").write_text(content)
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).symlink_to(away / "theirs")
    before = sorted(path.name for path in folder.iterdir())
    result = cfl(*command.split())
    refused = any(words in result.stderr for words in ("already exists", "a file, not a folder"))
    if place.endswith(".schema.yml") and content:  # read as a schema, which it is not
        assert result.exit_code == 1
    else:
        assert (result.exit_code, refused) == (2, True)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / place).is_symlink()
    left = {path.name: path.read_text() for path in away.iterdir()}
    assert left == ({"theirs": content} if content else {})
