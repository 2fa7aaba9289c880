"""Jets at planes are the jets of rows, contracted with the directions, for all pairs."""

import numpy as np
import pytest

import mercer as mc
from mercer.manifold.jets import Planes
from mercer.manifold.rules import jet

A = np.array([[1.0, 0.2, 0.0], [0.0, 0.5, 1.0]])
FACTOR = mc.Expansion(
    mc.Gaussian(0.4), np.array([[0.2, 0.4, 0.9], [0.7, 0.1, 0.3]]), np.array([1.0, 0.5])
)
KERNELS = [
    mc.Gaussian(0.3),
    mc.Matern(1.5, 2.5),
    mc.RationalQuadratic(1.2, 0.7),
    mc.Polynomial(3, 0.5, 1.0),
    mc.Sigmoid(0.1, 0.2),
    mc.Constant(2.5),
    mc.Gaussian(0.3) + 2 * mc.Linear() + 1,
    mc.Gaussian(0.3) * mc.Polynomial(2),
    (mc.Gaussian(0.2) + mc.Linear()) ** 3,
    mc.Exp(0.3 * mc.Linear()),
    mc.Normalized(mc.Polynomial(2) + mc.Gaussian(0.3)),
    mc.Rescaled(mc.Gaussian(0.3), FACTOR),
    mc.Mapped(mc.Gaussian(0.3), A),
    mc.Mapped(mc.Polynomial(2), np.array([1.0, 0.5, 2.0])),
    mc.Mapped(mc.Cauchy(0.3), np.array([2, 0])),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 1)])
def test_terms_are_those_of_rows_along_the_directions(kernel, order, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    left = Planes(rng.normal(size=(3, 3)), rng.normal(size=(3, 2, 3)))
    right = Planes(rng.normal(size=(4, 3)), rng.normal(size=(4, 2, 3)))
    found = jet(kernel, left, right, order)
    pairs = jet(kernel, np.repeat(left.points, 4, axis=0), np.tile(right.points, (3, 1)), order)
    T, S = np.repeat(left.directions, 4, axis=0), np.tile(right.directions, (3, 1, 1))
    expected = {
        (0, 0): pairs.term(0, 0),
        (1, 0): np.einsum("nad,nd->na", T, pairs.term(1, 0)),
        (0, 1): np.einsum("nad,nd->na", S, pairs.term(0, 1)),
        (1, 1): np.einsum("nad,nde,nbe->nab", T, pairs.term(1, 1), S),
    }
    for key, values in expected.items():
        if key[0] <= order[0] and key[1] <= order[1]:
            np.testing.assert_allclose(
                found.term(*key), values, rtol=1e-10, atol=1e-12, err_msg=str(key)
            )


def test_equal_points_are_at_distance_0_wherever_they_lie():
    points = 1e6 + np.random.default_rng(0).normal(size=(3, 4))
    line = Planes(points, np.eye(4)[None, :1].repeat(3, axis=0))
    found = jet(mc.Matern(1.0, 1.5), line, line, (1, 1))
    np.testing.assert_array_equal(found.term(0, 0)[::4], 1.0)
    # the metric of a radial kernel, -2 f'(0)
    np.testing.assert_allclose(found.term(1, 1)[::4, 0, 0], 3.0, rtol=1e-6)


def test_some_planes_can_be_taken():
    planes = Planes(np.eye(3), np.ones((3, 2, 3)))
    assert planes.take(slice(1, 3)).points.shape == (2, 3)
    assert planes.take(slice(1, 3)).directions.shape == (2, 2, 3)


def test_a_feature_map_has_no_rule_for_planes():
    line = Planes(np.eye(2), np.ones((2, 1, 2)))
    with pytest.raises(TypeError, match=r"no derivatives along planes; use Mapped"):
        jet(mc.FeatureMap(np.sin, np.cos), line, line, (1, 1))
