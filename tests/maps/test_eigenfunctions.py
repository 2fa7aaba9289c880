"""The Mercer map: eigenvalues and eigenfunctions known in closed form, and the fewest terms for an error."""

import numpy as np
import pytest
from numpy.polynomial import hermite, hermite_e, legendre

import mercer as mc
from mercer.maps import mercer_map


def gaussian_measure(m):
    """Return Gauss nodes and weights of the standard normal distribution."""
    nodes, weights = hermite_e.hermegauss(m)
    return nodes[:, None], weights / weights.sum()


def analytic_gaussian(gamma, n, x):
    """Return eigenvalues and eigenfunctions of exp(-gamma (x - z)^2) under N(0, 1).

    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), eqs. (4.39) and (4.40).
    """
    a, b = 0.25, gamma
    c = np.sqrt(a * a + 2 * a * b)
    A = a + b + c
    values = np.sqrt(2 * a / A) * (b / A) ** np.arange(n)
    # of unit norm under the measure
    norms = np.sqrt([np.sqrt(a / c) * 2.0**j * np.prod(np.arange(1, j + 1)) for j in range(n)])
    functions = np.column_stack(
        [hermite.hermval(np.sqrt(2 * c) * x, np.eye(n)[j]) for j in range(n)]
    )
    return values, np.exp(-(c - a) * x[:, None] ** 2) * functions / norms


def signed(columns, reference):
    return columns * np.sign(np.sum(columns * reference, axis=0))


@pytest.mark.parametrize("gamma", [0.1, 0.5, 2.0])
def test_quadrature_gives_the_analytic_eigenpairs_of_the_gaussian_kernel(gamma):
    nodes, weights = gaussian_measure(80)
    found = mercer_map(mc.Gaussian(gamma), nodes, 6, weights=weights)
    x = np.linspace(-2.5, 2.5, 21)
    values, functions = analytic_gaussian(gamma, 6, x)
    np.testing.assert_allclose(found.values, values, rtol=1e-8)
    np.testing.assert_allclose(
        signed(found.eigenfunctions(x[:, None]), functions), functions, atol=1e-6
    )


def test_random_samples_converge_to_the_analytic_eigenvalues(global_random_seed):
    values = analytic_gaussian(0.5, 3, np.zeros(1))[0]
    rng, errors = np.random.default_rng(global_random_seed), []
    for m in (20, 160):
        draws = [
            mercer_map(mc.Gaussian(0.5), rng.standard_normal((m, 1)), 3).values for _ in range(16)
        ]
        errors.append(np.sqrt(np.mean((np.array(draws) / values - 1) ** 2)))
    # eight times the sample: about a third of the error
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.2


def test_the_minimum_of_two_times_has_sines():
    j = np.arange(1, 6) - 0.5
    errors = []
    for m in (50, 200):
        nodes, weights = legendre.leggauss(m)
        found = mercer_map(mc.Intersection(), (nodes[:, None] + 1) / 2, 5, weights=weights)
        x = np.linspace(0.05, 1, 15)
        functions = np.sqrt(2) * np.sin(np.pi * np.outer(x, j))
        errors.append(np.abs(found.values * (np.pi * j) ** 2 - 1).max())
        np.testing.assert_allclose(
            signed(found.eigenfunctions(x[:, None]), functions), functions, atol=30 / m**1.5
        )
    # the kernel has a kink, so that quadrature is of second order
    assert errors[1] < errors[0] / 12
    assert errors[1] < 1e-3


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 2))


def test_eigenfunctions_are_orthonormal_in_the_sample_and_the_map_in_feature_space(
    points, global_random_seed
):
    weights = np.random.default_rng(global_random_seed).uniform(0.5, 2, 60)
    found = mercer_map(mc.Gaussian(0.5), points, 8, weights=weights)
    psi = found.eigenfunctions(points)
    np.testing.assert_allclose(
        (psi * (weights / weights.sum())[:, None]).T @ psi, np.eye(8), atol=1e-10
    )
    np.testing.assert_allclose(found.expansion.inner(found.expansion), np.eye(8), atol=1e-10)
    np.testing.assert_allclose(found(points), psi * np.sqrt(found.values), atol=1e-12)


def test_equal_weights_are_none_and_doubled_weights_are_repeated_points(points):
    found = mercer_map(mc.Gaussian(0.5), points, 5)
    same = mercer_map(mc.Gaussian(0.5), points, 5, weights=np.full(60, 3.0))
    np.testing.assert_allclose(same.values, found.values, rtol=1e-12)
    weights = np.ones(60)
    weights[:20] = 2
    doubled = mercer_map(mc.Gaussian(0.5), points, 5, weights=weights)
    repeated = mercer_map(mc.Gaussian(0.5), np.vstack([points, points[:20]]), 5)
    np.testing.assert_allclose(doubled.values, repeated.values, rtol=1e-11)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), 3 * mc.Gaussian(0.5)], ids=repr)
def test_tol_gives_the_fewest_terms_with_that_sup_error_on_the_sample(points, kernel, tol):
    found = mercer_map(kernel, points, tol=tol)
    K, Z = kernel(points), found(points)
    error = np.abs(K - Z @ Z.T).max()
    assert found.sup_error == pytest.approx(error, rel=1e-6, abs=1e-13)
    assert error <= tol < np.abs(K - Z[:, :-1] @ Z[:, :-1].T).max()


def test_many_points_take_the_lazy_solver_to_the_same_eigenvalues(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((2100, 1))
    weights = np.linspace(1, 2, 2100)
    lazy = mercer_map(mc.Gaussian(0.5), X, 3, weights=weights, memory="1MB", random_state=0)
    values = analytic_gaussian(0.5, 3, np.zeros(1))[0]
    np.testing.assert_allclose(lazy.values, values, rtol=0.2)
    psi = lazy.eigenfunctions(X)
    np.testing.assert_allclose(
        (psi * (weights / weights.sum())[:, None]).T @ psi, np.eye(3), atol=1e-9
    )
    with pytest.raises(
        MemoryError, match="inner products of 2100 vectors needs 35.3 MB.*use fewer vectors"
    ):
        mercer_map(mc.Gaussian(0.5), X, memory="1MB")


def test_float32_stays_float32(points):
    found = mercer_map(mc.Gaussian(0.5), points.astype(np.float32), 4)
    assert found(points.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        found.values, mercer_map(mc.Gaussian(0.5), points, 4).values, rtol=1e-5
    )


def test_invalid_arguments_are_refused_with_numbers(points):
    with pytest.warns(UserWarning, match="n = 5 exceeds the numerical rank 2"):
        assert mercer_map(mc.Linear(), points, 5)(points).shape == (60, 2)
    with pytest.raises(ValueError, match=r"tol = 1e-09 must be at least .*, the error of 3 terms"):
        mercer_map(mc.Gaussian(0.5), points, 3, tol=1e-9)
    for weights, message in (
        (np.ones(59), r"weights must have shape \(60,\)"),
        (np.r_[0.0, np.ones(59)], "above 0"),
        (np.r_[np.nan, np.ones(59)], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            mercer_map(mc.Gaussian(0.5), points, weights=weights)
    with pytest.raises(ValueError, match="tol = 0 must be above 0"):
        mercer_map(mc.Gaussian(0.5), points, tol=0)


def test_an_indefinite_kernel_is_cut_with_a_warning_and_its_error_is_true(points):
    kernel = mc.Sigmoid(4.0)
    with pytest.warns(UserWarning, match="lambda_min"):
        found = mercer_map(kernel, points)
    assert (found.values > 0).all()
    assert found.sup_error > 1e-3


@pytest.mark.parametrize(("value", "rank"), [(6e-16, 1), (7.5e-16, 2)])
def test_eigenvalues_below_m_eps_of_the_largest_are_cut(value, rank):
    # 3 * 2^-52 = 6.7e-16
    found = mercer_map(mc.Linear(), np.diag([1.0, value**0.5, 0.0]))
    np.testing.assert_allclose(found.values, np.array([1.0, value])[:rank] / 3, rtol=1e-6)


def test_a_kernel_without_a_positive_eigenvalue_and_float32_rounding_are_refused_and_cut(points):
    with (
        pytest.warns(UserWarning, match="indefinite"),
        pytest.raises(ValueError, match="must have a positive eigenvalue"),
    ):
        mercer_map(mc.Precomputed().resolve(-np.eye(3)), np.arange(3))
    narrow = mercer_map(mc.Linear(), points.astype(np.float32))
    assert len(narrow.values) == 2


@pytest.mark.parametrize("n", [None, 2])
def test_the_error_of_an_indefinite_kernel_is_that_of_all_pairs(n, global_random_seed, costs):
    costs(BLOCK=5 * 12)
    X = np.random.default_rng(global_random_seed).normal(size=(12, 2))
    kernel = mc.Sigmoid(1.0, 0.5)
    with pytest.warns(UserWarning, match="lambda_min"):
        found = mercer_map(kernel, X, n)
    values = found(X)
    remainder = np.abs(kernel(X) - values @ values.T)
    assert found.sup_error == pytest.approx(remainder.max(), rel=1e-9)
    with pytest.warns(UserWarning, match="lambda_min"):
        few = mercer_map(kernel, X, n, tol=1.01 * found.sup_error)
    assert few.sup_error <= 1.01 * found.sup_error
