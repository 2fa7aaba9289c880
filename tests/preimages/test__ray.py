"""ray: the nearest multiple of a feature, of either sign, for radial and other kernels."""

import numpy as np
import pytest

import mercer as mc
from mercer.preimages import FixedPoint, Gradient, preimage, ray
from mercer.preimages.descent import Quotient

RNG = np.random.default_rng(0)
X = np.repeat([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]], 10, axis=0) + RNG.normal(0, 0.1, (30, 2))
COEF = RNG.normal(size=(30, 5)) * (RNG.random((30, 5)) < 0.4)
KERNELS = [
    mc.Gaussian(5.0),
    mc.Cauchy(3.0),
    mc.Matern(0.5, 0.5),
    mc.Matern(0.5, 1.5),
    mc.Polynomial(3),
    mc.Polynomial(2, 1.0, 0.0),
    mc.Gaussian(2.0) + mc.Linear(),
    3.0 * mc.Gaussian(5.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_multiple_and_distance_are_the_best_for_the_point_and_beat_every_point_of_psi(kernel):
    psi = mc.features(kernel, X) @ COEF
    answer = ray(psi)
    assert answer.converged.all(), answer.reason
    own, inner = kernel.diag(answer.points), psi(answer.points).diagonal()
    np.testing.assert_allclose(answer.scale, inner / own, rtol=1e-12)
    nearest = mc.features(kernel, answer.points) @ np.diag(answer.scale)
    np.testing.assert_allclose(
        answer.sqdist, mc.sqdist(psi, nearest, paired=True), rtol=1e-8, atol=1e-10
    )
    among = psi.norms() ** 2 - (psi(X) ** 2 / kernel.diag(X)[:, None]).max(axis=0)
    assert (answer.sqdist <= among + 1e-12 * psi.norms() ** 2).all()


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != mc.Matern(0.5, 0.5)], ids=repr)
def test_the_gradient_of_the_quotient_vanishes(kernel):
    psi = mc.features(kernel, X) @ COEF
    answer = ray(psi)
    gradient = Quotient(psi)(answer.points, np.arange(5))[1]
    assert np.abs(gradient).max() < 1e-3 * psi.norms().max() ** 2


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("factor", [-1.0, 7.0, -1e-3])
def test_multiples_of_a_vector_have_the_same_point(kernel, factor):
    psi = mc.features(kernel, X) @ COEF
    answer, other = ray(psi), ray(factor * psi)
    np.testing.assert_allclose(other.points, answer.points, atol=1e-4)
    np.testing.assert_allclose(other.scale, factor * answer.scale, rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_multiple_of_a_feature_is_found_exactly(kernel):
    answer = ray(mc.features(kernel, X)[:, :3] @ np.diag([2.0, -0.5, 1.0]))
    np.testing.assert_allclose(answer.sqdist, 0, atol=1e-12)
    np.testing.assert_allclose(np.abs(answer.scale[[0, 1, 2]]) > 0, True)


def test_fixed_point_and_gradient_agree():
    psi = mc.features(mc.Gaussian(5.0), X) @ COEF
    left, right = ray(psi, method=FixedPoint(tol=1e-9)), ray(psi, method=Gradient(tol=1e-9))
    np.testing.assert_allclose(left.points, right.points, atol=1e-6)
    np.testing.assert_allclose(left.sqdist, right.sqdist, rtol=1e-9)


def test_the_ray_is_at_least_as_near_as_the_pre_image_it_starts_from():
    psi = mc.features(mc.Polynomial(3), X) @ np.abs(COEF)
    nearest = preimage(psi)
    assert (ray(psi, start=nearest.points).sqdist <= nearest.sqdist + 1e-9 * psi.norms() ** 2).all()


def test_the_vector_0_gives_the_multiple_0():
    answer = ray(mc.features(mc.Gaussian(1.0), X) @ np.zeros((30, 1)))
    assert answer.scale == 0
    assert answer.sqdist == 0
    assert np.isfinite(answer.points).all()


def test_float32_points_give_float32_points():
    psi = mc.features(mc.Gaussian(5.0), X.astype(np.float32)) @ COEF.astype(np.float32)
    answer = ray(psi)
    assert answer.points.dtype == np.float32
    np.testing.assert_allclose(
        answer.scale, ray(mc.features(mc.Gaussian(5.0), X) @ COEF).scale, rtol=1e-4
    )


def test_wrong_arguments_are_refused_by_name():
    psi = mc.features(mc.Gaussian(5.0), X) @ COEF
    with pytest.raises(ValueError, match="pull"):
        ray(psi, method=FixedPoint(pull=1.0))
    with pytest.raises(ValueError, match="method = 'exact'"):
        ray(psi, method="exact")
    with pytest.raises(TypeError, match="needs a Radial kernel"):
        ray(mc.features(mc.Linear(), X), method="fixed_point")
    with pytest.raises(ValueError, match="start has shape"):
        ray(psi, start=X[:2])


def test_the_default_start_is_the_point_with_the_largest_quotient():
    kernel = mc.Polynomial(2, 1.0, 0.0)
    points = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 1.0]])
    psi = mc.features(kernel, points) @ np.array([[1.0, 0.0], [0.1, 0.1], [1.0, -2.0]])
    quotient = psi(points[1:]) ** 2 / kernel.diag(points[1:])[:, None]
    # with such a tolerance every start is stationary
    found = ray(psi, method=Gradient(tol=1e9, starts=1))
    np.testing.assert_array_equal(found.points, points[1:][quotient.argmax(axis=0)])


def test_auto_is_the_fixed_point_for_radial_kernels_and_the_gradient_for_others():
    assert ray(mc.features(mc.Gaussian(1.0), X)[:, :1]).method == FixedPoint()
    assert ray(mc.features(mc.Polynomial(2), X)[:, :1]).method == Gradient()
    assert ray(mc.features(mc.Gaussian(1.0), X)[:, :1], method="gradient").method == Gradient()


def test_a_feature_of_norm_0_has_the_multiple_0_and_the_distance_of_psi():
    psi = mc.features(mc.Linear(), np.array([[1.0, 2.0]]))
    # the origin is stationary, for psi has no influence there, and no restarts are allowed
    answer = ray(psi, start=np.zeros((1, 2)), method=Gradient(restarts=0))
    assert answer.scale == 0
    np.testing.assert_allclose(answer.sqdist, 5.0)
    assert not answer.converged.any()


def test_objects_are_refused_with_a_remedy_that_selects_one_of_them():
    psi = mc.mean(mc.features(mc.strings.Spectrum(1), ["aab", "ab", "bbbb"]))
    with pytest.raises(
        TypeError, match=r"over points in a list; mercer.reduce\(psi\[:, j\], 1, method='greedy'\)"
    ):
        ray(psi)
    chosen = mc.reduce(psi[:, 0], 1, method="greedy").expansion
    assert chosen.points[0] in psi.points
    assert mc.sqdist(psi, chosen)[0, 0] < psi.norms()[0] ** 2


def test_vectors_with_several_widths_or_kernels_have_rays_and_preimages_among_data(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    points = np.column_stack([rng.normal(size=(6, 2)), 0.8 + rng.random(6)])
    wide = mc.Expansion(mc.VariableWidthGaussian(0.5, 2), points, rng.normal(size=(6, 2)))
    kernel = mc.DirectSum(mc.Gaussian(0.5), mc.Laplacian(0.2) + mc.Gaussian(2.0), n_features=2)
    blocks = np.column_stack([rng.normal(size=(6, 2)), rng.integers(0, 2, 6)])
    several = mc.Expansion(kernel, blocks, rng.normal(size=(6, 2)))
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 81)] * 2), axis=-1).reshape(-1, 2)

    def by_hand(psi, Z):
        if psi is wide:
            squares = ((Z[:, None] - points[:, :2]) ** 2).sum(axis=2)
            return np.exp(-squares / (2 * points[:, 2] ** 2)) @ psi.coef, np.ones(len(Z))
        squares = ((Z[:, None] - blocks[:, :2]) ** 2).sum(axis=2)
        sums = np.abs(Z[:, None] - blocks[:, :2]).sum(axis=2)
        one = np.exp(-0.5 * squares) * (blocks[:, 2] == 0)
        two = (np.exp(-0.2 * sums) + np.exp(-2.0 * squares)) * (blocks[:, 2] == 1)
        return (one + two) @ psi.coef, np.full(len(Z), 3.0)

    for psi in (wide, several):
        values, own = by_hand(psi, grid)
        found = mc.ray(psi)
        assert found.points.shape == (2, 2)
        at, norm = by_hand(psi, found.points)
        np.testing.assert_allclose(found.scale, np.diag(at) / norm, rtol=1e-9)
        np.testing.assert_allclose(
            found.sqdist, psi.norms() ** 2 - np.diag(at) ** 2 / norm, rtol=1e-7, atol=1e-9
        )
        # no worse than all starts, and no point of the grid near it is better
        near = mc.ray(psi, start=found.points + 0.01)
        assert (near.sqdist <= found.sqdist + 1e-3).all()
        start = grid[np.argmax(values**2 / own[:, None], axis=0)]
        best = mc.ray(psi, start=start)
        highest = np.max(values**2 / own[:, None], axis=0)
        assert (best.sqdist <= psi.norms() ** 2 - highest + 1e-9).all()
        answer = mc.preimage(psi, start=start)
        at, norm = by_hand(psi, answer.points)
        np.testing.assert_allclose(
            answer.sqdist, psi.norms() ** 2 - 2 * np.diag(at) + norm, rtol=1e-7, atol=1e-9
        )
        at, norm = by_hand(psi, start)
        assert (answer.sqdist <= psi.norms() ** 2 - 2 * np.diag(at) + norm + 1e-9).all()


def test_a_ray_with_a_negative_squared_distance_is_warned_of_and_did_not_converge():
    kernel = mc.Sigmoid(0.3, -0.5)
    points = np.random.default_rng(5).normal(size=(30, 3))
    psi = mc.Expansion(kernel, points, np.sign(points[:, :1]))
    with pytest.warns(UserWarning, match="negative squared distances"):
        answer = ray(psi)
    difference = np.append(psi.coef[:, 0], -answer.scale)
    square = difference @ kernel(np.vstack([points, answer.points])) @ difference
    assert square < 0
    np.testing.assert_allclose(answer.sqdist, square)
    assert not answer.converged.any()


def test_a_conditionally_positive_definite_kernel_has_no_rays():
    psi = mc.Expansion(mc.kernels.PowerDistance(1.0), X, COEF - COEF.mean(axis=0))
    with pytest.raises(ValueError, match="rays need a positive semidefinite kernel"):
        ray(psi)
