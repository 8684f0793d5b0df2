"""The target predicted from OFs and from what is known of the CFs.

A classifier learns from a half of the rows, drawn with the seed, and is judged by the F1 of the
positive value on the other half. Its features are the encoded OFs and K columns for each CF.
Settings are the authors' where their code and the paper agree: scikit-learn's defaults, early
stopping for the net, at most 200 epochs. The paper says that AdaBoost has decision stumps; the
authors' code has ten trees of depth 10: both are run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from cfl_cli.arrays import Floats, Mask
from cfl_cli.encode import Encoded


def logistic(seed: int) -> Any:
    """Return logistic regression, with iterations enough to converge."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 — only in [bench]

    return LogisticRegression(random_state=seed, max_iter=1000)


def forest(seed: int) -> Any:
    """Return a random forest of 100 trees."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 — only in [bench]

    return RandomForestClassifier(random_state=seed)


def stumps(seed: int) -> Any:
    """Return AdaBoost as the paper describes it: 50 decision stumps, scikit-learn's default."""
    from sklearn.ensemble import AdaBoostClassifier  # noqa: PLC0415 — only in [bench]

    return AdaBoostClassifier(random_state=seed)


def trees(seed: int) -> Any:
    """Return AdaBoost as the authors' code has it."""
    from sklearn.ensemble import AdaBoostClassifier  # noqa: PLC0415 — only in [bench]
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 — the same

    tree = DecisionTreeClassifier(max_depth=10)
    return AdaBoostClassifier(tree, n_estimators=10, random_state=seed)


def net(seed: int) -> Any:
    """Return the paper's net."""
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415 — only in [bench]

    return MLPClassifier((100, 200, 200, 100), random_state=seed, early_stopping=True)


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "LR": logistic,
    "RF": forest,
    "AdaBoost": stumps,
    "AdaBoost trees": trees,
    "MLP": net,
}


def predict(features: Floats, target: Mask, classifier: str, *, seed: int) -> float:
    """Return the F1 on one half of the rows after learning from the other."""
    from sklearn.metrics import f1_score  # noqa: PLC0415 — only in [bench]

    shuffled = np.random.default_rng(seed).permutation(len(target))
    learn, judge = np.array_split(shuffled, 2)
    model = CLASSIFIERS[classifier](seed).fit(features[learn], target[learn])
    return float(f1_score(target[judge], model.predict(features[judge]), zero_division=0.0))


def as_observed(encoded: Encoded) -> Floats:
    """Return every candidate's equal share, n × ΣK."""
    shares = np.empty(encoded.candidates.shape)
    for block in encoded.blocks:
        candidates = encoded.candidates[:, block.columns]
        shares[:, block.columns] = candidates / candidates.sum(axis=1, keepdims=True)
    return shares
