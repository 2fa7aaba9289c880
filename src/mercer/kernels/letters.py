"""Strings as numbers, weights of their subsequences, and compiled comparisons of two strings letter by letter."""

import functools

import numpy as np

from mercer._common import Array
from mercer._compute.compile import compiled
from mercer.kernels.structured import Coded, run_rows

# Bits of a number in a bit plane.
_BITS = np.iinfo(np.uint64).bits


class CodedStrings(Coded):
    """Strings of a block as numbers, one after the other."""

    @functools.cached_property
    def bit_planes(self) -> Array:
        """Bits of the codes of strings of one length, 64 positions in a number (n, planes, numbers)."""
        # the code after the last one, for unknown letters, differs from all letters
        codes = np.where(self.values < 0, len(self.vocabulary), self.values).reshape(
            len(self.sizes), -1
        )
        planes = range(len(self.vocabulary).bit_length())
        return np.stack([pack_bits(codes >> p & 1) for p in planes], axis=1)


@compiled
def fill_subsequences(X, Z, i0, j0, length, decay, out):
    """Write the subsequence kernel of pairs of strings, letters with the ends of each string, to a block."""
    x, x_ends = X
    z, z_ends = Z
    for i in range(out.shape[0]):
        s = x[x_ends[i0 + i] : x_ends[i0 + i + 1]]
        for j in range(out.shape[1]):
            out[i, j] = _common_subsequences(
                s, z[z_ends[j0 + j] : z_ends[j0 + j + 1]], length, decay
            )


@compiled
def _common_subsequences(s, t, length, decay):
    """Return the weighted number of common subsequences of two strings."""
    n = len(s)
    m = len(t)
    # ending[a, b]: weight of the pairs of subsequences that end with letters a of s and b of t
    ending = np.zeros((n, m))
    total = 0.0
    square = decay * decay
    for a in range(n):
        for b in range(m):
            if s[a] == t[b]:
                ending[a, b] = square
                total += square
    above = np.empty(m)
    reach = np.empty(m)
    for _ in range(length - 1):
        total = 0.0
        # reach[b]: sum over a' < a, b' < b of ending[a', b'] decay^(a - 1 - a' + b - 1 - b')
        for b in range(m):
            reach[b] = 0.0
        for a in range(n):
            along = 0.0
            for b in range(m):
                above[b] = along
                along = ending[a, b] + decay * along
            for b in range(m):
                ending[a, b] = square * reach[b] if s[a] == t[b] else 0.0
                total += ending[a, b]
                reach[b] = above[b] + decay * reach[b]
    return total


def subsequence_weights(strings: CodedStrings, length: int, decay: float) -> Array:
    """Return the weights (n, letters^length) of all words of ``length`` letters as subsequences of each string."""
    letters = len(strings.vocabulary)
    out = np.zeros((len(strings.sizes), letters**length))
    steps = np.cumsum(strings.sizes * letters ** (length - 1))
    arrays = strings.values, strings.ends
    run_rows(
        steps,
        lambda start, stop: _add_words(*arrays, length, letters, decay, start, out[start:stop]),
    )
    return out


@compiled
def _add_words(codes, ends, length, letters, decay, first, out):
    """Add the weights of words to rows, strings ``first`` and later; letters are digits of a word, the first lowest."""
    starts = np.zeros(length + 1, np.int64)
    for p in range(length):
        starts[p + 1] = starts[p] + letters**p
    # of all words of p letters: the sum of decay^(t - first position) over subsequences before position t
    before = np.empty(starts[length])
    for i in range(out.shape[0]):
        before[:] = 0.0
        before[0] = 1.0
        for t in range(ends[first + i], ends[first + i + 1]):
            for p in range(length, 0, -1):
                words = before[starts[p] : starts[p + 1]] if p < length else out[i]
                if p < length:
                    words *= decay
                if codes[t] >= 0:
                    # entry by entry: for sums of slices Numba compiles the text of an error too, for seconds
                    size = letters ** (p - 1)
                    for w in range(size):
                        words[codes[t] * size + w] += decay * before[starts[p - 1] + w]


def pack_bits(bits: Array) -> Array:
    """Return rows of bits as rows of 64-bit numbers, filled up by zeros."""
    padding = -bits.shape[1] % _BITS
    return np.packbits(np.pad(bits, ((0, 0), (0, padding))), axis=1, bitorder="little").view(
        np.uint64
    )


@compiled
def fill_runs(x, z, positions, i0, j0, weights, out):
    """Write sums over equal substrings to a block, weights[d] for each with d + 1 letters.

    ``x`` and ``z`` are bit planes; ``positions`` has the bits of all positions of a string.
    """
    one = np.uint64(1)
    last = np.uint64(_BITS - 1)
    equal = np.empty(len(positions), np.uint64)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(len(equal)):
                differ = np.uint64(0)
                for p in range(x.shape[1]):
                    differ |= x[i0 + i, p, k] ^ z[j0 + j, p, k]
                equal[k] = positions[k] & ~differ
            total = 0.0
            for weight in weights:
                count = np.uint64(0)
                for k in range(len(equal)):
                    count += _count_bits(equal[k])
                if count == 0:
                    break
                total += weight * count
                # ends of equal substrings that are longer by one letter
                for k in range(len(equal) - 1, 0, -1):
                    equal[k] &= equal[k] << one | equal[k - 1] >> last
                equal[0] &= equal[0] << one
            out[i, j] = total


@functools.partial(compiled, inline=True)
def _count_bits(bits):
    # the compiler turns this into one instruction
    bits -= bits >> np.uint64(1) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + (
        bits >> np.uint64(2) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return bits * np.uint64(0x0101010101010101) >> np.uint64(56)
