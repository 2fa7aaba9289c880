"""Threads: every task once, limits, interrupts, BLAS with one thread, and forks."""

import _thread
import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl

import mercer
from mercer._compute import threads
from mercer._compute.threads import (
    check_cancelled,
    count_threads,
    limit_threads,
    rows_of_tiles,
    run_in_single_threads,
    run_interruptible,
    run_tasks,
    serial_blas,
    threaded_blas,
)


def blas_threads():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_every_task_is_done_once(n):
    done = []
    with limit_threads(n):
        run_tasks(done.append, 100)
    assert sorted(done) == list(range(100))


def test_without_tasks_the_function_is_not_called():
    run_tasks(pytest.fail, 0)


def test_tasks_run_on_as_many_threads_as_the_limit_allows():
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


def test_blas_has_one_thread_inside_and_its_earlier_count_afterwards():
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


def test_tasks_in_single_threads_start_no_threads():
    counts = []
    with limit_threads(3):
        run_in_single_threads(lambda _: counts.append(count_threads()), 5)
        assert count_threads() == 3
    assert counts == [1] * 5


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
        with serial_blas:
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_a_long_call_has_the_threads_of_blas_where_it_has_one_otherwise():
    seen = []
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with serial_blas:
            with threaded_blas(1e12):
                assert blas_threads() == before
                run_tasks(lambda _: seen.append(blas_threads()), 2)
            with threaded_blas(1e6):
                assert set(blas_threads()) == {1}
        assert [set(counts) for counts in seen] == [{1}, {1}]
        assert blas_threads() == before


def test_a_block_that_ends_on_another_thread_than_it_began_on_gives_blas_its_threads_back():
    begun, ended = threading.Event(), threading.Event()

    def other():
        with serial_blas:
            begun.set()
            ended.wait(30)

    thread = threading.Thread(target=other)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        thread.start()
        begun.wait(30)
        # the thread that set the limit is alive, and the one that lifts it is another
        with serial_blas:
            ended.set()
            thread.join(30)
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_fits_leave_blas_with_one_thread_and_give_its_threads_back():
    seen = []

    def kernel(A, B):
        seen.append(blas_threads())
        return A @ B.T

    X = np.random.default_rng(0).normal(size=(40, 3))
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        mercer.KernelRidge(kernel=kernel).fit(X, X[:, 0])
        assert {max(counts) for counts in seen} == {1}
        assert blas_threads() == before


@pytest.mark.parametrize("name", ["compress", "at", "combine", "learn_scales"])
def test_functions_of_many_short_calls_leave_blas_with_one_thread_too(name, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 3))
    library = threads._blas._libraries()[0]
    y, kernel, changes, change = (
        (X[:, 0] > 0).astype(int),
        mercer.Gaussian(0.5),
        [],
        library.set_num_threads,
    )
    model = mercer.SVC(kernel=kernel).fit(X, y)
    small = mercer.compress(model, X, y, n_vectors=6)
    call = {
        "compress": lambda: mercer.compress(model, X, y, n_vectors=4),
        "at": lambda: small.report_.at(3),
        "combine": lambda: mercer.combine([kernel, mercer.Polynomial(2)], X, y, method="svm"),
        "learn_scales": lambda: mercer.learn_scales(kernel, X, y, method="span"),
    }[name]
    monkeypatch.setattr(library, "set_num_threads", lambda n: changes.append(n) or change(n))
    with threadpoolctl.threadpool_limits(2, user_api="blas"), limit_threads(2):
        call()
    # a library may call its own function once more
    assert len(list(itertools.groupby(changes))) <= 4


def test_a_limit_set_for_blas_is_kept():
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert count_threads() == 1


@pytest.mark.parametrize(
    "name", [pytest.param("OMP_NUM_THREADS", marks=pytest.mark.slow), "NUMBA_NUM_THREADS"]
)
def test_a_limit_in_the_environment_is_kept(name):
    code = "from mercer._compute.threads import count_threads; print(count_threads())"
    environment = {**os.environ, "OMP_NUM_THREADS": "64", name: "1"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "1"


def computer(monkeypatch, cores, of_blas):
    """Let the computer have some cores, and BLAS some threads."""
    places = (threads.joblib, "cpu_count", cores), (threads._blas, "allowed", of_blas)
    for place, name, number in places:
        monkeypatch.setattr(place, name, lambda number=number: number)
    threads._cores.cache_clear()


def test_a_list_in_the_environment_limits_by_its_first_number(monkeypatch):
    computer(monkeypatch, 16, 8)
    for value, expected in (("3,1", 3), (" 2 ", 2), ("0", 8), ("many", 8), ("", 8), ("12", 8)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
        threads._cores.cache_clear()
        assert count_threads() == expected
    threads._cores.cache_clear()


def test_cores_are_those_of_joblib(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    computer(monkeypatch, 5, 64)
    assert count_threads() == 5
    threads._cores.cache_clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_starts_new_threads():
    # in a new process, which has never forked
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


def test_an_interrupt_ends_the_wait_for_a_function_and_the_function_at_its_next_checkpoint():
    ended = threading.Event()

    def work():
        try:
            for _ in range(400):
                check_cancelled()
                time.sleep(0.005)
        finally:
            ended.set()

    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work)
    assert time.monotonic() - start < 1
    assert ended.wait(1)


def test_an_interruptible_function_returns_raises_and_sees_context_as_without():
    assert run_interruptible(divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        run_interruptible(divmod, 7, 0)
    with limit_threads(3):
        assert run_interruptible(count_threads) == 3


@pytest.mark.parametrize("width", [1, 64, 700, 999, 1000, 1500, 1976, 1977, 5000])
def test_tiles_make_products_long_enough_for_threads_within_four_matrices(width):
    rows = rows_of_tiles(width)
    assert rows == 1024 or rows <= 4 * width
    # shorter only where no tile within four matrices is long enough
    assert rows * width**2 >= 4e9 or rows >= 4 * width
    with (
        threadpoolctl.threadpool_limits(2, user_api="blas"),
        serial_blas,
        threaded_blas(rows * width**2),
    ):
        assert max(blas_threads()) == (2 if rows * width**2 >= 4e9 else 1)


def test_a_long_product_is_computed_in_parts_between_which_ctrl_c_is_heard(costs):
    A, B = (np.random.default_rng(0).standard_normal(shape) for shape in [(30, 20), (20, 50)])
    parts = []

    class Counted(np.ndarray):
        def __matmul__(self, other):
            parts.append(other.shape[1])
            return np.asarray(self) @ other

    np.testing.assert_array_equal(threads.product(A.view(Counted), B), A @ B)
    assert parts == [50]
    costs(LONG=5 * A.size)
    np.testing.assert_allclose(threads.product(A.view(Counted), B), A @ B, rtol=1e-13)
    assert parts[1:] == [10] * 5
    assert threads.product(A, B[:, :0]).shape == (30, 0)
