"""Attack a model file, and see what becomes of each of many mutants when it is loaded.

    python -m benchmarks.models.hostile MODEL [--load MODULE:FUNCTION] [--most N] [--seed N]

FUNCTION is given the path of a mutant; it should load the model and use it, too. Each call is a
process of its own, forked, with a limit on time and memory; what MODULE imports is imported before.
Prints how they ended:

    refused     an error of ours, exit code 1, in one printable line, and no other output
    accepted    no error: the mutant is as good as another model, which only its answers show
    unclear     an error of ours in several lines, or with control characters or further output
    error       any other exception: a traceback for the user
    signal      the process was killed by a fault of its own
    hang        it took longer than --seconds
    memory      it took more than the file's size and 100 MB
    ran code    it started a process, unpickled something or opened a connection

Ends with 1 unless all were refused or accepted. `--keep DIR` keeps the others there.
"""

import argparse
import gc
import hashlib
import io
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from cfl_cli import models as safe_file
from cfl_cli.core.settings import METHODS
from cfl_cli.errors import CflError, ExitCode
from cfl_cli.models import CHECKSUM, MOST_VALUES, TYPES, Content, text_of

Array: TypeAlias = npt.NDArray[Any]
Alter: TypeAlias = Callable[[Array, random.Random], Array | None]

ODD_FACTS: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**62, -(2**62), -0.5, 0.5, 1e308, -1e308, 5e-324),
    *("", "x", "\x1b[2J", "é" * 10_000, [], {}, [[]], [None], [0] * 10_000, {"x": 1}),
)
ODD_FLOATS = (np.nan, np.inf, -np.inf, -1.0, 2.0, 1e38, -1e38, 1e-38)
SCHEMAS = {
    "empty": "",
    "a list": "[]",
    "an alias": "a: &a [x, x]\nb: [*a, *a]\n",
    "a tag": "!!python/object/apply:os.system ['true']\n",
    "nested": "[" * 20_000,
    "a control character": "version: 1\x1b[2J\n",
    "another version": "version: 2\n",
    "no columns": "version: 1\ncolumns: {}\n",
}
REPORTS = {
    "no JSON": "x",
    "empty": "{}",
    "nested": '{"a":' * 5000 + "1" + "}" * 5000,
    "many values": '{"a":[' + "{}," * 500_000 + "1]}",
    "NaN": '{"version": NaN}',
    "no text": "\x00",
}


@dataclass(frozen=True)
class Mutant:
    """A file that is not what was fitted."""

    kind: str
    what: str
    data: bytes


Make: TypeAlias = Callable[[], Mutant]


def mutants(data: bytes, *, most: int, seed: int = 0) -> Iterator[Mutant]:
    """Yield what becomes of a file, at most so many of each kind, drawn by the seed."""
    rng = random.Random(seed)
    model = _Model(data)
    for kind, makes in (
        ("cut in the header", model.cuts(range(model.start))),
        ("cut behind the header", model.cuts(_some(range(model.start, len(data)), most, rng))),
        ("byte flipped", model.flips(_some(range(len(data)), most, rng), repair=False)),
        ("byte flipped, repaired", model.flips(_some(range(len(data) - 32), most, rng))),
        ("header", model.headers()),
        ("arrays' names", model.names()),
        ("arrays' types and shapes", model.shapes(rng)),
        ("arrays' values", model.values(rng)),
        ("facts", model.facts()),
        ("texts", model.texts()),
        ("texts that grow when read", model.heavy()),
    ):
        for what, make in _some(list(makes), most, rng):
            yield Mutant(kind, what, make())


def _some(choices: Any, most: int, rng: random.Random) -> list[Any]:
    return list(choices) if len(choices) <= most else rng.sample(choices, most)


Named: TypeAlias = Iterator[tuple[str, Callable[[], bytes]]]


class _Model:
    """A file, taken apart."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.start = 8 + int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8 : self.start])
        self.said = json.loads(self.header["__metadata__"]["cfl"])
        layout = ("arrays", "format", "written_by")
        self.about = {name: fact for name, fact in self.said.items() if name not in layout}
        self.arrays: dict[str, Array] = {}
        for name, entry in self.header.items():
            if name not in {"__metadata__", CHECKSUM}:
                first, end = (self.start + place for place in entry["data_offsets"])
                flat = np.frombuffer(data[first:end], TYPES[entry["dtype"]])
                self.arrays[name] = flat.reshape(entry["shape"])

    def cuts(self, places: Any) -> Named:
        for place in places:
            yield f"at {place}", partial(_first, self.data, place)

    def flips(self, places: Any, *, repair: bool = True) -> Named:
        for place in places:
            yield f"at {place}", partial(_flipped, self.data, place, repair)

    def headers(self) -> Named:
        text = text_of(self.header)
        name, entry = next(item for item in self.header.items() if item[0] in self.arrays)
        for what, header in {
            "empty": "",
            "an empty mapping": "{}",
            "a list": "[]",
            "nested": text[:-1] + ',"z":' + "[" * 60_000 + "]" * 60_000 + "}",
            "a key twice": text[:-1] + f',"{name}":{json.dumps(entry)}' + "}",
            "NaN": text[:-1] + ',"z":NaN}',
            "a huge number": text[:-1] + ',"z":' + "9" * 10_000 + "}",
            "half a character": text[:-1] + ',"\\ud800":1}',
            "many arrays": text[:-1] + "".join(f',"z{n}":[]' for n in range(300_000)) + "}",
            "spaces": text + " " * (8 << 20),
            "indented": json.dumps(self.header, indent=1),
            "no facts": text_of(self.header | {"__metadata__": {}}),
            "facts that are no text": text_of(self.header | {"__metadata__": {"cfl": 1}}),
            "facts that are no JSON": text_of(self.header | {"__metadata__": {"cfl": "x"}}),
            "no checksum": text_of({k: v for k, v in self.header.items() if k[0] != "~"}),
        }.items():
            yield what, partial(self._with_header, header)
        for what, change in {
            "huge": {"shape": [2**62, 2**62, 4]},
            "nothing, but wide": {"shape": [0, 2**40]},
            "negative": {"shape": [-1, -1]},
            "many axes": {"shape": [1] * 70},
            "a fraction": {"shape": [1.5]},
            "BF16": {"dtype": "BF16"},
            "F16": {"dtype": "F16"},
            "another place": {"data_offsets": [0, 0]},
            "beyond the end": {"data_offsets": [2**60, 2**61]},
            "a surplus field": {"z": 1},
        }.items():
            altered = text_of(self.header | {name: entry | change})
            yield f"array {what}", partial(self._with_header, altered)
        for what, facts in {"format 2": {"format": 2}, "format -1": {"format": -1}}.items():
            text = text_of(self.header | {"__metadata__": {"cfl": text_of(self.said | facts)}})
            yield what, partial(self._with_header, text)

    def names(self) -> Named:
        for name, array in self.arrays.items():
            others = {other: self.arrays[other] for other in self.arrays if other != name}
            yield f"without {name}", partial(_written, self.about, others)
            yield f"{name} twice", partial(_written, self.about, self.arrays | {f"{name}2": array})
            yield f"{name} deeper", partial(_written, self.about, others | {f"{name}/x": array})
            for other in list(others)[:3]:
                swapped = self.arrays | {name: self.arrays[other], other: array}
                yield f"{name} and {other}", partial(_written, self.about, swapped)

    def shapes(self, rng: random.Random) -> Named:
        yield from self._altered(SHAPES, rng)

    def values(self, rng: random.Random) -> Named:
        yield from self._altered(VALUES, rng)

    def _altered(self, alterations: Mapping[str, Alter], rng: random.Random) -> Named:
        for name, array in self.arrays.items():
            for what, alter in alterations.items():
                with np.errstate(all="ignore"):
                    other = alter(array, rng)
                if other is not None and not name.startswith("text/"):
                    changed = self.arrays | {name: other}
                    yield f"{name}: {what}", partial(_written, self.about, changed)

    def facts(self) -> Named:
        facts = json.loads(self.arrays["text/facts"].tobytes())
        for path in _paths(facts):
            for odd in (*ODD_FACTS, _GONE, _SURPLUS):
                what = f"{'.'.join(map(str, path))} = {str(odd)[:20]!r}"
                yield what, partial(self._with_fact, facts, path, odd)
        for method in METHODS:
            yield (
                f"method {method}",
                partial(_written, self.about | {"method": method}, self.arrays),
            )

    def texts(self) -> Named:
        schema, report = (
            self.arrays[f"text/{name}"].tobytes().decode() for name in ("schema", "report")
        )
        schemas = SCHEMAS | {f"cut at {n}/8": schema[: n * len(schema) // 8] for n in range(1, 8)}
        words = sorted(set(schema.replace(",", " ").replace("]", " ").split()))
        schemas |= {f"without {word!r}": schema.replace(word, "", 1) for word in words}
        schemas |= {f"{word!r} twice": schema.replace(word, f"{word} {word}", 1) for word in words}
        reports = REPORTS | {f"cut at {n}/8": report[: n * len(report) // 8] for n in range(1, 8)}
        for name, texts in {"schema": schemas, "report": reports}.items():
            for what, text in texts.items():
                yield f"{name}: {what}", partial(self._with_text, name, text)
            broken = self.arrays | {f"text/{name}": np.full(9, 0xFF, np.uint8)}
            yield f"{name}: no UTF-8", partial(_written, self.about, broken)

    def heavy(self) -> Named:
        """Yield files whose texts take most memory for their length, as long as they may be."""
        facts = json.loads(self.arrays["text/facts"].tobytes())
        hollow: list[Any] = [{}] * (MOST_VALUES // 2 - 2000)
        wide = "x" * (3 << 20) + "\U0001f600"  # so that each sign takes four bytes
        full = text_of(facts | {"more": {"a": hollow, "b": wide}})
        yield "a text with wide signs", partial(self._with_text, "facts", full)
        yield "the same as report", partial(self._with_text, "report", full)
        keys = {f"k{number}": 0.5 for number in range(MOST_VALUES - 2000)}
        many = text_of(facts | {"more": keys})
        yield "many keys", partial(self._with_text, "facts", many)
        arrays = {f"fitted/z{number}": np.zeros(0) for number in range(10_000)}
        yield "many arrays", partial(_written, self.about, self.arrays | arrays)
        said = self.about | {"z": wide}
        yield "a long header", partial(_written, said, self.arrays)

    def _with_text(self, name: str, text: str) -> bytes:
        array = np.frombuffer(text.encode(), np.uint8)
        return _written(self.about, self.arrays | {f"text/{name}": array})

    def _with_header(self, text: str) -> bytes:
        header = text.encode()
        header += b" " * (-(8 + len(header)) % 64)
        return _repaired(len(header).to_bytes(8, "little") + header + self.data[self.start :])

    def _with_fact(self, facts: Any, path: tuple[Any, ...], odd: object) -> bytes:
        facts = deepcopy(facts)
        place = facts
        for step in path[:-1]:
            place = place[step]
        if odd is _GONE:
            del place[path[-1]]
        elif odd is _SURPLUS and isinstance(place, dict):
            place["zz"] = 1
        elif odd is _SURPLUS:
            place.append(place[-1])
        else:
            place[path[-1]] = odd
        return self._with_text("facts", text_of(facts))


_GONE, _SURPLUS = object(), object()


def _paths(facts: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from _paths(value, (*path, key))


def _first(data: bytes, place: int) -> bytes:
    return data[:place]


def _flipped(data: bytes, place: int, repair: bool) -> bytes:
    made = data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
    return _repaired(made) if repair else made


def _repaired(data: bytes) -> bytes:
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def _written(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    file = io.BytesIO()
    safe_file.write(file, facts, arrays)
    return file.getvalue()


def _with_item(place: str, value: Any, array: Array, rng: random.Random) -> Array | None:
    """Return an array with one item changed; None if it cannot hold such a value."""
    if not array.size:
        return None
    at = {"first": 0, "last": array.size - 1, "some": rng.randrange(array.size)}[place]
    if callable(value):
        value = value(array, at)
    if array.dtype.kind != "f":
        if isinstance(value, float):
            return None
        limits = np.iinfo(array.dtype)
        value = min(max(value, limits.min), limits.max)
    made = array.copy()
    made.reshape(-1)[at] = value
    return made


def _own_place(array: Array, at: int) -> int:
    return at // (array.shape[-1] if array.ndim > 1 else 1)


def _rows(array: Array, _: random.Random, *, change: Callable[[Array], Array]) -> Array | None:
    return change(array) if array.ndim and len(array) else None


def _shuffled(array: Array, rng: random.Random) -> Array:
    flat = array.reshape(-1)
    return flat[rng.sample(range(flat.size), flat.size)].reshape(array.shape)


def _as(kind: str, array: Array, _: random.Random) -> Array | None:
    return None if array.dtype == np.dtype(kind) else array.astype(kind)


def _seen_as(kind: str, array: Array, _: random.Random) -> Array | None:
    other = np.dtype(kind)
    same = array.dtype.itemsize == other.itemsize and array.dtype != other
    return array.view(other) if same else None


SHAPES: dict[str, Alter] = {
    "flat": lambda array, _: array.reshape(-1) if array.ndim != 1 else None,
    "transposed": lambda array, _: array.T if array.ndim > 1 else None,
    "an axis more": lambda array, _: array[..., None],
    "one row fewer": partial(_rows, change=lambda array: array[:-1]),
    "one row more": partial(_rows, change=lambda array: np.concatenate([array, array[-1:]])),
    "no rows": partial(_rows, change=lambda array: array[:0]),
    "twice": partial(_rows, change=lambda array: np.concatenate([array, array])),
    "half": partial(_rows, change=lambda array: array[: len(array) // 2]),
    "one column fewer": lambda array, _: array[..., :-1] if array.ndim > 1 else None,
    "one number": lambda array, _: array.reshape(-1)[0] if array.size else None,
    **{f"as {kind}": partial(_as, kind) for kind in ("f8", "f4", "i8", "i4", "u1")},
    **{f"seen as {kind}": partial(_seen_as, kind) for kind in ("f8", "f4", "i8", "i4")},
}
WHOLE: tuple[Any, ...] = (-1, 0, 1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 255)
VALUES: dict[str, Alter] = {
    **{
        f"{place} is {value}": partial(_with_item, place, value)
        for place in ("first", "last", "some")
        for value in (*ODD_FLOATS, *WHOLE)
    },
    "refers to itself": partial(_with_item, "some", _own_place),
    "first refers to itself": partial(_with_item, "first", _own_place),
    "goes back by one": partial(_with_item, "last", lambda array, at: _own_place(array, at) - 1),
    "beyond by one": partial(_with_item, "last", lambda array, _: len(array) if array.ndim else 1),
    "all 0": lambda array, _: np.zeros_like(array),
    "all 1": lambda array, _: np.ones_like(array),
    "all the largest": lambda array, _: np.full_like(array, _largest(array)),
    "all NaN": lambda array, _: np.full_like(array, np.nan) if array.dtype.kind == "f" else None,
    "all the first": lambda array, _: np.full_like(array, array.flat[0]) if array.size else None,
    "reversed": lambda array, _: array.reshape(-1)[::-1].reshape(array.shape),
    "shuffled": _shuffled,
    "negated": lambda array, _: -array if array.dtype.kind != "u" else None,
    "counted": lambda array, _: np.arange(array.size).astype(array.dtype).reshape(array.shape),
}


def _largest(array: Array) -> Any:
    kind = array.dtype
    return np.finfo(kind).max if kind.kind == "f" else np.iinfo(kind).max


OUTCOMES = ("refused", "accepted", "unclear", "error", "signal", "hang", "memory", "ran code")
FINE = ("refused", "accepted")
MORE_MEMORY = 100 << 20  # beyond the file's size
RUNS_CODE = {
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class"),
    "socket.connect",
}
SHOWN = 30


@dataclass(frozen=True)
class Ending:
    """How the loading of one file ended."""

    outcome: str
    said: str = ""
    seconds: float = 0.0
    grown: int = 0  # bytes of memory


def read(path: Path) -> None:
    Content.read(path)


def attempt(load: Callable[[Path], Any], path: Path, *, seconds: float) -> Ending:
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(load, path, writer, seconds)
    os.close(writer)
    answer = b""
    while select.select([reader], [], [], max(0.0, began + seconds - time.monotonic()))[0]:
        if not (piece := os.read(reader, 1 << 16)):
            break
        answer += piece
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    lasted = time.monotonic() - began
    if lasted >= seconds:
        return Ending("hang", f"more than {seconds:g} s", lasted)
    if os.WIFSIGNALED(status):
        return Ending("signal", signal.Signals(os.WTERMSIG(status)).name, lasted)
    if not answer:
        return Ending("signal", f"ended with {os.waitstatus_to_exitcode(status)}", lasted)
    found = json.loads(answer)
    if found["outcome"] in FINE and found["grown"] > path.stat().st_size + MORE_MEMORY:
        found["outcome"] = "memory"
    return Ending(**found, seconds=lasted)


def _in_child(load: Callable[[Path], Any], path: Path, writer: int, seconds: float) -> NoReturn:
    before = _memory("VmRSS")
    limit = _memory("VmSize") + 4 * path.stat().st_size + (2 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ran: list[str] = []
    sys.addaudithook(lambda event, _: ran.append(event) if event in RUNS_CODE else None)
    with tempfile.TemporaryFile() as output:
        for handle in (1, 2):
            os.dup2(output.fileno(), handle)
        outcome, said = _outcome(load, path)
        sys.stdout.flush()
        sys.stderr.flush()
        output.seek(0)
        noise = output.read(200).decode(errors="replace")
    if noise and outcome == "refused":
        outcome, said = "unclear", f"{said}; printed {noise!r}"
    if ran:
        outcome, said = "ran code", ran[0]
    grown = max(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)
    os.write(writer, json.dumps({"outcome": outcome, "said": said, "grown": grown}).encode())
    os._exit(0)


def _outcome(load: Callable[[Path], Any], path: Path) -> tuple[str, str]:
    try:
        load(path)
    except CflError as error:
        said = str(error)
        clear = error.exit_code is ExitCode.WRONG_INPUT and said.isprintable()
        return "refused" if clear else "unclear", said.removeprefix(f"{path}: ")[:300]
    except MemoryError:
        return "memory", "MemoryError"
    except BaseException as error:  # noqa: BLE001 — whatever a user would see as a traceback
        return "error", f"{type(error).__name__}: {error}"[:300]
    return "accepted", ""


def _memory(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


def campaign(
    load: Callable[[Path], Any],
    attackers: Iterable[Mutant],
    folder: Path,
    *,
    seconds: float,
    keep: Path | None = None,
) -> dict[str, list[tuple[Mutant, Ending]]]:
    endings = defaultdict(list)
    path = folder / "model.cfl"
    for number, mutant in enumerate(attackers):
        path.write_bytes(mutant.data)
        ending = attempt(load, path, seconds=seconds)
        if ending.outcome not in FINE and keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{number}.cfl").write_bytes(mutant.data)
        bare = Mutant(mutant.kind, mutant.what, b"")
        endings[mutant.kind].append((bare, ending))
    return endings


def table(endings: dict[str, list[tuple[Mutant, Ending]]]) -> str:
    lines = [
        f"| mutants | n | {' | '.join(OUTCOMES)} | slowest | memory |",
        f"| --- |{' ---: |' * (len(OUTCOMES) + 3)}",
    ]
    everything = [one for those in endings.values() for one in those]
    for kind, those in [*endings.items(), ("all", everything)]:
        counts = Counter(ending.outcome for _, ending in those)
        numbers = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        slowest = max(ending.seconds for _, ending in those)
        most = max(ending.grown for _, ending in those) / 2**20
        lines.append(f"| {kind} | {len(those)} | {numbers} | {slowest:.2f} s | {most:.0f} MB |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Attack a model file.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--load", default="benchmarks.models.hostile:read")
    parser.add_argument("--most", type=int, default=200, help="mutants of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--keep", type=Path, help="folder for mutants that ended badly")
    parser.add_argument("--accepted", action="store_true", help="list the accepted ones, too")
    asked = parser.parse_args()
    module, _, name = asked.load.partition(":")
    load: Any = import_module(module)
    for part in name.split("."):
        load = getattr(load, part)
    unharmed = attempt(load, asked.model, seconds=60.0)
    print(f"{asked.model.name}, {asked.model.stat().st_size:,} bytes; unharmed: {unharmed}\n")
    if unharmed.outcome != "accepted":
        sys.exit("the model itself cannot be loaded")
    attackers = mutants(asked.model.read_bytes(), most=asked.most, seed=asked.seed)
    gc.freeze()  # so that a child does not copy what it shares with this process
    with tempfile.TemporaryDirectory(prefix="cfl-hostile-") as folder:
        endings = campaign(load, attackers, Path(folder), seconds=asked.seconds, keep=asked.keep)
    print(table(endings))
    everything = [one for those in endings.values() for one in those]
    bad = [one for one in everything if one[1].outcome not in FINE]
    listed = [one for one in everything if asked.accepted and one[1].outcome == "accepted"]
    for mutant, ending in [*bad[:SHOWN], *listed]:
        print(f"{ending.outcome}: {mutant.kind}, {mutant.what}: {ending.said}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
