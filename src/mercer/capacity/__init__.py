"""How much a kernel machine can learn: spectra, balls, entropy numbers, and bounds of its error.

Everything takes a kernel and points, or a fitted model and the points it was fitted to. A `Bound` says what it states,
how surely, on what it rests, and whether it says anything here; `report` puts all of them beside the true error.
"""

from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.components import kpca_residual
from mercer.capacity.covering import log_covering_number
from mercer.capacity.decay import ExponentialDecay, ListedDecay, PolynomialDecay, estimate_decay
from mercer.capacity.eigenvalues import Spectrum, effective_dimension, spectrum
from mercer.capacity.entropy import (
    entropy_numbers,
    feature_entropy_number,
    log_entropy_number,
    log_feature_entropy_number,
)

__all__ = [
    "Ball",
    "Bound",
    "ExponentialDecay",
    "ListedDecay",
    "PolynomialDecay",
    "Spectrum",
    "effective_dimension",
    "entropy_numbers",
    "estimate_decay",
    "feature_entropy_number",
    "kpca_residual",
    "log_covering_number",
    "log_entropy_number",
    "log_feature_entropy_number",
    "smallest_ball",
    "spectrum",
]
