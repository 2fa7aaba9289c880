"""Projections are idempotent and self-adjoint, have the nearest vector and obey Pythagoras."""

import numpy as np
import pytest

import mercer as mc
from mercer.projection import project

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((60, 3)), rng.standard_normal((25, 3))
CASES = {
    "independent": (mc.Gaussian(2.0), mc.features(mc.Gaussian(2.0), Z), 1e-11),
    "combinations": (
        mc.Gaussian(0.3),
        mc.features(mc.Gaussian(0.3), Z) @ rng.standard_normal((25, 4)),
        1e-11,
    ),
    "repeated": (mc.Gaussian(2.0), mc.features(mc.Gaussian(2.0), np.vstack([Z, Z])), 1e-11),
    "low rank": (mc.Polynomial(2), mc.features(mc.Polynomial(2), np.vstack([Z, Z * 1.1])), 1e-9),
    "nearly dependent": (
        mc.Gaussian(0.01),
        mc.features(mc.Gaussian(0.01), np.vstack([Z, Z])),
        1e-5,
    ),
}


@pytest.fixture(params=CASES)
def case(request):
    kernel, onto, atol = CASES[request.param]
    return mc.features(kernel, X) @ rng.standard_normal((60, 5)), onto, atol


def test_a_projection_projected_stays_where_it_is(case):
    psi, onto, atol = case
    P = project(psi, onto)
    again = project(P, onto)
    np.testing.assert_array_equal(P.points, onto.points)
    np.testing.assert_allclose(again.inner(psi), P.inner(psi), atol=atol * psi.norms().max() ** 2)
    np.testing.assert_allclose(again(X), P(X), atol=atol * psi.norms().max())


def test_a_projection_is_self_adjoint(case):
    psi, onto, atol = case
    left = project(psi, onto).inner(psi)
    np.testing.assert_allclose(left, left.T, atol=atol * psi.norms().max() ** 2)


def test_the_remainder_is_orthogonal_to_the_span(case):
    psi, onto, atol = case
    remainder = psi - project(psi, onto)
    scale = psi.norms().max() * onto.norms().max()
    np.testing.assert_allclose(remainder.inner(onto), 0, atol=max(atol, 1e-8) * scale)


def test_pythagoras_holds_for_a_projection_and_its_remainder(case):
    psi, onto, atol = case
    P = project(psi, onto)
    squares = psi.norms() ** 2
    np.testing.assert_allclose(
        P.norms() ** 2 + (psi - P).norms() ** 2, squares, atol=1e3 * atol * squares.max()
    )


def test_vectors_of_the_span_stay():
    kernel, onto, _ = CASES["independent"]
    psi = onto @ rng.standard_normal((25, 3))
    np.testing.assert_allclose(project(psi, onto).coef, psi.coef, atol=1e-10)


def test_no_other_vector_of_the_span_is_nearer():
    kernel, onto, _ = CASES["independent"]
    psi = mc.features(kernel, X[:1])
    error = (psi - project(psi, onto)).norms()[0]
    for _ in range(10):
        other = project(psi, onto) + onto @ (1e-2 * rng.standard_normal((25, 1)))
        assert (psi - other).norms()[0] > error


def test_float32_stays_float32():
    kernel = mc.Gaussian(1.0)
    onto = mc.features(kernel, Z.astype(np.float32))
    P = project(mc.features(kernel, X.astype(np.float32)), onto)
    wide = project(mc.features(kernel, X), mc.features(kernel, Z))
    assert P.coef.dtype == np.float32
    np.testing.assert_allclose(P(X.astype(np.float32)), wide(X), atol=1e-3)


def test_spaces_of_different_kernels_do_not_mix():
    with pytest.raises(ValueError, match="must have the same kernel to be combined"):
        project(mc.features(mc.Gaussian(1.0), X), mc.features(mc.Gaussian(2.0), Z))


def test_an_empty_span_is_refused_by_its_name():
    kernel = mc.Linear()
    with pytest.raises(
        ValueError, match="onto must contain a vector that is not 0; all 2 vectors are 0"
    ):
        project(mc.features(kernel, X), mc.features(kernel, np.zeros((2, 3))))


def test_the_tolerance_is_a_share_of_the_largest_squared_norm():
    kernel = mc.Linear()
    onto = mc.features(kernel, np.array([[2.0, 0.0], [2.0, 0.02]]))
    psi = mc.features(kernel, np.array([[3.0, 5.0]]))
    # the second vector is 0.02 from the span of the first, 1e-4 of its squared norm
    np.testing.assert_allclose(project(psi, onto, tol=0.9e-4).norms(), 34**0.5)
    np.testing.assert_allclose(project(psi, onto, tol=1.1e-4).norms(), 3.0, rtol=2e-2)


@pytest.mark.parametrize(
    ("dtype", "size", "rank"), [(np.float64, 1e-5, 2), (np.float64, 4e-6, 1), (np.float32, 4e-3, 1)]
)
def test_the_default_tolerance_is_two_thirds_of_the_digits(dtype, size, rank):
    kernel = mc.Linear()
    onto = mc.features(kernel, np.array([[1.0, 0.0], [1.0, size]], dtype))
    P = project(mc.features(kernel, np.array([[0.0, 1.0]], dtype)), onto)
    np.testing.assert_allclose(P.norms(), rank - 1, atol=1e-2)
