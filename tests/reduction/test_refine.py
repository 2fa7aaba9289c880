"""Refine: gradients against differences in extended precision, true reduced sets found, no error above the start."""

import numpy as np
import pytest
from tests.reference import naive

import mercer as mc
from mercer.reduction import Construct, Target, reduce, refine
from mercer.reduction.refine import Captured, Refine

RNG = np.random.default_rng(0)
X = np.repeat(RNG.normal(size=(6, 3)), 10, axis=0) + RNG.normal(0, 0.3, (60, 3))
C = RNG.normal(size=(60, 4))
Z = RNG.normal(size=(4, 3))
KERNELS = [
    mc.Gaussian(0.5),
    mc.Cauchy(0.5),
    mc.Matern(1.0, 2.5),
    mc.Polynomial(3, 0.3, 1.0),
    mc.Sigmoid(0.05, 0.5),
]
MORE = [
    mc.Matern(1.0, 0.5),
    mc.Laplacian(0.4),
    mc.Gaussian(0.5) + mc.Linear(),
    mc.Normalized(mc.Polynomial(2)),
]


def _captured(kernel, Z):
    """-tr B' K^-1 B in long doubles, the inverse by elimination."""
    K, B = naive.gram(kernel, Z, Z), naive.gram(kernel, Z, X) @ C.astype(np.longdouble)
    total = np.longdouble(0)
    K, B = K.copy(), B.copy()
    for j in range(len(K)):
        total += (B[j] ** 2).sum() / K[j, j]
        share = K[j + 1 :, j] / K[j, j]
        B[j + 1 :] -= share[:, None] * B[j]
        K[j + 1 :] -= share[:, None] * K[j]
    return -total


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_value_and_gradient_are_those_of_the_formula(kernel):
    value, gradient = Captured(Target(mc.Expansion(kernel, X, C)))(Z)
    np.testing.assert_allclose(value, float(_captured(kernel, Z)), rtol=1e-7)
    step = np.longdouble(1e-5)
    for i, k in ((0, 0), (1, 2), (3, 1)):
        ahead, behind = Z.astype(np.longdouble), Z.astype(np.longdouble)
        ahead[i, k] += step
        behind[i, k] -= step
        slope = float((_captured(kernel, ahead) - _captured(kernel, behind)) / (2 * step))
        np.testing.assert_allclose(
            gradient[i, k], slope, rtol=1e-5, atol=1e-7 * np.abs(gradient).max()
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS[:4] + MORE, ids=repr)
def test_refined_points_have_a_smaller_error_than_those_they_started_from(kernel, dtype):
    psi = mc.Expansion(kernel, X.astype(dtype), C.astype(dtype))
    start, refined = reduce(psi, 4), reduce(psi, 4, method="refine")
    assert refined.expansion.shape == (4, 4)
    assert refined.expansion.points.dtype == dtype
    if kernel == MORE[0]:
        # all points are at kinks of the kernel, and short steps away do not lower the error
        assert refined.history[-1] <= start.history[-1] * (1 + 4 * np.finfo(dtype).eps)
    else:
        assert refined.history[-1] < 0.999 * start.history[-1]
    np.testing.assert_allclose(refined.history[:-1], start.history[:-1], rtol=1e-6)
    squares = psi.norms().astype(float) ** 2
    np.testing.assert_allclose(
        np.sqrt(refined.relative_error**2 @ squares / squares.sum()), refined.history[-1], rtol=1e-4
    )


@pytest.mark.parametrize("columns", [1, 5])
def test_an_expansion_over_five_points_is_recovered(columns, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    true = 4 * rng.normal(size=(5, 3))
    # each feature is repeated six times, with coefficients that add up
    points, coef = np.repeat(true, 6, axis=0), rng.normal(size=(30, columns))
    psi = mc.Expansion(mc.Gaussian(0.3), points, coef)
    answer = reduce(psi, 5, method=Refine(max_iter=1000, tol=1e-15))
    assert answer.relative_error.max() < 1e-6
    nearest = np.sqrt(((true[:, None] - answer.expansion.points) ** 2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose(nearest, 0, atol=1e-4)


def test_the_gradient_vanishes_at_the_end():
    target = Target(mc.Expansion(mc.Gaussian(0.5), X, C))
    answer = reduce(target.original, 4, method=Refine(max_iter=1000, tol=1e-15))
    before, after = (Captured(target)(points)[1] for points in (Z, answer.expansion.points))
    assert np.abs(after).max() < 1e-4 * np.abs(before).max()


def test_the_points_that_reach_the_tolerance_are_refined_below_it():
    psi = mc.Expansion(mc.Gaussian(0.5), X, C)
    start, refined = reduce(psi, tol=0.3), reduce(psi, tol=0.3, method=Refine())
    assert refined.expansion.shape == start.expansion.shape
    assert refined.history[-1] < start.history[-1]


@pytest.mark.parametrize("after", [0, 5])
def test_an_interrupted_refinement_keeps_the_best_points_so_far(after, monkeypatch):
    psi = mc.Expansion(mc.Gaussian(0.5), X, C)
    plain, calls = Captured.__call__, []

    def interrupted(self, points):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return plain(self, points)

    monkeypatch.setattr(Captured, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        reduce(psi, 6, method=Refine())
    kept, start = caught.value.reduction, reduce(psi, 6)
    assert kept.expansion.shape == (6, 4)
    if after:
        assert kept.history[-1] < start.history[-1]
    else:
        np.testing.assert_allclose(kept.history, start.history, rtol=1e-9)


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match="start = .* must be a record"):
        Refine(start=Construct)
    with pytest.raises(ValueError, match="max_iter = 0"):
        Refine(max_iter=0)
    with pytest.raises(TypeError, match="selects points of psi"):
        reduce(
            mc.Expansion(mc.Precomputed(np.eye(5)), np.arange(5), np.ones(5)), 2, method="refine"
        )


@pytest.mark.parametrize("kernel", [mc.Chi2(0.5), mc.Intersection()], ids=repr)
def test_points_of_kernels_of_histograms_stay_non_negative(kernel, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    # half of all entries are at the bound 0
    X = np.maximum(rng.normal(size=(40, 5)), 0)
    psi = mc.Expansion(kernel, X, rng.normal(size=(40, 2)))
    refined = reduce(psi, 6, method="refine")
    assert refined.expansion.points.min() >= 0
    assert refined.history[-1] <= reduce(psi, 6).history[-1] * (1 + 1e-12)


def test_defaults_are_those_documented():
    assert Refine() == Refine(start=Construct(), max_iter=100, tol=1e-9)


def test_an_expansion_over_coinciding_points_has_finite_values():
    target = Target(mc.Expansion(KERNELS[0], X, C))
    value, gradient = Captured(target)(np.repeat(Z[:1], 3, axis=0))
    # the ridge is 1e-10 of the mean diagonal: the value is that of one point
    np.testing.assert_allclose(value, Captured(target)(Z[:1])[0], rtol=1e-6)
    assert np.isfinite(gradient).all()


def test_the_number_of_steps_is_limited():
    psi, calls = mc.Expansion(mc.Gaussian(0.5), X, C), []

    class Counted(Captured):
        def __call__(self, Z):
            calls.append(1)
            return super().__call__(Z)

    target = Target(psi)
    descent = refine.Descent(Counted(target), Z, 1.0, target.squares.sum(), (-np.inf, np.inf))
    descent.run(5, 1e-15)
    assert 5 <= len(calls) <= 11


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_ridge_of_a_share_of_1e_10_is_added_to_the_diagonal(scale):
    psi = mc.Expansion(scale * mc.Gaussian(0.5), X, C)
    inner = psi(Z[:1])[0]
    np.testing.assert_allclose(
        Captured(Target(psi))(Z[:1])[0], -inner @ inner / (scale * (1 + 1e-10)), rtol=1e-13
    )


def test_the_result_is_no_worse_than_a_start_with_a_tiny_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    psi = mc.Expansion(mc.Gaussian(1e-3), X, rng.normal(size=(12, 1)))
    for start in (mc.Greedy(), mc.Pivoted()):
        before, after = (mc.reduce(psi, 11, method=method) for method in (start, mc.Refine(start)))
        assert after.history[-1] <= before.history[-1] < 1e-4
