"""NuSVC and NuSVR: support vector machines whose share of errors is prescribed instead of a price."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from mercer import _memory, _points, _threads, _validate
from mercer.estimators._single import SingleMachine, optimiser
from mercer.estimators.svc import SVC
from mercer.estimators.svr import merged, targets, tube, tube_certificate
from mercer.solvers.box import box_certificate
from mercer.solvers.nu import KeptRows, priced
from mercer.solvers.polish import polish
from mercer.solvers.rows import Square
from mercer.solvers.smo import solve
from mercer.solvers.working_set import LANES

# Points of each class that the first guess of a margin looks at.
_SAMPLE = 500
# A margin below this share of the first guess counts as none.
_TOUCHING = 1e-4
# Relative distance of the share from nu that is worth a warning; duals solved to ``tol`` only are inexact.
_MISSED = 1e-3


class NuSVC(SVC):
    r"""Support vector classification in which ``nu`` bounds the share of margin errors.

    .. math:: \min_b \tfrac12 b'Kb \quad\text{s.t.}\quad 0 \le y_i b_i \le w_i,\ \sum_i b_i = 0,\
        \sum_i |b_i| = \nu \sum_i w_i

    for each machine, whose coefficients and scores are then divided by the margin: it is the `SVC` whose price C is
    the reciprocal of the margin. At most the share ``nu`` of the training points lies inside the margin, and at least
    that share are support vectors.

    Parameters
    ----------
    nu : float in (0, 1]
        For a machine at most 2 min(W+, W-) / (W+ + W-) with the sums of weights of its classes; lowered to that with a
        warning.
    kernel, multi_class, tol, class_weight, decision_function_shape, break_ties, max_iter, memory :
        As for `SVC`; ``max_iter`` bounds each of the few duals that are solved.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, certificate_, n_iter_, kernel_ :
        As for `SVC`.

    Notes
    -----
    When ``nu`` is so small that the hulls of the classes meet, no margin exists: the machine with the smallest margin
    that was tried is kept, with a warning that gives its share.

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

    # the unit of prices: `nu` stands for C
    C = 1.0

    def __init__(
        self,
        nu=0.5,
        *,
        kernel="rbf",
        multi_class="ovo",
        tol=1e-3,
        class_weight=None,
        decision_function_shape="ovr",
        break_ties=False,
        max_iter=-1,
        memory="1GB",
    ):
        self.nu = nu
        self.kernel = kernel
        self.multi_class = multi_class
        self.tol = tol
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.max_iter = max_iter
        self.memory = memory

    def fit(self, X, y, sample_weight=None):
        """Find the machines of the training points.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : array (n,)
        sample_weight : array (n,), optional
            At least 0; a row of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _check_parameters(self):
        super()._check_parameters()
        _validate.positive("nu", self.nu)
        if self.nu > 1:
            raise ValueError(f"nu = {self.nu!r} must be at most 1: it is a share of the training points.")

    def _solve(self, problem):
        largest = min(_largest_nu(self._dual(problem, machine)) for machine in problem.machines)
        if self.nu > largest * (1 + 1e-12):
            warnings.warn(
                f"nu = {self.nu} is infeasible, the classes are too unequal; lowered to {largest:.6g}, the largest "
                "feasible value, where a machine needs it. Give the smaller class more weight, or a smaller nu.",
                UserWarning,
                stacklevel=3,
            )
        return super()._solve(problem)

    def _dual(self, problem, machine, coef=None):
        """Return the dual of a machine in units of its price, or with the price that its solution shows."""
        dual = super()._dual(problem, machine)
        if coef is None or not coef.any():
            return dual
        size, bound = np.abs(coef), dual.upper - dual.lower
        prices = bound * (size / bound).max()
        # a coefficient at its bound stays there when both were rounded
        near = np.abs(size - prices) <= 4 * np.finfo(problem.dtype).eps * prices
        prices = np.where(near, size, prices)
        return replace(dual, lower=np.where(dual.lower < 0, -prices, 0), upper=np.where(dual.upper > 0, prices, 0))

    def _optimum(self, problem, rows, dual, **means):
        """Return the solution of one machine in units of its margin."""
        sign, n = dual.target, len(dual.target)
        share = min(self.nu, _largest_nu(dual))
        wanted = share * float((dual.upper - dual.lower).sum())
        rows = self._kept(problem, rows, dual.points)
        guess = _guess(rows, dual)
        least = _TOUCHING * guess

        def optimum(margin, coef):
            margin = max(margin, least)
            own = replace(dual, target=margin * sign, coef=coef)
            solution = solve(rows, own, tol=margin * self.tol, **means)
            return polish(problem.kernel, problem.points, rows, own, solution, margin * self.tol)

        solution, margin = priced(optimum, sign, wanted, guess, np.zeros(n))
        margin, found = max(margin, least), float(sign @ solution.coef)
        if abs(found - wanted) <= _MISSED * wanted:
            solution, margin = _tightened(solution, sign, margin)
        elif found > wanted:
            warnings.warn(
                f"nu = {share:.6g} leaves no margin between the classes of a machine; kept the one of margin "
                f"{margin:.3g} and nu = {share * found / wanted:.6g}. Give a larger nu.",
                UserWarning,
                stacklevel=2,
            )
        return replace(
            solution, coef=solution.coef / margin, scores=solution.scores / margin, bias=solution.bias / margin,
            violation=solution.violation / margin,
        )  # fmt: skip

    def _kept(self, problem, rows, points):
        """Return rows that are computed once for all duals of a machine, where its share of the memory holds them."""
        n, width = len(points), -(-len(points) // LANES) * LANES
        crews = min(_threads.count(), len(problem.machines))
        if n * width * rows.dtype.itemsize > _memory.parse(self.memory) // (4 * crews):
            return rows
        return KeptRows(rows, Square(rows, points, np.empty(n * width, rows.dtype), LANES), points)


class NuSVR(SingleMachine, RegressorMixin, BaseEstimator):
    r"""Support vector regression in which ``nu`` bounds the share of points outside the tube.

    .. math:: \min_{w, b_0, \epsilon} \tfrac12 |w|^2 + \nu \epsilon \sum_i C_i
        + \sum_i C_i \max(0, |y_i - \langle w, \phi(x_i)\rangle - b_0| - \epsilon)

    It is the `SVR` of the width ``epsilon_``. At most the share ``nu`` of the points lies outside the tube.

    Parameters
    ----------
    nu : float in (0, 1]
    C : float
        Price of errors, above 0; that of a point is multiplied by its weight.
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved on the training data.
    tol : float
        Largest violation of the optimality conditions, in units of y.
    max_iter : int
        Pairs of variables optimised at most in each of the few duals that are solved; -1 for 100 times their number,
        and at least ten million.
    memory : str or int
        Bytes that kernel rows may take.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube.
    support_ : int array (n_sv,)
    support_vectors_ : points (n_sv)
    dual_coef_ : array (n_sv, 1)
    intercept_ : array (1,)
    certificate_ : Certificate
        Of the `SVR` with ``epsilon_``.
    n_iter_ : int
    kernel_ : Kernel
    n_features_in_ : int

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms*, Neural Computation 12 (2000), equations
    (8) to (16).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    >>> mc.NuSVR(nu=0.5, C=10.0, kernel="linear").fit(X, y).predict([[4.0]]).round(3)
    array([4.])
    """

    def __init__(self, nu=0.5, *, C=1.0, kernel="rbf", tol=1e-3, max_iter=-1, memory="1GB"):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory

    def fit(self, X, y, sample_weight=None):
        """Find the function of the training points and the width of its tube.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        sample_weight : array (n,), optional
            Factors of C, at least 0; a row of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        self._check_solver()
        _validate.positive("C", self.C)
        _validate.positive("nu", self.nu)
        if self.nu > 1:
            raise ValueError(f"nu = {self.nu!r} must be at most 1: it is a share of the training points.")
        y = targets(self, y)
        sample = self._sample(X, sample_weight, len(y))
        n, price, own = _points.count(sample.points), self.C * sample.weights, y[sample.kept]
        accuracy = self.tol / (price.max() * np.sqrt(n))
        guess = 0.1 * float(np.abs(own - np.median(own)).mean()) + np.finfo(float).tiny
        with optimiser(self, sample.kernel, sample.points, 2 * n, accuracy, repeated=True) as solved:

            def optimum(epsilon, coef):
                return solved(replace(_tube(own, epsilon, price), coef=coef), self.tol)

            narrower = np.repeat([-1.0, 1.0], n)
            solution, epsilon = priced(optimum, narrower, -self.nu * float(price.sum()), guess, np.zeros(2 * n))
        self._keep(sample, merged(solution.coef, n), solution)
        self.epsilon_ = float(epsilon)
        self.intercept_ = np.array([solution.bias], sample.dtype)
        self.certificate_ = box_certificate(_tube(own, epsilon, price), solution.coef, solution.scores, solution.bias)
        self._warn_unfinished(solution.violation, self.tol)
        return self

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

    def _certify(self, X, y, sample_weight):
        """Return the certificate in float64 from raw inputs."""
        y = targets(self, y)
        sample = self._sample(X, sample_weight, len(y))
        return tube_certificate(self, sample, tube(y[sample.kept], self.epsilon_, self.C * sample.weights), None)


def _largest_nu(dual):
    """Return the largest feasible nu of a classifier: twice the share of its smaller class."""
    upper, lower = float(dual.upper.sum()), float(-dual.lower.sum())
    return 2 * min(upper, lower) / (upper + lower)


def _tightened(solution, sign, margin):
    """Return the solution and the smallest margin of the same coefficients, where one class is at its bounds."""
    used = solution.coef != 0
    high = float(np.min(solution.scores, where=used & (sign > 0), initial=np.inf))
    low = float(np.max(solution.scores, where=used & (sign < 0), initial=-np.inf))
    room = 0.5 * (high - low)
    if not 0 < room < margin:
        return solution, margin
    return replace(solution, scores=solution.scores - room * sign, bias=0.5 * (high + low)), margin - room


def _guess(rows, dual):
    """Return about the margin of a machine: the distance of the classes' means, on a few points."""
    few = np.concatenate([_some(np.flatnonzero(dual.target > 0)), _some(np.flatnonzero(dual.target < 0))])
    sign = dual.target[few]
    weights = sign / np.where(sign > 0, (sign > 0).sum(), (sign < 0).sum())
    squared = float(weights @ rows.product(dual.points[few], dual.points[few], weights))
    size = float(np.abs(rows.diagonal[dual.points]).max())
    # a quarter of all prices belongs to means; optimal coefficients leave about a tenth of their distance
    return max(squared, 1e-6 * size, 1e-300) * 0.02 * float((dual.upper - dual.lower).sum())


def _some(places):
    return places[np.linspace(0, len(places) - 1, min(len(places), _SAMPLE)).astype(int)]


def _tube(y, epsilon, price):
    """Return the dual of a tube with two variables to a point, of no width too."""
    dual, n = tube(y, 1.0, price), len(y)
    return replace(dual, target=np.concatenate([y, y]) + np.repeat([-epsilon, epsilon], n))
