"""as_expansion of Mercer's estimators, of objects that it cannot read, and of types that users register."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import mercer as mc
from mercer.estimators.kernel_pca import KernelPCA
from mercer.formats import FittedExpansion, as_expansion

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.5], [4.0, 0.0], [5.0, 1.0]])
Y = np.array(["a", "a", "b", "b", "c", "c"])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_classifier_of_mercer_gives_its_expansion_and_intercept(multi_class):
    peer = mc.SVC(
        kernel=mc.Gaussian(0.5), multi_class=multi_class, decision_function_shape="ovo"
    ).fit(X, Y)
    model = as_expansion(peer)
    np.testing.assert_allclose(
        model.expansion(X) + model.intercept, peer.decision_function(X), atol=1e-12
    )
    np.testing.assert_array_equal(model(X), model.expansion(X) + model.intercept)
    assert list(model.classes) == ["a", "b", "c"]


def test_kernel_pca_of_mercer_gives_its_expansion_and_intercept():
    peer = KernelPCA(2, kernel=mc.Gaussian(0.5)).fit(X)
    model = as_expansion(peer)
    np.testing.assert_allclose(model(X), peer.transform(X), atol=1e-12)
    assert model.classes is None


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.5),
        0.5 * mc.Matern() * mc.Laplacian(0.1) + 2,
        mc.Exp(mc.Normalized(mc.Linear() + 1)) ** 2,
        mc.Mapped(mc.Cauchy(1.0), np.array([1.0, 3.0])),
    ],
    ids=repr,
)
def test_svdd_is_affine_if_all_features_have_the_same_norm(kernel):
    peer = mc.SVDD(0.4, kernel=kernel).fit(X)
    new = np.random.default_rng(0).normal(size=(20, 2)) + 2
    np.testing.assert_allclose(
        as_expansion(peer)(new)[:, 0], peer.decision_function(new), atol=1e-12
    )


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Linear(),
        mc.Gaussian(1.0) + mc.Linear(),
        mc.Rescaled(mc.Gaussian(1.0), lambda A: A[:, 0] + 3),
    ],
    ids=["Linear", "Sum", "Rescaled"],
)
def test_svdd_is_refused_if_features_may_differ_in_norm(kernel):
    # these points have the same norm, others would not
    circle = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(TypeError, match="not affine in the features.* Use a kernel of distances"):
        as_expansion(mc.SVDD(1.0, kernel=kernel).fit(circle))


def test_virtual_support_vectors_give_the_expansion_of_their_second_fit():
    y = np.where(X[:, 0] > 0, "a", "b")
    virtual = mc.VirtualSupportVectors(mc.SVC(), [np.negative]).fit(X, y)
    found = as_expansion(virtual)
    np.testing.assert_allclose(found(X)[:, 0], virtual.decision_function(X))
    assert found.classes.tolist() == ["a", "b"]


def test_a_vote_of_perceptrons_is_refused_because_it_is_not_affine():
    voted = mc.KernelPerceptron(mc.Gaussian(5.0), voted=True).fit(X, Y)
    with pytest.raises(
        TypeError, match=r"not affine in the features, because its .* votes; fit with averaged=True"
    ):
        as_expansion(voted)


def test_coordinates_of_kernel_fisher_have_no_classes_because_their_sign_decides_none():
    y = np.array(["a", "b", "b", "b", "b", "b"])
    fisher = mc.KernelFisher(kernel=mc.Gaussian(0.5), mu=1.0).fit(X, y)
    found = as_expansion(fisher)
    np.testing.assert_allclose(found(X), fisher.transform(X), atol=1e-12)
    assert found.classes is None


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_columns_say_whether_they_are_those_of_pairs(multi_class):
    assert as_expansion(mc.SVC(multi_class=multi_class).fit(X, Y)).pairs == (multi_class == "ovo")
    assert not as_expansion(mc.KernelPerceptron(mc.Gaussian(5.0)).fit(X, Y)).pairs


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        as_expansion(mc.SVC())


@pytest.mark.parametrize(
    "thing", [None, 3, make_pipeline(mc.SVC()), X], ids=["None", "3", "pipeline", "array"]
)
def test_other_objects_are_refused_by_their_type(thing):
    with pytest.raises(TypeError, match=type(thing).__name__):
        as_expansion(thing)


def test_users_can_register_readers():
    class Foreign:
        pass

    phi = mc.features(mc.Linear(), X)
    as_expansion.register(Foreign, lambda _: FittedExpansion(phi, np.zeros(6)))
    assert as_expansion(Foreign()).expansion is phi


def test_readers_of_scikit_learn_are_imported_on_first_use():
    code = "import sys, mercer.formats; print('sklearn.gaussian_process' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
