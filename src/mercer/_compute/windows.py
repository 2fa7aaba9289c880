"""Windows: weighted sums over patches of images, and compiled loops for means of a profile over all patches.

A loop takes one image x against a block of images z: products or squared differences of pixels, two passes of window
sums, and the profile stay in the first-level cache.
"""

import functools

import numpy as np

from mercer._common import Array, record
from mercer._compute.compile import compiled
from mercer._compute.costs import LANES
from mercer._compute.intrinsics import wide
from mercer._compute.memory import allocate
from mercer._compute.profile import loops_of_formulas, parameters, within_range
from mercer._compute.threads import run_on_rows


@record
class Windows:
    """Patches of images of a shape, one around each pixel, with weights that fall linearly from the centre.

    A patch has a width, an odd number of pixels; weights of a whole patch sum to 1, and patches are cut at the border.
    """

    shape: tuple[int, int]
    width: int

    @property
    def taps(self) -> Array:
        """Weights of the pixels along one axis (width,); the weight of a pixel is the product of both axes."""
        half = self.width // 2
        taps = half + 1.0 - np.abs(np.arange(-half, half + 1))
        return taps / taps.sum()

    @functools.cached_property
    def matrix(self) -> Array:
        """Weights (d, d) of all pixels in the patch around each pixel, symmetric."""
        both = []
        for size in self.shape:
            distance = np.abs(np.arange(size)[:, None] - np.arange(size))
            half = self.width // 2
            both.append(
                np.where(
                    distance <= half, self.taps[np.minimum(half + distance, self.width - 1)], 0.0
                )
            )
        return np.kron(*both)


def means(kernel, windows, X, Z):
    """Return the means (n, m) over all patches of the profile of their weighted products or squared distances.

    X (n, d) and Z (m, d) are C-contiguous of one type. If X is Z, each value is computed
    once.
    """
    loop = _mean_loop(kernel.profile, 0, kernel.scalar)
    K = allocate((len(X), len(Z)), X.dtype)
    right = _blocks(Z)
    taps = windows.taps.astype(X.dtype)
    given = _parameters(kernel, X.dtype)

    def fill(rows):
        blocks = right[: -(-rows.stop // LANES)] if X is Z else right
        loop(X[rows], blocks, windows.shape, taps, given, K[rows])
        if X is Z:
            K[: rows.start, rows] = K[rows, : rows.start].T

    run_on_rows(fill, len(X), LANES)
    return K


def gradients(kernel, windows, X, Z, W):
    """Return the gradients (n, d) of sum_ij W_ij k(x_i, z_j) in x_i, k as in ``means``; infinite slopes count as 0."""
    loop = _gradient_loop(kernel.profile, 1, kernel.scalar)
    result = np.zeros(X.shape, X.dtype)
    right = _blocks(Z)
    taps = windows.taps.astype(X.dtype)
    given = _parameters(kernel, X.dtype)
    weights = np.zeros((len(X), right.shape[0] * LANES), X.dtype)
    weights[:, : len(Z)] = W

    def fill(rows):
        loop(X[rows], right, windows.shape, taps, given, weights[rows], result[rows])

    run_on_rows(fill, len(X), LANES)
    return result


def _blocks(Z):
    """Return images in blocks of lanes (blocks, d, lanes), with zeros after the last."""
    blocks = -(-len(Z) // LANES)
    padded = np.zeros((blocks * LANES, Z.shape[1]), Z.dtype)
    padded[: len(Z)] = Z
    return np.ascontiguousarray(padded.reshape(blocks, LANES, -1).swapaxes(1, 2))


def _parameters(kernel, dtype):
    return tuple(dtype.type(value) for value in within_range(parameters(kernel), dtype))


@loops_of_formulas
def _mean_loop(value, xp, kind):
    radial = kind == "radial"

    def loop(X, right, shape, taps, parameters, out):
        wide()
        image, line, sums = _buffers(shape, taps, X)
        total = np.empty(LANES, X.dtype)
        for b in range(right.shape[0]):
            for i in range(X.shape[0]):
                _scalars(X[i], right[b], image, taps.size // 2, radial)
                _window(image, line, sums, taps)
                for r in range(sums.shape[0]):
                    row = sums[r]
                    for e in range(row.size):
                        row[e] = value(xp, row[e], *parameters)
                _add_pixels(sums, total)
                for j in range(min(LANES, out.shape[1] - b * LANES)):
                    out[i, b * LANES + j] = total[j] / X.dtype.type(X.shape[1])

    return loop


@loops_of_formulas
def _gradient_loop(slope, xp, kind):
    radial = kind == "radial"

    def loop(X, right, shape, taps, parameters, weights, out):
        wide()
        image, line, sums = _buffers(shape, taps, X)
        total = np.empty((X.shape[1], LANES), X.dtype)
        for i in range(X.shape[0]):
            total[:] = 0
            for b in range(right.shape[0]):
                _scalars(X[i], right[b], image, taps.size // 2, radial)
                _window(image, line, sums, taps)
                for r in range(sums.shape[0]):
                    row = sums[r]
                    for e in range(row.size):
                        row[e] = slope(xp, row[e], *parameters)
                _weigh(sums, weights[i, b * LANES : (b + 1) * LANES], image, taps.size // 2)
                # the weights of patches are symmetric
                _window(image, line, sums, taps)
                _pull(X[i], right[b], sums, total, radial)
            for k in range(X.shape[1]):
                found = 0.0
                for j in range(LANES):
                    found += np.float64(total[k, j])
                out[i, k] = found / X.shape[1]

    return loop


@compiled
def _buffers(shape, taps, X):
    """Return an image and a line with a border of zeros, and window sums, each with ``LANES`` values a pixel."""
    border = taps.size // 2
    image = np.zeros((shape[0] + 2 * border, shape[1] * LANES), X.dtype)
    line = np.zeros((shape[1] + 2 * border) * LANES, X.dtype)
    return image, line, np.zeros((shape[0], shape[1] * LANES), X.dtype)


@compiled
def _scalars(x, Z, image, border, radial):
    """Write products or squared differences of the pixels of x (d,) and of images Z (d, lanes) inside the border."""
    wide()
    columns = image.shape[1] // LANES
    for r in range(image.shape[0] - 2 * border):
        row = image[r + border]
        for c in range(columns):
            pixel = x[r * columns + c]
            lane = Z[r * columns + c]
            place = row[c * LANES : (c + 1) * LANES]
            if radial:
                for j in range(LANES):
                    place[j] = (pixel - lane[j]) * (pixel - lane[j])
            else:
                for j in range(LANES):
                    place[j] = pixel * lane[j]


@compiled
def _window(image, line, out, taps):
    """Write the weighted sums over patches to ``out``; ``image`` and ``line`` have a border of zeros."""
    wide()
    border = taps.size // 2
    inner = line[border * LANES : border * LANES + out.shape[1]]
    for r in range(out.shape[0]):
        _symmetric_sum(image.ravel(), (r + border) * image.shape[1], image.shape[1], taps, inner)
        _symmetric_sum(line, border * LANES, LANES, taps, out[r])


@compiled
def _symmetric_sum(source, start, stride, taps, out):
    """Write sum_u taps[u] source[start + u stride + e] to out[e], for symmetric taps, two pairs at a time."""
    wide()
    border = taps.size // 2
    length = out.size
    tap = taps[border]
    middle = source[start : start + length]
    for e in range(length):
        out[e] = tap * middle[e]
    for u in range(1, border, 2):
        first = taps[border + u]
        second = taps[border + u + 1]
        a = source[start + u * stride :][:length]
        b = source[start - u * stride :][:length]
        c = source[start + (u + 1) * stride :][:length]
        d = source[start - (u + 1) * stride :][:length]
        for e in range(length):
            out[e] += first * (a[e] + b[e]) + second * (c[e] + d[e])
    if border % 2:
        tap = taps[2 * border]
        a = source[start + border * stride :][:length]
        b = source[start - border * stride :][:length]
        for e in range(length):
            out[e] += tap * (a[e] + b[e])


@compiled
def _add_pixels(sums, total):
    """Write the sums over all pixels to ``total`` (lanes,); the first row of ``sums`` is overwritten."""
    wide()
    first = sums[0]
    for r in range(1, sums.shape[0]):
        row = sums[r]
        for e in range(row.size):
            first[e] += row[e]
    total[:] = 0
    for c in range(first.size // LANES):
        for j in range(LANES):
            total[j] += first[c * LANES + j]


@compiled
def _weigh(sums, weights, image, border):
    """Write slopes times weights (lanes,) inside the border of ``image``; infinite slopes, at kinks, are 0."""
    wide()
    for r in range(sums.shape[0]):
        row = sums[r]
        target = image[r + border]
        for c in range(row.size // LANES):
            for j in range(LANES):
                slope = row[c * LANES + j]
                target[c * LANES + j] = (
                    weights[j] * slope if np.isfinite(slope) else weights[j] - weights[j]
                )


@compiled
def _pull(x, Z, sums, total, radial):
    """Add the derivatives of products or squared differences in x, times weights in ``sums``, to ``total``."""
    wide()
    columns = sums.shape[1] // LANES
    for r in range(sums.shape[0]):
        for c in range(columns):
            k = r * columns + c
            pixel = x[k]
            lane = Z[k]
            place = sums[r, c * LANES : (c + 1) * LANES]
            own = total[k]
            if radial:
                for j in range(LANES):
                    own[j] += (place[j] + place[j]) * (pixel - lane[j])
            else:
                for j in range(LANES):
                    own[j] += place[j] * lane[j]
