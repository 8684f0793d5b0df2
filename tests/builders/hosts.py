"""A scheduler with workers of this host and of another: one that does not see a folder.

The other host is this one with its own mounts: an empty file system over the folder, and another
identity of the kernel.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
BOOT = "/proc/sys/kernel/random/boot_id"
MOUNTS = f'mount -t tmpfs none "$1" && mount --bind "$2" {BOOT} && shift 2 && exec "$@"'
ELSEWHERE = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, "sh"]
ROLES = ("client", "worker", "scheduler")


def can_pretend(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    (folder / "boot").write_text("another-kernel")
    tried = [*ELSEWHERE, folder / "home", folder / "boot", "cat", BOOT]
    done = subprocess.run(tried, capture_output=True, check=False)
    return done.returncode == 0 and done.stdout == b"another-kernel"


@dataclass
class Hosts:
    folder: Path  # of certificates and the like
    scheduler: Any
    tls: dict[str, str]  # for Dask's configuration
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def hidden(self) -> Path:
        return self.folder / "home"

    @property
    def address(self) -> str:
        return str(self.scheduler.scheduler_address)

    @property
    def environment(self) -> dict[str, str]:
        named = {key.replace(".", "__").replace("-", "_"): one for key, one in self.tls.items()}
        tls = {f"DASK_{key.upper()}": one for key, one in named.items()}
        return os.environ | tls | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}

    def start(self, name: str, *, elsewhere: bool = False) -> None:
        """Start a worker with one thread, which nobody replaces if it dies."""
        if elsewhere and not can_pretend(self.folder):
            pytest.skip("processes may not have mounts of their own here (unshare --mount)")
        before = [*ELSEWHERE, self.hidden, self.folder / "boot"] if elsewhere else []
        flags = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        flags += ["--local-directory", str(self.folder / name)]
        dask = [*before, sys.executable, "-m", "distributed.cli.dask_worker", self.address, *flags]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(dask, env=self.environment, stderr=log)
        self.scheduler.wait_for_workers(len(self.processes), timeout=60)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()


@contextmanager
def hosts(folder: Path) -> Iterator[Hosts]:
    """Give a scheduler that talks by TLS and has no workers yet; all end with the block."""
    import dask.config
    from distributed import LocalCluster, Security

    keys = Security.temporary()
    pem = {"ca": keys.tls_ca_file, "cert": keys.tls_client_cert, "key": keys.tls_client_key}
    for name, text in pem.items():
        (folder / f"{name}.pem").write_text(text)
    files = {f"{role}.{kind}": kind for role in ROLES for kind in ("cert", "key")} | {
        "ca-file": "ca"
    }
    tls = {
        f"distributed.comm.tls.{key}": str(folder / f"{name}.pem") for key, name in files.items()
    }
    with (
        dask.config.set(tls),
        LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            protocol="tls://",
            dashboard_address="127.0.0.1:0",  # None would be a port that others have
            silence_logs=50,
            security=Security(),
        ) as scheduler,
    ):
        made = Hosts(folder, scheduler, tls)
        made.hidden.mkdir()
        try:
            yield made
        finally:
            for name in [*made.processes]:
                made.kill(name)
