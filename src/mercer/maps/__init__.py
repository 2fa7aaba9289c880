"""Maps from input space to coordinates: nonlinear projection trick, empirical, Mercer, monomial and Fourier maps."""

from mercer._elsewhere import explain_names
from mercer.landmarks import select_landmarks
from mercer.maps.coordinates import (
    Coordinates,
    extend,
    nonsymmetric_whitening,
    project_on,
    recentred,
    spectral,
    triangular,
    whitened,
)
from mercer.maps.eigenfunctions import MercerMap, mercer_map
from mercer.maps.fourier import FourierFeatures, random_fourier
from mercer.maps.landmark_pca import onto_landmarks, trace_error
from mercer.maps.monomials import monomial_count, ordered_monomials, unordered_monomials

__all__ = [
    "Coordinates",
    "FourierFeatures",
    "MercerMap",
    "extend",
    "mercer_map",
    "monomial_count",
    "nonsymmetric_whitening",
    "onto_landmarks",
    "ordered_monomials",
    "project_on",
    "random_fourier",
    "recentred",
    "select_landmarks",
    "spectral",
    "trace_error",
    "triangular",
    "unordered_monomials",
    "whitened",
]
explain_names(__name__)
