"""ksd_test: the discrepancy by finite differences, its level, and what it finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import mercer as mc
from mercer.permutation_tests import ksd_test


def _normal(X):
    return -X


def _stein(kernel, x, z, step=1e-4):
    """Return u(x, z) for a standard normal density, by finite differences."""
    moves = step * np.eye(len(x))

    def k(x, z):
        return kernel(x[None], z[None]).item()

    at_x = np.array([k(x + e, z) - k(x - e, z) for e in moves]) / (2 * step)
    at_z = np.array([k(x, z + e) - k(x, z - e) for e in moves]) / (2 * step)
    mixed = [k(x + e, z + e) - k(x + e, z - e) - k(x - e, z + e) + k(x - e, z - e) for e in moves]
    return x @ z * k(x, z) - x @ at_z - z @ at_x + sum(mixed) / (4 * step**2)


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.4), mc.RationalQuadratic(1.3, 0.5), mc.Cauchy(0.2)], ids=repr
)
def test_the_statistic_is_the_mean_over_pairs_by_finite_differences(kernel, global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((12, 3)) + 0.5
    expected = np.mean([[_stein(kernel, x, z) for x in X] for z in X])
    assert ksd_test(X, _normal, kernel, n_bootstrap=1).statistic == pytest.approx(
        expected, rel=1e-5
    )


def test_a_far_point_takes_no_digits_from_the_distances_of_the_others():
    X = np.random.default_rng(0).standard_normal((50, 3))
    far = np.vstack([X, [[1e9, 0.0, 0.0]]])

    # the far point has the value 0 with all others
    def score(X):
        return np.where(np.abs(X) < 1e6, -X, 0.0)

    kernel = mc.Gaussian(0.5)
    others = ksd_test(X, score, kernel, n_bootstrap=1).statistic
    # u(x, x) = -2 d k'(0) of the far point
    expected = (others * 50**2 + 3 * 2 * 0.5) / 51**2
    assert ksd_test(far, score, kernel, n_bootstrap=1).statistic == pytest.approx(
        expected, rel=1e-9
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_500_draws_of_the_density_reject_about_as_often_as_the_level_says(dtype):
    rejected = 0
    for seed in range(500):
        X = np.random.default_rng(seed).standard_normal((100, 2)).astype(dtype)
        rejected += ksd_test(X, _normal, n_bootstrap=99, random_state=seed).pvalue <= 0.1
    low, high = stats.binom.interval(0.999, 500, 0.1)
    assert low <= rejected <= high


def test_other_means_widths_and_tails_are_found():
    rng = np.random.default_rng(0)
    for X in (
        rng.normal(0.3, 1.0, (300, 2)),
        rng.normal(0.0, 1.3, (300, 2)),
        rng.standard_t(2, (300, 2)),
    ):
        assert ksd_test(X, _normal, n_bootstrap=199).pvalue <= 0.05


def test_the_same_seed_gives_the_same_pvalue_whatever_the_tile(costs):
    X = np.random.default_rng(1).normal(0.1, 1.0, (60, 2))
    whole = ksd_test(X, _normal, random_state=5)
    costs(BLOCK=7 * 60)
    assert ksd_test(X, _normal, random_state=5).pvalue == whole.pvalue


@pytest.mark.parametrize(
    ("score", "kernel", "kind", "message"),
    [
        (lambda X: X[:, :1], None, ValueError, r"score must return gradients of shape \(20, 2\)"),
        (lambda X: X / 0.0, None, ValueError, r"score\(X\)"),
        (
            lambda X: np.full_like(X, 1e200),
            None,
            ValueError,
            r"score\(X\).* must be at most 1e\+150",
        ),
        (np.zeros((20, 2)), None, TypeError, "score must be a function of rows, got .* ndarray"),
        (_normal, mc.Matern(1.0, 0.5), TypeError, "must be radial and twice differentiable"),
        (_normal, "linear", TypeError, "must be radial and twice differentiable"),
        (_normal, mc.kernels.Multiquadric(1.0), TypeError, "the discrepancy may be negative"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_has_no_discrepancy_is_refused(score, kernel, kind, message):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(kind, match=message):
        ksd_test(X, score, kernel)


def test_sparse_rows_are_rows():
    X = np.random.default_rng(0).standard_normal((20, 2))
    _, pvalue = ksd_test(sp.csr_array(X), _normal)
    assert pvalue == ksd_test(X, _normal).pvalue


def test_rows_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"X\[0, 0\] = 1e\+200 must be at most 1e\+150 in size"):
        ksd_test(np.full((20, 2), 1e200), np.zeros_like)
