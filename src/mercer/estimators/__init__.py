"""Estimators with the interface of scikit-learn: fit validates, resolves the kernel, solves and stores."""

from mercer.estimators._plan import plan
from mercer.estimators._svc_path import svc_path
from mercer.estimators.kernel_fisher import KernelFisher
from mercer.estimators.kernel_map import KernelMap
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.kernel_perceptron import KernelPerceptron
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.estimators.kernelized import Kernelized
from mercer.estimators.nu_svc import NuSVC
from mercer.estimators.nu_svr import NuSVR
from mercer.estimators.nystroem import Nystroem
from mercer.estimators.one_class_svm import OneClassSVM
from mercer.estimators.pca_l1 import PCAL1
from mercer.estimators.quantile_svr import QuantileSVR
from mercer.estimators.svc import SVC
from mercer.estimators.svc_cv import SVCCV
from mercer.estimators.svdd import SVDD
from mercer.estimators.svr import SVR
from mercer.estimators.svr_cv import SVRCV
from mercer.estimators.table_classifier import TableClassifier
from mercer.estimators.table_regressor import TableRegressor
from mercer.estimators.virtual_support_vectors import VirtualSupportVectors

__all__ = [
    "PCAL1",
    "SVC",
    "SVCCV",
    "SVRCV",
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
    "QuantileSVR",
    "TableClassifier",
    "TableRegressor",
    "plan",
    "svc_path",
    "VirtualSupportVectors",
]
