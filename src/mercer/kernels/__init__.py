"""Kernels: immutable objects with values, diagonals and gradients, which combine by +, * and **."""

from mercer.kernels import tracing as tracing  # registers the expressions of kernels
from mercer.kernels.algebra import Constant, Exp, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel, Tags
from mercer.kernels.conditional import Multiquadric, PowerDistance, ThinPlate
from mercer.kernels.coordinatewise import (
    AdditiveChi2,
    Bhattacharyya,
    Chi2,
    Coordinatewise,
    Intersection,
    Laplacian,
)
from mercer.kernels.direct_sum import DirectSum, VariableWidthGaussian
from mercer.kernels.dot import Dot, Linear, Polynomial, Sigmoid
from mercer.kernels.feature_map import EmpiricalMap, FeatureMap
from mercer.kernels.function import FunctionKernel
from mercer.kernels.local import Local
from mercer.kernels.mapped import Mapped
from mercer.kernels.on_columns import OnColumns, on_columns
from mercer.kernels.on_features import OnFeatures
from mercer.kernels.periodic import Periodic
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.productwise import Anova, BSpline
from mercer.kernels.radial import Cauchy, Gaussian, Matern, Radial, RationalQuadratic
from mercer.kernels.rescaled import Normalized, Rescaled

__all__ = [
    "AdditiveChi2",
    "Anova",
    "BSpline",
    "Bhattacharyya",
    "Cauchy",
    "Chi2",
    "Rescaled",
    "Constant",
    "Coordinatewise",
    "DirectSum",
    "Dot",
    "EmpiricalMap",
    "Exp",
    "FeatureMap",
    "FunctionKernel",
    "Gaussian",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Local",
    "Mapped",
    "Matern",
    "Multiquadric",
    "Normalized",
    "OnColumns",
    "OnFeatures",
    "Periodic",
    "Polynomial",
    "Power",
    "PowerDistance",
    "Precomputed",
    "Product",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "Tags",
    "ThinPlate",
    "VariableWidthGaussian",
    "on_columns",
]
