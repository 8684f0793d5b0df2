import json

import jsonschema
import polars as pl
import pytest
from builders.reports import column, report

from cfl_cli import Schema, fit, impute
from cfl_cli.schema.model import Complementary, Ordinary
from cfl_cli.trust.heldout import Bin, Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import BatchFacts, Drift, judge_audit
from cfl_cli.trust.report_schema import json_schema

pytestmark = pytest.mark.usefixtures("learning_quickly")
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def written(found):
    return json.loads(found.to_json())


def full():
    """Return a report that has all that a report may have."""
    half = Interval(0.5, 0.4, 0.6)
    audit = judge_audit(
        answers=90, drawn=9, checked=8, right=7, estimate=half, former=(half, "uniform"),
        contradicted=0,
    )  # fmt: skip
    facts = {
        "estimated_accuracy": half,
        "calibration": Calibration(0.1, half, (Bin(0.1, 0.2, 3, 0.15, half),), " ▁", 0.9),
        "audit": audit,
        "drift": Drift(9, 0.5, 0.4, 0.6, None, 0.1, 0.2, None),
        "flags": ("drifted",),
        "flagged": True,
    }
    return report(column("a", **facts), batch=BatchFacts(9, {"x": 0.1}, {}, "a", "b", 3))


def test_it_is_a_json_schema_with_a_version():
    VALIDATOR.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "urn:cfl:report:1"
    assert SCHEMA["properties"]["version"] == {"const": 1}


def test_reports_of_a_run_of_a_model_and_of_a_batch_are_valid():
    frame = pl.DataFrame({"x": range(60), "cf": ["a", "b", "c", "c", None] * 12})
    columns = {"x": Ordinary(type="numeric"), "cf": Complementary(values=("a", "b", "c"))}
    schema = Schema(columns=columns)
    for settings in ({"folds": 0}, {}, {"method": "auto", "folds": 2}):
        VALIDATOR.validate(written(impute(frame, schema, k=3, **settings).report))
    model = fit(frame, schema, k=3)
    VALIDATOR.validate(written(model.report))
    VALIDATOR.validate(written(model.apply(frame.head(9)).report))
    VALIDATOR.validate(written(full()))


def test_it_names_every_field_of_every_part():
    def check(schema, facts):
        if isinstance(facts, dict) and "properties" in schema:
            assert {*facts} <= {*schema["properties"]}
        for name, value in facts.items():
            for part in value if isinstance(value, list) else [value]:
                place = schema.get("properties", {}).get(name, {})
                options = [place, place.get("items", {}), *place.get("anyOf", ())]
                of = [one["$ref"].split("/")[-1] for one in options if "$ref" in one]
                if isinstance(part, dict) and of:
                    check(SCHEMA["$defs"][of[0]], part)

    check(SCHEMA, written(full()))


def test_fields_say_what_they_are():
    fields = SCHEMA["$defs"]["ColumnReport"]["properties"]
    assert fields["verdict"]["enum"] == [
        "use", "use-with-care", "use-if-random", "do-not-use", "not-known",
    ]  # fmt: skip
    assert fields["action"]["description"] == "imputed, or kept (left as observed)"
    assert fields["break_even_bias"]["description"].startswith("How many times")
    assert "few-held-out-cells: " in fields["reasons"]["items"]["description"]


@pytest.mark.parametrize(
    "change", [{"verdict": "perhaps"}, {"reasons": [1]}, {"entropy_reduction": 2}]
)
def test_what_is_no_report_is_refused(change):
    facts = written(full())
    facts["columns"][0] |= change
    assert not VALIDATOR.is_valid(facts)
