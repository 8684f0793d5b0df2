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
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.models.mutations import Mutant, mutants
from cfl_cli.errors import CflError, ExitCode
from cfl_cli.models import Content

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
