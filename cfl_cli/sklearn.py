"""The door for scikit-learn: a transformer that learns a table, and turns exclusions into features.

    fit(X)             learn from rows                             `cfl fit`
    transform(X)       the ordinary columns | what the model says  `cfl apply`
    fit_transform(X)   the same of the rows that are learned from  `cfl impute`
    score(X)           how well the cells of rows are predicted    `heldout_score`, mean over CFs

Fitted rows are not transformed as new ones are: methods that keep rows (graph, ipal, auto) would
find each of them among its own neighbors, and so read the very cells that are to be estimated.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

try:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils._set_output import _get_output_config  # no public name tells it
    from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "cfl_cli.sklearn needs scikit-learn 1.6 or newer: pip install 'cfl-cli[sklearn]'"
    ) from error

from cfl_cli.core.parallel import Workers, slices
from cfl_cli.core.settings import AUTO, Settings
from cfl_cli.encode.cells import Cells, used_columns
from cfl_cli.encode.encode import new_names
from cfl_cli.errors import CflError, ResourceError
from cfl_cli.run import refuse_blurred
from cfl_cli.run.fit import fit
from cfl_cli.run.impute import impute
from cfl_cli.run.result import RowFiller
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.trust.report import Report

if TYPE_CHECKING:
    from cfl_cli.run.result import Model

NAME = "X"  # what messages call the table
FITTING = ("method", "k", "iterations", "gamma", "ridge", "folds", "seed")
APPLYING = ("mode", "keep_flagged")  # settings that may change after fitting


class ComplementaryImputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Estimate what is behind the exclusions of complementary features (CFs).

    `schema` says what the columns are: a `Schema`, a mapping like one, the path of a YAML file, or
    its text. Without one there are no CFs, and all columns pass. Columns of an array are named x0,
    x1, … The output has the ordinary columns first, in the order of X, unless `keep_ordinary` is
    False: numeric ones as numbers, NaN where one is missing, others as they are. Behind them stand,
    CF by CF, the columns of `mode`: "soft", a confidence for each value; "hard", the imputed value
    and its confidence; or "both". CFs themselves, identifiers and ignored columns are left out.

    The other parameters are settings of cfl; None leaves one to the schema, or to cfl's default.
    The method is then auto, the most accurate as a rule, or with `folds=0`, which it cannot do,
    graph. `infer` names the CFs to infer that the schema says were blurred for privacy. `folds=0`
    learns several times as fast, without calibrated confidences and a judged report. `n_jobs`
    counts threads as everywhere in scikit-learn: None is one, −1 all cores. It changes no answer.

    After fitting there are `model_`, which can be saved and applied without scikit-learn, and
    `report_`, its report, both None without CFs; `n_features_in_` and, if X has names,
    `feature_names_in_`.
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        method: Any = None,
        mode: Any = "soft",
        k: Any = None,
        iterations: Any = None,
        gamma: Any = None,
        ridge: Any = None,
        folds: Any = None,
        seed: Any = None,
        keep_flagged: Any = None,
        keep_ordinary: Any = True,
        infer: Any = None,
        n_jobs: Any = None,
    ) -> None:
        self.schema = schema
        self.method = method
        self.mode = mode
        self.k = k
        self.iterations = iterations
        self.gamma = gamma
        self.ridge = ridge
        self.folds = folds
        self.seed = seed
        self.keep_flagged = keep_flagged
        self.keep_ordinary = keep_ordinary
        self.infer = infer
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from rows; `y` is not looked at, as a label would leak."""
        with _as_value_errors():
            rows, schema, settings = self._start(X)
            self.model_: Model | None = None
            if schema is not None:
                self.model_ = fit(_used(rows, schema), schema, **self._how, **settings)
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Learn from rows, and return features of these rows, as `cfl impute` estimates them."""
        with _as_value_errors():
            rows, schema, settings = self._start(X)
            self.model_, answers = None, []
            if schema is not None:
                used = _used(rows, schema)
                result = impute(used, schema, keep_model=True, **self._how, **settings)
                self.model_, answers = result.model, result.frame.get_columns()[used.width :]
            return self._features(rows, answers)

    def transform(self, X: Any) -> Any:
        """Return features of new rows; what is said of a row depends on that row alone."""
        check_is_fitted(self, "model_")
        with _as_value_errors():
            rows = self._rows(X, reset=False)
            return self._features(rows, self._answers(rows))

    def score(self, X: Any, y: object = None) -> float:
        """Return how well the cells of new rows are predicted: `heldout_score`, mean over CFs.

        Without CFs there is nothing to predict, and the log-likelihood of nothing is 0.
        """
        check_is_fitted(self, "model_")
        with _as_value_errors():
            rows = self._rows(X, reset=False)
            if self.model_ is None:
                return 0.0
            report = self.model_.apply(_used(rows, self.model_.schema), **self._how).report
        scores = [cf.heldout_score for cf in report.columns if cf.heldout_score is not None]
        if not scores:
            raise ValueError("all CF cells of X are empty, so there is nothing to score")
        return float(np.mean(scores))

    @property
    def report_(self) -> Report | None:
        check_is_fitted(self, "model_")
        return None if self.model_ is None else self.model_.report

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns that come out; X's may be given if X had none."""
        check_is_fitted(self, "model_")
        given = _check_feature_names_in(self, input_features)
        called = dict(zip(self._names, given, strict=True))
        names = [called[of] for of in self._ordinary]
        if self.model_ is not None:
            for cf, domain in self.model_.encoding.domains.items():
                ancestors = cf in self.model_.schema.with_ancestors
                names += new_names(called[cf], domain.values, self.mode, ancestors=ancestors)
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _start(self, X: Any) -> tuple[Any, Schema | None, dict[str, Any]]:
        settings = {name: getattr(self, name) for name in (*FITTING, *APPLYING)}
        Settings().override(**settings)  # nothing else looks at them if there is no CF
        rows, schema = self._rows(X, reset=True), self._schema()
        if self.method is None and schema is not None and "method" not in schema.named_settings:
            folds = schema.settings.override(folds=self.folds).folds
            settings["method"] = "graph" if folds == 0 else AUTO
        if schema is not None and len(rows) < 2:
            raise ValueError("one row (n_samples = 1) is too few to learn from: give more rows")
        return rows, schema, settings

    def _schema(self) -> Schema | None:
        return None if self.schema is None else Schema.of(self.schema)

    @property
    def _threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    @property
    def _how(self) -> dict[str, Any]:
        return {"name": NAME, "jobs": self._threads, "infer": self.infer, "progress": False}

    @property
    def _names(self) -> list[str]:
        numbered = [f"x{place}" for place in range(self.n_features_in_)]
        return [*getattr(self, "feature_names_in_", numbered)]

    @property
    def _ordinary(self) -> list[str]:
        ofs = self._names if self.model_ is None else self.model_.schema.ordinary
        return [name for name in self._names if name in ofs] if self.keep_ordinary else []

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Return checked rows as a frame, a pandas one if that is what was given, or polars.

        If names are missing here or at fitting, of which scikit-learn warns, places count.
        """
        if frames.is_arrow(X):
            X = frames.as_polars(X)
        if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not len(X):
                raise ValueError("X has no rows: found 0 sample(s), and at least 1 is needed")
            if [*X.columns] != self._names:
                X = copy(X)
                X.columns = self._names
            return X
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return frames.from_array(array, self._names)

    def _answers(self, rows: Any) -> list[pl.Series]:
        if self.model_ is None:
            return []
        used = _used(rows, self.model_.schema)
        infer = self.model_.schema.run.override(infer=self.infer).infer
        refuse_blurred(self.model_.schema, infer)
        settings = self.model_.changed(mode=self.mode, keep_flagged=self.keep_flagged)
        with Workers(self._threads) as workers:
            filler = RowFiller(self.model_, settings, workers, name=NAME)
            filler.check(used.columns)
            parts = [
                filler.fill(used[part], first_row=part.start + 1).columns
                for part in slices(len(used), filler.rows_at_once)
            ]
        return [pl.concat(series) for series in zip(*parts, strict=True)]

    def _features(self, rows: Any, answers: list[pl.Series]) -> Any:
        """Return the columns that pass and those that the model adds, as `set_output` wants them.

        Beside frames these are arrays: of numbers if all columns hold numbers, else of objects.
        """
        schema = None if self.model_ is None else self.model_.schema
        columns = [_passed(rows, name, schema) for name in self._ordinary] + answers
        names = [*self._ordinary, *(series.name for series in answers)]
        kind = _get_output_config("transform", self)["dense"]
        if kind == "polars":
            named = zip(names, columns, strict=True)
            return pl.DataFrame({name: _as_polars(name, column) for name, column in named})
        if kind == "pandas":
            import pandas as pd  # it is there if it is asked for

            index = rows.index if isinstance(rows, pd.DataFrame) else pd.RangeIndex(len(rows))
            arrays = [one if isinstance(one, pd.Series) else _as_array(one) for one in columns]
            return pd.DataFrame(dict(zip(names, arrays, strict=True)), index=index)
        arrays = [_as_array(column) for column in columns]
        numbers = all(array.dtype.kind in "biuf" for array in arrays)
        out = np.empty((len(rows), len(arrays)), dtype=np.float64 if numbers else object)
        for place, array in enumerate(arrays):
            out[:, place] = array
        return out


def _used(rows: Any, schema: Schema) -> pl.DataFrame:
    columns = [name for name in used_columns(schema) if name in rows.columns]
    return frames.as_polars(rows, columns, name=NAME).select(columns)


def _passed(rows: Any, name: str, schema: Schema | None) -> Any:
    column = frames.as_polars(rows[[name]])[name]
    if schema is None:
        return column.to_numpy() if column.dtype.is_numeric() else rows[name]
    if schema.ordinary[name].type != "numeric":
        return rows[name]
    cells = Cells.of(column, schema)
    return np.where(cells.missing, np.nan, cells.numbers)


def _as_array(column: Any) -> npt.NDArray[Any]:
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, pl.Series) and not column.dtype.is_numeric():
        return np.array([*column, None], dtype=object)[:-1]  # also if all cells are sequences
    return np.asarray(column.to_numpy())


def _as_polars(name: str, column: Any) -> pl.Series:
    if isinstance(column, np.ndarray | pl.Series):
        return pl.Series(name, column)
    return frames.as_polars(column.to_frame(name))[name]


@contextmanager
def _as_value_errors() -> Iterator[None]:
    try:
        yield
    except ResourceError:
        raise
    except CflError as error:
        raise ValueError(str(error)) from error
