"""Mercer: kernel machines that go both ways, from input space into feature space and back."""

from mercer.expansion import Expansion, features, mean, mmd, sqdist
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

from mercer.estimators.svc import SVC
from mercer.solvers.certificate import certify

__version__ = "0.1.0"

__all__ = [
    "Cauchy",
    "Chi2",
    "Conformal",
    "Constant",
    "Coordinatewise",
    "Dot",
    "Exp",
    "Expansion",
    "FeatureMap",
    "FunctionKernel",
    "Gaussian",
    "Gram",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mapped",
    "Matern",
    "Normalized",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "features",
    "mean",
    "mmd",
    "sqdist",
]
