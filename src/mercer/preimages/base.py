"""What a way back to input space takes and gives: the protocol of methods, and the record of an answer."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from mercer.expansion import Expansion
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class Found:
    """What a method found, before anybody checked it.

    Attributes
    ----------
    points : array (m, d)
        One point of input space per vector, finite, float64.
    converged : array of bool (m,)
        Whether the method's own criterion was met.
    n_iter : array of int (m,)
        Iterations spent on each point; 0 where nothing is iterated.
    reasons : tuple of str (m,)
        Why a point did not converge; empty where it did.
    """

    points: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray
    reasons: tuple[str, ...]


@runtime_checkable
class Method(Protocol):
    """A way from m vectors of the feature space to m points: a frozen dataclass of options with these two methods.

    ``preimage`` calls ``require`` before anything is computed, hands ``find`` validated float64 data, recomputes the
    distances of the points it gets, and casts them to the type of the data. A method neither validates nor certifies.
    """

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the method can take the kernel: what is missing, and what works instead.

        Parameters
        ----------
        kernel : Kernel
            Resolved, on rows of numbers.
        """

    def find(self, psi: Expansion, start: np.ndarray) -> Found:
        """Return a point for every vector.

        Parameters
        ----------
        psi : Expansion
            m vectors over n points, both in float64; taken exactly as it is, without a mean.
        start : array (m, d)
            Where to start, in float64; methods that do not start anywhere leave it alone.

        Returns
        -------
        Found
            Never a NaN: a point that cannot be improved is where it started, with a reason.
        """
        ...


@dataclass(frozen=True)
class PreImage:
    """Points whose features are near the vectors asked for, with the certificate.

    Attributes
    ----------
    points : array (m, d)
        In the type of the expansion's points.
    sqdist : array (m,)
        |psi_j - phi(z_j)|^2 of these very points, recomputed in float64; below about 1e-14 |psi_j|^2 it is rounding.
    converged : array of bool (m,)
        Whether the method's own criterion was met.
    n_iter : array of int (m,)
        Iterations spent on each point.
    method : Method
        The record that was used, with all its options.
    reason : str
        Why this method, and why points did not converge, if some did not.
    """

    points: np.ndarray
    sqdist: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray
    method: Method
    reason: str
