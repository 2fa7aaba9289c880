"""Models, kernels and blocks of vectors hold copies of the arrays they are given, and leave these writable."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import mercer as mc

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
TARGETS = np.column_stack([X[:, 0], X[:, 1] ** 2])
LABELS = (X[:, 0] > 0).astype(int)
NEW = RNG.standard_normal((5, 3))


def projected(weights):
    """Return a Gaussian kernel without a share of one direction of length 1."""
    kernel = mc.Gaussian(0.5)
    return mc.invariance.Projected(kernel, mc.features(kernel, X[:1]), weights)


MODELS = {
    "alpha of ridge": ([0.1, 10.0], lambda a: mc.KernelRidge(alpha=a).fit(X, TARGETS)),
    "Cs of a search": ([0.1, 10.0], lambda a: mc.SVCCV(Cs=a).fit(X, LABELS)),
    "gammas of a search": ([0.1, 1.0], lambda a: mc.SVRCV(gammas=a).fit(X, TARGETS[:, 0])),
    "landmarks": (X[:6], lambda a: mc.KernelRidge(landmarks=a).fit(X, TARGETS)),
    "scales of a kernel": (
        [1.0, 2.0, 0.5],
        lambda a: mc.SVC(kernel=mc.kernels.Mapped(mc.Gaussian(0.5), a)).fit(X, LABELS),
    ),
    "periods of a kernel": (
        [1.0, 2.0, 3.0],
        lambda a: mc.SVC(kernel=mc.kernels.Periodic(a)).fit(X, LABELS),
    ),
    "points of a map": (
        X[:6],
        lambda a: mc.SVC(kernel=mc.kernels.EmpiricalMap(mc.Gaussian(0.5), a, np.eye(6))).fit(
            X, LABELS
        ),
    ),
    "weights of directions": ([1.0], lambda a: mc.SVC(kernel=projected(a)).fit(X, LABELS)),
    "rows": (X, lambda a: mc.SVC().fit(a, LABELS)),
    "targets": (TARGETS, lambda a: mc.KernelRidge().fit(X, a)),
}


@pytest.mark.parametrize("name", MODELS)
def test_arrays_stay_the_users_and_changing_them_changes_no_prediction(name):
    values, fit = MODELS[name]
    given = np.array(values)
    model = fit(given)
    np.testing.assert_array_equal(given, values)
    before = model.predict(NEW), model.kernel_, hash(model.kernel_)
    given *= -3.0
    np.testing.assert_array_equal(model.predict(NEW), before[0])
    assert (model.kernel_, hash(model.kernel_)) == before[1:]


def test_coefficients_of_a_block_are_those_of_its_time():
    coef = np.ones((40, 2))
    phi = mc.features(mc.Gaussian(0.5), X)
    blocks = mc.Expansion(mc.Gaussian(0.5), X, coef), phi @ coef
    before = [psi(NEW) for psi in blocks]
    coef *= 5.0
    for psi, values in zip(blocks, before, strict=True):
        np.testing.assert_array_equal(psi(NEW), values)


def test_a_view_that_is_assigned_is_copied_though_it_is_read_only():
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, LABELS)
    vectors = model.support_vectors_ + 1.0
    view = vectors.view()
    view.flags.writeable = False
    model.support_vectors_ = view
    before = model.decision_function(NEW)
    vectors += 100.0
    np.testing.assert_array_equal(model.decision_function(NEW), before)
    product = model.expansion_(NEW)[:, 0] + model.intercept_[0]
    np.testing.assert_allclose(product, before, atol=1e-12)


def test_a_model_that_is_being_fitted_again_says_that_it_is_not_fitted():
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, LABELS)
    heard = []

    def kernel(A, B):
        if not heard:
            with pytest.raises(NotFittedError, match="not fitted yet"):
                model.predict(NEW)
        heard.append(len(A))
        return A @ B.T

    model.set_params(kernel=kernel).fit(X, LABELS)
    assert heard
