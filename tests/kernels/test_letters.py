"""Strings as numbers: parts of a block, letters of two blocks, weights of subsequences, comparisons of strings."""

import itertools

import numpy as np
import pytest

from mercer.kernels.strings import (
    CodedStrings,
    fill_runs,
    fill_subsequences,
    pack_bits,
    subsequence_weights,
)

WORDS = ["gatta", "cat", "g", "attac"]


def test_parts_of_a_block_are_the_blocks_of_the_strings():
    whole = CodedStrings.of(WORDS)
    letters = list(whole.vocabulary)
    for rows in (slice(1, 3), np.array([3, 0])):
        part, expected = whole.take_rows(rows), [WORDS[i] for i in np.arange(4)[rows]]
        assert "".join(letters[code] for code in part.values) == "".join(expected)
        np.testing.assert_array_equal(np.diff(part.ends), [len(word) for word in expected])
        assert part.longest == max(map(len, expected))


def test_unknown_letters_differ_from_all_letters():
    X, Z = CodedStrings.of(["abc"]), CodedStrings.of(["cb"])
    np.testing.assert_array_equal(X.recoded(Z).values, [-1, Z.vocabulary["b"], Z.vocabulary["c"]])
    assert X.recoded(X) is X


@pytest.mark.parametrize("length", [5, 64, 150])
def test_equal_substrings_are_counted_across_the_numbers_of_a_bit_plane(length, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = ["".join(word) for word in rng.choice(list("abc"), (4, length), p=[0.9, 0.05, 0.05])]
    Z = [
        "".join(word) for word in rng.choice(list("axyz"), (3, length), p=[0.97, 0.01, 0.01, 0.01])
    ]
    coded, others = CodedStrings.of(X), CodedStrings.of(Z)
    out, weights = np.empty((2, 2)), np.array([1.0, 10.0, 1000.0])
    planes = coded.recoded(others).bit_planes, others.bit_planes
    fill_runs(*planes, pack_bits(np.ones((1, length), bool))[0], weights, 1, 1, out)
    expected = [
        [
            sum(
                weights[d - 1] * sum(x[i : i + d] == z[i : i + d] for i in range(length - d + 1))
                for d in (1, 2, 3)
            )
            for z in Z[1:]
        ]
        for x in X[1:3]
    ]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_weights_of_words_are_sums_over_their_occurrences(length, global_random_seed, limits):
    rng = np.random.default_rng(global_random_seed)
    strings = CodedStrings.of(["".join(rng.choice(list("abc"), n)) for n in (5, 1, 8, 3)])
    expected = np.zeros((4, 3**length))
    for i, row in enumerate(expected):
        word = strings.values[strings.ends[i] : strings.ends[i + 1]]
        for places in itertools.combinations(range(len(word)), length):
            row[sum(word[place] * 3**p for p, place in enumerate(places))] += 0.7 ** (
                places[-1] - places[0] + 1
            )
    np.testing.assert_allclose(subsequence_weights(strings, length, 0.7), expected, rtol=1e-14)
    # in several tasks
    limits(steps_of_pairs=5)
    np.testing.assert_allclose(subsequence_weights(strings, length, 0.7), expected, rtol=1e-14)


def test_subsequences_of_two_strings_are_counted():
    X, out = CodedStrings.of(["aabb", "abab"]), np.empty((1, 1))
    strings = X.values, X.ends
    fill_subsequences(strings, strings, 2, 1.0, 0, 1, out)
    # aa, ab, bb have 1, 4, 1 occurrences in aabb and 1, 3, 1 in abab
    assert out == 14.0
