import numpy as np
import pytest

from cfl_cli.core.draws import (
    NAMED,
    PER_NAME,
    chances,
    draw,
    folds,
    order,
    shuffled,
    some,
    stream_of,
)

BLOCKS = np.array([0, 3])


@pytest.mark.parametrize(("n", "parts"), [(10, 5), (11, 5), (3, 5), (1, 2), (1000, 7)])
def test_folds_hold_every_row_once_and_are_of_equal_size_or_nearly(n, parts):
    dealt = folds(n, parts, seed=0)
    assert sorted(np.concatenate(dealt)) == list(range(n))
    lengths = {len(fold) for fold in dealt}
    assert max(lengths) - min(lengths) <= 1
    assert min(lengths) >= 1
    assert len(dealt) == min(n, parts)
    assert all((np.diff(fold) > 0).all() for fold in dealt)


def test_no_folds_are_none():
    assert folds(10, 0, seed=0) == []


def test_a_seed_gives_the_same_draws_and_another_gives_others():
    assert list(order(50, 1, seed=3)) == list(order(50, 1, seed=3))
    assert list(order(50, 1, seed=3)) != list(order(50, 1, seed=4))
    assert list(order(50, 1, seed=3)) != list(order(50, 2, seed=3))
    one, other = folds(100, 5, seed=0)[0], folds(100, 5, seed=1)[0]
    assert set(one) != set(other)


def test_draws_are_those_of_any_version():
    # splitmix64's finaliser, worked with Python's whole numbers
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    seed, stream = mix((5 + golden) % 2**64), mix((7 + golden) % 2**64)
    expected = [mix(mix((row + seed) % 2**64) ^ stream) for row in range(4)]
    assert draw(np.arange(4), 7, 5).tolist() == expected


def test_shuffling_keeps_every_cfs_cells_and_moves_them_apart():
    cells = np.arange(700).reshape(100, 7)
    mixed = shuffled(cells, BLOCKS, seed=0)
    for block in (slice(0, 3), slice(3, 7)):
        assert sorted(map(tuple, mixed[:, block])) == sorted(map(tuple, cells[:, block]))
    assert (mixed[:, 0] // 7 != mixed[:, 3] // 7).mean() > 0.9  # each CF by itself
    assert (mixed[:, 0] != cells[:, 0]).mean() > 0.9


def test_names_have_streams_of_their_own_that_never_change():
    digest = 0xAE5ED715762BCF24  # printf job | b2sum --length 64
    assert stream_of("job") == NAMED | digest - digest % PER_NAME
    streams = {stream_of(f"cf{number}") for number in range(1000)}
    assert len(streams) == 1000
    assert all(NAMED <= stream <= 2**64 - PER_NAME for stream in streams)


def test_chances_are_spread_evenly_below_one():
    found = chances(np.arange(100_000), stream_of("job"), seed=0)
    assert 0 <= found.min() < 1e-3
    assert 1 - 1e-3 < found.max() < 1
    counts = np.histogram(found, bins=20, range=(0, 1))[0]
    assert ((counts - 5000) ** 2 / 5000).sum() < 45.3  # chi-squared, 19 degrees: 1 in 1,500
    other = chances(np.arange(100_000), stream_of("job") + 1, seed=0)
    assert abs(np.corrcoef(found, other)[0, 1]) < 0.01


def test_groups_are_dealt_whole_into_folds_of_nearly_equal_size():
    groups = np.repeat(np.arange(60), np.arange(60) % 4 + 1)[
        np.random.default_rng(0).permutation(150)
    ]
    dealt = folds(150, 5, 0, groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(dealt)), np.arange(150))
    for one in range(5):
        for other in range(one):
            assert not np.intersect1d(groups[dealt[one]], groups[dealt[other]]).size
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_groups_of_one_row_each_change_no_fold():
    for n, parts in ((103, 5), (3, 5), (40, 0)):
        plain, grouped = folds(n, parts, 7), folds(n, parts, 7, np.arange(n)[::-1])
        assert len(plain) == len(grouped)
        for one, other in zip(plain, grouped, strict=True):
            np.testing.assert_array_equal(one, other)


def test_there_are_no_more_folds_than_groups():
    assert [len(fold) for fold in folds(6, 5, 0, np.array([0, 0, 0, 1, 1, 1]))] == [3, 3]


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_some_rows_are_those_with_the_smallest_random_numbers_in_their_order(at_once):
    numbers = draw(np.arange(50), 9, 3)
    expected = sorted(sorted(range(50), key=lambda row: numbers[row])[:12])
    assert some(50, 12, 9, 3, at_once=at_once).tolist() == expected
    assert some(50, 50, 9, 3, at_once=at_once).tolist() == [*range(50)]
