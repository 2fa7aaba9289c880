"""learn_metric refits with the average gradient outer product, and finds the directions that matter."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer as mc

RIDGE = mc.KernelRidge(0.01, kernel=mc.Gaussian("scale"))


def data(seed, n=80, d=4, dtype=np.float64):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)
    return X, np.sin(X[:, 0] + X[:, 1])


B = np.diag([1.0, 2, 0.5, 1]) + 0.1


def metric(estimator, X, y):
    """Return the metric A'A (4, 4) of the first map, of trace 4."""
    A = mc.learn_metric(estimator, X, y, 1).kernel.A
    return A.T @ A


def outer_product(model, X):
    """Return the average gradient outer product of a fitted model, by differences, with trace 4."""
    h, psi = 1e-5, model.expansion_
    G = np.stack([(psi(X + h * e) - psi(X - h * e)) / (2 * h) for e in np.eye(4)], axis=2)
    M = np.einsum("ija,ijb->ab", G, G)
    return 4 * M / np.trace(M)


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.3),
        mc.Mapped(mc.Gaussian(0.3), B),
        mc.Mapped(mc.Gaussian(0.3), B[0]),
        mc.Mapped(mc.Mapped(mc.Gaussian(0.3), B), B[::-1]),
    ],
)
@pytest.mark.parametrize("classes", [0, 3])
def test_the_outer_product_is_that_of_differences(kernel, classes, global_random_seed):
    X, y = data(global_random_seed, n=40)
    model = mc.SVC(kernel=kernel) if classes else mc.KernelRidge(0.1, kernel=kernel)
    y = np.digitize(y, [-0.3, 0.4]) if classes else y
    expected = outer_product(model.fit(X, y), X)
    np.testing.assert_allclose(metric(model, X, y), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_adds_nothing_to_its_own_gradient_at_a_kink(dtype):
    # exp(-|x - z|) of a point with itself has no gradient; repeated rows are one point
    X, y = data(0, n=12, dtype=dtype)
    X = np.concatenate([X, X[:3]])
    A = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0] * 0.37
    kernel = mc.Mapped(mc.Matern(1.0, nu=0.5), A)
    y = np.append(y, y[:3])
    model = mc.KernelRidge(0.1, kernel=kernel).fit(X, y)
    U, b = X.astype(float) @ A.T, model.dual_coef_.astype(float)
    difference = U[:, None] - U[None]
    distance = np.sqrt((difference**2).sum(axis=2))
    same = (X[:, None] == X[None]).all(axis=2)
    distance[same] = 1
    G = (
        -np.einsum("j,ij,ijd->id", b, np.where(same, 0, np.exp(-distance) / distance), difference)
        @ A
    )
    expected = 4 * G.T @ G / np.sum(G**2)
    np.testing.assert_allclose(
        metric(model, X, y), expected, rtol=1e-5 if dtype == np.float32 else 1e-10
    )


@pytest.mark.parametrize(
    "estimator",
    [
        RIDGE,
        mc.KernelRidge(0.01, kernel=mc.Matern("scale", nu=0.5)),
        mc.KernelRidge(0.01, kernel="rbf"),
    ],
    ids=repr,
)
def test_the_metric_has_the_direction_that_matters_and_trace_d(estimator, global_random_seed):
    X, y = data(global_random_seed, n=200, d=6)
    model = mc.learn_metric(estimator, X, y, 3)
    M = model.kernel.A @ model.kernel.A
    assert np.trace(M) == pytest.approx(6)
    direction = np.linalg.eigh(M)[1][:, -1]
    assert abs(direction[:2].sum()) / np.sqrt(2) > 0.99
    new, truth = data(global_random_seed + 100, n=300, d=6)
    errors = [
        np.mean((each.predict(new) - truth) ** 2) for each in (model, clone(estimator).fit(X, y))
    ]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_gets_a_metric(classes):
    X, y = data(3, n=200, d=6)
    y = np.digitize(y, [0.0, 0.7][: classes - 1])
    model = mc.learn_metric(mc.SVC(C=10.0, kernel=mc.Gaussian("scale")), X, y, 2)
    M = model.kernel.A @ model.kernel.A
    assert np.trace(M[:2, :2]) > 0.75 * np.trace(M)
    assert isinstance(model, mc.SVC)
    assert model.classes_.tolist() == list(range(classes))


def test_landmarks_and_several_targets_are_allowed(global_random_seed):
    X, y = data(global_random_seed, n=150)
    model = mc.KernelRidge(0.01, kernel=mc.Gaussian("scale"), landmarks=40, random_state=0)
    found = mc.learn_metric(model, X, np.column_stack([y, 2 * y]), 2)
    assert found.predict(X).shape == (150, 2)
    assert np.trace(found.kernel.A[:2] @ found.kernel.A[:2].T) > 3


def test_the_estimator_is_not_changed_and_the_result_is_that_of_a_single_fit_with_its_kernel():
    X, y = data(0)
    estimator = clone(RIDGE)
    model = mc.learn_metric(estimator, X, y, 2)
    assert estimator.kernel == RIDGE.kernel
    assert not hasattr(estimator, "expansion_")
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    expected = outer_product(clone(RIDGE).fit(X, y), X)
    np.testing.assert_allclose(metric(estimator, X, y), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_a_power_of_the_metric_has_powers_of_its_eigenvalues_and_trace_d(power):
    X, y = data(0)
    model, plain = (mc.learn_metric(RIDGE, X, y, 1, power=p) for p in (power, 1.0))
    found, expected = (np.linalg.eigvalsh(each.kernel.A @ each.kernel.A) for each in (model, plain))
    assert found.sum() == pytest.approx(4)
    np.testing.assert_allclose(found / found[-1], (expected / expected[-1]) ** power, rtol=1e-6)


def test_a_base_kernel_that_is_mapped_already_keeps_its_map():
    X, y = data(0, n=120)
    Z = X @ B
    direct = mc.learn_metric(mc.KernelRidge(0.01, kernel=mc.Gaussian(0.3)), Z, y, 1)
    mapped = mc.learn_metric(mc.KernelRidge(0.01, kernel=mc.Mapped(mc.Gaussian(0.3), B)), X, y, 1)
    # gradients in x are B times those in B x
    M, N = (each.kernel.A @ each.kernel.A for each in (direct, mapped))
    expected = B @ M @ B
    np.testing.assert_allclose(N, 4 * expected / np.trace(expected), rtol=1e-6, atol=1e-9)
    assert mapped.kernel.kernel == mc.Mapped(mc.Gaussian(0.3), B)


def test_the_metric_does_not_depend_on_the_scale_of_the_targets():
    X, y = data(0)
    model = mc.learn_metric(RIDGE, X, y, 2)
    for factor in (1e-5, 1e5):
        np.testing.assert_allclose(
            mc.learn_metric(RIDGE, X, factor * y, 2).kernel.A, model.kernel.A, atol=1e-7
        )


def test_the_default_is_5_metrics_and_so_6_fits():
    fits = []

    class Counted(mc.KernelRidge):
        def fit(self, X, y):
            fits.append(len(X))
            return super().fit(X, y)

    mc.learn_metric(Counted(0.01, kernel=mc.Gaussian("scale")), *data(0))
    assert fits == [80] * 6


def test_the_outer_product_does_not_depend_on_blocks(costs):
    X, y = data(0)
    expected = metric(RIDGE, X, y)
    costs(BLOCK=3 * len(X) * 4)
    np.testing.assert_allclose(metric(RIDGE, X, y), expected, rtol=1e-12, atol=1e-13)


def test_directions_without_gradient_stay_without_length_at_small_powers():
    X, y = data(0)
    X[:, 3] = 0.0
    model = mc.learn_metric(RIDGE, X, y, 1, power=0.1)
    assert np.abs(model.kernel.A[3]).max() < 1e-6
    # rounding leaves the fourth direction of rotated rows a small gradient
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    turned = mc.learn_metric(RIDGE, X @ Q, y, 1, power=0.1)
    assert np.abs(turned.kernel.A @ Q[3]).max() < 1e-6


def test_a_constant_prediction_keeps_the_metric_of_the_first_fit():
    X, _ = data(0)
    model = mc.learn_metric(RIDGE, X, np.zeros(len(X)))
    assert model.kernel == RIDGE.kernel


def test_bad_input_is_refused():
    X, y = data(0)
    with pytest.raises(TypeError, match="learn_metric needs a gradient"):
        mc.learn_metric(mc.KernelRidge(kernel=mc.FunctionKernel(lambda X, Z: X @ Z.T)), X, y)
    for other in (object(), mc.SVC, mc.KernelPCA(kernel=mc.Gaussian(1.0))):
        with pytest.raises(TypeError, match="estimator must predict y and have a parameter kernel"):
            mc.learn_metric(other, X, y)
    with pytest.raises(ValueError, match="n_iter = 0 must be at least 1"):
        mc.learn_metric(RIDGE, X, y, 0)
    for n_iter in (1001, 2**70):
        with pytest.raises(ValueError, match=f"n_iter = {n_iter} must be at most 1000"):
            mc.learn_metric(RIDGE, X, y, n_iter)
    with pytest.raises(ValueError, match="power = 0 must be above 0"):
        mc.learn_metric(RIDGE, X, y, power=0)


def test_free_terms_of_the_rows_are_refused_and_a_constant_is_not():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = 3 * X[:, 0] + 5
    linear, constant = (
        mc.KernelRidge(0.1, kernel=mc.Gaussian(0.3), free=free) for free in ("linear", "constant")
    )
    with pytest.raises(TypeError, match="adds free terms of the rows, .* use free='constant'"):
        mc.learn_metric(linear, X, y)
    A = mc.learn_metric(constant, X, y).kernel.A
    assert A[0, 0] > 3 * A[1, 1]
