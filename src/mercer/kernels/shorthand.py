"""The five names and the callables that estimators accept in place of a kernel."""

from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian

_NAMES = {
    "rbf": Gaussian("scale"),
    "linear": Linear(),
    "poly": Polynomial(degree=3, gamma="scale", coef0=0.0),
    "sigmoid": Sigmoid(gamma="scale", coef0=0.0),
    "precomputed": Precomputed(),
}


def as_kernel(kernel):
    """Return the kernel that an estimator's ``kernel`` argument means.

    Parameters
    ----------
    kernel : Kernel, {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        For another string.
    TypeError
        For anything else, a class of kernels too.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _NAMES:
            raise ValueError(
                f"kernel = {kernel!r} is none of {sorted(_NAMES)}; "
                "other kernels are objects, such as mercer.Laplacian(0.1)."
            )
        return _NAMES[kernel]
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel = {kernel.__name__} is a class; give a kernel, such as {kernel.__name__}().")
    if callable(kernel):
        return FunctionKernel(kernel)
    raise TypeError(f"kernel must be a Kernel, a string or a callable, got {kernel!r} of type {type(kernel).__name__}.")
