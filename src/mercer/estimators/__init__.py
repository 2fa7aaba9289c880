"""Estimators in scikit-learn's manner: validate, resolve the kernel, solve, store; no mathematics."""

from mercer.estimators.kernel_map import KernelMap
from mercer.estimators.nystroem import Nystroem
from mercer.estimators.pca import KernelPCA

__all__ = ["KernelMap", "KernelPCA", "Nystroem"]
