"""ImageGridDisplay: rows of small images, such as digits before and after denoising."""

import math

import numpy as np

from mercer.plot import _axes


class ImageGridDisplay:
    """Small images side by side, one row per method or per kind.

    Parameters
    ----------
    images : array (rows, columns, height, width)
    titles : sequence of str, optional
        One per row.
    signed : bool
        Every image is scaled by its largest absolute value, and 0 is the middle of a diverging colour map; otherwise
        all share one scale, the range of the first row, so that noise beyond it is clipped as a screen would.

    Attributes
    ----------
    axes_ : array of Axes (rows,)
    strips_ : list of AxesImage
        One per row: the images of a row are drawn as one, with gaps.
    figure_ : Figure

    See Also
    --------
    ImageGridDisplay.from_estimator : Noisy and denoised images of a fitted KernelPCA.
    ImageGridDisplay.from_expansion : The points of an expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plot import ImageGridDisplay
    >>> display = ImageGridDisplay(np.random.default_rng(0).random((2, 5, 8, 8)), titles=["one", "two"]).plot()
    >>> len(display.strips_), display.strips_[0].get_array().shape
    (2, (8, 44))
    """

    def __init__(self, images, *, titles=None, signed=False):
        self.images = images
        self.titles = titles
        self.signed = signed

    @classmethod
    def from_estimator(cls, estimator, X, *, clean=None, n_images=10, shape=None, ax=None):
        """Denoise some images with a fitted KernelPCA and draw them, the noisy ones above the denoised.

        Parameters
        ----------
        estimator : KernelPCA
            Fitted; anything with ``denoise`` will do.
        X : array (n, d)
            Noisy images as rows.
        clean : array (n, d), optional
            The images without noise, drawn first.
        n_images : int
            The first so many are used.
        shape : (int, int), optional
            Height and width; a square when left out.
        ax : Axes or array of Axes, optional
            As in `plot`.

        Returns
        -------
        ImageGridDisplay

        Raises
        ------
        ValueError
            When rows of X are not images of that shape.
        """
        X = np.asarray(X)[:n_images]
        rows = {"noisy": X, "denoised": estimator.denoise(X)}
        if clean is not None:
            rows = {"clean": np.asarray(clean)[:n_images]} | rows
        height, width = _side(X, shape)
        images = np.stack([row.reshape(-1, height, width) for row in rows.values()])
        return cls(images, titles=list(rows)).plot(ax)

    @classmethod
    def from_expansion(cls, expansion, *, shape=None, n_columns=10, order=None, ax=None):
        """Draw the points of an expansion: the vectors that a reduction or a compression constructed.

        Parameters
        ----------
        expansion : Expansion
            Over rows that are images, such as ``mc.compress(svc, X, y, n_vectors=20).expansion_``.
        shape : (int, int), optional
            Height and width; a square when left out.
        n_columns : int
            Images in a row.
        order : integer array, optional
            Which points, in what order; all as they come when left out.
        ax : Axes or array of Axes, optional
            As in `plot`.

        Returns
        -------
        ImageGridDisplay

        Raises
        ------
        ValueError
            When points are not images of that shape.

        Examples
        --------
        >>> import numpy as np, mercer as mc
        >>> from mercer.plot import ImageGridDisplay
        >>> phi = mc.features(mc.Gaussian(0.5), np.random.default_rng(0).random((13, 9)))
        >>> ImageGridDisplay.from_expansion(phi).images.shape
        (2, 10, 3, 3)
        """
        points = expansion.points
        X = points.toarray() if hasattr(points, "toarray") else np.asarray(points)
        X = X if order is None else X[order]
        height, width = _side(X, shape)
        columns = min(n_columns, len(X))
        rows = -(-len(X) // columns)
        images = np.full((rows * columns, height, width), np.nan)
        images[: len(X)] = X.reshape(-1, height, width)
        return cls(images.reshape(rows, columns, height, width)).plot(ax)

    def plot(self, ax=None, *, cmap=None):
        """Draw one axes per row.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            One axes is divided into rows; an array gives one axes per row; left out, a figure is made.
        cmap : str or Colormap, optional
            cividis, or RdBu_r for signed images.

        Returns
        -------
        ImageGridDisplay
            Itself, with the artists.
        """
        images = np.asarray(self.images)
        rows, columns = images.shape[:2]
        self.axes_ = _axes.grid(ax, rows, 1, (0.55 * columns, 0.8))[:, 0]
        low, high = (-1.0, 1.0) if self.signed else (np.nanmin(images[0]), np.nanmax(images[0]))
        cmap = ("RdBu_r" if self.signed else "cividis") if cmap is None else cmap
        self.strips_ = [
            axes.imshow(_strip(_scaled(row) if self.signed else row), cmap=cmap, vmin=low, vmax=high)
            for axes, row in zip(self.axes_, images, strict=True)
        ]
        for axes, title in zip(self.axes_, self.titles or [""] * rows, strict=True):
            axes.set_axis_off()
            axes.set_title(title, loc="left", pad=3)
        self.figure_ = self.axes_[0].figure
        return self


def _strip(images):
    """Return images (columns, height, width) as one, with a masked column of pixels between them."""
    gap = np.full((len(images), images.shape[1], 1), np.nan)
    strip = np.concatenate([images, gap], axis=2).swapaxes(0, 1).reshape(images.shape[1], -1)[:, :-1]
    return np.ma.masked_invalid(strip)


def _scaled(images):
    """Return images over their largest absolute values; a black one stays black."""
    reach = np.abs(images).max(axis=(1, 2), keepdims=True)
    return images / np.where(reach > 0, reach, 1.0)


def _side(X, shape):
    """Return height and width of rows that are images: as given, or of squares."""
    if shape is not None:
        height, width = shape
        if height * width != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, and shape={shape!r} asks for {height * width}.")
        return height, width
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, which is no square; say shape=(height, width).")
    return side, side
