"""Thousands of nasty strings, as ids, notes, names of columns and domain values, come out whole."""

import csv
import io
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from cfl_cli.cli.app import app

NASTY = r"""
007 1e5 -0.0 +1 0x1F 1_000 .5 5. 1,5 ∞ NaN nan inf -inf NA N/A null NULL None nil true FALSE yes no
on off ~ ? - -- = == =1+1 @x +x -x ' '' " "" ` \ \\ \n \0 ; | & && $HOME ${x} $(x) %s %n {0} {{x}}
<b> &amp; [x] *.csv # #x !x a:b a: :b 2024-01-01 12:30 01:00 1/2 3E 1E309 9007199254740993 ½ ² ٣ Ⅷ
ß ẞ İ ı ŉ ǰ ﬁ é 𝒳 <script>alert(1)</script> '; DROP TABLE t; -- ../../etc/passwd CON
""".split()
NASTY += ["", " ", "  padded  ", "\t", "a\tb", "a\nb", "a\r\nb", "a\rb", "\n", '"\n"', 'a,"b",c']
NASTY += ["x" * 5000, "é" * 3000, '"' * 999, "," * 500, "\\" * 77, "a\u0301\u0302\u0303", "\u3000"]
NASTY += ["\u202eabc", "\ufeffx", "x\ufeff", "\u200b", "\u00ad", "\u2028", "\u2029", "\x85", "\x1f"]
NASTY += ["👩\u200d👩\u200d👧", "🏳️\u200d🌈", "e\u0301", "\x7f", "\ufffd", "\uffff", "\x1b[31mred"]


def strings(count):
    signs = [*"abc019 ,;\t\n\r\"'\\|=:{}[]#&*!%@`~?-+.\x01\x1b\x7f\x85é漢👍", "\u202e", "\u2028"]
    rng = np.random.default_rng(0)
    found = dict.fromkeys(NASTY)
    while len(found) < count:
        found["".join(rng.choice(signs, rng.integers(1, 9)))] = None
    return list(found)[:count]


def table():
    texts = strings(6000)
    names = [
        text for text in texts[:400] if text and not text.endswith(("_imputed", "_confidence"))
    ]
    domain = [text for text in texts[-150:] if text]
    rng = np.random.default_rng(1)
    rows = 40
    columns = {"x": [str(number) for number in range(rows)]}
    columns["cf of nasty values"] = list(rng.choice(domain, rows))
    for place, name in enumerate(names):
        columns[name] = [texts[(place * 13 + row) % len(texts)] for row in range(rows)]
    schema = {
        "version": 1,
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "cf of nasty values": {"role": "complementary", "values": domain},
        },
        "settings": {"k": 3, "iterations": 2, "folds": 0, "mode": "both"},
    }
    return columns, schema, domain


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    columns, schema, _ = table()
    with (folder / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([columns, *zip(*columns.values(), strict=True)])
    pl.DataFrame(columns).write_parquet(folder / "in.parquet")
    with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
        for row in zip(*columns.values(), strict=True):
            file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
    (folder / "schema.yml").write_text(json.dumps(schema), encoding="utf-8")
    return folder


def read(path):
    data = path.read_bytes()
    if path.suffix == ".csv":
        header, *rows = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
        return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in data.split(b"\n")[:-1]]
        return {name: [row[name] for row in rows] for name in rows[0]}
    return pl.read_parquet(path).to_dict(as_series=False)


@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("target", ["csv", "parquet", "jsonl"])
def test_nasty_strings_come_out_as_they_went_in(folder, source, target):
    out = folder / f"{source}.{target}"
    files = [str(folder / name) for name in (f"in.{source}", "schema.yml", out.name)]
    arguments = ["impute", files[0], "--schema", files[1], "--out", files[2], "-q"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    columns, _, domain = table()
    found = read(out)
    assert len(columns) > 300
    assert {name: found[name] for name in columns} == columns
    assert list(found)[: len(columns)] == list(columns)
    new = [f"cf of nasty values__{value}" for value in domain]
    assert list(found)[len(columns) + 2 :] == new
    assert set(found["cf of nasty values_imputed"]) <= set(domain)
