"""Kernels by name: the parameters gamma, degree and coef0 of scikit-learn's classes, with its defaults and results."""

import inspect
import re

import numpy as np
import pytest
from sklearn import datasets, decomposition, kernel_approximation, kernel_ridge, svm
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer as mc
from mercer import estimators
from mercer.kernels.shorthand import kernel_of

NAMES = [
    "linear",
    "poly",
    "polynomial",
    "rbf",
    "sigmoid",
    "laplacian",
    "cosine",
    "chi2",
    "additive_chi2",
]
PARAMETERS = ("gamma", "degree", "coef0")
SETS = ["iris", "wine", "breast_cancer", "diabetes"]
WITH_KERNEL = [
    cls
    for name in estimators.__all__
    if inspect.isclass(cls := getattr(estimators, name))
    and "kernel" in inspect.signature(cls).parameters
]


def load(name, dtype=np.float64):
    """Return rows between 0 and 1, which all kernels take, and targets of a data set; two thirds are for the fit."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (
        MinMaxScaler().fit_transform(X)[:300].astype(dtype),
        y[:300],
        np.arange(len(X[:300])) % 3 > 0,
    )


def relative(found, expected):
    """Return the largest difference as a share of the largest value."""
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("cls", WITH_KERNEL, ids=lambda cls: cls.__name__)
def test_every_estimator_with_a_kernel_has_the_parameters_with_the_defaults_of_scikit_learn(cls):
    ours = inspect.signature(cls).parameters
    modules = (svm, decomposition, kernel_ridge, kernel_approximation)
    peer = next(
        (found for each in modules if (found := getattr(each, cls.__name__, None))), svm.SVC
    )
    theirs = inspect.signature(peer).parameters
    assert {name: ours[name].default for name in PARAMETERS} == {
        name: theirs[name].default for name in PARAMETERS
    }


@pytest.mark.parametrize("data_set", SETS)
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
@pytest.mark.filterwarnings("ignore:.*indefinite")
def test_kernel_pca_by_name_has_the_scores_of_scikit_learn_up_to_signs(name, data_set):
    X, _, fitted = load(data_set)
    theirs = decomposition.KernelPCA(4, kernel=name).fit(X[fitted])
    ours = mc.KernelPCA(4, kernel=name).fit(X[fitted])
    assert relative(np.abs(ours.transform(X)), np.abs(theirs.transform(X))) < 1e-8


@pytest.mark.parametrize("data_set", SETS)
# scikit-learn cannot fit "chi2" without gamma; "additive_chi2" has no minimum, see below
@pytest.mark.parametrize("name", NAMES[:-2])
@pytest.mark.filterwarnings("ignore:.*not convex")
def test_kernel_ridge_by_name_has_the_predictions_of_scikit_learn(name, data_set):
    X, y, fitted = load(data_set)
    theirs = kernel_ridge.KernelRidge(kernel=name).fit(X[fitted], y[fitted])
    ours = mc.KernelRidge(kernel=name).fit(X[fitted], y[fitted])
    assert relative(ours.predict(X), theirs.predict(X)) < 1e-8


@pytest.mark.parametrize("data_set", SETS)
# of the indefinite "sigmoid" and "additive_chi2" Mercer uses the positive part
@pytest.mark.parametrize("name", sorted({*NAMES} - {"sigmoid", "additive_chi2"}))
@pytest.mark.filterwarnings("ignore:n_components")
def test_nystroem_by_name_has_the_dot_products_of_scikit_learn_on_equal_landmarks(name, data_set):
    X, _, fitted = load(data_set)
    theirs = kernel_approximation.Nystroem(kernel=name, random_state=0).fit(X[fitted])
    ours = mc.Nystroem(kernel=name, landmarks=theirs.components_).fit(X[fitted])
    products = [Z @ Z.T for Z in (ours.transform(X), theirs.transform(X))]
    assert relative(*products) < 1e-8


@pytest.mark.parametrize("data_set", SETS)
@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("cls", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_support_vector_machines_by_name_have_the_values_of_scikit_learn(cls, name, data_set):
    X, y, fitted = load(data_set)
    t = (
        (y - y.mean()) / y.std()
        if "SVR" in cls
        else (y > np.median(y)).astype(int)
        if data_set == "diabetes"
        else y
    )
    options = {"kernel": name, "tol": 1e-6} | (
        {"nu": 0.6 if data_set == "diabetes" else 0.2} if cls == "NuSVC" else {}
    )
    theirs = getattr(svm, cls)(**options).fit(X[fitted], t[fitted])
    ours = getattr(mc, cls)(**options).fit(X[fitted], t[fitted])
    # the boundary of Mercer's OneClassSVM leaves support vectors inside
    method = (
        "predict"
        if "SVR" in cls
        else "score_samples"
        if cls == "OneClassSVM"
        else "decision_function"
    )
    found, expected = (getattr(model, method)(X) for model in (ours, theirs))
    # each solution violates its conditions by up to tol; values are sums of up to 200 kernel values
    np.testing.assert_allclose(found, expected, atol=1e-4 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_given_parameters_are_those_of_scikit_learns_kernel_functions(
    name, dtype, global_random_seed
):
    X = np.random.default_rng(global_random_seed).random((20, 3)).astype(dtype)
    given = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    model = mc.KernelRidge(kernel=name, **given).set_params(kernel=name)
    found = kernel_of(mc.Nystroem(name, **given))
    expected = pairwise_kernels(X, metric=name, filter_params=True, **given)
    np.testing.assert_allclose(
        found(X), expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-7
    )
    assert {key: model.get_params()[key] for key in given} == given


@pytest.mark.parametrize(
    ("gamma", "expected"), [("auto", 1 / 3), (None, 1 / 3), ("scale", None), (0.7, 0.7)]
)
def test_gamma_takes_the_rules_of_scikit_learn(gamma, expected):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X[:, 0] > 0
    model = mc.SVC(gamma=gamma).fit(X, y)
    assert model.kernel_.gamma == pytest.approx(
        1 / (3 * X.var()) if expected is None else expected, rel=1e-12
    )
    if gamma is not None:
        theirs = svm.SVC(gamma=gamma, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), theirs.decision_function(X), atol=2e-3
        )


@pytest.mark.parametrize("name", ["scale", "auto"])
def test_a_rule_from_coordinates_is_refused_on_feature_vectors(name):
    kernel = mc.OnFeatures(mc.Gaussian(name), mc.Polynomial(2))
    with pytest.raises(ValueError, match=f'the rule "{name}" needs coordinates'):
        kernel.resolve(np.eye(4))


@pytest.mark.parametrize("cls", WITH_KERNEL, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(("name", "value"), [("gamma", 0.125), ("degree", 4), ("coef0", 0.25)])
def test_a_parameter_beside_a_kernel_object_is_refused_with_the_place_where_it_belongs(
    cls, name, value
):
    estimator = (Ridge(),) if cls is mc.Kernelized else ()
    model = cls(*estimator, kernel=mc.Gaussian(0.1), **{name: value})
    with pytest.raises(
        ValueError, match=rf"{name} = {value} must be .*, its default, beside kernel = Gaussian"
    ) as found:
        model.fit(np.eye(6), [0, 1, 0, 1, 0, 1])
    # a Gaussian has no others
    remedy = (
        "set gamma on the object, in a grid as 'kernel__gamma'"
        if name == "gamma"
        else f"leave {name} out"
    )
    assert remedy in str(found.value)


def test_defaults_beside_a_kernel_object_are_no_error():
    X = np.random.default_rng(0).standard_normal((20, 2))
    plain = mc.SVC(kernel=mc.Gaussian(0.3)).fit(X, X[:, 0] > 0)
    # equal numbers of other types
    given = mc.SVC(kernel=mc.Gaussian(0.3), gamma="".join(["sca", "le"]), coef0=np.int64(0)).fit(
        X, X[:, 0] > 0
    )
    np.testing.assert_array_equal(plain.dual_coef_, given.dual_coef_)


def test_a_grid_of_names_and_gammas_finds_what_scikit_learn_finds():
    X, y, _ = load("iris")
    for grid in (
        {"kernel": ["rbf", "linear", "poly"], "gamma": [0.1, 1.0], "C": [0.1, 10.0]},
        [
            {"kernel": ["rbf"], "gamma": ["scale", "auto", 0.1]},
            {"kernel": ["poly"], "degree": [2, 3], "coef0": [0, 1]},
        ],
    ):
        ours, theirs = (
            GridSearchCV(model, grid, cv=3).fit(X, y) for model in (mc.SVC(), svm.SVC())
        )
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01
        )
        assert len(ours.cv_results_["params"]) == len(theirs.cv_results_["params"])


def test_a_grid_sets_parameters_of_kernel_objects_and_of_names_in_pipelines():
    X, y, _ = load("wine")
    by_object = make_pipeline(StandardScaler(), mc.SVC(kernel=mc.Gaussian()))
    by_name = make_pipeline(StandardScaler(), mc.SVC())
    found = [
        GridSearchCV(model, {name: [0.01, 0.1, 1.0]}, cv=3).fit(X, y)
        for model, name in ((by_object, "svc__kernel__gamma"), (by_name, "svc__gamma"))
    ]
    scores = [search.cv_results_["mean_test_score"] for search in found]
    np.testing.assert_array_equal(*scores)
    assert found[0].best_estimator_[-1].kernel_ == found[1].best_estimator_[-1].kernel_


def test_setting_a_parameter_of_the_kernel_behind_a_name_keeps_those_given_beside_it():
    model = mc.SVC(kernel="poly", gamma=0.5, coef0=2.0).set_params(kernel__degree=2)
    assert model.kernel == mc.Polynomial(2, 0.5, 2.0)
    X = np.random.default_rng(0).standard_normal((20, 2))
    assert clone(model).fit(X, X[:, 0] > 0).kernel_ == mc.Polynomial(2, 0.5, 2.0)


@pytest.mark.parametrize("search", [mc.SVCCV, mc.SVRCV])
def test_gamma_of_a_search_is_that_of_all_its_models(search):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    model = search(Cs=[1.0, 10.0], cv=2, gamma=0.3).fit(X, y)
    same = search(mc.Gaussian(0.3), Cs=[1.0, 10.0], cv=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.best_estimator_.kernel_ == mc.Gaussian(0.3)
    with pytest.raises(
        ValueError,
        match=re.escape("gamma = 0.3 and gammas = [0.1, 1.0] must not be given together"),
    ):
        search(gamma=0.3, gammas=[0.1, 1.0]).fit(X, y)


@pytest.mark.parametrize("kernel", ["poly", "laplacian", "precomputed"])
def test_model_files_keep_the_parameters(kernel, tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X = X @ X.T if kernel == "precomputed" else X
    model = mc.SVC(kernel=kernel, gamma=0.2, degree=2, coef0=1.0).fit(X, X[:, 0] > 0)
    mc.save(model, tmp_path / "model")
    found = mc.load(tmp_path / "model")
    assert found.get_params() == model.get_params()
    np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(clone(found).fit(X, X[:, 0] > 0).dual_coef_, model.dual_coef_)


def test_compressed_models_and_models_of_few_vectors_have_their_kernel_as_an_object(
    global_random_seed,
):
    X = np.random.default_rng(global_random_seed).standard_normal((60, 2))
    y = np.linalg.norm(X, axis=1) > 1
    few = mc.SVC(10.0, gamma=0.7, max_vectors=5, random_state=0).fit(X, y)
    small = mc.compress(mc.SVC(10.0, gamma=0.7).fit(X, y), X, y, n_vectors=6, random_state=0)
    read = mc.compress(svm.SVC(C=10.0, gamma=0.7).fit(X, y), X, y, n_vectors=6, random_state=0)
    for model in (few, small, read):
        # a fit of the same parameters does not complain of gamma beside an object
        assert clone(model).set_params(max_vectors=None).fit(X, y).score(X, y) > 0.9
    assert few.score(X, y) > 0.85
