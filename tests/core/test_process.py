"""Memory is limited by whoever allows least; a process leaves nothing half done."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cfl_cli.core import process, system
from cfl_cli.core.process import (
    SIGNALS,
    ControlGroup,
    allowance,
    own_groups,
    peak_mb,
    undisturbed,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not known there")


@pytest.fixture
def unlimited(monkeypatch):
    monkeypatch.setattr(process, "own_groups", list)
    monkeypatch.setattr(system, "limit_of", lambda _: None)


@pytest.mark.unix
@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="Linux counts it there")
@pytest.mark.usefixtures("unlimited")
def test_available_memory_is_what_the_system_counts_in_bytes():
    [total] = [
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemTotal:")
    ]
    assert allowance().size == pytest.approx(total * 1024, rel=0.01)
    assert allowance().whose == "this machine"


@pytest.mark.usefixtures("unlimited")
def test_a_container_allows_less_than_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(process, "own_groups", lambda: [ControlGroup(tmp_path, 10**9, 0)])
    assert (allowance().size, allowance().whose) == (10**9, "its container or control group")


@pytest.mark.unix
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux counts it there")
@pytest.mark.usefixtures("unlimited")
def test_what_others_of_the_group_hold_is_not_available(monkeypatch, tmp_path):
    status = Path("/proc/self/status").read_text().splitlines()
    [own] = [1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon")]
    group = ControlGroup(tmp_path, 10**9, own + 300_000_000)
    monkeypatch.setattr(process, "own_groups", lambda: [group])
    assert allowance().size == pytest.approx(700_000_000, abs=50_000_000)
    assert allowance().limit == 10**9


@pytest.mark.unix
@pytest.mark.parametrize(("name", "whose"), [("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")])
@pytest.mark.usefixtures("unlimited")
def test_a_process_that_may_use_less_has_less(monkeypatch, name, whose):
    monkeypatch.setattr(system, "limit_of", {name: 1 << 31}.get)
    found = allowance()
    assert found.whose == f"ulimit {whose}"
    assert found.limit == 1 << 31
    assert found.size < found.limit  # packages and threads reserve some of it


@pytest.mark.unix
def test_limits_are_read_from_the_system(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 31))
    assert system.limit_of("RLIMIT_AS") == 1 << 30
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, 1 << 31))
    assert system.limit_of("RLIMIT_AS") is None


@pytest.mark.unix
def test_the_peak_is_in_megabytes_and_does_not_fall():
    before = peak_mb()
    block = bytearray(80_000_000)
    during = peak_mb()
    del block
    assert 1 < before <= during <= peak_mb() + 1  # threads add what they hold now and then
    assert during >= 80


def test_the_peak_is_not_known_where_nothing_counts_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(process, "PROC", Path("nowhere"))
    assert peak_mb() is None
    assert system.limit_of("RLIMIT_AS") is None
    assert allowance().size > 0


@pytest.fixture
def linux(tmp_path):
    def write(groups, mounts, **files):
        (tmp_path / "self").mkdir()
        (tmp_path / "self/cgroup").write_text(groups)
        (tmp_path / "self/mountinfo").write_text(mounts.replace("/sys", f"{tmp_path}/sys"))
        for name, content in files.items():
            path = tmp_path / "sys" / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return own_groups(tmp_path)

    return write


V1 = "35 31 0:32 / /sys/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
V2 = "31 23 0:28 / /sys/fs rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"


def test_version_2_limits_by_any_group_around(linux):
    inner, outer, top = linux(
        "0::/pod/box\n",
        V2,
        fs__pod__box__memory_DOT_max="max\n",
        fs__pod__memory_DOT_max="1000\n",
        fs__pod__memory_DOT_high="900\n",
        fs__pod__memory_DOT_stat="anon 300\nfile 500\n",
    )
    assert (inner.limit, outer.limit, top.limit) == (None, 900, None)
    assert (outer.held, inner.held) == (300, 0)


def test_version_1_limits_by_the_group_of_memory(linux):
    box, pod, top = linux(
        "5:cpu,cpuacct:/other\n4:memory:/pod/box\n0::/\n",
        V1 + "32 31 0:29 / /sys/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
        memory__pod__box__memory_DOT_limit_in_bytes="5000\n",
        memory__pod__memory_DOT_limit_in_bytes="9223372036854771712\n",
        memory__pod__box__memory_DOT_stat="cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\n",
    )
    assert (box.limit, box.held) == (5000, 4)
    assert pod.limit == 9223372036854771712  # which is no limit: a machine has less
    assert top.limit is None


def test_in_a_container_the_hosts_path_is_not_to_be_seen(linux):
    found = linux("4:memory:/docker/abc\n", V1.replace(" / ", " /docker/abc "))
    assert [group.folder.name for group in found] == ["memory"]
    assert found[0].limit is None


def test_a_path_that_is_not_there_leaves_the_groups_around_it_if_any(linux, tmp_path):
    assert own_groups(tmp_path) == []
    found = linux("0::/gone\n", V2, fs__memory_DOT_max="77\n")
    assert [group.limit for group in found] == [None, 77]


def test_blanks_in_paths_are_read(linux):
    found = linux("0::/\n", V2.replace("/sys/fs", r"/sys/my\040groups"))
    assert found[0].folder.name == "my groups"


LEAVE = """
import sys, threading
from pathlib import Path
from cfl_cli.core import process as leaving

new, folder, placed = map(Path, ("new", "folder", "placed"))
folder.mkdir()
for path in (new, folder / "part", placed):
    path.touch()
for path in (new, folder, placed):
    leaving.remove_at_end(path)
leaving.keep(placed)


def leave():
    leaving.end_process(130, say=lambda: print("said", flush=True))


with leaving.farewell(lambda: print("farewell", flush=True)):
    with leaving.farewell(lambda: print("not this one")):
        pass
    threading.Thread(target=leave, daemon=True).start()
    while True:  # whatever it is
        leaving.settle()
"""


def test_what_is_half_done_goes_with_the_process_and_what_is_in_its_place_stays(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", LEAVE], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert (run.returncode, run.stderr) == (130, "")
    assert run.stdout.split() == ["farewell", "said"]
    assert [path.name for path in tmp_path.iterdir()] == ["placed"]


def test_a_signal_waits_for_the_end_of_the_block_and_then_everybody_listens_as_before():
    done = []

    def work():
        with undisturbed(), undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    before = [signal.getsignal(number) for number in SIGNALS]
    with undisturbed():
        pass
    assert [signal.getsignal(number) for number in SIGNALS] == before
