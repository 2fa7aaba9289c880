import _thread
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl

from mercer import _threads


def blas_threads():
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_every_task_is_done_once(n):
    done = []
    with _threads.limit(n):
        _threads.run(done.append, 100)
    assert sorted(done) == list(range(100))


def test_no_task_is_no_work():
    _threads.run(pytest.fail, 0)


def test_tasks_run_on_as_many_threads_as_the_limit_says():
    meeting = threading.Barrier(3, timeout=30)
    with _threads.limit(3):
        _threads.run(lambda _: meeting.wait(), 3)


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="n = 0 threads must be at least 1"), _threads.limit(0):
        pass


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_first_exception_is_raised_and_stops_the_run(n):
    done = []

    def task(index):
        if index == 5:
            raise ArithmeticError("task 5")
        time.sleep(0.001)
        done.append(index)

    with _threads.limit(n), pytest.raises(ArithmeticError, match="task 5"):
        _threads.run(task, 1000)
    assert len(done) < 100


@pytest.mark.parametrize("n", [1, 2])
def test_an_interrupt_stops_long_tasks_at_their_checkpoints(n):
    steps = []

    def task(_):
        for step in range(1000):
            _threads.checkpoint()
            time.sleep(0.005)
            steps.append(step)

    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt), _threads.limit(n):
        _threads.run(task, 2)
    count = len(steps)
    time.sleep(0.02)
    assert len(steps) == count < 1000


def test_blas_has_one_thread_inside_and_its_own_count_afterwards():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before, inside = blas_threads(), []

        def task(_):
            inside.extend(blas_threads())
            _threads.run(lambda _: inside.extend(blas_threads()), 2)

        with _threads.limit(2):
            _threads.run(task, 4)
            with pytest.raises(ZeroDivisionError):
                _threads.run(lambda _: 1 / 0, 4)
        assert set(inside) == {1}
        assert blas_threads() == before


def test_runs_inside_tasks_of_every_thread_end():
    total = []
    with _threads.limit(4):
        _threads.run(lambda i: _threads.run(lambda j: total.append((i, j)), 5), 50)
    assert sorted(total) == [(i, j) for i in range(50) for j in range(5)]


def test_runs_from_several_threads_at_once_end():
    done = []
    with _threads.limit(2):
        callers = [threading.Thread(target=_threads.run, args=(done.append, 50)) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(30)
    assert sorted(done) == sorted(list(range(50)) * 8)


def test_blas_keeps_to_one_thread_where_products_are_small():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with _threads.serial_blas():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_a_limit_set_for_blas_is_kept():
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert _threads.count() == 1


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_a_limit_in_the_environment_is_kept(name):
    code = "from mercer import _threads; print(_threads.count())"
    environment = {**os.environ, "OMP_NUM_THREADS": "64", name: "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "1"


def test_the_quota_of_a_cgroup_is_rounded_up(tmp_path):
    assert _threads._quota(tmp_path) == np.inf
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert _threads._quota(tmp_path) == 2
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert _threads._quota(tmp_path) == np.inf


def test_the_quota_of_an_older_cgroup_is_read(tmp_path):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    for quota, expected in (("-1\n", np.inf), ("50000\n", 1)):
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
        assert _threads._quota(tmp_path) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_starts_threads_of_its_own():
    # in a process of its own: one that has never forked, and whose threads are all its own
    code = """
import os, sys, threading
from mercer import _threads
def both():
    meeting = threading.Barrier(2, timeout=20)
    with _threads.limit(2):
        _threads.run(lambda task: meeting.wait(), 2)
both()
child = os.fork()
if child == 0:
    both()
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
