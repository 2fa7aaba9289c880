"""Readers of scikit-learn's fitted kernel models, one per family."""

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from mercer._compute.points import dense, take_points
from mercer.expansion import Expansion
from mercer.formats.fitted_expansion import FittedExpansion, PairClassifier, PrecomputedColumns
from mercer.kernels.algebra import Constant, Power
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.function import FunctionKernel
from mercer.kernels.mapped import Mapped
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian, Matern, RationalQuadratic
from mercer.kernels.shorthand import as_kernel
from mercer.sklearn.switch import original

# --- support vector machines -----------------------------------------------------------------------------------------


def _support_vector_machine(model):
    """Return one column, or for more than two classes packed coefficients of pairs."""
    coef = dense(model.dual_coef_.T)
    classes = getattr(model, "classes_", None)
    intercept = np.array(model.intercept_)
    # without support vectors one point with coefficient 0 carries the kernel
    psi = Expansion(*_support(model), coef if len(coef) else np.zeros((1, len(intercept))))
    if len(coef) and classes is not None and len(classes) > 2:
        return PairClassifier(psi, model.n_support_, intercept, classes)
    return FittedExpansion(psi, intercept, classes)


def _support(model):
    """Return the kernel and the support vectors, at least one point."""
    rows = model.support_ if len(model.support_) else np.zeros(1, int)
    if callable(model.kernel):
        # the public support_vectors_ are empty with a callable
        training = model._BaseLibSVM__Xfit  # noqa: SLF001 - has no public name
        return FunctionKernel(model.kernel), take_points(training, rows)
    if model.kernel == "precomputed":
        return FunctionKernel(PrecomputedColumns(model.shape_fit_[0])), np.asarray(rows)
    kernel = _named(model, float(model._gamma))  # noqa: SLF001 - the number that gamma="scale" stands for
    vectors = model.support_vectors_ if len(model.support_) else np.zeros((1, model.n_features_in_))
    return kernel, sp.csr_matrix(vectors) if sp.issparse(vectors) else vectors


def _named(model, gamma):
    """Return the kernel that a model names, with its parameters."""
    return as_kernel(model.kernel, gamma=gamma, degree=int(model.degree), coef0=float(model.coef0))


# --- ridge regression and principal components -----------------------------------------------------------------------


def _ridge(model):
    expansion = Expansion(*_pairwise(model, model.gamma), model.dual_coef_)
    return FittedExpansion(expansion, np.zeros(len(expansion)))


def _components(model):
    """Return the components sum_i a_i (phi(x_i) - mean), and minus their inner products with the mean."""
    with np.errstate(divide="ignore"):
        scale = np.where(model.eigenvalues_ != 0, 1 / np.sqrt(model.eigenvalues_), 0)
    A = model.eigenvectors_ * scale
    centerer = model._centerer  # noqa: SLF001 - holds the means of the training matrix
    intercept = centerer.K_fit_all_ * A.sum(axis=0) - centerer.K_fit_rows_ @ A
    return FittedExpansion(
        Expansion(*_pairwise(model, model.gamma_), A - A.mean(axis=0)), intercept
    )


def _pairwise(model, gamma):
    """Return the kernel and the points of a model that computes its kernel by ``pairwise_kernels``."""
    points = model.X_fit_
    if callable(model.kernel):
        options = dict(model.kernel_params or {})
    elif model.kernel == "precomputed":
        return Precomputed().resolve(points), np.arange(len(points))
    elif not model.kernel.startswith("poly") or model.degree == int(model.degree):
        return _named(model, gamma).resolve(points), points
    else:
        options = {"gamma": gamma, "degree": model.degree, "coef0": model.coef0}
    values = functools.partial(pairwise_kernels, metric=model.kernel, filter_params=True, **options)
    return FunctionKernel(values), points


# --- Gaussian processes ----------------------------------------------------------------------------------------------


def _process(model):
    """Return the mean of a Gaussian process, in the units of the targets."""
    # scikit-learn's check without a name passes it, as it predicts without data
    check_is_fitted(model, "X_train_")
    alpha = model.alpha_.reshape(len(model.alpha_), -1)
    # units of the targets, without public names
    scale = np.broadcast_to(model._y_train_std, alpha.shape[1])  # noqa: SLF001
    intercept = np.broadcast_to(model._y_train_mean, alpha.shape[1])  # noqa: SLF001
    try:
        kernel = process_kernel(model.kernel_)
    except NotImplementedError:
        kernel = FunctionKernel(model.kernel_)
    return FittedExpansion(
        Expansion(kernel, model.X_train_, alpha * scale), intercept.astype(np.float64)
    )


def process_kernel(kernel: gaussian_process.Kernel) -> Kernel:
    """Return Mercer's form of a kernel of ``sklearn.gaussian_process``, or raise NotImplementedError."""
    if type(kernel) not in _PROCESS_KERNELS:
        raise NotImplementedError(f"{type(kernel).__name__} is not available in Mercer.")
    return _PROCESS_KERNELS[type(kernel)](kernel)


def _scaled(kernel, at):
    """Return Mercer's kernel ``at(length)``; several length scales divide the inputs of ``at(1.0)``."""
    if kernel.anisotropic:
        return Mapped(at(1.0), 1 / np.asarray(kernel.length_scale, float))
    return at(float(np.squeeze(kernel.length_scale)))


def _matern(kernel):
    if kernel.nu not in (0.5, 1.5, 2.5):
        raise NotImplementedError(
            f"Matern with nu = {kernel.nu} is not available; nu must be 0.5, 1.5 or 2.5."
        )
    return _scaled(kernel, lambda length: Matern(length, kernel.nu))


def _power(kernel):
    if kernel.exponent != int(kernel.exponent) or kernel.exponent < 1:
        raise NotImplementedError(
            f"the power {kernel.exponent} is not available; it must be a positive integer."
        )
    return Power(process_kernel(kernel.kernel), int(kernel.exponent))


_PROCESS_KERNELS = {
    gaussian_process.RBF: lambda k: _scaled(k, lambda length: Gaussian(0.5 / length**2)),
    gaussian_process.Matern: _matern,
    gaussian_process.RationalQuadratic: lambda k: RationalQuadratic(
        float(k.length_scale), float(k.alpha)
    ),
    gaussian_process.ConstantKernel: lambda k: Constant(float(k.constant_value)),
    # the noise of a new point is independent of the noise of training points
    gaussian_process.WhiteKernel: lambda _: Constant(0.0),
    gaussian_process.DotProduct: lambda k: Linear() + float(k.sigma_0) ** 2,
    gaussian_process.Sum: lambda k: process_kernel(k.k1) + process_kernel(k.k2),
    gaussian_process.Product: lambda k: process_kernel(k.k1) * process_kernel(k.k2),
    gaussian_process.Exponentiation: _power,
}

# Readers of fitted models by class, of subclasses too.
READERS: dict[type[Any], Any] = {
    **dict.fromkeys(map(original, (SVC, NuSVC, SVR, NuSVR, OneClassSVM)), _support_vector_machine),
    original(KernelRidge): _ridge,
    original(KernelPCA): _components,
    GaussianProcessRegressor: _process,
}
