"""Memory is measured in the units that the names promise."""

import builtins
import sys
from pathlib import Path

import pytest

from cfl_cli.core.budget import available, peak_mb


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="Linux counts it there")
def test_available_memory_is_what_the_system_counts_in_bytes():
    [total] = [
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemTotal:")
    ]
    assert available() == pytest.approx(total * 1024, rel=0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="not known there")
def test_a_process_that_may_use_less_has_less(monkeypatch):
    import resource  # noqa: PLC0415 — Unix only

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 31))
    assert available() == 1 << 30


@pytest.mark.skipif(sys.platform == "win32", reason="not known there")
def test_the_peak_is_in_megabytes_and_does_not_fall():
    before = peak_mb()
    block = bytearray(80_000_000)
    during = peak_mb()
    del block
    assert 1 < before <= during <= peak_mb() < available() / 1e6
    assert during >= 80


def test_the_peak_is_not_known_without_the_module_that_counts_it(monkeypatch):
    original = builtins.__import__

    def without_resource(name, *args, **kwargs):
        if name == "resource":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_resource)
    assert peak_mb() is None
    assert available() > 0
