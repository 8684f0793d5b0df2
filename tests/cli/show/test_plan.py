import pytest

from cfl_cli.cli.show.plan import describe
from cfl_cli.jobs.cost import Plan


def test_a_plan_in_words_says_every_number_and_warning():
    words = describe(Plan(12_345, 678, 3, 9, 2, 17, 1234.5, 98.76, 31.4, ("column 'x': odd",)))
    assert words.splitlines() == [
        "rows           12,345 (678 distinct by their OFs)",
        "OFs            3 in 9 features",
        "CFs            2 with 17 domain values",
        "memory, about  1,200 MB",
        "time, about    99 s with these settings",
        "model, about   31 MB",
        "warning: column 'x': odd",
        "no problems found",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "0 s"), (0.0123, "0.012 s"), (59.9, "60 s"), (7654.0, "7,700 s")]
)
def test_a_time_is_said_to_two_digits(seconds, said):
    words = describe(Plan(2, 2, 1, 1, 1, 2, 170.0, seconds, None, ()))
    assert f"time, about    {said} with" in words
    assert "model" not in words
