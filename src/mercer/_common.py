"""Checks of single arguments, warnings that name the user's line, and the progress of iterative fits.

Callbacks came with scikit-learn 1.9 and are experimental there. Solvers see only a function ``step``; estimators
inherit `CallbackSupportMixin` from here, which is an empty class on older versions.
"""

import math
import sys
import warnings
from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand in for the mixin of scikit-learn 1.9: no callbacks."""

    def with_callbacks(method):
        """Stand in for the decorator of scikit-learn 1.9: the method itself."""
        return method


# The public way to tear callbacks down is a decorator around `fit`. Around nothing it does the same at the end of a
# `with` block, and estimators need no decorator of their own.
_tear_down = with_callbacks(lambda _estimator: None)


def check_positive(name, value):
    """Raise unless ``value`` is a finite number above 0."""
    check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name} = {value!r} must be above 0.")


def check_number(name, value):
    """Raise unless ``value`` is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        raise ValueError(f"{name} must be at most 1.8e308, the largest float64.") from None
    if not finite:
        raise ValueError(f"{name} = {value!r} must be finite.")


def check_integer(name, value, least=1):
    """Raise unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name} = {value!r} must be at least {least}.")


def check_weights(name, weights, n):
    """Return the weights of n points in float64 (n,): ones for None, n times the same for a number; or raise."""
    if weights is None:
        return np.ones(n)
    try:
        weights = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be numbers, one for each of {n} points, got {weights!r:.40}; weights of classes are the "
            "parameter class_weight of a classifier."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one weight for each point; got shape {weights.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] = {weights[bad[0]]} must be finite and at least 0.")
    if not weights.any():
        raise ValueError(f"{name} must not all be zero; give at least one point a positive weight.")
    return weights


def warn(message, category=UserWarning):
    """Warn with the line outside this package that led here, however deep the caller is.

    Parameters
    ----------
    message : str
    category : type

    Examples
    --------
    >>> import warnings
    >>> from mercer._common import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("look out")
    >>> str(caught[0].message), caught[0].category
    ('look out', <class 'UserWarning'>)
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def progress(estimator, name, max_iter=None):
    """Report the steps of an iteration to the callbacks set on an estimator.

    Without callbacks ``step`` costs one call and returns False. With callbacks every step is a task of scikit-learn's
    under one root task; teardown happens also when the block raises.

    Parameters
    ----------
    estimator : object
        The estimator being fitted.
    name : str
        What the steps are called, such as ``"smo"``.
    max_iter : int, default=None
        Upper bound on the number of steps, which a progress bar shows; None or a negative number if unknown.

    Yields
    ------
    step : callable
        ``step(i, **info)`` says that step number i is done, with numbers about it (such as ``gap=``), which callbacks
        see as metadata. It returns True if a callback asks the fit to stop.

    Notes
    -----
    Each reported step keeps a small record (about 1 kB) until the block ends, so a solver reports rounds, not updates.
    Steps beyond `max_iter` are not reported: a wrong bound must not end a fit.

    Examples
    --------
    >>> from mercer._common import progress
    >>> with progress(object(), "smo", max_iter=3) as step:
    ...     [step(i, gap=0.5**i) for i in range(3)]
    [False, False, False]
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield _silent
        return
    bound = None if max_iter is None or max_iter < 0 else max_iter
    try:
        root = estimator._init_callback_context(task_name=name, max_subtasks=bound)
        root.call_on_fit_task_begin(estimator=estimator)
        yield _reporter(estimator, root, name, bound)
        root.call_on_fit_task_end(estimator=estimator)
    finally:
        _tear_down(estimator)


def _silent(_i, **_info):
    return False


def _reporter(estimator, root, name, bound):
    reported = 0

    def step(i, **info):
        nonlocal reported
        if bound is not None and reported >= bound:
            return False
        reported += 1
        task = root.subcontext(task_name=name).call_on_fit_task_begin(estimator=estimator)
        return task.call_on_fit_task_end(estimator=estimator, metadata={"iteration": i, **info})

    return step
