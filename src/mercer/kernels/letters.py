"""Strings as numbers, and compiled comparisons of two strings letter by letter."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._compute.compile import compiled
from mercer.kernels.structured import Vocabulary


@dataclass(frozen=True)
class CodedStrings:
    """Strings of a block as numbers, one after the other; string i is ``codes[ends[i] : ends[i + 1]]``."""

    codes: np.ndarray
    ends: np.ndarray
    vocabulary: Vocabulary

    @cached_property
    def longest(self):
        """Length of the longest string."""
        return int(np.diff(self.ends).max())

    def take_rows(self, rows):
        """Return some of the strings."""
        each = np.split(self.codes, self.ends[1:-1])
        taken = each[rows] if isinstance(rows, slice) else [each[i] for i in rows]
        return CodedStrings(np.concatenate(taken), np.cumsum([0, *map(len, taken)]), self.vocabulary)

    def in_codes_of(self, other):
        """Return the codes in the vocabulary of another block; -1 for unknown letters."""
        if self.vocabulary is other.vocabulary:
            return self.codes
        return other.vocabulary.columns_of(self.vocabulary)[self.codes]


def code_letters(points):
    """Return the ``CodedStrings`` of a block of strings."""
    letters = dict.fromkeys(letter for point in points for letter in point)
    vocabulary = Vocabulary({letter: code for code, letter in enumerate(letters)})
    codes = np.array([vocabulary[letter] for point in points for letter in point], np.int64)
    return CodedStrings(codes, np.cumsum([0, *map(len, points)]), vocabulary)


@compiled
def fill_subsequences(x, x_ends, z, z_ends, i0, j0, length, decay, out):
    """Write the subsequence kernel of pairs of strings to a block."""
    for i in range(out.shape[0]):
        s = x[x_ends[i0 + i] : x_ends[i0 + i + 1]]
        for j in range(out.shape[1]):
            out[i, j] = _common_subsequences(s, z[z_ends[j0 + j] : z_ends[j0 + j + 1]], length, decay)


@compiled
def _common_subsequences(s, t, length, decay):
    """Return the weighted number of common subsequences of two strings."""
    n, m = len(s), len(t)
    # ending[a, b]: weight of the pairs of subsequences that end with letters a of s and b of t
    ending, total, square = np.zeros((n, m)), 0.0, decay * decay
    for a in range(n):
        for b in range(m):
            if s[a] == t[b]:
                ending[a, b] = square
                total += square
    above, reach = np.empty(m), np.empty(m)
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


@compiled
def fill_runs(x, x_ends, z, z_ends, i0, j0, gains, out):
    """Write sums over runs of equal letters to a block: ``gains[r - 1]`` for letter r of a run."""
    length, degree = x_ends[1] - x_ends[0], len(gains)
    for i in range(out.shape[0]):
        s = x[x_ends[i0 + i] : x_ends[i0 + i + 1]]
        for j in range(out.shape[1]):
            t = z[z_ends[j0 + j] : z_ends[j0 + j + 1]]
            total, run = 0.0, 0
            for a in range(length):
                run = run + 1 if s[a] == t[a] else 0
                if run:
                    total += gains[min(run, degree) - 1]
            out[i, j] = total
