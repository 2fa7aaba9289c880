"""NuSVC and NuSVR: support vector machines whose share of errors is prescribed instead of a price."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from mercer._common import check_positive, warn
from mercer._compute.points import count_points
from mercer.estimators import _svm
from mercer.estimators._single import Tube, solver
from mercer.estimators.svc import SVC
from mercer.estimators.svr import targets, tube, tube_certificate
from mercer.solvers.svm.duals import box_certificate
from mercer.solvers.svm.max_margin import widest_margin
from mercer.solvers.svm.newton import polish
from mercer.solvers.svm.nu_svr import settled, solve_share
from mercer.solvers.svm.smo import solve

# A margin below this share of what the distance of the classes' means would give counts as none: then a machine of
# this share is kept.
_TOUCHING, _KEPT = 1e-4, 1e-2


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
        As for `SVC`; ``max_iter`` bounds the steps of each.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, certificate_, n_iter_, kernel_ :
        As for `SVC`.

    Notes
    -----
    One dual with two sums is solved. When ``nu`` is so small that the hulls of the classes meet, no margin exists: the
    machine of a small margin is kept, with a warning that gives its share. At the largest ``nu`` all points of the
    smaller class are at their bounds, and every boundary from half way between the levels of the classes on is
    optimal: half way is taken, or farther by the proportion of the weights where ``class_weight`` favours the larger
    class.

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
        check_positive("nu", self.nu)
        if self.nu > 1:
            raise ValueError(f"nu = {self.nu!r} must be at most 1: it is a share of the training points.")

    def _solve(self, problem):
        largest = min(_largest_nu(self._dual(problem, machine)) for machine in problem.machines)
        if self.nu > largest * (1 + 1e-12):
            warn(
                f"nu = {self.nu} is infeasible, the classes are too unequal; lowered to {largest:.6g}, the largest "
                "feasible value, where a machine needs it. Give the smaller class more weight, or a smaller nu.",
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
        share = min(self.nu, _largest_nu(dual))
        bounds = dual.upper - dual.lower
        total = 0.5 * share * float(bounds.sum())
        means.pop("shared")
        solution, margin, unit = widest_margin(
            problem.kernel, problem.points, rows, dual, total, self.tol, _TOUCHING, **means
        )
        if margin <= _TOUCHING * unit:
            solution, margin = self._touching(problem, rows, dual, _KEPT * unit, solution, total, means)
        elif total >= (1 - 1e-12) * min(dual.upper.sum(), -dual.lower.sum()):
            class_weight = problem.class_weight[problem.codes[dual.points]]
            solution, margin = _placed(solution, dual, margin, class_weight)
        return _svm.in_margins(solution, margin)

    def _touching(self, problem, rows, dual, least, solution, total, means):
        """Return the solution of the smallest margin that counts, where there is none, and say so."""
        own = replace(dual, target=least * dual.target, coef=solution.coef)
        found = solve(rows, own, tol=least * self.tol, **means)
        found = polish(problem.kernel, problem.points, rows, own, found, least * self.tol)
        kept = 0.5 * float(dual.target @ found.coef)
        bounds = float((dual.upper - dual.lower).sum())
        warn(
            f"nu = {2 * total / bounds:.6g} leaves no margin between the classes of a machine; kept the one of margin "
            f"{least:.3g} and nu = {2 * kept / bounds:.6g}. Give a larger nu, or, "
            "where features lie far from the origin, subtract their mean.",
        )
        return replace(found, n_iter=solution.n_iter + found.n_iter), least


class NuSVR(Tube, BaseEstimator):
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
        With its numbers, as for `SVC`. Bandwidth rules are resolved on the training data.
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
        check_positive("C", self.C)
        check_positive("nu", self.nu)
        if self.nu > 1:
            raise ValueError(f"nu = {self.nu!r} must be at most 1: it is a share of the training points.")
        y = targets(self, y)
        sample = self._sample(X, sample_weight, len(y))
        n, price = count_points(sample.points), self.C * sample.weights
        total = self.nu * float(price.sum())
        line = tube(y[sample.kept], 0.0, price)
        with solver(self, sample.kernel, sample.points, self.tol / (price.max() * np.sqrt(n))) as means:
            solution = solve_share(means.rows, line, total, tol=self.tol, **means.means)
            if solution.tube <= self.tol:
                # no width at all: then fewer errors than nu allows may be left
                exact = means.optimum(replace(line, coef=solution.coef), self.tol)
                exact = replace(exact, n_iter=exact.n_iter + solution.n_iter)
                solution = exact if np.abs(exact.coef).sum() <= total * (1 + 1e-12) else solution
            if solution.tube > 0:
                solution = self._settled(means, line, total, solution)
        self._keep(sample, solution.coef, solution)
        self.epsilon_ = solution.tube
        self.intercept_ = np.array([solution.bias], sample.dtype)
        dual = replace(line, tube=solution.tube)
        self.certificate_ = box_certificate(dual, solution.coef, solution.scores, solution.bias)
        self._warn_unfinished(solution.violation, self.tol)
        return self

    def _settled(self, means, line, total, solution):
        """Return a solution to its last digits."""

        def last_digits(dual, solution, total):
            return polish(means.kernel, means.points, means.rows, dual, solution, self.tol, total)

        return settled(lambda dual: means.optimum(dual, self.tol), last_digits, line, solution, total)

    def _certify(self, X, y, sample_weight):
        """Return the certificate in float64 from raw inputs."""
        y = targets(self, y)
        sample = self._sample(X, sample_weight, len(y))
        return tube_certificate(self, sample, tube(y[sample.kept], self.epsilon_, self.C * sample.weights), None)


def _largest_nu(dual):
    """Return the largest feasible nu of a classifier: twice the share of its smaller class."""
    upper, lower = float(dual.upper.sum()), float(-dual.lower.sum())
    return 2 * min(upper, lower) / (upper + lower)


def _placed(solution, dual, margin, class_weight):
    """Return the solution and margin where the optimum leaves the boundary open: a class is all at its bounds.

    Any margin from half the distance of the levels of the classes is optimal; the one taken divides the distance in the
    proportion of the factors of the classes, and half way where the factor of the other class is the smaller one.
    """
    raw, sign = solution.scores - margin * dual.target, dual.target
    edges, factors, closed = {}, {}, {}
    for side in (1.0, -1.0):
        own = sign == side
        price = (dual.upper - dual.lower)[own]
        factors[side] = float(price.sum() / (price / class_weight[own]).sum())
        closed[side] = bool((np.abs(solution.coef[own]) == price).all())
        edge = raw[own].min() if side > 0 else raw[own].max()
        edges[side] = float(edge) if closed[side] else solution.bias - margin * side
    distance = edges[-1.0] - edges[1.0]
    if distance <= 0:
        return solution, margin
    share = 0.5
    for side in (1.0, -1.0):
        if closed[-side] and not closed[side]:
            share = max(0.5, factors[side] / (factors[side] + factors[-side]))
            fixed = side
    wider = share * distance
    bias = 0.5 * (edges[1.0] + edges[-1.0]) if share == 0.5 else edges[fixed] + fixed * wider
    return replace(solution, scores=raw + wider * sign, bias=bias), wider
