"""How much a kernel machine can learn: spectra, balls, entropy numbers, and bounds of its error.

Everything takes a kernel and points, or a fitted model and the points it was fitted to. A `Bound` says what it states,
how surely, on what it rests, and whether it says anything here; `report` puts all of them beside the true error.
"""

from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.eigenvalues import Spectrum, effective_dimension, spectrum

__all__ = [
    "Ball",
    "Bound",
    "Spectrum",
    "effective_dimension",
    "smallest_ball",
    "spectrum",
]
