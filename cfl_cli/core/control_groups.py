"""The control groups that this process runs in: what memory they allow, and whom they ended.

A container is such a group. Linux has two versions of them, and some machines have both at once.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cfl_cli.core.quick import dataclass

PROC = Path("/proc")
# Version 2: more than `max` is not given, and above `high` a process hardly gets on.
LIMITS = ("memory.high", "memory.max", "memory.limit_in_bytes")
HELD = ("anon", "total_rss")  # what cannot be dropped, as pages of files can
KILLS = ("memory.events", "memory.oom_control")


@dataclass(frozen=True)
class Group:
    """A folder by which the system shows a group."""

    folder: Path

    @property
    def limit(self) -> int | None:
        """How many bytes its processes may hold together; None: it does not say."""
        texts = (_read(self.folder / name).strip() for name in LIMITS)
        return min((int(text) for text in texts if text.isdigit()), default=None)

    @property
    def held(self) -> int:
        """How many bytes its processes hold that are not pages of files."""
        return _counted(self.folder / "memory.stat", HELD)

    @property
    def kills(self) -> int:
        """How many processes of it were ended because it had no memory left."""
        return sum(_counted(self.folder / name, ("oom_kill",)) for name in KILLS)


def own_groups(proc: Path = PROC) -> list[Group]:
    """Return the groups that have a say in this process's memory, each before the one around it."""
    paths = [line.split(":", 2)[1:] for line in _read(proc / "self/cgroup").splitlines()]
    found = list[Group]()
    for mount, root, controller in _mounts(proc):
        for controllers, path in paths:
            if controller not in controllers.split(","):
                continue
            # Within a container the path may be one of the host, of which nothing is to be seen.
            inner = path.removeprefix(root) if root != "/" else path
            folder = mount / inner.lstrip("/")
            around = [folder, *folder.parents]
            found += [Group(one) for one in around if mount == one or mount in one.parents]
    return found


def _mounts(proc: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield where groups can be seen, which group is the first of them, and what marks its line."""
    for line in _read(proc / "self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        root, mount = (_plain(text) for text in before.split()[3:5])
        kind, *_, options = after.split()
        if kind == "cgroup2":
            yield Path(mount), root, ""
        elif kind == "cgroup" and "memory" in options.split(","):
            yield Path(mount), root, "memory"


def _plain(text: str) -> str:
    """Return a path as it is: blanks in it are written as numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _counted(path: Path, names: tuple[str, ...]) -> int:
    """Return the number behind one of some names in a file of lines; 0 if it is not there."""
    pairs = (line.split() for line in _read(path).splitlines())
    return next((int(pair[1]) for pair in pairs if pair[0] in names), 0)


def _read(path: Path) -> str:
    """Return what is in a file; nothing if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
