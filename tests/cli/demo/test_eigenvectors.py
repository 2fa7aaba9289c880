import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer as mc
from mercer.cli.demo import eigenvectors


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:150] / 16.0


def test_the_cosine_is_that_of_the_picture(X):
    found = eigenvectors.images(X, n=3)
    u = mc.KernelPCA(3, kernel=mc.Polynomial(3, gamma=1 / 64, coef0=1.0)).fit(X).expansion_
    z = mc.features(u.kernel, found.rays)
    cosines = np.abs(np.diag(u.inner(z))) / (u.norms() * z.norms())
    assert found.cosines == pytest.approx(cosines, abs=1e-6)
    assert found.rays.shape == found.values.shape == (3, 64)


def test_values_of_a_linear_kernel_are_the_direction_itself(X):
    # gamma <x, z> + 1: the values at unit vectors, less that at 0, are the principal direction of linear PCA
    found = eigenvectors.images(X, n=2, degree=1)
    direction = np.linalg.svd(X - X.mean(axis=0))[2][0]
    cosine = found.values[0] @ direction / np.linalg.norm(found.values[0])
    assert abs(cosine) == pytest.approx(1.0)
