"""What estimators with one machine over all points share: the sample, the solver's memory, prediction."""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._common import CallbackSupportMixin, check_integer, check_positive, progress, warn
from mercer._compute.memory import allocate, parse_memory
from mercer._compute.points import count_points, take_points
from mercer.estimators import _svm
from mercer.estimators._base import KernelEstimator
from mercer.expansion import Expansion
from mercer.gram import Gram, kept_product, prepare_product
from mercer.kernels.bandwidth import warn_degenerate
from mercer.solvers.svm.newton import optimum, widened
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.smo import BESIDE
from mercer.solvers.svm.working_set import LANES

# Points that are compared with each other, and the share of their squared distances that a boundary may be wrong by.
_COMPARED, _HIDDEN = 200, 0.1


@dataclass(frozen=True)
class Sample:
    """Training points of positive weight.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    points : points (k)
    kept : int array (k,)
        Which training row each is.
    weights : float64 array (k,)
    """

    kernel: object
    points: object
    kept: np.ndarray
    weights: np.ndarray

    @property
    def dtype(self):
        """Type of coefficients: that of the points, float64 where they are not numbers."""
        return np.float32 if getattr(self.points, "dtype", None) == np.float32 else np.float64


class SingleMachine(KernelEstimator, CallbackSupportMixin):
    """Mixin of support vector estimators whose scores are one column; no mathematics."""

    @property
    def expansion_(self):
        """The normal of the machine, an Expansion over ``support_vectors_``."""
        check_is_fitted(self)
        if not len(self.dual_coef_):
            raise ValueError(
                f"{type(self).__name__} has no support vector to expand in: its tube holds all targets, and predicts "
                f"{self.intercept_[0]:.6g} everywhere. Give a smaller epsilon."
            )
        return Expansion(self.kernel_, self.support_vectors_, self.dual_coef_)

    def _check_solver(self):
        check_positive("tol", self.tol)
        parse_memory(self.memory)
        if self.max_iter != -1:
            check_integer("max_iter", self.max_iter)

    def _sample(self, X, sample_weight, n=None):
        """Return the points that count; ``n`` is how many there must be."""
        # a list of objects has no shape to ask
        given = None if sample_weight is None else _svm.weights(sample_weight, _num_samples(X) if n is None else n)
        kernel, points = self._training_points(X, sample_weight=given)
        size = count_points(points)
        if n is not None and size != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {size} rows, y has {n}."
            )
        weights = np.ones(size) if given is None else given
        kept = np.flatnonzero(weights > 0)
        points = points if len(kept) == size else take_points(points, kept)
        warn_degenerate(kernel, points)
        return Sample(kernel, points, kept, weights[kept])

    def _keep(self, sample, coef, solution):
        """Store the coefficients (k,) of the sample's points as fitted attributes."""
        used = np.flatnonzero(coef)
        self.kernel_ = sample.kernel
        self.support_ = sample.kept[used]
        self.support_vectors_ = take_points(sample.points, used)
        self.dual_coef_ = coef[used, None].astype(sample.dtype)
        self.n_iter_ = solution.n_iter
        prepare_product(sample.kernel, self.support_vectors_, self.dual_coef_)

    def _stored(self, sample):
        """Return the coefficients (k,) of the sample's points and K b (k,), in float64 from raw inputs."""
        place = np.full(sample.kept[-1] + 1, -1)
        place[sample.kept] = np.arange(len(sample.kept))
        support = place[self.support_]
        coef = np.zeros(len(sample.kept))
        if not len(support):
            return coef, np.zeros(len(coef))
        coef[support] = self.dual_coef_[:, 0]
        points = widened(sample.points)
        gram = Gram(self.kernel_, points, take_points(points, support))
        return coef, np.asarray(gram @ coef[support], np.float64)

    def _warn_unfinished(self, violation, tol, gain=np.nan):
        if violation > tol:
            certificate = self.certificate_
            warn(
                f"{type(self).__name__} stopped after {self.n_iter_} steps with a violation of {violation:.3g} above "
                f"{tol:.3g} and a relative gap of {certificate.gap / max(abs(certificate.dual), 1e-300):.3g}; "
                + _svm.remedy(gain, self.kernel_, self.support_vectors_),
                ConvergenceWarning,
            )
            return
        size = np.linalg.norm(self.dual_coef_)
        _svm.warn_rounded(type(self).__name__, self.kernel_, self.support_vectors_, size, tol)

    def _values(self, X):
        """Return <phi(x), normal> of new points (n_test,)."""
        X = self._new_points(X)
        if not len(self.dual_coef_):
            # a tube wide enough for all points needs none of them
            return np.zeros(count_points(X), self.dual_coef_.dtype)
        X = _svm.alike(X, self.support_vectors_)
        return kept_product(self.kernel_, X, self.support_vectors_, self.dual_coef_)[:, 0]


class Boundary(SingleMachine, OutlierMixin):
    """Mixin of machines that tell points inside from those outside, by ``score_samples`` and ``offset_``."""

    def _warn_coarse(self, sample, scale, violation, tol):
        """Warn where a violation, or rounding of kernel values up to a scale, hides what tells points apart."""
        if violation > tol:
            # said already
            return
        n = count_points(sample.points)
        some = take_points(sample.points, np.unique(np.linspace(0, n - 1, _COMPARED).astype(int)))
        K = np.asarray(sample.kernel(widened(some)), np.float64)
        spread = 2 * float(K.diagonal().mean() - K.mean())
        reached = max(float(violation), float(np.finfo(np.float64).eps * scale))
        if len(K) > 1 and reached > _HIDDEN * spread:
            warn(
                f"{type(self).__name__} knows its boundary to {reached:.1g} only, where squared distances of points "
                f"are {max(spread, 0.0):.1g} on average and k(x, x) is up to {scale:.1g}. Features far from the origin "
                "do this: subtract their mean (StandardScaler), or give a smaller tol.",
                ConvergenceWarning,
            )

    def decision_function(self, X):
        """Return ``score_samples(X) - offset_`` of new points, positive inside.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """Return 1 for points inside and -1 for those outside.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        int array (n_test,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


class Tube(SingleMachine, RegressorMixin):
    """Mixin of regression within a tube, whose values are scores and one constant."""

    def predict(self, X):
        """Return the values of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self._values(X) + self.intercept_[0]


@dataclass(frozen=True)
class Solver:
    """How the duals of an estimator are solved: rows of its kernel, and the memory and steps it allows.

    Attributes
    ----------
    kernel : Kernel
    points : points (n)
    rows : FusedRows or PlainRows
    means : dict
        ``max_iter``, ``memory`` and ``report`` of `mercer.solvers.svm.smo.solve`.
    """

    kernel: object
    points: object
    rows: object
    means: dict

    def optimum(self, dual, tol):
        """Return the solution of a dual to its last digits."""
        return optimum(self.kernel, self.points, self.rows, dual, tol, **self.means)


@contextmanager
def solver(estimator, kernel, points, accuracy):
    """Give what solves duals over some points, within the memory of an estimator and with its callbacks.

    Parameters
    ----------
    estimator : SingleMachine
    kernel : Kernel
    points : points (n)
    accuracy : float
        Largest root mean square error of a kernel value.

    Yields
    ------
    Solver
    """
    rows, budget = rows_of(kernel, points, accuracy), parse_memory(estimator.memory)
    n, item = count_points(points), rows.dtype.itemsize
    width = -(-n // LANES) * LANES
    memory = allocate(max(min(int(budget / (1 + BESIDE)) // item, n * width), 4 * LANES * width), rows.dtype)
    max_iter = max(10_000_000, 100 * n) if estimator.max_iter == -1 else estimator.max_iter
    with progress(estimator, "smo") as step:
        yield Solver(kernel, points, rows, {"memory": memory, "max_iter": max_iter, "report": _svm.Report(step)})
