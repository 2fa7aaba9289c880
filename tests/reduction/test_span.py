"""Span: coefficients and residuals against least squares and extended precision."""

import numpy as np
import pytest
from tests.reference import naive

import mercer as mc
from mercer.reduction.base import Target
from mercer.reduction.trace import Span

RNG = np.random.default_rng(1)
X, Z = RNG.normal(size=(30, 3)), RNG.normal(size=(8, 3))
C = RNG.normal(size=(30, 4))
KERNELS = [
    mc.Gaussian(0.3),
    mc.Polynomial(3, 0.5, 1.0),
    mc.Matern(1.0),
    mc.Gaussian(0.3) + mc.Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_coefficients_are_the_best_and_residuals_are_theirs(kernel):
    target = Target(mc.Expansion(kernel, X, C))
    span = Span(target)
    span.add(Z)
    A = span.coefficients()
    np.testing.assert_allclose(
        A, np.linalg.lstsq(kernel(Z), kernel(Z, X) @ C, rcond=None)[0], rtol=1e-6, atol=1e-8
    )
    if kernel != KERNELS[-1]:
        squares = [naive.gram(kernel, P, Q) for P, Q in ((X, X), (X, Z), (Z, Z))]
        wide, tall = C.astype(np.longdouble), A.astype(np.longdouble)
        left = (wide * (squares[0] @ wide)).sum(0) - 2 * (wide * (squares[1] @ tall)).sum(0)
        left += (tall * (squares[2] @ tall)).sum(0)
        np.testing.assert_allclose(span.residuals, left.astype(float), rtol=1e-9)


def test_one_after_the_other_and_all_at_once_are_the_same():
    target = Target(mc.Expansion(KERNELS[0], X, C))
    single, block, parts = Span(target), Span(target), Span(target)
    for z in Z:
        single.add(z[None])
    block.add(Z)
    parts.add(Z[:3])
    parts.add(Z[3:])
    for other in (block, parts):
        np.testing.assert_allclose(other.coefficients(), single.coefficients(), rtol=1e-9)
        np.testing.assert_allclose(other.factor, single.factor, atol=1e-14)


def test_repeated_points_get_the_coefficient_0_and_change_nothing():
    target = Target(mc.Expansion(KERNELS[0], X, C))
    plain, repeated = Span(target), Span(target)
    plain.add(Z)
    repeated.add(Z[[0, 0, 1, 0, 2, 3, 4, 5, 6, 6, 7]])
    np.testing.assert_array_equal(repeated.kept, [0, 2, 4, 5, 6, 7, 8, 10])
    np.testing.assert_allclose(
        repeated.coefficients()[repeated.kept], plain.coefficients(), rtol=1e-8
    )
    np.testing.assert_allclose(repeated.residuals, plain.residuals, rtol=1e-10)


def test_polynomials_have_no_more_dimensions_than_monomials():
    target = Target(mc.Expansion(mc.Polynomial(2, 1.0, 1.0), X, C))
    span = Span(target)
    span.add(X)
    assert len(span.kept) == 10
    np.testing.assert_allclose(span.residuals, 0, atol=1e-10 * target.squares.max())


def test_the_residuals_of_new_features_are_their_distances_to_the_span():
    kernel = KERNELS[0]
    span = Span(Target(mc.Expansion(kernel, X, C)))
    span.add(Z)
    new = RNG.normal(size=(5, 3))
    T, S = span.project(new)
    exact = kernel(new) - kernel(new, Z) @ np.linalg.solve(kernel(Z), kernel(Z, new))
    np.testing.assert_allclose(S, exact, atol=1e-12)
    np.testing.assert_allclose(T.T @ T, kernel(new) - exact, atol=1e-12)


def test_a_feature_is_skipped_below_s_eps_of_the_largest_square():
    target = Target(mc.features(mc.Linear(), np.eye(2)))
    for size, kept in ((3e-8, [0, 1]), (1.5e-8, [0])):
        # the squares are 1 and size^2 against 2 eps = 4.4e-16
        span = Span(target)
        span.add(np.array([[1.0, 0.0], [0.0, size]]))
        assert span.kept.tolist() == kept
        one_by_one = Span(target)
        one_by_one.add(np.array([[1.0, 0.0]]))
        one_by_one.add(np.array([[0.0, size]]))
        assert one_by_one.kept.tolist() == kept


def test_more_features_than_a_block_give_the_best_coefficients():
    points = np.random.default_rng(5).normal(size=(150, 3))
    kernel = mc.Gaussian(3.0)
    target = Target(mc.Expansion(kernel, X, C))
    span = Span(target)
    span.add(points[:10])
    span.add(points[10:])
    assert len(span) == len(span.kept) == 150
    np.testing.assert_allclose(kernel(points) @ span.coefficients(), target.psi(points), atol=1e-9)
    np.testing.assert_allclose(span.factor @ span.factor.T, kernel(points), atol=1e-12)


def test_known_values_are_used():
    span = Span(Target(mc.Expansion(KERNELS[0], X, C)))
    span.add(Z, np.ones((8, 4)))
    np.testing.assert_allclose(KERNELS[0](Z) @ span.coefficients(), 1, atol=1e-9)
