"""image_transforms: transformations of images, such as translations and rotation, as functions g(X, t) of rows."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer._common import Array, check_integer, check_number, record, shown
from mercer._compute.points import as_dense_rows
from mercer._compute.register import storable

# Largest amount of a transformation, in pixels.
_FARTHEST = 1e6
# Factor that moves every place but the centre out of the image.
_BEYOND = 1e12


@storable
@record
class Flow:
    """Transformation of images by a flow of the plane; ``image_transforms`` makes it.

    The image moved by t has at the place u the grey value of x at exp(-t A) u, in homogeneous coordinates (row, column,
    1) about the centre. Values between pixels are cubic convolutions (Keys 1981), which have a continuous derivative
    and are exact at pixels.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of an image.
    velocity : tuple of tuple of float
        The upper two rows of A.
    background : float
        Grey value outside of the image.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.invariance import Flow
    >>> down = Flow((3, 1), ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)))
    >>> down(np.array([[1.0, 2.0, 3.0]]), 1.0)
    array([[0., 1., 2.]])
    """

    shape: tuple[Any, ...]
    velocity: tuple[Any, ...]
    background: float = 0.0

    def __call__(self, X: Array, t: float) -> Array:
        """Return the images (n, d) moved by t."""
        _check_amount(t)
        X = _as_images(X, self.shape)
        generator = np.vstack([self.velocity, np.zeros(3)])
        with np.errstate(over="ignore"):
            matrix = scipy.linalg.expm(-float(t) * generator)
        # an infinite factor would lose the centre
        places = (np.clip(matrix, -_BEYOND, _BEYOND) @ _pixels(self.shape))[:2]
        moved = _interpolation(places, self.shape) @ (X - self.background).T
        return (self.background + moved.T).astype(X.dtype, copy=False)

    def derivative(self, X: Array) -> Array:
        """Return the derivatives (n, d) of the moved images in t at 0, exactly those of the interpolated images."""
        X = _as_images(X, self.shape)
        speed = np.asarray(self.velocity) @ _pixels(self.shape)
        slopes = _differences(X - self.background, self.shape)
        return -(speed[0] * slopes[0] + speed[1] * slopes[1]).astype(X.dtype, copy=False)


@storable
@record
class Thickening:
    """Transformation x + t |grad x| of images, which moves all edges outwards by about t pixels; t < 0 thins.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of an image.
    background : float
        Grey value outside of the image.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.invariance import Thickening
    >>> Thickening((1, 5))(np.array([[0.0, 0.0, 1.0, 0.0, 0.0]]), 1.0)
    array([[0. , 0.5, 1. , 0.5, 0. ]])
    """

    shape: tuple[Any, ...]
    background: float = 0.0

    def __call__(self, X: Array, t: float) -> Array:
        """Return the images (n, d) with thickness changed by t."""
        _check_amount(t)
        X = _as_images(X, self.shape)
        return (X + t * self.derivative(X)).astype(X.dtype, copy=False)

    def derivative(self, X: Array) -> Array:
        """Return |grad x| (n, d), from central differences of pixels."""
        X = _as_images(X, self.shape)
        slopes = _differences(X - self.background, self.shape)
        return np.hypot(*slopes).astype(X.dtype, copy=False)


def image_transforms(
    shape: tuple[int, int], *, background: float = 0.0
) -> dict[str, Callable[..., Array]]:
    r"""Return named transformations of images, functions g(X, t) of rows with g(X, 0) = X.

    - ``"down"``, ``"right"``: translations;
    - ``"rotation"``, ``"scaling"``, ``"shear"`` (rows move to the right in proportion to their height),
      ``"stretch"`` (taller and narrower): linear maps of the plane about the centre;
    - ``"thickness"``: x + t |grad x|.

    t is measured in pixels: that of translations and of thickness is a distance; t = 1 of a linear map moves the
    middles of the edges of the image by at most about one pixel. Tangents of all of them are then of similar size.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of an image, whose pixels are the columns of X, row by row.
    background : float
        Grey value outside of the image; -1 for pixels from -1 to 1.

    Returns
    -------
    dict of str to callable
        Frozen records with the exact derivative in t at 0, ``derivative(X)``; model files can hold them.

    Raises
    ------
    ValueError
        When the shape is not two positive numbers; when called, for X of another number of columns.

    Notes
    -----
    A call takes O(16 n d) operations.

    References
    ----------
    Simard, LeCun, Denker, Victorri, *Transformation invariance in pattern recognition - tangent distance and tangent
    propagation*, Neural Networks: Tricks of the Trade (1998), section 3.
    Keys, *Cubic convolution interpolation for digital image processing*, IEEE TASSP 29 (1981), eq. (15).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.invariance import image_transforms
    >>> g = image_transforms((2, 3))
    >>> sorted(g)
    ['down', 'right', 'rotation', 'scaling', 'shear', 'stretch', 'thickness']
    >>> g["right"](np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), 1)
    array([[0., 1., 2., 0., 4., 5.]])
    """
    shape = _check_shape(shape)
    check_number("background", background)
    # one over the largest distance of the middle of an edge from the centre
    unit = 1 / max(0.5, (max(shape) - 1) / 2)
    flows = {
        "down": ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
        "right": ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        "rotation": ((0.0, unit, 0.0), (-unit, 0.0, 0.0)),
        "scaling": ((unit, 0.0, 0.0), (0.0, unit, 0.0)),
        "shear": ((0.0, 0.0, 0.0), (-unit, 0.0, 0.0)),
        "stretch": ((unit, 0.0, 0.0), (0.0, -unit, 0.0)),
    }
    transforms = {
        name: Flow(shape, velocity, float(background)) for name, velocity in flows.items()
    }
    return transforms | {"thickness": Thickening(shape, float(background))}


def _check_shape(shape):
    """Return the shape of an image as a tuple, or raise."""
    try:
        rows, columns = shape
    except (TypeError, ValueError):
        raise ValueError(
            f"shape = {shown(shape)} must be a pair of the numbers of rows and columns of an image."
        ) from None
    check_integer("shape[0]", rows)
    check_integer("shape[1]", columns)
    return int(rows), int(columns)


def _check_amount(t):
    check_number("t", t)
    if abs(t) > _FARTHEST:
        raise ValueError(
            f"t = {shown(t)} must be at most {_FARTHEST:g} in size: it is measured in pixels."
        )


def _as_images(X, shape):
    """Return rows of pixels, or raise where their number is not that of an image."""
    X = as_dense_rows(X, "X")
    if X.shape[1] != shape[0] * shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns, but shape = {shape} must have as many pixels, and has {shape[0] * shape[1]}; "
            "give the shape of the images in X."
        )
    return X


def _differences(X, shape):
    """Return central differences (n, d) of images down and to the right, with 0 outside of the image."""
    padded = np.pad(X.reshape(-1, *shape), [(0, 0), (1, 1), (1, 1)])
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    right = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    return (down / 2).reshape(X.shape), (right / 2).reshape(X.shape)


@functools.lru_cache(maxsize=64)
def _pixels(shape):
    """Return the homogeneous coordinates (3, d) of all pixels about the centre."""
    rows, columns = np.indices(shape).reshape(2, -1)
    return np.stack([rows - (shape[0] - 1) / 2, columns - (shape[1] - 1) / 2, np.ones(rows.size)])


def _interpolation(places, shape):
    """Return the sparse matrix (d, d) that takes an image with background 0 to its values at some places (2, d)."""
    parts = []
    for axis, size in enumerate(shape):
        at = places[axis] + (size - 1) / 2
        # far outside of the image nothing is near
        first = np.floor(np.clip(at, -9, size + 9)).astype(int)
        near = first[:, None] + np.arange(-1, 3)
        inside = (near >= 0) & (near < size)
        parts.append((near * inside, _cubic(at[:, None] - near) * inside))
    (rows, by_row), (columns, by_column) = parts
    weights = by_row[:, :, None] * by_column[:, None, :]
    pixels = rows[:, :, None] * shape[1] + columns[:, None, :]
    ends = np.arange(0, weights.size + 1, 16)
    matrix = sp.csr_matrix((weights.ravel(), pixels.ravel(), ends), (len(rows), len(rows)))
    matrix.eliminate_zeros()
    return matrix


def _cubic(u):
    """Return the kernel of cubic convolution of Keys with a = -1/2."""
    u = np.abs(u)
    near = (1.5 * u - 2.5) * u * u + 1
    far = ((-0.5 * u + 2.5) * u - 4) * u + 2
    return np.where(u <= 1, near, np.where(u < 2, far, 0.0))
