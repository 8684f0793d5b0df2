"""A small model, and what can be done to its bytes."""

import hashlib
import json
from dataclasses import replace

import numpy as np

from cfl_cli.core.state import State
from cfl_cli.models import Content

SCHEMA = "version: 1\ncolumns:\n  job: {role: complementary, values: [a, b, é]}\n"


def content(**changes):
    graph = State(
        {"points": np.array([[1, 2.5], [3, 4]], "f4"), "near": np.array([[1], [0]])},
        {"k": 1, "share": 0.1},
    )
    state = State(
        {"shares": np.array([0.2, 0.3, 0.5]), "sizes": np.array([3], "i4")},
        {"names": ["a", "é"]},
        {"graph": graph},
    )
    made = Content(
        method="commonest",
        settings={"k": 1, "gamma": None},
        schema=SCHEMA,
        encoding={"median": 0.1 + 0.2},
        fitted=state,
        report='{\n  "version": 1\n}',
        more={"powers": [1.5, None]},
        versions={"cfl": "0.1.0", "numpy": "2.0.0"},
    )
    return replace(made, **changes)


def repaired(data):
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def with_header(data, header):
    if not isinstance(header, bytes):
        header = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % 64)
    old = int.from_bytes(data[:8], "little")
    return repaired(len(header).to_bytes(8, "little") + header + data[8 + old :])


def header_of(data):
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header, json.loads(header["__metadata__"]["cfl"])


def with_facts(data, facts):
    header, _ = header_of(data)
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return with_header(data, {**header, "__metadata__": {"cfl": text}})
