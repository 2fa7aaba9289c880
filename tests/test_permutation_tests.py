"""Permutation tests have their level, find differences, and equal naive definitions."""

import itertools

import numpy as np
import pytest
from scipy import stats

import mercer as mc
from mercer.permutation_tests import hsic_test, mmd_test

KERNEL = mc.Gaussian(0.7)


def _samples(seed, m, n, shift=0.0, d=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, d)), rng.standard_normal((n, d)) + shift


def _hsic(K, L):
    """Return the criterion as tr(K H L H) / n^2, with the matrices written out."""
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / n**2


@pytest.mark.parametrize("seed", range(3))
def test_the_statistic_of_two_samples_is_the_discrepancy_of_their_means(seed):
    X, Z = _samples(seed, 30, 20, 0.5)
    expected = mc.mmd(mc.features(KERNEL, X), mc.features(KERNEL, Z))
    assert mmd_test(X, Z, KERNEL, n_permutations=1).statistic == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_statistic_of_pairs_is_the_trace_of_centred_matrices(seed):
    X, Y = _samples(seed, 25, 25)
    expected = _hsic(KERNEL(X), mc.Laplacian(0.3)(Y))
    found = hsic_test(X, Y, KERNEL, mc.Laplacian(0.3), n_permutations=1)
    assert found.statistic == pytest.approx(expected, rel=1e-11)


def test_the_pvalue_of_two_samples_converges_to_the_share_of_all_assignments():
    X, Z = _samples(4, 4, 5, 1.0)
    pooled, n_permutations = np.vstack([X, Z]), 4000
    K, all_values = KERNEL(pooled), []
    for chosen in itertools.combinations(range(9), 4):
        w = np.where(np.isin(np.arange(9), chosen), 1 / 4, -1 / 5)
        all_values.append(w @ K @ w)
    share = np.mean(np.array(all_values) >= all_values[0] - 1e-12)
    found = mmd_test(X, Z, KERNEL, n_permutations=n_permutations).pvalue
    assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / n_permutations) + 1e-3
    # all permutations, or only those with a larger statistic, would differ
    assert 0.005 < share < 0.9


def test_the_pvalue_of_pairs_converges_to_the_share_of_all_pairings():
    X, Y = _samples(3, 6, 6, d=1)
    K, L, n_permutations = KERNEL(X), KERNEL(Y), 4000
    all_values = np.array([_hsic(K, L[np.ix_(p, p)]) for p in itertools.permutations(range(6))])
    share = np.mean(all_values >= all_values[0] - 1e-12)
    found = hsic_test(X, Y, KERNEL, KERNEL, n_permutations=n_permutations).pvalue
    assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / n_permutations) + 1e-3
    assert 0.005 < share < 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["mmd", "hsic"])
def test_500_draws_under_the_hypothesis_reject_as_often_as_the_level_says(name, dtype):
    level, draws = 0.1, 500
    rejected = 0
    for seed in range(draws):
        X, Z = (each.astype(dtype) for each in _samples(seed, 15, 15))
        test = mmd_test if name == "mmd" else hsic_test
        rejected += test(X, Z, n_permutations=19, random_state=seed).pvalue <= level
    low, high = stats.binom.interval(0.999, draws, level)
    assert low <= rejected <= high


def test_the_power_rises_with_the_distance_of_the_samples():
    def power(shift):
        results = [mmd_test(*_samples(seed, 30, 30, shift), n_permutations=99, random_state=seed) for seed in range(40)]
        return np.mean([result.pvalue <= 0.05 for result in results])

    powers = [power(shift) for shift in (0.0, 0.5, 1.2)]
    assert powers[0] < 0.2 < powers[1] < powers[2]
    assert powers[2] > 0.9


def test_the_power_rises_with_a_dependence_that_correlation_does_not_see():
    def power(noise):
        found = []
        for seed in range(40):
            rng = np.random.default_rng(seed)
            x = rng.standard_normal((40, 1))
            y = x**2 + noise * rng.standard_normal((40, 1))
            found.append(hsic_test(x, y, n_permutations=99, random_state=seed).pvalue <= 0.05)
        return np.mean(found)

    powers = [power(noise) for noise in (30.0, 2.0, 0.5)]
    assert powers[0] < 0.2 < powers[1] < powers[2]
    assert powers[2] > 0.9


def test_equal_points_have_pvalue_1():
    X = np.ones((6, 2))
    assert mmd_test(X, X[:4], KERNEL).pvalue == 1
    assert hsic_test(X, np.arange(12.0).reshape(6, 2), KERNEL, KERNEL).pvalue == 1


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_a_multiple_of_the_kernel_leaves_the_pvalue(factor):
    X, Z = _samples(1, 12, 12, 0.5)
    assert mmd_test(X, Z, factor * KERNEL).pvalue == mmd_test(X, Z, KERNEL).pvalue
    assert hsic_test(X, Z, factor * KERNEL, KERNEL).pvalue == hsic_test(X, Z, KERNEL, KERNEL).pvalue


def test_points_may_be_strings_and_of_two_kinds():
    texts = ["abab" if i % 2 else "bbcc" for i in range(30)]
    values = np.array([[len(set(text)) + i % 2] for i, text in enumerate(texts)], float)
    assert hsic_test(texts, values, mc.strings.Spectrum(2), KERNEL).pvalue < 0.01
    assert mmd_test(texts[::2], texts[1::2], mc.strings.Spectrum(2)).pvalue < 0.01


def test_the_same_seed_gives_the_same_pvalue_whatever_the_block(monkeypatch):
    X, Z = _samples(2, 20, 10, 0.3)
    whole = mmd_test(X, Z, KERNEL, random_state=5)
    monkeypatch.setattr("mercer.permutation_tests._WEIGHTS", 7 * 30)
    assert mmd_test(X, Z, KERNEL, random_state=5).pvalue == whole.pvalue


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Z: mmd_test(X, Z[:, :1]), "X has 2 features, but Z has 1"),
        (lambda X, Z: mmd_test(X[:1], Z[:1]), "one point each"),
        (lambda X, Z: mmd_test(X, Z, n_permutations=0), "n_permutations = 0 must be at least 1"),
        (lambda X, Z: mmd_test(X, Z, "median"), "kernel = 'median' must be one of"),
        (lambda X, Z: hsic_test(X, Z), "X has 6 points and Y has 5"),
        (lambda X, Z: hsic_test(X[:2], Z[:2]), "at least 3 pairs"),
        (lambda X, _Z: hsic_test(X, X[:, 0]), r"give np\.reshape\(Y, \(-1, 1\)\)"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call(*_samples(0, 6, 5))


def test_too_many_pairs_are_refused_before_the_matrices(monkeypatch):
    monkeypatch.setattr("mercer.permutation_tests._MEMORY", "1kB")
    X, _ = _samples(0, 50, 1)
    with pytest.raises(MemoryError, match="50 x 50 kernel matrices needs 40.0 kB"):
        hsic_test(X, X)


def test_arrays_of_another_library_have_the_numbers_of_numpy():
    xp = pytest.importorskip("array_api_strict")
    X, Z = np.random.default_rng(0).normal(size=(2, 30, 2))
    for test in (mmd_test, hsic_test):
        found = test(xp.asarray(X), xp.asarray(Z), random_state=0)
        assert (found.statistic, found.pvalue) == (
            test(X, Z, random_state=0).statistic,
            test(X, Z, random_state=0).pvalue,
        )
