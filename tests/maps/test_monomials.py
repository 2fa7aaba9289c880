"""Monomial maps: their dot product is a power of the dot product; their number is known before they are computed."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import PolynomialFeatures

import mercer as mc
from mercer.maps import monomial_count, ordered_monomials, unordered_monomials


@pytest.mark.parametrize("make", [ordered_monomials, unordered_monomials])
@pytest.mark.parametrize("n_variables", [1, 2, 5])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_dot_products_are_powers_of_dot_products(make, n_variables, degree, global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((12, n_variables))
    expected = mc.Polynomial(degree, 1.0, 0.0)(X)
    products = make(X, degree)
    np.testing.assert_allclose(products @ products.T, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("make", [ordered_monomials, unordered_monomials])
@pytest.mark.parametrize("coef0", [0.3, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_with_a_constant_dot_products_are_those_of_the_inhomogeneous_kernel(
    make, coef0, dtype, global_random_seed
):
    X = np.random.default_rng(global_random_seed).standard_normal((12, 3)).astype(dtype)
    expected = mc.Polynomial(4, 1.0, coef0)(X.astype(np.float64))
    products = make(X, 4, coef0=coef0)
    assert products.dtype == dtype
    tolerance = (1e-5 if dtype == np.float32 else 1e-12) * np.abs(expected).max()
    np.testing.assert_allclose(products @ products.T, expected, atol=tolerance)


@pytest.mark.parametrize(("n_variables", "degree"), [(1, 4), (2, 3), (6, 4)])
def test_the_inhomogeneous_number_is_that_of_all_degrees_up_to_d(n_variables, degree):
    found = monomial_count(n_variables, degree, inhomogeneous=True)
    assert found == 1 + sum(monomial_count(n_variables, each) for each in range(1, degree + 1))
    X = np.ones((2, n_variables))
    assert found == unordered_monomials(X, degree, coef0=1.0).shape[1]
    assert found == PolynomialFeatures(degree).fit(X).n_output_features_


def test_a_negative_constant_is_refused():
    with pytest.raises(ValueError, match="coef0 = -1.0 must be at least 0"):
        unordered_monomials(np.ones((2, 2)), 2, coef0=-1.0)


@pytest.mark.parametrize(("n_variables", "degree"), [(1, 4), (2, 3), (4, 2), (6, 4)])
def test_their_number_is_that_of_the_formula_and_of_scikit_learn(n_variables, degree):
    X = np.random.default_rng(0).uniform(1, 2, (3, n_variables))
    products = unordered_monomials(X, degree)
    assert products.shape == (3, monomial_count(n_variables, degree))
    theirs = PolynomialFeatures(degree, include_bias=False).fit(X)
    of_degree = theirs.powers_.sum(axis=1) == degree
    assert of_degree.sum() == products.shape[1]
    # each is scikit-learn's times the square root of a whole number
    ratio = (products / theirs.transform(X)[:, of_degree]) ** 2
    np.testing.assert_allclose(ratio, np.round(ratio[:1]).repeat(3, axis=0), rtol=1e-12)
    assert ratio[0].sum() == pytest.approx(n_variables**degree)
    assert ordered_monomials(X, degree).shape == (3, n_variables**degree)


def test_unordered_monomials_are_the_different_ordered_ones(global_random_seed):
    x = np.random.default_rng(global_random_seed).standard_normal((1, 3))
    values, counts = np.unique(ordered_monomials(x, 3).round(12), return_counts=True)
    np.testing.assert_allclose(
        np.sort(unordered_monomials(x, 3)[0]), np.sort(values * np.sqrt(counts)), atol=1e-10
    )


def test_too_many_are_refused_with_their_number():
    X = np.ones((1, 256))
    assert monomial_count(256, 5) == 9_525_431_552
    with pytest.raises(
        MemoryError, match="table of 9525431552 monomials of degree 5 in 256 variables"
    ):
        unordered_monomials(X, 5)
    with pytest.raises(MemoryError, match=f"{256**5} ordered products of 5 of 256"):
        ordered_monomials(X, 5)


@pytest.mark.parametrize("make", [ordered_monomials, unordered_monomials])
def test_bad_input_is_refused(make):
    with pytest.raises(ValueError, match="degree = 0"):
        make(np.ones((2, 2)), 0)
    with pytest.raises(ValueError, match="overflow float64"):
        make(np.full((2, 2), 1e200), 2)
    with pytest.raises(TypeError, match="toarray"):
        make(sp.csr_matrix(np.ones((2, 2))), 2)
    assert make(np.ones((2, 2), np.float32), 3).dtype == np.float32


def test_ordered_products_are_in_the_order_of_their_indices():
    x = np.array([2.0, 3.0, 5.0])
    expected = [np.prod(entries) for entries in product(x, repeat=3)]
    np.testing.assert_array_equal(ordered_monomials(x[None], 3)[0], expected)


def test_monomials_have_roots_of_multinomial_coefficients():
    x, y, z = 2.0, 3.0, 5.0
    expected = [
        x**3,
        3**0.5 * x * x * y,
        3**0.5 * x * x * z,
        3**0.5 * x * y * y,
        6**0.5 * x * y * z,
        3**0.5 * x * z * z,
    ]
    expected += [y**3, 3**0.5 * y * y * z, 3**0.5 * y * z * z, z**3]
    np.testing.assert_allclose(
        unordered_monomials(np.array([[x, y, z]]), 3)[0], expected, rtol=1e-14
    )


@pytest.mark.parametrize(
    ("make", "needed"),
    [(ordered_monomials, 81 * 2 * 7 * 8), (unordered_monomials, 15 * (2 * 7 * 8 + 8 * (4 + 4)))],
)
def test_the_budget_counts_two_tables_and_the_indices(make, needed):
    X = np.ones((7, 3))
    assert len(make(X, 4, memory=needed)) == 7
    with pytest.raises(MemoryError):
        make(X, 4, memory=needed - 1)


@pytest.mark.parametrize("degree", [200, 2**60])
def test_a_degree_beyond_any_memory_is_refused_at_once(degree):
    with pytest.raises(MemoryError, match=f"or more ordered products of {degree} of 2 variables"):
        ordered_monomials(np.ones((1, 2)), degree)


@pytest.mark.parametrize("monomials", [ordered_monomials, unordered_monomials])
def test_monomials_of_degree_1_are_an_array_of_their_own(monomials):
    X = np.array([[1.0, 2.0]])
    found = monomials(X, 1)
    np.testing.assert_array_equal(found, X)
    assert not np.shares_memory(found, X)
