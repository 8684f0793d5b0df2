"""What is measured, in which order: table by table, so that what is compared is run together."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

ALTERNATIVES = ("spreading", "imputer")  # scikit-learn's


@dataclass(frozen=True)
class Measurement:
    """A tool on a table of some length; what is repeated takes turns with what it is beside."""

    tool: str
    table: str
    rows: int
    repeats: int = 1

    @property
    def name(self) -> str:
        return f"{self.tool}-{self.table}-{self.rows}"


def _all(tools: tuple[str, ...], table: str, *sizes: int, repeats: int = 1) -> list[Measurement]:
    return [Measurement(tool, table, rows, repeats) for rows in sizes for tool in tools]


FULL = [
    *_all(("cfl", "plain", *ALTERNATIVES), "bank", 1000, 2000, 5000),
    *_all(("cfl",), "bank", 11_303, repeats=3),
    *_all(("tree", "cfl"), "bank", 45_211, repeats=3),
    *_all(("weights", *ALTERNATIVES), "bank", 45_211),
    *_all(("tree", "cfl"), "adult", 48_842, repeats=3),
    *_all(ALTERNATIVES, "adult", 48_842),
    *_all(("cfl", *ALTERNATIVES), "generated", 100_000, 300_000, 1_000_000),
]
QUICK = [
    *_all(("cfl", "plain"), "generated", 100),
    *_all(("cfl", *ALTERNATIVES), "generated", 1000),
    *_all(("cfl", "tree", "weights"), "generated", 10_000),
    *_all(("cfl",), "generated", 20_000),
]


def choose(plan: list[Measurement], patterns: list[str]) -> list[Measurement]:
    """Return the measurements whose name fits a pattern such as `cfl-bank-*`; all, given none."""
    return [
        one for one in plan if not patterns or any(fnmatchcase(one.name, fit) for fit in patterns)
    ]
