"""The target predicted from OFs and from what is known of the CFs.

A classifier learns from a half of the rows, drawn with the seed, and is judged by the F1 of the
positive value on the other half. Its features are the encoded OFs and K columns for each CF.
Settings are the authors' where their code and the paper agree: scikit-learn's defaults, early
stopping for the net, at most 200 epochs. The paper says that AdaBoost has decision stumps; the
authors' code has ten trees of depth 10, boosted as scikit-learn did then: both are run.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.encode.encode import Encoded

TINY = np.finfo(float).eps


class RealBoost:
    """AdaBoost as the authors' code has it: ten trees of depth 10, boosted by probabilities.

    This is SAMME.R of two classes, scikit-learn's default up to release 1.5 and gone since 1.6.
    Before each tree, a row's weight is multiplied by the root of P(wrong)/P(right) of the tree
    before; the answer is yes where Σ log P(yes)/P(no) > 0.
    """

    TREES, DEPTH = 10, 10

    def __init__(self, seed: int) -> None:
        self.rng = np.random.RandomState(seed)  # scikit-learn's, for the same draws
        self.trees: list[Any] = []

    def fit(self, features: Floats, target: Mask) -> Self:
        weights = np.full(len(target), 1 / len(target))
        for _ in range(self.TREES):
            weights = np.maximum(weights, TINY)
            lot = self.rng.randint(np.iinfo(np.int32).max)
            tree = DecisionTreeClassifier(max_depth=self.DEPTH, random_state=lot)
            self.trees.append(tree.fit(features, target, sample_weight=weights))
            odds = self._odds(tree, features)
            weights = weights * np.exp(np.where(target, -odds, odds) / 2)
            weights /= weights.sum()
        return self

    def predict(self, features: Floats) -> Mask:
        return np.asarray(sum(self._odds(tree, features) for tree in self.trees) > 0)

    @staticmethod
    def _odds(tree: Any, features: Floats) -> Floats:
        """Return log P(yes)/P(no), of probabilities that are not quite 0."""
        logs = np.log(np.maximum(tree.predict_proba(features), TINY))
        return np.asarray(logs[:, 1] - logs[:, 0])


# Logistic regression has iterations enough to converge, a forest 100 trees, AdaBoost 50 stumps.
CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "LR": lambda seed: LogisticRegression(random_state=seed, max_iter=1000),
    "RF": lambda seed: RandomForestClassifier(random_state=seed),
    "AdaBoost": lambda seed: AdaBoostClassifier(random_state=seed),
    "AdaBoost trees": RealBoost,
    "MLP": lambda seed: MLPClassifier((100, 200, 200, 100), random_state=seed, early_stopping=True),
}


def halves(rows: int, seed: int) -> tuple[Ints, Ints]:
    """Return the rows that classifiers learn from, and those that they are judged on."""
    learn, judge = np.array_split(np.random.default_rng(seed).permutation(rows), 2)
    return learn, judge


def predict(
    features: Floats, target: Mask, classifier: str, *, seed: int, learned: Floats | None = None
) -> float:
    """Return the F1 on one half of the rows after learning from the other.

    What is `learned` from are the features of that half, unless others are given.
    """
    learn, judge = halves(len(target), seed)
    learned = features[learn] if learned is None else learned
    model = CLASSIFIERS[classifier](seed).fit(learned, target[learn])
    return float(f1_score(target[judge], model.predict(features[judge]), zero_division=0.0))


def as_observed(encoded: Encoded) -> Floats:
    """Return every candidate's equal share, n × ΣK."""
    shares = np.empty(encoded.candidates.shape)
    for block in encoded.blocks:
        candidates = encoded.candidates[:, block.columns]
        shares[:, block.columns] = candidates / candidates.sum(axis=1, keepdims=True)
    return shares
