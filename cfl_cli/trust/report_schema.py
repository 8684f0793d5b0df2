"""The JSON Schema of a report: generated from its dataclasses, whose comments are descriptions.

It describes the reports that this version writes. Older ones lack the fields that came later.
"""

import inspect
import io
import tokenize
from dataclasses import fields, is_dataclass
from typing import Any, get_args

from pydantic import TypeAdapter

from cfl_cli.trust import REASONS
from cfl_cli.trust.report import ADVICE, CHECKSUM, ColumnReport, Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ID = "urn:cfl:report:{version}"  # {version}: of a report, which is its `version` too
OPTIONAL = {"metric", "writing"}  # fields that a report leaves out where they say nothing


def json_schema() -> dict[str, Any]:
    found = TypeAdapter(Report).json_schema(mode="serialization")
    known = _dataclasses(Report)
    for name, schema in (("Report", found), *found["$defs"].items()):
        comments = _comments(known[name])
        for field, facts in schema["properties"].items():
            facts.pop("title", None)
            facts.pop("default", None)
            if field in comments:
                facts["description"] = comments[field].replace("None", "null")
        schema["required"] = [one for one in schema["properties"] if one not in OPTIONAL]
    version = Report.version
    found["properties"]["version"] = {"const": version}
    found["properties"][CHECKSUM] = {
        "type": "string",
        "description": "SHA-256 of all else in the report",
    }
    columns = found["$defs"][ColumnReport.__name__]["properties"]
    columns["reasons"]["items"] = _codes(REASONS)
    columns["flags"]["items"] = _codes(ADVICE)
    return {"$schema": DIALECT, "$id": ID.format(version=version), **found}


def _codes(meanings: dict[str, str]) -> dict[str, Any]:
    """Return the schema of a code; a later version may have others."""
    return {
        "type": "string",
        "examples": [*meanings],
        "description": "; ".join(f"{code}: {meaning}" for code, meaning in meanings.items()),
    }


def _dataclasses(of: Any) -> dict[str, type]:
    """Return the dataclasses that a type is made of, by their names."""
    found: dict[str, type] = {}
    if isinstance(of, type) and is_dataclass(of):
        found[of.__name__] = of
        parts = [one.type for one in fields(of)]
    else:
        parts = [*get_args(of)]
    for part in parts:
        found |= _dataclasses(part)
    return found


def _comments(of: type) -> dict[str, str]:
    """Return the comment of each field: that above it, then that behind it."""
    found: dict[str, list[str]] = {}
    above: list[str] = []
    field, begins = None, True
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(of)).readline):
        match token.type:
            case tokenize.COMMENT if begins:
                above.append(token.string[1:].strip())
            case tokenize.COMMENT if field is not None:
                found[field].append(token.string[1:].strip())
            case tokenize.NAME if begins:
                field = token.string
                found[field], above, begins = above, [], False
            case tokenize.NEWLINE:
                field, above, begins = None, [], True
            case tokenize.NL:
                above = above if token.line.strip() else []
            case tokenize.INDENT | tokenize.DEDENT:
                pass
            case _:
                begins = False
    return {name: " ".join(lines) for name, lines in found.items() if lines}
