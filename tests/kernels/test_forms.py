"""Forms: composite kernels that are one function of a scalar have its values and slopes; others are told apart."""

import numpy as np
import pytest

import mercer as mc
from mercer.kernels.forms import evaluate_form, flat_kernel, flatten, form_of, pull_rows, unmapped

X = np.random.default_rng(0).standard_normal((7, 3))
G, M, P = mc.Gaussian(0.3), mc.Matern(2.0), mc.Polynomial(2)
RADIAL = [
    G,
    2 * G,
    G**3,
    G * M,
    G + 1.0,
    2 * (G + M) * G,
    mc.Normalized(2 * G + M),
    mc.Exp(G),
    2.0 * (G * mc.Constant(3.0)),
]
DOT = [
    P,
    2 * P,
    P**2,
    P * mc.Linear() + mc.Linear(),
    mc.Exp(mc.Linear()),
    P * mc.Constant(2.0),
    P + 1.0,
]
NEITHER = [
    G + P,
    G * mc.Laplacian(1.0),
    mc.Normalized(P),
    mc.Mapped(G, np.ones(3)),
    mc.FeatureMap(np.square) + G,
]


@pytest.mark.parametrize("kernel", RADIAL + DOT, ids=repr)
def test_a_form_has_the_values_and_slopes_of_its_kernel(kernel):
    radial = kernel in RADIAL
    assert form_of(kernel) == ("radial" if radial else "dot")
    s = np.sum((X[:, None] - X) ** 2, axis=2) if radial else X @ X.T
    np.testing.assert_allclose(evaluate_form(kernel, s), kernel(X), rtol=1e-10)
    h = 1e-6
    s = np.linspace(0.5, 2.0, 9)
    slope = (evaluate_form(kernel, s + h) - evaluate_form(kernel, s - h)) / (2 * h)
    np.testing.assert_allclose(evaluate_form(kernel, s, order=1), slope, rtol=1e-7)


@pytest.mark.parametrize("kernel", NEITHER, ids=repr)
def test_other_kernels_have_no_form(kernel):
    assert form_of(kernel) is None


def test_constants_have_any_form_and_no_slope():
    kernel = mc.Constant(2.0) * mc.Constant(3.0)
    assert form_of(kernel) == "constant"
    np.testing.assert_array_equal(evaluate_form(kernel, np.ones(2)), [6.0, 6.0])
    np.testing.assert_array_equal(evaluate_form(kernel, np.ones(2), order=1), [0.0, 0.0])


def test_a_kink_stays_infinite_under_multiples_and_constants():
    kink = mc.Matern(1.0, 0.5)
    for kernel in (
        2 * kink,
        kink + 1.0,
        kink * mc.Constant(2.0),
        kink**2,
        kink * G,
        mc.Normalized(3 * kink),
    ):
        assert evaluate_form(kernel, np.zeros(1), order=1)[0] == -np.inf


def test_common_maps_are_taken_out_of_sums_products_and_multiples():
    a, B = np.array([1.0, 2.0, 3.0]), np.eye(3)[:2]
    kernel = 2 * (mc.Mapped(G, a) + mc.Mapped(M, a.copy()) + 1.0) ** 2
    inner, A = unmapped(kernel)
    assert inner == 2 * (G + M + 1.0) ** 2
    np.testing.assert_array_equal(A, a)
    np.testing.assert_allclose(inner(X * a), kernel(X), rtol=1e-14)
    for other in (
        mc.Mapped(G, a) + mc.Mapped(G, 2 * a),
        mc.Mapped(G, a) + G,
        G,
        mc.Constant(1.0) + 1.0,
    ):
        assert unmapped(other) == (other, None)
    nested = mc.Mapped(mc.Mapped(G, B), a)
    kernel, rows = flatten(nested, X)
    assert kernel == flat_kernel(nested) == G
    np.testing.assert_allclose(kernel(rows), nested(X), rtol=1e-14)


@pytest.mark.parametrize(
    "A",
    [np.array([2.0, 0.0, -1.0]), np.array([[1.0, 1.0, 0.0]]), np.array([2, -3]), np.array([1, 1])],
    ids=range(4),
)
def test_rows_are_pulled_back_to_the_nearest_with_the_mapped_rows(A):
    target = mc.Mapped(mc.Linear(), A)
    there = X[::-1]
    mapped = flatten(target, there)[1]
    back = pull_rows(A, mapped, X)
    np.testing.assert_allclose(flatten(target, back)[1], mapped, atol=1e-12)
    assert (np.linalg.norm(back - X, axis=1) <= np.linalg.norm(there - X, axis=1) + 1e-12).all()
    np.testing.assert_allclose(pull_rows(A, flatten(target, X)[1], X), X, atol=1e-12)


def test_a_map_by_a_function_stays():
    kernel = 2 * mc.Mapped(G, np.square) + 1.0
    assert unmapped(kernel) == (kernel, None)
    assert form_of(kernel) is None
