"""Estimators in scikit-learn's manner: validate, resolve the kernel, solve, store; no mathematics."""

from mercer.estimators.along_prices import svc_path
from mercer.estimators.fisher import KernelFisher
from mercer.estimators.kernel_map import KernelMap
from mercer.estimators.kernelized import Kernelized
from mercer.estimators.nu import NuSVC, NuSVR
from mercer.estimators.nystroem import Nystroem
from mercer.estimators.one_class import OneClassSVM
from mercer.estimators.pca import KernelPCA
from mercer.estimators.pca_l1 import PCAL1
from mercer.estimators.perceptron import KernelPerceptron
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.svc import SVC
from mercer.estimators.svc_cv import SVCCV
from mercer.estimators.svdd import SVDD
from mercer.estimators.svr import SVR

__all__ = [
    "PCAL1",
    "SVC",
    "SVCCV",
    "SVDD",
    "SVR",
    "KernelFisher",
    "KernelMap",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "Kernelized",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "svc_path",
]
