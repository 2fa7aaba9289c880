"""From input space to coordinates: the nonlinear projection trick, empirical, Mercer, monomial and Fourier maps."""

from mercer.maps._extend import extended, recentred
from mercer.maps._select_landmarks import chosen, landmarks_for
from mercer.maps.coordinates import Coordinates, project_on, spectral, triangular
from mercer.maps.eigenfunctions import MercerMap, mercer_map
from mercer.maps.empirical import nonsymmetric_whitening, whitened
from mercer.maps.fourier import FourierFeatures, random_fourier
from mercer.maps.monomials import monomial_count, ordered_monomials, unordered_monomials
from mercer.maps.over_landmarks import within

__all__ = [
    "Coordinates",
    "FourierFeatures",
    "MercerMap",
    "chosen",
    "extended",
    "landmarks_for",
    "mercer_map",
    "monomial_count",
    "nonsymmetric_whitening",
    "ordered_monomials",
    "project_on",
    "random_fourier",
    "recentred",
    "spectral",
    "triangular",
    "unordered_monomials",
    "whitened",
    "within",
]
