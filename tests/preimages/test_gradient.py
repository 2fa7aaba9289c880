"""Gradient agrees with the fixed point and with SciPy for every differentiable kernel."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer as mc
from mercer.preimages import FixedPoint, Gradient, preimage
from mercer.preimages.descent import Distance
from mercer.preimages.gradient import _LimitedMemory

RNG = np.random.default_rng(0)
X = np.repeat([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]], 10, axis=0) + RNG.normal(0, 0.1, (30, 2))
COEF = np.abs(RNG.normal(size=(30, 4))) * (RNG.random((30, 4)) < 0.3) / 5
KERNELS = [
    mc.Gaussian(2.0),
    mc.Linear(),
    mc.Polynomial(2),
    mc.Polynomial(5),
    2.0 * mc.Gaussian(2.0) + mc.Polynomial(2),
    mc.Gaussian(1.0) * mc.Linear(),
    mc.Normalized(mc.Polynomial(3)),
    mc.Mapped(mc.Gaussian(1.0), np.array([1.0, 3.0])),
]


def test_defaults_are_those_documented():
    assert Gradient() == Gradient(max_iter=500, tol=1e-6, restarts=3, pull=0.0, memory=8)


@pytest.mark.filterwarnings("error")
def test_a_pull_up_to_its_limit_keeps_the_start_and_a_larger_one_is_refused():
    psi = mc.mean(mc.features(mc.Laplacian(0.5), X))
    start = np.array([[0.1, 0.2]])
    found = preimage(psi, Gradient(pull=1e100), start=start).points
    np.testing.assert_allclose(found, start, rtol=1e-12)
    with pytest.raises(ValueError, match=r"pull = 1e\+300 must be at most 1e\+100.* scale X"):
        Gradient(pull=1e300)


def test_directions_are_those_of_bfgs_over_the_latest_pairs():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    H = A @ A.T + np.eye(4)
    rule, row = _LimitedMemory(np.zeros((2, 4)), 3, 1.0, np.zeros(4), -np.inf), np.array([1])
    moves = rng.normal(size=(5, 1, 4))
    for move in moves:
        rule.accept(row, move, np.zeros((1, 4)), move @ H)
    v = rng.normal(size=(1, 4))
    s, y = moves[-1, 0], (moves[-1] @ H)[0]
    inverse = (s @ y) / (y @ y) * np.eye(4)
    for s in moves[-3:, 0]:
        y = s @ H
        left = np.eye(4) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(rule._direction(row, v), -v @ inverse, rtol=1e-10)
    # the other point has no memory yet: a tenth of the width along the gradient
    other = rule._direction(np.array([0]), v)
    np.testing.assert_allclose(other, -0.1 * v / np.linalg.norm(v))
    rule.forget(row)
    np.testing.assert_allclose(rule._direction(row, v), other)


def test_pairs_without_positive_curvature_are_not_stored():
    rule, row, move = (
        _LimitedMemory(np.zeros((1, 2)), 3, 1.0, np.zeros(2), -np.inf),
        np.array([0]),
        np.array([[1.0, 0.0]]),
    )
    for after in (-move, np.array([[0.0, 1.0]]), np.array([[1e-16, 1.0]])):
        rule.accept(row, move, np.zeros((1, 2)), after)
        assert not rule.inverse.any()
    rule.accept(row, move, np.zeros((1, 2)), np.array([[1e-15, 1.0]]))
    assert rule.inverse.any()


def test_steps_are_halved_after_failures_limited_to_the_width_or_the_distance_and_demand_armijos_decrease():
    rule, row, v = (
        _LimitedMemory(np.zeros((1, 2)), 3, 2.0, np.array([1.0, 0.0]), -np.inf),
        np.array([0]),
        np.array([[3.0, 4.0]]),
    )
    rule.accept(row, np.array([[5.0, 0.0]]), np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    # the quasi-Newton direction is -5 v, of length 25
    for z, farthest in ((np.array([[1.0, 0.0]]), 2.0), (np.array([[1.0, 10.0]]), 10.0)):
        for failures in (0, 3):
            trial, demand = rule.propose(row, z, v, np.array([failures]))
            np.testing.assert_allclose(trial - z, -v / 5 * farthest / 2**failures)
            np.testing.assert_allclose(demand, 1e-4 * 5 * farthest / 2**failures)


def test_no_coordinate_falls_below_the_floor_and_the_memory_is_cleared_there():
    rule, row = _LimitedMemory(np.ones((1, 2)), 3, 10.0, np.ones(2), 0.0), np.array([0])
    rule.accept(row, np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([[1.0, 1.0]]))
    trial, _ = rule.propose(row, np.array([[0.5, 2.0]]), np.array([[1.0, 1.0]]), np.array([0]))
    np.testing.assert_allclose(trial, [[0.0, 1.0]])
    assert not rule.inverse.any()
    # a coordinate at the floor that would fall is left out of the direction, and the memory is kept
    rule.accept(row, np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([[1.0, 1.0]]))
    trial, _ = rule.propose(row, np.array([[0.0, 2.0]]), np.array([[1.0, 0.5]]), np.array([0]))
    np.testing.assert_allclose(trial, [[0.0, 1.5]])
    assert rule.inverse.any()
    # one that would rise is not
    trial, _ = rule.propose(row, np.array([[0.0, 2.0]]), np.array([[-1.0, 0.5]]), np.array([0]))
    np.testing.assert_allclose(trial, [[1.0, 1.5]])
    # at the floor no step downwards is left
    trial, _ = rule.propose(row, np.array([[0.0, 2.0]]), np.array([[1.0, 0.0]]), np.array([0]))
    np.testing.assert_allclose(trial, [[0.0, 2.0]])


def test_a_direction_that_does_not_descend_is_replaced_by_the_negative_gradient():
    rule, row, v = (
        _LimitedMemory(np.zeros((1, 2)), 3, 9.0, np.zeros(2), -np.inf),
        np.array([0]),
        np.array([[1.0, 2.0]]),
    )
    rule.scale[:] = -1.0
    rule._direction = lambda _, v: v.copy()
    np.testing.assert_allclose(rule.propose(row, np.zeros((1, 2)), v, np.array([0]))[0], -v)


def test_a_point_has_converged_when_the_scaled_gradient_is_at_most_tol():
    psi = mc.features(mc.Linear(), np.array([[3.0, 0.0], [0.0, 1.0]])) @ np.array([[1.0], [1.0]])
    # |psi| = sqrt(10), the spread of the two points is sqrt(2.5), and the gradient at z is 2 (z - (3, 1))
    for offset, converged in ((0.99, True), (1.01, False)):
        start = np.array([[3.0, 1.0 + offset * 1e-3 * 5 / np.sqrt(2.5)]])
        found = Gradient(max_iter=1, tol=1e-3).find(psi, start)
        assert (found.n_iter == 0).tolist() == [converged]


@pytest.mark.parametrize("gamma", [0.5, 2.0, 10.0])
def test_it_agrees_with_the_fixed_point_where_both_apply(gamma):
    psi = mc.features(mc.Gaussian(gamma), X) @ COEF
    left, right = preimage(psi, Gradient(tol=1e-9)), preimage(psi, FixedPoint(tol=1e-9))
    assert left.converged.all(), left.reason
    np.testing.assert_allclose(left.sqdist, right.sqdist, rtol=1e-9)
    np.testing.assert_allclose(left.points, right.points, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gradient_vanishes_and_no_point_is_farther_than_the_start(kernel):
    psi = mc.features(kernel, X) @ COEF
    start = X[[0, 7, 15, 25]]
    answer = preimage(psi, Gradient(tol=1e-8), start)
    assert answer.converged.all(), answer.reason
    assert (answer.sqdist <= mc.sqdist(psi, mc.features(kernel, start), paired=True) + 1e-12).all()
    gradient = Distance(psi, 0.0, start)(answer.points, np.arange(4))[1]
    assert np.abs(gradient).max() < 1e-6 * psi.norms().max()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_as_low_as_scipy_from_the_same_start(kernel):
    psi = mc.features(kernel, X) @ COEF
    objective, start = Distance(psi, 0.0, X[:4]), X[[0, 7, 15, 25]]
    answer = preimage(psi, "gradient", start)
    for j, each in enumerate(start):
        fun = lambda z, j=j: [part[0] for part in objective(z[None], np.array([j]))[:2]]  # noqa: E731
        theirs = minimize(
            fun, each, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
        )
        ours = objective(answer.points[[j]], np.array([j]))[0][0]
        assert ours <= theirs.fun + 1e-7 * psi.norms()[j] ** 2


def test_linear_kernel_gives_the_vector_itself():
    psi = mc.features(mc.Linear(), X) @ COEF
    np.testing.assert_allclose(preimage(psi, Gradient(tol=1e-10)).points, COEF.T @ X, atol=1e-8)


def test_a_block_gives_the_points_of_its_columns():
    psi = mc.features(mc.Polynomial(3), X) @ COEF
    alone = [preimage(psi[:, j], Gradient(tol=1e-9)).points[0] for j in range(4)]
    np.testing.assert_allclose(preimage(psi, Gradient(tol=1e-9)).points, alone, atol=1e-7)


@pytest.mark.parametrize("gamma", [0.5, 50.0])
@pytest.mark.parametrize("distance", [10, 1e3, 1e6])
def test_starts_in_a_flat_region_restart_at_points_of_psi(gamma, distance):
    psi = mc.features(mc.Gaussian(gamma), X) @ COEF
    start = distance * np.array([[1.0, 0.0], [0.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    answer, usual = preimage(psi, "gradient", start), preimage(psi, Gradient(starts=1))
    np.testing.assert_allclose(answer.sqdist, usual.sqdist, rtol=1e-6)


def test_sparse_rows_give_the_same_points():
    import scipy.sparse as sp

    kernel = mc.Polynomial(2)
    sparse = preimage(mc.features(kernel, sp.csr_matrix(X)) @ COEF)
    np.testing.assert_allclose(
        sparse.points, preimage(mc.features(kernel, X) @ COEF).points, atol=1e-7
    )


def test_a_minimum_at_infinity_does_not_converge():
    answer = preimage(-mc.mean(mc.features(mc.Gaussian(50.0), X)), Gradient())
    assert not answer.converged.any()
    assert np.isfinite(answer.points).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"memory": 0}, "memory"),
        ({"pull": -1.0}, "pull"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        Gradient(**options)


def test_a_kernel_without_a_gradient_is_refused_with_a_remedy():
    psi = mc.features(mc.FunctionKernel(lambda A, B: A @ B.T), X)
    with pytest.raises(
        TypeError, match=r"Gradient needs a gradient, but FunctionKernel.*method='learned'"
    ):
        preimage(psi, "gradient")


HISTOGRAMS = [
    mc.Chi2(0.5),
    mc.Intersection(),
    mc.Exp(0.5 * mc.Intersection()),
    mc.Normalized(mc.Intersection()),
    mc.Chi2(0.5) + mc.Intersection(),
]


@pytest.mark.parametrize("kernel", HISTOGRAMS, ids=repr)
@pytest.mark.parametrize("function", [mc.preimage, mc.ray], ids=["preimage", "ray"])
def test_kernels_of_histograms_give_non_negative_points(kernel, function):
    counts = np.where(RNG.random((30, 6)) < 0.4, 0, RNG.random((30, 6)))
    psi = mc.svd(mc.features(kernel, counts), 3)[0] + mc.features(kernel, counts)[:, :3]
    answer = function(psi, start=counts[:3])
    assert (answer.points >= 0).all()
    # sqdist is that of the returned points, and none is farther from psi than the start
    found = mc.features(kernel, answer.points) * getattr(answer, "scale", 1.0)
    np.testing.assert_allclose(answer.sqdist, mc.sqdist(psi, found, paired=True), atol=1e-10)
    start = mc.features(kernel, counts[:3])
    multiple = np.diag(psi.inner(start)) / start.norms() ** 2 if function is mc.ray else 1.0
    assert (answer.sqdist <= mc.sqdist(psi, start * multiple, paired=True) + 1e-12).all()


def test_at_the_bound_it_is_as_low_as_scipy_with_bounds():
    counts = np.random.default_rng(3).random((30, 4)) * [
        0,
        1,
        1,
        1,
    ]  # the first bin is always empty
    psi = mc.features(mc.Chi2(0.5), counts) @ (COEF[:, :3] / COEF[:, :3].sum(axis=0))
    start = counts[:3] + 0.3
    objective, answer = Distance(psi, 0.0, start), preimage(psi, "gradient", start)
    assert answer.converged.all(), answer.reason
    assert (answer.points[:, 0] == 0).all()
    for j, each in enumerate(start):
        fun = lambda z, j=j: [part[0] for part in objective(z[None], np.array([j]))[:2]]  # noqa: E731
        theirs = minimize(fun, each, jac=True, method="L-BFGS-B", bounds=[(0, None)] * 4)
        assert objective(answer.points[[j]], np.array([j]))[0][0] <= theirs.fun + 1e-6


def test_a_start_outside_the_domain_of_the_kernel_is_refused():
    phi = mc.features(mc.Intersection(), np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"start\[0, 1\] = -1 must be at least 0"):
        preimage(phi, start=np.array([[1.0, -1.0]]))


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.5),
        mc.kernels.Periodic(6.0),
        mc.kernels.Normalized(mc.Polynomial(2)),
        mc.Anova(mc.Gaussian(0.5)),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_points_do_not_depend_on_the_length_of_the_vector_where_features_have_one(kernel):
    X = np.random.default_rng(0).standard_normal((100, 3))
    psi = mc.mean(mc.features(kernel, X))
    expected = mc.preimage(psi, Gradient())
    for factor in (100.0, 2.0**20):
        found = mc.preimage(psi * factor, Gradient())
        assert found.converged.all()
        np.testing.assert_allclose(found.points, expected.points, rtol=1e-9, atol=1e-9)
