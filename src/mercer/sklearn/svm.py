"""scikit-learn's support vector machines, solved by Mercer."""

import numpy as np
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from mercer import estimators
from mercer.kernels.shorthand import kernel_of, with_kernel
from mercer.sklearn.fitted import Fitted


class Machine(Fitted):
    """Mixin of support vector machines; ``_fixed`` are parameters that Mercer's has by other values."""

    _fixed = {}

    def _solved(self, X, y, sample_weight):
        """Return Mercer's fitted model, whose attributes are stored as those of LIBSVM."""
        if self.max_iter != -1:
            raise ValueError(f"max_iter = {self.max_iter} counts the steps of LIBSVM.")
        if self.verbose:
            raise ValueError(f"verbose = {self.verbose} prints the steps of LIBSVM.")
        if callable(self.kernel):
            # where predictions look for it
            self._BaseLibSVM__Xfit = X
            points = self._compute_kernel(X)
            self.shape_fit_ = getattr(X, "shape", (len(X),))
        else:
            points = X if hasattr(X, "dtype") else np.asarray(X)
            points = points.astype(np.float64, casting="same_kind", copy=False)
            self.shape_fit_ = points.shape
            vars(self).pop("feature_names_in_", None)
            if not hasattr(X, "dtype"):
                # sets the names of columns
                validate_data(self, X, skip_check_array=True)
        model = self._with(**self._fixed)
        if sample_weight is not None:
            if getattr(self, "class_weight", None) == "balanced":
                raise ValueError(
                    "class_weight = 'balanced' counts rows in scikit-learn, but weights in Mercer."
                )
            # weights do not move scikit-learn's bandwidth
            with_kernel(model, kernel_of(model).resolve(points))
        self._store(model.fit(points, y, sample_weight))
        return model

    def _store(self, model):
        """Set the attributes of LIBSVM."""
        # LIBSVM's values of two classes are positive for the first
        sign = -1.0 if len(getattr(model, "classes_", ())) == 2 else 1.0
        coef = np.ascontiguousarray(model.dual_coef_.T, np.float64)
        vectors = (
            np.empty((0, 0)) if model.kernel_.tags.points == "indices" else model.support_vectors_
        )
        self._sparse = sp.issparse(vectors)
        if self._sparse:
            # LIBSVM stores zeros too
            stored = type(vectors)(np.ones_like(coef))
            stored.data = coef.ravel()
            coef = stored
        self.support_ = model.support_.astype(np.int32)
        self.support_vectors_ = vectors
        self.dual_coef_ = coef
        self.intercept_ = model.intercept_.astype(np.float64)
        self._dual_coef_ = sign * coef
        self._intercept_ = sign * self.intercept_
        self._n_support = np.resize(model.n_support_, max(2, len(model.n_support_))).astype(
            np.int32
        )
        self.n_iter_ = model.n_iter_
        self._gamma = getattr(model.kernel_, "gamma", 0.0)
        self._probA = self._probB = np.empty(0)
        self._effective_probability = False
        self.fit_status_ = 0
        if not callable(self.kernel):
            self.n_features_in_ = self.shape_fit_[-1]

    def _decision_function(self, X):
        if self.mercer_ is None:
            return super()._decision_function(X)
        return self.mercer_.decision_function(self._compute_kernel(self._validate_for_predict(X)))

    def predict(self, X):
        """Return labels, values, or 1 and -1 for inliers and outliers (n_test,)."""
        if self.mercer_ is None or getattr(self, "break_ties", False):
            return super().predict(X)
        return self.mercer_.predict(self._compute_kernel(self._validate_for_predict(X)))


class Classifier(Machine):
    """Mixin of classifiers; scikit-learn makes classes of pairs."""

    _fixed = {"decision_function_shape": "ovo", "break_ties": False}

    def _store(self, model):
        super()._store(model)
        self.classes_ = model.classes_
        self.class_weight_ = model.class_weight_
        self.n_iter_ = model.n_iter_.astype(np.int32)


class SVC(Classifier, svm.SVC):
    """``sklearn.svm.SVC``, solved by Mercer."""

    _native = estimators.SVC


class NuSVC(Classifier, svm.NuSVC):
    """``sklearn.svm.NuSVC``, solved by Mercer."""

    _native = estimators.NuSVC
    # weights of classes have no effect in LIBSVM, and are an attribute all the same
    _fixed = {"decision_function_shape": "ovo", "break_ties": False, "class_weight": None}

    def _solved(self, X, y, sample_weight):
        model = super()._solved(X, y, sample_weight)
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=model.classes_, y=np.ravel(y)
        )
        return model


class SVR(Machine, svm.SVR):
    """``sklearn.svm.SVR``, solved by Mercer."""

    _native = estimators.SVR


class NuSVR(Machine, svm.NuSVR):
    """``sklearn.svm.NuSVR``, solved by Mercer."""

    _native = estimators.NuSVR


class OneClassSVM(Machine, svm.OneClassSVM):
    """``sklearn.svm.OneClassSVM``, solved by Mercer."""

    _native = estimators.OneClassSVM

    def fit(self, X, y=None, sample_weight=None):
        """Fit the boundary; parameters and errors are those of scikit-learn's ``fit``."""
        return super().fit(X, y, sample_weight)

    def _store(self, model):
        super()._store(model)
        self.offset_ = -self.intercept_
