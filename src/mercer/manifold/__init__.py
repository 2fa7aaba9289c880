"""Riemannian geometry of the surface phi(x) in feature space, in the coordinates of input space.

A kernel with derivatives maps input space to a smooth surface. Its metric, curvature, volumes, densities and geodesics
follow from derivatives of k(x, z) at z = x alone, taken exactly.
"""

from mercer.manifold._magnify import magnify
from mercer.manifold.curvature import ricci, riemann, scalar_curvature
from mercer.manifold.geodesics import Geodesic, geodesic, geodesic_between, length
from mercer.manifold.tensors import christoffel, inverse_metric, metric
from mercer.manifold.volume import density, determinant, log_volume_element, volume_element

__all__ = [
    "Geodesic",
    "christoffel",
    "density",
    "determinant",
    "geodesic",
    "geodesic_between",
    "inverse_metric",
    "length",
    "log_volume_element",
    "magnify",
    "metric",
    "ricci",
    "riemann",
    "scalar_curvature",
    "volume_element",
]
