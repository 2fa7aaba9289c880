"""Gradients of kernel values and of their derivatives along directions, against differences of jets."""

import numpy as np
import pytest
from tests.manifold.test_planes import KERNELS
from tests.reference.derivatives import central

import mercer as mc
from mercer.manifold.jets import Planes
from mercer.manifold.rules import jet, pullback

RULED = [kernel for kernel in KERNELS if not isinstance(kernel, mc.Rescaled)] + [
    mc.Matern(1.0, 1.5)
]


@pytest.mark.parametrize("kernel", RULED, ids=repr)
def test_gradients_are_those_of_differences(kernel, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, planes = rng.normal(size=(4, 3)), Planes(rng.normal(size=(5, 3)), rng.normal(size=(5, 2, 3)))
    W, V = rng.normal(size=(4, 5)), rng.normal(size=(4, 5, 2))

    def weighted(X):
        found = jet(kernel, Planes(X, np.zeros((4, 0, 3))), planes, (0, 1))
        values, slopes = found.term(0, 0).reshape(4, 5), found.term(0, 1).reshape(4, 5, 2)
        return (W * values).sum(axis=1) + np.einsum("nma,nma->n", V, slopes)

    expected = central(weighted, X)
    found = pullback(kernel, X, planes, W, V)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * abs(expected).max() + 1e-12)
    # without directions it is the gradient of the kernel
    np.testing.assert_allclose(
        pullback(kernel, X, planes, W, 0 * V), kernel.vjp(X, planes.points, W), atol=1e-10
    )


def test_a_point_on_a_plane_of_a_kernel_with_a_singular_second_derivative_has_a_finite_gradient():
    planes = Planes(np.eye(2), np.ones((2, 1, 2)))
    found = pullback(mc.Matern(1.0, 1.5), np.eye(2), planes, np.ones((2, 2)), np.ones((2, 2, 1)))
    assert np.isfinite(found).all()


def test_other_kernels_are_refused():
    planes = Planes(np.eye(2), np.ones((2, 1, 2)))
    for kernel in (mc.Laplacian(1.0), mc.Intersection()):
        with pytest.raises(
            TypeError, match="has no gradient of its derivatives along directions; use a kernel of"
        ):
            pullback(kernel, np.eye(2), planes, np.ones((2, 2)), np.ones((2, 2, 1)))
