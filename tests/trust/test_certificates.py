"""A certificate is never stronger than what was checked: precomputed matrices with hidden negative parts."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import mercer as mc

pytestmark = pytest.mark.filterwarnings("ignore:.*not convex", "ignore:Mercer compiles")


def hidden(n, pairs, rng):
    """Return a kernel matrix of n rows with labels, some random pairs of whose rows have a negative eigenvalue."""
    X = rng.normal(size=(n, 4))
    K = mc.Gaussian(0.3)(X)
    rows = rng.permutation(n)[: 2 * pairs].reshape(-1, 2)
    K[rows[:, 0], rows[:, 1]] = K[rows[:, 1], rows[:, 0]] = 1 + rng.choice([1e-3, 0.5, 20.0], pairs)
    return K, X[:, 0] + 0.3 * rng.normal(size=n)


def beyond(K, a, y, C, rng):
    """Return by how much feasible points near a dual point exceed its objective, the best of moves of two rows."""
    gradient = y - K @ a
    curved = np.argwhere(np.triu(K, 1) > 1)
    best = 0.0
    for i, j in curved:
        curvature = K[i, i] + K[j, j] - 2 * K[i, j]
        lower, upper = np.minimum(0, C * y), np.maximum(0, C * y)
        for step in (min(upper[i] - a[i], a[j] - lower[j]), -min(a[i] - lower[i], upper[j] - a[j])):
            best = max(best, step * (gradient[i] - gradient[j]) - 0.5 * step**2 * curvature)
    return best


MODELS = [
    mc.SVC(10.0),
    mc.SVR(1.0),
    mc.NuSVC(0.3),
    mc.OneClassSVM(0.2),
    mc.SVDD(),
    mc.KernelRidge(1e-3),
    mc.KernelFisher(),
]


def refused(model, K, y):
    """Fit a model; return the text of a refusal."""
    try:
        model.fit(K, y)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("n", [150, 650, 900])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_no_model_of_a_matrix_with_hidden_negative_pairs_is_proved(model, n, global_random_seed):
    rng = np.random.default_rng((global_random_seed, n))
    K, target = hidden(n, int(rng.integers(1, 6)), rng)
    y = (target > 0).astype(int) if is_classifier(model) else target
    model = clone(model).set_params(kernel="precomputed")
    if refusal := refused(model, K, y):
        # a factor of K + alpha I exists only if the negative part is small
        assert isinstance(model, (mc.KernelRidge, mc.KernelFisher))
        assert "indefinite" in refusal
        return
    certified = mc.certify(model, K, y)
    assert certified.convex is False
    if hasattr(model, "certificate_"):
        assert model.certificate_.convex is not True
        assert model.certificate_.gap is None
    # a factor that does not fit into the memory proves nothing
    if n > 600 and hasattr(certified, "kkt"):
        assert mc.certify(model.set_params(memory=10**6), K, y).convex is not True


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_exceeds_a_dual_objective_by_more_than_a_gap(seed):
    rng = np.random.default_rng(seed)
    K, target = hidden(int(rng.integers(600, 800)), 3, rng)
    y = np.where(target > 0, 1.0, -1.0)
    model = mc.SVC(10.0, kernel="precomputed").fit(K, y)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[:, 0]
    for found in (model.certificate_, mc.certify(model, K, y)):
        assert found.gap is None or beyond(K, a, y, 10.0, rng) <= found.gap


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_semidefinite_matrices_are_proved_in_fit_up_to_600_rows_and_in_certify_beyond(
    dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    for n in (100, 600, 1000):
        X = rng.normal(size=(n, 3))
        y = X[:, 0] > 0
        for K in (mc.Gaussian(0.3)(X), X @ X.T):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model = mc.SVC(kernel="precomputed").fit(K.astype(dtype), y)
            assert (model.certificate_.convex is True) == (
                n <= 600 or model.certificate_.gap is not None
            )
            assert n > 600 or model.certificate_.convex
            found = mc.certify(model, K.astype(dtype), y)
            assert found.convex
            assert found.gap <= (1e-6 if dtype == np.float64 else 1e-2) * found.primal
