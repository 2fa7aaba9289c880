"""Construct: errors fall with every vector, and equal those of a naive oracle in extended precision."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import naive

import mercer as mc
from mercer.reduction import Construct, Target, reduce
from mercer.reduction.construct import Residual, _Growth

RNG = np.random.default_rng(0)
X = np.repeat(RNG.normal(size=(6, 3)), 10, axis=0) + RNG.normal(0, 0.3, (60, 3))
C = RNG.normal(size=(60, 4))
KERNELS = [
    mc.Gaussian(0.5),
    mc.Cauchy(0.5),
    mc.Matern(1.0, 0.5),
    mc.Matern(1.0, 2.5),
    mc.Laplacian(0.4),
    mc.Polynomial(3, 0.3, 1.0),
    mc.Polynomial(2, 1.0, 0.0),
    mc.Sigmoid(0.05, 0.5),
    mc.Gaussian(0.5) + mc.Linear(),
    2.0 * mc.Gaussian(0.5),
    mc.Normalized(mc.Polynomial(2)),
]


def _squares(X):
    return np.square(X)


NO_GRADIENT = mc.Rescaled(mc.Gaussian(0.5), np.ravel)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_vector_lowers_the_error_and_no_two_are_the_same(kernel, dtype):
    psi = mc.Expansion(kernel, X.astype(dtype), C.astype(dtype))
    answer = reduce(psi, 8)
    assert answer.expansion.points.dtype == answer.expansion.coef.dtype == dtype
    assert (np.diff(answer.history) < 0).all()
    assert answer.history[0] < 1
    assert (
        len(np.unique(answer.expansion.points, axis=0))
        == len(answer.sizes)
        == len(answer.expansion.points)
    )
    if kernel == mc.Polynomial(2, 1.0, 0.0):
        # the space of quadratic forms in three variables has dimension 6
        assert "no further" in answer.reason
        np.testing.assert_allclose(
            answer.relative_error, 0, atol=1e-3 if dtype == np.float32 else 1e-6
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [k for k in KERNELS[:8] if k != mc.Polynomial(2, 1.0, 0.0)], ids=repr
)
def test_the_error_is_that_of_a_naive_oracle_in_extended_precision(kernel, dtype):
    psi = mc.Expansion(kernel, X.astype(dtype), C.astype(dtype))
    answer = reduce(psi, 5)
    points = np.concatenate([psi.points, answer.expansion.points])
    coef = np.concatenate([psi.coef, -answer.expansion.coef]).astype(np.longdouble)
    left = (coef * (naive.gram(kernel, points, points) @ coef)).sum(axis=0)
    whole = psi.coef.astype(np.longdouble)
    whole = (whole * (naive.gram(kernel, psi.points, psi.points) @ whole)).sum(axis=0)
    np.testing.assert_allclose(
        answer.relative_error, np.sqrt(abs(left / whole)).astype(float), rtol=1e-6
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_first_vector_is_nearer_than_any_point_of_psi(kernel):
    psi = mc.Expansion(kernel, X, C)
    captured = (psi(X) ** 2).sum(axis=1) / kernel.diag(X)
    total = (psi.norms() ** 2).sum()
    assert reduce(psi, 1).history[0] ** 2 <= 1 - captured.max() / total + 1e-12


def test_one_column_over_one_feature_is_found_exactly(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    kernel, z = mc.Gaussian(0.5), rng.normal(size=(1, 3))
    # the features of a cloud, combined so that they are nearly those of one point
    points = z + rng.normal(0, 1.0, (40, 3))
    weights = np.linalg.lstsq(kernel(points), kernel(points, z), rcond=1e-12)[0]
    psi = mc.Expansion(kernel, points, weights)
    answer = reduce(psi, 1, method=Construct(tol=1e-9, max_iter=500))
    assert (
        answer.relative_error[0]
        <= mc.sqdist(psi, mc.features(kernel, z))[0, 0] ** 0.5 / psi.norms()[0] + 1e-6
    )


@pytest.mark.parametrize("factor", [-1.0, 1e-6, 1e6])
def test_multiples_of_psi_have_the_same_points(factor):
    psi = mc.Expansion(mc.Gaussian(0.5), X, C)
    one, other = reduce(psi, 6), reduce(psi * factor, 6)
    np.testing.assert_allclose(other.expansion.points, one.expansion.points, atol=1e-6)
    np.testing.assert_allclose(
        other.expansion.coef, factor * one.expansion.coef, rtol=1e-4, atol=1e-8 * abs(factor)
    )


def test_columns_share_their_points_and_a_rotation_of_columns_changes_none():
    psi = mc.Expansion(mc.Gaussian(0.5), X, C)
    rotation = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    one, other = reduce(psi, 6), reduce(psi @ rotation, 6)
    np.testing.assert_allclose(other.expansion.points, one.expansion.points, atol=1e-6)
    np.testing.assert_allclose(other.history, one.history, rtol=1e-8)


def test_sparse_points_give_dense_points_with_the_same_error():
    rows = np.where(RNG.random(X.shape) < 0.5, X, 0)
    dense = reduce(mc.Expansion(mc.Gaussian(0.5), rows, C), 6)
    sparse = reduce(mc.Expansion(mc.Gaussian(0.5), sp.csr_matrix(rows), C), 6)
    assert isinstance(sparse.expansion.points, np.ndarray)
    np.testing.assert_allclose(sparse.history, dense.history, rtol=1e-6)


def test_identity_coefficients_are_those_of_all_features():
    phi = mc.features(mc.Gaussian(0.5), X[:20])
    one, other = reduce(phi, 5), reduce(phi @ np.eye(20), 5)
    np.testing.assert_allclose(other.history, one.history, rtol=1e-10)
    assert one.expansion.shape == (5, 20)


def test_more_starts_do_not_raise_the_error_here():
    psi = mc.Expansion(mc.Gaussian(1.0), X, C)
    few, many = (reduce(psi, 1, method=Construct(starts=starts)).history[0] for starts in (1, 20))
    assert many <= few


def test_feature_maps_with_a_jacobian_are_differentiable():
    def jacobian(Z):
        return 2 * Z[:, :, None] * np.eye(3)

    psi = mc.Expansion(mc.FeatureMap(_squares, jacobian), X, C)
    answer = reduce(psi, 5)
    np.testing.assert_allclose(answer.relative_error, 0, atol=1e-6)
    assert len(answer.sizes) == 3


@pytest.mark.parametrize(
    ("psi", "message"),
    [
        (
            mc.Expansion(mc.Precomputed(np.eye(5)), np.arange(5), np.ones(5)),
            "indices of a given matrix; use a method that selects",
        ),
        (mc.Expansion(NO_GRADIENT, X, C), "needs a gradient, but Rescaled"),
        (
            mc.Expansion(mc.FeatureMap(_squares), [[1.0], [2.0]], np.ones(2)),
            "over a list; use a method that selects",
        ),
    ],
    ids=["precomputed", "conformal", "list"],
)
def test_kernels_without_a_gradient_are_refused_with_a_remedy(psi, message):
    with pytest.raises(TypeError, match=message):
        reduce(psi, 2, method="construct")


@pytest.mark.parametrize(
    "psi",
    [
        mc.Expansion(mc.Precomputed(np.diag([1.0, 2.0, 3.0])), np.arange(3), np.ones(3)),
        mc.Expansion(mc.strings.Spectrum(1), ["a", "bb", "ccc"], np.ones(3)),
    ],
    ids=["precomputed", "strings"],
)
def test_points_are_selected_by_default_where_the_kernel_has_no_gradient(psi):
    found = reduce(psi, 2)
    # of orthogonal vectors the shortest is removed
    assert sorted(found.expansion.points) == list(psi.points[1:])
    assert found.relative_error[0] == pytest.approx(
        psi.norms()[0] ** -1 * (psi.kernel.diag(psi.points)[0]) ** 0.5
    )


@pytest.mark.parametrize(("option", "value"), [("starts", 0), ("max_iter", 0), ("tol", 0.0)])
def test_options_are_checked(option, value):
    with pytest.raises(ValueError, match=option):
        Construct(**{option: value})


def test_the_basis_that_ranks_the_starts_keeps_to_the_memory_budget():
    psi = mc.Expansion(mc.Gaussian(0.5), X, C)
    with pytest.raises(MemoryError, match=r"basis of 5 vectors at 60 points needs .*Pivoted"):
        reduce(psi, 5, method=Construct(memory=1000))
    assert len(reduce(psi, 5, method=Construct(memory=1200)).sizes) == 5


def test_a_signal_ends_a_long_run_with_the_sets_found_so_far():
    rng = np.random.default_rng(0)
    psi = mc.Expansion(mc.Gaussian(0.1), rng.normal(size=(2000, 20)), rng.normal(size=(2000, 5)))

    def ctrl_c(size, _):
        if size == 3:
            # a signal at once, handled wherever the run is by then
            signal.setitimer(signal.ITIMER_REAL, 0.01)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            reduce(psi, 1999, callback=ctrl_c)
    finally:
        signal.signal(signal.SIGALRM, before)
    kept = caught.value.reduction
    assert 3 <= len(kept.sizes) < 100
    assert (np.diff(kept.history) < 0).all()


def test_defaults_are_those_documented():
    assert Construct() == Construct(starts=4, max_iter=50, tol=1e-2, memory="1GB")


def grown(kernel=KERNELS[0], count=3):
    target = Target(mc.Expansion(kernel, X, C))
    run, total = _Growth(target, 5, "1MB"), target.squares.sum()
    for z in RNG.normal(size=(count, 3)):
        assert run.add(Residual(target.psi, run.approximation(), total), z[None])
    return target, run, total


def test_residuals_at_the_points_of_psi_are_updated_with_every_point():
    target, run, _ = grown()
    chi = run.approximation()
    exact = target.values - chi(target.points)
    np.testing.assert_allclose(run.left, exact, atol=1e-5 * np.abs(target.values).max())
    quotient = (exact**2).sum(axis=1) / 1.0
    np.testing.assert_array_equal(run.best_starts(4), np.argsort(-quotient)[:4])


def test_of_several_points_the_one_that_lowers_the_error_most_is_added():
    target, run, total = grown()
    points = RNG.normal(size=(6, 3))
    before = run.span.residuals.sum()
    errors = []
    for z in points:
        both = np.vstack([run.pool[: run.size], z])
        K = target.kernel(both)
        errors.append(
            total - np.einsum("ij,ij->", target.psi(both), np.linalg.solve(K, target.psi(both)))
        )
    assert run.add(Residual(target.psi, run.approximation(), total), points)
    np.testing.assert_array_equal(run.pool[3], points[np.argmin(errors)])
    np.testing.assert_allclose(run.span.residuals.sum(), min(errors), rtol=1e-8)
    assert run.span.residuals.sum() < before


def test_duplicates_of_earlier_points_and_points_without_gain_are_not_added():
    target, run, total = grown()
    residual = Residual(target.psi, run.approximation(), total)
    # a distance of h gives a squared distance of about h^2 in feature space, and the limit is 1e-8
    near = run.pool[:1] + [[5e-5, 0, 0]]
    assert not run.add(residual, near)
    assert not run.add(residual, np.full((1, 3), 50.0))
    assert run.size == 3
    assert run.add(residual, np.vstack([near, run.pool[:1] + 0.5]))


def test_points_of_psi_with_k_0_are_never_starts():
    target = Target(
        mc.Expansion(mc.Linear(), np.vstack([np.zeros((2, 3)), X[:4]]), np.ones((6, 1)))
    )
    assert set(_Growth(target, 2, "1MB").best_starts(4)) == {2, 3, 4, 5}
