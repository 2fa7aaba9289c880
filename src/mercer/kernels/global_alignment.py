"""Compiled sums over the global alignments of pairs of series, in logarithms; Numba is imported with this module."""

import functools

import numpy as np

from mercer._common import LARGEST
from mercer._compute import fastmath as xp
from mercer._compute.compile import compiled
from mercer._compute.intrinsics import wide

# Logarithm of 0: finite, so that differences of logarithms are not NaN.
_LOG_ZERO = -LARGEST

_inlined = functools.partial(compiled, inline=True)


@compiled
def fill_alignments(X, Z, scale, band, i0, j0, out):
    """Write the logarithms of the sums of pairs of series, times in columns with their ends, to a block."""
    wide()
    x, x_ends = X
    z, z_ends = Z
    for i in range(out.shape[0]):
        s = x[:, x_ends[i0 + i] : x_ends[i0 + i + 1]].copy()
        for j in range(out.shape[1]):
            t = z[:, z_ends[j0 + j] : z_ends[j0 + j + 1]]
            out[i, j] = _align(s, t[:, ::-1].copy(), scale, band)


@_inlined
def _combine(up, left, corner, local, weights, scale, row):
    """Write the entries of an antidiagonal, none of which depends on another one, so that the loop vectorises."""
    for i in range(row.size):
        exponent = scale * local[i]
        # of squares that overflow: sums of logarithms stay finite
        exponent = exponent if exponent < LARGEST else LARGEST
        largest = up[i] if up[i] > left[i] else left[i]
        largest = largest if largest > corner[i] else corner[i]
        total = xp.exp(up[i] - largest) + xp.exp(left[i] - largest) + xp.exp(corner[i] - largest)
        row[i] = (
            largest + xp.log(total * weights[i] / (2.0 - weights[i] * xp.exp(-exponent))) - exponent
        )


@_inlined
def _add_squares(s, t, local):
    for i in range(local.size):
        difference = s[i] - t[i]
        local[i] += difference * difference


@_inlined
def _align(s, t, scale, band):
    """Return the sum over the alignments of s (d, n) and t (d, m), whose times are in reverse order."""
    n = s.shape[1]
    m = t.shape[1]
    before = np.full(n + 1, _LOG_ZERO)
    last = np.full(n + 1, _LOG_ZERO)
    row = np.empty(n + 1)
    local = np.empty(n)
    weights = np.ones(n)
    before[0] = 0.0
    # entry i of antidiagonal a = i + j is the sum over the alignments of the first i and j times
    for a in range(2, n + m + 1):
        first = max(1, a - m)
        stop = min(n, a - 1) + 1
        if band > 0:
            # |i - j| = |2 i - a| < band
            first = max(first, (a - band) // 2 + 1)
            stop = min(stop, (a + band + 1) // 2)
            for i in range(first, stop):
                weights[i - first] = 1.0 - abs(2 * i - a) / band
        row[:] = _LOG_ZERO
        size = stop - first
        if size > 0:
            local[:size] = 0.0
            for k in range(s.shape[0]):
                _add_squares(
                    s[k, first - 1 : stop - 1], t[k, m - a + first : m - a + stop], local[:size]
                )
            up = last[first - 1 : stop - 1]
            left = last[first:stop]
            corner = before[first - 1 : stop - 1]
            _combine(up, left, corner, local[:size], weights[:size], scale, row[first:stop])
        before, last, row = last, row, before
    return last[n]
