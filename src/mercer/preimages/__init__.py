"""Pre-images: points z of input space whose features phi(z) are near given vectors of the feature space."""

from mercer.preimages._preimage import preimage
from mercer.preimages._ray import Ray, ray
from mercer.preimages.base import Found, Method, PreImage
from mercer.preimages.fixed_point import FixedPoint
from mercer.preimages.gradient import Gradient
from mercer.preimages.inverse import Distances, Exact
from mercer.preimages.learned import Learned
from mercer.preimages.search import Search

__all__ = [
    "Distances",
    "Exact",
    "FixedPoint",
    "Found",
    "Gradient",
    "Learned",
    "Method",
    "PreImage",
    "Ray",
    "Search",
    "preimage",
    "ray",
]
