"""Parameters that scikit-learn's kernel estimators have and Mercer's have not: the error says what to write."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn import decomposition, kernel_approximation, kernel_ridge, svm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.model_selection import GridSearchCV

import mercer as mc
from mercer._elsewhere import REMEDIES

PAIRS = [
    (mc.SVC, svm.SVC),
    (mc.NuSVC, svm.NuSVC),
    (mc.SVR, svm.SVR),
    (mc.NuSVR, svm.NuSVR),
    (mc.OneClassSVM, svm.OneClassSVM),
    (mc.KernelPCA, decomposition.KernelPCA),
    (mc.KernelRidge, kernel_ridge.KernelRidge),
    (mc.Nystroem, kernel_approximation.Nystroem),
]


@pytest.mark.parametrize(
    ("ours", "theirs"), PAIRS, ids=lambda cls: f"{cls.__module__[:6]}.{cls.__name__}"
)
def test_every_parameter_of_scikit_learn_exists_or_has_a_remedy(ours, theirs):
    known = set(inspect.signature(ours).parameters)
    missing = set(inspect.signature(theirs).parameters) - known - REMEDIES.keys()
    assert missing == set()
    for name in set(inspect.signature(theirs).parameters) - known:
        with pytest.raises(TypeError, match=f"{ours.__name__} has no parameter {name}; "):
            ours(**{name: 1})


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_is_for_a_parameter_that_some_peer_has(name):
    peers = [*(theirs for _, theirs in PAIRS), GaussianProcessRegressor, GridSearchCV]
    assert any(name in inspect.signature(theirs).parameters for theirs in peers)


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (
            lambda: mc.SVC(nu=0.1),
            "SVC has no parameter nu; NuSVC",
        ),
        (lambda: mc.OneClassSVM(C=1.0), "OneClassSVM has no parameter C; .* OneClassSVM have nu"),
    ],
)
def test_c_and_nu_name_the_classes_that_have_them(wrong, remedy):
    with pytest.raises(TypeError, match=remedy):
        wrong()


def test_an_svdd_with_the_c_of_the_remedy_leaves_at_most_the_share_nu_outside():
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.raises(TypeError, match=r"SVDD\(C=1 / \(nu \* n\)\)"):
        mc.SVDD(nu=0.2)
    assert np.mean(mc.SVDD(C=1 / (0.2 * 60)).fit(X).predict(X) < 0) <= 0.2


@pytest.mark.parametrize("search", [mc.SVCCV, mc.SVRCV])
def test_a_search_names_its_parameter_that_lists_values(search):
    with pytest.raises(TypeError, match=f"{search.__name__} has no parameter C; use Cs = \\[C\\]"):
        search(C=[1.0, 10.0])


def test_other_names_are_refused_with_those_that_exist():
    with pytest.raises(
        TypeError,
        match=r"SVC has no parameter colour; it has C, kernel, .*: without colour write mercer.SVC\(\)",
    ):
        mc.SVC(colour="red")
    with pytest.raises(ValueError, match="SVC has no parameter colour; it has C"):
        mc.SVC().set_params(colour="red")


def test_estimators_with_a_parameter_of_that_name_take_it():
    assert mc.KernelRidge(alpha=2.0).alpha == 2.0
    assert clone(pickle.loads(pickle.dumps(mc.SVC(3.0)))).C == 3.0


def test_a_default_that_is_given_is_not_named_as_a_fault(tmp_path):
    X = np.eye(3)
    model = mc.SVC(break_ties=True, decision_function_shape="ovr").fit(X, [0, 1, 2])
    said = []
    for given in ({}, {"X": None}):
        with pytest.raises(ValueError, match="break_ties") as caught:
            mc.formats.to_c(model, tmp_path / "model.c", **given)
        said.append(str(caught.value))
    assert said[0] == said[1]
