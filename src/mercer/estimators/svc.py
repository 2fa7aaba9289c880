"""SVC: support vector classification with any kernel, one-vs-one or one-vs-rest."""

import queue
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from mercer._common import CallbackSupportMixin, check_integer, check_positive, progress, warn
from mercer._compute.memory import allocate, parse_memory
from mercer._compute.points import take_points
from mercer._compute.threads import count_threads, limit_threads, run_tasks
from mercer.estimators import _pairs, _svm
from mercer.estimators._base import KernelEstimator
from mercer.expansion import Expansion
from mercer.gram import Gram, kept_product, prepare_product
from mercer.kernels.bandwidth import warn_degenerate
from mercer.solvers._certify import hinge_certificate, total
from mercer.solvers.svm.newton import optimum, widened
from mercer.solvers.svm.rows import rows_of, shared_blocks
from mercer.solvers.svm.smo import BESIDE, Dual
from mercer.solvers.svm.working_set import LANES


class SVC(KernelEstimator, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Support vector classification: the hyperplane of largest soft margin in the feature space of a kernel.

    .. math:: \min_{w, b, \xi} \tfrac12 |w|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
        y_i (\langle w, \phi(x_i)\rangle + b) \ge 1 - \xi_i,\ \xi_i \ge 0

    for two classes; several make one machine a pair, or one a class. Scores are ``expansion_(X) + intercept_``.

    Parameters
    ----------
    C : float
        Price of slack, above 0; that of a point is multiplied by the weights of its class and of its own. Infinity
        allows none: the hard margin, a ValueError where the classes cannot be separated.
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable
        With its numbers: ``Gaussian(gamma=0.1)``, or ``kernel__gamma=0.1`` in ``set_params``. Bandwidth rules are
        resolved on the training data. A callable takes two blocks of points.
    multi_class : {"ovo", "ovr"}
        One machine for each pair of classes, or for each class against the rest.
    tol : float
        Largest violation of the optimality conditions, in units of the scores.
    class_weight : dict, "balanced" or None
        Factor of C for each class; "balanced" is n / (number of classes * size of the class).
    decision_function_shape : {"ovr", "ovo"}
        Whether ``decision_function`` turns scores of pairs into one value a class.
    break_ties : bool
        Whether ``predict`` takes the largest value of ``decision_function`` rather than the first of the classes with
        most votes.
    max_iter : int
        Pairs of variables optimised at most in each machine; -1 for 100 n, and at least ten million.
    memory : str or int
        Bytes that kernel rows may take, over all machines together.

    Attributes
    ----------
    classes_ : array (c,)
    support_ : int array (n_sv,)
        Training rows that are support vectors of any machine, each once, sorted by class.
    support_vectors_ : points (n_sv)
    n_support_ : int array (c,)
        Support vectors of each class.
    dual_coef_ : array (n_sv, m), or (n_sv, c - 1) for pairs of three classes or more
        y_i alpha_i; column k of a row of class i belongs to the pair of i and the k-th other class.
    intercept_ : array (m,)
    margin_ : array (m,)
        1 / |w|: how far the points of score 1 or -1 are from the boundary; computed when asked for.
    certificate_ : Certificate
        Objectives, gap and worst violation where the solver stopped; ``mercer.certify`` recomputes it.
    n_iter_ : int array (m,)
        Pairs optimised.
    kernel_ : Kernel
        The kernel with its numbers.
    class_weight_ : array (c,)
    n_features_in_ : int

    See Also
    --------
    mercer.certify : Objectives, gap and violation from raw inputs.

    Notes
    -----
    For two classes positive scores mean ``classes_[1]``; for a pair i < j, class i; one-vs-rest, the class. Where at
    most 2 000 variables of a machine are free they are finally solved for directly, so that a weight of two is the same
    as a row repeated, whatever ``tol``. For probabilities wrap the classifier in scikit-learn's
    ``CalibratedClassifierCV``.

    References
    ----------
    Cortes, Vapnik, *Support-vector networks*, Machine Learning 20 (1995).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    >>> model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    >>> model.predict([[0.2], [2.8]])
    array(['a', 'b'], dtype='<U1')
    >>> model.set_params(C=np.inf, kernel__gamma=1.0).fit(X, y).decision_function(X[1:3]).round(6)
    array([-1.,  1.])
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> CalibratedClassifierCV(model, ensemble=False, cv=2).fit(X, y).predict_proba([[0.2], [2.8]]).shape
    (2, 2)
    """

    def __init__(
        self,
        C=1.0,
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
        self.C = C
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
            Labels of any kind.
        sample_weight : array (n,), optional
            Factors of C, at least 0; a row of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        self._check_parameters()
        problem = self._problem(X, y, sample_weight)
        solutions = self._solve(problem)
        self._keep(problem, solutions)
        pieces = _pairs.pieces(self.n_support_) if self._packed() else None
        prepare_product(self.kernel_, self.support_vectors_, self.dual_coef_, pieces)
        return self

    @property
    def margin_(self):
        """Distances 1 / |w| from the boundaries to their margins (m,); of the nearest points, for C = inf."""
        return 1 / self.expansion_.norms()

    @property
    def expansion_(self):
        """The normals of all machines (an Expansion over ``support_vectors_``), unpacked when asked for."""
        check_is_fitted(self)
        coef = self.dual_coef_
        if self._packed():
            coef = _svm.unpack(coef, self._support_codes(), len(self.classes_))
        return Expansion(self.kernel_, self.support_vectors_, coef)

    def decision_function(self, X):
        """Return the scores of new points.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test,) for two classes, (n_test, c), or (n_test, c (c - 1) / 2) for pairs
            Pairs that ``decision_function_shape="ovr"`` turns into classes: votes plus the scores, scaled so that they
            only decide between equal votes.
        """
        scores = self._scores(self._new_points(X))
        if len(self.classes_) == 2:
            return scores[:, 0]
        if self._paired() and self.decision_function_shape == "ovr":
            return _ovr_decision_function(scores < 0, -scores, len(self.classes_)).astype(scores.dtype)
        return scores

    def predict(self, X):
        """Return the class of new points: most votes of pairs, the first of equals, or the largest score.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        scores = self._scores(self._new_points(X))
        return self.classes_[self._winners(scores)]

    def _winners(self, scores):
        """Return the number of the class that the scores of all machines (n_test, m) decide for."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return (scores[:, 0] > 0).astype(int)
        if not self._paired():
            return scores.argmax(axis=1)
        if self.break_ties and self.decision_function_shape == "ovr":
            return _ovr_decision_function(scores < 0, -scores, n_classes).argmax(axis=1)
        return _svm.votes(scores, n_classes).argmax(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = False
        return tags

    # --- the problem -------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        _svm.check_price(self.C)
        check_positive("tol", self.tol)
        parse_memory(self.memory)
        if self.max_iter != -1:
            check_integer("max_iter", self.max_iter)
        for name, known in (("multi_class", ("ovo", "ovr")), ("decision_function_shape", ("ovr", "ovo"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} = {getattr(self, name)!r} must be one of {known}.")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")

    def _problem(self, X, y, sample_weight, name=None):
        """Return the points that count, sorted by class, with their prices and machines, for whom ``name`` names."""
        name = type(self).__name__ if name is None else name
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        # before classes, which rows that are missing may have
        n = _num_samples(X)
        if n != len(y):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(y)}."
            )
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        weights = _svm.weights(sample_weight, len(y))
        kept = np.flatnonzero(weights > 0)
        classes, codes = np.unique(y[kept], return_inverse=True)
        if len(classes) == 1:
            raise ValueError(
                f"{name} needs at least two classes, got one class, {classes[0]}, among rows of positive weight."
            )
        kernel, points = self._training_points(X, sample_weight=None if sample_weight is None else weights)
        class_weight = _svm.class_weights(self.class_weight, classes, y[kept], weights[kept])
        order = np.argsort(codes, kind="stable")
        codes, kept = codes[order], kept[order]
        points = points if np.array_equal(kept, np.arange(len(y))) else take_points(points, kept)
        warn_degenerate(kernel, points)
        return _svm.Problem(
            kernel, points, classes, codes, kept, class_weight, self.C * class_weight[codes] * weights[kept],
            _svm.machines(codes, len(classes), self.multi_class),
        )  # fmt: skip

    def _dual(self, problem, machine, coef=None):
        """Return the dual of a machine; ``coef`` is its solution, from which other machines know their price."""
        prices = problem.prices[machine.rows] * machine.sign
        start = np.zeros(len(prices))
        return Dual(machine.sign, np.minimum(prices, 0), np.maximum(prices, 0), start, machine.rows)

    def _paired(self):
        return self.multi_class == "ovo" and len(self.classes_) > 2

    def _packed(self):
        # constructed vectors belong to no class, and have a column of coefficients for every pair
        return self._paired() and self.dual_coef_.shape[1] != len(self.intercept_)

    # --- fit ---------------------------------------------------------------------------------------------------------

    def _keep(self, problem, solutions):
        """Store the solutions of all machines as fitted attributes; return self."""
        machines, codes = problem.machines, problem.codes
        self.classes_, self.class_weight_, self.kernel_ = problem.classes, problem.class_weight, problem.kernel
        packed = _svm.pack([each.coef for each in solutions], codes, len(self.classes_), self._paired())
        used = np.flatnonzero((packed != 0).any(axis=1))
        self.support_ = problem.order[used]
        self.support_vectors_ = take_points(problem.points, used)
        self.n_support_ = np.bincount(codes[used], minlength=len(self.classes_))
        self.dual_coef_ = packed[used].astype(problem.dtype)
        self.intercept_ = np.array([each.bias for each in solutions]).astype(problem.dtype)
        self.n_iter_ = np.array([each.n_iter for each in solutions])
        self.certificate_ = total(
            [
                hinge_certificate(self._dual(problem, machine, each.coef), each.coef, each.scores, each.bias)
                for machine, each in zip(machines, solutions, strict=True)
            ]
        )
        self._warn_unfinished(solutions)
        return self

    def _solve(self, problem):
        """Return the solutions of all machines, several at a time on the pool of threads."""
        machines, budget = problem.machines, parse_memory(self.memory)
        widest = max(len(machine.rows) for machine in machines)
        accuracy = self.tol / (problem.prices.max() * np.sqrt(widest))
        rows = rows_of(problem.kernel, problem.points, accuracy)
        shared = shared_blocks(rows, problem.pieces, budget // 2) if len(machines) > 1 else {}
        budget -= sum(block.nbytes for block in shared.values())
        crews = min(count_threads(), len(machines))
        padded = -(-widest // LANES) * LANES
        # whole lanes of two classes, where each is a group of its own
        most = (padded + 2 * LANES) ** 2
        values = min(int(budget / (1 + BESIDE)) // crews // rows.dtype.itemsize, most)
        memories = queue.SimpleQueue()
        for _ in range(crews):
            memories.put(allocate(max(values, 4 * LANES**2), rows.dtype))
        max_iter = max(10_000_000, 100 * widest) if self.max_iter == -1 else self.max_iter
        solutions = [None] * len(machines)
        with progress(self, "smo") as step:
            report = _svm.Report(step)

            def train(k):
                machine, memory = machines[k], memories.get()
                known = [(part, shared[machine.span(part)]) for part in machine.parts] if shared else ()
                dual = self._dual(problem, machine)
                solution = self._optimum(
                    problem, rows, dual, max_iter=max_iter, memory=memory, shared=known, report=report
                )
                # the rows lie in memory that the next machine takes
                solutions[k] = replace(solution, square=None)
                memories.put(memory)

            if crews == 1:
                for k in range(len(machines)):
                    train(k)
            else:
                with limit_threads(crews):
                    run_tasks(lambda k: _svm.alone(train, k), len(machines))
        return solutions

    def _optimum(self, problem, rows, dual, **means):
        """Return the solution of the dual of one machine."""
        if np.isposinf(self.C):
            return _svm.separated(problem, rows, dual, self.tol, **means)
        return optimum(problem.kernel, problem.points, rows, dual, self.tol, **means)

    def _warn_unfinished(self, solutions):
        worst = max(solutions, key=lambda solution: solution.violation)
        if worst.violation > self.tol:
            gap = self.certificate_.gap / max(abs(self.certificate_.dual), 1e-300)
            warn(
                f"{type(self).__name__} stopped after {worst.n_iter} steps with a violation of {worst.violation:.3g} "
                f"above tol = {self.tol:g} and a relative gap of {gap:.3g}; "
                + _svm.remedy(worst.gain, self.kernel_, self.support_vectors_),
                ConvergenceWarning,
            )
            return
        size = np.linalg.norm(self.dual_coef_, axis=0).max()
        _svm.warn_rounded(type(self).__name__, self.kernel_, self.support_vectors_, size, self.tol)

    # --- prediction --------------------------------------------------------------------------------------------------

    def _support_codes(self):
        return np.repeat(np.arange(len(self.classes_)), self.n_support_)

    def _scores(self, X, dtype=None):
        """Return the scores of all machines (n_test, m)."""
        X = _svm.alike(X, self.support_vectors_)
        if not self._packed():
            return kept_product(self.kernel_, X, self.support_vectors_, self.dual_coef_) + self.intercept_
        return _pairs.scores(self.kernel_, X, self.support_vectors_, self.dual_coef_, self.n_support_) + self.intercept_

    def _certify(self, X, y, sample_weight):
        """Return the certificate in float64 from raw inputs."""
        check_is_fitted(self)
        problem = self._problem(X, y, sample_weight)
        points = widened(problem.points)
        place = np.full(len(y), -1)
        place[problem.order] = np.arange(len(problem.order))
        support = place[self.support_]
        coef = np.zeros((len(problem.codes), self.dual_coef_.shape[1]))
        coef[support] = self.dual_coef_
        if self._paired():
            coef = _svm.unpack(coef, problem.codes, len(self.classes_))
        values = Gram(self.kernel_, points, take_points(points, support)) @ coef[support]
        parts = []
        for k, machine in enumerate(problem.machines):
            dual = self._dual(problem, machine, coef[machine.rows, k])
            scores = machine.sign - values[machine.rows, k]
            # coefficients are kept in the type of the data
            own = np.clip(coef[machine.rows, k], dual.lower, dual.upper)
            parts.append(hinge_certificate(dual, own, scores, float(self.intercept_[k])))
        return total(parts)
