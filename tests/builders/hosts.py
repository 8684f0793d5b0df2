"""A scheduler with workers of this host and of another: one that does not see a folder.

The other host is this one with its own mounts: an empty file system over the folder, and another
identity of the kernel.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

TESTS = Path(__file__).parents[1]
BOOT = "/proc/sys/kernel/random/boot_id"
MOUNTS = f'mount -t tmpfs none "$1" && mount --bind "$2" {BOOT} && shift 2 && exec "$@"'
ELSEWHERE = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, "sh"]


def can_pretend(folder: Path) -> bool:
    """Return whether processes may have mounts of their own here."""
    if shutil.which("unshare") is None:
        return False
    (folder / "boot").write_text("another-kernel")
    (folder / "mounted").mkdir()
    tried = [*ELSEWHERE, folder / "mounted", folder / "boot", "cat", BOOT]
    done = subprocess.run(tried, capture_output=True, check=False)
    return done.returncode == 0 and done.stdout == b"another-kernel"


@dataclass
class Hosts:
    """The scheduler, and workers by their names."""

    folder: Path  # of certificates and the like
    hidden: Path  # what the other host does not see
    tls: dict[str, str]  # for Dask's configuration
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Return that of the scheduler."""
        found: str = json.loads((self.folder / "scheduler.json").read_text())["address"]
        return found

    def start(self, name: str, *command: str | Path, elsewhere: bool = False) -> None:
        """Start a process of Dask."""
        before = [*ELSEWHERE, self.hidden, self.folder / "boot"] if elsewhere else []
        names = {
            f"DASK_{key.replace('.', '__').replace('-', '_').upper()}": value
            for key, value in self.tls.items()
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*before, sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:]],
                env=os.environ | names | {"PYTHONPATH": str(TESTS)},
                cwd=self.folder,
                stderr=log,
                stdout=subprocess.DEVNULL,
            )

    def start_worker(self, name: str, *, elsewhere: bool) -> None:
        """Start a worker with one thread, which nobody replaces if it dies."""
        file, own = self.folder / "scheduler.json", self.folder / name
        flags = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name]
        paths = ["--scheduler-file", file, "--local-directory", own]
        self.start(name, "dask_worker", *flags, *paths, elsewhere=elsewhere)


@contextmanager
def hosts(folder: Path) -> Iterator[Hosts]:
    """Give a scheduler that talks by TLS and has no workers yet; all end with the block."""
    from distributed import Security  # noqa: PLC0415 — an extra

    keys = Security.temporary()
    pem = {"ca": keys.tls_ca_file, "cert": keys.tls_client_cert, "key": keys.tls_client_key}
    for name, text in pem.items():
        (folder / f"{name}.pem").write_text(text)
    roles = [
        f"{role}.{kind}" for role in ("client", "worker", "scheduler") for kind in ("cert", "key")
    ]
    files = {"ca-file": "ca", **{role: role.partition(".")[2] for role in roles}}
    tls = {
        f"distributed.comm.tls.{key}": str(folder / f"{name}.pem") for key, name in files.items()
    }
    hidden = folder / "home"
    hidden.mkdir()
    made = Hosts(folder, hidden, tls)
    flags = ["--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    try:
        made.start(
            "scheduler", "dask_scheduler", *flags, "--scheduler-file", folder / "scheduler.json"
        )
        wait_for((folder / "scheduler.json").exists)
        yield made
    finally:
        for process in made.processes.values():
            process.kill()
        for process in made.processes.values():
            process.wait()


def wait_for(fact, seconds: float = 60.0) -> None:
    """Return when something is so."""
    end = monotonic() + seconds
    while not fact():
        assert monotonic() < end
        sleep(0.05)
