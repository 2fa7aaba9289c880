"""Kernels of the inner product: features they stand for, ranges they refuse, derivatives beyond the degree."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.derivatives import assert_gradients, central
from tests.reference.inside import MATH, parameters_of, points_of, profile_values

import mercer as mc

X = np.random.default_rng(0).standard_normal((6, 3))


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_the_homogeneous_polynomial_is_the_inner_product_of_all_monomials(degree):
    columns = [math.prod(column) for column in itertools.product(X.T, repeat=degree)]
    monomials = np.column_stack([np.asarray(column) for column in columns])
    np.testing.assert_allclose(
        mc.Polynomial(degree, coef0=0.0)(X), monomials @ monomials.T, rtol=1e-11, atol=1e-12
    )


def test_polynomials_add_up_by_the_binomial_theorem():
    expected = sum(math.comb(4, j) * 0.7 ** (4 - j) * (X @ X.T) ** j for j in range(5))
    np.testing.assert_allclose(mc.Polynomial(4, coef0=0.7)(X), expected, rtol=1e-12)


def test_derivatives_beyond_the_degree_are_zero_even_at_zero():
    s = np.linspace(-1, 1, 5)
    for order in (3, 4):
        assert (profile_values(mc.Polynomial(2, 1.0, 0.0), s, order) == 0).all()
        assert (profile_values(mc.Linear(), s, order) == 0).all()


def test_the_sigmoid_is_the_hyperbolic_tangent_and_is_not_positive_semidefinite():
    kernel = mc.Sigmoid(gamma=2.0, coef0=-1.0)
    np.testing.assert_allclose(kernel(X), np.tanh(2 * X @ X.T - 1), rtol=1e-13)
    assert np.linalg.eigvalsh(kernel(X)).min() < -0.01


@pytest.mark.parametrize(
    "kernel", [mc.Linear(), mc.Polynomial(3, 0.5, 0.7), mc.Sigmoid(0.3, 0.2)], ids=str
)
def test_a_profile_without_an_order_is_that_of_the_kernel(kernel):
    found = kernel.profile(MATH, X @ X.T, *parameters_of(kernel))
    np.testing.assert_allclose(found, kernel(X), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [1, 2, 3, 5, 10, 30, 100, 300, 1000])
def test_polynomials_of_every_degree_and_scale_are_finite_or_refused_before_the_block(
    degree, dtype
):
    outcomes = set()
    for scale in (1e-300, 1e-30, 1e-3, 1.0, 3.0, 1e3, 1e15, 1e50, 1e150, 1e200):
        points = (X * min(scale, 1e38) if dtype == np.float32 else X * scale).astype(dtype)
        if not np.isfinite(points).all():
            continue
        try:
            outcomes.add(bool(np.isfinite(mc.Polynomial(degree)(points)).all()))
        except ValueError as error:
            outcomes.add("refused" if "scale X" in str(error) else str(error))
    assert outcomes == {True, "refused"}


def test_the_refusal_shows_kernel_norm_and_remedy():
    with pytest.raises(
        ValueError,
        match=r"Polynomial\(degree=50.*overflows float64: the largest row has norm 1.73e\+10; .* lower the degree",
    ):
        mc.Polynomial(50)(np.full((2, 3), 1e10))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mc.Polynomial(0), "degree = 0 must be at least 1"),
        (lambda: mc.Polynomial(2, gamma=0.0), "gamma = 0.0 must be above 0"),
        (lambda: mc.Polynomial(2, coef0=np.nan), "coef0 = nan must be finite"),
        (
            lambda: mc.Sigmoid(gamma="automatic"),
            'gamma = \'automatic\' must be "scale", "auto", "median"',
        ),
        (lambda: mc.Sigmoid(coef0=np.inf), "coef0 = inf must be finite"),
    ],
)
def test_bad_parameters_are_refused_by_name_and_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_degree_is_a_whole_number():
    with pytest.raises(TypeError, match="degree must be a whole number, got 2.5 of type float"):
        mc.Polynomial(2.5)


PROFILES = [
    mc.Linear(),
    mc.Polynomial(1, 0.7, 0.0),
    mc.Polynomial(2, 0.7, 0.3),
    mc.Polynomial(5, 0.6, -0.4),
    mc.Sigmoid(0.7, 0.2),
    mc.Sigmoid(1.3, -0.6),
]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", PROFILES, ids=repr)
def test_each_derivative_of_a_profile_is_the_slope_of_the_one_before(kernel, order):
    s = np.linspace(-1.0, 3.0, 20)
    slopes = central(lambda s: profile_values(kernel, s[:, 0], order - 1), s[:, None], h=0.01)[:, 0]
    np.testing.assert_allclose(
        profile_values(kernel, s, order), slopes, atol=1e-6 * max(1e-3, abs(slopes).max())
    )


@pytest.mark.parametrize("kernel", PROFILES, ids=repr)
def test_gradients_are_those_of_differences(kernel, global_random_seed):
    assert_gradients(kernel, X, X[:4, ::-1] + 0.1, global_random_seed)


def test_sparse_rows_have_the_gradients_of_dense_rows():
    kernel, W, w = mc.Polynomial(3), np.cos(np.arange(36.0)).reshape(6, 6), np.arange(6.0)
    sparse = sp.csr_matrix(X)
    np.testing.assert_allclose(kernel.vjp(sparse, sparse, W), kernel.vjp(X, X, W), rtol=1e-12)
    np.testing.assert_allclose(
        kernel.diagonal_gradient(points_of(sparse), w),
        kernel.diagonal_gradient(points_of(X), w),
        rtol=1e-12,
    )


def test_definiteness_is_known_by_the_parameters():
    assert mc.Polynomial(2, coef0=0.0).tags.positive_semidefinite is True
    assert mc.Polynomial(2, coef0=-1e-9).tags.positive_semidefinite is None
    assert mc.Sigmoid().tags.positive_semidefinite is False


def test_defaults_are_a_cubic_with_a_constant_and_a_plain_tangent():
    assert mc.Polynomial() == mc.Polynomial(degree=3, gamma=1.0, coef0=1.0)
    assert mc.Sigmoid() == mc.Sigmoid(gamma=1.0, coef0=0.0)


def test_rules_are_resolved_on_the_points():
    assert mc.Polynomial(gamma="scale").resolve(X).gamma == pytest.approx(1 / (3 * X.var()))
    assert mc.Sigmoid(gamma="scale").resolve(X).gamma == pytest.approx(1 / (3 * X.var()))
