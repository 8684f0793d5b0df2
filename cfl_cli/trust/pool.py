"""Results of several completed tables become one, by Rubin's rules.

Of m estimates q_i with squared standard errors u_i, and B the variance of the q_i,

    q = mean q_i    T = mean u_i + (1 + 1/m) B    λ = (1 + 1/m) B / T

and the degrees of freedom are those of Barnard and Rubin (1999): with ν of the complete table,

    1/df = λ² / (m − 1) + 1 / ((ν + 1) / (ν + 3) ν (1 − λ))
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cfl_cli.core.arrays import Floats
from cfl_cli.errors import Problem, UsageError

_MANY = 1e9  # degrees of freedom, as good as a normal distribution


def pool(fits: Iterable[Any]) -> pl.DataFrame:
    """Pool results of the same model, one for each draw, by Rubin's rules.

    Parameters
    ----------
    fits : iterable
        Results as statsmodels has them, with `params`, `bse` or `cov_params()`, and `df_resid` or
        `nobs`; or pairs of estimates and their covariances (or variances).

    Returns
    -------
    polars.DataFrame
        A row for each parameter: `term`, `estimate`, `se`, `df`, `low`, `high` (95 %), `p` and
        `missing`, the share of the variance that is due to unknown values.

    Raises
    ------
    UsageError
        There are fewer than two results, or they have different parameters.

    Examples
    --------
    >>> pairs = [([1.0, 2.0], [0.1, 0.2]), ([1.2, 1.9], [0.1, 0.2])]
    >>> cfl_cli.pool(pairs)["estimate"].to_list()
    [1.1, 1.95]
    """
    found = [_read(one) for one in fits]
    m = len(found)
    if m < 2 or len({names for names, *_ in found}) > 1:
        text = "expected two results or more, all with the same parameters, found {number}"
        raise UsageError(Problem("pool-fits", text, number=m))
    estimates = np.array([estimate for _, estimate, *_ in found])
    within = np.mean([squared for _, _, squared, _ in found], axis=0)
    between = (1 + 1 / m) * estimates.var(axis=0, ddof=1)
    total, complete = within + between, min(df for *_, df in found)
    share = between / np.maximum(total, 1e-300)
    observed = (complete + 1) / (complete + 3) * complete * np.maximum(1 - share, 1e-12)
    df = 1 / (share**2 / (m - 1) + 1 / observed)
    mean, error = estimates.mean(axis=0), np.sqrt(total)
    reach = stdtrit(df, 0.975) * error
    p = 2 * stdtr(df, -np.abs(mean) / np.maximum(error, 1e-300))
    columns = {"estimate": mean, "se": error, "df": df, "low": mean - reach, "high": mean + reach}
    return pl.DataFrame({"term": [*found[0][0]], **columns, "p": p, "missing": share})


def _read(fit: Any) -> tuple[tuple[str, ...], Floats, Floats, float]:
    """Return names, estimates, squared standard errors and the degrees of freedom of a result."""
    if isinstance(fit, tuple | list):
        params, spread = fit
        df: Any = None
    else:
        params, df = fit.params, getattr(fit, "df_resid", None)
        own = getattr(fit, "bse", None)
        spread = fit.cov_params() if own is None else _numbers(own) ** 2
    estimates, squared = _numbers(params), _numbers(spread)
    squared = np.diag(squared) if squared.ndim == 2 else squared
    if df is None and getattr(fit, "nobs", None) is not None:
        df = fit.nobs - len(estimates)
    keys = params if isinstance(params, Mapping) else getattr(params, "index", None)
    named = keys is not None and not callable(keys)  # `list.index` is a function
    names = [*keys] if named and keys is not None else [*range(len(estimates))]
    return (
        tuple(map(str, names)),
        estimates,
        squared,
        _MANY if df is None else min(float(df), _MANY),
    )


def _numbers(given: Any) -> Floats:
    values = [*given.values()] if isinstance(given, Mapping) else given
    return np.asarray(values, dtype=float)
