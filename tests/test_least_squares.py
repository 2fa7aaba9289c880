"""Least squares: scikit-learn's ridge regression, minimum norm, and a certificate on every route."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

import mercer as mc
from mercer.least_squares import is_rounding, lstsq, preconditioner_rank, solve
from mercer.linalg.operators import InnerProducts, Weighted

rng = np.random.default_rng(0)
X, NEW, Y = (
    rng.standard_normal((200, 3)),
    rng.standard_normal((20, 3)),
    rng.standard_normal((200, 2)),
)
GAUSSIAN = mc.Gaussian(0.4)
PHI = mc.features(GAUSSIAN, X)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("memory", ["1GB", "1kB"], ids=["direct", "iterative"])
def test_it_is_kernel_ridge_regression(ridge, memory):
    psi = lstsq(PHI, Y, ridge, memory=memory)
    theirs = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.4).fit(X, Y)
    np.testing.assert_allclose(psi(NEW), theirs.predict(NEW), rtol=1e-6, atol=1e-6)
    residual = GAUSSIAN(X) @ psi.coef + ridge * psi.coef - Y
    assert np.linalg.norm(residual) <= 1e-8 * np.linalg.norm(Y)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**-560, 2.0**490])
@pytest.mark.parametrize("memory", ["1GB", "1kB"], ids=["direct", "iterative"])
def test_targets_of_any_size_have_the_solution_and_the_residual_of_targets_near_one(scale, memory):
    inner = InnerProducts(PHI)
    found, expected = (solve(inner, factor * Y, 1e-2, memory=memory) for factor in (scale, 1.0))
    np.testing.assert_allclose(found.coef / scale, expected.coef, rtol=1e-8)
    assert found.residual == pytest.approx(expected.residual, rel=1e-6)
    # beside a column of targets near 1
    mixed = solve(inner, np.column_stack([scale * Y[:, 0], Y[:, 1]]), 1e-2, memory=memory)
    np.testing.assert_allclose(mixed.coef / [scale, 1.0], expected.coef, rtol=1e-8)


def test_a_block_with_coefficients_is_ridge_regression_on_its_own_inner_products():
    C = rng.standard_normal((200, 7))
    block = PHI @ C
    y = rng.standard_normal(7)
    psi = lstsq(block, y, 0.5)
    A = np.linalg.solve(block.inner(block) + 0.5 * np.eye(7), y)
    np.testing.assert_allclose(psi.coef[:, 0], C @ A, rtol=1e-9)


def test_no_perturbation_has_a_smaller_objective():
    psi, ridge = lstsq(PHI, Y[:, 0], 0.1), 0.1

    def objective(chi):
        return ((chi.inner(PHI)[0] - Y[:, 0]) ** 2).sum() + ridge * chi.norms()[0] ** 2

    best = objective(psi)
    for size in (1e-1, 1e-3):
        for _ in range(5):
            assert objective(psi + PHI @ (size * rng.standard_normal(200))) > best


@pytest.mark.parametrize("ridge", [0.0, 1e-18])
def test_without_a_ridge_repeated_points_get_the_mean_of_their_targets_and_equal_coefficients(
    ridge,
):
    twice = mc.features(mc.Gaussian(2.0), np.repeat(X[:30], 2, axis=0))
    psi = lstsq(twice, Y[:60, 0], ridge)
    np.testing.assert_allclose(psi(X[:30])[:, 0], Y[:60, 0].reshape(30, 2).mean(axis=1), atol=1e-9)
    # minimum norm: both copies carry the same weight
    np.testing.assert_allclose(psi.coef[::2], psi.coef[1::2], atol=1e-9)


def test_a_linear_kernel_without_a_ridge_is_ordinary_least_squares():
    psi = lstsq(mc.features(mc.Linear(), X), Y, 0.0)
    np.testing.assert_allclose(X.T @ psi.coef, np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-12)


@pytest.mark.parametrize("memory", ["1GB", "1kB"], ids=["direct", "iterative"])
def test_float32_stays_float32(memory):
    psi = lstsq(mc.features(GAUSSIAN, X.astype(np.float32)), Y, 0.1, memory=memory)
    assert psi.coef.dtype == np.float32
    np.testing.assert_allclose(psi(NEW.astype(np.float32)), lstsq(PHI, Y, 0.1)(NEW), atol=2e-3)


def test_the_certificate_is_logged(caplog):
    with caplog.at_level("INFO", logger="mercer"):
        lstsq(PHI, Y, 0.1, memory="1kB")
    assert "conjugate gradients: relative residual" in caplog.text


def test_a_residual_above_the_tolerance_is_a_warning_with_the_number(listening, limits):
    limits(least_memory=1)
    steps = []
    second = listening(
        lambda stage, **_: stage == "conjugate gradients" and (steps.append(1) or len(steps) == 2)
    )
    with (
        second,
        pytest.warns(
            ConvergenceWarning,
            match=r"2 steps of conjugate gradients left a relative residual of \d",
        ),
    ):
        lstsq(PHI, Y, 1e-6, memory="1kB")


def test_a_matrix_that_must_be_stored_keeps_to_the_budget():
    with pytest.raises(MemoryError, match="200 vectors needs 320.0 kB"):
        lstsq(PHI, Y, 0.0, memory="1kB")


@pytest.mark.parametrize(
    ("y", "ridge", "error", "message"),
    [
        (Y, -1.0, ValueError, "ridge = -1.0 must be at least 0"),
        (Y[:-1], 1.0, ValueError, r"Y must have shape \(200,\) or \(200, p\)"),
        (Y * np.nan, 1.0, ValueError, r"Y\[0(, 0)?\] = nan must be finite"),
        (Y, "1", TypeError, "ridge must be a number"),
    ],
)
def test_invalid_arguments_are_refused(y, ridge, error, message):
    with pytest.raises(error, match=message):
        lstsq(PHI, y, ridge)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(
        ValueError, match=r"the matrix of inner products with the kernel .* is indefinite"
    ):
        lstsq(mc.features(mc.Sigmoid(4.0), X), Y, 1e-3)


@pytest.mark.parametrize(
    ("memory", "route"), [(8 * 200**2, "Cholesky"), (8 * 200**2 - 1, "conjugate gradients")]
)
def test_cholesky_needs_memory_for_one_matrix(memory, route, caplog):
    with caplog.at_level("INFO", logger="mercer"):
        lstsq(PHI, Y, 0.1, memory=memory)
    assert f"{route}: relative residual" in caplog.text


def test_the_direct_solution_takes_one_matrix():
    phi, y = (
        mc.features(mc.Gaussian(0.5), np.random.default_rng(0).standard_normal((1500, 3))),
        np.ones(1500),
    )
    lstsq(phi[:, slice(0, 300)], y[:300], 1.0)
    tracemalloc.start()
    lstsq(phi, y, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * 8 * 1500**2


def test_the_matrix_of_a_function_stays_as_it_is():
    given = mc.Gaussian(0.5)(X)
    K = given.copy()
    # the diagonal is asked for point by point
    kernel = mc.FunctionKernel(lambda X, Z: K if len(X) == len(K) else np.ones((len(X), len(Z))))
    lstsq(mc.features(kernel, X), Y, 0.1)
    np.testing.assert_array_equal(K, given)


def test_the_rank_of_the_preconditioner_follows_the_memory(limits, using_threads):
    assert [preconditioner_rank(10_000, b) for b in (10**9, 10**8, 10**6)] == [1000, 828, 192]
    assert preconditioner_rank(10**6, 10**9) == 116
    assert preconditioner_rank(10**8, 10**6) == 1
    limits(least_memory=1)
    onto, y = (
        mc.features(mc.Gaussian(0.5), np.random.default_rng(0).standard_normal((2500, 3))),
        np.ones(2500),
    )
    for memory in (4 * 10**6, 12 * 10**6):
        tracemalloc.start()
        with using_threads(1):
            lstsq(onto, y, 1.0, memory=memory, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # a tile of 2 MB is beside the factor
        assert 0.5 * memory < peak < 1.2 * memory + 2e6


def test_a_ridge_below_m_eps_of_the_squared_norm_counts_as_none():
    least = 200 * 2.0**-52
    with pytest.raises(MemoryError):
        lstsq(PHI, Y, 0.99 * least, memory="1kB")
    onto = mc.features(mc.Gaussian(50.0), X)
    assert lstsq(onto, Y, 1.01 * least, memory="1kB").coef.shape == (200, 2)


def test_the_solution_of_minimum_norm_leaves_eigenvalues_at_rounding_out():
    # M = diag(1, d) with d at and above m eps lambda_max
    for d, coef in ((0.9 * 2.0**-51, [1.0, 0.0]), (1.1 * 2.0**-51, [1.0, 1 / (1.1 * 2.0**-51)])):
        psi = lstsq(mc.features(mc.Linear(), np.diag([1.0, d**0.5])), np.ones(2), 0.0)
        np.testing.assert_allclose(psi.coef[:, 0], coef, rtol=1e-6)


def test_what_is_fitted_is_the_projection_onto_the_range_where_the_ridge_is_rounding():
    F = np.random.default_rng(0).standard_normal((12, 3))
    y = np.random.default_rng(1).standard_normal((12, 1))
    inner = InnerProducts(mc.features(mc.Linear(), F))
    np.testing.assert_allclose(solve(inner, y, 0.0).fitted, F @ np.linalg.pinv(F) @ y, atol=1e-12)
    assert (solve(inner, y, 1e-3).fitted == y).all()
    assert is_rounding(12 * 2.2e-16 * inner.diagonal().max(), inner)
    assert not is_rounding(12 * 2.3e-16 * inner.diagonal().max(), inner)


def test_arguments_that_a_route_does_not_use_are_checked():
    with pytest.raises(ValueError, match="memory = '-1GB'"):
        lstsq(PHI, Y, 0.0, memory="-1GB")
    with pytest.raises(ValueError, match="random_state = 'x' must be a whole number"):
        lstsq(PHI, Y, 1.0, random_state="x")


def test_negative_eigenvalues_that_the_solution_of_minimum_norm_leaves_out_cause_a_warning():
    K, y = np.diag([2.0, 1.0, -0.5, 0.0]), np.ones(4)
    phi = mc.features(mc.Precomputed(K), np.arange(4))
    with pytest.warns(
        UserWarning,
        match=r"is indefinite: its eigenvalues are between -0\.5 and 2, and negative ones",
    ):
        psi = lstsq(phi, y, 0.0)
    np.testing.assert_allclose(psi.coef[:, 0], [0.5, 1.0, 0.0, 0.0], atol=1e-14)
    # those of rounding cause none
    for dtype in (np.float32, np.float64):
        rows = X[:40, :2].astype(dtype)
        lstsq(mc.features(mc.Precomputed(rows @ rows.T), np.arange(40)), Y[:40], 0.0)


def test_a_saddle_point_of_an_indefinite_matrix_causes_a_warning_with_the_evidence():
    K, y, ridge = np.diag([2.0, 1.0, -0.5]), np.ones(3), 1.0
    phi = mc.features(mc.Precomputed(K), np.arange(3))

    def objective(a):
        return ((K @ a - y) ** 2).sum() + ridge * a @ K @ a

    with pytest.warns(
        UserWarning, match=r"not convex: .* inner products of 3 vectors .* between -0\.5 and 2"
    ):
        a = lstsq(phi, y, ridge).coef[:, 0]
    np.testing.assert_allclose((K + ridge * np.eye(3)) @ a, y, rtol=1e-14)
    assert objective(a + [0.0, 0.0, 0.1]) < objective(a) < objective(a + [0.1, 0.0, 0.0])
    # two of the vectors span a space of positive eigenvalues
    found = lstsq(phi @ np.eye(3)[:, :2], y[:2], ridge)
    np.testing.assert_allclose(found.coef[:, 0], [1 / 3, 1 / 2, 0.0], rtol=1e-14)


def test_rounding_that_the_smallest_kept_eigenvalues_multiply_causes_a_warning():
    V, y = np.linalg.qr(rng.standard_normal((50, 50)))[0], rng.standard_normal(50)
    for least, warned in ((2e-14, True), (1e-8, False)):
        M = (V * np.geomspace(1.0, least, 50)) @ V.T
        phi = mc.features(mc.Precomputed((M + M.T) / 2), np.arange(50))
        if warned:
            with pytest.warns(
                ConvergenceWarning, match=r"of 50 eigenvalues left a relative residual of \d"
            ):
                psi = lstsq(phi, y, 0.0)
        else:
            psi = lstsq(phi, y, 0.0)
        assert (np.linalg.norm(M @ psi.coef[:, 0] - y) > 1e-4 * np.linalg.norm(y)) == warned


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("size", [1e16, 1e30, 1e140])
def test_vectors_of_small_weight_are_fitted_beside_those_of_huge_weight(size, ridge):
    phi, weights = mc.features(mc.Gaussian(5.0), X[:30]), np.where(np.arange(30) < 10, size, 1.0)
    weights[5] = 0.0
    found = solve(
        Weighted(InnerProducts(phi), weights**0.5), weights[:, None] ** 0.5 * Y[:30], ridge
    )
    used = np.flatnonzero(weights)
    K = mc.Gaussian(5.0)(X[:30])[np.ix_(used, used)]
    expected = np.linalg.solve(K + np.diag(ridge / weights[used]), Y[used])
    np.testing.assert_allclose(
        (weights[:, None] ** 0.5 * found.coef)[used], expected, rtol=1e-9, atol=1e-12
    )
    assert found.residual < 1e-12


def test_vectors_of_small_weight_that_rounding_hides_are_warned_of():
    phi, weights = (
        mc.features(mc.Linear(), np.repeat(np.eye(3), 2, axis=0)),
        np.repeat([1e20, 1e20, 1.0], 2),
    )
    # repeated vectors have no Cholesky factor
    with pytest.warns(
        ConvergenceWarning, match="hides 2 of 6 points, which are not fitted: give weights closer"
    ):
        solve(Weighted(InnerProducts(phi), weights**0.5), weights[:, None] ** 0.5, 0.0)
    # those in the span of the others are not hidden
    phi = mc.features(mc.Linear(), np.tile(np.eye(3), (2, 1)))
    weights = np.repeat([1e20, 1.0], 3)
    found = solve(Weighted(InnerProducts(phi), weights**0.5), weights[:, None] ** 0.5, 0.0)
    np.testing.assert_allclose(weights[:3] ** 0.5 * found.coef[:3, 0], 1.0, rtol=1e-9)


def test_a_residual_that_is_the_rounding_of_the_matrix_causes_no_warning():
    X, y = rng.standard_normal((400, 3)), rng.standard_normal(400)
    phi = mc.features(mc.Gaussian(0.1), X)
    K = phi.kernel(X)
    for ridge in (1e-6, 1e-8, 1e-9):
        a = lstsq(phi, y, ridge).coef[:, 0]
        left = np.linalg.norm(y - K @ a - ridge * a)
        assert left <= np.finfo(float).eps * 400 * np.linalg.norm(a)
