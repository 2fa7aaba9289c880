"""from_expansion: outputs are expansion and intercept in every family, files keep them, and misfits are refused."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC

import mercer as mc

KERNEL = mc.Gaussian(0.5)


def _data(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3)).astype(dtype)
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2, [0.2, 1.2])


def _models(X, y):
    several = np.column_stack([y, np.cos(X[:, 0])])
    return {
        "two_classes": mc.SVC(kernel=KERNEL).fit(X, np.array(["a", "b"])[(y > 0).astype(int)]),
        "pairs": mc.SVC(kernel=KERNEL).fit(X, y),
        "rest": mc.SVC(kernel=KERNEL, multi_class="ovr").fit(X, y),
        "nu": mc.NuSVC(0.2, kernel=KERNEL).fit(X, y),
        "peer": PeerSVC(gamma=0.5).fit(X, y),
        "svr": mc.SVR(kernel=KERNEL).fit(X, several[:, 1]),
        "ridge": mc.KernelRidge(kernel=KERNEL).fit(X, several),
        "ridge_of_one_target": mc.KernelRidge(kernel=KERNEL).fit(X, several[:, 1]),
        "outliers": mc.OneClassSVM(0.2, kernel=KERNEL).fit(X),
        "pca": mc.KernelPCA(2, kernel=KERNEL).fit(X),
    }


def _scores(model, X):
    """Return the outputs of a model, one column for each vector, by the methods that users call."""
    if hasattr(model, "transform"):
        return model.transform(X)
    if hasattr(model, "decision_function"):
        if hasattr(model, "classes_"):
            model.decision_function_shape = "ovo"
        return model.decision_function(X).reshape(len(X), -1)
    return model.predict(X).reshape(len(X), -1)


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.9])
@pytest.mark.parametrize("kind", [partial(mc.KernelPCA, 1), mc.KernelRidge])
def test_vectors_of_one_width_serve_a_model_of_several(kind, gamma, global_random_seed):
    X, y = _data(global_random_seed)
    model = kind(kernel=mc.Gaussian(gamma)).fit(X, y)
    several = mc.compress(model, n_vectors=6, method="variable_widths")
    psi = mc.reduce(model.expansion_, 30).expansion
    made = mc.from_expansion(psi, model.intercept_, like=several)
    expected = mc.from_expansion(psi, model.intercept_, like=model)
    np.testing.assert_array_equal(_scores(made, X), _scores(expected, X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_outputs_are_those_of_the_expansion_and_the_intercept_and_files_keep_them(
    tmp_path, global_random_seed, dtype
):
    X, y = _data(global_random_seed, dtype)
    rng = np.random.default_rng(global_random_seed)
    for name, like in _models(X, y).items():
        m = len(mc.as_expansion(like).expansion)
        psi = mc.Expansion(KERNEL, X[:7], rng.normal(size=(7, m)).astype(dtype))
        b = rng.normal(size=m)
        made = mc.from_expansion(psi, b, like=like)
        expected = np.exp(-0.5 * ((X[:, None] - X[:7]) ** 2).sum(axis=2)) @ psi.coef + b
        assert type(made).__name__ == type(like).__name__, name
        np.testing.assert_allclose(
            _scores(made, X), expected, rtol=1e-4, atol=20 * np.finfo(dtype).eps, err_msg=name
        )
        mc.save(made, tmp_path / name)
        np.testing.assert_array_equal(_scores(mc.load(tmp_path / name), X), _scores(made, X))
        with pytest.raises(ValueError, match="was not fitted but made from another model"):
            mc.certify(made, X, y)


def test_labels_are_the_classes_with_the_largest_scores():
    X, y = _data(0)
    like = mc.SVC(kernel=KERNEL, multi_class="ovr").fit(X, np.array(["x", "y", "z"])[y])
    psi = mc.Expansion(KERNEL, X[:5], np.random.default_rng(0).normal(size=(5, 3)))
    b = np.array([0.1, -0.2, 0.0])
    made = mc.from_expansion(psi, b, like=like)
    np.testing.assert_array_equal(made.predict(X), like.classes_[(psi(X) + b).argmax(axis=1)])


def test_its_own_expansion_and_intercept_give_the_model_back():
    X, y = _data(1)
    for like in _models(X, y).values():
        found = mc.as_expansion(like)
        again = mc.from_expansion(found.expansion, found.intercept, like=like)
        if hasattr(like, "transform"):
            np.testing.assert_allclose(again.transform(X), like.transform(X), atol=1e-12)
        else:
            found, expected = again.predict(X), like.predict(X)
            assert np.array_equal(found, expected) or np.allclose(found, expected, rtol=1e-12)


def test_the_mean_of_an_outlier_detector_and_pre_images_of_components_follow():
    X, y = _data(2)
    models = _models(X, y)
    outliers = mc.from_expansion(models["outliers"].expansion_, -0.25, like=models["outliers"])
    assert outliers.offset_ == 0.25
    pca = models["pca"]
    made = mc.from_expansion(pca.expansion_, pca.intercept_, like=pca)
    np.testing.assert_allclose(made.denoise(X[:4]), pca.denoise(X[:4]), atol=1e-6)


def test_the_last_step_of_a_pipeline_gets_the_expansion():
    X, y = _data(3)
    like = make_pipeline(StandardScaler(), mc.SVC(kernel=KERNEL)).fit(X, y > 0)
    psi = mc.reduce(like[-1].expansion_, 9).expansion
    made = mc.from_expansion(psi, like[-1].intercept_, like=like)
    np.testing.assert_allclose(
        made.decision_function(X), (psi(like[0].transform(X)) + like[-1].intercept_)[:, 0]
    )
    assert made is not like
    assert like[-1].expansion_.shape[0] > 9


def test_models_of_strings_and_of_given_matrices_get_expansions_of_their_points():
    words = ["".join(word) for word in np.random.default_rng(2).choice(list("abc"), (40, 6))]
    y = [word.count("a") > 1 for word in words]
    kernel = mc.strings.Spectrum(2)
    like = mc.SVC(kernel=kernel).fit(words, y)
    psi = mc.reduce(like.expansion_, 5, method="greedy").expansion
    made = mc.from_expansion(psi, like.intercept_, like=like)
    np.testing.assert_allclose(made.decision_function(words), (psi(words) + like.intercept_)[:, 0])
    K = kernel(words)
    given = mc.SVC(kernel="precomputed").fit(K, y)
    psi = mc.reduce(given.expansion_, 5, method="greedy").expansion
    made = mc.from_expansion(psi, given.intercept_, like=given)
    np.testing.assert_allclose(
        made.decision_function(K[:6]), (K[:6, psi.points] @ psi.coef + given.intercept_)[:, 0]
    )


def test_the_kernel_of_the_expansion_is_that_of_the_model():
    X, y = _data(4)
    like = mc.SVC(kernel=KERNEL).fit(X, y > 0)
    psi = mc.Expansion(mc.Gaussian(2.0), X[:4], np.ones((4, 1)))
    made = mc.from_expansion(psi, 0.0, like=like)
    assert made.kernel == made.kernel_ == mc.Gaussian(2.0)
    np.testing.assert_allclose(made.decision_function(X), psi(X)[:, 0])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"expansion": np.ones(3)}, TypeError, "expansion must be an Expansion"),
        ({"columns": 2}, ValueError, "expansion has 2 vectors, but SVC has 1 columns of outputs"),
        ({"points": np.ones((4, 2))}, ValueError, "X has 3 features, but Z has 2 features"),
        (
            {"kernel": mc.strings.Spectrum(2), "points": list("abcd")},
            TypeError,
            "on objects, but SVC was fitted on",
        ),
        (
            {"kernel": mc.Precomputed(np.eye(4)), "points": np.arange(4)},
            TypeError,
            "on indices, but SVC was fitted on",
        ),
        (
            {"intercept": [1.0, 2.0]},
            ValueError,
            r"intercept has shape \(2,\), but expansion has 1 vectors",
        ),
        ({"intercept": np.nan}, ValueError, "intercept"),
        ({"like": mc.SVC()}, NotFittedError, "not fitted"),
        ({"like": mc.Nystroem()}, TypeError, "Nystroem cannot be written with other vectors"),
        (
            {"like": mc.KernelPCA(1, kernel=mc.Gaussian(0.2)).fit(_data(0)[0])},
            ValueError,
            "mean of KernelPCA has",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(change, error, message):
    X, y = _data(0)
    given = {"kernel": KERNEL, "points": X[:4], "columns": 1, "intercept": 0.0} | change
    psi = mc.Expansion(given["kernel"], given["points"], np.ones((4, given["columns"])))
    like = given.get("like", mc.SVC(kernel=KERNEL).fit(X, y > 0))
    with pytest.raises(error, match=message):
        mc.from_expansion(given.get("expansion", psi), given["intercept"], like=like)


def test_a_matrix_of_other_points_is_refused():
    X, y = _data(0)
    K = KERNEL(X)
    like = mc.SVC(kernel="precomputed").fit(K, y > 0)
    psi = mc.Expansion(mc.Precomputed(K[:5, :5]), np.arange(5), np.ones((5, 1)))
    with pytest.raises(ValueError, match="X has 90 features, but Precomputed is expecting 5"):
        mc.from_expansion(psi, 0.0, like=like)


@pytest.mark.parametrize("table", [mc.TableRegressor, mc.TableClassifier])
def test_models_of_tables_get_expansions_too(table):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = table(n_landmarks=20, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    same = mc.from_expansion(model.expansion_, model.intercept_, like=model)
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-12)
    small = mc.compress(model, X, n_vectors=5)
    again = mc.from_expansion(small.expansion_, small.intercept_, like=small)
    np.testing.assert_allclose(again.predict(X), small.predict(X), atol=1e-12)
    assert hasattr(small, "report_")
    assert not hasattr(again, "report_")
