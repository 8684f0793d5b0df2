"""What the settings fix for the graph, and what they leave to hidden cells."""

import pytest

from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.methods.graph import chooses, chooses_round, chooses_steps, gamma, most_steps


def test_what_is_given_is_fixed():
    settings = Settings(iterations=30, gamma=0.5)
    assert (most_steps(settings), gamma(settings)) == (30, 0.5)
    assert most_steps(settings, 20) == 30
    assert not chooses_steps(settings)
    assert not chooses_round(settings)


def test_auto_leaves_steps_and_rounds_to_hidden_cells():
    settings = Settings(iterations="auto", gamma="auto")
    assert (most_steps(settings), most_steps(settings, 100)) == (400, 100)
    assert gamma(settings) == gamma(Settings()) == DEFAULT_GAMMA
    assert chooses_steps(settings)
    assert chooses_round(settings)


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_as_a_part_of_auto_the_graph_chooses_the_round_with_the_gamma_that_is_given(value):
    settings = Settings("auto", gamma=value)
    assert chooses_round(settings)
    assert gamma(settings) == value


def test_hidden_cells_choose_where_steps_or_gamma_are_left_open():
    assert not chooses(Settings(iterations=30, gamma=0.0))
    assert chooses(Settings(iterations="auto", gamma=0.0))
    assert chooses(Settings(iterations=30, gamma="auto"))
    assert chooses(Settings(iterations=30))
