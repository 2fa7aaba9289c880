"""The classes of mercer.sklearn differ from scikit-learn's by the solver; the switch puts them in their place."""

import logging
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose
from sklearn import decomposition, kernel_approximation, kernel_ridge, svm
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_friedman1
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale
from sklearn.utils._test_common.instance_generator import _get_expected_failed_checks
from sklearn.utils.estimator_checks import check_array_api_input, check_estimator

import mercer as mc
from mercer import sklearn as switched
from mercer.sklearn.switch import HOMES

CLASSES = [each for classes in HOMES.values() for each in classes]
MACHINES = [switched.SVC, switched.NuSVC, switched.SVR, switched.NuSVR, switched.OneClassSVM]
CLASSIFIERS = MACHINES[:2]
NAMES = ["linear", "rbf", "poly"]
CONTAINERS = [np.asarray, sp.csr_matrix, sp.csc_array, pd.DataFrame, np.ndarray.tolist]


def plain(cls):
    """Return scikit-learn's own class of this name."""
    return cls.__bases__[-1]


def name_of(value):
    return getattr(value, "__name__", str(value))


@pytest.fixture
def sample(global_random_seed):
    X, y = make_friedman1(120, 5, random_state=global_random_seed)
    return X, y, (y > np.quantile(y, 0.3)).astype(int) + (y > np.quantile(y, 0.7))


def targets(cls, sample):
    return sample[2] if issubclass(cls, svm._base.BaseSVC) else sample[1]


def values(model, X):
    """Return the values of a model; those of a one-class machine without the offset, which Mercer moves outwards."""
    if isinstance(model, svm.OneClassSVM):
        return model.score_samples(X)
    function = (
        getattr(model, "decision_function", None)
        or getattr(model, "transform", None)
        or model.predict
    )
    return function(X)


def public(model):
    """Return the attributes of a fitted model that scikit-learn documents."""
    names = [
        name
        for name in dir(model)
        if name.endswith("_") and not name.startswith("_") and name != "mercer_"
    ]
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


# --- the switch ------------------------------------------------------------------------------------------------------


def test_the_switch_puts_every_class_in_its_place_and_back():
    own = {
        each: getattr(home, each.__name__) for home, classes in HOMES.items() for each in classes
    }
    assert [plain(each) for each in own] == list(own.values())
    for _ in range(2):
        mc.patch_sklearn()
    found = {
        each: getattr(home, each.__name__) for home, classes in HOMES.items() for each in classes
    }
    for _ in range(2):
        mc.unpatch_sklearn()
    assert list(found.values()) == CLASSES == list(found)
    assert {
        each: getattr(home, each.__name__) for home, classes in HOMES.items() for each in classes
    } == own


def test_names_imported_before_stay_and_their_models_can_be_pickled(sample):
    before = svm.SVC
    mc.patch_sklearn()
    try:
        model = before().fit(sample[0], sample[2])
        assert type(pickle.loads(pickle.dumps(model))) is before
        assert isinstance(svm.SVC(), before)
    finally:
        mc.unpatch_sklearn()


def test_models_of_before_are_read_and_compressed_while_the_switch_is_on():
    # in a process whose readers of models are registered after the switch
    script = """
import numpy as np, mercer as mc
from sklearn.svm import SVC
X = np.random.default_rng(0).normal(size=(60, 2)); y = X[:, 0] > 0
before = SVC().fit(X, y)
mc.patch_sklearn()
from sklearn import svm
assert svm.SVC is not SVC
for model in before, svm.SVC().fit(X, y):
    assert np.allclose(mc.as_expansion(model).expansion(X)[:, 0] + model.intercept_, model.decision_function(X))
    small = mc.compress(model, X, y, n_vectors=5)
    assert np.mean(small.predict(X) == model.predict(X)) > 0.9
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_script_is_run_with_its_arguments(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, neighbour\nfrom sklearn.svm import SVC\nprint(SVC.__module__, *sys.argv[1:], __name__)"
    )
    (tmp_path / "neighbour.py").write_text("")
    command = [sys.executable, "-m", "mercer.sklearn", str(script), "--option", "3"]
    assert subprocess.check_output(command, text=True).split() == [
        "mercer.sklearn.svm",
        "--option",
        "3",
        "__main__",
    ]
    assert (
        "usage: python -m mercer.sklearn"
        in subprocess.run(command[:3], capture_output=True, text=True).stderr
    )


# --- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_parameters_and_signatures_are_those_of_scikit_learn(cls):
    assert cls().get_params() == plain(cls)().get_params()
    assert repr(cls()) == repr(plain(cls)())
    assert isinstance(clone(cls()), cls)


@pytest.mark.parametrize(
    "container",
    [np.asarray, sp.csr_matrix, sp.csc_array, pd.DataFrame, np.ndarray.tolist],
    ids=name_of,
)
@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_attributes_have_the_shapes_and_types_of_scikit_learn(cls, container, sample):
    X, y = container(sample[0]), targets(cls, sample)
    fixed = {"kernel": "rbf", "gamma": 0.3, "n_components": 7, "random_state": 0}
    params = {name: value for name, value in fixed.items() if name in cls().get_params()}
    found, expected = cls(**params).fit(X, y), plain(cls)(**params).fit(X, y)
    assert found.mercer_ is not None
    assert public(found).keys() == public(expected).keys()
    for name, value in public(expected).items():
        own = public(found)[name]
        assert type(own) is type(value) or (sp.issparse(own) and sp.issparse(value)), name
        # the numbers of steps and of support vectors differ within the tolerance
        if name not in ("n_iter_", "support_", "dual_coef_", "support_vectors_"):
            assert np.shape(own) == np.shape(value), name
        assert np.ndim(own) == np.ndim(value), name
        assert getattr(own, "dtype", None) == getattr(value, "dtype", None), name
    assert_allclose(
        values(found, X), values(expected, X), atol=5e-3 * np.abs(values(expected, X)).max()
    )


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("cls", MACHINES, ids=name_of)
def test_machines_have_the_signs_and_the_layout_of_scikit_learn(cls, kernel, sample):
    # an exact solution of both, and unique
    X, y, params = (
        sample[0],
        targets(cls, sample),
        {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "tol": 1e-8},
    )
    # nu machines need a margin
    params |= {"nu": 0.7} if cls is switched.NuSVC else {}
    # LIBSVM stops those of classes before they are divided by the margin
    atol = 5e-3 if cls is switched.NuSVC else 2e-4
    for labels in [y, sample[1] > np.median(sample[1])] if cls in CLASSIFIERS else [y]:
        found, expected = cls(**params).fit(X, labels), plain(cls)(**params).fit(X, labels)
        assert found.mercer_ is not None
        assert_allclose(
            values(found, X), values(expected, X), atol=atol * np.abs(values(expected, X)).max()
        )
        if kernel != "linear" and cls is not switched.NuSVC:
            np.testing.assert_array_equal(found.support_, expected.support_)
            np.testing.assert_array_equal(found.n_support_, expected.n_support_)
            np.testing.assert_array_equal(found.support_vectors_, expected.support_vectors_)
            assert_allclose(
                found.dual_coef_, expected.dual_coef_, atol=1e-3 * np.abs(expected.dual_coef_).max()
            )
        if kernel == "linear":
            assert_allclose(found.coef_, expected.coef_, atol=atol * np.abs(expected.coef_).max())
        # scikit-learn's own code reads the same attributes
        own = values(found, X)
        del found.mercer_
        assert_allclose(values(found, X), own, atol=1e-9 * np.abs(own).max())


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
@pytest.mark.parametrize("n_components", [None, 4])
def test_components_are_those_of_scikit_learn(kernel, n_components, sample):
    X, params = (
        sample[0],
        {
            "kernel": kernel,
            "n_components": n_components,
            "fit_inverse_transform": True,
            "alpha": 0.1,
        },
    )
    found, expected = switched.KernelPCA(**params), decomposition.KernelPCA(**params)
    scores, theirs = found.fit_transform(X), expected.fit_transform(X)
    assert found.mercer_ is not None
    assert scores.shape == theirs.shape
    assert_allclose(
        found.eigenvalues_, expected.eigenvalues_, atol=1e-10 * expected.eigenvalues_[0]
    )
    assert_allclose(scores[:, :4], theirs[:, :4], atol=1e-8)
    assert_allclose(found.transform(X), scores, atol=1e-8)
    assert_allclose(
        found.inverse_transform(scores[:, : len(found.eigenvalues_)]),
        expected.inverse_transform(theirs),
        atol=1e-7,
    )
    assert_allclose(found._centerer.K_fit_rows_, expected._centerer.K_fit_rows_)
    own = found.transform(X)
    del found.mercer_
    assert_allclose(found.transform(X)[:, :4], own[:, :4], atol=1e-8)


@pytest.mark.parametrize(
    "kernel", ["linear", "rbf", "poly", "polynomial", "cosine", "laplacian", "additive_chi2"]
)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_ridge_regression_is_that_of_scikit_learn(kernel, n_targets, sample):
    X, y = sample[0], np.squeeze(sample[1][:, None] ** np.arange(1, n_targets + 1))
    weights = np.linspace(0.5, 2, len(X))
    found = switched.KernelRidge(alpha=0.1, kernel=kernel).fit(X, y, sample_weight=weights)
    expected = kernel_ridge.KernelRidge(alpha=0.1, kernel=kernel).fit(X, y, sample_weight=weights)
    assert_allclose(found.predict(X), expected.predict(X), rtol=1e-8, atol=1e-8)
    assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", [np.float32, np.float64, int])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ridge_regression_has_the_types_of_numbers_of_scikit_learn(dtype, target, sample):
    X, y = sample[0].astype(dtype), np.round(10 * sample[0][:, 0]).astype(target)
    own, theirs = (each.KernelRidge(kernel="rbf").fit(X, y) for each in (switched, kernel_ridge))
    assert own.dual_coef_.dtype == theirs.dual_coef_.dtype
    for rows in (X[:5].astype(np.float32), X[:5].astype(np.float64)):
        assert own.predict(rows).dtype == theirs.predict(rows).dtype


@pytest.mark.parametrize(
    "kernel", ["linear", "rbf", "poly", "polynomial", "cosine", "laplacian", "chi2"]
)
def test_features_are_those_of_scikit_learn(kernel, sample, global_random_seed):
    X, params = (
        sample[0],
        {"kernel": kernel, "n_components": 30, "random_state": global_random_seed},
    )
    found, expected = switched.Nystroem(**params), kernel_approximation.Nystroem(**params)
    Z, theirs = found.fit_transform(X), expected.fit_transform(X)
    np.testing.assert_array_equal(found.component_indices_, expected.component_indices_)
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert Z.shape == theirs.shape
    assert_allclose(Z @ Z.T, theirs @ theirs.T, atol=1e-6)
    if kernel == "rbf":
        assert_allclose(found.normalization_, expected.normalization_, rtol=1e-6, atol=1e-6)


def test_features_take_parameters_of_kernels_from_both_places(sample):
    X = sample[0]
    for params in ({"gamma": 0.7}, {"kernel_params": {"gamma": 0.7}}):
        found = switched.Nystroem("rbf", n_components=10, random_state=0, **params).fit_transform(X)
        expected = kernel_approximation.Nystroem(
            "rbf", n_components=10, random_state=0, **params
        ).fit_transform(X)
        assert_allclose(found @ found.T, expected @ expected.T, atol=1e-10)


@pytest.mark.parametrize("cls", MACHINES, ids=name_of)
def test_a_matrix_and_a_function_of_two_blocks_are_kernels(cls, sample):
    X, y = sample[0], targets(cls, sample)
    calls = []

    def kernel(X, Z):
        calls.append((len(X), len(Z)))
        return rbf_kernel(X, Z, 0.3)

    by_function = cls(kernel=kernel).fit(X, y)
    by_matrix = cls(kernel="precomputed").fit(kernel(X, X), y)
    named = cls(kernel="rbf", gamma=0.3).fit(X, y)
    assert calls[0] == (len(X), len(X))
    assert by_function.support_vectors_.shape == by_matrix.support_vectors_.shape == (0, 0)
    for model, new in ((by_function, X[:9]), (by_matrix, kernel(X[:9], X))):
        assert model.mercer_ is not None
        assert_allclose(
            values(model, new), values(named, X[:9]), atol=2e-3 * np.abs(values(named, X)).max()
        )


@pytest.mark.parametrize(
    "cls", [switched.KernelPCA, switched.KernelRidge, switched.Nystroem], ids=name_of
)
def test_a_function_of_two_rows_is_a_kernel_that_is_called_once_for_each_pair(cls, sample):
    X, y = sample[0][:20], sample[1][:20]
    calls = []

    def kernel(x, z, width):
        calls.append(1)
        return np.exp(-np.sum((x - z) ** 2) / width)

    models = [each(kernel=kernel, kernel_params={"width": 3.0}) for each in (cls, plain(cls))]
    if cls is not switched.KernelRidge:
        models = [model.set_params(n_components=5, random_state=0) for model in models]
    found, numbers = [], []
    for model in models:
        calls.clear()
        model.fit(X, y)
        numbers.append(len(calls))
        found.append(values(model, X))
    assert models[0].mercer_ is not None
    assert numbers[0] == numbers[1]
    assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "sigmoid"])
@pytest.mark.parametrize("cls", [switched.KernelPCA, switched.Nystroem], ids=name_of)
def test_tables_go_in_and_out(cls, kernel, sample):
    X = pd.DataFrame(sample[0], columns=list("abcde"))
    params = {"n_components": 3, "kernel": kernel, "random_state": 0}
    found, expected = (
        each(**params).set_output(transform="pandas").fit(X) for each in (cls, plain(cls))
    )
    assert (found.mercer_ is None) == (kernel == "sigmoid")
    np.testing.assert_array_equal(found.feature_names_in_, X.columns)
    pd.testing.assert_frame_equal(found.transform(X), expected.transform(X), atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        found.transform(X[list("bacde")])


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", MACHINES, ids=name_of)
def test_weights_do_not_move_the_bandwidth(cls, sample):
    X, y, weights = sample[0], targets(cls, sample), np.linspace(0.5, 2, len(sample[0]))
    found, expected = (
        each(tol=1e-6).fit(X, y, sample_weight=weights) for each in (cls, plain(cls))
    )
    assert found.mercer_ is not None
    assert found._gamma == pytest.approx(expected._gamma)
    assert_allclose(
        values(found, X), values(expected, X), atol=2e-3 * np.abs(values(expected, X)).max()
    )


@pytest.mark.parametrize("container", CONTAINERS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties_are_broken_as_by_scikit_learn(n_classes, container, sample):
    X, y = container(sample[0]), np.minimum(sample[2], n_classes - 1)
    model = switched.SVC(break_ties=True).fit(X, y)
    assert model.mercer_ is not None
    assert np.mean(model.predict(X) == svm.SVC(break_ties=True).fit(X, y).predict(X)) > 0.98


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("cls", CLASSIFIERS, ids=name_of)
def test_weights_of_classes_are_those_of_scikit_learn(cls, class_weight, sample):
    X, y = sample[0], sample[2]
    for weights in (None, np.linspace(0.5, 2, len(X))):
        params = {"class_weight": class_weight, "tol": 1e-6}
        found, expected = (
            each(**params).fit(X, y, sample_weight=weights) for each in (cls, plain(cls))
        )
        assert_allclose(found.decision_function(X), expected.decision_function(X), atol=2e-3)
        assert_allclose(found.class_weight_, expected.class_weight_)


# --- fits of scikit-learn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "params", "reason"),
    [
        (switched.SVC, {"max_iter": 1000}, "max_iter = 1000 counts the steps of LIBSVM"),
        (switched.SVR, {"verbose": 1}, "verbose = 1 prints the steps of LIBSVM"),
        (
            switched.SVC,
            {"probability": True},
            "probability = True fits the probabilities of LIBSVM",
        ),
        (switched.OneClassSVM, {"kernel": "sigmoid"}, "kernel = 'sigmoid' is indefinite"),
        (switched.SVC, {"kernel": lambda X, Z: np.tanh(X @ Z.T - 1)}, "not convex"),
        (switched.NuSVC, {"nu": 0.9, "class_weight": None}, "nu = 0.9 is infeasible"),
        (switched.SVC, {"gamma": 0.0}, "gamma"),
        (
            switched.KernelPCA,
            {"eigen_solver": "randomized", "n_components": 2},
            "eigen_solver = 'randomized'",
        ),
        (switched.KernelPCA, {"n_components": 50}, "n_components = 50 exceeds"),
        (switched.Nystroem, {"n_components": 1000}, "n_components = 1000"),
        (switched.KernelRidge, {"kernel": "sigmoid"}, "kernel = 'sigmoid' is indefinite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fit_that_mercer_cannot_do_is_that_of_scikit_learn_and_says_why(
    cls, params, reason, sample, caplog
):
    X, y = sample[0], targets(cls, sample)
    y = (y > 0).astype(int) if cls is switched.NuSVC else y
    caplog.set_level(logging.INFO, "mercer.sklearn")
    outcomes = []
    for each in (cls, plain(cls)):
        model = each(**params)
        model = model.set_params(random_state=0) if "random_state" in model.get_params() else model
        try:
            outcomes.append(values(model.fit(X, y), X))
        except ValueError as error:
            outcomes.append(str(error))
    lines = [record.getMessage() for record in caplog.records if record.name == "mercer.sklearn"]
    assert len(lines) == 1
    assert lines[0].startswith(f"{cls.__name__} is fitted by scikit-learn: ")
    assert reason in lines[0]
    assert type(outcomes[0]) is type(outcomes[1])
    np.testing.assert_array_equal(*outcomes)


@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_a_fit_of_mercer_says_nothing_and_forgets_one_of_scikit_learn(cls, sample, caplog):
    X, y = sample[0], targets(cls, sample)
    model = (
        cls(kernel="sigmoid").fit(X, y)
        if cls is not switched.KernelPCA
        else cls(2, kernel="sigmoid").fit(X)
    )
    assert model.mercer_ is None
    caplog.clear()
    caplog.set_level(logging.INFO, "mercer.sklearn")
    model.set_params(kernel="rbf").fit(X, y)
    assert model.mercer_ is not None
    assert not [record for record in caplog.records if record.name == "mercer.sklearn"]
    again = values(model, X)
    model.set_params(kernel="sigmoid").fit(X, y)
    assert model.mercer_ is None
    assert not np.array_equal(values(model, X), again)


def test_a_first_fit_that_fails_leaves_no_fitted_model():
    model = switched.SVC()
    with pytest.raises(ValueError, match="The number of classes has to be greater than one"):
        model.fit([[0.0], [1.0]], [1, 1])
    assert "mercer_" not in vars(model)


# --- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_models_are_pickled_and_those_of_scikit_learn_are_read(cls, sample):
    X, y = sample[0], targets(cls, sample)
    model = cls().fit(X, y)
    np.testing.assert_array_equal(values(pickle.loads(pickle.dumps(model)), X), values(model, X))
    old = plain(cls)().fit(X, y)
    text = pickle.dumps(old)
    mc.patch_sklearn()
    try:
        read = pickle.loads(text)
    finally:
        mc.unpatch_sklearn()
    np.testing.assert_array_equal(values(read, X), values(old, X))


@pytest.mark.parametrize("cls", MACHINES, ids=name_of)
def test_the_model_of_mercer_has_a_certificate_that_its_data_confirm(cls, sample):
    X, y = sample[0], targets(cls, sample)
    model = cls().fit(X, y)
    found = mc.certify(model.mercer_, X, y)
    assert found.kkt <= 1e-3
    # rounding of equal objectives
    assert -1e-12 * abs(found.primal) <= found.gap <= 1e-2 * max(1, abs(found.primal))


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("load", [load_iris, load_wine], ids=name_of)
def test_predictions_are_those_of_scikit_learn(load, kernel):
    X, y = load(return_X_y=True)
    X = minmax_scale(X)
    labels = [
        each(kernel=kernel).fit(X[::2], y[::2]).predict(X[1::2]) for each in (switched.SVC, svm.SVC)
    ]
    np.testing.assert_array_equal(*labels)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_scikit_learn_accepts_the_estimators(cls):
    expected = dict(_get_expected_failed_checks(plain(cls)()))
    if cls is switched.KernelPCA:
        # scikit-learn runs this check with other parameters of its own class
        expected["check_array_api_input"] = "calls inverse_transform"
        other = cls(fit_inverse_transform=True)
        check_array_api_input("KernelPCA", other, "numpy", expect_only_array_outputs=False)
    with sklearn.config_context(assume_finite=False):
        check_estimator(cls(), on_skip=None, expected_failed_checks=expected)


def test_errors_about_patched_models_name_the_model_of_mercer(tmp_path):
    code = """
import numpy as np, mercer as mc
mc.patch_sklearn()
from sklearn.svm import SVC
X = np.random.default_rng(0).standard_normal((40, 2))
model = SVC().fit(X, X[:, 0] > 0)
for call in (lambda: mc.certify(model, X, X[:, 0] > 0), lambda: mc.save(model, "model.mercer")):
    try:
        call()
    except TypeError as error:
        assert "mercer_" in str(error), error
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
