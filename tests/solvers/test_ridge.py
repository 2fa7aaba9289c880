"""Ridge regression: optimality, weights as repetitions, landmarks, the posterior, and leave-one-out residuals."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Reference

import mercer as mc
from mercer.distributed import InMemory
from mercer.least_squares import solve
from mercer.linalg.operators import InnerProducts
from mercer.solvers.ridge import (
    Ridge,
    along,
    for_each_alpha,
    loo_residuals,
    normal_equations,
    normal_residuals,
    orthonormal_basis,
    over_landmarks,
    posterior,
    variance,
)
from mercer.solvers.ridge import ridge as over_points

rng = np.random.default_rng(0)
X, NEW, Y = rng.standard_normal((60, 3)), rng.standard_normal((20, 3)), rng.standard_normal((60, 2))
WEIGHTS = rng.integers(0, 4, 60).astype(float)
GAUSSIAN = mc.Gaussian(0.4)
PHI = mc.features(GAUSSIAN, X)


def ridge(phi, Y, alpha, weights=None, memory="1GB"):
    """Return the solution over all points, directly or by steps."""

    def run(inner, targets, alpha, name, random_state):
        return solve(inner, targets, alpha, name=name, memory=memory, random_state=random_state)

    return over_points(run, InnerProducts(phi, memory), Y, alpha, weights)


def restricted(phi, onto, Y, *options, **given):
    """Return the solution in the span of other vectors."""
    return over_landmarks(InMemory(phi.points), onto, Y, *options, **given)


def refitted(i, alpha, weights):
    """Return the residual of point i in a fit to the others."""
    others = np.delete(np.arange(60), i)
    psi = ridge(PHI[:, others], Y[others], alpha, weights[others]).expansion
    return Y[i] - psi(X[i : i + 1])[0]


@pytest.mark.parametrize("memory", ["1GB", "1kB"], ids=["direct", "iterative"])
def test_weights_are_repetitions(memory):
    ours = ridge(PHI, Y, 0.1, WEIGHTS, memory=memory)
    rows = np.repeat(np.arange(60), WEIGHTS.astype(int))
    theirs = Reference(alpha=0.1, kernel="rbf", gamma=0.4).fit(X[rows], Y[rows])
    tolerance = 1e-10 if memory == "1GB" else 1e-6
    np.testing.assert_allclose(ours.expansion(NEW), theirs.predict(NEW), atol=tolerance)
    assert ours.residual <= 1e-8
    assert (ours.expansion.coef[WEIGHTS == 0] == 0).all()


def test_each_distinct_alpha_is_one_solve_and_the_residual_is_the_largest():
    calls = []

    def solve(targets, alpha):
        calls.append(alpha)
        return Ridge(PHI @ (alpha * targets), alpha / 10, PHI, 0.5)

    targets = np.column_stack([Y, Y])
    found = for_each_alpha(solve, targets, np.array([2.0, 1.0, 3.0, 1.0]))
    assert calls == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(found.expansion.coef, targets * [2.0, 1.0, 3.0, 1.0])
    assert (found.residual, found.posterior, found.trace_error) == (0.3, None, 0.5)
    assert for_each_alpha(solve, targets, 2.0).posterior is PHI


@pytest.mark.parametrize("alpha", [0.0, 1e-18, 1e-3])
def test_repeated_points_have_a_solution_for_every_ridge(alpha):
    twice = mc.features(GAUSSIAN, np.repeat(X[:20], 2, axis=0))
    found = ridge(twice, Y[:40], alpha, WEIGHTS[:40] + 1)
    psi = found.expansion
    assert np.isfinite(psi.coef).all()
    assert found.residual <= 1e-8
    w = (WEIGHTS[:40] + 1).reshape(20, 2, 1)
    means = (w * Y[:40].reshape(20, 2, 2)).sum(axis=1) / w.sum(axis=1)
    np.testing.assert_allclose(psi(X[:20]), means, atol=1e-6 if alpha < 1e-3 else 0.05)


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_the_posterior_of_repeated_points_reports_its_jitter(alpha):
    twice = mc.features(GAUSSIAN, np.repeat(X[:20], 2, axis=0))
    with pytest.warns(UserWarning, match=r"jitter \d"):
        R = posterior(twice, alpha)
    np.testing.assert_allclose((R(X[:20]) ** 2).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("weights", [np.ones(60), WEIGHTS], ids=["equal", "weighted"])
def test_leave_one_out_residuals_are_those_of_refitting(weights):
    psi, R = ridge(PHI, Y, 0.1, weights).expansion, posterior(PHI, 0.1, weights)
    expected = [refitted(i, 0.1, weights) for i in range(60)]
    np.testing.assert_allclose(loo_residuals(psi, Y, R), expected, atol=1e-11)


def test_the_variance_is_that_of_a_gaussian_process(limits):
    limits(variance_rows=7)
    weights = WEIGHTS + 0.5
    for w in (None, weights):
        K = GAUSSIAN(X) + 0.1 * np.diag(1 / (np.ones(60) if w is None else w))
        k = GAUSSIAN(NEW, X)
        expected = 1 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
        np.testing.assert_allclose(variance(posterior(PHI, 0.1, w), NEW), expected, atol=1e-12)


def test_one_observation_halves_the_variance_where_the_noise_is_that_of_the_prior():
    R = posterior(mc.features(GAUSSIAN, np.zeros((1, 3))), 1.0)
    np.testing.assert_allclose(
        variance(R, np.array([[0.0, 0.0, 0.0], [1e3, 0.0, 0.0]])), [0.5, 1.0], atol=1e-15
    )


def test_the_variance_is_never_negative():
    assert variance(posterior(PHI, 1e-13), X).min() >= 0


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_residuals_of_the_normal_equations_vanish_at_solutions_only(weights):
    onto = mc.features(GAUSSIAN, NEW[:8])
    for found in (ridge(PHI, Y, 0.1, weights), restricted(PHI, onto, Y, 0.1, weights)):
        psi = found.expansion
        assert normal_residuals(psi, X, Y, 0.1, weights).max() < 1e-9
        away = mc.Expansion(GAUSSIAN, psi.points, psi.coef + 0.1)
        K, k = GAUSSIAN(psi.points), GAUSSIAN(psi.points, X)
        W = np.eye(60) if weights is None else np.diag(weights)
        error = k @ W @ (Y - k.T @ away.coef) - 0.1 * K @ away.coef
        expected = np.linalg.norm(error, axis=0) / np.linalg.norm(k @ W @ Y, axis=0)
        np.testing.assert_allclose(normal_residuals(away, X, Y, 0.1, weights), expected, rtol=1e-10)
        for factor in (1e-200, 1e-6, 1e200):
            other = mc.Expansion(GAUSSIAN, psi.points, factor * away.coef)
            np.testing.assert_allclose(
                normal_residuals(other, X, factor * Y, 0.1, weights), expected, rtol=1e-10
            )
    assert normal_residuals(ridge(PHI, 0 * Y, 0.1).expansion, X, 0 * Y, 0.1).tolist() == [0, 0]


def test_the_residual_over_landmarks_is_that_of_the_system():
    assert restricted(PHI, PHI[:, :30], Y, 0.1, WEIGHTS).residual < 1e-12


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**-560, 2.0**490])
def test_over_landmarks_targets_of_any_size_have_the_solution_and_the_residual_of_targets_near_one(
    scale,
):
    found, expected = (
        restricted(PHI, PHI[:, :30], factor * Y, 0.1, WEIGHTS) for factor in (scale, 1.0)
    )
    np.testing.assert_allclose(found.expansion.coef / scale, expected.expansion.coef, rtol=1e-8)
    assert found.residual == pytest.approx(expected.residual, rel=1e-6, abs=0)


def test_the_span_of_all_points_restricts_nothing():
    full, found = ridge(PHI, Y, 0.1, WEIGHTS), restricted(PHI, PHI, Y, 0.1, WEIGHTS)
    np.testing.assert_allclose(found.expansion(NEW), full.expansion(NEW), atol=1e-7)
    known, exact = (
        (R(NEW) ** 2).sum(axis=1) for R in (found.posterior, posterior(PHI, 0.1, WEIGHTS))
    )
    np.testing.assert_allclose(known, exact, atol=1e-7)


def test_no_vector_of_the_span_has_a_smaller_objective(costs):
    costs(ROWS=13, LONG=0)
    onto = mc.features(GAUSSIAN, NEW[:8])
    psi = restricted(PHI, onto, Y[:, 0], 0.1, WEIGHTS).expansion

    def objective(chi):
        return (WEIGHTS * (chi.inner(PHI)[0] - Y[:, 0]) ** 2).sum() + 0.1 * chi.norms()[0] ** 2

    best = objective(psi)
    for size in (1e-1, 1e-3):
        for _ in range(5):
            assert objective(psi + onto @ (size * rng.standard_normal(8))) > best


@pytest.mark.parametrize(("square", "rank"), [(1e-10, 2), (1e-11, 1)])
def test_directions_of_the_span_below_eps_to_the_two_thirds_are_left_out(square, rank):
    onto = mc.features(mc.Linear(), 1e3 * np.diag([1.0, square**0.5]))
    found = restricted(mc.features(mc.Linear(), np.eye(2)), onto, Y[:2], 0.1)
    assert len(found.posterior) == rank


@pytest.mark.parametrize(("square", "rank"), [(1e-15, 2), (3e-16, 1)])
def test_directions_without_data_are_left_out(square, rank):
    phi, onto = (mc.features(mc.Linear(), np.diag([1.0, b])) for b in (square**0.5, 1.0))
    found = restricted(phi, onto, Y[:2], 0.0)
    assert len(found.posterior) == rank


def test_repeated_landmarks_change_nothing():
    onto = mc.features(GAUSSIAN, NEW[:8])
    once, thrice = (restricted(PHI, o, Y, 0.1) for o in (onto, onto[:, np.tile(np.arange(8), 3)]))
    np.testing.assert_allclose(once.expansion(X), thrice.expansion(X), atol=1e-9)
    np.testing.assert_allclose(
        (once.posterior(X) ** 2).sum(1), (thrice.posterior(X) ** 2).sum(1), atol=1e-9
    )


def test_float32_stays_float32():
    narrow = mc.features(GAUSSIAN, X.astype(np.float32))
    for found in (ridge(narrow, Y, 0.1), restricted(narrow, narrow[:, :30], Y, 0.1)):
        wide = (
            ridge(PHI, Y, 0.1) if found.posterior is None else restricted(PHI, PHI[:, :30], Y, 0.1)
        )
        assert found.expansion.coef.dtype == np.float32
        np.testing.assert_allclose(
            found.expansion(NEW.astype(np.float32)), wide.expansion(NEW), atol=2e-3
        )
    assert posterior(narrow, 0.1).coef.dtype == np.float32


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_sums_of_float32_kernel_values_give_the_normal_equations_of_an_orthonormal_basis(weights):
    points = X.astype(np.float32)
    Q = orthonormal_basis(mc.features(GAUSSIAN, points[:40]), "1GB")
    # more digits than the sums, from the same values
    values = np.asarray(mc.features(GAUSSIAN, points[:40])(points), np.longdouble)
    w = np.ones(60) if weights is None else weights
    F = values @ np.asarray(Q.dense_coef(), np.longdouble)
    own = mc.features(GAUSSIAN, points[:40])
    sums = along(normal_equations(own, points, Y, weights), Q.dense_coef())
    np.testing.assert_allclose(sums.matrix, (F.T * w) @ F, atol=1e-9 * w.sum())
    np.testing.assert_allclose(sums.right, (F.T * w) @ Y, atol=1e-9 * w.sum())
    np.testing.assert_array_equal(sums.matrix, sums.matrix.T)


def test_a_float32_fit_over_landmarks_is_stationary_for_its_own_kernel_values():
    points = X.astype(np.float32)
    onto = mc.features(GAUSSIAN, points[:25])
    psi = restricted(mc.features(GAUSSIAN, points), onto, Y, 0.1, WEIGHTS).expansion
    K, M = np.asarray(onto(points), np.float64), np.asarray(onto(points[:25]), np.float64)
    slope = K.T @ (WEIGHTS[:, None] * (K @ psi.coef - Y)) + 0.1 * M @ psi.coef
    assert np.abs(slope).max() < 1e-4 * np.abs(K.T @ (WEIGHTS[:, None] * Y)).max()


def test_matrices_beyond_the_memory_limit_are_refused():
    for attempt in (
        lambda: posterior(PHI, 0.1, memory="10kB"),
        lambda: restricted(PHI, PHI, Y, 1.0, memory="10kB"),
    ):
        with pytest.raises(MemoryError, match=r"needs .* the memory budget is 10.0 kB"):
            attempt()


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: mc.KernelRidge(-1.0).fit(X, Y), "alpha = -1.0 must be at least 0"),
        (lambda: mc.lstsq(PHI, Y[:-1], 1.0), r"Y must have shape \(60,\)"),
        (lambda: restricted(PHI, PHI, Y, -1.0), "alpha = -1.0 must be at least 0"),
        (lambda: posterior(PHI, -1.0), "alpha = -1.0 must be at least 0"),
        (
            lambda: posterior(mc.features(mc.Sigmoid(4.0), X), 1e-3),
            r"the matrix of inner products with the kernel Sigmoid\(.*\) is indefinite",
        ),
    ],
)
def test_bad_arguments_are_refused(attempt, message):
    with pytest.raises(ValueError, match=message):
        attempt()


def test_leave_one_out_residuals_that_rounding_hides_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    phi, Y = mc.features(mc.Gaussian(1.0), np.vstack([X, X[:5]])), np.ones((35, 1))
    for alpha in (1e-14, 1e-6):
        psi, R = ridge(phi, Y, alpha).expansion, posterior(phi, alpha)
        if alpha == 1e-6:
            assert np.isfinite(loo_residuals(psi, Y, R)).all()
            continue
        with pytest.raises(
            ValueError,
            match="have a relative error of about .*raise alpha, or remove repeated points",
        ):
            loo_residuals(psi, Y, R)
