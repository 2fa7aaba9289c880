"""One pool of threads for compiled code and BLAS calls on tiles; none of it changes a result.

Tasks are cut by the shape of the problem, never by the number of threads, and each writes where no other writes, so
results are bitwise the same for every count. The caller works too: alone when the count is 1, without any pool.
"""

import contextlib
import contextvars
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from functools import cache

import threadpoolctl

# Waits are cut into pieces of this many seconds, since some systems do not interrupt a wait for Ctrl-C.
_PATIENCE = 0.2

_limit = contextvars.ContextVar("mercer_threads", default=None)
_run = threading.local()


class Cancelled(BaseException):
    """Another task of the same run failed or was interrupted."""


def count_threads():
    """Return how many threads the next ``run`` may use.

    The smallest of: cores this process may run on, the CPU quota of its cgroup, OMP_NUM_THREADS and NUMBA_NUM_THREADS
    (joblib sets them in its workers), and the threads BLAS has been left (``threadpoolctl.threadpool_limits``).

    Returns
    -------
    int
        At least 1.
    """
    forced = _limit.get()
    return forced if forced is not None else max(1, min(_cores(), _blas.allowed()))


@contextlib.contextmanager
def limit_threads(n):
    """Use exactly n threads inside the ``with`` block, in this thread.

    Parameters
    ----------
    n : int

    Raises
    ------
    ValueError
        When n is below 1.
    """
    if n < 1:
        raise ValueError(f"n = {n!r} threads must be at least 1.")
    token = _limit.set(n)
    try:
        yield
    finally:
        _limit.reset(token)


def run_tasks(function, n_tasks):
    """Call ``function(0)``, ..., ``function(n_tasks - 1)``, each once, on several threads.

    Functions must release the GIL to gain by it. BLAS keeps to one thread of its own meanwhile. The first exception
    stops the run and is raised here, as is Ctrl-C; both wait for tasks under way, which end at their ``checkpoint``.

    Parameters
    ----------
    function : callable of the index of a task
    n_tasks : int
    """
    state = _State(function, n_tasks)
    with _blas:
        helpers = [
            _executor().submit(contextvars.copy_context().run, state.work)
            for _ in range(min(count_threads(), n_tasks) - 1)
        ]
        try:
            state.work()
            _wait(helpers)
        finally:
            # before that only by an exception or Ctrl-C
            state.stop.set()
            for helper in helpers:
                helper.cancel()
            _wait(helpers)
    if state.error is not None:
        raise state.error
    check_cancelled()


def serial_blas():
    """Return a ``with`` block in which BLAS keeps to one thread: many small products lose time on more."""
    return _blas


def check_cancelled():
    """Leave the task when its run has been stopped; long tasks call this every 0.1 s or so of work."""
    state = getattr(_run, "state", None)
    if state is not None and state.stopped():
        raise Cancelled


class _State:
    """What the threads of one run share."""

    def __init__(self, function, n_tasks):
        self.function = function
        self.stop = threading.Event()
        self.error = None
        self._tasks, self._lock = iter(range(n_tasks)), threading.Lock()
        self._outer = getattr(_run, "state", None)

    def stopped(self):
        """Whether this run, or one that a task of which started it, is to end."""
        return self.stop.is_set() or (self._outer is not None and self._outer.stopped())

    def work(self):
        """Take tasks until there are none left; which thread takes which changes nothing."""
        previous, _run.state = getattr(_run, "state", None), self
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
        pending = list(wait_for(pending, timeout=_PATIENCE).not_done)


class _Blas:
    """Holds BLAS to one thread while at least one run is under way, and gives back what it had."""

    def __init__(self):
        self._lock = threading.Lock()
        self._depth = 0
        self._before = []

    @staticmethod
    @cache
    def _libraries():
        # SciPy's BLAS is a second one; loaded here, so that the list is complete
        import scipy.linalg  # noqa: F401

        return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers

    def allowed(self):
        """Return the threads BLAS has when no run is under way."""
        with self._lock:
            counts = self._before if self._depth else [library.get_num_threads() for library in self._libraries()]
            return min((n for n in counts if n), default=math.inf)

    def __enter__(self):
        with self._lock:
            if not self._depth:
                self._before = [library.get_num_threads() for library in self._libraries()]
                for library in self._libraries():
                    library.set_num_threads(1)
            self._depth += 1

    def __exit__(self, *exception):
        with self._lock:
            self._depth -= 1
            if not self._depth:
                for library, n in zip(self._libraries(), self._before, strict=True):
                    library.set_num_threads(n)


@cache
def _cores():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = (os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"))
    # OMP_NUM_THREADS may be a list, one number for each level of nesting
    limits = [int(first) for first in (value.split(",")[0].strip() for value in asked) if first.isdecimal()]
    return max(1, min([cores, _quota(), *(n for n in limits if n > 0)]))


def _quota(root="/sys/fs/cgroup"):
    """Return the CPUs that the cgroup of this process may use, rounded up; infinite where there is no limit."""
    with contextlib.suppress(OSError, ValueError):
        with open(os.path.join(root, "cpu.max")) as file:
            quota, period = file.read().split()
        return math.inf if quota == "max" else max(1, math.ceil(int(quota) / int(period)))
    with contextlib.suppress(OSError, ValueError):
        numbers = []
        for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"):
            with open(os.path.join(root, "cpu", name)) as file:
                numbers.append(int(file.read()))
        return math.inf if numbers[0] < 0 else max(1, math.ceil(numbers[0] / numbers[1]))
    return math.inf


@cache
def _executor():
    # threads are started as tasks need them: the bound is for `limit` alone
    return ThreadPoolExecutor(64, thread_name_prefix="mercer")


def _after_fork():
    # threads do not survive a fork, and a lock may have been held by one that is gone
    global _blas
    _blas = _Blas()
    _run.state = None
    _executor.cache_clear()
    _cores.cache_clear()


_blas = _Blas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
