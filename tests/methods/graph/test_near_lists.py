"""Points dealt to centers: every point is in the list of its nearest center, and in no other."""

import numpy as np
import pytest

from cfl_cli.methods.graph import neighbors
from cfl_cli.methods.graph.neighbors import Lists, nearest_neighbors

EIGHTY = np.random.default_rng(0).normal(size=(80, 3)) + 20 * np.repeat(np.eye(4, 3), 20, axis=0)


@pytest.fixture
def lists(workers):
    return Lists.of(EIGHTY, wanted=4, workers=workers)


def distances(points, others):
    return np.linalg.norm(points[:, None] - others, axis=2)


def test_every_point_is_in_the_list_of_its_nearest_center(lists):
    np.testing.assert_array_equal(np.sort(lists.members), np.arange(80))
    nearest = distances(EIGHTY, lists.centers).argmin(axis=1)
    np.testing.assert_array_equal(lists.home, nearest)
    for place, (begin, end) in enumerate(zip(lists.begin, lists.begin[1:], strict=False)):
        assert end > begin
        assert (lists.home[lists.members[begin:end]] == place).all()


def test_a_radius_is_that_of_the_farthest_member(lists):
    far = distances(EIGHTY, lists.centers)
    for place, radius in enumerate(lists.radius):
        assert radius == pytest.approx(far[lists.home == place, place].max(), rel=1e-5)


def test_reach_is_how_far_a_list_comes_towards_another_center(lists):
    for a, here in enumerate(lists.centers):
        for b, there in enumerate(lists.centers):
            if a != b:
                towards = (here - there) / np.linalg.norm(here - there)
                farthest = max((EIGHTY[lists.home == b] - there) @ towards)
                assert lists.reach[a, b] == pytest.approx(farthest, abs=1e-4)


def test_an_exact_search_finds_what_a_double_loop_finds(lists):
    asked = np.arange(80)
    pairs = lists.search(asked)
    far = distances(EIGHTY, EIGHTY)
    for row in asked:
        near = np.flatnonzero(far[row] <= np.sort(far[row])[3])
        assert {*near.tolist()} <= {*pairs.point[pairs.row == row].tolist()}
    np.testing.assert_allclose(pairs.distance, far[asked[pairs.row], pairs.point], atol=1e-12)


def test_a_search_of_clusters_does_not_look_at_every_point(workers):
    many = np.random.default_rng(1).normal(size=(4000, 3))
    many += 100 * np.repeat(np.eye(4, 3), 1000, axis=0)
    lists = Lists.of(many, wanted=4, workers=workers)
    asked = np.arange(0, 4000, 100)
    assert len(asked) <= lists.cost(asked) < 0.25 * len(asked) * len(many)


def test_points_in_a_crowd_of_equal_distances_are_left_over(workers):
    points = np.vstack([np.eye(200), np.zeros((1, 200))])  # all at distance 1 from the last
    lists = Lists.of(points, wanted=2, workers=workers)
    assert {*lists.search(np.arange(201)).row.tolist()} == {*range(200)}


@pytest.mark.parametrize("scale", [1, 1e6])
def test_points_outside_of_the_table_find_what_a_double_loop_finds(lists, workers, scale):
    asked = np.random.default_rng(2).normal(size=(30, 3)) * 10 * scale
    pairs = lists.search_around(asked, lists.homes(asked, workers))
    far = distances(asked, EIGHTY)
    for row in range(30):
        near = np.flatnonzero(far[row] <= np.sort(far[row])[3])
        found = {*pairs.point[pairs.row == row].tolist()}
        assert not found or {*near.tolist()} <= found
    assert len(np.unique(pairs.row)) > (25 if scale == 1 else -1)  # far off all are a crowd


def test_many_points_are_dealt_to_more_lists_and_no_answer_changes(workers, monkeypatch):
    points = np.random.default_rng(3).normal(size=(2500, 6))
    few = nearest_neighbors(points, k=5, workers=workers).rows
    monkeypatch.setattr(neighbors, "MANY_POINTS", 100)
    assert len(Lists.of(points, wanted=6, workers=workers).centers) > 2 * 50
    np.testing.assert_array_equal(nearest_neighbors(points, k=5, workers=workers).rows, few)
