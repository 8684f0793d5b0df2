import os
import signal
from threading import Event, get_ident
from time import sleep

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from cfl_cli.core.parallel import Workers, available_cores, interrupts_wait, slices


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


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_items_order_however_many_threads_there_are(jobs):
    def slow_at_first(item):
        sleep(0.002 * (10 - item))
        return item**2

    with Workers(jobs) as workers:
        assert list(workers.map(slow_at_first, range(10))) == [item**2 for item in range(10)]


def test_the_first_error_is_raised_and_the_rest_is_not_begun():
    begun = []

    def work(item):
        begun.append(item)
        if item == 1:
            raise ZeroDivisionError
        sleep(0.001)

    def run():
        with Workers(1) as workers:
            return list(workers.map(work, range(100)))

    with pytest.raises(ZeroDivisionError):
        run()
    assert len(begun) < 100


def test_linear_algebra_has_one_thread_within_and_as_many_as_before_afterwards():
    np.ones((2, 2)) @ np.ones((2, 2))  # its library is loaded
    before = [pool["num_threads"] for pool in threadpool_info()]
    with Workers(3):
        assert {pool["num_threads"] for pool in threadpool_info()} <= {1}
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def blocked(_=None):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.unix
def test_threads_of_a_pool_leave_interrupts_to_others():
    with Workers(2) as workers:
        assert all(workers.map(blocked, range(4)))
    assert not blocked()


@pytest.mark.unix
def test_an_interrupt_waits_until_the_block_ends():
    seen = []

    def interrupted():
        with interrupts_wait():
            signal.pthread_kill(get_ident(), signal.SIGINT)
            seen.append("within")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert seen == ["within"]


@pytest.mark.parametrize(("total", "size"), [(0, 3), (1, 3), (3, 3), (10, 3), (10, 100)])
def test_slices_cover_every_place_once_and_are_no_longer_than_asked(total, size):
    cut = slices(total, size)
    assert [place for part in cut for place in range(total)[part]] == list(range(total))
    assert all(0 < part.stop - part.start <= size for part in cut)


def test_the_cores_are_those_that_the_process_may_use(monkeypatch):
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1
