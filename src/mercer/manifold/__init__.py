"""Riemannian geometry of the surface phi(x) in feature space, in the coordinates of input space.

A differentiable kernel maps input space to a smooth surface. Its metric, curvature, volumes, densities and geodesics
are computed from exact derivatives of k(x, z) at z = x.
"""

from mercer._compute.devices import anywhere
from mercer._elsewhere import explain_names
from mercer.manifold._magnify import magnify
from mercer.manifold.geodesics import Geodesic, geodesic, geodesic_between, length
from mercer.manifold.tensors import (
    christoffel,
    density,
    determinant,
    inverse_metric,
    log_volume_element,
    metric,
    ricci,
    riemann,
    scalar_curvature,
    volume_element,
)

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
explain_names(__name__, anywhere)
