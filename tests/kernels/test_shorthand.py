"""The argument ``kernel`` of estimators: kernels, names, callables."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

import mercer as mc
from mercer.kernels.shorthand import as_kernel


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("rbf", mc.Gaussian("scale")),
        ("linear", mc.Linear()),
        ("poly", mc.Polynomial(3, gamma="scale", coef0=0.0)),
        ("sigmoid", mc.Sigmoid(gamma="scale", coef0=0.0)),
        ("precomputed", mc.Precomputed()),
    ],
)
def test_names_mean_kernels(name, kernel):
    assert as_kernel(name) == kernel


def test_kernels_mean_themselves_and_functions_become_kernels():
    kernel = mc.Gaussian(1.0)
    assert as_kernel(kernel) is kernel
    X = np.eye(3)
    np.testing.assert_array_equal(as_kernel(lambda A, B: A @ B.T)(X), X)


def test_other_names_are_refused_with_all_names_and_an_object():
    with pytest.raises(
        ValueError,
        match=r"kernel = 'rfb' must be one of \['additive_chi2', .*'rbf'.*mercer.Gaussian",
    ):
        as_kernel("rfb")


@pytest.mark.parametrize(
    "name", ["laplacian", "chi2", "cosine", "additive_chi2", "polynomial", "poly", "sigmoid", "rbf"]
)
def test_a_name_without_parameters_is_the_function_of_scikit_learn_with_its_defaults(name):
    X = np.random.default_rng(0).random((5, 3))
    kernel = as_kernel(name, gamma=None, degree=None, coef0=None).resolve(X)
    np.testing.assert_allclose(kernel(X), pairwise_kernels(X, metric=name), rtol=1e-12)


@pytest.mark.parametrize("thing", [None, 3, ["rbf"]])
def test_other_things_are_refused_by_type(thing):
    with pytest.raises(
        TypeError, match="kernel must be a Kernel, a string or a callable, got .* of type"
    ):
        as_kernel(thing)


def test_a_class_of_kernels_is_refused_with_a_remedy():
    with pytest.raises(
        TypeError, match=r"kernel = Gaussian must be an object, not a class; pass Gaussian\(\)"
    ):
        as_kernel(mc.Gaussian)
