"""String kernels equal their definitions, obey the laws of kernels, and refuse other objects by index and type."""

import importlib
import itertools
import math
import random
import re
import tracemalloc
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from tests.reference.structured import STRINGS

import mercer as mc
from mercer.kernels.strings import (
    BlendedSpectrum,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
    Words,
)
from mercer.testing import check_expansion_laws, check_kernel_implementation

KERNELS = [
    BlendedSpectrum(2),
    Mismatch(2, 1, alphabet="ab"),
    Spectrum(2),
    Subsequence(2, 0.5),
    WeightedDegree(2),
]


def _random_strings(seed, n=12, alphabet="abc", lengths=(1, 9)):
    source = random.Random(seed)
    return ["".join(source.choices(alphabet, k=source.randint(*lengths))) for _ in range(n)]


def _naive(pair, X, Z):
    return np.array([[float(pair(x, z)) for z in Z] for x in X])


def _substrings(x, length):
    return [x[i : i + length] for i in range(len(x) - length + 1)]


def _spectrum(length):
    return lambda x, z: sum(u == v for u in _substrings(x, length) for v in _substrings(z, length))


def _mismatch(length, mismatches, alphabet):
    def count(word, x):
        return sum(
            sum(a != b for a, b in zip(word, u, strict=True)) <= mismatches
            for u in _substrings(x, length)
        )

    words = list(itertools.product(alphabet, repeat=length))
    return lambda x, z: sum(count(word, x) * count(word, z) for word in words)


def _subsequence(length, decay):
    def occurrences(x):
        weights = Counter()
        for places in itertools.combinations(range(len(x)), length):
            weights["".join(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return weights

    return lambda x, z: sum(weight * occurrences(z)[u] for u, weight in occurrences(x).items())


def _weighted_degree(degree):
    def pair(x, z):
        return sum(
            2 * (degree - d + 1) / (degree * (degree + 1)) * (x[i : i + d] == z[i : i + d])
            for d in range(1, degree + 1)
            for i in range(len(x) - d + 1)
        )

    return pair


def _words(x, z):
    counts = [Counter(re.findall(r"\b\w\w+\b", text.lower())) for text in (x, z)]
    return sum(count * counts[1][word] for word, count in counts[0].items())


@pytest.mark.parametrize("length", [1, 2, 4])
def test_spectrum_kernels_equal_their_definitions_exactly(length, global_random_seed):
    X, Z = _random_strings(global_random_seed), _random_strings(global_random_seed + 1, 5, "bcd")
    expected = _naive(_spectrum(length), X, Z)
    np.testing.assert_array_equal(Spectrum(length)(X, Z), expected)
    blended = sum(_naive(_spectrum(n), X, Z) for n in range(1, length + 1))
    np.testing.assert_array_equal(BlendedSpectrum(length)(X, Z), blended)


@pytest.mark.parametrize(("length", "mismatches"), [(1, 0), (2, 1), (3, 1), (3, 2)])
def test_the_mismatch_kernel_equals_its_definition_exactly_also_with_letters_outside_the_alphabet(
    length, mismatches, global_random_seed
):
    X, Z = _random_strings(global_random_seed, 8), _random_strings(global_random_seed + 1, 5, "bcd")
    kernel = Mismatch(length, mismatches, alphabet="abc")
    np.testing.assert_array_equal(kernel(X, Z), _naive(_mismatch(length, mismatches, "abc"), X, Z))


@pytest.mark.parametrize("decay", [0.3, 1.0])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_subsequence_kernel_equals_its_definition(length, decay, global_random_seed, limits):
    X, Z = _random_strings(global_random_seed, 8), _random_strings(global_random_seed + 1, 5, "bcd")
    expected = _naive(_subsequence(length, decay), X, Z)
    kernel = Subsequence(length, decay)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)
    # the same by dynamic programming, as for more words than are held
    limits(words=2)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-14)


@pytest.mark.parametrize("letters", [1, 20])
def test_sums_over_subsequences_that_overflow_are_refused(letters):
    x = "abcdefghijklmnopqrst"[:letters] * (2000 // letters)
    kernel = Subsequence(200, 1.0)
    for use in (kernel, kernel.diag, mc.Normalized(kernel), lambda X: kernel(X, [x])):
        with pytest.raises(
            ValueError, match=r"Subsequence.* overflows float64; use a smaller decay or length"
        ):
            use([x])
    # all choices of 100 of 1000 equal letters
    assert Subsequence(100, 1.0)(["a" * 1000])[0, 0] == pytest.approx(
        float(math.comb(1000, 100)) ** 2, rel=1e-12
    )


@pytest.mark.parametrize("degree", [1, 3, 12])
def test_the_weighted_degree_kernel_equals_its_definition(degree, global_random_seed):
    X = _random_strings(global_random_seed, 8, "ab", (7, 7))
    Z = _random_strings(global_random_seed + 1, 5, "abc", (7, 7))
    np.testing.assert_allclose(
        WeightedDegree(degree)(X, Z), _naive(_weighted_degree(degree), X, Z), rtol=1e-12
    )


def test_words_equal_the_bag_of_words_of_their_definition():
    X = ["The cat sat on the mat.", "A dog; the CAT!", "nothing"]
    np.testing.assert_array_equal(Words()(X), _naive(_words, X, X))


def test_words_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import CountVectorizer

    X = ["the cat sat on the mat", "a dog and the cat", "ab"]
    options = {"analyzer": "char_wb", "binary": True}
    counts = CountVectorizer(ngram_range=(2, 3), **options).fit_transform(X)
    np.testing.assert_array_equal(Words(ngrams=(2, 3), **options)(X), (counts @ counts.T).toarray())
    counts = CountVectorizer(stop_words=["the", "on"]).fit_transform(X)
    np.testing.assert_array_equal(Words(stop_words=("the", "on"))(X), (counts @ counts.T).toarray())


@pytest.mark.parametrize("name", STRINGS)
def test_every_string_kernel_obeys_the_laws_of_kernels_and_expansions(name):
    kernel, points = STRINGS[name]
    check_kernel_implementation(kernel, points)
    check_expansion_laws(mc.features(kernel, points))
    assert kernel.tags.positive_semidefinite


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_do_not_depend_on_the_other_points_or_their_order(kernel):
    X = ["abab", "bbaa", "aaaa", "abba", "bbab"]
    K, order = kernel(X), [3, 0, 4, 1, 2]
    np.testing.assert_array_equal(kernel([X[i] for i in order]), K[np.ix_(order, order)])
    single = [kernel([x], [z])[0, 0] for x in X for z in X]
    np.testing.assert_allclose(np.reshape(single, K.shape), K, rtol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_bytes_tokens_arrays_and_series_have_the_values_of_strings(kernel):
    X = ["abab", "bbaa", "aaaa"]
    K = kernel(X)
    np.testing.assert_array_equal(kernel(np.array(X)), K)
    np.testing.assert_array_equal(kernel(pd.Series(X, index=[7, 8, 9])), K)
    if isinstance(kernel, Mismatch):
        kernel = Mismatch(2, 1)
    for other in (
        [x.encode() for x in X],
        [list(x) for x in X],
        [np.array([ord(a) for a in x]) for x in X],
    ):
        np.testing.assert_array_equal(kernel.resolve(other)(other), K)


def test_the_alphabet_of_a_mismatch_kernel_is_that_of_the_training_points():
    kernel = Mismatch(2, 1)
    with pytest.raises(ValueError, match=r"alphabet = None.*resolve"):
        kernel(["ab"])
    assert kernel.resolve(["ba", "ca"]) == Mismatch(2, 1, alphabet="abc")
    assert kernel.resolve([[2, 1], [3]]) == Mismatch(2, 1, alphabet=(1, 2, 3))
    model = mc.SVC(kernel=kernel).fit(["aab", "aba", "bbb", "bba"], [0, 0, 1, 1])
    assert model.kernel_.alphabet == "ab"
    assert list(model.predict(["aaa", "bbc"])) == [0, 1]


@pytest.mark.parametrize(
    "tokens", [(("a", 1), ("a", None), ("b", 2)), (1j, 2.0, 1 + 1j)], ids=["tuples", "complex"]
)
def test_the_alphabet_may_have_tokens_without_an_order(tokens):
    X = [tokens, tokens[::-1], tokens[:2]]
    kernel = Mismatch(2, 1).resolve(X)
    assert set(kernel.alphabet) == set(tokens)
    letters = dict(zip(tokens, "abc", strict=True))
    words = ["".join(letters[token] for token in x) for x in X]
    np.testing.assert_array_equal(kernel(X), Mismatch(2, 1, alphabet="abc")(words))


def test_strings_that_are_too_short_have_no_features():
    for kernel in (Spectrum(3), Mismatch(3, 1, alphabet="ab"), Subsequence(3, 0.5)):
        np.testing.assert_array_equal(kernel(["ab", "aba"], ["ab", "b"]), 0)
        np.testing.assert_array_equal(mc.Normalized(kernel)(["ab", "aba"]), [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    "kernel",
    [Spectrum(2), BlendedSpectrum(2), Mismatch(2, 1, alphabet="ab"), Subsequence(2, 0.5), Words()],
    ids=repr,
)
def test_empty_strings_have_no_features_as_empty_sets_have(kernel, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    words = ["".join(rng.choice(["a", "b"], size)) for size in (3, 5, 2)]
    K = kernel(["", words[0], "", *words[1:]])
    expected = np.zeros((5, 5))
    expected[np.ix_([1, 3, 4], [1, 3, 4])] = kernel(words)
    np.testing.assert_allclose(K, expected)
    np.testing.assert_array_equal(kernel([""], words), 0)
    np.testing.assert_array_equal(kernel.diag(["", ""]), 0)
    for other in ([b"", b"ab"], [(), (1, 2)]):
        if not isinstance(kernel, (Mismatch, Words)):
            np.testing.assert_array_equal(kernel(other)[0], 0)
    np.testing.assert_array_equal(mc.OnFeatures(mc.Gaussian(1.0), kernel)(["", ""]), 1)


def test_aligned_strings_are_not_empty():
    with pytest.raises(ValueError, match=r"X\[0\] is empty, and aligned strings have letters"):
        WeightedDegree(2)(["", ""])


@pytest.mark.parametrize("kernel", [*KERNELS, Words()], ids=repr)
@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        ("abc", TypeError, "single str 'abc'"),
        ([], ValueError, "at least one point"),
        (["ab", 3], TypeError, r"X\[1\] must be a string.*3 of type int"),
        (["ab", "bb", None], (TypeError, ValueError), r"X\[2\].*None"),
        (["ab", b"ab"], (TypeError, ValueError), r"X\[1\].* type bytes"),
        (
            [["a", "b"], ["a", ["b"]]],
            TypeError,
            r"X\[(1\]\[1\] must be hashable, got \['b'\]|0\]) .*of type (list|tuple)",
        ),
        ([{"a", "b"}], TypeError, r"X\[0\] must be a string.*of type set"),
        (
            np.eye(2),
            TypeError,
            r"X\[0\] (is an array of dtype float64, a row of numbers|must be a string)",
        ),
    ],
    ids=["one string", "no points", "number", "None", "mixed", "unhashable", "set", "rows"],
)
def test_what_is_no_string_is_refused_by_index_and_type(kernel, points, error, message):
    with pytest.raises(error, match=message):
        kernel(points)
    with pytest.raises(error):
        mc.features(kernel, ["ab", "ba"])(points)


def test_strings_of_unequal_length_are_refused_by_the_weighted_degree_kernel():
    with pytest.raises(
        ValueError, match=r"X\[1\] is .* 3 letters, but X\[0\] is .* 2 letters; .*Spectrum"
    ):
        WeightedDegree(2)(["ab", "aba"])
    with pytest.raises(ValueError, match=r"X\[0\] is .* 2 letters, but Z\[0\] is .* 3 letters"):
        WeightedDegree(2)(["ab"], ["aba"])


@pytest.mark.parametrize("kernel", [Spectrum(2), Subsequence(2, 0.5), WeightedDegree(2)], ids=repr)
def test_strings_and_bytes_are_not_compared(kernel):
    with pytest.raises(ValueError, match=r"X\[0\] is of type str.*, but Z\[0\] is of type bytes"):
        kernel(["ab"], [b"ab"])
    with pytest.raises(ValueError, match=r"X\[0\] is of type bytes.*, but Z\[0\] is of type str"):
        mc.mean(mc.features(kernel, ["ab"]))([b"ab"])
    np.testing.assert_array_equal(kernel(["ab"], np.array(["ab"])), kernel(["ab"]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Spectrum(0), ValueError, "length = 0 must be at least 1"),
        (lambda: BlendedSpectrum(1.5), TypeError, "length must be a whole number"),
        (lambda: Mismatch(2, 2), ValueError, "mismatches = 2 must be below length = 2"),
        (lambda: Mismatch(2, 1, alphabet=3), TypeError, "alphabet must be a string"),
        (lambda: Mismatch(2, 1, alphabet="aa"), ValueError, "each letter once"),
        (
            lambda: Mismatch(2, 1, alphabet=("b", ["a"])),
            TypeError,
            r"alphabet\[1\] must be hashable, got \['a'\]",
        ),
        (
            lambda: Mismatch(2, 1, alphabet="ab")([(1, 2)]),
            TypeError,
            r"X\[0\] is of type tuple, but the alphabet",
        ),
        (lambda: Subsequence(2, 0.0), ValueError, "decay = 0.0 must be above 0 and at most 1"),
        (lambda: Subsequence(2, 1.5), ValueError, "decay = 1.5 must be above 0 and at most 1"),
        (lambda: WeightedDegree(0), ValueError, "degree = 0 must be at least 1"),
        (lambda: Words(analyzer="sentence"), ValueError, "analyzer = 'sentence' must be"),
        (lambda: Words(ngrams=(2, 1)), ValueError, r"ngrams = \(2, 1\) must not decrease"),
        (lambda: Words(ngrams=3), TypeError, "ngrams must be a tuple of two"),
        (lambda: Words(stop_words="german"), ValueError, "stop_words = 'german' must be"),
        (
            lambda: Words(stop_words=np.array(["a", "b"])),
            ValueError,
            r"stop_words = array.* must be 'english', a tuple",
        ),
        (
            lambda: Words()([b"ab"]),
            TypeError,
            r"X\[0\] must be a string, a text, got b.* of type bytes",
        ),
    ],
)
def test_bad_parameters_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_products_with_a_gram_matrix_of_20_000_strings_hold_no_kernel_values():
    X = _random_strings(0, 20_000, "acgt", (20, 30))

    class Features(Spectrum):
        evaluate = None

    tracemalloc.start()
    product = mc.Gram(Features(3), X, memory="1MB") @ np.ones((20_000, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # all kernel values take 3.2 GB
    assert peak < 100e6
    counts = Counter(u for x in X for u in _substrings(x, 3))
    np.testing.assert_array_equal(
        product[:5, 0], [sum(counts[u] for u in _substrings(x, 3)) for x in X[:5]]
    )


def test_sparse_and_dense_products_of_features_are_equal():
    # about 400 distinct substrings in few strings, against 16 in many
    X = _random_strings(3, 40, "abcdefghijklmnopqrst", (30, 40))
    np.testing.assert_array_equal(Spectrum(2)(X), _naive(_spectrum(2), X, X))
    X = _random_strings(3, 40, "ab", (30, 40))
    np.testing.assert_array_equal(Spectrum(2)(X), _naive(_spectrum(2), X, X))


def test_modules_of_kernels_on_objects_are_imported_by_their_public_names():
    for name in ("strings", "sets", "graphs", "sequences"):
        assert importlib.import_module(f"mercer.{name}") is getattr(mc, name)


def test_neighbours_of_substrings_that_many_strings_share_are_kept_once():
    rng = np.random.default_rng(0)
    word = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 300)
    strings = []
    for place in rng.integers(300, size=200):
        changed = word.copy()
        changed[place] = "A"
        strings.append("".join(changed))
    kernel = Mismatch(5, 1).resolve(strings)
    kernel(strings[:2])
    tracemalloc.start()
    kernel(strings)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # those of each string, 300 * 200 * 96 pairs of numbers, would take ten times as much
    assert peak < 4e7
