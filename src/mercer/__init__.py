"""Mercer: kernel machines that go both ways, from input space into feature space and back."""

from mercer.expansion import Expansion, features, mean, mmd, sqdist
from mercer.gram import Gram
from mercer.kernels import *  # noqa: F403
from mercer.kernels import __all__ as _kernels

__version__ = "0.1.0"

__all__ = sorted([*_kernels, "Expansion", "Gram", "features", "mean", "mmd", "sqdist"])
