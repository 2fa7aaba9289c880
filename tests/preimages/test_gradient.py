"""Gradient agrees with the fixed point and with SciPy for every differentiable kernel."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer as mc
from mercer.preimages import FixedPoint, Gradient, preimage
from mercer.preimages.objective import Distance

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
        theirs = minimize(fun, each, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
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
    answer, usual = preimage(psi, "gradient", start), preimage(psi, "gradient")
    np.testing.assert_allclose(answer.sqdist, usual.sqdist, rtol=1e-6)


def test_sparse_rows_give_the_same_points():
    import scipy.sparse as sp

    kernel = mc.Polynomial(2)
    sparse = preimage(mc.features(kernel, sp.csr_matrix(X)) @ COEF)
    np.testing.assert_allclose(sparse.points, preimage(mc.features(kernel, X) @ COEF).points, atol=1e-7)


def test_a_minimum_at_infinity_does_not_converge():
    answer = preimage(-mc.mean(mc.features(mc.Gaussian(50.0), X)), Gradient())
    assert not answer.converged.any()
    assert np.isfinite(answer.points).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_iter": 0}, "max_iter"), ({"tol": -1.0}, "tol"), ({"memory": 0}, "memory"), ({"pull": -1.0}, "pull")],
)
def test_options_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        Gradient(**options)


def test_a_kernel_without_a_gradient_is_refused_with_a_remedy():
    psi = mc.features(mc.FunctionKernel(lambda A, B: A @ B.T), X)
    with pytest.raises(TypeError, match=r"Gradient needs a gradient, but FunctionKernel.*method='learned'"):
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
    counts = np.random.default_rng(3).random((30, 4)) * [0, 1, 1, 1]  # the first bin is always empty
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
