"""The public door: what `from cfl_cli import …` offers is a promise."""

import inspect

import cfl_cli

PUBLIC = {
    "CflError": [],
    "DataError": [],
    "Evaluation": ["rows", "columns", "warnings"],
    "Masked": ["frame", "warnings"],
    "Model": None,
    "Report": None,
    "ResourceError": [],
    "Result": ["frame", "confidences", "report", "suspects", "model"],
    "RunSettings": None,
    "Schema": None,
    "SchemaError": [],
    "Settings": None,
    "UsageError": [],
    "evaluate": ["frame", "true", "schema", "name", "true_name"],
    "fit": ["frame", "schema", "name", "progress", "jobs", "max_memory", "settings"],
    "impute": [
        *("frame", "schema", "name", "progress", "jobs", "max_memory"),
        *("keep_model", "settings"),
    ],
    "mask": ["frame", "schema", "exclusions", "exact_share", "empty_share", "seed", "name"],
}


def test_the_door_offers_these_names_and_no_others():
    assert {*cfl_cli.__all__} == {*PUBLIC, "__version__"}
    assert all(getattr(cfl_cli, name) is not None for name in cfl_cli.__all__)


def test_what_is_behind_the_door_takes_what_it_always_took():
    for name, parameters in PUBLIC.items():
        if parameters:
            assert [*inspect.signature(getattr(cfl_cli, name)).parameters] == parameters


def test_an_unknown_name_is_refused_as_python_does():
    assert not hasattr(cfl_cli, "imputation")
