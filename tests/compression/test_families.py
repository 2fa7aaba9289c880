"""Families: every model is read as Mercer's estimator, and other vectors change only a copy of it."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import KernelPCA as PeerKernelPCA
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge as PeerKernelRidge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC

import mercer as mc
from mercer.compression.families import class_signs, fitted_again, read, with_vectors

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize(
    "model", [mc.SVC(5.0), mc.SVC(5.0, multi_class="ovr"), PeerSVC(C=5.0)], ids=repr
)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_signs_of_a_class_are_those_of_its_decision_values(model, n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 20)
    X = rng.normal(scale=0.1, size=(len(y), 2)) + np.column_stack([np.cos(y), np.sin(y)]) * 4
    small = read(model.fit(X, y))
    values = small.expansion_(X) + small.intercept_
    signs = class_signs(small)[y]
    assert class_signs(small).shape == (n_classes, values.shape[1])
    assert (signs * values)[signs != 0].min() > 0


@pytest.mark.parametrize("weights", [None, {0: 0.5, 1: 3.0, 2: 1.0}], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "model",
    [
        mc.SVC(2.0, kernel=mc.Gaussian(0.5)),
        mc.SVC(2.0, kernel=mc.Gaussian(0.5), multi_class="ovr"),
        PeerSVC(C=2.0, gamma=0.5),
    ],
    ids=repr,
)
def test_a_classifier_is_found_again_from_its_rows_and_largest_coefficients(model, weights):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(len(y), 2)) + np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    names = np.array(["a", "b", "c"])
    named = None if weights is None else {names[c]: weight for c, weight in weights.items()}
    small = read(model.set_params(class_weight=named).fit(X, names[y]))
    again = fitted_again(small, X, y)
    values = small.expansion_(X) + small.intercept_
    np.testing.assert_allclose(
        again.expansion_(X) + again.intercept_, values, atol=5e-3 * np.abs(values).max()
    )


def test_a_model_that_is_fitted_again_does_not_warn():
    y = np.arange(len(X)) % 2
    with pytest.warns(UserWarning, match="not convex"):
        model = mc.SVC(10.0, kernel=mc.Sigmoid(2.0)).fit(X, y)
    # warnings are errors in tests
    fitted_again(model, X, y)


def test_two_classes_of_a_nu_svc_are_found_again():
    y = np.arange(len(X)) % 2
    points = X + y[:, None]
    model = mc.NuSVC(0.5, kernel=mc.Gaussian(0.5)).fit(points, y)
    again = fitted_again(model, points, y)
    np.testing.assert_allclose(
        again.decision_function(points), model.decision_function(points), atol=1e-2
    )


def test_other_estimators_than_classifiers_have_no_signs():
    assert class_signs(read(mc.SVR().fit(X, X[:, 0]))) is None


def test_other_vectors_change_the_copy_and_not_the_model():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = mc.SVC(2.0, kernel=mc.Gaussian(1.0)).fit(X, y)
    before = model.decision_function(X)
    read_model = read(model)
    other = with_vectors(
        read_model, mc.Expansion(mc.Gaussian(1.0), X[:1], np.array([[3.0]])), np.array([0.5])
    )
    np.testing.assert_allclose(other.decision_function(X), 3 * np.exp(-(X[:, 0] ** 2)) + 0.5)
    for unchanged in (model, read_model):
        np.testing.assert_array_equal(unchanged.decision_function(X), before)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "support_")


@pytest.mark.parametrize("targets", [X[:, 0], X], ids=["vector", "columns"])
@pytest.mark.parametrize(
    "model", [mc.KernelRidge(0.1, kernel=mc.Gaussian(0.5)), PeerKernelRidge(kernel="rbf")], ids=repr
)
def test_predictions_of_a_ridge_model_keep_their_shape_and_values(model, targets):
    model = model.fit(X, targets)
    np.testing.assert_allclose(read(model).predict(X), model.predict(X), rtol=1e-9)
    assert read(model).predict(X).shape == targets.shape


def test_numbers_of_targets_are_kept_and_those_of_points_are_not():
    X, Y = np.eye(3), np.eye(3)[:, :2]
    alpha = np.array([0.1, 1.0])
    found = read(PeerKernelRidge(alpha=alpha, kernel="rbf", gamma=0.5).fit(X, Y))
    np.testing.assert_array_equal(found.alpha, alpha)
    assert (
        read(GaussianProcessRegressor(alpha=np.ones(3), optimizer=None).fit(X, Y)).alpha
        == mc.KernelRidge().alpha
    )


@pytest.mark.parametrize(
    "model",
    [mc.KernelPCA(3, kernel=mc.Gaussian(0.3)), PeerKernelPCA(3, kernel="rbf", gamma=0.3)],
    ids=lambda model: type(model).__module__.partition(".")[0],
)
def test_the_mean_of_kernel_pca_is_that_of_the_data_and_is_projected_on_other_vectors(model):
    found = read(model.fit(X))
    mean = mc.mean(mc.features(mc.Gaussian(0.3), X))
    np.testing.assert_allclose(found.mean_(X), mean(X), rtol=1e-9)
    other = with_vectors(found, mc.reduce(found.expansion_, 12).expansion, found.intercept_)
    assert other.mean_.points.shape == (12, 2)
    # the residual of a projection is orthogonal to the span
    np.testing.assert_allclose(other.mean_(other.mean_.points), mean(other.mean_.points), atol=1e-6)
    assert other.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1", "kernelpca2"]
    assert len(found.mean_.points) == 40


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_calibrated_search_keeps_probabilities_calibrated_on_the_given_rows(
    method, scaled, tmp_path, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    rows = rng.standard_normal((240, 2))
    labels = np.array(["a", "b", "c"])[
        np.digitize(rows[:, 0] + 0.3 * rng.standard_normal(240), [-0.5, 0.5])
    ]
    search = mc.SVCCV(mc.Gaussian(0.5), Cs=[1.0, 10.0], cv=3, calibration=method)
    model = (make_pipeline(StandardScaler(), search) if scaled else search).fit(rows, labels)
    small = mc.compress(model, rows, labels, n_vectors=8, random_state=0)
    last = small[-1] if scaled else small
    assert len(last.expansion_.points) <= 8
    assert last.report_.vectors_after <= 8
    # the curves are those that scikit-learn fits to the decision values of the small model
    theirs = CalibratedClassifierCV(
        FrozenEstimator(last.best_estimator_), method=method, ensemble=False
    )
    inner = small[0].transform(rows) if scaled else rows
    np.testing.assert_allclose(
        small.predict_proba(rows), theirs.fit(inner, labels).predict_proba(inner), atol=1e-4
    )
    worse = log_loss(labels, small.predict_proba(rows)) - log_loss(
        labels, model.predict_proba(rows)
    )
    assert worse < 0.1
    mc.save(small, tmp_path / "small")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "small").predict_proba(rows), small.predict_proba(rows)
    )


@pytest.mark.parametrize("c", [2, 3])
def test_probabilities_are_calibrated_with_rows_of_all_classes(c):
    rows = np.random.default_rng(0).standard_normal((60, 2))
    labels = np.digitize(rows[:, 0], [-0.3, 0.3][: c - 1])
    search = mc.SVCCV(mc.Gaussian(0.5), Cs=[1.0], cv=3, calibration="sigmoid").fit(rows, labels)
    some = labels < c - 1
    with pytest.raises(ValueError, match=r"y has the classes .*, the fit had .*; give y as in"):
        mc.compress(search, rows[some], labels[some], n_vectors=5)


def test_probabilities_that_a_compressed_model_has_not_are_a_warning():
    rows = np.random.default_rng(0).standard_normal((60, 2))
    labels = rows[:, 0] > 0
    search = mc.SVCCV(mc.Gaussian(0.5), Cs=[1.0], cv=3, calibration="sigmoid").fit(rows, labels)
    with pytest.warns(UserWarning, match="no predict_proba, which the model has; give X and y"):
        small = mc.compress(search, n_vectors=5)
    assert not hasattr(small, "predict_proba")
