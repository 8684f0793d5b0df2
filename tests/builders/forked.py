"""Run `cfl` in processes of their own that are forked when everything is imported.

Streams, signals, limits and exit codes are those of a real process; only the second that importing
takes is saved. What a process makes of a stream that is closed when Python starts, of its
environment or of Ctrl-C while it loads needs a new Python instead.

    python forked.py SOCKET

A request is a line of JSON, with three descriptors beside it: standard input, output and error. The
answers are the number of the process, and when it ended its exit code.
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LONGEST = 60_000  # of an input: what a pipe holds, so that nobody has to wait


class Run:
    def __init__(self, answers: socket.socket) -> None:
        self.answers = answers.makefile("r")
        self.pid = int(self.answers.readline())
        answers.close()

    def send_signal(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def wait(self) -> int:
        with self.answers:
            return int(self.answers.readline())


class Forked:
    """The process that has everything imported, and from which runs are forked."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given = [sys.executable, __file__, str(theirs.fileno())]
        with theirs:
            self.server = subprocess.Popen(
                given,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self.requests = ours

    def close(self) -> None:
        self.requests.close()
        self.server.wait()

    def start(self, *arguments: Any, streams: list[int], file_size: int | None = None) -> Run:
        ours, theirs = socket.socketpair()
        request = {
            "arguments": [str(part) for part in arguments],
            "folder": str(Path.cwd()),
            "file_size": file_size,
        }
        with theirs:
            given = [*streams, theirs.fileno()]
            socket.send_fds(self.requests, [json.dumps(request).encode()], given)
        return Run(ours)

    def run(
        self, *arguments: Any, stdin: Any = b"", stdout: Any = None, file_size: int | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        read_end, write_end = os.pipe()
        out_end, their_out = os.pipe()
        if isinstance(stdin, bytes):
            assert len(stdin) <= LONGEST
            os.write(write_end, stdin)
        os.close(write_end)
        given = read_end if isinstance(stdin, bytes) else stdin.fileno()
        taken = their_out if stdout is None else stdout.fileno()
        with tempfile.TemporaryFile() as said:
            run = self.start(*arguments, streams=[given, taken, said.fileno()], file_size=file_size)
            os.close(read_end)
            os.close(their_out)
            with os.fdopen(out_end, "rb") as output:
                written = output.read()
            code = run.wait()
            said.seek(0)
            return subprocess.CompletedProcess(arguments, code, written, said.read())


def serve(requests: socket.socket) -> dict[str, Any]:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, handed, *_ = socket.recv_fds(requests, LONGEST, 4)
        if not message:
            sys.exit()
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _watched(json.loads(message), handed)
        for number in handed:
            os.close(number)


def _watched(request: dict[str, Any], handed: list[int]) -> dict[str, Any]:
    """Return the request in the run's process; the one that watches it never returns."""
    *streams, answers = handed
    child = os.fork()
    if child:
        for number in streams:
            os.close(number)
        os.write(answers, f"{child}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.write(answers, f"{code}\n".encode())
        finally:
            os._exit(0)
    os.close(answers)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115 — as Python does
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115 — the same
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115 — the same
        2, "w", closefd=False, buffering=1, errors="backslashreplace"
    )
    return request


if __name__ == "__main__":
    import portable
    from faulty import cfl

    from cfl_cli.__main__ import main

    cfl()
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(asked["folder"])
    if asked["file_size"] is not None:
        resource: Any = portable.KEPT.get("resource") or importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_size"],) * 2)
    sys.argv = ["cfl", *asked["arguments"]]
    main()
