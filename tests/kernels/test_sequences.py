"""Global alignment and delay coordinates equal their definitions; other objects are refused by index and type."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from tests.reference.structured import SEQUENCES, SERIES

import mercer as mc
from mercer.kernels.sequences import Embedding, GlobalAlignment
from mercer.testing import check_expansion_laws, check_kernel_implementation


def _naive(x, z, width, band=None):
    """Return the sum over all alignments by the recursion of Cuturi (2011)."""
    M = np.zeros((len(x) + 1, len(z) + 1))
    M[0, 0] = 1
    for i in range(len(x)):
        for j in range(len(z)):
            weight = 1 if band is None else max(0, 1 - abs(i - j) / band)
            g = weight * np.exp(-np.sum((x[i] - z[j]) ** 2) / (2 * width**2))
            M[i + 1, j + 1] = g / (2 - g) * (M[i, j + 1] + M[i + 1, j] + M[i, j])
    return M[-1, -1]


def _alignments(n, m):
    """Yield all alignments of n and m times, as lists of pairs."""
    if n == m == 1:
        yield [(0, 0)]
        return
    for a, b in ((n - 1, m), (n, m - 1), (n - 1, m - 1)):
        if a and b:
            yield from ([*path, (n - 1, m - 1)] for path in _alignments(a, b))


def test_the_median_width_is_the_median_distance_of_times_by_the_root_of_the_median_length(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    series = [rng.normal(size=(n, 2)) for n in (3, 9, 4, 6, 5)]
    times = np.concatenate(series)
    width = GlobalAlignment("median").resolve(series).width
    assert width == pytest.approx((np.median(pdist(times, "sqeuclidean")) * 5) ** 0.5, rel=1e-12)
    # a weight of 0 leaves a series out
    few = GlobalAlignment("median", band=4).resolve(series, np.array([1, 1, 1, 0, 0]))
    assert few.width == pytest.approx(
        np.median(pdist(times[:16], "sqeuclidean")) ** 0.5 * 2, rel=1e-12
    )
    assert few.band == 4
    with pytest.raises(ValueError, match="not resolved, width = 'median'"):
        GlobalAlignment("median")(series)
    with pytest.raises(ValueError, match="width = 'scale' must be \"median\" or a positive number"):
        GlobalAlignment("scale")


@pytest.mark.parametrize("band", [None, 1, 2, 5])
@pytest.mark.parametrize("d", [1, 3])
def test_values_equal_the_recursion(d, band, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = ([rng.normal(size=(n, d)) for n in lengths] for lengths in ((1, 4, 7, 12), (2, 5, 30)))
    raw = np.array([[_naive(x, z, 0.8, band) for z in Z] for x in X])
    np.testing.assert_allclose(
        GlobalAlignment(0.8, band, normalized=False)(X, Z), raw, rtol=1e-12, atol=0
    )
    own = [np.array([_naive(x, x, 0.8, band) for x in side]) for side in (X, Z)]
    np.testing.assert_allclose(
        GlobalAlignment(0.8, band)(X, Z), raw / np.sqrt(np.outer(*own)), rtol=1e-12, atol=0
    )


def test_the_recursion_is_the_sum_over_all_alignments():
    x, z = SERIES[0][:3], SERIES[1][:4]
    g = np.exp(-((x[:, None] - z[None]) ** 2).sum(axis=2) / 2)
    kappa = g / (2 - g)
    expected = sum(np.prod([kappa[pair] for pair in path]) for path in _alignments(3, 4))
    np.testing.assert_allclose(
        GlobalAlignment(1.0, normalized=False)([x], [z]), [[expected]], rtol=1e-13
    )


@pytest.mark.parametrize("name", SEQUENCES)
def test_every_kernel_on_series_obeys_the_laws_of_kernels_and_expansions(name):
    kernel, points = SEQUENCES[name]
    check_kernel_implementation(kernel, points)
    check_expansion_laws(mc.features(kernel, points))


def test_long_and_distant_series_neither_overflow_nor_underflow():
    x, far = np.zeros(3000), np.full(3000, 1e4)
    K = GlobalAlignment(1.0)([x, x + 0.01, far])
    assert np.isfinite(K).all()
    assert 0.5 < K[0, 1] < 1
    assert K[0, 2] == 0
    with pytest.raises(
        ValueError, match=r"overflow float64, up to exp\(5\d\d\d\); use normalized=True"
    ):
        GlobalAlignment(1.0, normalized=False)([x])


@pytest.mark.parametrize("size", [1e100, 1e154, 1e200, 1e308])
@pytest.mark.parametrize("band", [None, 3])
def test_series_are_similar_to_themselves_only_whatever_their_distance(size, band):
    X = [np.zeros(5), np.full(6, size), np.full(6, -size), np.array([0.0, size, 0.0, 0.0, 0.0])]
    np.testing.assert_array_equal(GlobalAlignment(1.0, band)(X), np.eye(4))


@pytest.mark.parametrize("scale", [1e-150, 1e-40, 1e150])
def test_a_factor_of_the_series_and_of_the_width_changes_nothing(scale):
    scaled = [scale * x for x in SERIES]
    np.testing.assert_allclose(
        GlobalAlignment(scale)(scaled), GlobalAlignment(1.0)(SERIES), rtol=1e-12
    )


@pytest.mark.parametrize("d", [1, 2])
def test_models_do_not_depend_on_later_changes_of_their_series(d, tmp_path):
    series = list(np.random.default_rng(0).normal(size=(8, 5, d)))
    asked = [each.copy() for each in series]
    model = mc.SVC(kernel=GlobalAlignment(1.0)).fit(series, [0, 1] * 4)
    before = model.decision_function(asked)
    for each in series:
        each[:] = 3.0
    mc.save(model, tmp_path / "model")
    for same in (model, mc.load(tmp_path / "model")):
        np.testing.assert_allclose(same.decision_function(asked), before, rtol=1e-12)


def test_arrays_lists_tables_and_series_of_numbers_are_equal_points():
    X = np.random.default_rng(0).normal(size=(4, 6))
    K = GlobalAlignment(1.0)(list(X))
    for same in (X, X.tolist(), X[:, :, None], [pd.Series(x) for x in X]):
        np.testing.assert_array_equal(GlobalAlignment(1.0)(same), K)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: GlobalAlignment(0.0), ValueError, "width = 0.0 must be above 0"),
        (
            lambda: GlobalAlignment(1e-160),
            ValueError,
            "width = 1e-160 must be between 1e-150 and 1e150; scale the series",
        ),
        (
            lambda: GlobalAlignment(1e155),
            ValueError,
            r"width = 1e\+155 must be between 1e-150 and 1e150",
        ),
        (lambda: GlobalAlignment(1.0, band=0), ValueError, "band = 0 must be at least 1"),
        (
            lambda: GlobalAlignment(1.0)([[1.0], "ab"]),
            TypeError,
            r"X\[1\] must be a series.*type str",
        ),
        (
            lambda: GlobalAlignment(1.0)([[1.0], 2.0]),
            TypeError,
            r"X\[1\] must be a series.*type float",
        ),
        (
            lambda: GlobalAlignment(1.0)([[1.0], [[1], [1, 2]]]),
            TypeError,
            r"X\[1\] must be a series.*dtype object",
        ),
        (lambda: GlobalAlignment(1.0)([[1.0], None]), (TypeError, ValueError), r"X\[1\].*None"),
        (
            lambda: GlobalAlignment(1.0)([[1.0], []]),
            ValueError,
            r"X\[1\] is an empty series, of type list",
        ),
        (lambda: GlobalAlignment(1.0)([[1.0], [np.nan]]), ValueError, r"X\[1\] contains NaN"),
        (
            lambda: GlobalAlignment(1.0)([[1.0], np.eye(2)]),
            ValueError,
            r"X\[1\] is a series with 2 variables, but X",
        ),
        (
            lambda: GlobalAlignment(1.0)([[1.0]], [np.eye(2)]),
            ValueError,
            r"X\[0\] is .* 1 variables, but Z\[0\] is",
        ),
        (lambda: Embedding([]), ValueError, "must have at least one lag"),
        (lambda: Embedding([0, 1]), ValueError, "lags = 0 must be at least 1"),
        (lambda: Embedding(0), ValueError, "lags = 0 must be at least 1"),
        (
            lambda: Embedding(2.5).transform(np.ones(9)),
            TypeError,
            "lags must be a whole number, got 2.5",
        ),
        (lambda: Embedding(3, horizon=0), ValueError, "horizon = 0 must be at least 1"),
        (
            lambda: Embedding(3).transform(np.eye(3)),
            ValueError,
            r"x must be one series of numbers, .*shape \(3, 3\)",
        ),
        (
            lambda: Embedding(3, 2).targets([1.0, 2, 3, 4]),
            ValueError,
            "x has 4 values; .* need at least 5",
        ),
    ],
)
def test_what_is_no_series_is_refused_by_index_and_type(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("lags", "horizon"), [(4, 1), ([1], 1), ((2, 7), 3), (np.array([3, 1]), 2)], ids=repr
)
def test_rows_and_targets_are_values_at_the_lags_and_the_horizon(lags, horizon):
    x = np.random.default_rng(0).normal(size=20)
    embedding = Embedding(lags, horizon)
    each = list(range(1, lags + 1)) if isinstance(lags, int) else list(lags)
    rows, targets = embedding.transform(x), embedding.targets(x)
    assert rows.shape == (20 - max(each) - horizon + 1, len(each))
    for row, target, t in zip(rows, targets, range(max(each), 20), strict=False):
        assert target == x[t + horizon - 1]
        np.testing.assert_array_equal(row, [x[t - lag] for lag in each])
    assert targets[-1] == x[-1]
    assert len(targets) == len(rows)
