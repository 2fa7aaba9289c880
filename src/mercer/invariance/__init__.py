"""Prior knowledge of transformations: tangents, maps and kernels that depend less on them, in input and feature space.

A transformation is a function g(X, t) that moves rows by t, with g(X, 0) = X; ``image_transforms`` returns those of
images. Virtual examples are made by `mercer.VirtualSupportVectors`, local kernels on images by `mercer.Local`.
"""

from mercer._compute.devices import anywhere
from mercer._elsewhere import explain_names
from mercer.invariance._tangent_features import TangentFeatures, tangent_features
from mercer.invariance._tangents import tangent_covariance, tangents
from mercer.invariance.image_transforms import Flow, Thickening, image_transforms
from mercer.invariance.invariant_map import InvariantMap, invariant_kernel
from mercer.invariance.projected import Projected, invariant_feature_kernel, tangent_components

__all__ = [
    "Flow",
    "InvariantMap",
    "Projected",
    "TangentFeatures",
    "Thickening",
    "image_transforms",
    "invariant_feature_kernel",
    "invariant_kernel",
    "tangent_components",
    "tangent_covariance",
    "tangent_features",
    "tangents",
]
explain_names(__name__, anywhere)
