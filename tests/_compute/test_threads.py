import _thread
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl

from mercer._compute import threads
from mercer._compute.threads import check_cancelled, count_threads, limit_threads, run_tasks, serial_blas


def blas_threads():
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_every_task_is_done_once(n):
    done = []
    with limit_threads(n):
        run_tasks(done.append, 100)
    assert sorted(done) == list(range(100))


def test_no_task_is_no_work():
    run_tasks(pytest.fail, 0)


def test_tasks_run_on_as_many_threads_as_the_limit_says():
    meeting = threading.Barrier(3, timeout=30)
    with limit_threads(3):
        run_tasks(lambda _: meeting.wait(), 3)


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="n = 0 threads must be at least 1"), limit_threads(0):
        pass


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_first_exception_is_raised_and_stops_the_run(n):
    done = []

    def task(index):
        if index == 5:
            raise ArithmeticError("task 5")
        time.sleep(0.001)
        done.append(index)

    with limit_threads(n), pytest.raises(ArithmeticError, match="task 5"):
        run_tasks(task, 1000)
    assert len(done) < 100


@pytest.mark.parametrize("n", [1, 2])
def test_an_interrupt_stops_long_tasks_at_their_checkpoints(n):
    steps = []

    def task(_):
        for step in range(1000):
            check_cancelled()
            time.sleep(0.005)
            steps.append(step)

    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt), limit_threads(n):
        run_tasks(task, 2)
    count = len(steps)
    time.sleep(0.02)
    assert len(steps) == count < 1000


def test_blas_has_one_thread_inside_and_its_own_count_afterwards():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before, inside = blas_threads(), []

        def task(_):
            inside.extend(blas_threads())
            run_tasks(lambda _: inside.extend(blas_threads()), 2)

        with limit_threads(2):
            run_tasks(task, 4)
            with pytest.raises(ZeroDivisionError):
                run_tasks(lambda _: 1 / 0, 4)
        assert set(inside) == {1}
        assert blas_threads() == before


def test_runs_inside_tasks_of_every_thread_end():
    total = []
    with limit_threads(4):
        run_tasks(lambda i: run_tasks(lambda j: total.append((i, j)), 5), 50)
    assert sorted(total) == [(i, j) for i in range(50) for j in range(5)]


def test_runs_from_several_threads_at_once_end():
    done = []
    with limit_threads(2):
        callers = [threading.Thread(target=run_tasks, args=(done.append, 50)) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(30)
    assert sorted(done) == sorted(list(range(50)) * 8)


def test_blas_keeps_to_one_thread_where_products_are_small():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with serial_blas():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_a_limit_set_for_blas_is_kept():
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert count_threads() == 1


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_a_limit_in_the_environment_is_kept(name):
    code = "from mercer._compute.threads import count_threads; print(count_threads())"
    environment = {**os.environ, "OMP_NUM_THREADS": "64", name: "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "1"


def test_the_quota_of_a_cgroup_is_rounded_up(tmp_path):
    assert threads._quota(tmp_path) == np.inf
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads._quota(tmp_path) == 2
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads._quota(tmp_path) == np.inf


def test_the_quota_of_an_older_cgroup_is_read(tmp_path):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    for quota, expected in (("-1\n", np.inf), ("50000\n", 1)):
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
        assert threads._quota(tmp_path) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_starts_threads_of_its_own():
    # in a process of its own: one that has never forked, and whose threads are all its own
    code = """
import os, sys, threading
from mercer._compute.threads import limit_threads, run_tasks
def both():
    meeting = threading.Barrier(2, timeout=20)
    with limit_threads(2):
        run_tasks(lambda task: meeting.wait(), 2)
both()
child = os.fork()
if child == 0:
    both()
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
