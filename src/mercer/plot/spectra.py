"""SpectrumDisplay: eigenvalues of a kernel on data, and the sides of the box of the mapped points."""

import numpy as np

from mercer.capacity import spectrum
from mercer.plot import _axes


class SpectrumDisplay:
    """Eigenvalues of a kernel matrix, and the box that holds the mapped points, on logarithmic scales.

    Parameters
    ----------
    spectrum : Spectrum

    Attributes
    ----------
    axes_ : array of Axes (1, 2)
    eigenvalues_ : Line2D
    sides_ : list of Line2D
        From the coordinates of the points, and from the largest value of an eigenfunction seen.
    figure_ : Figure

    See Also
    --------
    SpectrumDisplay.from_kernel : Compute the spectrum and draw.
    mercer.capacity.spectrum : The numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import SpectrumDisplay
    >>> display = SpectrumDisplay.from_kernel(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(60, 2)))
    >>> len(display.sides_)
    2
    """

    def __init__(self, spectrum):
        self.spectrum = spectrum

    @classmethod
    def from_kernel(cls, kernel, X, n_values=None, *, ax=None, **options):
        """Compute the spectrum of a kernel on points, and draw.

        Parameters
        ----------
        kernel : Kernel
        X : points (n)
        n_values : int, optional
        ax : Axes or array of Axes, optional
            As in `plot`.
        **options
            Of ``mercer.capacity.spectrum``: ``centre``, ``memory``, ``random_state``.

        Returns
        -------
        SpectrumDisplay
        """
        return cls(spectrum(kernel, X, n_values, **options)).plot(ax)

    def plot(self, ax=None):
        """Draw the eigenvalues beside the sides of the box.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            One axes is divided into two; an array gives both; left out, a figure is made.

        Returns
        -------
        SpectrumDisplay
            Itself, with the artists.
        """
        found = self.spectrum
        self.axes_ = _axes.grid(ax, 1, 2, (3.6, 2.8))
        left, right = self.axes_[0]
        number = np.arange(1, len(found.values) + 1)
        (self.eigenvalues_,) = left.semilogy(number, found.values / found.n, ".-", color="C0")
        left.set(xlabel="j", title="eigenvalue of the " + ("centred matrix" if found.centred else "matrix") + " / n")
        # a side of 0 has no place on a logarithmic scale
        seen = np.where(found.sides > 0, found.sides, np.nan)
        bound = float(found.suprema.max())
        self.sides_ = [
            *right.semilogy(number, seen, ".-", color="C0", label="of the points"),
            *right.semilogy(
                number, found.mercer_sides(bound), "--", color="C1", label=f"eigenfunctions below {bound:.3g}"
            ),
        ]
        right.set(xlabel="j", title="side of the box")
        right.legend(frameon=False, loc="lower left")
        self.figure_ = left.figure
        return self
