"""OnFeatures: values, gradients and bandwidth rules against coordinates of the feature vectors."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.testing import check_kernel_implementation

RNG = np.random.default_rng(0)
WORDS = ["".join(word) for word in RNG.choice(list("abc"), (30, 7))]
INNER = mc.strings.Spectrum(2)
OUTER = {
    "gaussian": mc.Gaussian(0.3),
    "matern": 2 * mc.Matern(1.7, nu=0.5) + 1.0,
    "polynomial": mc.Polynomial(2, gamma=0.5, coef0=1.0),
    "exp": mc.Exp(0.1 * mc.Linear()),
    "normalized": mc.Normalized(mc.Cauchy(0.2) * mc.Gaussian(0.1)),
}


# coordinates of the feature vectors of INNER: counts of the nine pairs of letters
ROWS = np.array(
    [
        [float(sum(word[i : i + 2] == a + b for i in range(6))) for a in "abc" for b in "abc"]
        for word in WORDS
    ]
)


@pytest.mark.parametrize("name", OUTER)
def test_values_are_those_of_the_outer_kernel_at_coordinates_of_the_feature_vectors(name):
    kernel = mc.OnFeatures(OUTER[name], INNER)
    np.testing.assert_allclose(kernel(WORDS), OUTER[name](ROWS), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        kernel(WORDS[:9], WORDS), OUTER[name](ROWS)[:9], rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(kernel.diag(WORDS), np.diag(kernel(WORDS)), rtol=1e-14)
    np.testing.assert_array_equal(kernel(WORDS), kernel(WORDS).T)


@pytest.mark.parametrize(
    "outer", [OUTER["gaussian"], OUTER["polynomial"]], ids=["gaussian", "polynomial"]
)
def test_gradients_are_those_of_the_values(outer):
    check_kernel_implementation(mc.OnFeatures(outer, mc.Polynomial(2, gamma=0.4)))


def test_the_median_rule_takes_the_distances_of_feature_vectors():
    kernel = mc.OnFeatures(2 * mc.Gaussian("median"), INNER).resolve(WORDS)
    assert kernel.kernel.kernel.gamma == pytest.approx(
        mc.Gaussian("median").resolve(ROWS).gamma, rel=1e-12
    )
    weights = np.r_[np.ones(10), np.zeros(20)]
    few = mc.OnFeatures(mc.Matern("median"), INNER).resolve(WORDS, weights).kernel.length
    assert few == pytest.approx(mc.Matern("median").resolve(ROWS[:10]).length, rel=1e-12)


def test_rules_of_the_inner_kernel_are_resolved_first():
    X = RNG.standard_normal((40, 3))
    kernel = mc.OnFeatures(mc.Gaussian("median"), mc.Gaussian("scale")).resolve(X)
    assert kernel.inner == mc.Gaussian("scale").resolve(X)
    distances = 2 - 2 * kernel.inner(X)[np.triu_indices(40, 1)]
    assert kernel.kernel.gamma == pytest.approx(1 / np.median(distances), rel=1e-12)


def test_the_median_rule_takes_a_given_matrix_as_its_kernel():
    X, inner = RNG.standard_normal((30, 2)), mc.Polynomial(2)
    y = X[:, 0] > 0
    models = [
        mc.SVC(kernel=2 * mc.OnFeatures(mc.Gaussian("median"), each)).fit(points, y)
        for each, points in ((inner, X), (mc.Precomputed(), inner(X)))
    ]
    expected, found = (model.kernel_.kernel.kernel.gamma for model in models)
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(
        models[1].decision_function(inner(X)), models[0].decision_function(X), atol=1e-6
    )


def test_scale_is_refused_because_feature_vectors_have_no_coordinates():
    with pytest.raises(ValueError, match='"scale" needs coordinates.*use "median" or a number'):
        mc.OnFeatures(mc.Gaussian(), INNER).resolve(WORDS)


@pytest.mark.parametrize(
    "outer", [mc.Laplacian(1.0), mc.Linear() + mc.Gaussian(1.0), mc.Constant(1.0)], ids=str
)
def test_other_kernels_than_functions_of_one_scalar_are_refused(outer):
    with pytest.raises(
        ValueError, match="kernel of OnFeatures must be a function of the distance or of the inner"
    ):
        mc.OnFeatures(outer, INNER)


def test_a_kernel_as_the_map_of_mapped_points_here():
    with pytest.raises(TypeError, match="A must be a function or an array.*use OnFeatures"):
        mc.Mapped(mc.Gaussian(1.0), INNER)


def test_an_estimator_resolves_the_rule_and_equals_the_one_on_kernel_values():
    y = np.array([word.count("a") > 2 for word in WORDS])
    model = mc.SVC(kernel=mc.OnFeatures(mc.Gaussian("median"), mc.Normalized(INNER)), C=3.0).fit(
        WORDS, y
    )
    K = model.kernel_(WORDS)
    expected = mc.SVC(kernel="precomputed", C=3.0).fit(K, y).decision_function(K)
    np.testing.assert_allclose(model.decision_function(WORDS), expected, atol=1e-6)
    assert mc.check_kernel(model.kernel_).positive_semidefinite
    assert (
        mc.check_kernel(mc.OnFeatures(mc.Gaussian(1.0), mc.Sigmoid())).positive_semidefinite is None
    )


@pytest.mark.parametrize("name", OUTER)
def test_arrays_of_other_libraries_have_the_values_of_numpy(name):
    strict = pytest.importorskip("array_api_strict")
    X = RNG.random((9, 2))
    kernel = mc.OnFeatures(OUTER[name], mc.Polynomial(2, gamma=0.5))
    np.testing.assert_allclose(np.asarray(kernel(strict.asarray(X))), kernel(X), rtol=1e-13)


def test_a_model_file_stores_both_kernels(tmp_path):
    model = mc.KernelPCA(2, kernel=mc.OnFeatures(mc.Gaussian("median"), INNER)).fit(WORDS)
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    assert loaded.kernel_ == model.kernel_
    np.testing.assert_array_equal(loaded.transform(WORDS), model.transform(WORDS))


def test_gradients_are_0_where_a_negative_squared_distance_counts_as_0():
    kernel = mc.OnFeatures(mc.Gaussian(1.0), mc.Sigmoid(1.0, 1.0))
    X, step = np.linspace(-3, 3, 25)[:, None], 1e-6
    Z = np.array([[1.0]])
    slope = (kernel(X + step, Z) - kernel(X - step, Z)) / (2 * step)
    assert np.any(kernel(X, Z)[X[:, 0] != 1] == 1)
    np.testing.assert_allclose(kernel.vjp(X, Z, np.ones((25, 1))), slope, atol=1e-7)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_squared_distances_of_float32_rows_far_from_the_origin_keep_their_digits(container):
    X = (1e3 + RNG.normal(size=(9, 3))).astype(np.float32)
    kernel, points = mc.OnFeatures(mc.Gaussian(0.5), mc.Linear()), container(X)
    expected = mc.Gaussian(0.5)(X.astype(np.float64))
    for values in (kernel(points), kernel(points, container(X))):
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, expected, atol=1e-6)
    np.testing.assert_allclose(mc.features(kernel, points)(points), expected, atol=1e-6)
    rule = mc.OnFeatures(mc.Gaussian("median"), mc.Linear()).resolve(points)
    np.testing.assert_allclose(rule.kernel.gamma, mc.Gaussian("median").resolve(X).gamma, rtol=1e-6)


def test_a_gradient_that_overflows_is_refused():
    kernel = mc.OnFeatures(mc.Exp(mc.Linear()), mc.Linear())
    X = 1e3 * np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(ValueError, match="overflow float64"):
        kernel.vjp(X, X, np.ones((5, 5)))
