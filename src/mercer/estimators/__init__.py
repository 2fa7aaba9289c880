"""Estimators in scikit-learn's manner: validate, resolve the kernel, solve, store; no mathematics."""

from mercer.estimators.pca import KernelPCA

__all__ = ["KernelPCA"]
