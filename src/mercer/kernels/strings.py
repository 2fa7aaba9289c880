"""Kernels on strings: common substrings, with mismatches, gaps or positions, and common words.

A string is a ``str``, ``bytes``, or a list, tuple or one-dimensional array of hashable tokens. The points of a kernel
are a list of strings of one of these kinds. An empty string has no substrings, and its kernel values are 0.
"""

from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, Self

import numpy as np

from mercer._common import Array, check_integer, check_number, record, shown
from mercer._compute.compile import compiled
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.base import finite, kernel_class, storable_kernel
from mercer.kernels.structured import (
    Coded,
    Counting,
    Features,
    Paired,
    Structured,
    as_members,
    count_features,
    mirrored,
    multiply_columns,
    multiply_features,
    run_rows,
    squared_norms,
)

# Largest number of words whose weights are computed for each string.
_MOST_WORDS = 4096
# Bits of a number in a bit plane.
_BITS = np.iinfo(np.uint64).bits

__all__ = ["BlendedSpectrum", "Mismatch", "Spectrum", "Subsequence", "WeightedDegree", "Words"]


class _Strings:
    """Mixin of kernels on strings: validation."""

    _remedy = "their letters are never equal, so convert all points to one type"

    def _checked(self, point, name):
        point = as_members(
            point, name, (str, bytes, list, tuple), "a string, bytes, or a list of hashable tokens"
        )
        return tuple(point) if isinstance(point, list) else point

    def _kind(self, point):
        return f"of type {_letters(point).__name__}"


def _letters(point):
    """Return the type of a string; numpy.str_ is a str."""
    return next(kind for kind in (str, bytes, tuple) if isinstance(point, kind))


def _substrings(point, length):
    return [point[i : i + length] for i in range(len(point) - length + 1)]


@kernel_class
class _Substrings(_Strings, Counting):
    """Base class of kernels that count all substrings of some lengths, ``_lengths``."""

    length: int

    def __post_init__(self) -> None:
        check_integer("length", self.length)

    def _compute_features(self, points):
        return count_features(
            chain(*(_substrings(point, n) for n in self._lengths)) for point in points
        )


@storable_kernel
class Spectrum(_Substrings):
    """Spectrum kernel, sum over all substrings u of ``length`` letters of count_u(x) count_u(z).

    Parameters
    ----------
    length : int
        Number of letters of a substring. Shorter strings have the feature vector 0.

    Notes
    -----
    The features are the counts of substrings, in a sparse matrix; a Gram matrix is one product of this matrix.

    References
    ----------
    Leslie, Eskin, Noble, *The spectrum kernel: a string kernel for SVM protein classification*, PSB (2002).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.strings.Spectrum(2)(["abab", "ab", "ba"])
    array([[5., 2., 1.],
           [2., 1., 0.],
           [1., 0., 1.]])
    """

    @property
    def _lengths(self):
        return [self.length]


@storable_kernel
class BlendedSpectrum(_Substrings):
    """Blended spectrum kernel, the sum of the spectrum kernels of lengths 1, 2, ..., ``length``.

    Parameters
    ----------
    length : int
        Number of letters of the longest substring.

    References
    ----------
    Shawe-Taylor, Cristianini, *Kernel methods for pattern analysis*, Cambridge University Press (2004), section 11.2.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.strings.BlendedSpectrum(2)(["ab", "abc"])
    array([[3., 3.],
           [3., 5.]])
    """

    @property
    def _lengths(self):
        return range(1, self.length + 1)


@storable_kernel
class Mismatch(_Strings, Structured):
    """Mismatch kernel, sum over all words u of ``length`` letters of count_u(x) count_u(z), with mismatches.

    count_u(x) is the number of substrings of x that differ from u in at most ``mismatches`` letters.

    Parameters
    ----------
    length : int
        Number of letters of a word.
    mismatches : int
        At least 0, below ``length``; 0 gives the spectrum kernel.
    alphabet : str, bytes or tuple of tokens, optional
        Letters of the words u, each once. None is a rule: ``resolve(X)``, which estimators call, takes the letters of
        X.

    Notes
    -----
    A substring has sum_j binom(length, j) (a - 1)^j neighbours for an alphabet of a letters; time and memory grow with
    the number of distinct substrings times this number.

    References
    ----------
    Leslie, Eskin, Cohen, Weston, Noble, *Mismatch string kernels for discriminative protein classification*,
    Bioinformatics 20 (2004).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.strings.Mismatch(2, 1, alphabet="ab")(["ab", "aa", "bb"])
    array([[3., 2., 2.],
           [2., 3., 2.],
           [2., 2., 3.]])
    """

    explicit = True

    length: int
    mismatches: int
    alphabet: str | bytes | tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        check_integer("length", self.length)
        check_integer("mismatches", self.mismatches, least=0)
        if self.mismatches >= self.length:
            raise ValueError(
                f"mismatches = {self.mismatches} must be below length = {self.length}; otherwise all words agree."
            )
        if self.alphabet is None:
            return
        as_members(
            self.alphabet, "alphabet", (str, bytes, tuple), "a string, bytes or a tuple of tokens"
        )
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError(
                f"alphabet = {shown(self.alphabet)} must have at least one letter, and each letter once."
            )

    def unresolved(self) -> tuple[str, Any] | None:
        return ("alphabet", None) if self.alphabet is None else None

    def _resolved(self, X, sample_weight):
        points = self.admit(X, "X")
        letters = _in_order(set().union(*points))
        joined = {str: "".join, bytes: bytes, tuple: tuple}[_letters(points[0])]
        return {"alphabet": joined(letters)}

    def _checked(self, point, name):
        point = super()._checked(point, name)
        if self.alphabet is not None and _letters(point) is not _letters(self.alphabet):
            raise TypeError(
                f"{name} is of type {_letters(point).__name__}, but the alphabet of the kernel is of type "
                f"{_letters(self.alphabet).__name__}; they must be of one type."
            )
        return point

    def _compute_features(self, points):
        words = count_features(_substrings(point, self.length) for point in points)
        return _NearWords(
            words, count_features(self._neighbours(word) for word in words.vocabulary)
        )

    def _values(self, tile, X, Z):
        # entry (i, j) of the product: the number of neighbours that word i of X and word j of Z have in common
        rows = (X.words.matrix @ (X.near.in_columns_of(Z.near) @ Z.near.transposed)).tocsr()
        values = multiply_features(rows, Z.words)
        return mirrored(values) if tile.X is tile.Z else values

    def diagonal(self, points: Points) -> Array:
        features = self._features(points)
        return squared_norms(features.words.matrix @ features.near.matrix)

    def multiply(self, X: Points, Z: Points, V: Array) -> Array:
        X, Z = self._both(X, Z)
        left = [X.words.matrix, X.near.in_columns_of(Z.near)]
        return multiply_columns([*left, Z.near.matrix.T, Z.words.matrix.T], V)

    def _neighbours(self, word):
        """Return all words of the alphabet that differ from a word in at most ``mismatches`` letters."""
        letters = [self.alphabet[i : i + 1] for i in range(len(self.alphabet))]
        found = [(word[:0], 0)]
        for i in range(len(word)):
            found = [
                (start + letter, errors)
                for start, before in found
                for letter in letters
                if (errors := before + (letter != word[i : i + 1])) <= self.mismatches
            ]
        return [neighbour for neighbour, _ in found]


def _in_order(tokens):
    """Return tokens of any types in an order that does not depend on their hashes."""
    try:
        return sorted(tokens, key=lambda token: (type(token).__name__, token))
    except TypeError:
        # tokens of one type that cannot be compared, such as complex numbers and tuples of several types
        return sorted(tokens, key=lambda token: (type(token).__name__, repr(token)))


@record
class _NearWords:
    """Substrings of a block of strings, and the neighbours of each substring."""

    words: Features
    near: Features

    def take_rows(self, rows: Array | slice) -> Self:
        """Return the substrings of some of the strings."""
        return replace(self, words=self.words.take_rows(rows))


@storable_kernel
class Words(_Strings, Counting):
    """Bag-of-words kernel, sum over all words of count(x) count(z), with scikit-learn's tokens.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
        Words, or substrings of the text, with "char_wb" inside of words only.
    ngrams : tuple of int
        Least and largest number of tokens of a feature.
    lowercase : bool
    stop_words : "english", tuple of str, or None
        Words that are left out.
    binary : bool
        Whether a feature is 1 if it occurs, instead of its count.

    Notes
    -----
    The vocabulary is not fitted: a new word of a new text is a feature, too. Points are strings.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.strings.Words()(["the cat and the dog", "The dog"])
    array([[7., 3.],
           [3., 2.]])
    """

    analyzer: str = "word"
    ngrams: tuple[Any, ...] = (1, 1)
    lowercase: bool = True
    stop_words: str | tuple[Any, ...] | None = None
    binary: bool = False

    def __post_init__(self) -> None:
        if self.analyzer not in ("word", "char", "char_wb"):
            raise ValueError(
                f"analyzer = {shown(self.analyzer)} must be 'word', 'char' or 'char_wb'."
            )
        if not isinstance(self.ngrams, tuple) or len(self.ngrams) != 2:
            raise TypeError(
                f"ngrams must be a tuple of two whole numbers, got {shown(self.ngrams)}."
            )
        for value in self.ngrams:
            check_integer("ngrams", value)
        if self.ngrams[0] > self.ngrams[1]:
            raise ValueError(f"ngrams = {self.ngrams} must not decrease.")
        words = self.stop_words
        if not (
            words is None
            or isinstance(words, tuple)
            or (isinstance(words, str) and words == "english")
        ):
            raise ValueError(
                f"stop_words = {shown(self.stop_words)} must be 'english', a tuple of words or None."
            )

    def _checked(self, point, name):
        return super()._checked(as_members(point, name, str, "a string, a text"), name)

    def _compute_features(self, points):
        from sklearn.feature_extraction.text import CountVectorizer

        words = self.stop_words
        analyze = CountVectorizer(
            analyzer=self.analyzer,
            ngram_range=self.ngrams,
            lowercase=self.lowercase,
            stop_words=list(words) if isinstance(words, tuple) else words,
        ).build_analyzer()
        tokens = map(analyze, points)
        return count_features(map(dict.fromkeys, tokens) if self.binary else tokens)


@kernel_class
class _Compared(_Strings, Paired):
    """Base class of kernels that compare two strings letter by letter in a compiled loop."""

    def _compute_features(self, points):
        return CodedStrings.of(points)


@storable_kernel
class Subsequence(_Compared):
    """Gap-weighted subsequence kernel, the sum of decay^(spans) over common subsequences of ``length`` letters.

    A subsequence of a string may have gaps; its span is the number of letters from its first to its last one. Every
    pair of occurrences of the same letters contributes decay^(span in x + span in z).

    Parameters
    ----------
    length : int
        Number of letters of a subsequence.
    decay : float
        Above 0, at most 1; below 1 gaps are penalised.

    Notes
    -----
    With at most 4096 words of ``length`` letters, the weights of all words are computed for each string, in
    letters^(length - 1) |x| steps, and a Gram matrix is one product; with more words a pair costs length |x| |z| steps
    of dynamic programming. Long strings have large values of k(x, x): ``Normalized(Subsequence(...))`` is usual.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins, *Text classification using string kernels*, JMLR 2 (2002).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.strings.Subsequence(2, 0.5)(["cat", "car"])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    _overflow_remedy = "use a smaller decay or length, or shorter strings"

    length: int
    decay: float = 0.5

    def __post_init__(self) -> None:
        check_integer("length", self.length)
        check_number("decay", self.decay)
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay = {shown(self.decay)} must be above 0 and at most 1.")

    @finite
    def evaluate(self, tile: Tile) -> Array:
        return super().evaluate(tile)

    def _values(self, tile, X, Z):
        if not self._few_words(Z):
            return super()._values(tile, X, Z)
        rows = (
            self._weights(tile.X)
            if X.vocabulary is Z.vocabulary
            else self._compute_weights(X.recoded(Z))
        )
        return rows @ (rows if tile.X is tile.Z else self._weights(tile.Z)).T

    @finite
    def diagonal(self, points: Points) -> Array:
        if not self._few_words(self._features(points)):
            return super().diagonal(points)
        weights = self._weights(points)
        return np.einsum("ij,ij->i", weights, weights)

    def _few_words(self, strings):
        return len(strings.vocabulary) ** self.length <= _MOST_WORDS

    def _weights(self, points):
        return points.per_point(
            (self, "weights"), lambda block: self._compute_weights(self._features(block))
        )

    def _compute_weights(self, strings):
        return subsequence_weights(strings, self.length, float(self.decay))

    def _work(self, X, Z):
        return 3 * self.length * X.longest * Z.longest

    def _filler(self, X, Z):
        strings = (X.recoded(Z).values, X.ends), (Z.values, Z.ends)
        return partial(fill_subsequences, *strings, self.length, float(self.decay))


@storable_kernel
class WeightedDegree(_Compared):
    """Weighted degree kernel of aligned strings: equal substrings at equal positions, up to ``degree`` letters.

    k(x, z) = sum over d = 1 .. degree of b_d times the number of positions at which the next d letters agree, with
    b_d = 2 (degree - d + 1) / (degree (degree + 1)). All strings must have one length.

    Parameters
    ----------
    degree : int
        Number of letters of the longest substring.

    References
    ----------
    Raetsch, Sonnenburg, *Accurate splice site detection for Caenorhabditis elegans*, in Kernel methods in computational
    biology, MIT Press (2004).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.strings.WeightedDegree(2)(["acgt", "acct"]).round(4)
    array([[3.6667, 2.3333],
           [2.3333, 3.6667]])
    """

    _remedy = (
        "WeightedDegree compares aligned strings of one length and type, use Spectrum for others"
    )

    degree: int

    def __post_init__(self) -> None:
        check_integer("degree", self.degree)

    def _checked(self, point, name):
        point = super()._checked(point, name)
        if not len(point):
            raise ValueError(f"{name} is empty, and aligned strings have letters; remove it.")
        return point

    def _kind(self, point):
        return f"{super()._kind(point)} with {len(point)} letters"

    def _work(self, X, Z):
        return X.longest

    def _filler(self, X, Z):
        weights = 2 * (self.degree - np.arange(self.degree)) / (self.degree * (self.degree + 1))
        positions = pack_bits(np.ones((1, Z.longest), bool))[0]
        return partial(fill_runs, X.recoded(Z).bit_planes, Z.bit_planes, positions, weights)


# --- strings as numbers, and compiled comparisons of two strings letter by letter -------------------------------------


class CodedStrings(Coded):
    """Strings of a block as numbers, one after the other."""

    @cached_property
    def bit_planes(self) -> Array:
        """Bits of the codes of strings of one length, 64 positions in a number (n, planes, numbers)."""
        # the code after the last one, for unknown letters, differs from all letters
        codes = np.where(self.values < 0, len(self.vocabulary), self.values).reshape(
            len(self.sizes), -1
        )
        planes = range(len(self.vocabulary).bit_length())
        return np.stack([pack_bits(codes >> p & 1) for p in planes], axis=1)


@compiled
def fill_subsequences(X, Z, length, decay, i0, j0, out):
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
def fill_runs(x, z, positions, weights, i0, j0, out):
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


@partial(compiled, inline=True)
def _count_bits(bits):
    # the compiler turns this into one instruction
    bits -= bits >> np.uint64(1) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + (
        bits >> np.uint64(2) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return bits * np.uint64(0x0101010101010101) >> np.uint64(56)
