from threading import Event

import pytest

from cfl_cli.core.parallel import Workers


def test_workers_are_not_stopped_when_all_went_well():
    with Workers(2) as workers:
        assert list(workers.map(str, range(3))) == ["0", "1", "2"]
        assert not workers.stopped
    assert not workers.stopped


def test_long_items_learn_that_an_error_has_ended_the_work():
    ended = Event()
    begun = Event()

    def work(item):
        if item == 0:
            begun.wait(10)
            raise ZeroDivisionError
        begun.set()
        while not workers.stopped:
            pass
        ended.set()

    with pytest.raises(ZeroDivisionError), Workers(2) as workers:
        list(workers.map(work, [0, 1]))
    assert workers.stopped
    assert ended.wait(10)
