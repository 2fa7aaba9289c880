"""Weights by the margin are those of the smallest objective of a support vector machine, which the gap certifies."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

import mercer as mc
from mercer.learning import margin
from mercer.solvers.svm import Options
from mercer.solvers.svm.rows import KnownRows, PlainRows


def problem(seed, n=60, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(
        X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n), [0.3, 1.0][: classes - 1]
    )
    order = np.argsort(y, kind="stable")
    columns = [mc.Mapped(mc.Gaussian(0.5), np.array([c])) for c in range(3)]
    return X[order], y[order], [*columns, mc.Gaussian(0.2), mc.Linear()]


def objective(X, y, kernels, C, memory=10**9):
    units = [float(1 / (np.mean(k.diag(X)) - np.mean(k(X)))) * k for k in kernels]
    return margin.Objective(units, X, y, C, Options(1e-6, budget=memory)), units


def value(shares, Ks, y, C):
    """Return the objective from scikit-learn, summed over all pairs of classes."""
    total, K = 0.0, np.tensordot(shares, Ks, 1)
    for i in range(y.max() + 1):
        for j in range(i):
            own = np.flatnonzero((y == i) | (y == j))
            model = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K[np.ix_(own, own)], y[own])
            b, S = model.dual_coef_[0], own[model.support_]
            total += np.abs(b).sum() - b @ K[np.ix_(S, S)] @ b / 2
    return total


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_the_optimum_is_that_of_an_independent_optimiser(C, classes, global_random_seed):
    X, y, kernels = problem(global_random_seed, classes=classes)
    J, units = objective(X, y, kernels, C)
    point = margin.margin_weights(J, len(kernels), 1e-6, 100)
    Ks = np.stack([k(X) for k in units])
    assert point.primal == pytest.approx(value(point.shares, Ks, y, C), rel=1e-5)
    found = minimize(
        value,
        np.full(5, 0.2),
        (Ks, y, C),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda d: d.sum() - 1},
        options={"ftol": 1e-10},
    )
    assert J.lower <= found.fun * (1 + 1e-6)
    assert point.primal <= found.fun * (1 + 1e-5)
    assert point.primal - J.lower <= 1e-5 * point.primal


def test_kernels_with_a_share_have_the_largest_square(global_random_seed):
    X, y, kernels = problem(global_random_seed)
    J, _ = objective(X, y, kernels, 3.0)
    point = margin.margin_weights(J, len(kernels), 1e-6, 100)
    squares = -2 * point.slope
    np.testing.assert_allclose(squares[point.shares > 1e-3], squares.max(), rtol=1e-4)


@pytest.mark.parametrize("shares", [[0.2, 0.2, 0.2, 0.2, 0.2], [0.7, 0.0, 0.1, 0.1, 0.1]])
def test_slope_and_hessian_are_those_of_differences(shares):
    X, y, kernels = problem(0)
    J, _ = objective(X, y, kernels, 3.0)
    shares = np.array(shares)
    point, h = J(shares, J.start), 1e-4
    slopes, values = [], []
    for k in np.flatnonzero(shares):
        near = [J(shares + sign * h * np.eye(5)[k], J.start) for sign in (1, -1)]
        values.append((near[0].primal - near[1].primal) / (2 * h))
        slopes.append((near[0].slope - near[1].slope) / (2 * h))
    np.testing.assert_allclose(values, point.slope[shares > 0], rtol=1e-4)
    np.testing.assert_allclose(
        slopes, J.hessian(point)[shares > 0], rtol=2e-2, atol=1e-3 * np.abs(slopes).max()
    )


def test_lazy_matrices_give_the_point_of_stored_ones():
    X, y, kernels = problem(1, n=30)
    points = []
    for memory in (10**9, 1000):
        J, _ = objective(X, y, kernels, 1.0, memory)
        points.append(margin.margin_weights(J, len(kernels), 1e-5, 100))
    np.testing.assert_allclose(points[0].shares, points[1].shares, atol=1e-4)
    assert points[0].primal == pytest.approx(points[1].primal, rel=1e-6)


@pytest.mark.parametrize("memory", [10**9, 1000], ids=["stored", "lazy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_are_scaled_to_variance_1_and_constant_ones_left_out(memory, dtype):
    X, y, _ = problem(3, n=40)
    X, kernels = X.astype(dtype), [mc.Constant(2.0), mc.Gaussian(0.2), 50.0 * mc.Linear()]
    J = margin.Objective(kernels, X, y, 1.0, Options(1e-6, budget=memory))
    K = np.stack([kernel(X).astype(float) for kernel in kernels])
    centred = (
        K
        - K.mean(axis=1, keepdims=True)
        - K.mean(axis=2, keepdims=True)
        + K.mean(axis=(1, 2), keepdims=True)
    )
    scales = np.trace(centred, axis1=1, axis2=2) / 40
    np.testing.assert_allclose(J.scales, [0, *scales[1:]], rtol=1e-5)
    units = K[1:] / scales[1:, None, None]
    found = J(np.array([0.25, 0.75]), J.start)
    B = np.zeros((40, 1))
    B[J.start.points, 0] = found.solutions.coef
    np.testing.assert_allclose(found.products, units @ B, rtol=1e-5, atol=1e-5)
    rows = found.rows
    np.testing.assert_allclose(
        rows.square(np.arange(40)), units[0] / 4 + 0.75 * units[1], rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        rows.diagonal, (units[0] / 4 + 0.75 * units[1]).diagonal(), rtol=1e-5
    )


def test_the_memory_decides_whether_matrices_are_stored():
    X, y, kernels = problem(0)
    shares = np.full(len(kernels), 1 / len(kernels))
    for memory, kind in ((8 * 7 * 60**2, KnownRows), (8 * 7 * 60**2 - 1, PlainRows)):
        J = margin.Objective(kernels, X, y, 1.0, Options(1e-6, budget=memory))
        assert isinstance(J(shares, J.start).rows, kind)


def test_equal_kernels_have_equal_shares():
    X, y, kernels = problem(2)
    J, _ = objective(X, y, [*kernels, kernels[3]], 3.0)
    point = margin.margin_weights(J, 6, 1e-6, 100)
    alone, _ = objective(X, y, kernels, 3.0)
    single = margin.margin_weights(alone, 5, 1e-6, 100)
    assert point.shares[3] == pytest.approx(point.shares[5], abs=1e-4)
    assert point.shares[3] + point.shares[5] == pytest.approx(single.shares[3], abs=2e-3)


def point(shares, primal, slope=(0.0, -1.0)):
    """Return a point of a made objective."""
    return margin.Point(np.array(shares), primal, np.array(slope), [], [], np.empty(0), None)


def test_a_step_is_shortened_until_the_objective_falls_and_small_shares_are_dropped():
    class Curved:
        def hessian(self, _):
            return np.zeros((3, 3))

        def __call__(self, shares, _):
            assert shares.sum() == pytest.approx(1, abs=1e-12)
            return point(shares, 1 - shares[1] + 2 * shares[1] ** 2)

    found = margin._step(Curved(), point([1.0 - 8e-7, 0.0, 8e-7], 1.0, slope=(0.0, -1.0, 0.0)))
    np.testing.assert_allclose(found.shares, [2 / 3, 1 / 3, 0], atol=1e-6)
    assert found.shares[2] == 0
    assert found.primal == pytest.approx(8 / 9)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1.0])
def test_the_minimum_of_the_model_lies_on_the_simplex_and_no_point_of_it_is_lower(
    size, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    F = rng.normal(size=(4, 4))
    H, slope, shares = size * F @ F.T, -rng.uniform(0.1, 1, 4), rng.dirichlet(np.ones(4))
    found = margin._model_minimum(H, slope, shares)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-12)

    def model(d):
        return slope @ (d - shares) + (d - shares) @ H @ (d - shares) / 2

    assert model(found) <= min(map(model, [*np.eye(4), *rng.dirichlet(np.ones(4), 2000)])) + 1e-5


def test_the_largest_lower_bound_of_all_evaluations_is_kept_and_ends_the_search(monkeypatch):
    points, bounds = (
        [point([1.0, 0.0], 10.0), point([0.5, 0.5], 9.5), point([0.0, 1.0], 9.4)],
        [9.0, 8.0, 8.5],
    )

    def weights(tol, max_iter=100):
        J = type("Made", (), {"start": [], "lower": -np.inf})()
        following = iter([*zip(points, bounds, strict=True), (None, 9.3)])

        def evaluate(*_):
            found, bound = next(following)
            J.lower = max(J.lower, bound)
            return found

        type(J).__call__ = evaluate
        monkeypatch.setattr(margin, "_step", evaluate)
        return margin.margin_weights(J, 2, tol, max_iter), J.lower

    # the refused step has the best bound
    assert weights(0.0) == (points[2], 9.3)
    # the gap of the second point to the bound of the first is 0.5 of 9.5
    assert weights(0.053) == (points[1], 9.0)
    assert weights(0.052) == (points[2], 9.0)
    assert weights(0.0, max_iter=1) == (points[1], 9.0)
