"""The jet of every kernel, against derivatives of its formula by Cauchy integrals."""

import numpy as np
import pytest
from tests.reference.derivatives import directional, directions

import mercer as mc
from mercer.manifold.rules import derivatives, jet

A = np.array([[1.0, 0.2, 0.0], [0.0, 0.5, 1.0]])
SCALES = np.array([1.0, 0.5, 1.5])
POINTS = np.random.default_rng(5).normal(size=(4, 3))
COEF = np.array([1.0, 0.5, 0.8, 0.3])


def dot(x, z):
    return (x * z).sum(axis=-1)


def sq(x, z):
    return dot(x - z, x - z)


def bumps(x):
    return sum(c * np.exp(-0.2 * sq(x, p)) for c, p in zip(COEF, POINTS, strict=True))


def normalized(k):
    return lambda x, z: k(x, z) / np.sqrt(k(x, x) * k(z, z))


CASES = {
    "gaussian": (mc.Gaussian(0.3), lambda x, z: np.exp(-0.3 * sq(x, z))),
    "rational": (
        mc.RationalQuadratic(2.0, alpha=0.7),
        lambda x, z: (1 + sq(x, z) / (1.4 * 4)) ** -0.7,
    ),
    "cauchy": (mc.Cauchy(0.1), lambda x, z: 1 / (1 + 0.1 * sq(x, z))),
    "linear": (mc.Linear(), dot),
    "poly3": (mc.Polynomial(3, gamma=0.5, coef0=1.0), lambda x, z: (0.5 * dot(x, z) + 1) ** 3),
    "poly6": (mc.Polynomial(6, gamma=0.3, coef0=0.0), lambda x, z: (0.3 * dot(x, z)) ** 6),
    "sigmoid": (mc.Sigmoid(0.1, coef0=0.2), lambda x, z: np.tanh(0.1 * dot(x, z) + 0.2)),
    "constant": (mc.Constant(2.5), lambda x, z: 2.5 + 0 * dot(x, z)),
    "sum": (
        mc.Gaussian(0.3) + 2 * mc.Linear() + 1,
        lambda x, z: np.exp(-0.3 * sq(x, z)) + 2 * dot(x, z) + 1,
    ),
    "product": (
        mc.Gaussian(0.3) * mc.Polynomial(2),
        lambda x, z: np.exp(-0.3 * sq(x, z)) * (dot(x, z) + 1) ** 2,
    ),
    "power": (
        (mc.Gaussian(0.2) + mc.Linear()) ** 3,
        lambda x, z: (np.exp(-0.2 * sq(x, z)) + dot(x, z)) ** 3,
    ),
    "exp": (mc.Exp(0.3 * mc.Linear()), lambda x, z: np.exp(0.3 * dot(x, z))),
    "normalized": (mc.Normalized(mc.Linear() + 2), normalized(lambda x, z: dot(x, z) + 2)),
    "normalized_sum": (
        mc.Normalized(mc.Gaussian(0.2) + mc.Polynomial(2, coef0=2.0)),
        normalized(lambda x, z: np.exp(-0.2 * sq(x, z)) + (dot(x, z) + 2) ** 2),
    ),
    "conformal": (
        mc.Rescaled(mc.Gaussian(0.3), mc.Expansion(mc.Gaussian(0.2), POINTS, COEF)),
        lambda x, z: bumps(x) * np.exp(-0.3 * sq(x, z)) * bumps(z),
    ),
    "mapped": (mc.Mapped(mc.Gaussian(0.3), A), lambda x, z: np.exp(-0.3 * sq(x @ A.T, z @ A.T))),
    "scales": (
        mc.Mapped(mc.Polynomial(2), SCALES),
        lambda x, z: (dot(x * SCALES, z * SCALES) + 1) ** 2,
    ),
    "columns": (
        mc.Mapped(mc.Gaussian(0.3), np.array([2, -3])) * mc.Linear(),
        lambda x, z: np.exp(-0.3 * sq(x[..., [2, 0]], z[..., [2, 0]])) * dot(x, z),
    ),
    "nested": (
        mc.Normalized(mc.Exp(0.5 * mc.Gaussian(0.2) * (mc.Linear() + 3)))
        + 0.1 * mc.Cauchy(0.1) ** 2,
        lambda x, z: (
            normalized(lambda x, z: np.exp(0.5 * np.exp(-0.2 * sq(x, z)) * (dot(x, z) + 3)))(x, z)
            + 0.1 / (1 + 0.1 * sq(x, z)) ** 2
        ),
    ),
}


@pytest.mark.parametrize("order", [(1, 1), (2, 1), (2, 2), (2, 0)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_formula(name, order, global_random_seed):
    kernel, formula = CASES[name]
    rng = np.random.default_rng(global_random_seed)
    X = 0.7 * rng.normal(size=(2, 3))
    # curvature asks for derivatives at x = z, a conformal factor for those in x at any pair
    Z = X if order[1] else 0.7 * rng.normal(size=(2, 3))
    U, V = (directions(rng, p, 3) for p in order)
    found = jet(kernel, X, Z, order).term(*order)
    for direction in (*U, *V):
        found = np.einsum("na...,a->n...", found, direction)
    for i in range(2):
        expected = directional(formula, X[i], Z[i], U, V)
        np.testing.assert_allclose(found[i], expected, rtol=2e-9, atol=2e-10)


def test_sizes_of_mapped_terms_are_those_of_the_absolute_map_and_at_least_the_metric():
    B, X = np.array([[1.0, -0.5, 2.0], [-1.0, 0.5, 3.0]]), 0.7 * POINTS
    found, absolute = (jet(mc.Mapped(mc.Linear(), C), X, X, (1, 1)) for C in (B, np.abs(B)))
    np.testing.assert_allclose(found.sizes, absolute.sizes, rtol=1e-13)
    assert (found.sizes >= np.einsum("naa->na", found.term(1, 1)) * (1 - 1e-13)).all()


def test_matern_away_from_the_diagonal_has_the_derivatives_of_its_formula(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    x, U = rng.normal(size=3), directions(rng, 2, 3)
    z = x + np.array([2.0, 1.0, -1.0])
    formulas = {0.5: lambda u: np.exp(-u), 1.5: lambda u: (1 + u) * np.exp(-u)}
    for nu, formula in formulas.items():
        expected = directional(
            lambda x, z, f=formula, nu=nu: f(np.sqrt(2 * nu * sq(x, z))), x, z, U, U[:0]
        )
        found = jet(mc.Matern(1.0, nu=nu), x[None], z[None], (2, 0)).term(2, 0)[0]
        np.testing.assert_allclose(U[0] @ found @ U[1], expected, rtol=1e-8)


def test_a_conformal_factor_of_matern_kernels_has_second_derivatives_at_its_own_points():
    # k = 1 - 3 s / 2 + ... for length 1 and nu = 3/2: the Hessian at the point itself is -3
    c = mc.Expansion(mc.Matern(1.0, nu=1.5), np.array([[0.0, 1.0]]), np.array([2.0]))
    value, gradient, hessian = derivatives(c, np.array([[0.0, 1.0]]), 2, None)
    assert value == 2
    assert not gradient.any()
    np.testing.assert_allclose(hessian, -6 * np.eye(2)[None], rtol=1e-14)


class Ridge:
    """c(x) = 1 + x_1^2, with its derivatives."""

    def __call__(self, X):
        return 1 + X[:, 0] ** 2

    def gradient(self, X):
        return np.column_stack([2 * X[:, 0], np.zeros((len(X), 2))])

    def hessian(self, X):
        out = np.zeros((len(X), 3, 3))
        out[:, 0, 0] = 2
        return out


def test_a_factor_may_bring_its_derivatives(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, U, V = rng.normal(size=(1, 3)), directions(rng, 2, 3), directions(rng, 2, 3)
    found = jet(mc.Rescaled(mc.Linear(), Ridge()), X, X, (2, 2)).term(2, 2)[0]
    found = np.einsum("abij,a,b,i,j->", found, *U, *V)
    expected = directional(
        lambda x, z: (1 + x[:, 0] ** 2) * dot(x, z) * (1 + z[:, 0] ** 2), X[0], X[0], U, V
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_many_points_of_a_factor_are_summed_in_parts(costs):
    c = mc.Expansion(mc.Gaussian(0.2), POINTS, COEF)
    X = np.random.default_rng(0).normal(size=(7, 3))
    whole = derivatives(c, X, 2, None)
    costs(BLOCK=1)
    for one, all_at_once in zip(derivatives(c, X, 2, None), whole, strict=True):
        np.testing.assert_allclose(one, all_at_once, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(whole[0], c(X)[:, 0], rtol=1e-13)
    np.testing.assert_allclose(whole[1], c.gradient(X)[:, 0], rtol=1e-12)


def test_missing_derivatives_of_a_factor_are_named():
    X = np.ones((2, 3))
    with pytest.raises(TypeError, match=r"needs c.gradient\(X\) of shape \(2, 3\)"):
        jet(mc.Rescaled(mc.Linear(), lambda Y: Y[:, 0]), X, X, (1, 1))
    with pytest.raises(ValueError, match="c is an Expansion of 2 vectors"):
        jet(mc.Rescaled(mc.Linear(), mc.Expansion(mc.Linear(), X)), X, X, (1, 1))


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Laplacian(1.0),
        mc.Chi2(1.0),
        mc.Intersection(),
        mc.FunctionKernel(lambda X, Z: X @ Z.T),
        mc.Precomputed(np.eye(2)),
        mc.Gaussian(1.0) + mc.Laplacian(1.0),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_kernel_without_derivatives_is_refused_with_those_that_have_them(kernel):
    with pytest.raises(
        TypeError, match="no derivatives for mercer.manifold.*Linear, Polynomial, Gaussian"
    ):
        jet(kernel, np.ones((2, 3)), np.ones((2, 3)), (1, 1))


def test_a_kernel_that_is_not_differentiable_is_refused():
    X = np.ones((2, 3))
    with pytest.raises(TypeError, match="not differentiable at x = z.*nu = 1.5 or 2.5"):
        jet(mc.Matern(1.0, nu=0.5) * mc.Linear(), X, X, (1, 1))


P = np.random.default_rng(8).normal(size=(5, 2))
SMOOTH = [
    (mc.Periodic(np.array([1.3, 2.0]), 0.8), "Periodic"),
    (mc.Periodic(2.5) * mc.Gaussian(0.2), "product"),
    (
        mc.EmpiricalMap(mc.Gaussian(0.4), P, np.random.default_rng(9).normal(size=(5, 4))),
        "EmpiricalMap",
    ),
    (mc.OnColumns(mc.Gaussian(0.4), (1, 0)) + mc.OnColumns(mc.Linear(), (1,)), "OnColumns"),
]


@pytest.mark.parametrize(
    "kernel", [kernel for kernel, _ in SMOOTH], ids=[name for _, name in SMOOTH]
)
@pytest.mark.parametrize("key", [(1, 0), (0, 1), (1, 1), (2, 1), (2, 2)])
def test_derivatives_of_periodic_and_mapped_kernels_are_central_differences(
    kernel, key, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    x, z = rng.normal(size=2), rng.normal(size=2)
    h, p, q = 1e-3, *key
    found = jet(kernel, x[None], z[None], (2, 2)).term(p, q)[0]

    def value(x, z, axes):
        """Return the derivative along axes, those of x first, by differences."""
        if not axes:
            return jet(kernel, x[None], z[None], (0, 0)).term(0, 0)[0]
        step = h * np.eye(2)[axes[0]]
        left = len(axes) > q
        moved = [(x + s * step, z) if left else (x, z + s * step) for s in (1, -1)]
        return (value(*moved[0], axes[1:]) - value(*moved[1], axes[1:])) / (2 * h)

    for axes in np.ndindex(*(2,) * (p + q)):
        assert found[axes] == pytest.approx(
            value(x, z, axes), rel=1e-3, abs=2e-4 * max(1, np.abs(found).max())
        )
    if key == (1, 1):
        assert kernel(x[None], z[None]).item() == pytest.approx(value(x, z, ()))


def test_the_metric_of_a_mapped_function_is_the_pullback_of_the_inner_metric_by_the_jacobian(
    global_random_seed,
):
    X = np.random.default_rng(global_random_seed).normal(size=(6, 2))

    def circle(X):
        return np.column_stack([np.cos(X[:, 0]), np.sin(X[:, 0]), X[:, 1] ** 2])

    def jacobian(X):
        zero = np.zeros(len(X))
        return np.stack(
            [
                np.stack([-np.sin(X[:, 0]), np.cos(X[:, 0]), zero], 1),
                np.stack([zero, zero, 2 * X[:, 1]], 1),
            ],
            2,
        )

    kernel = mc.Mapped(mc.Gaussian(0.3), circle, jacobian)
    J = jacobian(X)
    # the metric of a Gaussian is 2 gamma I
    np.testing.assert_allclose(
        mc.manifold.metric(kernel, X), 0.6 * np.swapaxes(J, 1, 2) @ J, atol=1e-12
    )
    with pytest.raises(TypeError, match="no second derivatives"):
        mc.manifold.ricci(kernel, X)
    with pytest.raises(TypeError, match="set jacobian="):
        mc.manifold.metric(mc.Mapped(mc.Gaussian(0.3), circle), X)


def test_the_metric_of_a_periodic_kernel_is_that_of_circles(global_random_seed):
    X = 10 * np.random.default_rng(global_random_seed).normal(size=(4, 2))
    period, length = np.array([1.5, 4.0]), 0.7
    expected = np.diag((2 * np.pi / period) ** 2 / length**2)
    np.testing.assert_allclose(
        mc.manifold.metric(mc.Periodic(period, length), X), [expected] * 4, rtol=1e-12, atol=1e-12
    )
    # circles are flat
    np.testing.assert_allclose(
        mc.manifold.scalar_curvature(mc.Periodic(period, length), X), 0, atol=1e-9
    )


def test_a_kernel_that_is_refuted_has_a_metric_with_a_warning():
    with pytest.warns(UserWarning, match="not positive semidefinite, since its series"):
        mc.manifold.metric(mc.Polynomial(2, 1.0, -1.0), np.eye(2))
