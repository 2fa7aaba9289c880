"""weighted_sum: the sum of kernels times positive weights."""

import functools
import operator
from collections.abc import Sequence

from mercer._common import Array
from mercer.kernels.base import Kernel


def weighted_sum(kernels: Sequence[Kernel], weights: Array) -> Kernel:
    """Return sum_k weights[k] kernels[k] as a kernel, without the kernels of weight 0."""
    pairs = zip(kernels, weights, strict=True)
    return functools.reduce(
        operator.add, [float(weight) * kernel for kernel, weight in pairs if weight > 0]
    )
