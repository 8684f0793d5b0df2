import pytest

from cfl_cli.commands.check.job import Checked, describe
from cfl_cli.encode.findings import Finding
from cfl_cli.run.cost import Plan


def test_a_plan_in_words_says_every_number_and_warning():
    plan = Plan(12_345, 678, 3, 9, 2, 17, 1234.5, 98.76, 31.4, ())
    words = describe(Checked((), (Finding("odd", "odd", "even it", "x", warning=True),), plan))
    assert words.splitlines() == [
        "rows           12,345 (678 distinct by their OFs)",
        "OFs            3 in 9 features",
        "CFs            2 with 17 domain values",
        "memory, about  1,200 MB",
        "time, about    99 s with these settings",
        "model, about   31 MB",
        "warning: column 'x': odd: even it",
        "no problems and 1 warning found",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "0 s"), (0.0123, "0.012 s"), (59.9, "60 s"), (7654.0, "7,700 s")]
)
def test_a_time_is_said_to_two_digits(seconds, said):
    words = describe(Checked((), (), Plan(2, 2, 1, 1, 1, 2, 170.0, seconds, None, ())))
    assert f"time, about    {said} with" in words
    assert "model" not in words
