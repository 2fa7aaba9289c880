"""Estimators in scikit-learn's manner: validate, resolve the kernel, solve, store; no mathematics."""

from mercer.estimators.fisher import KernelFisher
from mercer.estimators.kernel_map import KernelMap
from mercer.estimators.kernelized import Kernelized
from mercer.estimators.nystroem import Nystroem
from mercer.estimators.pca import KernelPCA
from mercer.estimators.pca_l1 import PCAL1
from mercer.estimators.perceptron import KernelPerceptron
from mercer.estimators.ridge import KernelRidge

__all__ = [
    "PCAL1",
    "KernelFisher",
    "KernelMap",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "Kernelized",
    "Nystroem",
]
