"""One table, written in eight ways, has the same answers by the same schema."""

import datetime as dt
import math
import random

import pandas as pd
import polars as pl
import pytest

from cfl_cli import Model, Schema, fit, impute
from cfl_cli.encode.encode import encode
from cfl_cli.tables import frames, table
from cfl_cli.tables.formats import Place

SCHEMA = Schema.parse("""\
version: 1
file: {delimiter: ";", decimal: ","}
missing: ["", k.A.]
columns:
  temp: {role: ordinary, type: numeric, unit: °C, missing: ["-99"]}
  seen: {role: ordinary, type: date, format: "%d. %B %Y", cycle: [week, year]}
  smoker: {role: ordinary, type: binary, values: ["no", "yes"]}
  size: {role: ordinary, type: ordered, values: [S, M, L, XL]}
  kids: {role: ordinary, type: numeric}
  ward: {role: ordinary, type: categorical}
  illness: {role: complementary, values: [flu, cold, covid, none], separator: ";", exact: "="}
  code: {role: complementary}
settings: {k: 5, folds: 0}
""")
MONTHS = ["Januar", "Februar", "März", "APRIL", "mai", "Juni"]
ILLNESSES = ["flu", "cold", "covid", "none"]
ROWS = 40


def rows():
    draw = random.Random(5)
    return [
        {
            "temp": draw.choice([None, 35.5 + draw.randrange(60) / 10]),
            "seen": draw.choice(
                [None, *[dt.date(2024, 1, 1) + dt.timedelta(draw.randrange(180))] * 5]
            ),
            "smoker": draw.choice([True, False, None]),
            "size": draw.choice(["S", "M", "L", "XL", None]),
            "kids": draw.choice([0, 1, 2, 3, None]),
            "ward": draw.choice([1, 2, 10]),
            "illness": draw.choice([None, ["=flu"], draw.sample(ILLNESSES, draw.randint(1, 3))]),
            "code": draw.choice([1, 2, 3]),
        }
        for _ in range(ROWS)
    ]


def as_written(row):
    temp, seen = row["temp"], row["seen"]
    return {
        "temp": "-99" if temp is None else f"{temp:.1f} °C".replace(".", ","),
        "seen": f"{seen.day}. {MONTHS[seen.month - 1]} {seen.year}" if seen else "k.A.",
        "smoker": {True: "Ja", False: "nein", None: ""}[row["smoker"]],
        "size": f" {row['size']}" if row["size"] else "k.A. ",
        "kids": "" if row["kids"] is None else f"{row['kids']},0",
        "ward": str(row["ward"]),
        "illness": "; ".join(row["illness"] or []),
        "code": f"{row['code']}",
    }


def from_file(folder, name, frame, **options):
    place = Place.to_read(str(folder / name))
    table.write(frame, place, report=None)
    return table.read(place, **options).frame


def forms(folder):
    texts = pl.DataFrame([as_written(row) for row in rows()])
    typed = pl.DataFrame(rows())
    yield "text", texts
    path = folder / "t.csv"
    path.write_text(texts.write_csv(separator=";"))
    yield "csv", table.read(Place.to_read(str(path)), delimiter=";").frame
    yield "tsv", from_file(folder, "t.tsv", texts)
    lists = texts.with_columns(typed["illness"], typed["smoker"], typed["ward"])
    yield "jsonl", from_file(folder, "t.jsonl", lists)
    yield "parquet", from_file(folder, "t.parquet", typed)
    yield (
        "arrow",
        from_file(folder, "t.arrow", typed.cast({"seen": pl.Datetime("ms"), "ward": pl.Int8})),
    )
    yield "polars", typed.cast({"size": pl.Categorical, "code": pl.Float64, "kids": pl.Float32})
    yield "pyarrow", typed.to_arrow()
    frame = pd.DataFrame(rows())
    frame["seen"] = pd.to_datetime(frame["seen"])
    assert frame["kids"].dtype == "float64"  # as pandas makes them if a cell is missing
    yield "pandas", frame
    frame = pd.DataFrame(rows()).astype({"size": "category", "smoker": "boolean", "kids": "Int64"})
    yield "pandas, its own types", frame.astype({"ward": "category", "code": "float64"})


def new_columns(result):
    return frames.as_polars(result.frame).select(pl.col("^(illness|code)_.*$"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return dict(forms(tmp_path_factory.mktemp("forms")))


def test_one_table_is_encoded_alike_in_every_form(made):
    encoded = {name: encode(frames.as_polars(frame), SCHEMA) for name, frame in made.items()}
    one = encoded["csv"]
    assert one.features.shape == (ROWS, 1 + 5 + 1 + 1 + 1 + 3)
    assert len(one.known.blocks) == 2
    for name, other in encoded.items():
        assert other.features.tobytes() == one.features.tobytes(), name
        assert other.candidates.tobytes() == one.candidates.tobytes(), name


def test_features_are_those_worked_out_row_by_row(made):
    found = encode(made["csv"], SCHEMA).features
    for row, features in zip(rows(), found.tolist(), strict=True):
        if row["seen"] is not None:
            angle = 2 * math.pi * row["seen"].weekday() / 7
            assert features[2:4] == pytest.approx(
                [(1 + math.cos(angle)) / 2, (1 + math.sin(angle)) / 2]
            )
        if row["size"] is not None:
            assert features[7] == ["S", "M", "L", "XL"].index(row["size"]) / 3
        if row["smoker"] is not None:
            assert features[6] == row["smoker"]
        if row["kids"] is not None:
            assert features[8] == row["kids"] / 3
        assert [one > 0 for one in features[9:]] == [row["ward"] == ward for ward in (1, 10, 2)]


def test_one_table_has_the_same_answers_from_files_and_data_frames(made):
    one, *others = (
        new_columns(impute(made[name], SCHEMA, mode="both"))
        for name in ("csv", "parquet", "pandas")
    )
    for other in others:
        assert other.equals(one)


def test_a_model_of_one_form_answers_rows_of_another(made, tmp_path):
    model = fit(made["csv"], SCHEMA)
    model.save(tmp_path / "m.cfl")
    kept = Model.load(tmp_path / "m.cfl")
    assert kept.encoding.facts(SCHEMA) == model.encoding.facts(SCHEMA)
    one, *others = (new_columns(kept.apply(made[name])) for name in ("csv", "parquet", "jsonl"))
    for other in others:
        assert other.equals(one)


@pytest.mark.parametrize(("ending", "writer"), [("xlsx", "xlsxwriter"), ("ods", "odf")])
def test_a_book_has_the_same_answers(made, tmp_path, ending, writer):
    pytest.importorskip(writer, reason="writes books: pip install '.[test]'")
    cells = pd.DataFrame(rows())
    cells["illness"] = [row["illness"] for row in map(as_written, rows())]
    path = tmp_path / f"t.{ending}"
    options = {"options": {"strings_to_formulas": False}} if writer == "xlsxwriter" else {}
    cells.to_excel(path, index=False, engine=writer, engine_kwargs=options)
    frame = table.read(Place.to_read(str(path))).frame
    assert frame.schema == {
        "temp": pl.Float64,
        "seen": pl.Date,
        "smoker": pl.Boolean,
        "size": pl.String,
        "kids": pl.Int64,
        "ward": pl.Int64,
        "illness": pl.String,
        "code": pl.Int64,
    }
    encoded, one = encode(frame, SCHEMA), encode(made["csv"], SCHEMA)
    assert encoded.features.tobytes() == one.features.tobytes()
    assert encoded.candidates.tobytes() == one.candidates.tobytes()
    answers = new_columns(impute(frame, SCHEMA, mode="both"))
    assert answers.equals(new_columns(impute(made["csv"], SCHEMA, mode="both")))
