"""FixedPoint: weighted means, stationary points for every kind of vector, never farther than the start, never NaN."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.reference.tall import Tall

import mercer as mc
from mercer.preimages import FixedPoint, Gradient, preimage
from mercer.preimages.descent import Distance
from mercer.preimages.fixed_point import _Secant, _WeightedMean, normalised, steps

SMOOTH = [
    mc.Gaussian(10.0),
    mc.Gaussian(0.5),
    mc.Matern(0.3, 1.5),
    mc.Matern(0.3, 2.5),
    mc.RationalQuadratic(0.3, 1.0),
    mc.Cauchy(5.0),
]
RADIAL = [*SMOOTH, mc.Matern(0.3, 0.5)]
KINDS = ["denoised", "eigenvector", "normal", "residual"]


def clusters(seed=0):
    rng = np.random.default_rng(seed)
    return np.repeat([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]], 30, axis=0) + rng.normal(
        0, 0.1, (90, 2)
    )


def block(kernel, kind, X=None):
    """Return vectors of one kind over the three clusters."""
    X = clusters() if X is None else X
    phi, n = mc.features(kernel, X), len(X)
    K = kernel(X)
    H = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, V = np.linalg.eigh(H.astype(float))
    V, values = V[:, -4:], values[-4:]
    project = V @ V.T
    project = project + (1 - project.sum(axis=0)) / n
    signs = np.where(np.arange(n) < 45, 1.0, -1.0)[:, None] * (np.arange(n) % 7 == 0)[:, None]
    coef = {
        "denoised": project[:, ::9],
        "eigenvector": (V / np.sqrt(values))[:, 1:] - (V / np.sqrt(values))[:, 1:].mean(axis=0),
        "normal": signs,
        "residual": (np.eye(n) - project)[:, ::30],
    }[kind]
    return phi @ coef.astype(X.dtype)


def value(psi, z):
    """Return |psi_j - phi(z_j)|^2."""
    return mc.sqdist(psi, mc.features(psi.kernel, z), paired=True)


def test_defaults_are_those_documented():
    assert FixedPoint() == FixedPoint(max_iter=500, tol=1e-6, restarts=3, pull=0.0, normalise=False)


@pytest.mark.parametrize("pull", [0.0, 0.7])
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.8), mc.Cauchy(0.5), mc.Matern(1.3, 2.5), Tall(0.8)], ids=repr
)
def test_value_and_step_are_those_of_the_weighted_mean_and_the_objective(kernel, pull):
    rng = np.random.default_rng(0)
    X, C, z, anchor = (
        rng.normal(size=(9, 2)),
        rng.uniform(0.1, 1, (9, 3)),
        rng.normal(size=(2, 2)),
        rng.normal(size=(3, 2)),
    )
    psi, columns = mc.Expansion(kernel, X, C), np.array([2, 0])
    value, step, valid = _WeightedMean(psi, pull, anchor, 1.0)(z, columns)
    assert valid.all()
    apart = z - anchor[columns]
    np.testing.assert_allclose(
        value,
        kernel.diag(z) - 2 * psi(z)[[0, 1], columns] + pull * (apart**2).sum(axis=1),
        rtol=1e-12,
    )
    s = ((z[:, None] - X) ** 2).sum(axis=2)
    # k'(s) by central differences
    h = 1e-5
    line = lambda s: kernel(np.sqrt(s).reshape(-1, 1), np.zeros((1, 1))).reshape(s.shape)  # noqa: E731
    weight = C.T[columns] * -2 * (line(s + h) - line(s - h)) / (2 * h)
    mean = (weight @ X + pull * anchor[columns]) / (weight.sum(axis=1) + pull)[:, None]
    np.testing.assert_allclose(z + step, mean, rtol=1e-7)


def test_steps_to_a_mean_with_a_cancelled_or_negative_denominator_are_invalid():
    force, none = np.ones((4, 2)), np.zeros(4)
    step, valid = steps(
        force, np.array([2.0, -2.0, 1e-9, 0.0]), np.array([2.0, 2.0, 2.0, 0.0]), none
    )
    assert valid.tolist() == [True, False, False, False]
    np.testing.assert_allclose(step, [[0.5, 0.5], [0, 0], [0, 0], [0, 0]])


def test_steps_at_a_kink_are_shortened_by_its_slope_and_0_where_the_slope_is_larger_than_the_force():
    force = np.array(
        [
            [3.0, 4.0],
            [3.0, 4.0],
            [3.0, 4.0],
            [0.0, 0.0],
            [3.0, 4.0],
            [3.0, 4.0],
            [0.0, 0.0],
            [0.0, 0.0],
        ]
    )
    # the last point coincides with the only one, whose weight is infinite and left out
    denominator, weight = (
        np.array([2.0, 2, -1, 2, -1, 2, 2, 0]),
        np.array([2.0, 2, 4, 2, 0.5, 2, 2, 0]),
    )
    step, valid = steps(force, denominator, weight, np.array([2.0, 6, 2, 1, 2, -2, 0, 1]))
    # |force| = 5: the share 1 - 2 / 5 of the force is left, over the denominator or, where that is bad, the weight
    share = np.array([0.3, 0, 0.15, 0, 1.2, 0.5, 0, 0])
    np.testing.assert_allclose(step, share[:, None] * [3.0, 4.0], atol=1e-15)
    assert valid.all()


def test_the_secant_rule_extrapolates_first_then_takes_the_plain_step_and_then_halves_it():
    rule = _Secant((1, 2), 100.0)
    row, v = np.array([0]), np.array([[1.0, 0.5]])
    z, steps_of = (
        np.array([[1.0, 1.0]]),
        lambda failures: rule.propose(row, z, v, np.array([failures]))[0] - z,
    )
    np.testing.assert_allclose(steps_of(0), v)
    np.testing.assert_allclose(steps_of(2), v / 4)
    moved, before = np.array([[2.0, 1.0]]), np.array([[2.0, 1.5]])
    rule.accept(row, moved, before, None)
    change = v - before
    share = (v * change).sum() / (change**2).sum()
    np.testing.assert_allclose(steps_of(0), v - share * (moved + change))
    np.testing.assert_allclose(steps_of(1), v)
    np.testing.assert_allclose(steps_of(3), v / 4)
    rule.forget(row)
    np.testing.assert_allclose(steps_of(0), v)


def test_extrapolated_steps_are_at_most_half_the_spread_and_never_against_the_plain_step():
    row, v, z = np.array([0]), np.array([[1.0, 0.0]]), np.zeros((1, 2))
    rule = _Secant((1, 2), 6.0)
    rule.accept(row, np.array([[1.0, 0.0]]), np.array([[1.1, 0.0]]), None)
    np.testing.assert_allclose(rule.propose(row, z, v, np.array([0]))[0], [[3.0, 0.0]])
    # a plain step longer than half the spread is allowed
    short = _Secant((1, 2), 0.1)
    short.accept(row, np.array([[1.0, 0.0]]), np.array([[1.1, 0.0]]), None)
    np.testing.assert_allclose(short.propose(row, z, v, np.array([0]))[0], v)
    # a vector that grew would extrapolate backwards
    rule.accept(row, np.array([[1.0, 0.0]]), np.array([[0.9, 0.0]]), None)
    np.testing.assert_allclose(rule.propose(row, z, v, np.array([0]))[0], v)


def test_normalised_vectors_have_the_norm_of_features_and_0_stays_0():
    psi = mc.features(Tall(1.0), clusters()) @ np.array([[5.0, 0.0]] + [[0.0, 0.0]] * 89)
    np.testing.assert_allclose(normalised(psi).norms(), [3**0.5, 0.0])


def test_a_point_has_converged_when_the_plain_step_is_at_most_tol_times_the_spread():
    psi = mc.mean(mc.features(mc.Gaussian(0.1), np.array([[-1.0], [1.0]])))
    for start, converged in ((1e-3, True), (1.0, False)):
        found = FixedPoint(max_iter=1, tol=2e-3).find(psi, np.array([[start]]))
        assert found.converged.tolist() == [converged]
        assert found.n_iter == (0 if converged else 1)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_vector_converges_to_a_point_nearer_than_every_point_of_psi(kernel, kind):
    psi = block(kernel, kind)
    answer = preimage(psi, FixedPoint())
    assert answer.converged.all(), answer.reason
    nearest = mc.sqdist(psi, mc.features(kernel, psi.points)).min(axis=1)
    assert (answer.sqdist <= nearest + 1e-12 * psi.norms() ** 2).all()


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_vanishes_where_it_has_converged(kernel, kind):
    psi = block(kernel, kind)
    answer = preimage(psi, FixedPoint(tol=1e-9))
    gradient = Distance(psi, 0.0, answer.points)(answer.points, np.arange(len(psi)))[1]
    assert np.abs(gradient).max() < 1e-6 * max(1, np.abs(psi.coef).sum())
    assert answer.converged.all(), answer.reason


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_an_outside_optimiser_from_the_answer_finds_nothing_nearer(kernel, kind):
    psi = block(kernel, kind)
    answer = preimage(psi, FixedPoint())
    for j in range(min(len(psi), 2)):
        polished = minimize(
            lambda z, j=j: -2 * psi(z[None])[0, j], answer.points[j], method="Nelder-Mead"
        )
        assert value(psi[:, j], polished.x[None])[0] >= answer.sqdist[j] - 1e-8 * psi.norms()[j]


def test_a_kernel_with_a_kink_converges_to_a_point_of_psi_where_it_is_the_minimum():
    # the slope of the other term is below that of the kink at x, so x is the minimum
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    psi = mc.features(mc.Matern(1.0, 0.5), X) @ np.array([1.0, 0.3])
    answer = preimage(psi, FixedPoint())
    np.testing.assert_array_equal(answer.points, X[:1])
    assert answer.converged.all()
    ring = 0.01 * np.column_stack([np.cos(np.arange(12)), np.sin(np.arange(12))])
    assert (mc.sqdist(psi, mc.features(psi.kernel, ring)) > answer.sqdist).all()


def test_a_kernel_with_a_kink_leaves_a_point_of_psi_with_a_small_coefficient():
    X = np.array([[0.0, 0.0], [0.3, 0.2], [0.3, -0.2], [0.35, 0.1], [0.35, -0.1]])
    psi = mc.features(mc.Matern(1.0, 0.5), X) @ np.array([0.5, 1.0, 1.0, 1.0, 1.0])
    answer = preimage(psi, FixedPoint(), X[:1])
    assert answer.points[0, 0] > 0.25
    assert answer.converged.all()


@pytest.mark.parametrize("gamma", [0.01, 0.5, 5.0, 500.0, 5e4])
@pytest.mark.parametrize("distance", [1, 10, 1e3, 1e6])
def test_far_starts_give_no_nan_and_no_point_farther_than_the_start(gamma, distance):
    rng = np.random.default_rng(4)
    start = distance * rng.normal(size=(200, 2))
    psi = block(mc.Gaussian(gamma), "denoised")
    psi = psi[:, rng.integers(0, len(psi), 200)]
    answer = preimage(psi, "fixed_point", start)
    assert np.isfinite(answer.points).all()
    assert (answer.sqdist <= value(psi, start) + 1e-12).all()
    assert answer.converged.all(), answer.reason


def test_a_vector_with_negative_inner_products_is_reported_with_the_reason():
    phi = mc.features(mc.Gaussian(1.0), clusters())
    answer = preimage(-phi[:, :2], "fixed_point")
    assert not answer.converged.any()
    assert "2 of 2 did not converge: 2: the denominator is near zero" in answer.reason
    assert np.isfinite(answer.points).all()


def test_too_few_iterations_are_reported():
    answer = preimage(
        block(mc.Gaussian(10.0), "denoised"), FixedPoint(max_iter=1, tol=1e-12, starts=1)
    )
    assert not answer.converged.all()
    assert "max_iter = 1 reached" in answer.reason
    assert answer.n_iter.max() == 1


def test_the_default_start_is_the_nearest_point_in_feature_space():
    psi = block(mc.Gaussian(10.0), "denoised")
    first = psi.points[mc.sqdist(psi, mc.features(psi.kernel, psi.points)).argmin(axis=1)]
    np.testing.assert_array_equal(
        preimage(psi, FixedPoint(starts=1)).points, preimage(psi, start=first).points
    )


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_a_rigid_motion_of_the_points_moves_the_pre_images(kernel):
    angle = 0.7
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    here = preimage(block(kernel, "denoised"), FixedPoint(tol=1e-9))
    there = preimage(
        block(kernel, "denoised", clusters() @ rotation.T + [30.0, -50.0]), FixedPoint(tol=1e-9)
    )
    np.testing.assert_allclose(there.points, here.points @ rotation.T + [30.0, -50.0], atol=1e-6)
    np.testing.assert_allclose(there.sqdist, here.sqdist, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_gives_the_points_of_its_columns(kind):
    psi = block(mc.Gaussian(10.0), kind)
    together = preimage(psi, FixedPoint(tol=1e-8))
    alone = [preimage(psi[:, j], FixedPoint(tol=1e-8)).points[0] for j in range(len(psi))]
    np.testing.assert_allclose(together.points, alone, atol=1e-7)


def test_float32_points_give_float32_pre_images_with_float64_distances():
    exact = preimage(block(mc.Gaussian(10.0), "denoised"))
    answer = preimage(block(mc.Gaussian(10.0), "denoised", clusters().astype(np.float32)))
    assert answer.points.dtype == np.float32
    assert answer.sqdist.dtype == np.float64
    np.testing.assert_allclose(answer.points, exact.points, atol=1e-4)
    np.testing.assert_allclose(answer.sqdist, exact.sqdist, atol=1e-5)


def test_a_large_pull_keeps_the_start_and_a_tiny_one_changes_nothing():
    psi = block(mc.Gaussian(10.0), "denoised")
    start = psi.points[::9] + 0.05
    np.testing.assert_allclose(preimage(psi, FixedPoint(pull=1e9), start).points, start, atol=1e-6)
    np.testing.assert_allclose(
        preimage(psi, FixedPoint(pull=1e-12), start).points,
        preimage(psi, FixedPoint(), start).points,
        atol=1e-5,
    )


def test_a_pull_and_the_gradient_method_agree():
    psi = block(mc.Gaussian(10.0), "denoised")
    start = psi.points[::9] + 0.05
    left = preimage(psi, FixedPoint(pull=2.0), start)
    np.testing.assert_allclose(
        left.points, preimage(psi, Gradient(pull=2.0, tol=1e-9), start).points, atol=1e-5
    )


def test_normalising_matters_only_with_a_pull():
    psi = 0.1 * block(mc.Gaussian(10.0), "denoised")
    start = psi.points[::9] + 0.05
    np.testing.assert_allclose(
        preimage(psi, FixedPoint(normalise=True), start).points,
        preimage(psi, FixedPoint(), start).points,
        atol=1e-5,
    )
    scaled = psi @ np.diag(1 / psi.norms())
    np.testing.assert_allclose(
        preimage(psi, FixedPoint(pull=1.0, normalise=True), start).points,
        preimage(scaled, FixedPoint(pull=1.0), start).points,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter"),
        ({"tol": 0.0}, "tol"),
        ({"restarts": -1}, "restarts"),
        ({"pull": -1.0}, "pull"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        FixedPoint(**options)


def test_a_kernel_that_is_not_radial_is_refused_with_a_remedy():
    psi = mc.features(mc.Polynomial(3), clusters())
    with pytest.raises(
        TypeError, match=r"needs a Radial kernel.*got Polynomial.*method='gradient'"
    ):
        preimage(psi, "fixed_point")


def test_a_composite_radial_kernel_has_the_fixed_points_of_the_gaussian_that_it_is():
    rng = np.random.default_rng(5)
    points, coef = rng.normal(size=(20, 2)), rng.random((20, 2))
    answers = [
        preimage(mc.Expansion(kernel, points, coef), FixedPoint())
        for kernel in (mc.Gaussian(0.4), 2 * mc.Gaussian(0.2) ** 2)
    ]
    np.testing.assert_allclose(answers[1].points, answers[0].points, rtol=1e-6)
    np.testing.assert_allclose(answers[1].sqdist, 2 * answers[0].sqdist, rtol=1e-9)
