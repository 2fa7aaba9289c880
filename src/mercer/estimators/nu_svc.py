"""NuSVC: support vector classification with a prescribed share of margin errors."""

from dataclasses import replace
from typing import Self

import numpy as np

from mercer._common import ArrayLike, PointsLike, warn
from mercer._compute.points import widened
from mercer.estimators._svm import check_share
from mercer.estimators.base import count_rows, given_weights
from mercer.estimators.classifier import SupportVectorClassifier, store
from mercer.estimators.model import fits, storable_estimator
from mercer.solvers.certify import total
from mercer.solvers.svm import certificate
from mercer.solvers.svm.certificates import AT_BOUND, STORED
from mercer.solvers.svm.nu import smallest_margin
from mercer.solvers.svm.rows import rows_of

# A margin is the smallest one up to this factor: that of the fit may be computed in float32.
_ROUNDED = 2


@storable_estimator
class NuSVC(SupportVectorClassifier):
    r"""Support vector classification in which ``nu`` bounds the share of margin errors.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le y_i b_i \le w_i,\ \sum_i b_i = 0,\
        \sum_i |b_i| = \nu \sum_i w_i

    for each binary classifier, whose coefficients and decision values are then divided by the margin: it is the `SVC`
    whose C is the reciprocal of the margin. At most the share ``nu`` of the training points lies inside the margin, and
    at least that share are support vectors.

    Parameters
    ----------
    nu : float in (0, 1]
        At most 2 min(W+, W-) / (W+ + W-) with the sums of weights of the two classes of each binary classifier; lowered
        to that with a warning.
    kernel, gamma, degree, coef0, multi_class, tol, class_weight :
    decision_function_shape, break_ties, max_iter, memory :
        As for `SVC`; ``max_iter`` is the limit of each of at most two runs of the solver.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, certificate_, n_iter_, kernel_ :
        As for `SVC`.

    Notes
    -----
    If ``nu`` is so small that the reduced convex hulls of the classes meet, no margin exists: the classifier of a small
    margin is returned, with a warning that gives its share. At the largest ``nu`` all points of the smaller class are
    at their bounds, and a range of intercepts is optimal: the boundary half way between the classes is taken, or one
    nearer to the smaller class, in the proportion of the weights, if ``class_weight`` favours the larger class.

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000); Crisp,
    Burges, *A geometric interpretation of nu-SVM classifiers* (2000), for the feasible range.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    >>> mc.NuSVC(nu=0.5, kernel=mc.Gaussian(0.5)).fit(X, y).predict([[0.2], [2.8]])
    array(['a', 'b'], dtype='<U1')
    """

    nu: float = 0.5

    # rows are computed on demand
    _wide = False
    _steps = 4

    @fits
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to training points.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows if the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : array (n,)
        sample_weight : array (n,), optional
            At least 0; a row of weight 0 is ignored.

        Returns
        -------
        self
        """
        return self._fit_points(X, y, given_weights(sample_weight, count_rows(X)))

    def _check_parameters(self):
        super()._check_parameters()
        check_share("nu", self.nu)

    def _over_all(self, problem):
        duals = self._duals(problem)
        bounds = duals.sums(duals.upper - duals.lower)
        feasible = float((duals.total / bounds).min())
        if self.nu > feasible * (1 + 1e-12):
            warn(
                f"nu = {self.nu} is infeasible for classes so unequal; lowered to {feasible:.6g}, the largest feasible "
                "value, where necessary. Give the smaller class more weight, or a smaller nu.",
            )
        solved = self._solved(problem, duals)
        store(self, problem, solved)
        # small margins are taken where there are none for ``nu``
        margins = solved.solutions.margin
        kept = margins * duals.sums(np.abs(solved.solutions.coef))
        for k in np.flatnonzero(kept > duals.total * (1 + AT_BOUND)).tolist():
            warn(
                f"nu = {duals.total[k] / bounds[k]:.6g} leaves no margin between two classes; the classifier of margin "
                f"{margins[k]:.3g} and nu = {kept[k] / bounds[k]:.6g} is returned. Give a larger nu or, if "
                "features lie far from the origin, subtract their mean.",
            )

    def _duals(self, problem):
        """Return the duals of all binary classifiers: bounds are weights, the sum of sizes is prescribed."""
        upper = problem.upper_bounds(1.0)
        duals = problem.binary.duals(upper)
        positive = duals.sums(duals.upper)
        negative = -duals.sums(duals.lower)
        bounds = positive + negative
        # twice the share of the smaller class is the largest feasible nu
        nu = np.minimum(float(self.nu), 2 * np.minimum(positive, negative) / bounds)
        signed = problem.weights[duals.points] * duals.target
        of_positive = duals.sums(np.maximum(signed, 0.0))
        of_negative = -duals.sums(np.minimum(signed, 0.0))
        return replace(
            duals,
            total=nu * bounds,
            factors=np.array((positive / of_positive, negative / of_negative)).T,
        )

    def _recomputed(self, problem, shift):
        """Return the certificate of the stored coefficients in float64, which belong to no other ``nu``."""
        duals = self._duals(problem)
        kernel = self._certified_kernel(problem)
        rows = rows_of(kernel, widened(problem.points), 0.0)
        coef, gradient = self._stored(problem, duals)
        rounding = problem.rounding
        found = []
        for k, dual in enumerate(duals):
            own = slice(duals.stops[k], duals.stops[k + 1])
            solution = dual, coef[own], gradient[own], float(self.intercept_[k]), rounding
            apart = _apart(rows, *solution)
            part = certificate(*solution, shift)
            found.append(replace(part, dual=-np.inf, kkt=part.kkt + apart) if apart else part)
        return total(found)


def _apart(rows, dual, coef, gradient, bias, rounding):
    """Return the relative error of the sum of coefficients in units of a margin, 0 for a sum that solves for ``nu``."""
    size = np.abs(coef)
    unit = dual.upper - dual.lower
    C = float((size / unit).max())
    total = dual.total.item()
    kept = float(size.sum()) / C
    apart = abs(kept / total - 1)
    if apart <= AT_BOUND:
        return 0.0
    # what a negative eigenvalue may hide is no loss
    found = certificate(dual, coef, gradient, bias, rounding)
    # rounding of stored coefficients and intercept moves all values together, which is a loss and not a violation, by
    # at most 3 roundings in the losses and in their sum with the quadratic form
    moved = STORED * rounding * float(np.abs(rows.diagonal[dual.points]).max() * size.sum())
    allowed = C * float(unit.sum()) * (found.kkt + moved + AT_BOUND)
    without_loss = 2 * found.primal - size.sum() <= allowed
    # a larger sum is right without coefficients at their bounds, and where no margin exists
    if kept > total and (without_loss or _ROUNDED * C * smallest_margin(rows, dual) >= 1):
        return 0.0
    return apart
