"""SVC: support vector classification with any kernel, one-vs-one or one-vs-rest."""

from dataclasses import KW_ONLY, field, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from mercer import landmarks
from mercer._common import Array, ArrayLike, PointsLike, as_float64, check_integer
from mercer._compute.memory import Work
from mercer._compute.points import widened
from mercer._compute.readable import is_dask
from mercer.estimators import _svc_blocks as svc_blocks
from mercer.estimators._svm import check_C, conclude, in_range
from mercer.estimators.base import OverLandmarks
from mercer.estimators.classifier import SupportVectorClassifier, store, store_classes
from mercer.estimators.model import fits, storable_estimator
from mercer.expansion import features
from mercer.kernels.dot import Linear
from mercer.linalg import eigh
from mercer.solvers.certify import Certificate
from mercer.solvers.ridge import orthonormal_basis
from mercer.solvers.svm import certificate

# Arrays of the size of coordinates over landmarks, and operations of all passes of a linear problem for a coordinate.
_COORDINATES = 3.4
_PASSES = 1e4


@storable_estimator
class SVC(OverLandmarks, SupportVectorClassifier):
    r"""Support vector classification: the hyperplane of largest soft margin in the feature space of a kernel.

    .. math:: \min_{w, b, \xi} \tfrac12 |w|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
        y_i (\langle w, \phi(x_i)\rangle + b) \ge 1 - \xi_i,\ \xi_i \ge 0

    Problems of several classes are solved one-vs-one or one-vs-rest. The decision values of the binary classifiers are
    ``expansion_(X) + intercept_``.

    Parameters
    ----------
    C : float
        Regularisation parameter, positive; multiplied by class and sample weights. Larger values penalise errors more.
        Infinity allows no error (the hard margin); classes that cannot be separated then raise a ValueError.
    kernel : Kernel, str or callable
        A kernel with its parameters, such as ``Gaussian(gamma=0.1)``; ``set_params(kernel__gamma=0.1)`` changes them.
        Or one of scikit-learn's names: "rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2",
        "additive_chi2", "precomputed". Bandwidth rules are resolved on the training points. A callable takes two blocks
        of points.
    gamma : float, {"scale", "auto", "median"} or None
        Parameter of a kernel given by name, ignored by names without it. "scale" is 1 / (d var X), "auto" and None are
        1 / d, "median" is 1 / median |x - z|^2. Beside a kernel object it must have its default.
    degree : int
        Degree of "poly".
    coef0 : float
        Constant of "poly" and "sigmoid".
    multi_class : {"ovo", "ovr"}
        One binary classifier for each pair of classes, or for each class against the rest.
    tol : float
        Largest violation of the optimality conditions, in units of decision values.
    class_weight : dict, "balanced" or None
        Factor of C for each class; "balanced" is n / (number of classes * size of the class), where
        n and sizes are sums of ``sample_weight``.
    decision_function_shape : {"ovr", "ovo"}
        Whether ``decision_function`` turns the decision values of pairs into one value for each class.
    break_ties : bool
        Whether ``predict`` breaks equal votes by the largest value of ``decision_function`` instead of taking the first
        class.
    max_iter : int
        Largest number of pairs of variables optimised for each binary classifier; -1 for 100 n, and at least ten
        million. Of a linear kernel on 1 000 points or more the largest number of Newton steps, unless there are as many
        columns.
    landmarks : int or points, optional
        Number of training points to select, or points (row indices for a precomputed kernel), whose features span the
        normals. All training points span them when left out, or when there are no more than the number.
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects a number of landmarks, see `maps.select_landmarks`.
    memory : str or int
        Bytes that kernel values may take, for all binary classifiers together; with landmarks the coordinates.
    max_vectors : int, optional
        Largest number of vectors of the fitted model. A solution with more support vectors is replaced by free vectors;
        all support vectors are kept when left out.
    random_state : int, RandomState or None
        Seed of the selection of landmarks, and of the fit of few vectors.

    Attributes
    ----------
    classes_ : array (c,)
    support_ : int array (n_sv,)
        Training rows that are support vectors of any binary classifier, each once, sorted by class; only without
        landmarks or free vectors.
    support_vectors_ : points (n_sv)
        With landmarks these; with fewer ``max_vectors`` than support vectors the free vectors.
    n_support_ : int array (c,)
        Number of support vectors of each class; only without landmarks or free vectors.
    dual_coef_ : array (n_sv, m), or (n_sv, c - 1) for pairs of three classes or more
        y_i alpha_i; column k of a row of class i belongs to the pair of i and the k-th other class. With landmarks
        their coefficients (n_sv, m) in the normals.
    coef_ : array (m, d)
        Normals of a linear kernel; AttributeError for other kernels.
    intercept_ : array (m,)
    margin_ : array (m,)
        1 / |w|, the distance of points of decision value 1 or -1 from the boundary; computed at each access.
    certificate_ : Certificate
        Objectives, gap and largest violation at the solution; ``mercer.certify`` recomputes it. Free vectors have
        none, and ``certify`` raises a ValueError.
    fitted_to_ : {"decision values", "labels"}
        What free vectors were fitted to, the better on held-out rows; only with these.
    held_out_accuracies_ : dict
        Accuracy of both fits on the held-out rows, by their weights; empty if no class has four distinct rows.
    n_iter_ : int array (m,)
        Number of pairs optimised.
    restricted_dual_ : dict
        Solution of the dual, training ``rows`` and their y_i alpha_i ``coef`` (k, m); only with landmarks.
    trace_error_ : float
        Share of the sum of k(x, x) that the landmarks do not span; only with landmarks.
    kernel_ : Kernel
        The kernel with its parameters resolved.
    class_weight_ : array (c,)
    n_features_in_ : int

    See Also
    --------
    mercer.certify : Objectives, gap and violation from the training points.

    Notes
    -----
    Positive decision values mean ``classes_[1]`` for two classes, class i for a pair i < j, and the class itself for
    one-vs-rest. Solutions are refined by Newton steps where that takes at most a fifth of the fit, and always up to 500
    points and two classes: a weight of 2 then equals a repeated row at any ``tol``, otherwise to ``tol``. For
    probabilities use `mercer.SVCCV` with ``calibration``, or scikit-learn's ``CalibratedClassifierCV``.

    With m landmarks the normals are in their span: a linear classifier on the n x m coordinates of the points there,
    which are stored in float64; n m kernel values. The certificate is that of this problem, not of the one over all
    points.

    Blocks of a Dask array are classified alone, as tasks, and their support vectors together, in the memory of the
    client. Passes over all blocks add the rows that violate the conditions of this classifier, until it is that of all
    rows to ``tol``; ``certificate_`` is that over all rows. Blocks of 5 000 to 20 000 rows in random order suit it. A
    bandwidth rule takes a uniform sample of 20 000 rows.

    ``max_vectors`` fits free vectors twice: to the decision values of the classifier over all points as `compress`
    does, and to the labels, by squared errors and then by the squared hinge loss without a penalty. The classifier and
    both fits are repeated without each of up to 4 folds, until 1 000 rows were held out; the fit with fewer errors
    there is used, on all points. Weights count in both fits, and equal rows of a class are one row with the sum of
    their weights. Points are made dense. For kernels without gradient, such as one on objects or a given matrix, that
    many support vectors are selected greedily and become the landmarks of the classifier.

    References
    ----------
    Cortes, Vapnik, *Support-vector networks*, Machine Learning 20 (1995).

    Graf, Cosatto, Bottou, Durdanovic, Vapnik, *Parallel support vector machines: the cascade SVM*, NIPS 17 (2005).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    >>> model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    >>> model.predict([[0.2], [2.8]])
    array(['a', 'b'], dtype='<U1')
    >>> model.set_params(C=np.inf, kernel__gamma=1.0).fit(X, y).decision_function(X[1:3]).round(6)
    array([-1.,  1.])
    >>> mc.SVC(kernel=mc.Gaussian(0.5), max_vectors=2).fit(X, y).support_vectors_.shape
    (2, 1)
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> CalibratedClassifierCV(model, ensemble=False, cv=2).fit(X, y).predict_proba([[0.2], [2.8]]).shape
    (2, 2)
    """

    C: float = 1.0
    _: KW_ONLY
    max_vectors: int | None = None

    if TYPE_CHECKING:
        # stored by `few_vectors`
        fitted_to_: str = field(init=False)
        held_out_accuracies_: dict[str, float] = field(init=False)

    @fits
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to training points.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows if the kernel takes them, a square matrix for "precomputed", or a list of objects. Blocks
            of a Dask array are tasks of the scheduler of the user, see Notes.
        y : array (n,)
            Labels of any kind; a Dask array too where X is one.
        sample_weight : array (n,), optional
            Factors of C, at least 0; a row of weight 0 is ignored.

        Returns
        -------
        self
        """
        blocks = self._training_blocks(X)
        if blocks is None:
            return self._fit_points(X, y, sample_weight)
        self._check_parameters()
        columns = svc_blocks.columns_of(self, blocks, y, sample_weight)
        sample = self._sampled_features(
            X, blocks, None if sample_weight is None else columns.weights
        )
        svc_blocks.fit_blocks(self, sample.kernel, blocks, columns)
        return self

    def _routes(self, size):
        chosen = self._chosen_landmarks(size)
        if chosen is None:
            return super()._routes(size)
        m, rule = chosen
        work = landmarks.sums(size.n, m) + Work(flops=_PASSES * size.n * m, cubes=-(float(m) ** 3))
        found = landmarks.route(self._over_landmarks, size, m, rule, eigh.ALL + 1, work)
        n_bytes = max(found.bytes, int(8 * m * (_COORDINATES * size.n + m)))
        return [replace(found, bytes=n_bytes, limited=n_bytes)]

    def _training_blocks(self, X):
        """Return the blocks of a Dask array, which are tasks of the user's scheduler; None where all rows are read."""
        in_memory = type(X) is np.ndarray or not is_dask(X)
        whole = in_memory or self.landmarks is not None or self.max_vectors is not None
        return None if whole else self._blocks_of(X)

    def _certificate(self, X, y, sample_weight):
        """Return the certificate in float64 from the training points."""
        blocks = self._training_blocks(X)
        if blocks is None:
            return super()._certificate(X, y, sample_weight)
        columns = svc_blocks.columns_of(self, blocks, y, sample_weight)
        return svc_blocks.certified_blocks(self._for_blocks(X), blocks, columns)

    def _check_parameters(self):
        super()._check_parameters()
        check_C(self.C)
        if self.max_vectors is None:
            return
        check_integer("max_vectors", self.max_vectors)
        if self.landmarks is not None:
            raise ValueError(
                f"max_vectors = {self.max_vectors} must be None with landmarks, which are the vectors; leave out one."
            )

    def _over_all(self, problem):
        store(self, problem, self._solved(problem, self._duals(problem)))
        if self.max_vectors is None or len(self.dual_coef_) <= self.max_vectors:
            return
        # it imports packages that fits of all support vectors do not need
        from mercer.estimators import _few_vectors

        if not self.kernel_.tags.differentiable:
            selected = _few_vectors.selected_features(self)
            for name in ("support_", "n_support_"):
                vars(self).pop(name)
            self._fit_restricted(problem, selected)
        else:
            _few_vectors.replace_vectors(self, problem)

    def _over_landmarks(self, problem):
        self._fit_restricted(
            problem, self._landmark_features(features(problem.kernel, problem.points))
        )

    def _fit_restricted(self, problem, onto):
        """Solve the problem of coordinates in the span of landmarks, and store the solutions over the landmarks.

        Coordinates are F = Q'Phi (k, r) with orthonormal vectors Q; the normals are Q times those of the linear
        classifiers of F.
        """
        basis = orthonormal_basis(onto, self.memory)
        F = np.ascontiguousarray(basis(problem.points), np.float64)
        linear = replace(problem, kernel=Linear(), points=F)
        duals = self._duals(problem)
        solved = self._solved(linear, duals)
        coef = np.zeros((len(problem.rows), len(duals)))
        coef[duals.points, duals.number] = solved.solutions.coef
        store_classes(self, problem)
        self.kernel_ = problem.kernel
        self.support_vectors_ = basis.points
        self.dual_coef_ = in_range(basis.coef @ (F.T @ coef), problem.dtype)
        self.intercept_ = solved.solutions.bias.astype(problem.dtype)
        self.n_iter_ = solved.solutions.n_iter
        used = np.flatnonzero(coef.any(axis=1))
        # the solution of the dual, for certificates
        self.restricted_dual_: dict[str, Array] = {"rows": problem.rows[used], "coef": coef[used]}
        square = float(np.sum(problem.diagonal, dtype=np.float64))
        outside = 1 - float(np.einsum("ij,ij->", F, F)) / square if square > 0 else 0.0
        self.trace_error_: float = float(np.clip(outside, 0.0, 1.0))
        solved = replace(solved, points=F, stored=problem.dtype == np.float64)
        conclude(self, linear, solved, partial(self._recomputed, problem))

    def _over_landmarks_recomputed(self, problem):
        """Return the certificate of the stored coefficients in float64: primal of the landmarks, dual of the rows.

        With w of the landmarks and v = F'b of the dual, objectives are |w|^2 / 2 + losses of w, and those of b with
        |v|^2; `certificate` takes <v, w> for both squares.
        """
        duals = self._duals(problem)
        kernel = self._certified_kernel(problem)
        points = widened(problem.points)
        psi = self._exact(kernel)
        basis = orthonormal_basis(features(kernel, psi.points), self.memory)
        F = as_float64(basis(points))
        values = as_float64(psi(points))
        W = basis.inner(psi)
        coef = np.zeros((len(problem.rows), len(duals)))
        rows = self._training_places(problem, self.restricted_dual_["rows"])
        coef[rows] = self.restricted_dual_["coef"]
        V = F.T @ coef
        own = duals.points, duals.number
        gradient = duals.target - values[own]
        intercept = as_float64(self.intercept_)
        found = certificate(duals, coef[own], gradient, intercept, problem.rounding)
        return Certificate(
            found.primal + 0.5 * float(np.sum(W * (W - V))),
            found.dual + 0.5 * float(np.sum(V * (W - V))),
            max(found.kkt, float(np.abs(values - F @ V)[own].max())),
        )

    def _recomputed(self, problem, shift):
        if "restricted_dual_" in vars(self):
            return self._over_landmarks_recomputed(problem)
        if "fitted_to_" in vars(self):
            raise ValueError(
                f"SVC with max_vectors = {self.max_vectors} has free vectors, which solve no dual; certify a fit with "
                "max_vectors = None."
            )
        return super()._recomputed(problem, shift)

    def _duals(self, problem):
        """Return the duals of all binary classifiers."""
        return problem.binary.duals(problem.upper_bounds(self.C))

    def _explain(self, problem, found):
        """Return the text of an error for classes that cannot be separated."""
        first, second = problem.name_means(found)
        distance = found.numbers["distance"]
        unit = found.numbers["unit"]
        return (
            f"C = inf needs classes that can be separated, by more than rounding: {first} and {second} are "
            f"{distance:.3g} apart in feature space, where the means of the classes are {unit:.3g} apart, and no "
            "margin is wider than half of that. Give a finite C, such as 1e10."
        )
