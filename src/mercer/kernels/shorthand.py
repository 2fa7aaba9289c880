"""Conversion of the argument ``kernel`` of an estimator: a kernel, one of scikit-learn's names, or a callable."""

import functools
import operator
from dataclasses import MISSING, fields, replace
from typing import Any, TypeAlias

import numpy as np

from mercer._common import AnyFunction, T, shown
from mercer._elsewhere import KERNELS, use_of
from mercer.kernels.base import Kernel
from mercer.kernels.coordinatewise import AdditiveChi2, Chi2, Laplacian
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian
from mercer.kernels.rescaled import Normalized

# Kernels as estimators take them; a callable takes two blocks of points.
KernelLike: TypeAlias = Kernel | str | AnyFunction

# Parameters of kernels that are given by name.
PARAMETERS = ("gamma", "degree", "coef0")
_values_of = operator.attrgetter(*PARAMETERS)
# scikit-learn's names, with the defaults of its kernel functions.
_NAMES = {
    "additive_chi2": AdditiveChi2(),
    "chi2": Chi2(),
    "cosine": Normalized(Linear()),
    "laplacian": Laplacian("auto"),
    "linear": Linear(),
    "poly": Polynomial(gamma="auto"),
    "polynomial": Polynomial(gamma="auto"),
    "precomputed": Precomputed(),
    "rbf": Gaussian("auto"),
    "sigmoid": Sigmoid("auto", 1.0),
}
# Kernels without a name.
_OBJECT = (
    "or an object such as mercer.Gaussian(0.1), also a sum, mercer.Gaussian(0.1) + mercer.Linear()"
)


def as_kernel(
    kernel: KernelLike,
    name: str = "kernel",
    gamma: Any = "scale",
    degree: Any = 3,
    coef0: Any = 0.0,
) -> Kernel:
    """Return the kernel for a Kernel, one of scikit-learn's names, or a callable.

    Errors show ``name``. The others are parameters of a kernel given by name; for None it has scikit-learn's default.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _NAMES:
            known = KERNELS.get(kernel.lower())
            use = not known and use_of(kernel, "mercer.kernels")
            remedy = f"{f'use {use}, or ' if use else ''}give {known or 'rbf'!r}"
            raise ValueError(
                f"{name} = {shown(kernel)} must be one of {sorted(_NAMES)} or a kernel; {remedy}, {_OBJECT}."
            )
        values = gamma, degree, coef0
        try:
            hash(values)
        except TypeError:
            # lists and arrays, which are refused, are no keys
            make = _named.__wrapped__
        else:
            make = _named
        return make(kernel, *values)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        matrix = f", or {name}='precomputed', and fit(K, y)" if kernel is Precomputed else ""
        needed = [each.name for each in fields(kernel) if each.default is MISSING]
        raise TypeError(
            f"{name} = {kernel.__name__} must be an object, not a class; pass {kernel.__name__}({', '.join(needed)})"
            f"{matrix}."
        )
    if callable(kernel):
        return FunctionKernel(kernel)
    raise TypeError(
        f"{name} must be a Kernel, a string or a callable, got {shown(kernel)} of type {type(kernel).__name__}; write "
        f"{name}='rbf', gamma=0.1, {_OBJECT}; of several GridSearchCV chooses; for a matrix K of kernel values write "
        f"{name}='precomputed' and fit(K, y), for tests mercer.Precomputed(K) and indices as points."
    )


@functools.lru_cache(maxsize=64, typed=True)
def _named(kernel, *values):
    """Return the kernel of a name with the values of ``PARAMETERS`` that it has and that are not None."""
    found = _NAMES[kernel]
    given = zip(PARAMETERS, values, strict=True)
    own = found.__match_args__
    return replace(
        found, **{name: value for name, value in given if name in own and value is not None}
    )


def kernel_of(estimator: Any) -> Kernel:
    """Return the kernel of an estimator, or raise if parameters of named kernels are set beside an object."""
    # the matrix of a fit is its X
    kernel = Precomputed() if isinstance(estimator.kernel, Precomputed) else estimator.kernel
    values = _values_of(estimator)
    if not isinstance(kernel, str):
        for name, value in zip(PARAMETERS, values, strict=True):
            default = getattr(type(estimator), name)
            if value is not default and not np.array_equal(value, default):
                raise ValueError(
                    f"{name} = {shown(value)} must be {default!r}, its default, beside kernel = {shown(kernel)}: it "
                    f"belongs to kernels given by name; leave {name} out, set {name} on the object, in a grid as "
                    f"'kernel__{name}', or write kernel='rbf', {name}={shown(value)}."
                )
    return as_kernel(kernel, "kernel", *values)


def with_kernel(estimator: T, kernel: Kernel) -> T:
    """Return an estimator whose kernel is set to an object, and the parameters of named kernels to their defaults."""
    own = type(estimator)
    return estimator.set_params(
        kernel=kernel, **{name: getattr(own, name) for name in PARAMETERS if hasattr(own, name)}
    )
