"""Conversion of the argument ``kernel`` of an estimator: a kernel, one of five names, or a callable."""

from collections.abc import Callable
from typing import Any, TypeAlias

from mercer._common import shown
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian

# Kernels as estimators take them; a callable takes two blocks of points.
KernelLike: TypeAlias = Kernel | str | Callable[..., Any]

_NAMES = {
    "rbf": Gaussian("scale"),
    "linear": Linear(),
    "poly": Polynomial(degree=3, gamma="scale", coef0=0.0),
    "sigmoid": Sigmoid(gamma="scale", coef0=0.0),
    "precomputed": Precomputed(),
}

# What to give for other names, most of them those of scikit-learn's pairwise kernels.
_OBJECTS = {
    "gaussian": "'rbf', or mercer.Gaussian(0.1)",
    "polynomial": "'poly', or mercer.Polynomial(3, gamma=0.1, coef0=1.0)",
    "laplacian": "mercer.Laplacian(0.1)",
    "chi2": "mercer.Chi2(0.1)",
    "cosine": "mercer.Normalized(mercer.Linear())",
}


def as_kernel(kernel: KernelLike, name: str = "kernel") -> Kernel:
    """Return the kernel for a Kernel, "rbf", "linear", "poly", "sigmoid", "precomputed", or a callable.

    Errors show ``name``.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _NAMES:
            instead = _OBJECTS.get(kernel.lower(), "an object such as mercer.Gaussian(0.1)")
            raise ValueError(f"{name} = {shown(kernel)} must be one of {sorted(_NAMES)} or a kernel; give {instead}.")
        return _NAMES[kernel]
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"{name} = {kernel.__name__} must be an object, not a class; pass {kernel.__name__}().")
    if callable(kernel):
        return FunctionKernel(kernel)
    raise TypeError(
        f"{name} must be a Kernel, a string or a callable, got {shown(kernel)} of type {type(kernel).__name__}."
    )
