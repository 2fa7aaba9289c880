"""ImageGridDisplay: rows of small images, for example digits before and after denoising."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer._common import Array, ArrayLike, shown
from mercer._compute.points import dense
from mercer.expansion import Expansion, rows_of
from mercer.plot import axes


@dataclass(eq=False, repr=False)
class ImageGridDisplay:
    """Small images side by side, one row per method.

    Parameters
    ----------
    images : array (rows, columns, height, width)
    titles : sequence of str, optional
        One per row.
    signed : bool
        Scale every image by its largest absolute value, with 0 in the middle of a diverging colour map. Otherwise all
        images share the range of the first row, and values outside it are clipped.

    Attributes
    ----------
    axes_ : array of Axes (rows,)
    strips_ : list of AxesImage
        One per row; the images of a row are drawn as one, with gaps.
    figure_ : Figure

    See Also
    --------
    ImageGridDisplay.from_estimator : Draw noisy images and those denoised by a fitted KernelPCA.
    ImageGridDisplay.from_expansion : Draw the points of an expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plot import ImageGridDisplay
    >>> display = ImageGridDisplay(np.random.default_rng(0).random((2, 5, 8, 8)), titles=["one", "two"]).plot()
    >>> len(display.strips_), display.strips_[0].get_array().shape
    (2, (8, 44))
    """

    images: ArrayLike
    _: KW_ONLY
    titles: ArrayLike | None = None
    signed: bool = False

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: ArrayLike,
        *,
        clean: ArrayLike | None = None,
        n_images: int = 10,
        shape: tuple[int, int] | None = None,
        ax: object = None,
    ) -> Self:
        """Denoise images with a fitted KernelPCA, and draw the noisy ones above the denoised ones.

        Parameters
        ----------
        estimator : KernelPCA
            Fitted; any estimator with ``denoise``.
        X : array (n, d)
            Noisy images as rows.
        clean : array (n, d), optional
            The images without noise, drawn first.
        n_images : int
            Number of images, taken from the start of X.
        shape : (int, int), optional
            Height and width. Default: a square.
        ax : Axes or array of Axes, optional
            As in `plot`.

        Returns
        -------
        ImageGridDisplay

        Raises
        ------
        ValueError
            When the rows of X are not images of that shape.
        TypeError
            For an estimator without the method that is drawn.
        """
        axes.require_method(estimator, "denoise", "a fitted KernelPCA")
        noisy = dense(X[:n_images])
        rows = {"noisy": noisy, "denoised": estimator.denoise(X[:n_images])}
        if clean is not None:
            rows = {"clean": dense(clean[:n_images])} | rows
            if rows["clean"].shape != noisy.shape:
                raise ValueError(
                    f"clean has the shape {rows['clean'].shape} of images to draw, and X has {noisy.shape}; give the "
                    "same images without noise."
                )
        height, width = _image_shape(noisy, shape)
        images = np.stack([row.reshape(-1, height, width) for row in rows.values()])
        return cls(images, titles=list(rows)).plot(ax)

    @classmethod
    def from_expansion(
        cls,
        expansion: Expansion,
        *,
        shape: tuple[int, int] | None = None,
        n_columns: int = 10,
        order: ArrayLike | None = None,
        ax: object = None,
    ) -> Self:
        """Draw the points of an expansion, for example those constructed by `mercer.reduce` or `mercer.compress`.

        Parameters
        ----------
        expansion : Expansion
            Its points are images as rows, as in ``mc.compress(svc, X, y, n_vectors=20).expansion_``.
        shape : (int, int), optional
            Height and width. Default: a square.
        n_columns : int
            Images in a row.
        order : integer array, optional
            Indices of the points to draw. Default: all points in order.
        ax : Axes or array of Axes, optional
            As in `plot`.

        Returns
        -------
        ImageGridDisplay

        Raises
        ------
        ValueError
            When the points are not images of that shape.

        Examples
        --------
        >>> import numpy as np, mercer as mc
        >>> from mercer.plot import ImageGridDisplay
        >>> phi = mc.features(mc.Gaussian(0.5), np.random.default_rng(0).random((13, 9)))
        >>> ImageGridDisplay.from_expansion(phi).images.shape
        (2, 10, 3, 3)
        """
        X = dense(rows_of(expansion))
        X = X if order is None else X[order]
        height, width = _image_shape(X, shape)
        columns = min(n_columns, len(X))
        rows = -(-len(X) // columns)
        images = np.full((rows * columns, height, width), np.nan)
        images[: len(X)] = X.reshape(-1, height, width)
        return cls(images.reshape(rows, columns, height, width)).plot(ax)

    def plot(self, ax: object = None, *, cmap: object = None) -> Self:
        """Draw one axes per row.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            One axes, which is divided into rows, or an array with one axes per row. Default: a new figure.
        cmap : str or Colormap, optional
            Default: cividis, or RdBu_r for signed images.

        Returns
        -------
        self
        """
        images = np.asarray(self.images)
        rows, columns = images.shape[:2]
        self.axes_: Array = axes.grid(ax, rows, 1, (0.55 * columns, 0.8))[:, 0]
        low, high = (-1.0, 1.0) if self.signed else (np.nanmin(images[0]), np.nanmax(images[0]))
        cmap = ("RdBu_r" if self.signed else "cividis") if cmap is None else cmap
        self.strips_: list[Any] = [
            panel.imshow(
                _strip(_scaled(row) if self.signed else row), cmap=cmap, vmin=low, vmax=high
            )
            for panel, row in zip(self.axes_, images, strict=True)
        ]
        titles = [""] * rows if self.titles is None else list(self.titles)
        if len(titles) != rows:
            raise ValueError(
                f"titles has {len(titles)} entries, but there are {rows} rows; give one for each."
            )
        for panel, title in zip(self.axes_, titles, strict=True):
            panel.set_axis_off()
            panel.set_title(title, loc="left", pad=3)
        self.figure_: Any = self.axes_[0].figure
        return self


def _strip(images):
    """Return images (columns, height, width) as one image, with a masked column of pixels between them."""
    apart = np.pad(images.astype(float), [(0, 0), (0, 0), (0, 1)], constant_values=np.nan)
    return np.ma.masked_invalid(np.hstack(apart)[:, :-1])


def _scaled(images):
    """Return images divided by their largest absolute values; an image of zeros is unchanged."""
    reach = np.abs(images).max(axis=(1, 2), keepdims=True)
    return images / np.where(reach > 0, reach, 1.0)


def _image_shape(X, shape):
    """Return height and width of images stored as rows: the given shape, or that of a square."""
    if shape is not None:
        height, width = shape
        if height * width != X.shape[1]:
            raise ValueError(
                f"shape = {shown(shape)} has {height * width} pixels, but the rows have {X.shape[1]} columns."
            )
        return height, width
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1]:
        raise ValueError(
            f"the rows have {X.shape[1]} columns, not a square number; set shape=(height, width)."
        )
    return side, side
