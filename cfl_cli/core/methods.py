"""The methods by name, and what each needs; light, so that help and schema can know it."""

from cfl_cli.core.quick import dataclass


@dataclass(frozen=True)
class Traits:
    """What one method is, and what follows for whoever runs it."""

    name: str  # and the name of its module in `estimators`
    summary: str
    needs_neighbors: bool = False  # does it fail where the table has no more than k rows?
    needs_hidden_rows: bool = False  # does it choose by hidden cells, and so fail with folds 0?
    second_round: bool = False  # does γ above 0 mean a second round for every CF?
    calibrated: bool = False  # are its confidences raised to powers that hidden cells choose?
    learns: bool = True  # is there anything to keep, by which other rows can be answered?
    # What helps beside fewer rows: words, or a setting and its value.
    saves_memory: tuple[str | tuple[str, str | int], ...] = ()
    package: str | None = None  # beside numpy, whose version a model file records
    arrays_may_be_files: bool = False  # need memory not hold what an engine keeps on disk?
    keeps_rows: bool = False  # may a model file hold features and confidences of fitted rows?


METHODS = {
    traits.name: traits
    for traits in (
        Traits(
            "graph",
            "the paper's method, over a graph of near rows",
            needs_neighbors=True,
            second_round=True,
            calibrated=True,
            saves_memory=("a smaller k", ("gamma", 0)),
            arrays_may_be_files=True,
            keeps_rows=True,
        ),
        Traits(
            "boost",
            "gradient boosting fitted to the exclusions",
            needs_hidden_rows=True,
            package="lightgbm",
        ),
        Traits(
            "net",
            "a small neural network for all CFs at once",
            needs_hidden_rows=True,
        ),
        Traits(
            "ipal",
            "the paper's baseline, which may pick an excluded value",
            needs_neighbors=True,
            keeps_rows=True,
        ),
        Traits("observed", "the cells alone, all candidates alike", learns=False),
        Traits("commonest", "how common each value is and nothing else"),
        Traits(
            "auto",
            "for each CF the blend of graph, boost and net that its hidden cells favor",
            needs_hidden_rows=True,
            saves_memory=(("method", "graph"),),
            package="lightgbm",
            keeps_rows=True,
        ),
    )
}
