"""Strings as numbers: parts of a block, letters of two blocks, and comparisons of two strings."""

import numpy as np

from mercer.kernels.letters import code_letters, fill_runs, fill_subsequences

WORDS = ["gatta", "cat", "g", "attac"]


def test_parts_of_a_block_are_the_blocks_of_the_strings():
    whole = code_letters(WORDS)
    letters = list(whole.vocabulary)
    for rows in (slice(1, 3), np.array([3, 0])):
        part, expected = whole.take_rows(rows), [WORDS[i] for i in np.arange(4)[rows]]
        assert "".join(letters[code] for code in part.codes) == "".join(expected)
        np.testing.assert_array_equal(np.diff(part.ends), [len(word) for word in expected])
        assert part.longest == max(map(len, expected))


def test_unknown_letters_differ_from_all_letters():
    X, Z = code_letters(["abc"]), code_letters(["cb"])
    np.testing.assert_array_equal(X.in_codes_of(Z), [-1, Z.vocabulary["b"], Z.vocabulary["c"]])


def test_runs_and_subsequences_of_two_strings_are_counted():
    X, out = code_letters(["aabb", "abab"]), np.empty((1, 1))
    fill_runs(X.codes, X.ends, X.codes, X.ends, 0, 1, np.array([1.0, 10.0]), out)
    assert out == 2.0
    fill_subsequences(X.codes, X.ends, X.codes, X.ends, 0, 1, 2, 1.0, out)
    # aa, ab, bb have 1, 4, 1 occurrences in aabb and 1, 3, 1 in abab
    assert out == 14.0
