import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.base
import sklearn.svm
from sklearn.exceptions import NotFittedError

import mercer as mc


def test_objectives_add_up_and_the_worst_violation_counts(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((90, 2))
    y = np.digitize(X[:, 0], [-1.0, 0.5])
    model = mc.SVC(multi_class="ovr", kernel=mc.Gaussian(0.5), tol=1e-9).fit(X, y)
    single = [mc.SVC(kernel=mc.Gaussian(0.5), tol=1e-9).fit(X, y == c) for c in range(3)]
    for each in (model, *single):
        each.dual_coef_ = 0.9 * each.dual_coef_
    found, parts = mc.certify(model, X, y), [mc.certify(m, X, y == c) for c, m in enumerate(single)]
    for name in ("primal", "dual", "gap"):
        expected = sum(getattr(part, name) for part in parts)
        assert getattr(found, name) == pytest.approx(expected, rel=1e-5)
    violations = [part.kkt for part in parts]
    assert found.kkt == pytest.approx(max(violations), rel=1e-5)
    assert min(violations) < 0.99 * max(violations)


def test_a_changed_coefficient_is_noticed(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((80, 2))
    y = (X[:, 0] > 0.2 * X[:, 1]).astype(int)
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    before = mc.certify(model, X, y)
    model.dual_coef_ = model.dual_coef_ * 0.9
    after = mc.certify(model, X, y)
    assert before.kkt < 1e-10 < 1e-3 < after.kkt
    assert after.dual < before.dual
    assert after.gap > before.gap


def test_any_model_may_state_its_certificate():
    class Model:
        def __mercer_certify__(self, X, y, sample_weight):
            return X, y, sample_weight

    assert mc.certify(Model(), 1, 2, 3) == (1, 2, 3)


@pytest.mark.parametrize("weighted", [False, True])
def test_certificates_bracket_the_optimum(global_random_seed, weighted):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] > 0.3 * rng.standard_normal(80)).astype(int)
    weights = rng.uniform(0, 2, 80) * (rng.random(80) > 0.2) if weighted else None
    rough = mc.SVC(kernel=mc.Gaussian(0.5), max_iter=20)
    with pytest.warns(UserWarning, match="stopped after 20 steps"):
        rough.fit(X, y, sample_weight=weights)
    optimum = mc.certify(
        mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y, sample_weight=weights), X, y, weights
    ).dual
    certificate = mc.certify(rough, X, y, weights)
    assert certificate.dual < optimum < certificate.primal


def ridge_sample(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
    return X, Y, rng.integers(0, 4, 40).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("landmarks", [None, 7])
@pytest.mark.parametrize("moved", [0.0, 0.1])
def test_ridge_residuals_are_those_of_its_normal_equations(
    global_random_seed, weighted, landmarks, moved
):
    X, Y, weights = ridge_sample(global_random_seed)
    weights = weights if weighted else None
    model = mc.KernelRidge(0.3, kernel=mc.Gaussian(0.5), landmarks=landmarks, random_state=0).fit(
        X, Y, weights
    )
    rng = np.random.default_rng(global_random_seed)
    Z, A = model.expansion_.points, model.expansion_.coef
    A = A * (1 + moved * rng.uniform(-1, 1, A.shape))
    model.expansion_ = mc.Expansion(model.kernel_, Z, A)
    squares = np.exp(-0.5 * ((Z[:, None] - X) ** 2).sum(axis=2))
    own = np.exp(-0.5 * ((Z[:, None] - Z) ** 2).sum(axis=2))
    W = np.ones(40) if weights is None else weights
    given = squares @ (W[:, None] * Y)
    gradient = given - squares @ (W[:, None] * (squares.T @ A)) - 0.3 * own @ A
    expected = np.linalg.norm(gradient, axis=0) / np.linalg.norm(given, axis=0)
    residuals = mc.certify(model, X, Y, weights).residuals
    np.testing.assert_allclose(residuals, expected, rtol=1e-6, atol=1e-13)
    assert (residuals > 1e-3).all() if moved else (residuals < 1e-10).all()


def test_a_ridge_of_zero_has_no_residual_where_it_cannot_reach_its_targets(global_random_seed):
    X, Y, _ = ridge_sample(global_random_seed)
    model = mc.KernelRidge(0.0, kernel="linear").fit(X, Y[:, 0])
    assert np.abs(model.predict(X) - Y[:, 0]).max() > 0.01
    assert mc.certify(model, X, Y[:, 0]).residuals < 1e-12


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), "linear", "precomputed"])
@pytest.mark.parametrize("moved", [0.0, 0.1])
def test_residuals_of_components_are_those_of_their_eigenpairs(global_random_seed, kernel, moved):
    X, _, _ = ridge_sample(global_random_seed)
    X = X @ X.T if kernel == "precomputed" else X
    model = mc.KernelPCA(3, kernel=kernel).fit(X)
    K = X if kernel == "precomputed" else np.asarray(model.kernel_(X, X))
    H = np.eye(40) - 1 / 40
    V, values = (
        model.eigenvectors_ + moved * H @ np.random.default_rng(0).standard_normal((40, 3)),
        model.eigenvalues_,
    )
    model.eigenvectors_, psi = (
        V,
        mc.Expansion(model.kernel_, model.expansion_.points, V / np.sqrt(values)),
    )
    model.expansion_, model.intercept_ = psi, -psi(psi.points).mean(axis=0)
    expected = np.linalg.norm(H @ K @ H @ V - V * values, axis=0) / values[0]
    residuals = mc.certify(model, X).residuals
    np.testing.assert_allclose(residuals, expected, rtol=1e-6, atol=1e-13)
    assert (residuals > 1e-3).all() if moved else (residuals < 1e-12).all()


def test_models_without_weights_have_none_to_certify():
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="sample_weight must be None for Nystroem"):
        mc.certify(mc.Nystroem(n_components=2).fit(X), X, sample_weight=np.ones(4))


@pytest.mark.parametrize("model", [sklearn.svm.SVC(), mc.SVC, 3])
def test_models_without_certificate_are_refused_by_class(model):
    with pytest.raises(
        TypeError,
        match=r"model must be a fitted estimator of Mercer.*best_estimator_.*model\[:-1\]",
    ):
        mc.certify(model, np.eye(2), [0, 1])


@pytest.mark.parametrize(
    "model", [mc.KernelFisher(), mc.KernelPerceptron(), mc.Nystroem(), mc.PCAL1(), mc.KernelMap()]
)
def test_models_that_are_not_fitted_are_refused(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        mc.certify(model, np.eye(2), [0, 1])


K_TWO = mc.Gaussian(2.0)
EQUATIONS = {
    "components": mc.KernelPCA(4, kernel=K_TWO),
    "whitened components": mc.KernelPCA(4, kernel=K_TWO, whiten=True),
    "axes": mc.KernelMap(K_TWO),
    "axes from 0": mc.KernelMap(K_TWO, centre=False),
    "axes of landmarks": mc.KernelMap(K_TWO, landmarks=9, random_state=0),
    "axes of landmarks from 0": mc.KernelMap(K_TWO, landmarks=9, centre=False, random_state=0),
    "features": mc.Nystroem(K_TWO, n_components=9, random_state=0),
    "directions": mc.KernelFisher(kernel=K_TWO, mu=0.1),
    "ridge": mc.KernelRidge(0.1, kernel=K_TWO),
}
CONTAINERS = {
    "dense": np.asarray,
    "sparse": sp.csr_matrix,
    "precomputed": lambda X: K_TWO(X.astype(np.float64)),
}


def fitted(model, container, dtype, seed):
    """Return a model fitted to three classes, and its points in a container."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3)).astype(dtype)
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(40), [-0.5, 0.5])
    points = CONTAINERS[container](X).astype(dtype)
    model = sklearn.base.clone(model)
    return (
        (model.set_params(kernel="precomputed") if container == "precomputed" else model).fit(
            points, y
        ),
        points,
        y,
    )


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_hold_at_the_solution_and_not_for_a_changed_coefficient(
    name, dtype, container, global_random_seed
):
    model, points, y = fitted(EQUATIONS[name], container, dtype, global_random_seed)
    rounding = mc.certify(model, points, y).residuals
    assert rounding.dtype == np.float64
    # the inverse of the kernel matrix of landmarks magnifies rounding, and so does a small ridge
    magnified = name in ("ridge", "features") or "landmarks" in name
    assert rounding.max() < 200 * np.finfo(dtype).eps * (10 if magnified else 1)
    psi, largest = (
        model.expansion_,
        np.unravel_index(np.argmax(np.abs(model.expansion_.coef)), model.expansion_.shape),
    )
    coef = np.array(psi.coef)
    coef[largest] *= 1.1
    model.expansion_ = mc.Expansion(psi.kernel, psi.points, coef)
    assert mc.certify(model, points, y).residuals.max() > 1e-3


INTERCEPTS = [
    name for name in EQUATIONS if name not in ("features", "ridge") and "from 0" not in name
]


@pytest.mark.parametrize("name", INTERCEPTS)
def test_a_changed_intercept_is_noticed(name, global_random_seed):
    model, X, y = fitted(EQUATIONS[name], "dense", np.float64, global_random_seed)
    model.intercept_ = model.intercept_ + 0.1 * np.abs(model.transform(X)).max()
    assert mc.certify(model, X, y).residuals.max() > 1e-3


@pytest.mark.parametrize("name", EQUATIONS)
def test_another_precomputed_matrix_than_that_of_the_fit_is_noticed(name, global_random_seed):
    model, K, y = fitted(EQUATIONS[name], "precomputed", np.float64, global_random_seed)
    assert mc.certify(model, 1.1 * K, y).residuals.max() > 1e-3
    model, K, y = fitted(mc.SVC(), "precomputed", np.float64, global_random_seed)
    assert mc.certify(model, K, y).kkt < 1e-3 < 1e-2 < mc.certify(model, 1.1 * K, y).kkt


def test_certificates_print_their_largest_numbers_first():
    assert repr(mc.Certificate(3.0, 2.0, 0.1)) == "Certificate(primal=3, dual=2, gap=1, kkt=0.1)"
    text = "Certificate(primal=3, dual=2, kkt=0.1, convex=False: a stationary point, no gap)"
    assert repr(mc.Certificate(3.0, 2.0, 0.1, convex=False)) == text
    assert (
        repr(mc.Residuals(np.array([1e-16, 2.5e-15])))
        == "Residuals(largest=2.5e-15, residuals=[1e-16, 2.5e-15] (2))"
    )
    assert (
        repr(mc.Residuals(np.zeros(100)))
        == "Residuals(largest=0, residuals=[0, 0, 0, 0, 0, 0, ...] (100))"
    )


def test_the_certificate_of_a_search_is_that_of_its_best_classifier():
    X = np.random.default_rng(0).normal(size=(40, 2))
    search = mc.SVCCV(Cs=3).fit(X, X[:, 0] > 0)
    assert mc.certify(search, X, X[:, 0] > 0) == mc.certify(search.best_estimator_, X, X[:, 0] > 0)


MODELS = [
    mc.SVC(), mc.NuSVC(0.3), mc.SVR(), mc.NuSVR(), mc.OneClassSVM(), mc.SVDD(), mc.KernelRidge(kernel="rbf"),
    mc.KernelPCA(kernel="rbf"), mc.KernelMap(), mc.KernelMap(landmarks=9), mc.Nystroem(n_components=9),
    mc.KernelFisher(), mc.KernelPerceptron(max_iter=1000), mc.Kernelized(mc.PCAL1(2)), mc.PCAL1(),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_other_rows_than_those_of_the_fit_are_refused_by_number(model, tmp_path):
    X, Y, _ = ridge_sample(0)
    y = (Y[:, 0] > 0).astype(float)
    model = mc.load(mc.save(model.fit(X, y), tmp_path / "model") or tmp_path / "model")
    for n in (12, 39):
        with pytest.raises(
            ValueError, match=f"X has {n} rows, but {type(model).__name__} was fitted on 40"
        ):
            mc.certify(model, X[:n], y[:n])
    with pytest.raises(ValueError, match="expecting 3 features"):
        mc.certify(model, X[:, :2], y)
    assert model.n_features_in_ == 3
    found = mc.certify(model, X, y)
    assert (found.residuals < 1e-8).all() if hasattr(found, "residuals") else found.kkt < 1e-2


@pytest.mark.parametrize(
    "model",
    [each for each in MODELS[:8] if not isinstance(each, mc.SVDD)],
    ids=lambda model: type(model).__name__,
)
def test_a_compressed_model_is_no_optimum_to_certify(model):
    X, Y, _ = ridge_sample(0)
    y = (Y[:, 0] > 0).astype(float)
    small = mc.compress(model.fit(X, y), n_vectors=3, random_state=0)
    with pytest.raises(
        ValueError, match=f"{type(model).__name__} was not fitted but made from another model"
    ):
        mc.certify(small, X, y)
