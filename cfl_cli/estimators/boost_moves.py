"""How far each OF and each other CF moved what boosting says of one row.

    score(v) = base(v) + Σ_f of_features(f, v) + Σ_c of_others(c, v)      prior = softmax(score)

A blend is a weighted sum of logarithms, and each part's logarithms are, but for a constant, scores
of trees added to where they begin. So the Shapley values of the trees (see `tree_shap`) add up:

    shallow, deep   start + scores from the OFs
    related         a quarter of shallow's, and scores from the OFs and other CFs' confidences

Where other CFs' confidences themselves come from is another question: an OF has a say in these.

Priors are computed in single precision, and a part of a blend counts as at least FLOOR. What that
changes goes into the base, so that the softmax is the prior to the last digits; but the prior of a
part that answers alone sums to 1 in single precision only, and a softmax exactly. The change is a
rounding, unless a part is below FLOOR: then the base is more for that value than what would be said
of a row of which nothing is known.

A softmax does not change if all of a CF's scores move alike: means over the values are taken off.
"""

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.estimators.boosted_cf import FURTHER_START, BoostedCf
from cfl_cli.estimators.explained import Moves
from cfl_cli.estimators.tree_shap import contributions


def moves_of(of_cf: BoostedCf, features: Floats, confidences: Floats, prior: Floats) -> Moves:
    """Return the moves of one CF.

    Of one row: its features, d; what is first said of all CFs, ΣK; and the CF's prior, K.
    """
    size, d = len(prior), len(features)
    base, moves = np.zeros(size), np.zeros((d, size))
    others = np.zeros((len(confidences), size))
    of_shallow, of_deep, of_related = (*of_cf.weights, 0.0)[:3]
    # What shallow says counts in its own right, and as where `related` begins.
    for trees, weight in (
        (of_cf.shallow, of_shallow + FURTHER_START * of_related),
        (of_cf.deep, of_deep),
    ):
        if weight:
            begins, by_feature = contributions(trees, features)
            base += weight * (of_cf.start[:, 0] + begins)
            moves += weight * by_feature
    if of_cf.related is not None and of_related:
        seen = confidences[of_cf.related.columns].astype(np.float32)
        begins, by_feature = contributions(of_cf.related.trees, np.concatenate([features, seen]))
        base += of_related * begins
        moves += of_related * by_feature[:d]
        others[of_cf.related.columns] = of_related * by_feature[d:]
    base += _correction(base + moves.sum(axis=0) + others.sum(axis=0), prior)
    return Moves(*(each - each.mean(axis=-1, keepdims=True) for each in (base, moves, others)))


def _correction(scores: Floats, prior: Floats) -> Floats:
    """Return what makes the prior of scores; a value whose prior is 0 stays as improbable as it is.

    Such a prior is one too small for single precision, of a part that answers alone.
    """
    logs = scores - scores.max()
    logs -= np.log(np.exp(logs).sum())
    correction: Floats = np.log(prior, out=logs.copy(), where=prior > 0) - logs
    return correction
