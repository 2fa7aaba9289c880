"""Threads and interrupts: a pool for compiled code and BLAS calls on tiles, which Ctrl-C ends.

Tasks are cut by the shape of the problem, never by the number of threads, and write to disjoint memory. The number
of threads changes no result. The calling thread works too; with one thread no pool is started.
"""

import contextlib
import contextvars
import math
import operator
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from functools import cache

import joblib
import numpy as np
import threadpoolctl

from mercer._common import setting, shown
from mercer._compute.costs import LONG, ROWS
from mercer._compute.memory import cut

# Seconds of one wait: some systems do not interrupt a wait for Ctrl-C.
_WAIT = 0.2

_limit = contextvars.ContextVar("mercer_threads", default=None)
_run = threading.local()


class Cancelled(BaseException):
    """Raised inside a task when another task of its run failed or was interrupted."""


def count_threads():
    """Return the number of threads for the next ``run_tasks``; inside ``limit_threads`` its n.

    Otherwise the least of joblib.cpu_count(), OMP_NUM_THREADS, NUMBA_NUM_THREADS and the threads left to BLAS.
    """
    forced = _limit.get()
    return forced if forced is not None else max(1, min(_cores(), _blas.allowed()))


def limit_threads(n):
    """Use exactly n threads inside the ``with`` block, for calls from this thread."""
    if n < 1:
        raise ValueError(f"n = {shown(n)} threads must be at least 1.")
    return setting(_limit, n)


def run_tasks(function, n_tasks):
    """Call ``function(0)``, ..., ``function(n_tasks - 1)``, each once, on several threads, with single-threaded BLAS.

    The first exception, or Ctrl-C, stops the run and is raised here after tasks under way reached ``check_cancelled``.
    """
    if n_tasks == 1:
        check_cancelled()
        with _tasks:
            function(0)
        return
    state = _State(function, n_tasks)
    with _tasks:
        helpers = [
            _executor().submit(contextvars.copy_context().run, state.work)
            for _ in range(min(count_threads(), n_tasks) - 1)
        ]
        try:
            state.work()
            _wait(helpers)
        finally:
            # reached before the tasks end only after an exception or Ctrl-C
            state.stop.set()
            for helper in helpers:
                helper.cancel()
            _wait(helpers)
    if state.error is not None:
        raise state.error
    check_cancelled()


def run_on_rows(function, n, step):
    """Call ``function(rows)`` for slices of n rows, ``step`` each, as ``run_tasks`` does."""
    run_tasks(lambda i: function(slice(i * step, min((i + 1) * step, n))), -(-n // step))


def run_in_single_threads(function, n_tasks, most=sys.maxsize):
    """Call ``run_tasks`` with tasks that take one thread each, so that runs inside of them start no threads.

    At most so many run at a time, and one at least; a task that runs alone has all threads.
    """
    workers = min(count_threads(), most)
    if workers <= 1:
        for i in range(n_tasks):
            function(i)
        return

    def task(i):
        with limit_threads(1):
            function(i)

    with limit_threads(workers):
        run_tasks(task, n_tasks)


def run_interruptible(function, *args, operations=math.inf):
    """Return ``function(*args)``, computed on another thread so that Ctrl-C ends the wait, unless it is a short call.

    It has to run without Python's lock. After Ctrl-C it goes on to its next ``check_cancelled``, for nobody.
    """
    if operations < LONG or threading.current_thread() is not threading.main_thread():
        return function(*args)
    found = []
    state = _State(lambda _: found.append(function(*args)), 1)
    helper = threading.Thread(
        target=contextvars.copy_context().run, args=(state.work,), daemon=True
    )
    helper.start()
    try:
        while helper.is_alive():
            helper.join(_WAIT)
    finally:
        state.stop.set()
    if state.error is not None:
        raise state.error
    if not found:
        raise Cancelled
    return found[0]


def threaded_blas(operations):
    """Return a ``with`` block in which BLAS has its threads inside of ``serial_blas``, if it has many operations."""
    return _threaded_blas if operations >= LONG else contextlib.nullcontext()


def serial_openmp():
    """Return a ``with`` block in which scikit-learn's loops in OpenMP use one thread."""
    return _openmp().limit(limits=1)


@cache
def _openmp():
    # import it first, so that the list of libraries has its own
    import sklearn.cluster  # noqa: F401

    return threadpoolctl.ThreadpoolController().select(user_api="openmp")


def rows_of_tiles(width):
    """Return how many rows T of a width to take at a time for a sum of T'T, within four matrices of that order.

    As many as make the product long enough for ``threaded_blas``, if these are enough.
    """
    return max(ROWS, min(math.ceil(LONG / width**2), 4 * width))


def product(A, B):
    """Return A @ B for two arrays, computed for some columns of B at a time so that Ctrl-C is heard between them."""
    # four long calls, a few tenths of a second; narrower parts take a third more time
    step = max(1, math.ceil(2 * LONG / max(1, A.size)))
    found = np.empty((A.shape[0], B.shape[1]), np.result_type(A, B))
    for columns in cut(B.shape[1], step):
        found[:, columns] = A @ B[:, columns]
    return found


def check_cancelled():
    """Raise ``Cancelled`` if the run of the calling task was stopped; long tasks call this about every 0.1 s."""
    state = getattr(_run, "state", None)
    if state is not None and state.stopped():
        raise Cancelled


class _State:
    """State shared by the threads of one run."""

    def __init__(self, function, n_tasks):
        self.function = function
        self.stop = threading.Event()
        self.error = None
        self._tasks = iter(range(n_tasks))
        self._lock = threading.Lock()
        self._outer = getattr(_run, "state", None)

    def stopped(self):
        """Return whether this run, or a run with a task that started it, is stopped."""
        return self.stop.is_set() or (self._outer is not None and self._outer.stopped())

    def work(self):
        """Run the remaining tasks, one after the other."""
        previous = getattr(_run, "state", None)
        _run.state = self
        try:
            while (task := self._next()) is not None and not self.stopped():
                self.function(task)
        except Cancelled:
            pass
        except BaseException as error:
            self.stop.set()
            self.error = self.error or error
        finally:
            _run.state = previous

    def _next(self):
        with self._lock:
            return next(self._tasks, None)


def _wait(helpers):
    pending = [helper for helper in helpers if not helper.cancelled()]
    while pending:
        pending = list(wait_for(pending, timeout=_WAIT).not_done)


_count_of = operator.methodcaller("get_num_threads")


class _Blas:
    """Number of threads of BLAS: one inside of tasks, and of serial blocks that have no threaded block inside.

    Blocks of all threads of the process count together, as BLAS has one number for all.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._open = {"tasks": 0, "serial": 0, "threaded": 0}
        # the numbers of threads outside; empty while BLAS has them
        self._before = []

    @staticmethod
    @cache
    def _libraries():
        # SciPy has its own BLAS; import it first, so that the list is complete
        import scipy.linalg  # noqa: F401

        return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers

    def allowed(self):
        """Return the number of threads that BLAS has outside of blocks."""
        with self._lock:
            counts = self._before or list(map(_count_of, self._libraries()))
            return min(filter(None, counts), default=math.inf)

    def change(self, kind, change):
        """Count one more, or one fewer, open block of a kind, and set the number of threads where this changes it."""
        with self._lock:
            self._open[kind] += change
            one = self._open["tasks"] or (self._open["serial"] and not self._open["threaded"])
            if bool(one) == bool(self._before):
                return
            if one:
                self._before = list(map(_count_of, self._libraries()))
            # each call takes as long as a pass over a small array
            libraries = [] if set(self._before) == {1} else self._libraries()
            for library, n in zip(libraries, self._before, strict=False):
                # threadpoolctl ignores all threads but the one that came first, and blocks may end on another; other
                # libraries and older versions of it ignore none
                release = getattr(library, "clear_controlling_thread", None)
                if release is not None:
                    release(force=True)
                library.set_num_threads(1 if one else n)
                if release is not None:
                    release(force=True)
            if not one:
                self._before = []


class _Block:
    """A ``with`` block of a kind that counts as open; it may stand inside of itself."""

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        _blas.change(self.kind, 1)

    def __exit__(self, *_error):
        _blas.change(self.kind, -1)


@cache
def _cores():
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    # OMP_NUM_THREADS may be a list, one number for each level of nesting
    texts = (os.environ.get(name, "").split(",")[0].strip() for name in names)
    limits = [int(text) for text in texts if text.isdecimal() and int(text) > 0]
    return min([joblib.cpu_count(), *limits])


@cache
def _executor():
    # threads start when tasks need them; 64 bounds `limit_threads`
    return ThreadPoolExecutor(64, thread_name_prefix="mercer")


def _after_fork():
    # threads do not survive a fork, and one of them may have held a lock
    global _blas
    _blas = _Blas()
    _run.state = None
    _executor.cache_clear()
    _cores.cache_clear()


_blas = _Blas()
_tasks = _Block("tasks")
_threaded_blas = _Block("threaded")
# A ``with`` block in which BLAS uses one thread, except for long calls and where blocks say so. Threads of OpenBLAS
# wait for about 0.1 s after each call without giving up their processor: they take it from all that follows, other
# threads and the BLAS of another library (NumPy and SciPy have one each) included.
serial_blas = _Block("serial")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
