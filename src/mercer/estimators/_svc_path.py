"""Classifiers for many prices of slack, each started from its neighbour."""

from dataclasses import replace

import numpy as np

from mercer._common import check_positive
from mercer._compute.memory import allocate, parse_memory
from mercer.estimators.svc import SVC
from mercer.solvers.svm.newton import polish
from mercer.solvers.svm.path import LazyValues, StoredValues, along
from mercer.solvers.svm.rows import rows_of


def svc_path(X, y, Cs, *, kernel, tol=1e-3, class_weight=None, sample_weight=None, multi_class="ovo", memory="1GB"):
    """Return support vector classifiers for many C, each started from its neighbour.

    Parameters
    ----------
    X : points (n)
    y : array (n,)
        Labels of any kind.
    Cs : array (k,)
        Prices of slack, above 0, in any order.
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
    tol, class_weight, sample_weight, multi_class, memory
        As in `SVC` and its ``fit``.

    Returns
    -------
    list of SVC
        Fitted, one for each C in the order given, each with its ``certificate_``.

    Raises
    ------
    ValueError
        For a C that is not above 0; ConvergenceWarning where a solution stays above ``tol``.

    Notes
    -----
    Kernel values are computed once for each machine where ``memory`` holds them (float32 where rounding allows), row by
    row otherwise.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.estimators._svc_path import svc_path
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> [len(model.support_) for model in svc_path(X, y, [0.1, 10.0], kernel=mc.Gaussian(0.5))]
    [4, 2]
    """
    Cs = prices(Cs)
    model = SVC(C=1.0, kernel=kernel, tol=tol, class_weight=class_weight, multi_class=multi_class, memory=memory)
    model._check_parameters()
    problem = model._problem(X, y, sample_weight)
    budget, largest = parse_memory(memory), float(problem.prices.max()) * Cs.max()
    rows = rows_of(problem.kernel, problem.points, tol / (largest * np.sqrt(len(problem.prices))))
    ascending = np.argsort(Cs, kind="stable")
    found = [[None] * len(problem.machines) for _ in Cs]
    for m, (machine, values) in enumerate(with_values(problem, rows, budget, rows.dtype)):
        weight = problem.prices[machine.rows]
        solutions = along(values, machine.sign, machine.rows, weight, Cs[ascending], tol=tol, max_iter=limit(machine))
        for k, solution in zip(ascending, solutions, strict=True):
            dual = model._dual(_at(problem, Cs[k]), machine)
            found[k][m] = polish(problem.kernel, problem.points, rows, dual, solution, tol)
    return [_fitted(model, problem, C, solutions) for C, solutions in zip(Cs, found, strict=True)]


def prices(Cs):
    """Return prices as an array, or raise for the first that is not above 0."""
    Cs = np.asarray(Cs, np.float64)
    if Cs.ndim != 1 or not len(Cs):
        raise ValueError(f"Cs must be a list of at least one price, got shape {Cs.shape}.")
    for k, C in enumerate(Cs):
        check_positive(f"Cs[{k}]", float(C))
    return Cs


def limit(machine):
    """Return how many pairs may be optimised for each price."""
    return max(10_000_000, 100 * len(machine.rows))


def with_values(problem, rows, budget, dtype):
    """Yield every machine with its kernel values: machines that see the same rows share them."""
    known, values = None, None
    for machine in problem.machines:
        if known is None or not np.array_equal(known, machine.rows):
            # the old values go before the new ones come
            values = None
            known, values = machine.rows, _values(machine, rows, budget, np.dtype(dtype))
        yield machine, values


def _values(machine, rows, budget, dtype):
    size = len(machine.rows)
    # whole lanes, and a second block where the rows come in another type
    needed = size * (size + 256) * dtype.itemsize + (0 if rows.dtype == dtype else size**2 * rows.dtype.itemsize)
    if needed <= budget:
        return StoredValues(rows, machine.rows, dtype)
    values = max(budget // rows.dtype.itemsize, 1024 * (size + 256))
    return LazyValues(rows, machine.rows, allocate(values, rows.dtype))


def _at(problem, C):
    return replace(problem, prices=problem.prices * C)


def _fitted(model, problem, C, solutions):
    """Return a classifier with the solutions of its machines."""
    fitted = SVC(**model.get_params(deep=False) | {"C": float(C)})
    for name in ("n_features_in_", "feature_names_in_", "_n_rows"):
        if hasattr(model, name):
            setattr(fitted, name, getattr(model, name))
    return fitted._keep(_at(problem, C), solutions)
