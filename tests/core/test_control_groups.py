"""What a process may have is read from the groups it runs in, of both versions."""

import pytest

from cfl_cli.core.process import own_groups


@pytest.fixture
def system(tmp_path):
    """Return a function that writes what the system shows, and then the groups' limits."""

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


def test_version_2_limits_by_any_group_around(system):
    inner, outer, top = system(
        "0::/pod/box\n",
        V2,
        fs__pod__box__memory_DOT_max="max\n",
        fs__pod__memory_DOT_max="1000\n",
        fs__pod__memory_DOT_high="900\n",
        fs__pod__memory_DOT_stat="anon 300\nfile 500\n",
    )
    assert (inner.limit, outer.limit, top.limit) == (None, 900, None)
    assert (outer.held, inner.held) == (300, 0)


def test_version_1_limits_by_the_group_of_memory(system):
    box, pod, top = system(
        "5:cpu,cpuacct:/other\n4:memory:/pod/box\n0::/\n",
        V1 + "32 31 0:29 / /sys/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
        memory__pod__box__memory_DOT_limit_in_bytes="5000\n",
        memory__pod__memory_DOT_limit_in_bytes="9223372036854771712\n",
        memory__pod__box__memory_DOT_stat="cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\n",
    )
    assert (box.limit, box.held) == (5000, 4)
    assert pod.limit == 9223372036854771712  # which is no limit: a machine has less
    assert top.limit is None


def test_in_a_container_the_hosts_path_is_not_to_be_seen(system):
    found = system("4:memory:/docker/abc\n", V1.replace(" / ", " /docker/abc "))
    assert [group.folder.name for group in found] == ["memory"]
    assert found[0].limit is None


def test_a_path_that_is_not_there_leaves_the_groups_around_it(system):
    found = system("0::/gone\n", V2, fs__memory_DOT_max="77\n")
    assert [group.limit for group in found] == [None, 77]


def test_blanks_in_paths_are_read(system):
    found = system("0::/\n", V2.replace("/sys/fs", r"/sys/my\040groups"))
    assert found[0].folder.name == "my groups"


def test_a_system_without_groups_has_none(tmp_path):
    assert own_groups(tmp_path) == []
