"""svc_path: classifiers for many C, each started from its neighbour."""

from typing import Any

import numpy as np

from mercer._common import ArrayLike, Memory, PointsLike
from mercer._compute.devices import anywhere
from mercer._compute.threads import serial_blas
from mercer.estimators._svm import Solved, check_positives, copy_validation
from mercer.estimators.classifier import ClassificationProblem, store
from mercer.estimators.svc import SVC
from mercer.kernels.shorthand import KernelLike
from mercer.solvers.svm.dual import Solution
from mercer.solvers.svm.path import refined, solve_path, with_known_rows


@anywhere
def svc_path(
    X: PointsLike,
    y: ArrayLike,
    Cs: ArrayLike,
    *,
    kernel: KernelLike,
    tol: float = 1e-3,
    class_weight: dict[Any, float] | str | None = None,
    sample_weight: ArrayLike | None = None,
    multi_class: str = "ovo",
    memory: Memory = "1GB",
) -> list[Any]:
    """Return support vector classifiers for many C, each started from its neighbour.

    Parameters
    ----------
    X : points (n)
    y : array (n,)
        Labels of any kind.
    Cs : array (k,)
        Regularisation parameters, positive, in any order.
    kernel : Kernel, str or callable
    tol, class_weight, sample_weight, multi_class, memory
        As for `SVC` and its ``fit``.

    Returns
    -------
    list of SVC
        Fitted, one for each C in the order given, each with its ``certificate_``.

    Raises
    ------
    ValueError
        For a C that is not positive.

    Warns
    -----
    ConvergenceWarning
        For a solution that violates by more than ``tol``.

    Notes
    -----
    Kernel values are computed once for each binary classifier if ``memory`` holds them (in float32 if its rounding is
    small), row by row otherwise.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> [len(model.support_) for model in mc.svc_path(X, y, [0.1, 10.0], kernel=mc.Gaussian(0.5))]
    [4, 2]
    """
    Cs = check_positives("Cs", Cs)
    path = _Path(
        kernel=kernel, tol=tol, class_weight=class_weight, multi_class=multi_class, memory=memory
    )
    with serial_blas:
        return path.models(X, y, Cs, sample_weight)


class _Path(ClassificationProblem):
    """The parameters that the classifiers of a path share."""

    def models(
        self, X: PointsLike, y: ArrayLike, Cs: ArrayLike, sample_weight: ArrayLike | None
    ) -> list[SVC]:
        """Return the fitted classifiers."""
        self._check_parameters()
        problem = self._problem(X, y, sample_weight, "svc_path")
        problem.upper_bounds(Cs.min(), "Cs")
        upper = problem.upper_bounds(1.0)
        order = np.argsort(Cs, kind="stable")
        found = [[None] * len(problem.binary) for _ in Cs]
        with self._training(problem) as options:
            widest = problem.binary.duals(Cs.max() * upper)
            rows = options.rows(problem.kernel, problem.points, widest)

            def solve(m, unit, known):
                for k, solution in zip(
                    order, solve_path(rows, unit, Cs[order], options, known), strict=True
                ):
                    found[k][m] = refined(rows, unit.times(Cs[k]), solution, self.tol)

            with_known_rows(rows, problem.binary.duals(upper), options, rows.dtype, solve)
        models = [SVC(float(C), **self.get_params(deep=False)) for C in Cs]
        for model, solutions in zip(models, found, strict=True):
            copy_validation(self, model)
            duals = problem.binary.duals(model.C * upper)
            store(model, problem, Solved(duals, Solution.joined(solutions), self.tol, rows.error))
        return models
