"""PCA-L1: the objective never decreases, ends in fixed points, and equals that of an exhaustive search."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.solvers import pca_l1


@pytest.fixture
def rows(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((12, 3)) * [2.0, 1.0, 0.5]
    return X - X.mean(axis=0)


def largest_dispersion(X):
    """Return max |X'p| over all polarities, which is the largest L1 dispersion of a direction."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(X) - 1)))
    return np.linalg.norm(X[0] + signs @ X[1:], axis=1).max()


def test_the_first_direction_is_the_best_of_all_polarities(rows):
    found = pca_l1.directions(rows, [1], n_init=20)
    assert found.dispersions[0] == pytest.approx(largest_dispersion(rows), rel=1e-12)


@pytest.mark.parametrize("widths", [[1] * 4, [4]])
def test_the_objective_never_decreases_and_ends_in_a_fixed_point(global_random_seed, widths):
    X = np.random.default_rng(global_random_seed).standard_t(2, (80, 6))
    found = pca_l1.directions(X, widths)
    for objective in found.history:
        assert (np.diff(objective) >= -1e-13 * objective[-1]).all()
    assert found.converged
    assert found.ties == 0
    assert found.residuals.max() <= 1e-13
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-14)


def test_a_fixed_point_is_a_local_maximum(rows, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    found = pca_l1.directions(rows, [1])
    for _ in range(200):
        near = found.vectors[:, 0] + 1e-4 * rng.standard_normal(3)
        assert np.abs(rows @ near).sum() / np.linalg.norm(near) <= found.dispersions[0]


@pytest.mark.parametrize(
    ("X", "largest"),
    [
        ([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]], np.sqrt(40)),
        ([[3.0, -1.0], [-3.0, 0.0], [0.0, 1.0]], np.sqrt(40)),
        ([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]], np.sqrt(40)),
    ],
)
def test_zero_projections_are_perturbed_until_none_is_left(X, largest):
    """The start is a fixed point of the iteration without perturbations, with zero projections."""
    for seed in range(8):
        run = pca_l1.ascend(np.array(X), np.array([[1.0], [0.0]]), np.random.default_rng(seed))
        assert run.ties == 0
        assert run.history[0] == pytest.approx(6)
        assert run.history[-1] == pytest.approx(largest)
        assert (np.diff(run.history) > -1e-14).all()


def test_a_start_at_a_maximum_takes_one_step():
    run = pca_l1.ascend(
        np.array([[3.0, 0.0], [-3.0, 0.0]]), np.array([[1.0], [0.0]]), np.random.default_rng(0)
    )
    assert run.history.tolist() == [6.0]
    assert run.converged


def test_each_direction_is_the_best_in_the_rows_that_the_earlier_ones_deflate(rows):
    found = pca_l1.directions(rows, [1] * 3, n_init=20)
    rest = rows
    for w, dispersion in zip(found.vectors.T, found.dispersions, strict=True):
        assert dispersion == pytest.approx(largest_dispersion(rest), rel=1e-12)
        rest = rest - np.outer(rest @ w, w)


def test_directions_found_together_are_no_worse_than_those_found_one_by_one(rows):
    together, apart = (pca_l1.directions(rows, widths, n_init=20) for widths in ([2], [1, 1]))
    assert together.dispersions.sum() >= apart.dispersions.sum() * (1 - 1e-12)


def test_more_starts_never_give_a_smaller_dispersion(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_t(2, (40, 8))
    values = [pca_l1.directions(X, [1], n_init=n).dispersions[0] for n in (1, 3, 10)]
    assert (np.diff(values) >= -1e-12).all()


def test_directions_of_tiny_dispersion_are_orthogonal(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((50, 6)) * 10.0 ** -np.arange(
        0, 12, 2
    )
    found = pca_l1.directions(X, [1] * 6)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-13)
    assert found.residuals.max() <= 1e-9


def test_the_same_seed_gives_the_same_bits(rows):
    first, second = (pca_l1.directions(rows, [2], random_state=3).vectors for _ in range(2))
    assert (first == second).all()


def test_too_few_steps_are_reported(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((200, 20))
    with pytest.warns(ConvergenceWarning, match="residual"):
        found = pca_l1.directions(X, [1], max_iter=1)
    assert not found.converged


def test_rows_of_zeros_have_no_direction():
    with pytest.raises(ValueError, match="no dispersion"):
        pca_l1.directions(np.zeros((3, 2)), [1])


def test_ties_count_zero_projections_of_rows_that_are_not_zero():
    X = np.array([[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert pca_l1.directions(X, [1]).ties == 0
    run = pca_l1.ascend(
        np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [0.0]]), np.random.default_rng(0)
    )
    assert run.ties == 0
    np.testing.assert_allclose(np.abs(run.W[:, 0]), np.array([3, 1]) / np.sqrt(10), rtol=1e-12)


def test_directions_have_their_largest_entries_positive_and_are_sorted_by_dispersion(rows):
    for widths in ([1] * 3, [3]):
        W = pca_l1.directions(rows, widths).vectors
        assert (W[np.abs(W).argmax(axis=0), np.arange(3)] > 0).all()
    dispersions = pca_l1.directions(rows, [3]).dispersions
    # equal ones differ by the rounding of their sums
    assert (np.diff(dispersions) <= 1e-13 * dispersions[0]).all()
    np.testing.assert_allclose(
        pca_l1.directions(rows, [3]).dispersions,
        np.abs(rows @ pca_l1.directions(rows, [3]).vectors).sum(axis=0),
        rtol=1e-13,
    )


def test_histories_are_in_units_of_the_rows(rows):
    for scale in (1.0, 1e3):
        found = pca_l1.directions(scale * rows, [1])
        assert found.history[0][-1] == pytest.approx(found.dispersions[0], rel=1e-12)
    joint = pca_l1.directions(rows, [2])
    assert joint.history[0][-1] == pytest.approx(joint.dispersions.sum(), rel=1e-12)


def test_the_residual_is_the_change_by_one_more_step(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((200, 20))
    with pytest.warns(ConvergenceWarning, match="residual"):
        found = pca_l1.directions(X, [1], n_init=1, max_iter=1)
    w = found.vectors[:, 0]
    step = X.T @ np.sign(X @ w)
    assert found.residuals[0] == pytest.approx(
        np.linalg.norm(w - step / np.linalg.norm(step)), rel=1e-9
    )
    assert found.residuals[0] > 1e-3


@pytest.mark.parametrize("widths", [[1] * 3, [3]])
def test_residuals_are_those_of_the_certificate(global_random_seed, widths):
    X = np.random.default_rng(global_random_seed).standard_normal((200, 20))
    X -= X.mean(axis=0)
    with pytest.warns(ConvergenceWarning, match="residual"):
        found = pca_l1.directions(X, widths, n_init=1, max_iter=1)
    certified = pca_l1.residuals(X, np.zeros(20), found.vectors, len(widths) == 3, 2.2e-16)
    np.testing.assert_allclose(found.residuals, certified, rtol=1e-9)


def test_joint_directions_whose_scores_have_the_same_signs_are_a_fixed_point():
    # X' sign(X W) has rank 1: its orthonormal factor is not unique
    X = np.repeat([[0.99, 0.99], [-0.73, -0.78], [-0.52, -0.42]], [4, 4, 2], axis=0)
    X -= X.mean(axis=0)
    found = pca_l1.directions(X, [2], random_state=0)
    signs = np.sign(X @ found.vectors)
    assert np.linalg.matrix_rank(X.T @ signs) == 1
    assert found.dispersions.sum() == pytest.approx(np.linalg.svd(X.T @ signs)[1].sum(), rel=1e-12)
    assert pca_l1.residuals(X, np.zeros(2), found.vectors, False, 2.2e-16).max() < 1e-12
    turned = found.vectors @ [[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]]
    assert pca_l1.residuals(X, np.zeros(2), turned, False, 2.2e-16).max() > 0.05


def test_greedy_search_stops_at_the_rank(rows):
    flat = rows[:, :2] @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    for widths in ([1] * 3, [3]):
        assert pca_l1.directions(flat, widths).vectors.shape == (3, 2)
