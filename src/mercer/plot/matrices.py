"""GramDisplay and SpectrumDisplay: a kernel matrix as an image, its eigenvalues, and the box of the mapped points."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer._common import Array, ArrayLike, Memory, PointsLike, Seed
from mercer.capacity import spectrum
from mercer.gram import Gram
from mercer.kernels.base import Kernel, require_kernel
from mercer.plot import axes


@dataclass(eq=False, repr=False)
class GramDisplay:
    """A kernel matrix as an image; lines separate the classes.

    Parameters
    ----------
    values : array (n, n)
    boundaries : array, optional
        Numbers of rows before each new class.

    Attributes
    ----------
    ax_ : Axes
    image_ : AxesImage
    lines_ : list of Line2D
        Two for each boundary.
    figure_ : Figure

    See Also
    --------
    GramDisplay.from_kernel : Compute the matrix of a kernel, and draw.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import GramDisplay
    >>> X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    >>> display = GramDisplay.from_kernel(mc.Gaussian("median"), X, y)
    >>> display.values.shape, len(display.lines_)
    ((30, 30), 4)
    """

    values: ArrayLike
    _: KW_ONLY
    boundaries: Any = ()

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        X: PointsLike,
        y: ArrayLike | None = None,
        *,
        memory: Memory = "1GB",
        ax: object = None,
    ) -> Self:
        """Compute the matrix of a kernel on points, and draw it.

        Parameters
        ----------
        kernel : Kernel
            Rules of bandwidths are resolved on the points.
        X : points (n)
        y : array (n,), optional
            Classes; the points are sorted by class.
        memory : str or int
            Limit of the matrix, as in `mercer.Gram`.
        ax : Axes, optional
            As in `plot`.

        Returns
        -------
        GramDisplay
        """
        require_kernel(kernel)
        kernel = kernel.resolve(X)
        # all rows of a given matrix
        X = np.arange(len(X)) if kernel.tags.points == "indices" and np.ndim(X) == 2 else X
        gram = Gram(kernel, X, memory=memory)
        if y is None:
            return cls(gram.dense()).plot(ax)
        y = axes.labels(y, gram.shape[0])
        order = np.argsort(y, kind="stable")
        counts = np.unique(y, return_counts=True)[1]
        return cls(gram.dense()[np.ix_(order, order)], boundaries=np.cumsum(counts)[:-1]).plot(ax)

    def plot(self, ax: object = None, *, cmap: object = "cividis") -> Self:
        """Draw the matrix and the boundaries of the classes.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.
        cmap : str or Colormap

        Returns
        -------
        self
        """
        ax = axes.one(ax, (4.6, 3.8))
        self.image_: Any = ax.imshow(self.values, cmap=cmap, interpolation="nearest")
        ax.figure.colorbar(self.image_, ax=ax, label="k(x, z)")
        self.lines_: list[Any] = [
            draw(boundary - 0.5, color="white", linewidth=0.8)
            for boundary in self.boundaries
            for draw in (ax.axhline, ax.axvline)
        ]
        ax.set(xticks=[], yticks=[])
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


@dataclass(eq=False, repr=False)
class SpectrumDisplay:
    """Eigenvalues of a kernel matrix, and side lengths of the bounding box, on logarithmic scales.

    Parameters
    ----------
    spectrum : Spectrum

    Attributes
    ----------
    axes_ : array of Axes (1, 2)
    eigenvalues_ : Line2D
    sides_ : list of Line2D
        From the coordinates of the points, and from the largest value of an eigenfunction on the sample.
    figure_ : Figure

    See Also
    --------
    SpectrumDisplay.from_kernel : Compute the spectrum and draw it.
    mercer.capacity.spectrum : Compute the numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import SpectrumDisplay
    >>> display = SpectrumDisplay.from_kernel(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(60, 2)))
    >>> len(display.sides_)
    2
    """

    spectrum: Any

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        X: PointsLike,
        n_values: int | None = None,
        *,
        ax: object = None,
        **options: Memory | Seed | bool,
    ) -> Self:
        """Compute the spectrum of a kernel on points, and draw it.

        Parameters
        ----------
        kernel : Kernel
        X : points (n)
        n_values : int, optional
        ax : Axes or array of Axes, optional
            As in `plot`.
        **options
            ``centre``, ``memory`` and ``random_state`` of ``mercer.capacity.spectrum``.

        Returns
        -------
        SpectrumDisplay
        """
        return cls(spectrum(kernel, X, n_values, **options)).plot(ax)

    def plot(self, ax: object = None) -> Self:
        """Draw the eigenvalues beside the side lengths.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            One axes, which is divided in two, or an array of two. Default: a new figure.

        Returns
        -------
        self
        """
        found = self.spectrum
        self.axes_: Array = axes.grid(ax, 1, 2, (3.6, 2.8))
        left, right = self.axes_[0]
        number = np.arange(1, len(found.values) + 1)
        self.eigenvalues_: Any = left.semilogy(number, found.values / found.n, ".-", color="C0")[0]
        left.set(
            xlabel="j",
            title="eigenvalue of the " + ("centred matrix" if found.centred else "matrix") + " / n",
        )
        # a logarithmic scale cannot show a side of 0
        seen = np.where(found.sides > 0, found.sides, np.nan)
        bound = found.suprema.max()
        self.sides_: list[Any] = [
            *right.semilogy(number, seen, ".-", color="C0", label="of the points"),
            *right.semilogy(
                number,
                found.mercer_sides(bound),
                "--",
                color="C1",
                label=f"eigenfunctions below {bound:.3g}",
            ),
        ]
        right.set(xlabel="j", title="side of the box")
        right.legend(frameon=False, loc="lower left")
        self.figure_: Any = left.figure
        return self
