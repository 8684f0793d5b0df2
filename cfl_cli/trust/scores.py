"""How good answers and confidences are, judged by the truth.

Values are places in the domain, rows with a truth and an answer. Over n rows with the truth y, the
answers a and the confidences Q, n × K:

    accuracy             the share of rows with a = y
    macro-F1             the mean of 2·hits / (times true + times answered) over the values that
                         are true or answered in any row
    cross entropy        the mean of −log max(Q[i, y_i], CLIP)
    calibration error    Σ_b n_b/n · |share of right answers in b − mean confidence in b|, over BINS
                         bins of the answers' confidences, ((b−1)/BINS, b/BINS], 0 in the first

The bins hold their upper ends, as the ECE is defined (Guo et al. 2017); those of the report hold
their lower ends, as what --min-confidence keeps does.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask

BINS = 10
CLIP = 1e-10  # as in the authors' code; or a single row without confidence would decide all


def accuracy(truth: Ints, answers: Ints) -> float:
    """Return the share of answers that are right."""
    return float((truth == answers).mean())


def macro_f1(truth: Ints, answers: Ints) -> float:
    """Return the mean F1 of the values that are true or answered in any row."""
    size = int(max(truth.max(), answers.max())) + 1
    hits = np.bincount(truth[truth == answers], minlength=size)
    uses = np.bincount(truth, minlength=size) + np.bincount(answers, minlength=size)
    return float((2 * hits[uses > 0] / uses[uses > 0]).mean())


def in_truth(truth: Ints, confidences: Floats) -> Floats:
    """Return every row's confidence in what is true."""
    return confidences[np.arange(len(truth)), truth]


def cross_entropy(confidence: Floats) -> float:
    """Return the mean of −log of the confidences in what is true."""
    # The absolute value and not −mean: where all confidences are 1 this is 0, and not −0.
    return float(np.abs(np.log(np.maximum(confidence, CLIP)).mean()))


def calibration_error(right: Mask, confidence: Floats) -> float:
    """Return how far, on average, answers of like confidence are from being right that often."""
    bins = np.searchsorted(np.arange(1, BINS) / BINS, confidence)
    return float(np.abs(np.bincount(bins, right - confidence)).sum() / len(right))
