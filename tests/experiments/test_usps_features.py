"""Kernel PCA features of digits: a linear classifier on them has about the published error."""

import numpy as np
import pytest
from experiments._usps import digits
from sklearn.decomposition import PCA

from experiments import usps_features


@pytest.fixture
def few(data):
    """Six hundred training digits and as many test digits, smoothed."""
    data("usps")
    train, y, test, y_test = digits(smoothed=True)
    return train[:600], y[:600], test[:600], y_test[:600]


@pytest.mark.data
def test_components_of_degree_one_are_those_of_linear_pca(few):
    train, _, test, _ = few
    ours, ours_test = usps_features.scores(1, 32, train, test, patterns=600)
    pca = PCA(32, svd_solver="full").fit(train)
    Y = pca.transform(train)
    length = np.sqrt(np.mean((Y**2).sum(axis=1)))
    np.testing.assert_allclose(np.abs(ours), np.abs(Y / length), atol=1e-8)
    np.testing.assert_allclose(np.abs(ours_test), np.abs(pca.transform(test) / length), atol=1e-8)


@pytest.mark.data
def test_few_components_of_degree_one_are_worse_than_many_of_degree_three(few):
    train, y, test, y_test = few
    errors = []
    for degree, n in ((1, 64), (3, 400)):
        Y, Y_test = usps_features.scores(degree, n, train, test, patterns=600)
        errors.append(
            np.mean(usps_features.classifier(10.0, Y).fit(Y, y).predict(Y_test) != y_test)
        )
    assert errors[1] < errors[0]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_the_published_error_of_many_components_is_reached(data):
    data("usps")
    [(_, C, error)] = usps_features.errors(4, digits(smoothed=True), [2048])
    assert C in usps_features.COSTS
    assert error < 4.7
