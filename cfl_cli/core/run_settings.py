"""The settings of a run that change nothing in its answer: one entry each, as in `settings`."""

from typing import ClassVar, Literal

from cfl_cli.core.entries import EVERY_COMMAND, Flaw, SettingsTable, entry
from cfl_cli.core.kinds import COUNT, Address, Choice, FileName, FolderName, Names, Size, Switch
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import option

WRITING = (
    *("impute", "fit", "apply", "check", "report", "suspects", "explain", "init", "tune", "mask"),
    "evaluate",
    "audit",
    "risk",
)


@dataclass(frozen=True)
class RunSettings(SettingsTable):
    """How a command runs; nothing here changes the answer."""

    decides: ClassVar[bool] = False

    jobs: int | None = entry(
        COUNT,
        None,
        "How many threads work at once.",
        *("impute", "fit", "apply", "check", "explain", "tune", "risk"),
        panel="run",
        short="j",
        default_text="all cores",
    )
    engine: Literal["local", "dask"] = entry(
        Choice(("local", "dask")),
        "local",
        "Where the work is done. local: threads of this process; dask: worker processes, which "
        "Dask starts, or which a scheduler has.",
        *("impute", "fit", "apply", "check"),
        panel="run",
        in_schema=False,
    )
    scheduler: str | None = entry(
        Address(),
        None,
        "With --engine dask: the scheduler whose workers, on any hosts, do the work. What is not "
        "on this host must use TLS (tls://HOST:PORT).",
        *("impute", "fit", "apply", "check"),
        panel="run",
        default_text="none; workers are started here",
        in_schema=False,
    )
    workers: int | None = entry(
        COUNT,
        None,
        "With --engine dask: how many worker processes to start.",
        *("impute", "fit", "apply", "check"),
        panel="run",
        default_text="all cores",
        in_schema=False,
    )
    run_dir: str | None = entry(
        FolderName(),
        None,
        "Keep what is done in this folder until the run has ended well, so that --resume can go "
        "on with it. About 2 kB a row.",
        *("impute", "fit", "check"),
        panel="run",
        variable=False,
        default_text="nowhere",
        in_schema=False,
    )
    resume: bool = entry(
        Switch(),
        False,  # noqa: FBT003 — a default
        "Go on with what --run-dir has of the same run, with either engine; begin it if there is "
        "nothing.",
        *("impute", "fit", "check"),
        panel="run",
        variable=False,
        in_schema=False,
    )
    max_memory: int | None = entry(
        Size(),
        None,
        "Refuse a run that needs more memory than this, such as 2GB.",
        *("impute", "fit", "check", "explain", "tune", "risk"),
        panel="run",
        default_text="what the machine has",
    )
    infer: tuple[str, ...] = entry(
        Names(),
        (),
        "A CF that the schema says was blurred for privacy, to be inferred all the same; repeat it "
        "for more.",
        *("impute", "fit", "apply", "check", "explain"),
        panel="input",
        variable=False,
        default_text="none",
        in_schema=False,
    )
    fail_on_flag: bool = entry(
        Switch(),
        False,  # noqa: FBT003 — a default
        "Exit with code 3 if a CF is flagged.",
        *("impute", "fit", "apply", "check"),
        panel="judging",
        opposite="--no-fail-on-flag",
    )
    report: str | None = entry(
        FileName(),
        None,
        "Where to write the report, as JSON; - is standard output.",
        *("impute", "apply", "check"),
        panel="output",
        variable=False,
        default_text="beside OUT as OUT.report.json, or inside OUT where the format can hold it",
    )
    diagnostics: str | None = entry(
        FileName(),
        None,
        "Where to write which cells to look at, and why: those that most likely rule out the true "
        "value, ranked, and values ruled out too often. CSV, or another format by its name.",
        *("impute", "check"),
        panel="output",
        variable=False,
        default_text="nowhere",
    )
    overwrite: bool = entry(
        Switch(),
        False,  # noqa: FBT003 — a default
        "Replace files that exist.",
        *WRITING,
        panel="output",
        opposite="--no-overwrite",
        variable=False,
    )
    quiet: bool = entry(
        Switch(),
        False,  # noqa: FBT003 — a default
        "Print errors only.",
        *("impute", "fit", "apply", "check", "explain", "tune", "mask", "audit", "risk"),
        panel="run",
        short="q",
    )
    verbose: bool = entry(
        Switch(),
        False,  # noqa: FBT003 — a default
        "Show a traceback with errors.",
        EVERY_COMMAND,
        panel="run",
        short="v",
    )
    log_format: Literal["text", "json"] = entry(
        Choice(("text", "json")),
        "text",
        "How messages are written to stderr. json: one object per event, for cron jobs.",
        EVERY_COMMAND,
        panel="run",
    )

    def contradictions(self) -> list[Flaw]:
        """Return which settings do not go together."""
        flaws = []
        if self.resume and self.run_dir is None:
            folder = option("run_dir")
            flaws.append(("resume", f"goes on with a folder that {folder} names: add {folder}"))
        if self.engine != "dask":
            dask = option("engine", "dask")
            flaws += [
                (name, f"goes with {dask}: add it, or leave {option(name)} out")
                for name in ("scheduler", "workers")
                if getattr(self, name) is not None
            ]
        elif self.scheduler is not None and self.workers is not None:
            scheduler = option("scheduler")
            flaws.append(
                ("workers", f"the workers are those of {scheduler}: leave one of the two out")
            )
        return flaws
