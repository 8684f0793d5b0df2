import numpy as np
import pytest

from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import hash_rows
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.trust.copies import CfCells, Comparison, Key, chances, find_copies


def known(n, sizes=(4, 5), *, levels=None, seed=0, exclusions=1):
    """Rows of three OFs, and CFs of which the values follow the OFs; uniform exclusions."""
    rng = np.random.default_rng(seed)
    features = rng.random((n, 3)) if levels is None else rng.integers(levels, size=(n, 3)) / levels
    cells = []
    for size in sizes:
        pull = features @ rng.normal(0, 3, (3, size)) + rng.gumbel(size=(n, size))
        counts = np.full(n, exclusions)
        cells.append(Mechanism(size).draw(pull.argmax(axis=1), counts, rng.random((n, size))))
    starts = np.cumsum([0, *sizes[:-1]])
    return Known(features, np.hstack(cells), starts, tuple(map(Mechanism, sizes)))


def search(rows):
    with Workers(1) as workers:
        return find_copies(rows, workers=workers, seed=0)


def with_copies(rows, times=2, share=1.0, by=0.0, seed=1):
    rng = np.random.default_rng(seed)
    n = len(rows)
    extra = np.tile(rng.permutation(n)[: round(share * n)], times - 1)
    order = rng.permutation(n + len(extra))
    source = np.concatenate([np.arange(n), extra])[order]
    copied = rows.some(source)
    noise = rng.uniform(-by, by, copied.features.shape) * (order >= n)[:, None]
    return Known(copied.features + noise, copied.candidates, rows.blocks, rows.mechanisms), source


@pytest.mark.parametrize("levels", [None, 2, 4])
@pytest.mark.parametrize("seed", range(2))
def test_an_honest_table_has_no_copies_however_few_distinct_rows_it_has(levels, seed):
    assert search(known(600, levels=levels, seed=seed)) is None


@pytest.mark.parametrize(
    ("times", "share", "by"), [(2, 1.0, 0.0), (3, 1.0, 1e-6), (2, 1.0, 1e-3), (2, 0.2, 1e-3)]
)
def test_copies_are_linked_to_rows_that_they_are_copies_of(times, share, by):
    rows, source = with_copies(known(250), times, share, by)
    found = search(rows)
    assert len(found.rows) == pytest.approx(250 * (times - 1) * share, rel=0.12)
    assert (source[found.rows] == source[found.twins]).mean() > 0.97


def test_copies_are_found_among_rows_with_equal_ofs():
    rows, _ = with_copies(known(800, (4, 5, 6), levels=4))
    found = search(rows)
    assert 600 < len(found.rows) < 1000
    same = (rows.candidates[found.rows] == rows.candidates[found.twins]).all(axis=1)
    assert same.all()
    assert (rows.features[found.rows] == rows.features[found.twins]).all()


def test_a_copy_without_one_of_its_cells_is_still_one():
    rows, source = with_copies(known(300, (4, 5, 6)))
    seen, again = np.unique(source, return_index=True)
    assert len(seen) == 300
    copies = np.setdiff1d(np.arange(600), again)
    cells = rows.candidates.copy()
    for row, cf in zip(copies, np.arange(300) % 3, strict=True):
        cells[row, rows.columns[cf]] = True
    found = search(Known(rows.features, cells, rows.blocks, rows.mechanisms))
    assert len(found.rows) == pytest.approx(300, abs=3)
    assert (source[found.rows] == source[found.twins]).mean() > 0.98


def test_exact_and_empty_cells_say_nothing():
    rows = known(300)
    first = np.arange(4) == np.zeros((300, 1), dtype=int)
    exact = np.hstack([first, np.ones((300, 5), dtype=bool)])
    everywhere_the_same = Known(
        np.zeros((300, 1)) + np.arange(300)[:, None] // 2, exact, rows.blocks, rows.mechanisms
    )
    assert search(everywhere_the_same) is None
    empty = np.ones((300, 9), dtype=bool)
    assert search(Known(rows.features, empty, rows.blocks, rows.mechanisms)) is None
    some_empty = np.where(np.arange(300)[:, None] < 298, empty, rows.candidates)
    assert search(Known(rows.features, some_empty, rows.blocks, rows.mechanisms)) is None


def test_exclusions_that_depend_on_the_ofs_are_not_taken_for_copies():
    rng = np.random.default_rng(0)
    features = rng.random((800, 2))
    least = [(features @ rng.normal(0, 1, (2, size))).argmin(axis=1) for size in (4, 5)]
    cells = np.hstack(
        [np.arange(size) != of_rows[:, None] for size, of_rows in zip((4, 5), least, strict=True)]
    )
    mechanisms = (Mechanism(4), Mechanism(5))
    assert search(Known(features, cells, np.array([0, 4]), mechanisms)) is None


LISTS = ("01 23 45", "024 135", "03 14 25")  # of three registers: what each coarse code may mean


def coded(n, *, levels=None, seed=0):
    """Rows whose cells leave what the coarse code of one register may mean, by a number of OFs."""
    rng = np.random.default_rng(seed)
    value = rng.integers(6, size=n)
    register = rng.integers(3, size=n)
    cells = np.zeros((n, 6), dtype=bool)
    for number, codes in enumerate(LISTS):
        for code in codes.split():
            meant = np.isin(np.arange(6), [int(one) for one in code])
            cells[(register == number) & meant[value]] = meant
    near = rng.normal(value, 0.3, n)
    features = near[:, None] if levels is None else np.round(near * levels / 6)[:, None] / levels
    return Known(features, cells, np.array([0]), (Mechanism(6),))


@pytest.mark.parametrize("levels", [None, 3, 30, 300])
def test_cells_that_repeat_because_codes_are_few_are_not_taken_for_copies(levels):
    assert search(coded(900, levels=levels)) is None


def test_copies_are_found_where_codes_are_few():
    rows, source = with_copies(coded(600), by=1e-6)
    found = search(rows)
    assert (source[found.rows] == source[found.twins]).mean() > 0.97
    assert len(found.rows) > 300


def test_a_list_of_cells_is_noticed_and_makes_them_as_probable_as_they_are_frequent():
    rows = coded(900)
    listed = np.exp(chances(rows.candidates, Mechanism(6)))
    pairs = rows.candidates.sum(axis=1) == 2
    assert listed[~pairs] == pytest.approx(1)  # of the two triples one leaves each value
    assert listed[pairs] == pytest.approx(0.5, abs=0.08)
    anything = known(900, (6,), exclusions=4).candidates
    assert np.exp(chances(anything, Mechanism(6))) == pytest.approx(1 / 5)


@pytest.mark.parametrize("given", [(False, False), (True, False)])
def test_rows_are_compared_with_those_before_them_like_by_a_double_loop(given):
    rng = np.random.default_rng(3)
    rows = known(60, (3, 4), levels=2)
    cells = rows.candidates.copy()
    cells[rng.random(60) < 0.2, :3] = True
    cells[rng.random(60) < 0.2, 3:] = True
    exact = rng.random(60) < 0.2
    cells[exact, 3:] = np.arange(4) == 1
    rows = Known(rows.features, cells, rows.blocks, rows.mechanisms)
    clusters = np.unique(hash_rows(rows.features), return_inverse=True)[1].reshape(-1)
    found = CfCells.of(rows).compare(clusters, np.array(given))
    got = {row: place for place, row in enumerate(found.rows)}
    empty = np.array([cells[:, block].all(axis=1) for block in rows.columns]).T
    sizes = np.array([(~cells[:, block]).sum(axis=1) for block in rows.columns]).T
    tested = 0
    for j in range(60):
        used = [cf for cf in (0, 1) if not empty[j, cf]]
        told = [cf for cf in used if not given[cf]] or used
        given_here = [cf for cf in used if cf not in told]
        chance = np.prod([1 / (rows.mechanisms[cf].size - 1) for cf in told if sizes[j, cf] == 1])

        def same(i, cfs, j=j):
            return all(
                (cells[i, rows.columns[cf]] == cells[j, rows.columns[cf]]).all() for cf in cfs
            )

        before = [
            i
            for i in range(60)
            if clusters[i] == clusters[j]
            and not any(empty[i, cf] and cf in used for cf in (0, 1))
            and (((empty[i] == empty[j]).all() and i < j) or empty[i].sum() < empty[j].sum())
            and (sizes[i][used] == sizes[j][used]).all()
            and same(i, [cf for cf in used if sizes[j, cf] == rows.mechanisms[cf].size - 1])
            and same(i, given_here)
        ]
        if not used or chance == 1 or not before:
            assert j not in got
            continue
        tested += 1
        seen = {tuple(cells[i, rows.columns[cf]].tobytes() for cf in told) for i in before}
        place = got[j]
        assert found.others[place] == len(before)
        assert found.chance[place] == pytest.approx(min(len(seen) * chance, 1))
        assert found.agrees[place] == any(same(i, used) for i in before)
        assert found.twins[place] in [i for i in before if same(i, used)] or not found.agrees[place]
    assert tested > 20
    assert isinstance(found, Comparison)


def test_independent_rows_agree_no_more_often_than_the_chance_that_is_counted():
    """Of rows with the same values, which agree most often, over all cells they can have."""
    for size, exclusions in ((3, 1), (5, 1), (5, 2)):
        cells = known(4000, (size,), levels=1, exclusions=exclusions)
        value = Mechanism(size).draw(
            np.zeros(4000, dtype=int),
            np.full(4000, exclusions),
            np.random.default_rng(size).random((4000, size)),
        )
        rows = Known(cells.features, value, cells.blocks, cells.mechanisms)
        pairs = np.arange(4000) // 2
        found = CfCells.of(rows).compare(pairs, np.array([False]))
        assert len(found.rows) == 2000
        assert found.agrees.mean() == pytest.approx(found.chance.mean(), abs=0.04)


@pytest.mark.parametrize("rate", [1e-300, 1e-100, 1e-15, 1e-9])
def test_cells_that_are_nearly_impossible_neither_overflow_nor_make_copies_of_none(rate):
    rng = np.random.default_rng(0)
    excluded = rng.integers(0, 3, 120)  # whatever the mechanism says
    candidates = excluded[:, None] != np.arange(3)
    weights = np.array([rate, 1.0, 1.0])
    rates = np.where(np.eye(3, dtype=bool), 0, weights)
    mechanism = Mechanism.of(3, rates / rates.sum(axis=1, keepdims=True))
    known = Known(rng.random((120, 1)), candidates, np.array([0]), (mechanism,))
    with Workers(1) as workers:
        found = find_copies(known, workers=workers, seed=0)
    assert found is None or len(found.rows)


THREE = tuple(slice(of, of + 1) for of in range(3))


def search_all(rows, **how):
    with Workers(1) as workers:
        return find_copies(rows, ofs=THREE, workers=workers, seed=0, **how)


def changed(rows, source, change, seed=2):
    """The later of two rows of one source, and then only these, are changed."""
    rng = np.random.default_rng(seed)
    first = np.zeros(len(source), dtype=bool)
    first[np.unique(source, return_index=True)[1]] = True
    features, cells = rows.features.copy(), rows.candidates.copy()
    for row in np.flatnonzero(~first):
        change(features, cells, row, rng)
    return Known(features, cells, rows.blocks, rows.mechanisms)


def retype(features, cells, row, rng):
    features[row, rng.integers(3)] = rng.random()


def redraw(features, cells, row, rng):
    block = [slice(0, 4), slice(4, 9), slice(9, 15)][rng.integers(3)]
    cells[row, block] = np.roll(cells[row, block], rng.integers(block.stop - block.start))


@pytest.mark.parametrize("change", [retype, redraw])
def test_copies_that_differ_in_one_place_are_linked_to_their_rows(change):
    rows, source = with_copies(known(300, (4, 5, 6)))
    found = search_all(changed(rows, source, change))
    assert len(found.rows) == pytest.approx(300, rel=0.1)
    assert (source[found.rows] == source[found.twins]).mean() > 0.95
    assert not found.missed


def test_near_copies_are_found_though_one_cluster_holds_most_of_few_distinct_rows():
    rows = known(500, (4, 5, 6), levels=3)
    rows.features[:250] = rows.features[0]  # half of the rows have the same OFs
    copied, source = with_copies(rows, by=1e-4)
    found = search_all(copied)
    assert len(found.rows) == pytest.approx(250, rel=0.15)
    assert (source[found.rows] == source[found.twins]).mean() > 0.85
    assert found.missed  # the copies of the others, which agree by chance


def test_all_of_many_near_copies_of_one_row_are_found():
    rows = known(400, (4, 5))
    some, rng = np.repeat(np.arange(12), 20), np.random.default_rng(5)
    source = np.concatenate([np.arange(400), some])
    copied = rows.some(source)
    copied.features[400:] += rng.uniform(-1e-4, 1e-4, (240, 3))
    found = search_all(copied)
    assert len(found.rows) == pytest.approx(240, rel=0.1)
    assert (source[found.rows] == source[found.twins]).mean() > 0.9


def test_many_copies_that_cannot_be_told_from_chance_are_said_to_be_missed():
    rows, _ = with_copies(known(600, (4, 5), levels=4))
    assert search_all(rows).missed
    few, _ = with_copies(known(600, (4, 5, 5)), share=0.04)
    assert not search_all(few).missed


def test_copies_within_a_group_that_is_declared_are_none():
    rows, source = with_copies(known(300))
    declared = Known(rows.features, rows.candidates, rows.blocks, rows.mechanisms, groups=source)
    assert search_all(declared) is None


def panel(people=80, years=5, seed=0):
    rows = known(people, (3, 4))
    who = np.tile(np.arange(people), years)
    every = rows.some(who)
    every.features[:] = np.random.default_rng(seed).random(every.features.shape)
    return every, who


def test_rows_of_a_key_that_share_cells_are_found_whatever_their_ofs():
    rows, who = panel()
    others = np.random.default_rng(1).permutation(who)
    keys = [Key(others, is_of=False), Key(who, is_of=False)]
    found = search_all(rows, keys=keys)
    assert found.key == 1
    assert not len(found.rows)
    assert search_all(rows, keys=[Key(who, is_of=True)]).key == 0
    assert search_all(rows, keys=keys[:1]) is None


def test_a_key_is_found_if_only_one_cf_is_carried_forward():
    rows, who = panel()
    fresh = known(len(who), (3, 4), seed=3)
    rows.candidates[:, 3:] = fresh.candidates[:, 3:]
    assert search_all(rows, keys=[Key(who, is_of=False)]).key == 0


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_one_person_that_were_drawn_each_year_are_no_key(seed):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(100), 4)
    value = rng.integers(4, size=100)[who]
    cells = Mechanism(4).draw(value, np.ones(400, dtype=int), rng.random((400, 4)))
    rows = Known(rng.random((400, 3)), cells, np.array([0]), (Mechanism(4),))
    assert search_all(rows, keys=[Key(who, is_of=False)]) is None


@pytest.mark.parametrize("given", [(False, False), (True, False)])
def test_pairs_are_compared_like_clusters_of_two(given):
    rows = known(200, (3, 4), levels=2)
    cells = rows.candidates.copy()
    rng = np.random.default_rng(4)
    cells[rng.random(200) < 0.2, :3] = True
    cells[rng.random(200) < 0.2, 3:] = True
    rows = CfCells.of(Known(rows.features, cells, rows.blocks, rows.mechanisms))
    one, other = np.arange(0, 200, 2), np.arange(1, 200, 2)
    found = rows.compare_pairs(one, other, np.array(given))
    expected = rows.compare(np.arange(200) // 2, np.array(given))
    order = np.argsort(expected.rows)
    np.testing.assert_array_equal(found.rows, expected.rows[order])
    np.testing.assert_allclose(found.chance, expected.chance[order])
    np.testing.assert_array_equal(found.agrees, expected.agrees[order])
    np.testing.assert_array_equal(found.twins, expected.twins[order])
    assert (found.others == 1).all()
    assert 5 < found.agrees.sum() < len(found.rows)
