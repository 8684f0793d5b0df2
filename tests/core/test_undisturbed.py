import signal

import pytest

from cfl_cli.core.process import SIGNALS, undisturbed


def test_a_signal_waits_for_the_end_of_the_block():
    done = []

    def work():
        with undisturbed(), undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]


def test_afterwards_everybody_listens_as_before():
    before = [signal.getsignal(number) for number in SIGNALS]
    with undisturbed():
        pass
    assert [signal.getsignal(number) for number in SIGNALS] == before
