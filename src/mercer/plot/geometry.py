"""MetricDisplay and SurfaceDisplay: metric, volume element and curvature of a kernel over the plane."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer import manifold
from mercer._common import ArrayLike, as_float64
from mercer.kernels.base import Kernel
from mercer.plot import axes


@dataclass(eq=False, repr=False)
class MetricDisplay:
    """Ellipses of the metric: around each point, the steps of one length in feature space.

    An ellipse is small where the feature map magnifies, and long in a direction that it contracts.

    Parameters
    ----------
    centres : array (n, 2)
    metric : array (n, 2, 2)
        As returned by `mercer.manifold.metric`.
    radius : float, optional
        Length of the steps in feature space. Default: nine of ten ellipses are at most as long as the smallest distance
        between centres; larger ones are clipped.
    points : array (m, 2), optional
        Points to draw under the ellipses.

    Attributes
    ----------
    ellipses_ : PolyCollection
        One polygon per centre, except where the metric is singular and its ellipse unbounded.
    ax_ : Axes
    figure_ : Figure
    radius_ : float
        Length of the steps.

    See Also
    --------
    MetricDisplay.from_kernel : Evaluate the metric on a grid, and draw.

    References
    ----------
    Amari, Wu, *Improving support vector machine classifiers by modifying kernel functions*, Neural Networks 12 (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import MetricDisplay
    >>> display = MetricDisplay.from_kernel(mc.Polynomial(2), (-1, 1, -1, 1), n_grid=7)
    >>> len(display.ellipses_.get_paths())
    49
    """

    centres: ArrayLike
    metric: ArrayLike
    _: KW_ONLY
    radius: float | None = None
    points: ArrayLike | None = None

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        region: axes.Region,
        *,
        n_grid: int = 13,
        radius: float | None = None,
        points: ArrayLike | None = None,
        ax: object = None,
    ) -> Self:
        """Evaluate the metric of a kernel on a grid of the plane, and draw.

        Parameters
        ----------
        kernel : Kernel
            Resolved, as in `mercer.manifold.metric`.
        region : (x_min, x_max, y_min, y_max)
        n_grid : int
            Ellipses on each axis.
        radius, points
            As in the class.
        ax : Axes, optional
            As in `plot`.

        Returns
        -------
        MetricDisplay
        """
        _, _, centres = axes.lattice(region, n_grid)
        return cls(centres, manifold.metric(kernel, centres), radius=radius, points=points).plot(ax)

    def plot(self, ax: object = None, *, color: str = "C0") -> Self:
        """Draw all ellipses in one axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.
        color : str
            Colour of the edges; the interior is lighter.

        Returns
        -------
        self
        """
        self.ax_: Any = axes.one(ax, (4.0, 4.0))
        from matplotlib.collections import PolyCollection

        centres = as_float64(self.centres)
        half_axes = _half_axes(as_float64(self.metric))
        there = np.isfinite(half_axes).all(axis=(1, 2))
        spacing = _spacing(centres)
        self.radius_: Any = (
            _fitting(spacing, half_axes[there]) if self.radius is None else float(self.radius)
        )
        t = np.linspace(0, 2 * np.pi, 49)
        circle = np.stack([np.cos(t), np.sin(t)])
        outlines = centres[there][:, None, :] + self.radius_ * np.swapaxes(
            half_axes[there] @ circle, 1, 2
        )
        self.ellipses_: Any = PolyCollection(
            outlines, edgecolors=color, facecolors=(color, 0.15), linewidths=0.8
        )
        axes.dots(self.ax_, self.points)
        self.ax_.add_collection(self.ellipses_)
        limits = np.stack([centres.min(axis=0) - spacing, centres.max(axis=0) + spacing], axis=1)
        self.ax_.set(aspect="equal", xlim=limits[0], ylim=limits[1], title="metric")
        self.figure_: Any = self.ax_.figure
        return self


@dataclass(eq=False, repr=False)
class SurfaceDisplay:
    """Images of the volume element and of the scalar curvature over the plane.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        Coordinates of the grid.
    log_volume : array (n_y, n_x)
        Logarithm of the volume element; -inf where the metric is singular.
    curvature : array (n_y, n_x)
        Scalar curvature; NaN where the metric is singular.
    points : array (m, 2), optional
        Points to draw over the images.

    Attributes
    ----------
    axes_ : array of Axes (2,)
    images_ : list of QuadMesh
        Decimal logarithm of the volume element, and curvature on a scale symmetric about 0, linear up to its median
        absolute value and logarithmic above, since it is unbounded near singular points. Singular points are blank.
    figure_ : Figure

    See Also
    --------
    SurfaceDisplay.from_kernel : Evaluate both on a grid, and draw.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import SurfaceDisplay
    >>> display = SurfaceDisplay.from_kernel(mc.Polynomial(2), (-1, 1, -1, 1), n_grid=20)
    >>> display.curvature.shape, bool((display.curvature < 0).all())
    ((20, 20), True)
    """

    x: ArrayLike
    y: ArrayLike
    log_volume: ArrayLike
    curvature: ArrayLike
    _: KW_ONLY
    points: ArrayLike | None = None

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        region: axes.Region,
        *,
        n_grid: int = 60,
        points: ArrayLike | None = None,
        ax: object = None,
    ) -> Self:
        """Evaluate volume element and curvature of a kernel on a grid of the plane, and draw.

        Parameters
        ----------
        kernel : Kernel
            Resolved, as in `mercer.manifold.scalar_curvature`.
        region : (x_min, x_max, y_min, y_max)
        n_grid : int
            Grid points on each axis.
        points
            As in the class.
        ax : Axes or array of Axes, optional
            As in `plot`.

        Returns
        -------
        SurfaceDisplay
        """
        x, y, plane = axes.lattice(region, n_grid)
        log_volume = manifold.log_volume_element(kernel, plane)
        regular = np.isfinite(log_volume)
        curvature = np.full(len(plane), np.nan)
        if regular.any():
            curvature[regular] = manifold.scalar_curvature(kernel, plane[regular])
        shape = (n_grid, n_grid)
        return cls(x, y, log_volume.reshape(shape), curvature.reshape(shape), points=points).plot(
            ax
        )

    def plot(
        self, ax: object = None, *, cmap: object = "cividis", curvature_cmap: object = "RdBu_r"
    ) -> Self:
        """Draw the two images side by side.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            One axes, which is divided in two, or an array of two. Default: a new figure.
        cmap, curvature_cmap : str or Colormap
            Of the volume element; of the curvature, diverging.

        Returns
        -------
        self
        """
        self.axes_: Any = axes.grid(ax, 1, 2, (4.0, 3.4))[0]
        from matplotlib.colors import AsinhNorm

        curvature = np.ma.masked_invalid(self.curvature)
        # the scale of a flat surface shows rounding about 0 in pale colours
        sizes = np.append(np.abs(curvature.compressed()), 1e-9)
        reach = sizes.max()
        width = max(np.median(sizes), 1e-3 * reach)
        norm = AsinhNorm(width, vmin=-reach, vmax=reach)
        ticks = np.array([width * reach, reach**2]) ** 0.5
        ticks = [*-ticks[::-1], 0.0, *ticks]
        volume = np.ma.masked_invalid(np.asarray(self.log_volume) / np.log(10))
        self.images_: list[Any] = [
            self._panel(self.axes_[0], volume, "log10 of volume element", None, cmap=cmap),
            self._panel(
                self.axes_[1], curvature, "scalar curvature", ticks, cmap=curvature_cmap, norm=norm
            ),
        ]
        self.figure_: Any = self.axes_[0].figure
        return self

    def _panel(self, ax, values, title, ticks, **colours):
        image = ax.pcolormesh(self.x, self.y, values, shading="nearest", **colours)
        ax.figure.colorbar(image, ax=ax, ticks=ticks, format="%.3g")
        axes.dots(ax, self.points)
        ax.set(aspect="equal", title=title)
        return image


def _half_axes(metric):
    """Return matrices (n, 2, 2) that map the unit circle to the steps of unit length; NaN for a singular metric."""
    values, vectors = np.linalg.eigh(metric)
    # eigenvalues of a singular metric can be negative by rounding
    floor = np.finfo(np.float64).eps * 64 * np.abs(values).max(axis=1, keepdims=True)
    return vectors / np.sqrt(np.where(values > floor, values, np.nan))[:, None, :]


def _spacing(centres):
    """Return the smallest distance between two centres; 1 for a single centre."""
    from scipy.spatial import cKDTree

    return float(cKDTree(centres).query(centres, k=2)[0][:, 1].min()) if len(centres) > 1 else 1.0


def _fitting(spacing, half_axes):
    """Return the radius at which nine of ten ellipses are at most as long as the spacing."""
    return (
        0.5 * spacing / float(np.percentile(np.linalg.norm(half_axes, axis=1).max(axis=1), 90))
        if len(half_axes)
        else 1.0
    )
