"""svc_path: each of its classifiers is the one that SVC finds alone."""

import array_api_strict
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from tests.reference.arrays import as_numpy
from threadpoolctl import threadpool_info, threadpool_limits

import mercer as mc
from mercer import SVC, svc_path

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["b", "a", "c"])[Y]
CS = [10.0, 0.1, 1.0]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("memory", ["1GB", 60_000], ids=["stored", "lazy"])
def test_each_classifier_is_that_of_its_C_alone(multi_class, memory):
    path = svc_path(X, LABELS, CS, kernel=mc.Gaussian(0.2), multi_class=multi_class, memory=memory)
    for C, model in zip(CS, path, strict=True):
        alone = SVC(C, kernel=mc.Gaussian(0.2), multi_class=multi_class).fit(X, LABELS)
        assert C == model.C
        assert mc.certify(model, X, LABELS).kkt < 1e-9
        np.testing.assert_allclose(model.certificate_.dual, alone.certificate_.dual, rtol=1e-5)
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-7
        )
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_a_precomputed_matrix_and_class_weights_are_taken():
    K = mc.Gaussian(0.2)(X)
    (model,) = svc_path(K, Y, [2.0], kernel="precomputed", class_weight={0: 2.0, 1: 0.5})
    alone = SVC(2.0, kernel="precomputed", class_weight={0: 2.0, 1: 0.5}).fit(K, Y)
    np.testing.assert_allclose(model.decision_function(K), alone.decision_function(K), atol=1e-7)


def test_weights_of_samples_are_factors_of_every_C():
    weights = np.arange(150) % 3
    for C, model in zip(
        CS, svc_path(X, Y, CS, kernel=mc.Gaussian(0.2), sample_weight=weights), strict=True
    ):
        alone = SVC(C, kernel=mc.Gaussian(0.2)).fit(X, Y, weights)
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-7
        )
        assert not (model.support_ % 3 == 0).any()


@pytest.mark.parametrize(
    ("Cs", "words"), [([1.0, 0.0], r"Cs\[1\] = 0"), ([], "at least one"), ([[1.0]], "shape")]
)
def test_every_C_is_checked(Cs, words):
    with pytest.raises(ValueError, match=words):
        svc_path(X, Y, Cs, kernel="rbf")


@pytest.mark.parametrize("tol", [1e3, 1e300])
def test_a_path_whose_start_is_within_the_tolerance_has_certified_models(tol):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for model in mc.svc_path(X, X[:, 0] > 0, [1.0, 10.0], kernel=mc.Gaussian(0.3), tol=tol):
        assert model.certificate_.primal >= model.certificate_.dual
        assert np.isfinite(model.decision_function(X)).all()


def test_errors_name_the_function():
    with pytest.raises(ValueError, match="svc_path needs at least two classes"):
        svc_path(X, np.zeros(150), CS, kernel="rbf")
    with pytest.raises(ValueError, match="multi_class = 'all' must be one of"):
        svc_path(X, Y, CS, kernel="rbf", multi_class="all")


def test_classifiers_of_a_path_are_fitted_to_the_columns_of_the_data():
    import pandas

    frame = pandas.DataFrame(X, columns=list("abcd"))
    for model in svc_path(frame, Y, CS, kernel="rbf"):
        assert list(model.feature_names_in_) == list("abcd")
        assert model.n_features_in_ == 4


def test_a_solution_that_stops_early_warns():
    # rounding stops the steps
    with pytest.warns(ConvergenceWarning, match="above tol = 1e-20"):
        svc_path(X[40:60], Y[40:60], [1.0], kernel="rbf", tol=1e-20)


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Linear()], ids=["gaussian", "linear"])
@pytest.mark.parametrize("memory", ["1GB", 6000])
@pytest.mark.parametrize("counts", [(22, 15), (23, 18), (43, 47)], ids=str)
def test_intercepts_are_those_of_single_fits_where_rounding_keeps_coefficients_from_their_bounds(
    counts, memory, kernel, global_random_seed
):
    # balanced classes of a small C: all coefficients are at their bounds, and the intercept is in the middle
    points = np.random.default_rng(global_random_seed).standard_normal((sum(counts), 2))
    labels, Cs = np.repeat([0, 1], counts), [0.0016259882175202153, 0.0021, 0.0029803464336952117]
    options = {"kernel": kernel, "class_weight": "balanced", "memory": memory}
    for C, model in zip(Cs, mc.svc_path(points, labels, Cs, **options), strict=True):
        alone = mc.SVC(C, **options).fit(points, labels)
        np.testing.assert_allclose(model.intercept_, alone.intercept_, atol=1e-9)
        assert abs(model.intercept_[0]) < 0.3


def test_products_of_a_path_are_those_of_one_thread_of_blas(listening):
    # threads of BLAS wait between small products, which then take ten times as long
    counts = []

    def count(*_, **__):
        counts.extend(
            each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"
        )

    X = np.arange(6.0)[:, None]
    with threadpool_limits(2, "blas"), listening(count):
        mc.svc_path(X, np.arange(6) > 2, [1.0], kernel="linear")
    assert set(counts) == {1}


def test_models_over_arrays_on_a_device_are_there():
    device = array_api_strict.Device("device1")
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    points, labels = (array_api_strict.asarray(each, device=device) for each in (X, y))
    models = svc_path(points, labels, [0.1, 10.0], kernel=mc.Gaussian(0.5))
    for found, expected in zip(
        models, svc_path(X, y, [0.1, 10.0], kernel=mc.Gaussian(0.5)), strict=True
    ):
        values = found.decision_function(points)
        assert values.device == device
        np.testing.assert_allclose(
            as_numpy(values), expected.decision_function(X), rtol=1e-9, atol=1e-12
        )
