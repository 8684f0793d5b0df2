"""Memory is measured in the units that the names promise, and limited by whoever allows least."""

import builtins
import sys
from pathlib import Path

import pytest

from cfl_cli.core import process
from cfl_cli.core.process import ControlGroup, allowance, available, limit_of, peak_mb

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not known there")


@pytest.fixture
def unlimited(monkeypatch):
    """Take all limits away that the tests may run under."""
    monkeypatch.setattr(process, "own_groups", list)
    monkeypatch.setattr(process, "limit_of", lambda _: None)


@pytest.fixture
def group(tmp_path):
    """Return a group of control with a limit of 1 GB."""
    (tmp_path / "memory.max").write_text("1000000000\n")
    return ControlGroup(tmp_path)


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="Linux counts it there")
@pytest.mark.usefixtures("unlimited")
def test_available_memory_is_what_the_system_counts_in_bytes():
    [total] = [
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemTotal:")
    ]
    assert available() == pytest.approx(total * 1024, rel=0.01)
    assert allowance().whose == "this machine"


@pytest.mark.usefixtures("unlimited")
def test_a_container_allows_less_than_the_machine(monkeypatch, group):
    monkeypatch.setattr(process, "own_groups", lambda: [group])
    assert (available(), allowance().whose) == (10**9, "its container or control group")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux counts it there")
@pytest.mark.usefixtures("unlimited")
def test_what_others_of_the_group_hold_is_not_available(monkeypatch, group):
    status = Path("/proc/self/status").read_text().splitlines()
    [own] = [1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon")]
    (group.folder / "memory.stat").write_text(f"anon {own + 300_000_000}\nfile 900000000\n")
    monkeypatch.setattr(process, "own_groups", lambda: [group])
    assert available() == pytest.approx(700_000_000, abs=50_000_000)
    assert allowance().limit == 10**9


@pytest.mark.parametrize(("name", "whose"), [("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")])
@pytest.mark.usefixtures("unlimited")
def test_a_process_that_may_use_less_has_less(monkeypatch, name, whose):
    monkeypatch.setattr(process, "limit_of", {name: 1 << 31}.get)
    found = allowance()
    assert found.whose == f"ulimit {whose}"
    assert found.limit == 1 << 31
    assert found.size < found.limit  # packages and threads reserve some of it


def test_limits_are_read_from_the_system(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 31))
    assert limit_of("RLIMIT_AS") == 1 << 30
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, 1 << 31))
    assert limit_of("RLIMIT_AS") is None


def test_the_peak_is_in_megabytes_and_does_not_fall():
    before = peak_mb()
    block = bytearray(80_000_000)
    during = peak_mb()
    del block
    assert 1 < before <= during <= peak_mb() + 1  # threads add what they hold now and then
    assert during >= 80


def test_the_peak_is_not_known_where_nothing_counts_it(monkeypatch):
    original = builtins.__import__

    def without_resource(name, *args, **kwargs):
        if name == "resource":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_resource)
    monkeypatch.setattr(process, "PROC", Path("nowhere"))
    assert peak_mb() is None
    assert limit_of("RLIMIT_AS") is None
    assert available() > 0
