"""Codes of vectors: rounding within half a step, products in 32 bits, coefficients refitted."""

import numpy as np
import pytest
from tests.reference.exported import X, fitted

import mercer as mc
from mercer.formats import to_c
from mercer.formats.portable import MappedPoints, portable
from mercer.formats.quantised import Bytes, Halves, quantise, uncoded

ALL = frozenset({"dot", "sqdist", "sqnorm_x", "sqnorm_z"})


def _view(Z):
    return MappedPoints((), Z, ALL, True)


def _rows(seed, n=30, q=7):
    rng = np.random.default_rng(seed)
    # columns of different scales, far from 0, one of them constant
    rows = rng.normal(size=(n, q)) * np.geomspace(1e-2, 10, q) + np.linspace(-5, 5, q)
    rows[:, 3] = 2.5
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_codes_are_within_half_a_step_of_the_vectors(seed):
    Z = _rows(seed)
    coded = Bytes(_view(Z))
    assert np.all(abs(coded.points - Z) <= coded.scale / 2 * (1 + 1e-5))
    assert abs(coded.codes.astype(int)).max() == 127
    assert np.all(
        coded.scale[abs(Z - coded.centre).max(axis=0) > 0]
        <= np.ptp(Z, axis=0).max() / 2 / 127 * 1.001
    )
    np.testing.assert_array_equal(coded.points[:, 3], 2.5)


@pytest.mark.parametrize("seed", range(3))
def test_the_inputs_of_the_kernel_are_those_of_the_coded_vectors(seed):
    points, coded = _rows(seed + 10), Bytes(_view(_rows(seed)))
    found, Z = coded.inputs(points), coded.points
    # the point is rounded to half a step of 1 / 32767 of its largest scaled coordinate
    moved = abs((points - coded.centre) * coded.scale).max(axis=1)
    bound = (moved / coded.limit / 2)[:, None] * abs(coded.codes.astype(float)).sum(axis=1) + 1e-12
    squares = np.sum((points[:, None] - Z) ** 2, axis=2)
    assert np.all(abs(found["dot"] - points @ Z.T) <= bound)
    assert np.all(abs(found["sqdist"] - squares) <= 2 * bound)
    np.testing.assert_allclose(found["sqnorm_z"], np.sum(Z**2, axis=1))


def test_sums_of_products_stay_within_32_bits():
    for q in (1, 64, 784, 100_000):
        coded = Bytes(_view(np.stack([np.ones(q), -np.ones(q)])))
        assert 127 * coded.limit * q <= 2**31 - 1
        assert coded.limit >= 100


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_halves_are_the_differences_from_the_middle_in_half_precision(offset):
    Z = _rows(0) + offset
    coded = Halves(_view(Z))
    middle = (Z.min(axis=0) + Z.max(axis=0)) / 2
    assert np.all(abs(coded.centre - middle) <= 1e-7 * abs(middle))
    np.testing.assert_array_equal(coded.codes, (Z - coded.centre).astype(np.float16))
    assert np.all(abs(coded.points - Z) <= 2.0**-11 * np.ptp(Z, axis=0))
    with pytest.raises(
        ValueError, match="the model has the number 7e.04, and dtype=.float16. ends at 65504"
    ):
        Halves(_view(np.array([[-7e4], [7e4]])))


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_exports_in_few_bits_keep_the_labels_far_from_the_origin(dtype, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4)) + 1e4
    model = mc.SVC(kernel="rbf").fit(rows, rows[:, 0] - 1e4 + (rows[:, 1] - 1e4) ** 2 > 0.7)
    assert to_c(model, tmp_path / "a.c", dtype, X=rows).label_agreement > 0.98


@pytest.mark.parametrize("kind", [Halves, Bytes])
def test_refitted_coefficients_lower_the_error(kind):
    exported = portable(fitted("Gaussian"), "float32")
    expected = uncoded(exported, "float64").scores(X)
    refitted = quantise(exported, kind, X, expected)
    # without points to fit, the coefficients are rounded only
    plain = quantise(exported, kind, X[:1], uncoded(exported, "float64").scores(X[:1]))
    errors = [np.square(each.scores(X) - expected).sum() for each in (refitted, plain)]
    assert errors[0] <= errors[1]
    assert (kind is Halves) or errors[0] < 0.5 * errors[1]


def test_uncoded_scores_are_those_of_the_model():
    for case in (
        "sum and product",
        "mapped",
        "powers, exponential and normalised",
        "SVR",
        "RationalQuadratic",
    ):
        model = fitted(case)
        own = model if isinstance(model, mc.formats.FittedExpansion) else mc.as_expansion(model)
        scores = uncoded(portable(model, "float64"), "float64").scores(X)
        np.testing.assert_allclose(
            scores, own.expansion(X) + own.intercept, atol=1e-10 * abs(scores).max()
        )


@pytest.mark.parametrize(
    "case", ["two classes", "three classes by name", "one against the rest", "OneClassSVM"]
)
def test_places_are_the_labels_that_the_model_predicts(case):
    model = fitted(case)
    exported = portable(model, "float64")
    found = exported.places(uncoded(exported, "float64").scores(X))
    np.testing.assert_array_equal(np.array(exported.labels)[found], model.predict(X))


def test_points_at_which_float32_overflows_are_refused_where_values_would_not_be_finite():
    # exp(-inf) is the true value 0; a power of <x, z> is not
    far = np.full((2, X.shape[1]), 2.0**70)
    assert np.isfinite(
        uncoded(portable(fitted("Gaussian"), "float32"), "float32").scores(far)
    ).all()
    with pytest.raises(ValueError, match=r"overflow at X, which has the number 1.18e\+21; scale X"):
        uncoded(portable(fitted("Polynomial"), "float32"), "float32").scores(far)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_kernel_values_beyond_the_range_of_float_are_refused(dtype, tmp_path):
    points = np.linspace(1, 150, 20)[:, None]
    model = mc.KernelPCA(2, kernel=mc.Polynomial(9, gamma=8.0)).fit(points)
    with pytest.raises(
        ValueError,
        match=r"kernel values at the vectors are up to 1.98e\+47, outside the range of float32",
    ):
        to_c(model, tmp_path / "model.c", dtype, X=points)
