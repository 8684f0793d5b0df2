"""What must hold of anything fitted: rows answered by themselves, leaks, and hostile states."""

from dataclasses import replace

import numpy as np
from builders.known import known_of

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import State
from cfl_cli.methods.interface import Layout

FIELDS = ("priors", "confidences", "fell_back", "mass")
LARGE = 1e38
ODD = {"f": (np.nan, np.inf, LARGE), "i": (-(2**20), 2**20), "u": (200,)}  # by the kind of array
ANY_SIZE = ("threshold", "knots")  # arrays whose numbers may be large


def related(n=90, sizes=(9, 4), seed=0):
    """Two CFs that hang together, of which the OFs tell a part; one has many values."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.random((n, 2)), rng.integers(2, size=n)])
    shares = (features[:, 0] + 0.5 * rng.random(n)) / 1.5
    values = np.column_stack([(shares * size).astype(int) for size in sizes])
    mechanisms = [Mechanism(size) for size in sizes]
    return known_of(features, values, mechanisms, exclusions=(0, 1, 2), seed=seed)


def layout_of(known):
    return Layout(known.features.shape[1], known.mechanisms)


def assert_alike(one, other, rows=slice(None)):
    """Two answers are the same to the bit; of the second, some rows."""
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field)[rows])


def assert_rows_are_answered_by_themselves(fitted, known, workers):
    """Neither the rows beside a row nor its place change a bit of what is said of it."""
    everything = fitted.answer(known, workers)
    for size in (1, 7):
        for low in range(0, 3 * size, size):
            rows = np.arange(low, low + size)
            assert_alike(fitted.answer(known.some(rows), workers), everything, rows)
    backwards = np.arange(len(known))[::-1]
    assert_alike(fitted.answer(known.some(backwards), workers), everything, backwards)
    expected = (0, known.candidates.shape[1])
    assert fitted.answer(known.some(np.arange(0)), workers).priors.shape == expected


def with_cells_of(known, cf, seed=1):
    block = known.columns[cf]
    candidates = known.candidates.copy()
    candidates[:, block] = np.random.default_rng(seed).random(candidates[:, block].shape) < 0.5
    candidates[:, block.start] |= ~candidates[:, block].any(axis=1)
    same = (candidates == known.candidates).all(axis=1)
    flipped = np.eye(1, block.stop - block.start, dtype=bool)[0]
    candidates[same, block] = np.where(
        (known.candidates[same, block] == flipped).all(axis=1, keepdims=True), ~flipped, flipped
    )
    assert (candidates != known.candidates).any(axis=1).all()
    return replace(known, candidates=candidates)


def assert_no_prior_sees_its_own_cell(fitted, known, workers):
    """Other cells of a CF do not change a bit of its priors; return whether others' change."""
    before, reached = fitted.answer(known, workers), False
    for cf, block in enumerate(known.columns):
        after = fitted.answer(with_cells_of(known, cf), workers)
        np.testing.assert_array_equal(after.priors[:, block], before.priors[:, block])
        assert (after.confidences[:, block] != before.confidences[:, block]).any()
        reached |= bool((after.priors != before.priors).any())
    return reached


def broken(state, *, free=(), path=""):
    """Yield states that nothing fitted can have had, each by a word and the place it breaks.

    An array whose name is in `free` may be shorter.
    """
    for name, array in state.arrays.items():
        others = {key: own for key, own in state.arrays.items() if key != name}

        def made(word, other, name=name, others=others):
            return f"{path}{name}: {word}", replace(state, arrays=others | {name: other})

        yield f"{path}{name}: missing", replace(state, arrays=others)
        yield made("another kind", array.astype(np.int64 if array.dtype.kind != "i" else float))
        yield made("another rank", array[None])
        if array.size and name not in free:
            yield made("shorter", array[:-1])
            yield made("longer", np.concatenate([array, array[-1:]]))
        for value in ODD[array.dtype.kind] if array.size else ():
            other = array.copy()
            other.flat[array.size // 2] = value
            if value != LARGE or name not in ANY_SIZE:
                yield made(f"{value}", other)
    for name in state.facts:
        rest = {key: fact for key, fact in state.facts.items() if key != name}
        yield f"{path}{name}: missing", replace(state, facts=rest)
        yield f"{path}{name}: odd", replace(state, facts=rest | {name: {"a": 1}})
    for name, part in state.parts.items():
        rest = {key: own for key, own in state.parts.items() if key != name}
        yield f"{path}{name}: missing", replace(state, parts=rest)
        for word, other in broken(part, free=free, path=f"{path}{name}/"):
            yield word, replace(state, parts=rest | {name: other})


def copied(state):
    """The same state as a file would give it: arrays of its own, that cannot be written."""
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    for array in arrays.values():
        assert array.dtype.str in {"<f8", "<f4", "<i8", "<i4", "|u1"}
        array.flags.writeable = False
    return State(
        arrays, dict(state.facts), {name: copied(own) for name, own in state.parts.items()}
    )
