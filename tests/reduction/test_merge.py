"""Merge: the best pair by brute force, the best point on its line, and its errors."""

import itertools

import numpy as np
import pytest
from tests.reference.tall import Tall

import mercer as mc
from mercer.reduction import reduce
from mercer.reduction.base import Target
from mercer.reduction.merge import Merge, _Pairs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
KERNELS = [mc.Gaussian(0.5), mc.Cauchy(0.5), mc.Matern(1.0, 1.5), Tall(0.5)]


def _loss(kernel, points, coef, shares):
    """Return the loss of replacing a pair of terms by the best of some points of the line between them."""
    pair = mc.Expansion(kernel, points, coef)
    h = np.reshape(shares, (-1, 1))
    z = h * points[:1] + (1 - h) * points[1:]
    return float((pair.norms() ** 2).sum() - ((pair(z) ** 2).sum(axis=1) / kernel.diag(z)).max())


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_first_pair_has_the_smallest_loss_and_its_point_is_the_best_on_the_line(
    kernel, columns
):
    C = RNG.normal(size=(12, columns))
    pairs = _Pairs(Target(mc.Expansion(kernel, X, C)), 201)
    losses = {
        (i, j): _loss(kernel, X[[i, j]], C[[i, j]], np.linspace(0, 1, 201))
        for i, j in itertools.combinations(range(12), 2)
    }
    np.testing.assert_allclose(pairs.least.min(), min(losses.values()), rtol=1e-8)
    pairs.merge()
    merged = tuple(np.setdiff1d(np.arange(12), pairs.remaining()))
    assert merged == min(losses, key=losses.__getitem__)
    kept = pairs.points[12]
    h = np.linalg.norm(kept - X[merged[1]]) / np.linalg.norm(X[merged[0]] - X[merged[1]])
    assert _loss(kernel, X[list(merged)], C[list(merged)], h) <= losses[merged] + 1e-9
    psi = mc.Expansion(kernel, X[list(merged)], C[list(merged)])
    np.testing.assert_allclose(
        pairs.coef[pairs.slots == 12], psi(kept[None]) / kernel.diag(kept[None]), rtol=1e-6
    )


def test_partners_have_the_smallest_loss_after_many_merges():
    C = RNG.normal(size=(12, 2))
    pairs = _Pairs(Target(mc.Expansion(KERNELS[0], X, C)), 9)
    for _ in range(7):
        pairs.merge()
    rows, slots = pairs.remaining(), np.flatnonzero(pairs.alive)
    losses = {
        (i, j): _loss(KERNELS[0], pairs.points[rows[[i, j]]], pairs.coef[slots[[i, j]]], pairs.h)
        for i, j in itertools.combinations(range(5), 2)
    }
    assert len(rows) == 5
    for i, slot in enumerate(slots):
        least = min(loss for pair, loss in losses.items() if i in pair)
        np.testing.assert_allclose(pairs.least[slot], least, rtol=1e-7)
        np.testing.assert_allclose(pairs.loss[slot, pairs.partner[slot]], pairs.least[slot])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_reduced_sets_have_errors_below_1_that_fall_with_their_size(kernel, dtype):
    points = np.repeat(RNG.normal(size=(5, 2)), 8, axis=0) + RNG.normal(0, 0.1, (40, 2))
    psi = mc.Expansion(kernel, points.astype(dtype), RNG.normal(size=(40, 3)).astype(dtype))
    answer = reduce(psi, 15, method="merge")
    assert answer.expansion.points.dtype == dtype
    assert answer.sizes[-1] == 15
    assert answer.sizes[0] == 1
    assert answer.history[-1] < answer.history[0] < 1
    squares = psi.norms().astype(float) ** 2
    joint = np.sqrt(answer.relative_error**2 @ squares / squares.sum())
    np.testing.assert_allclose(joint, answer.history[-1], rtol=1e-3)


def test_equal_points_are_merged_without_loss():
    points = np.repeat(4 * RNG.normal(size=(5, 2)), 6, axis=0)
    psi = mc.Expansion(mc.Gaussian(0.5), points, RNG.normal(size=(30, 2)))
    assert reduce(psi, 5, method="merge").relative_error.max() < 1e-6


def test_a_refinement_can_start_from_merged_points():
    psi = mc.Expansion(mc.Gaussian(0.5), RNG.normal(size=(40, 2)), RNG.normal(size=(40, 3)))
    merged, refined = (
        reduce(psi, 6, method=method) for method in (Merge(), mc.reduction.Refine(start=Merge()))
    )
    assert refined.history[-1] < merged.history[-1]


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match="Merge needs a Radial kernel"):
        reduce(mc.Expansion(mc.Linear(), X, np.ones(12)), 3, method="merge")
    with pytest.raises(ValueError, match="steps = 2"):
        Merge(steps=2)
    with pytest.raises(MemoryError, match="distances and losses of the pairs of 12 points"):
        reduce(mc.Expansion(mc.Gaussian(0.5), X, np.ones(12)), 3, method=Merge(memory=2000))


def test_defaults_are_those_documented():
    assert Merge() == Merge(steps=9, memory="1GB")


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "coef", [[[1.0], [0.2]], [[0.1], [1.0]], [[1.0], [1.1]], [[1.0], [-0.4]]], ids=str
)
def test_the_share_of_a_pair_is_the_best_on_the_line_however_coarse_the_grid(kernel, coef):
    points = np.array([[0.0, 0.0], [0.9, 0.0]])
    pairs = _Pairs(Target(mc.Expansion(kernel, points, np.array(coef))), 3)
    h = pairs._best(0, 1, 0.81)
    fine = np.linspace(0, 1, 251)
    losses = [_loss(kernel, points, np.array(coef), share) for share in fine]
    assert _loss(kernel, points, np.array(coef), h) <= min(losses) + 1e-9
    assert abs(h - fine[np.argmin(losses)]) < 4e-3 or min(losses) > losses[0] - 1e-12


def test_distances_to_merged_points_are_those_of_the_points():
    pairs = _Pairs(Target(mc.Expansion(KERNELS[0], X, RNG.normal(size=(12, 2)))), 9)
    for _ in range(5):
        pairs.merge()
    slots = np.flatnonzero(pairs.alive)
    points = pairs.points[pairs.slots[slots]]
    exact = ((points[:, None] - points) ** 2).sum(axis=2)
    off = ~np.eye(len(slots), dtype=bool)
    np.testing.assert_allclose(pairs.sqdist[np.ix_(slots, slots)][off], exact[off], atol=1e-12)


def test_stages_shrink_by_a_fourteenth_at_least_and_their_number_is_that_of_the_sizes():
    psi = mc.Expansion(mc.Gaussian(0.5), RNG.normal(size=(60, 2)), RNG.normal(size=(60, 1)))
    sizes = [len(stage.rows) for stage in Merge().find(Target(psi), 50, 0.0)]
    assert sizes[-1] == 50
    assert sizes[0] == 1
    expected = [50]
    while expected[-1] > 1:
        expected.append(int(0.93 * expected[-1]))
    assert sizes == expected[::-1]


def test_a_large_set_of_pairs_is_computed_in_blocks():
    points = RNG.normal(size=(130, 2))
    psi = mc.Expansion(mc.Gaussian(0.5), points, RNG.normal(size=(130, 2)))
    pairs = _Pairs(Target(psi), 5)
    for i, j in ((0, 1), (63, 64), (100, 129)):
        expected = _loss(psi.kernel, points[[i, j]], psi.coef[[i, j]], pairs.h)
        np.testing.assert_allclose(pairs.loss[i, j], expected, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(pairs.loss[j, i], expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        2 * mc.Gaussian(0.5) ** 2,
        mc.Gaussian(0.5) + 1.0,
        mc.Mapped(mc.Gaussian(0.5), np.array([2.0, 0.5])),
        3 * mc.Mapped(mc.Matern(2.0), np.array([[1.0, 1.0], [0.0, 2.0]])),
    ],
    ids=repr,
)
def test_kernels_made_of_radial_kernels_merge_with_the_losses_that_are_reported(kernel):
    X = np.random.default_rng(0).standard_normal((20, 2))
    psi = mc.mean(mc.features(kernel, X))
    answer = mc.reduce(psi, 4, method=mc.Merge())
    gap = (psi - answer.expansion).norms() / psi.norms()
    np.testing.assert_allclose(answer.relative_error, gap, rtol=1e-6)
    # merging is better than four of the points
    assert gap < mc.reduce(psi, 4, method="greedy").relative_error
