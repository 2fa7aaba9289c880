"""Permutation tests have their level, find differences, and equal naive definitions."""

import itertools
import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats

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
    statistic, pvalue = found
    assert (statistic, pvalue) == (found.statistic, found.pvalue) == (found[0], found[1])
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
@pytest.mark.parametrize("memory", ["1GB", "2kB"], ids=["all pairs", "landmarks"])
@pytest.mark.parametrize("name", ["mmd", "hsic"])
def test_500_draws_under_the_hypothesis_reject_as_often_as_the_level_says(name, memory, dtype):
    level, draws = 0.1, 500
    rejected = 0
    for seed in range(draws):
        X, Z = (each.astype(dtype) for each in _samples(seed, 16, 16))
        test = mmd_test if name == "mmd" else hsic_test
        rejected += test(X, Z, n_permutations=19, memory=memory, random_state=seed).pvalue <= level
    low, high = stats.binom.interval(0.999, draws, level)
    assert low <= rejected <= high


def test_the_power_rises_with_the_distance_of_the_samples():
    def power(shift):
        results = [
            mmd_test(*_samples(seed, 30, 30, shift), n_permutations=99, random_state=seed)
            for seed in range(40)
        ]
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


@pytest.mark.parametrize("memory", ["1GB", "5kB"], ids=["all pairs", "landmarks"])
def test_points_may_be_strings_and_of_two_kinds(memory):
    texts = ["abab" if i % 2 else "bbcc" for i in range(30)]
    values = np.array([[len(set(text)) + i % 2] for i, text in enumerate(texts)], float)
    kernel = mc.strings.Spectrum(2)
    assert hsic_test(texts, values, kernel, KERNEL, memory=memory).pvalue < 0.01
    assert mmd_test(texts[::2], texts[1::2], kernel, memory=memory).pvalue < 0.01


@pytest.mark.parametrize(
    "test", [mmd_test, partial(hsic_test, kernel_y=KERNEL)], ids=["mmd", "hsic"]
)
def test_sparse_rows_are_rows_over_landmarks(test):
    X = sparse.random(300, 50, 0.1, format="csr", random_state=0)
    found, expected = (
        test(rows[:150], rows[150:] * 2, KERNEL, memory="100kB") for rows in (X, X.toarray())
    )
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.pvalue == expected.pvalue


def test_the_same_seed_gives_the_same_pvalue_whatever_the_memory():
    X, Z = _samples(2, 20, 10, 0.3)
    whole = mmd_test(X, Z, KERNEL, random_state=5)
    # of seven permutations at once
    few = mmd_test(X, Z, KERNEL, memory=64 * 7 * 30, random_state=5)
    assert few.pvalue == whole.pvalue


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Z: mmd_test(X, Z[:, :1]), "X has 2 features, but Z has 1"),
        (lambda X, Z: mmd_test(X[:1], Z[:1]), "one point each"),
        (lambda X, Z: mmd_test(X, Z, n_permutations=0), "n_permutations = 0 must be at least 1"),
        (lambda X, Z: mmd_test(X, Z, "median"), "kernel = 'median' must be one of"),
        (lambda X, Z: hsic_test(X, Z), "X has 6 points and Y has 5"),
        (lambda X, Z: hsic_test(X[:2], Z[:2]), "at least 3 pairs"),
        (lambda X, _Z: hsic_test(X, X[:, 0]), r"pass one feature as a column, Y\.reshape\(-1, 1\)"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call(*_samples(0, 6, 5))


def test_arrays_of_another_library_have_the_numbers_of_numpy():
    xp = pytest.importorskip("array_api_strict")
    X, Z = np.random.default_rng(0).normal(size=(2, 30, 2))
    for test in (mmd_test, hsic_test):
        found = test(xp.asarray(X), xp.asarray(Z), random_state=0)
        assert (found.statistic, found.pvalue) == (
            test(X, Z, random_state=0).statistic,
            test(X, Z, random_state=0).pvalue,
        )


# --- several kernels -------------------------------------------------------------------------------------------------


def _share_of_extremes(values):
    """Return the share of assignments that are as extreme as the first, from statistics (number of kernels, n).

    Ranks are numbers of values at least as large; the smallest decides, of equal ones the sum.
    """
    ranks = np.array([[np.sum(row >= value - 1e-12) for value in row] for row in values])
    keys = list(zip(ranks.min(axis=0), ranks.sum(axis=0), strict=True))
    return np.mean([key <= keys[0] for key in keys])


def test_the_pvalue_of_several_kernels_converges_to_the_share_of_all_assignments():
    X, Z = _samples(4, 4, 5, 0.7)
    kernels, n_permutations = [mc.Gaussian(5.0), mc.Gaussian(0.1), mc.Matern(1.0, 0.5)], 4000
    matrices = [kernel(np.vstack([X, Z])) for kernel in kernels]
    signs = [
        np.where(np.isin(np.arange(9), chosen), 1 / 4, -1 / 5)
        for chosen in itertools.combinations(range(9), 4)
    ]
    share = _share_of_extremes(np.array([[w @ K @ w for w in signs] for K in matrices]))
    found = mmd_test(X, Z, kernels, n_permutations=n_permutations).pvalue
    assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / n_permutations) + 0.01
    assert 0.02 < share < 0.8


def test_the_pvalue_of_pairs_of_kernels_converges_to_the_share_of_all_pairings():
    X, Y = _samples(3, 6, 6, d=1)
    kernels, n_permutations = [mc.Gaussian(5.0), mc.Gaussian(0.1)], 4000
    pairs = list(
        itertools.product([kernel(X) for kernel in kernels], [kernel(Y) for kernel in kernels])
    )
    values = [
        [_hsic(K, L[np.ix_(p, p)]) for p in itertools.permutations(range(6))] for K, L in pairs
    ]
    share = _share_of_extremes(np.array(values))
    found = hsic_test(X, Y, kernels, kernels, n_permutations=n_permutations).pvalue
    assert abs(found - share) < 4 * np.sqrt(share * (1 - share) / n_permutations) + 0.01
    assert 0.02 < share < 0.9


def _perturbed(rng, n, periods):
    """Return points in (0, 1) of the density 1 + sin(2 pi periods x)."""
    x, height = rng.uniform(size=(2, 4 * n))
    return x[2 * height < 1 + np.sin(2 * np.pi * periods * x)][:n, None]


def test_many_widths_see_fine_differences_that_one_does_not():
    found = {"aggregate": [], "rbf": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Z = rng.uniform(size=(300, 1)), _perturbed(rng, 300, 6)
        for kernel, rejected in found.items():
            rejected.append(
                mmd_test(X, Z, kernel, n_permutations=199, random_state=seed).pvalue <= 0.05
            )
    assert np.mean(found["aggregate"]) == 1
    assert np.mean(found["rbf"]) < 0.5


def test_many_widths_see_a_dependence_of_high_frequency():
    found = {"aggregate": [], "rbf": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=(150, 1))
        y = np.sin(40 * x) + 0.3 * rng.standard_normal((150, 1))
        for kernel, rejected in found.items():
            rejected.append(
                hsic_test(x, y, kernel, kernel, n_permutations=99, random_state=seed).pvalue <= 0.05
            )
    assert np.mean(found["aggregate"]) >= 0.8
    assert np.mean(found["rbf"]) < 0.5


def test_the_kernel_that_decided_has_the_smallest_pvalue_of_all():
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(size=(100, 1)), _perturbed(rng, 100, 4)
    kernels = [mc.Gaussian(0.1), mc.Gaussian(300.0), mc.Gaussian(1e6)]
    alone = [mmd_test(X, Z, kernel, random_state=1) for kernel in kernels]
    found = mmd_test(X, Z, kernels, random_state=1)
    best = int(np.argmin([each.pvalue for each in alone]))
    assert found.kernel == kernels[best] == alone[best].kernel
    assert found.statistic == alone[best].statistic
    assert (
        min(each.pvalue for each in alone) <= found.pvalue <= 3 * min(each.pvalue for each in alone)
    )
    default = mmd_test(X, Z).kernel
    assert mc.mmd(mc.features(default, X), mc.features(default, Z)) == pytest.approx(
        mmd_test(X, Z).statistic
    )
    pair = hsic_test(X, X, kernels[:2], kernels[1], n_permutations=50)
    assert pair.kernel in [(kernels[0], kernels[1]), (kernels[1], kernels[1])]


@pytest.mark.parametrize(
    ("kernel", "rel"),
    [(mc.Linear(), 1e-9), (mc.Gaussian(0.05), 1e-3), (mc.kernels.PowerDistance(), 2e-2)],
)
def test_statistics_over_landmarks_are_those_of_all_pairs(kernel, rel):
    # sizes that leave points beside the groups
    X, Z = _samples(1, 3001, 1234, 0.1)
    found = mmd_test(X, Z, kernel, memory="100MB", n_permutations=99)
    expected = mmd_test(X, Z, kernel, n_permutations=1)
    assert found.statistic == pytest.approx(expected.statistic, rel=rel)
    assert found.pvalue == 0.01
    Y = Z[:, :1] + 0.3 * X[: len(Z), :1]
    pairs = [
        hsic_test(X[: len(Z)], Y, kernel, kernel, memory=memory, n_permutations=99)
        for memory in ("10MB", "1GB")
    ]
    assert pairs[0].statistic == pytest.approx(pairs[1].statistic, rel=rel)
    assert pairs[0].pvalue == pairs[1].pvalue == 0.01


def test_many_points_show_what_few_do_not():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((2, 12_000, 3))
    Z[:, 0] *= 1.1
    few = [mmd_test(X[part], Z[part], n_permutations=99) for part in (slice(500), slice(500, 1000))]
    assert min(each.pvalue for each in few) > 0.05
    found = mmd_test(X, Z, n_permutations=99, memory="100MB")
    assert found.pvalue <= 0.02
    one_more = mmd_test(X, np.concatenate([Z, X[:1]]), n_permutations=99, memory="100MB")
    assert one_more.statistic == pytest.approx(found.statistic, rel=0.2)


def test_many_kernels_over_landmarks_hold_the_points_once():
    X, Z = np.random.default_rng(0).standard_normal((2, 4_000, 200))
    kernels = [mc.Gaussian(10.0**-k) for k in range(1, 17)]
    # compiled before memory is counted
    mmd_test(X[:100], Z[:100], kernels, n_permutations=9, memory="100kB")
    tracemalloc.start()
    try:
        mmd_test(X, Z, kernels, n_permutations=9, memory="20MB")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # both samples joined, and a copy while they are
    assert peak < 3 * (X.nbytes + Z.nbytes)


def test_samples_of_very_different_sizes_are_compared_over_landmarks():
    X, Z = _samples(0, 8_000, 9, 2.5)
    assert mmd_test(X, Z, memory="40MB").pvalue < 0.02
    assert mmd_test(X, X[:9] + 1e-9, memory="40MB").pvalue > 0.05


def test_equal_points_have_pvalue_1_over_landmarks():
    X = np.zeros((200, 2))
    for kernel in (KERNEL, mc.Linear()):
        assert mmd_test(X, X[:90], kernel, memory="100kB").pvalue == 1
        assert hsic_test(X, np.arange(400.0).reshape(200, 2), kernel, memory="100kB").pvalue == 1


def test_several_kernels_on_strings_are_aggregated_and_the_default_asks_for_one():
    texts = ["abab" if i % 2 else "bbcc" for i in range(30)]
    kernels = [mc.strings.Spectrum(1), mc.strings.Spectrum(2)]
    assert mmd_test(texts[::2], texts[1::2], kernels).pvalue < 0.01
    with pytest.raises(ValueError, match="kernel = 'aggregate' needs rows of numbers"):
        mmd_test(texts[::2], texts[1::2])
    with pytest.raises(ValueError, match=r"kernel_y = \[\] must hold at least one kernel"):
        hsic_test(texts, texts, kernels, [])


def test_the_number_of_permutations_may_be_a_small_integer_of_numpy():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 40, 2))
    for test in (mc.mmd_test, mc.hsic_test):
        found, expected = (
            test(X, Z, kernel, n_permutations=number, random_state=0).pvalue
            for kernel in [mc.Gaussian(1.0)]
            for number in (np.int8(127), 127)
        )
        assert found == expected


def test_many_statistics_nearer_than_their_rounding_are_not_all_equal():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 3)), rng.normal(0.5, 1.0, (50, 3))
    near, far = (mc.mmd_test(X + a, Z + a, mc.Linear(), n_permutations=2000) for a in (0.0, 1e6))
    assert near.pvalue < 0.01
    assert far.pvalue == pytest.approx(near.pvalue, abs=0.01)
