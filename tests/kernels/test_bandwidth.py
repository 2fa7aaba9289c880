"""Bandwidth rules: their definitions, equal results on dense and sparse rows at every offset, warnings."""

import warnings

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.base import clone

import mercer as mc
from mercer.kernels.bandwidth import gamma, length, warn_degenerate

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))


def test_the_rules_give_their_definitions():
    assert gamma("scale", X) == pytest.approx(1 / (4 * X.var()), rel=1e-13)
    assert gamma("median", X) == pytest.approx(1 / np.median(pdist(X, "sqeuclidean")), rel=1e-12)
    assert length("median", X) == pytest.approx(
        np.median(pdist(X, "sqeuclidean")) ** 0.5, rel=1e-12
    )
    assert gamma(2, X) == 2.0
    assert length(3, X) == 3.0


@pytest.mark.parametrize("offset", [0, 1.0, 1e3, 1e6, 1e8, 1e9])
def test_scale_is_equal_on_dense_and_sparse_rows_and_at_every_offset(offset):
    rows = X + offset
    dense, sparse = gamma("scale", rows), gamma("scale", sp.csr_array(rows))
    exact = rows.astype(np.longdouble)
    expected = float(1 / (4 * ((exact - exact.mean()) ** 2).mean()))
    assert dense == pytest.approx(expected, rel=1e-12)
    assert sparse == pytest.approx(expected, rel=1e-12)


def test_zeros_that_are_not_stored_are_entries():
    rows = X * (X > 0.5)
    assert gamma("scale", sp.csr_array(rows)) == pytest.approx(gamma("scale", rows), rel=1e-12)
    assert gamma("median", sp.csr_array(rows)) == pytest.approx(gamma("median", rows), rel=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_whole_weights_equal_repetitions_for_scale(make):
    weights = RNG.integers(0, 4, 60)
    repeated = gamma("scale", make(np.repeat(X, weights, axis=0)))
    assert gamma("scale", make(X), weights) == pytest.approx(repeated, rel=1e-12)


def test_equal_weights_change_nothing_and_rows_of_weight_zero_do_not_count():
    assert gamma("median", X, np.full(60, 3.0)) == pytest.approx(gamma("median", X), rel=0.02)
    weights = np.r_[np.ones(30), np.zeros(30)]
    far = np.vstack([X[:30], X[30:] + 100])
    assert gamma("median", far, weights) == pytest.approx(gamma("median", X[:30]), rel=0.05)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize(
    "rows",
    [np.ones((5, 2)), np.full((5, 2), 1e9), X * 1e-170, np.ones((1, 1))],
    ids=["ones", "1e9", "tiny", "one row"],
)
def test_constant_features_give_one_and_a_warning(rule, rows):
    with pytest.warns(
        UserWarning, match=f'bandwidth rule "{rule}": all features are constant .*1.0 is used'
    ):
        assert gamma(rule, rows) == 1.0


@pytest.mark.parametrize("n", [300, 700, 1500])
def test_whole_weights_give_the_median_of_repeated_rows(n, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, times = rng.standard_normal((n, 4)), rng.integers(0, 6, n)
    repeated = gamma("median", np.repeat(X, times, axis=0))
    assert gamma("median", X, times.astype(float)) == pytest.approx(repeated, rel=1e-12)


def test_one_weighted_row_has_no_median_distance():
    with pytest.warns(UserWarning, match="all features are constant up to 0"):
        assert gamma("median", np.full((1, 2), 3.0), np.ones(1)) == 1.0


def test_a_median_of_zero_of_features_that_vary_is_said_to_be_that_of_equal_pairs():
    X = np.concatenate([np.zeros((40, 2)), np.eye(2)])
    with pytest.warns(
        UserWarning,
        match='"median": half of the pairs .* are equal up to 0; 1.0 .* the rule "scale"',
    ):
        assert mc.Gaussian("median").resolve(X).gamma == 1.0


def test_one_constant_feature_changes_nothing():
    rows = np.column_stack([X, np.full(60, 7.0)])
    assert gamma("median", rows) == pytest.approx(gamma("median", X), rel=1e-9)


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_overflow_is_refused_with_a_remedy(rule):
    with pytest.raises(ValueError, match=r"overflow.*scale X"):
        gamma(rule, X * 1e200)


@pytest.mark.parametrize("weights", [np.zeros(60), -np.ones(60), np.full(60, np.nan), np.ones(3)])
@pytest.mark.parametrize("rule", ["scale", "median"])
def test_bad_weights_are_refused(rule, weights):
    with pytest.raises(ValueError, match="sample_weight.* must "):
        gamma(rule, X, weights)


def test_weights_whose_squares_overflow_give_no_median():
    with pytest.raises(ValueError, match=r"sample_weight\[0\] = 1e\+160 must be at most .* divide"):
        gamma("median", X, np.full(60, 1e160))


def test_single_precision_rows_give_the_rule_of_double_precision():
    single = (X + 1e3).astype(np.float32)
    assert gamma("scale", single) == pytest.approx(gamma("scale", single.astype(float)), rel=1e-13)
    assert gamma("median", single) == pytest.approx(gamma("median", single.astype(float)), rel=1e-9)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            mc.Gaussian(1e300),
            r"100% of the pairs of points are unrelated, k\(x, z\) = 0, with .*; use a wider kernel",
        ),
        (
            mc.Gaussian(1e-300),
            r"100% of the pairs of points have equal feature vectors, .* use a narrower kernel",
        ),
        (mc.Matern(1e-9), "unrelated.*wider"),
        (2 * mc.Cauchy(1e-30), "equal.*narrower"),
        (mc.Normalized(mc.Laplacian(1e20)), "unrelated.*wider"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unsuitable_bandwidths_cause_a_warning_with_a_range_to_try(kernel, message, dtype):
    with pytest.warns(UserWarning, match=message) as caught:
        warn_degenerate(kernel, X.astype(dtype))
    low, high = 0.1 / np.median(pdist(X, "sqeuclidean")), 10 / np.median(pdist(X, "sqeuclidean"))
    assert f"gamma from {low:.2g} to {high:.2g}" in str(caught[0].message)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator", [mc.KernelRidge(), mc.KernelRidge(landmarks=5), mc.SVR(), mc.KernelPCA(2)], ids=str
)
@pytest.mark.parametrize(("gamma", "change"), [(1e9, "wider"), (1e-14, "narrower")])
def test_fits_warn_of_unsuitable_bandwidths(estimator, gamma, change):
    with pytest.warns(UserWarning, match=f"100% of the pairs of points .*; use a {change} kernel"):
        clone(estimator).set_params(kernel=mc.Gaussian(gamma)).fit(X, X[:, 0])


@pytest.mark.parametrize(
    "kernel", [mc.Polynomial(3, 1.0, 0.0), 2 * mc.Polynomial(2, 1.0, 0.0), mc.Sigmoid(1.0, 0.0)]
)
def test_functions_of_inner_products_have_no_width_to_change(kernel):
    with pytest.warns(
        UserWarning, match=r"100% of .* unrelated, .*; use another kernel or other features\.$"
    ):
        warn_degenerate(kernel, np.eye(4))
    with pytest.warns(UserWarning, match="use a wider kernel"):
        warn_degenerate(mc.Polynomial(3, 1.0, 0.0) * mc.Gaussian(0.5), np.eye(4))


@pytest.mark.parametrize("value", 10.0 ** np.arange(-3, 2))
def test_suitable_bandwidths_cause_no_warning(value, recwarn):
    warn_degenerate(mc.Gaussian(value), X)
    warn_degenerate(mc.Matern(value + 0.1), X)
    assert len(recwarn) == 0


def test_kernels_without_a_bandwidth_and_single_points_cause_no_warning(recwarn):
    warn_degenerate(mc.Linear(), np.eye(50))
    warn_degenerate(mc.Linear(), np.ones((50, 1)))
    warn_degenerate(mc.Gaussian(1e300), X[:1])
    warn_degenerate(mc.Precomputed().resolve(np.eye(300)), np.arange(300))
    assert len(recwarn) == 0


def test_at_most_sixty_four_rows_are_compared():
    seen = []
    counting = mc.FunctionKernel(lambda A, B: seen.append(len(A)) or np.ones((len(A), len(B))))
    with pytest.warns(UserWarning, match="equal feature vectors"):
        warn_degenerate(_with_rule(counting), np.arange(1000.0).reshape(-1, 1))
    assert max(seen) == 64


def _with_rule(kernel):
    """Return the kernel as one of a type that has a bandwidth."""

    class Ruled(type(kernel)):
        rules = {"gamma": None}

    return Ruled(kernel.function)


def test_weights_count_as_copies_in_the_median(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, weights = rng.standard_normal((40, 3)), rng.integers(0, 4, 40)
    weighted = mc.Gaussian("median").resolve(X, weights.astype(float))
    repeated = mc.Gaussian("median").resolve(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.gamma, repeated.gamma, rtol=1e-12)
    np.testing.assert_allclose(
        mc.Gaussian("median").resolve(X, np.ones(40)).gamma,
        mc.Gaussian("median").resolve(X).gamma,
        rtol=1e-12,
    )


@pytest.mark.parametrize("n", [7, 49, 569])
def test_columns_of_one_number_have_no_variance_whatever_its_rounding(n):
    with pytest.warns(UserWarning, match="all features are constant up to 0"):
        assert gamma("scale", np.full((n, 30), 0.1)) == 1


def test_the_median_is_that_of_a_thousand_evenly_spaced_rows():
    rows = np.random.default_rng(1).standard_normal((1500, 3)) * np.linspace(1, 3, 1500)[:, None]
    some = rows[np.unique(np.linspace(0, 1499, 1000).astype(int))]
    assert len(some) == 1000
    assert gamma("median", rows) == pytest.approx(
        1 / np.median(pdist(some, "sqeuclidean")), rel=1e-12
    )
    fewer = rows[:1000]
    assert gamma("median", fewer) == pytest.approx(
        1 / np.median(pdist(fewer, "sqeuclidean")), rel=1e-12
    )


def _block(value, n=30, related=0):
    """Return a kernel on indices with 1 on the diagonal and for pairs of the first points, else one value."""
    K = np.full((n, n), value)
    K[:related, :related] = 1
    np.fill_diagonal(K, 1)
    return _with_rule(
        mc.FunctionKernel(lambda A, B: K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))])
    )


INDICES = np.arange(100.0).reshape(-1, 1)


@pytest.mark.parametrize(
    ("value", "dtype", "warned"),
    [
        (9e-301, np.float64, True),
        (2e-300, np.float64, False),
        (1 - 4.5e-13, np.float64, True),
        (1 - 5.5e-13, np.float64, False),
        (1 - 4e-7, np.float32, True),
        (1 - 6e-7, np.float32, False),
    ],
)
def test_pairs_are_unrelated_or_equal_within_the_rounding_of_their_type(
    value, dtype, warned, recwarn
):
    warn_degenerate(_block(value), INDICES[:30].astype(dtype))
    assert len(recwarn) == warned


def test_norms_other_than_one_are_taken_into_account(recwarn):
    warn_degenerate(
        _with_rule(mc.FunctionKernel(lambda A, B: 1e-200 * (1 + (A == B.T)))), INDICES[:30]
    )
    assert len(recwarn) == 0
    warn_degenerate(
        _with_rule(mc.FunctionKernel(lambda A, B: 1e9 * (1 + 4e-13 * (A == B.T)))), INDICES[:30]
    )
    assert len(recwarn) == 1


@pytest.mark.parametrize(("related", "warned"), [(6, True), (7, False)])
def test_more_than_99_percent_of_the_pairs_cause_a_warning(related, warned, recwarn):
    # of 2016 pairs 15 or 21 are related
    warn_degenerate(_block(0.0, 64, related), INDICES[:64])
    assert len(recwarn) == warned


def test_two_points_are_compared(recwarn):
    warn_degenerate(_block(0.0), INDICES[:2])
    assert len(recwarn) == 1


def test_a_range_is_given_for_rows_with_differences_only():
    with pytest.warns(UserWarning, match="use a wider kernel, such as gamma from") as caught:
        warn_degenerate(mc.Gaussian(1e300), X)
    median = np.median(pdist(X, "sqeuclidean"))
    assert f"length from {(median / 10) ** 0.5:.2g} to {(10 * median) ** 0.5:.2g}." in str(
        caught[0].message
    )
    with pytest.warns(UserWarning, match=r"use a narrower kernel\."):
        warn_degenerate(mc.Gaussian(1.0), np.ones((5, 2)))


@pytest.mark.parametrize(
    "weights", [[2.0, 1.0, 1.0], [1.0, 1.0, 3.0], [0.5, 0.5, 1.0], [1.0, 2.0, 0.0]]
)
def test_the_median_of_weighted_rows_is_that_of_weighted_pairs(weights):
    rows = np.array([[0.0], [1.0], [3.0]])
    w = np.array(weights)
    values = [0.0, 1.0, 4.0, 9.0]
    copies = np.maximum(w * (w - 1) / 2, 0).sum()
    mass = np.array([copies, w[0] * w[1], w[1] * w[2], w[0] * w[2]])
    half = mass.sum() / 2
    below, total = [], np.cumsum(mass)
    for bound in (half - 1e-9, half + 1e-9):
        below.append(values[int(np.argmax(total >= bound))])
    if sum(below) == 0:
        pytest.skip("the median is 0")
    assert gamma("median", rows, w) == pytest.approx(2 / sum(below), rel=1e-12)


@pytest.mark.parametrize("length", [1e-300, 5e-324, 1e-160])
def test_a_length_whose_square_vanishes_is_refused(length):
    for make in (lambda: mc.Matern(length), lambda: mc.RationalQuadratic(length)):
        with pytest.raises(ValueError, match=f"length = {length} must be at least 1.5e-154"):
            make()


def test_the_smallest_length_separates_all_points():
    np.testing.assert_array_equal(mc.Matern(1.5e-154)(X), np.eye(60))
    np.testing.assert_allclose(mc.RationalQuadratic(1.5e-154)(X), np.eye(60), atol=1e-300)
    for kernel in (mc.Matern(1e-30, 0.5), mc.Matern(1e-30, 2.5), mc.RationalQuadratic(1e-30)):
        K = kernel(X.astype(np.float32))
        assert K.dtype == np.float32
        np.testing.assert_array_equal(K, np.eye(60))
        np.testing.assert_array_equal(
            mc.Gram(kernel, X.astype(np.float32)) @ np.ones(60, np.float32), np.ones(60)
        )


def test_kernels_warn_by_the_share_of_all_pairs_whichever_points_are_compared_first():
    random, warned = np.random.default_rng(0), 0
    for _ in range(40):
        # far from each other but for some groups
        places = np.where(
            random.random(64) < random.uniform(0, 0.5),
            random.integers(6, size=64),
            np.arange(10, 74),
        )
        points = 1e3 * places[:, None] + 0.1 * random.random((64, 1))
        share = np.mean(pdist(points, "sqeuclidean") > 691)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warn_degenerate(mc.Gaussian(1.0), points)
        assert len(found) == (share > 0.99)
        warned += len(found)
    assert 5 < warned < 35


@pytest.mark.parametrize("rule", ["scale", "median"])
def test_rules_take_rows_and_weights_on_a_device(rule):
    X, weights = np.random.default_rng(0).normal(size=(20, 3)), np.arange(1.0, 21.0)
    device = array_api_strict.Device("device1")
    there = [array_api_strict.asarray(each, device=device) for each in (X, weights)]
    assert gamma(rule, *there) == gamma(rule, X, weights)
