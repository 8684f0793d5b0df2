"""Where the neighbors of a row stand in a picture, and which of them are named."""

from itertools import combinations

import numpy as np
import pytest

from cfl_cli.cli.pages import Dot, Surroundings
from cfl_cli.cli.pages.web import picture
from cfl_cli.cli.pages.web.charts import LETTER, LINE


def around(*dots, spread=(0.5, 0.25)):
    return picture(Surroundings(dots, "flu", spread))


def test_the_farthest_neighbor_is_at_the_rim_and_the_heaviest_is_the_largest():
    far = Dot("7", (0.2, -0.4), 0.75, "flu", alike=True)
    near = Dot("1,050", (0.1, 0.0), 0.25, "cold", alike=False)
    one, two = around(far, near).marks
    assert (one.x, one.y) == (160 + 64, 160 - 128)
    assert (two.x, two.y) == (160 + 32, 160)
    assert one.radius == 13
    assert two.radius == pytest.approx(3 + 10 * (1 / 3) ** 0.5, abs=0.1)
    assert (one.alike, two.alike) == (True, False)
    assert two.text == "1,050: weight 25.0 %, says cold"


def test_the_finding_says_how_many_agree_and_how_much_a_picture_shows():
    dots = [Dot("1", (1, 0), 0.75, "flu", alike=True), Dot("2", (0, 1), 0.25, "cold", alike=False)]
    assert around(*dots).finding == (
        "Neighbors of 75 % of the weight say the same as the answer. The picture shows 75 % of the "
        "squared distances."
    )


@pytest.mark.parametrize("seed", range(20))
def test_labels_touch_neither_each_other_nor_the_edge(seed):
    rng = np.random.default_rng(seed)
    places, weights = rng.normal(size=(20, 2)), -np.sort(-rng.dirichlet(np.ones(20)))
    dots = [
        Dot(f"{9000 + n:,}", tuple(place), float(weight), "flu", alike=True)
        for n, (place, weight) in enumerate(zip(places.tolist(), weights, strict=True))
    ]
    half = LETTER * 2.5
    labels = [
        (one.x - half, one.label_y - LINE * 5 / 6, one.x + half, one.label_y + LINE / 6)
        for one in around(*dots).marks
        if one.label
    ]
    assert 1 <= len(labels) <= 8
    assert all(min(box) >= -0.1 for box in labels)
    assert all(max(box) <= 320.1 for box in labels)
    for one, two in combinations(labels, 2):
        beside = one[2] <= two[0] + 0.1 or two[2] <= one[0] + 0.1
        assert beside or one[3] <= two[1] + 0.1 or two[3] <= one[1] + 0.1


def test_rows_that_are_all_at_one_place_are_drawn_there():
    [mark] = around(Dot("1", (0.0, 0.0), 1.0, "flu", alike=True)).marks
    assert (mark.x, mark.y) == (160, 160)
