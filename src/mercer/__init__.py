"""Mercer: kernel methods for scikit-learn, with pre-images, reduced sets, compression and export."""

from importlib import import_module as _import_module

from mercer import capacity, manifold, maps, regularisation
from mercer.compression import compress
from mercer.definiteness import check_kernel
from mercer.estimators import (
    PCAL1,
    SVC,
    SVCCV,
    SVDD,
    SVR,
    KernelFisher,
    Kernelized,
    KernelMap,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    svc_path,
)
from mercer.expansion import Expansion, features, mean, mmd, sqdist
from mercer.factor import qr, svd
from mercer.formats import ModelFileError, as_expansion, load, save
from mercer.gram import Gram
from mercer.kernels import (
    Cauchy,
    Chi2,
    Conformal,
    Constant,
    Coordinatewise,
    Dot,
    Exp,
    FeatureMap,
    FunctionKernel,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Mapped,
    Matern,
    Normalized,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Radial,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
)
from mercer.least_squares import lstsq
from mercer.preimages import Distances, Exact, FixedPoint, Gradient, Learned, preimage, ray
from mercer.projection import project
from mercer.reduction import L1, Construct, Eigenvector, Greedy, MaxNorm, Merge, Pivoted, Refine, reduce
from mercer.solvers._certify import certify

__version__ = "0.1.0"

__all__ = [
    "Cauchy",
    "Chi2",
    "Conformal",
    "Constant",
    "Construct",
    "Coordinatewise",
    "Distances",
    "Dot",
    "Eigenvector",
    "Exact",
    "Exp",
    "Expansion",
    "FeatureMap",
    "FixedPoint",
    "FunctionKernel",
    "Gaussian",
    "Gradient",
    "Gram",
    "Greedy",
    "Intersection",
    "Kernel",
    "KernelFisher",
    "KernelMap",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "Kernelized",
    "L1",
    "Laplacian",
    "Learned",
    "Linear",
    "Mapped",
    "Matern",
    "MaxNorm",
    "Merge",
    "ModelFileError",
    "Normalized",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "PCAL1",
    "Pivoted",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Radial",
    "RationalQuadratic",
    "Refine",
    "SVC",
    "SVCCV",
    "SVDD",
    "SVR",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_expansion",
    "capacity",
    "certify",
    "check_kernel",
    "compress",
    "features",
    "load",
    "lstsq",
    "manifold",
    "maps",
    "mean",
    "mmd",
    "preimage",
    "project",
    "qr",
    "ray",
    "reduce",
    "regularisation",
    "save",
    "sqdist",
    "svc_path",
    "svd",
]

# Modules that are imported when they are first used.
_ON_DEMAND = ("datasets", "plot", "testing")


def __getattr__(name):
    if name in _ON_DEMAND:
        return _import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_ON_DEMAND})
