"""KernelFisher: linear discriminant analysis in feature space, and the checks of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.kernel_fisher import KernelFisher

SETTINGS = [
    KernelFisher(),
    # a smaller mu warns of the accuracy of float32 on some processors
    KernelFisher(kernel="linear", mu=0.01),
    KernelFisher(1, kernel=mc.Matern(length=2.0), mu=1.0),
    KernelFisher(kernel=mc.Gaussian("scale") + mc.Linear(), mu=0.1, memory="1kB"),
    KernelFisher(kernel="rbf", mu=0.1, landmarks=1000, rule="uniform"),
]


@parametrize_with_checks(SETTINGS)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


class Shrunk:
    """Covariances with mu / n on the diagonal."""

    def __init__(self, share):
        self.share = share

    def fit(self, Z):
        self.covariance_ = np.cov(Z.T, bias=True) + self.share * np.eye(Z.shape[1])
        return self


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    labels = rng.integers(0, 3, 90)
    X = rng.standard_normal((90, 3)) + 1.5 * np.eye(3)[labels]
    new = rng.standard_normal((20, 3))
    return X, np.array(["ant", "bee", "cat"])[labels], new, rng.integers(0, 4, 90).astype(float)


def aligned(scores, reference):
    """Return scores with the signs of a reference."""
    return scores * np.sign(np.sum(scores * reference, axis=0))


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.3), mc.Polynomial(2, 1.0, 1.0), mc.Linear()])
@pytest.mark.parametrize("two", [False, True], ids=["three classes", "two classes"])
def test_it_is_linear_discriminant_analysis_on_coordinates_of_the_feature_space(
    sample, kernel, two
):
    X, y, new, _ = sample
    X, y = (X[y != "cat"], y[y != "cat"]) if two else (X, y)
    mu = 0.1
    pca = mc.KernelPCA(kernel=kernel).fit(X)
    theirs = LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=Shrunk(mu / len(X)))
    theirs.fit(pca.transform(X), y)
    Z, ours = pca.transform(new), KernelFisher(kernel=kernel, mu=mu).fit(X, y)
    # coordinates along the smallest eigenvalues have few correct digits, and the reference uses them all
    expected = theirs.transform(Z) - theirs.transform(pca.transform(X)).mean(axis=0)
    np.testing.assert_allclose(aligned(ours.transform(new), expected), expected, atol=1e-7)
    np.testing.assert_allclose(
        ours.decision_function(new), _centred(theirs.decision_function(Z), ours, new), atol=1e-6
    )
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(Z), atol=1e-6)
    np.testing.assert_allclose(
        ours.predict_log_proba(new), np.log(ours.predict_proba(new)), rtol=1e-9, atol=1e-12
    )
    assert (ours.predict(new) == theirs.predict(Z)).all()


def _centred(theirs, ours, new):
    """Return decision values with the means over the classes replaced by ours; not for two classes."""
    if theirs.ndim == 1:
        return theirs
    return theirs - theirs.mean(axis=1)[:, None] + ours.decision_function(new).mean(axis=1)[:, None]


def test_directions_solve_the_direct_eigenproblem(sample):
    X, y, _, _ = sample
    kernel, H = mc.Gaussian(0.3), np.eye(90) - 1 / 90
    model = KernelFisher(kernel=kernel, mu=0.01).fit(X, y)
    K = H @ kernel(X) @ H
    means = np.array([K[:, y == c].mean(axis=1) for c in model.classes_])[
        np.searchsorted(model.classes_, y)
    ]
    between, within = means.T @ means, (K - means).T @ (K - means)
    A = model.expansion_.coef
    left = between @ A
    right = (within + 0.01 * K) @ A * model.eigenvalues_
    np.testing.assert_allclose(left, right, atol=1e-10 * np.abs(left).max())


def test_no_regularisation_needs_all_points(sample):
    X, y, _, _ = sample
    model = KernelFisher(kernel=mc.Polynomial(2, 1.0, 1.0), mu=0).fit(X, y)
    near = KernelFisher(kernel=mc.Polynomial(2, 1.0, 1.0), mu=1e-4).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, near.eigenvalues_, rtol=1e-4)
    assert mc.certify(model, X, y).residuals.max() < 1e-9
    with pytest.raises(ValueError, match="mu = 0 must be above 0"):
        KernelFisher(mu=0, landmarks=5).fit(X, y)


def test_means_are_those_of_the_transformed_classes(sample):
    X, y, _, _ = sample
    model = KernelFisher().fit(X, y)
    Z = model.transform(X)
    np.testing.assert_allclose(
        model.means_, [Z[y == c].mean(axis=0) for c in model.classes_], atol=1e-9
    )
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(model.priors_, [(y == c).mean() for c in model.classes_], atol=1e-15)
    np.testing.assert_allclose(model.expansion_(X) + model.intercept_, Z, atol=0)


def test_far_from_the_origin_a_linear_kernel_still_separates(sample):
    X, y, _, _ = sample
    near = KernelFisher(kernel="linear", mu=1.0).fit(X, y)
    with pytest.warns(
        ConvergenceWarning, match="directions are accurate to a share of 0.0001 only"
    ):
        far = KernelFisher(kernel="linear", mu=1.0).fit(X + 1e5, y)
    np.testing.assert_allclose(far.transform(X + 1e5), near.transform(X), atol=1e-2)


def test_fewer_components_are_the_first_ones(sample):
    X, y, new, _ = sample
    every, one = KernelFisher(kernel="rbf").fit(X, y), KernelFisher(1, kernel="rbf").fit(X, y)
    np.testing.assert_allclose(one.transform(new)[:, 0], every.transform(new)[:, 0], atol=1e-12)
    assert one.decision_function(new).shape == (20, 3)
    assert list(one.get_feature_names_out()) == ["kernelfisher0"]


def test_weights_are_repetitions(sample):
    X, y, new, weights = sample
    rows = np.repeat(np.arange(90), weights.astype(int))
    weighted, repeated = KernelFisher().fit(X, y, weights), KernelFisher().fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), atol=1e-8)


def test_weights_that_are_all_zero_are_refused(sample):
    X, y, _, _ = sample
    with pytest.raises(ValueError, match="sample_weight must not all be zero"):
        KernelFisher().fit(X, y, np.zeros(len(y)))


def test_a_class_without_weight_is_left_out(sample):
    X, y, new, _ = sample
    model = KernelFisher(kernel=mc.Gaussian(0.3)).fit(X, y, (y != "bee").astype(float))
    assert list(model.classes_) == ["ant", "cat"]
    alone = KernelFisher(kernel=mc.Gaussian(0.3)).fit(X[y != "bee"], y[y != "bee"])
    np.testing.assert_allclose(
        model.decision_function(new), alone.decision_function(new), atol=1e-9
    )


def test_precomputed_rows_give_the_decisions_of_the_points(sample):
    X, y, new, weights = sample
    kernel = mc.Gaussian(0.3)
    direct = KernelFisher(kernel=kernel).fit(X, y, weights)
    given = KernelFisher(kernel="precomputed").fit(kernel(X), y, weights)
    np.testing.assert_allclose(given.transform(kernel(new, X)), direct.transform(new), atol=1e-8)


def test_sparse_rows_give_the_decisions_of_dense_ones(sample):
    X, y, new, weights = sample
    X, new = np.where(X > 0, X, 0.0), np.where(new > 0, new, 0.0)
    for kernel in ("linear", "poly", mc.Gaussian(0.3)):
        dense = KernelFisher(kernel=kernel, mu=0.1).fit(X, y, weights)
        sparse = KernelFisher(kernel=kernel, mu=0.1).fit(sp.csr_array(X), y, weights)
        np.testing.assert_allclose(
            sparse.decision_function(sp.csr_array(new)), dense.decision_function(new), atol=1e-6
        )


def test_float32_stays_float32_and_agrees_with_float64(sample):
    X, y, new, _ = sample
    wide = KernelFisher(mu=0.1).fit(X, y)
    narrow = KernelFisher(mu=0.1).fit(X.astype(np.float32), y)
    Z = narrow.transform(new.astype(np.float32))
    assert Z.dtype == narrow.predict_proba(new.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(Z, wide.transform(new), atol=5e-3)


def test_digits_are_separated_in_nine_dimensions():
    X, y = load_digits(return_X_y=True)
    X, y = X[:900] / 16, y[:900]
    model = KernelFisher(kernel="rbf", mu=0.01).fit(X[:600], y[:600])
    assert model.transform(X).shape == (900, 9)
    linear = LinearDiscriminantAnalysis().fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > linear.score(X[600:], y[600:])


def test_it_works_in_pipelines_and_grid_searches():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(KernelFisher(kernel="rbf"), KNeighborsClassifier(3))
    grid = {"kernelfisher__kernel__gamma": [0.05, 0.5], "kernelfisher__mu": [0.01, 1.0]}
    assert GridSearchCV(pipeline, grid, cv=3).fit(X, y).best_score_ > 0.94


def test_a_fitted_model_does_not_change_with_the_data_or_the_parameters(sample):
    X, y, new, _ = sample
    mine = X.copy()
    model = KernelFisher(kernel="rbf").fit(mine, y)
    before = model.decision_function(new)
    mine[:] = 0
    model.set_params(kernel__gamma=100.0, mu=5.0)
    assert (model.decision_function(new) == before).all()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_predictions_do_not_depend_on_the_container_that_transform_returns(sample, container):
    X, y, new, _ = sample
    plain = KernelFisher(kernel="rbf").fit(X, y)
    model = KernelFisher(kernel="rbf").set_output(transform=container).fit(X, y)
    assert type(model.transform(new)).__module__.startswith(container)
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        found = getattr(model, method)(new)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, getattr(plain, method)(new))


def test_logarithms_of_probabilities_below_all_numbers_are_finite():
    X = np.linspace(-1, 1, 40)[:, None] + np.repeat([[-50.0], [50.0]], 20, axis=0)
    model = KernelFisher(kernel="linear", mu=1e-3).fit(X, np.repeat([0, 1], 20))
    assert model.predict_proba(X).min() == 0
    assert -np.inf < model.predict_log_proba(X).min() < -745


def test_an_unfitted_model_raises_not_fitted_error(sample):
    model = KernelFisher()
    probabilities = model.predict_proba, model.predict_log_proba
    for method in (model.predict, model.transform, model.decision_function, *probabilities):
        with pytest.raises(NotFittedError):
            method(sample[0])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"mu": -1.0}, ValueError, "mu = -1.0 must be at least 0"),
        ({"mu": "auto"}, TypeError, "mu must be a number"),
        ({"n_components": 0}, ValueError, "n_components = 0 must be at least 1"),
        (
            {"n_components": 3},
            ValueError,
            "n_components = 3 must be at most 2, one less than the number of classes",
        ),
        ({"kernel": "rfb"}, ValueError, "'rfb' must be one of"),
        ({"memory": "lots"}, ValueError, "memory"),
        ({"kernel": mc.Sigmoid(4.0)}, ValueError, "indefinite"),
    ],
)
def test_bad_parameters_are_named(sample, parameters, error, message):
    X, y, _, _ = sample
    with pytest.raises(error, match=message):
        KernelFisher(**parameters).fit(X, y)


def test_one_class_has_no_discriminant(sample):
    X, y, _, _ = sample
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        KernelFisher().fit(X, np.full(90, "ant"))
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        KernelFisher().fit(X, y, (y == "bee").astype(float))


@pytest.mark.parametrize("attribute", ["means_", "eigenvalues_", "priors_", "intercept_"])
@pytest.mark.parametrize("weighted", [False, True])
def test_its_certificate_notices_each_changed_array(global_random_seed, attribute, weighted):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((60, 2)), np.repeat([3, 5, 8], 20)
    weights = rng.integers(0, 3, 60).astype(float) if weighted else None
    model = mc.KernelFisher(kernel=mc.Gaussian(0.5), mu=0.1).fit(X, y, weights)
    assert mc.certify(model, X, y, weights).residuals.max() < 1e-11
    setattr(model, attribute, 1.1 * getattr(model, attribute) + (attribute == "intercept_"))
    assert mc.certify(model, X, y, weights).residuals.max() > 1e-3


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("kernel", ["linear", mc.Polynomial(2, 1.0, 0.0)])
def test_a_kernel_of_rank_one_has_one_direction_that_solves_its_equations(
    kernel, scale, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    y = rng.integers(0, 6, 100)
    X = scale * (rng.standard_normal((100, 1)) + y[:, None])
    model = KernelFisher(kernel=kernel, mu=1e-4 * scale ** (2 if kernel == "linear" else 4)).fit(
        X, y
    )
    assert mc.certify(model, X, y).residuals.max() < 1e-3
    assert len(model.eigenvalues_) == 1


def test_indefinite_kernels_are_said_to_give_stationary_points(sample):
    X, y, _, _ = sample
    kernel = mc.Sigmoid(0.5, -0.5)
    with pytest.warns(
        UserWarning,
        match="KernelFisher solved a problem that is not convex: the centred kernel matrix",
    ):
        model = KernelFisher(kernel=kernel, mu=-2 * np.linalg.eigvalsh(kernel(X))[0]).fit(X, y)
    assert not mc.certify(model, X, y).convex


def test_its_certificate_needs_the_labels_and_weights_of_the_fit():
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.repeat([0, 1], 10)
    model = mc.KernelFisher().fit(X, y)
    for labels, weights in ((y + 1, None), (y, np.arange(20.0))):
        with pytest.raises(
            ValueError, match="KernelFisher was fitted on 20 of the classes .*as in the fit"
        ):
            mc.certify(model, X, labels, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_over_landmarks_it_is_the_discriminant_of_the_nystroem_features(sample, weighted):
    """The outside law: exact kernel Fisher discriminants with the kernel of the projections."""
    X, y, new, weights = sample
    weights = weights if weighted else None
    kernel = mc.Gaussian(0.3)
    features = mc.Nystroem(kernel, landmarks=X[:15]).fit(X)
    ours = KernelFisher(kernel=kernel, mu=0.1, landmarks=X[:15]).fit(X, y, weights)
    theirs = KernelFisher(kernel="linear", mu=0.1).fit(features.transform(X), y, weights)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(
        ours.transform(new), theirs.transform(features.transform(new)), atol=1e-6
    )
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-6)
    np.testing.assert_allclose(
        ours.predict_proba(new), theirs.predict_proba(features.transform(new)), atol=1e-6
    )
    rows = np.repeat(np.arange(90), 1 if weights is None else weights.astype(int))
    repeated = KernelFisher(kernel=kernel, mu=0.1, landmarks=X[:15]).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        ours.decision_function(new), repeated.decision_function(new), atol=1e-7
    )
    assert ours.trace_error_ == pytest.approx(repeated.trace_error_, abs=1e-10)


def test_the_certificate_over_landmarks_sees_each_fitted_array(sample):
    X, y, _, weights = sample
    model = KernelFisher(kernel=mc.Gaussian(0.3), mu=0.1, landmarks=X[:15]).fit(X, y, weights)
    assert mc.certify(model, X, y, weights).residuals.max() < 1e-8
    for name in ("eigenvalues_", "means_", "intercept_", "expansion_", "priors_"):
        right = getattr(model, name)
        setattr(model, name, 1.1 * right)
        assert mc.certify(model, X, y, weights).residuals.max() > 1e-3, name
        setattr(model, name, right)


@pytest.mark.parametrize("seed", range(6))
def test_a_point_at_the_mean_is_fitted_by_conjugate_gradients_too(seed):
    half = np.random.default_rng(seed).normal(size=(200, 3))
    X = np.vstack([half, -half, np.zeros((1, 3))]) + 5.0
    y = X[:, 0] > 5.0
    few = KernelFisher(kernel="linear", mu=1.0, memory="20KB").fit(X, y)
    dense = KernelFisher(kernel="linear", mu=1.0).fit(X, y)
    np.testing.assert_allclose(few.transform(X), dense.transform(X), atol=1e-6)
