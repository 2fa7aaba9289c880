"""Readers of scikit-learn's fitted kernel models, one for each family; loaded when one is asked for."""

import functools

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from mercer._compute.points import take_points
from mercer.estimators._svm import unpack
from mercer.expansion import Expansion
from mercer.formats._as_expansion import FittedScores, GivenValues, as_expansion
from mercer.kernels.algebra import Constant, Normalized, Power
from mercer.kernels.coordinatewise import Chi2, Laplacian
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.mapped import Mapped
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian, Matern, RationalQuadratic

# With the parameters that each takes.
_KERNELS = {
    "linear": (Linear, ()),
    "rbf": (Gaussian, ("gamma",)),
    "laplacian": (Laplacian, ("gamma",)),
    "chi2": (Chi2, ("gamma",)),
    "poly": (Polynomial, ("degree", "gamma", "coef0")),
    "polynomial": (Polynomial, ("degree", "gamma", "coef0")),
    "sigmoid": (Sigmoid, ("gamma", "coef0")),
}


# --- support vector machines -----------------------------------------------------------------------------------------


@as_expansion.register(SVC)
@as_expansion.register(NuSVC)
def _of_classifier(model):
    """Return one column for two classes, one for each pair of several."""
    check_is_fitted(model)
    codes = np.repeat(np.arange(len(model.classes_)), model.n_support_)
    packed = _dense(model.dual_coef_).T
    coef = packed if len(model.classes_) == 2 else unpack(packed, codes, len(model.classes_))
    return _machine(model, coef, model.classes_)


@as_expansion.register(SVR)
@as_expansion.register(NuSVR)
@as_expansion.register(OneClassSVM)
def _of_one_machine(model):
    check_is_fitted(model)
    return _machine(model, _dense(model.dual_coef_).T, None)


def _machine(model, coef, classes):
    kernel, points = _support(model)
    if not len(coef):
        # a regression within epsilon everywhere: one point of no weight carries the kernel
        coef = np.zeros((1, len(model.intercept_)))
    return FittedScores(Expansion(kernel, points, coef), np.array(model.intercept_), classes)


def _support(model):
    """Return the kernel and the support vectors, at least one point."""
    rows = model.support_ if len(model.support_) else np.zeros(1, int)
    if callable(model.kernel):
        # kept under a private name: the public support vectors of a callable are empty
        return FunctionKernel(model.kernel), take_points(model._BaseLibSVM__Xfit, rows)
    if model.kernel == "precomputed":
        return FunctionKernel(GivenValues(model.shape_fit_[0])), np.asarray(rows)
    # the value of a rule such as gamma="scale" is kept under a private name only
    kernel = _named(model.kernel, model._gamma, model)
    vectors = model.support_vectors_
    if not len(model.support_):
        vectors = np.zeros((1, model.n_features_in_))
    return kernel, sp.csr_matrix(vectors) if sp.issparse(vectors) else vectors


def _named(name, gamma, model):
    """Return one of scikit-learn's kernels with the numbers of a model."""
    kind, names = _KERNELS[name]
    numbers = {"gamma": float(gamma), "degree": int(model.degree), "coef0": float(model.coef0)}
    return kind(**{name: numbers[name] for name in names})


def _dense(coef):
    return coef.toarray() if sp.issparse(coef) else coef


# --- ridge regression and principal components -----------------------------------------------------------------------


@as_expansion.register
def _of_ridge(model: KernelRidge):
    check_is_fitted(model)
    expansion = Expansion(*_pairwise(model, model.gamma), model.dual_coef_)
    return FittedScores(expansion, np.zeros(len(expansion)))


@as_expansion.register
def _of_components(model: KernelPCA):
    """Return the components, sum_i a_i (phi(x_i) - mean), and minus their inner products with the mean."""
    check_is_fitted(model)
    with np.errstate(divide="ignore"):
        scale = np.where(model.eigenvalues_ != 0, 1 / np.sqrt(model.eigenvalues_), 0)
    A = model.eigenvectors_ * scale
    centre = model._centerer
    intercept = centre.K_fit_all_ * A.sum(axis=0) - centre.K_fit_rows_ @ A
    return FittedScores(Expansion(*_pairwise(model, model.gamma_), A - A.mean(axis=0)), intercept)


def _pairwise(model, gamma):
    """Return the kernel and the points of a model that leaves its kernel to ``pairwise_kernels``."""
    points = model.X_fit_
    if not callable(model.kernel) and model.kernel == "precomputed":
        return Precomputed().resolve(points), np.arange(len(points))
    if callable(model.kernel):
        own = dict(model.kernel_params or {})
    else:
        own = {"gamma": gamma, "degree": model.degree, "coef0": model.coef0}
        if model.kernel == "cosine":
            return Normalized(Linear()), points
        if model.kernel in _KERNELS:
            return _named(model.kernel, 1.0 / points.shape[1] if gamma is None else gamma, model), points
    return FunctionKernel(functools.partial(_values, metric=model.kernel, filter_params=True, **own)), points


def _values(X, Z, **how):
    # some of scikit-learn's compiled kernels refuse read-only arrays, which kernel functions get
    return pairwise_kernels(*(each if sp.issparse(each) else np.array(each) for each in (X, Z)), **how)


# --- Gaussian processes ----------------------------------------------------------------------------------------------


@as_expansion.register
def _of_process(model: GaussianProcessRegressor):
    """Return the mean of the process, in the units of the targets."""
    check_is_fitted(model, "X_train_")
    alpha = model.alpha_.reshape(len(model.alpha_), -1)
    scale = np.broadcast_to(model._y_train_std, alpha.shape[1])
    try:
        kernel = process_kernel(model.kernel_)
    except NotImplementedError:
        kernel = FunctionKernel(model.kernel_)
    intercept = np.broadcast_to(model._y_train_mean, alpha.shape[1]).astype(np.float64)
    return FittedScores(Expansion(kernel, model.X_train_, alpha * scale), intercept)


@functools.singledispatch
def process_kernel(kernel):
    """Return scikit-learn's kernel of a Gaussian process as one of Mercer's.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel

    Returns
    -------
    Kernel

    Raises
    ------
    NotImplementedError
        Where there is none.
    """
    raise NotImplementedError(f"{type(kernel).__name__} has no counterpart.")


@process_kernel.register
def _(kernel: gaussian_process.RBF):
    if kernel.anisotropic:
        return Mapped(Gaussian(0.5), 1 / np.asarray(kernel.length_scale, float))
    return Gaussian(0.5 / float(np.squeeze(kernel.length_scale)) ** 2)


@process_kernel.register
def _(kernel: gaussian_process.Matern):
    if kernel.nu not in (0.5, 1.5, 2.5):
        raise NotImplementedError("Matern of other smoothness than 1/2, 3/2 and 5/2.")
    if kernel.anisotropic:
        return Mapped(Matern(1.0, kernel.nu), 1 / np.asarray(kernel.length_scale, float))
    return Matern(float(np.squeeze(kernel.length_scale)), kernel.nu)


@process_kernel.register
def _(kernel: gaussian_process.RationalQuadratic):
    return RationalQuadratic(float(kernel.length_scale), float(kernel.alpha))


@process_kernel.register
def _(kernel: gaussian_process.ConstantKernel):
    return Constant(float(kernel.constant_value))


@process_kernel.register
def _(_kernel: gaussian_process.WhiteKernel):
    # noise of a new point is independent of that of the training points
    return Constant(0.0)


@process_kernel.register
def _(kernel: gaussian_process.DotProduct):
    return Linear() + float(kernel.sigma_0) ** 2


@process_kernel.register
def _(kernel: gaussian_process.Sum):
    return process_kernel(kernel.k1) + process_kernel(kernel.k2)


@process_kernel.register
def _(kernel: gaussian_process.Product):
    return process_kernel(kernel.k1) * process_kernel(kernel.k2)


@process_kernel.register
def _(kernel: gaussian_process.Exponentiation):
    if kernel.exponent != int(kernel.exponent) or kernel.exponent < 1:
        raise NotImplementedError("powers that are no whole numbers.")
    return Power(process_kernel(kernel.kernel), int(kernel.exponent))
