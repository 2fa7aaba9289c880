"""Images: kernels of other points, whose rules are resolved on these points."""

from dataclasses import dataclass

import numpy as np

import mercer as mc
from mercer.kernels.mapped import Image

X = np.random.default_rng(0).standard_normal((9, 3))


@dataclass(frozen=True, eq=False)
class Squares(Image):
    """Kernel of squared coordinates."""

    def _image(self, points):
        return points**2


def test_values_rules_and_products_are_those_of_the_images():
    kernel = Squares(mc.Gaussian("scale")).resolve(X)
    inner = mc.Gaussian("scale").resolve(X**2)
    assert kernel.kernel == inner
    np.testing.assert_array_equal(kernel(X), inner(X**2))
    np.testing.assert_array_equal(kernel.diag(X), np.ones(9))
    np.testing.assert_allclose(
        mc.Gram(kernel, X, X[:4]) @ np.ones(4), inner(X**2, X[:4] ** 2).sum(axis=1), rtol=1e-14
    )


def test_points_are_mapped_once_for_all_tiles_and_diagonals_of_blocks_stay_exact(costs):
    calls = []

    @dataclass(frozen=True, eq=False)
    class Counted(Squares):
        def _image(self, points):
            calls.append(len(points))
            return super()._image(points)

    costs(BLOCK=8 * len(X))
    kernel = Counted(mc.Gaussian(0.5))
    G = mc.Gram(kernel, X)
    K = G.dense()
    assert (np.diagonal(K) == 1).all()
    np.testing.assert_allclose(G @ np.eye(9), K, rtol=1e-13)
    assert sum(calls) == 9
