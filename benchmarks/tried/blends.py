"""Blends: other parts than `auto` has, and other means than its weighted geometric one.

`auto` is put together here from parts that were run already; a test sees that it is the same.
Weights that were fitted to a hidden cell do not judge it: each half of the hidden rows is blended
by weights from the other half, whatever the mean.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.tried.lab import Answer, Lab
from cfl_cli.core.arrays import LEAST_MASS, Floats, Mask, log_scores, normalise, spread
from cfl_cli.methods import blend
from cfl_cli.methods.auto import WORTH_IT

EM_STEPS = 200
SHARPEST = 3.0  # power of a prior, and one over it the flattest

GRAPH = "one round, steps chosen"
FULL = "graph, both chosen"


def run(lab: Lab) -> None:
    """Answer by every blend; all else must have answered already."""
    answers = lab.answers
    answers["auto"] = auto(lab)
    answers["auto, both starts"] = auto(lab, "boost, both starts")
    parts = [GRAPH, "boost", "net"]
    of_parts = {
        "auto, first round": parts,
        "boost, net": ["boost", "net"],
        "auto, full graph": [FULL, "boost", "net"],
        "auto, parts of boosting apart": [GRAPH, "shallow", "deep", "related", "net"],
        "auto, deep twice": [GRAPH, "boost, deep twice", "net"],
        "auto, third": [GRAPH, "boost, third", "net"],
        "auto, two nets": [GRAPH, "boost", "two nets"],
        "auto, net given the others": [*parts, "net, given the others"],
        "auto, both nets": [GRAPH, "boost", "two nets", "net, given the others"],
        "auto, fed by boosting": [*parts, "fed by boosting, steps chosen"],
        "auto, own distances": ["distance own", "boost", "net"],
        "auto, own distances, k = 50": ["distance own, k = 50", "boost", "net"],
    }
    for name, used in of_parts.items():
        answers[name] = geometric(lab, [answers[part] for part in used])[0]
    usual = [answers[part] for part in parts]
    answers["auto, arithmetic"] = arithmetic(lab, usual)
    answers["auto, own distances, arithmetic"] = arithmetic(
        lab, [answers["distance own"], *usual[1:]]
    )
    answers["boost, net, evenly"] = evenly(lab, usual[1:])
    answers["auto, sharpened"] = sharpened(lab, answers["auto"])


def auto(lab: Lab, boosted: str = "boost") -> Answer:
    """Return what `auto` answers: with the whole graph where its first round is worth it."""
    found, weights = geometric(lab, [lab.answers[part] for part in (GRAPH, boosted, "net")])
    if max(of_cf[0] for of_cf in weights) >= WORTH_IT:
        found, _ = geometric(lab, [lab.answers[part] for part in (FULL, boosted, "net")])
    return found


def geometric(lab: Lab, parts: Sequence[Answer]) -> tuple[Answer, list[Floats]]:
    """Return the blend that `auto` would make of parts, and their weights for each CF."""
    cells = lab.known.evidence[lab.hidden]
    blends = [
        blend.fit([part.hidden_priors[:, block] for part in parts], cells[:, block])
        for block in lab.known.columns
    ]
    confidences = np.hstack(
        [
            blend.blended([part.confidences[:, block] for part in parts], of_cf.weights)
            for of_cf, block in zip(blends, lab.known.columns, strict=True)
        ]
    )
    hidden_priors = np.hstack([of_cf.prior for of_cf in blends])
    return _answer(lab, hidden_priors, confidences), [of_cf.weights for of_cf in blends]


def evenly(lab: Lab, parts: Sequence[Answer]) -> Answer:
    """Return the geometric mean of parts, all weighing alike."""
    weights = np.full(len(parts), 1 / len(parts))

    def means(values: Sequence[Floats]) -> Floats:
        found = np.log(np.maximum(np.stack(values), blend.FLOOR))
        return np.hstack([blend.mean(found[:, :, block], weights) for block in lab.known.columns])

    hidden_priors = means([part.hidden_priors for part in parts])
    return _answer(lab, hidden_priors, means([part.confidences for part in parts]))


def arithmetic(lab: Lab, parts: Sequence[Answer]) -> Answer:
    """Return the weighted arithmetic mean of priors, its weights found by EM; then the cells."""
    known = lab.known
    cells = known.evidence[lab.hidden]
    width = known.candidates.shape[1]
    joint = [part.confidences * spread(part.mass, known.blocks, width) for part in parts]
    hidden_priors, confidences = [], []
    for block in known.columns:
        priors = np.stack([part.hidden_priors[:, block] for part in parts])
        hidden_priors.append(
            _by_halves(
                priors,
                cells[:, block],
                lambda some, seen: _em(np.einsum("pmk,mk->pm", some, seen)),
                lambda some, weights: np.tensordot(weights, some, axes=1),
            )
        )
        weights = _em(np.einsum("pmk,mk->pm", priors, cells[:, block]))
        confidences.append(
            np.tensordot(weights, np.stack([each[:, block] for each in joint]), axes=1)
        )
    return _answer(lab, np.hstack(hidden_priors), np.hstack(confidences))


def sharpened(lab: Lab, answer: Answer) -> Answer:
    """Return an answer with each CF's priors raised to the power that hidden cells favor."""
    cells = lab.known.evidence[lab.hidden]
    hidden_priors, confidences = [], []
    for block in lab.known.columns:
        prior = answer.hidden_priors[None, :, block]
        hidden_priors.append(_by_halves(prior, cells[:, block], _power, _raised))
        power = _power(prior, cells[:, block])
        confidences.append(_raised(answer.confidences[None, :, block], power))
    return _answer(lab, np.hstack(hidden_priors), np.hstack(confidences))


def _by_halves(
    parts: Floats,
    cells: Floats | Mask,
    fit: Callable[[Floats, Floats | Mask], Floats],
    use: Callable[[Floats, Floats], Floats],
) -> Floats:
    """Return what is made of parts, p × m × K: each half by what is fitted to the other."""
    one = np.arange(len(cells)) % 2 == 0
    made = np.empty(parts.shape[1:])
    for half in (one, ~one):
        made[half] = use(parts[:, half], fit(parts[:, ~half], cells[~half]))
    return made


def _em(mass: Floats) -> Floats:
    """Return the shares of parts in the mixture under which cells are likeliest, given p × m."""
    shares = np.full(len(mass), 1 / len(mass))
    for _ in range(EM_STEPS):
        joint = shares[:, None] * np.maximum(mass, LEAST_MASS)
        shares = (joint / joint.sum(axis=0)).mean(axis=1)
    return np.asarray(shares)


def _power(prior: Floats, cells: Floats | Mask) -> Floats:
    found = minimize_scalar(
        lambda power: -float(log_scores(_raised(prior, np.array([power])), cells, over=1).mean()),
        bounds=(1 / SHARPEST, SHARPEST),
        method="bounded",
    )
    return np.array([found.x])


def _raised(prior: Floats, power: Floats) -> Floats:
    """Return 1 × m × K distributions raised to a power, m × K."""
    return blend.mean(np.log(np.maximum(prior, blend.FLOOR)), power)


def _answer(lab: Lab, hidden_priors: Floats, confidences: Floats) -> Answer:
    """Return an answer with the values left out that a row's cell rules out."""
    known = lab.known
    confidences = np.where(known.evidence == 0, 0.0, confidences)
    normalise(confidences, known.blocks, out=confidences)
    return Answer(hidden_priors, confidences, np.ones((len(known), len(known.blocks))))
