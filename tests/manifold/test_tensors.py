"""Tensor fields: chunks, types, singular and indefinite metrics, refused kernels and points, memory."""

import array_api_strict as xp
import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer import manifold
from mercer.manifold.jets import Jet
from mercer.manifold.rules import jet
from mercer.manifold.tensors import scaled_eigh


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


def test_many_dimensions_are_cheap_and_parts_agree_with_the_whole(rng, costs):
    X = rng.normal(size=(6, 256)) / 16
    kernel = mc.Gaussian(0.5) + mc.Polynomial(2)
    g = manifold.metric(kernel, X)
    r2 = (X**2).sum(axis=1)[:, None, None]
    np.testing.assert_allclose(
        g, (1 + 2 * (r2 + 1)) * np.eye(256) + 2 * X[:, :, None] * X[:, None], rtol=1e-12, atol=1e-13
    )
    costs(BLOCK=1)
    np.testing.assert_array_equal(manifold.metric(kernel, X), g)


def test_single_precision_points_give_single_precision_tensors(rng):
    X = rng.normal(size=(4, 3)).astype(np.float32)
    for field in (
        manifold.metric,
        manifold.christoffel,
        manifold.scalar_curvature,
        manifold.volume_element,
    ):
        found = field(mc.Polynomial(3), X)
        assert found.dtype == np.float32
        np.testing.assert_allclose(
            found, field(mc.Polynomial(3), X.astype(np.float64)), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize(
    "field", [manifold.inverse_metric, manifold.christoffel, manifold.riemann, manifold.ricci]
)
@pytest.mark.parametrize("degree", [2, 3, 6])
def test_homogeneous_polynomials_are_singular_at_zero_and_others_are_not(field, degree):
    X = np.array([[1.0, 0.5], [0.0, 0.0]])
    with pytest.raises(
        ValueError, match=r"is singular at X\[1\] = \[0. 0.\].*volume_element is 0.*coef0 > 0"
    ):
        field(mc.Polynomial(degree, coef0=0.0), X)
    assert np.isfinite(field(mc.Polynomial(degree, coef0=0.5), X)).all()
    assert np.isfinite(field(mc.Polynomial(1, coef0=0.0), X)).all()


def test_a_cone_is_singular_everywhere_and_units_are_not():
    # normalising removes the radius, so that one direction has length 0 at every point
    with pytest.raises(ValueError, match=r"is singular at X\[0\]"):
        manifold.inverse_metric(mc.Normalized(mc.Linear()), np.array([[0.3, 0.4]]))
    units, X = np.array([1e-9, 1e9]), np.array([[1.0, 2.0]])
    found = manifold.inverse_metric(mc.Mapped(mc.Polynomial(2), units), X / units)
    np.testing.assert_allclose(
        found * units[:, None] * units, manifold.inverse_metric(mc.Polynomial(2), X), rtol=1e-12
    )


def test_the_metric_of_an_indefinite_kernel_is_refused():
    with pytest.raises(
        ValueError,
        match=r"not positive definite at X\[1\].*the kernel is not positive semidefinite",
    ):
        manifold.inverse_metric(mc.Sigmoid(1.0), np.array([[0.1, 0.0], [3.0, 0.0]]))


def test_the_scaled_spectrum_of_a_zero_metric_is_zero():
    scale, values, _ = scaled_eigh(Jet((1, 3), (1, 1), {}))
    assert (scale == 1).all()
    assert (values == 0).all()


@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        (mc.Gaussian(), np.ones((2, 2)), ValueError, "not resolved"),
        (mc.Gaussian(1.0), np.ones(2), ValueError, "two dimensions"),
        (mc.Gaussian(1.0), np.array([[np.nan, 1.0]]), ValueError, "contains NaN"),
        (mc.Gaussian(1.0), sp.csr_array(np.eye(2)), TypeError, "X must be dense"),
        (
            mc.Polynomial(6),
            np.full((1, 2), 1e80),
            ValueError,
            "overflow float64 at x of norm 1.41e[+]80; scale X",
        ),
        (
            mc.Normalized(mc.Linear()),
            np.zeros((1, 2)),
            ValueError,
            r"no derivatives at X\[0\], where the norm",
        ),
        (mc.Matern(1.0, nu=0.5), np.ones((2, 2)), TypeError, "not differentiable"),
        (mc.Laplacian(1.0), np.ones((2, 2)), TypeError, "no derivatives"),
        (mc.Linear() + mc.Chi2(1.0), -np.ones((2, 2)), TypeError, "Chi2.* has no derivatives"),
        (
            mc.Precomputed(np.eye(3)),
            np.ones((2, 2)),
            TypeError,
            "no derivatives for mercer.manifold; use a",
        ),
        (mc.FeatureMap(np.asarray), np.ones((2, 2)), TypeError, "set jacobian="),
        ("rbf", np.ones((2, 2)), TypeError, "k must be a Kernel, got 'rbf'"),
        (
            mc.Mapped(mc.Gaussian(1.0), np.array([3])),
            np.ones((2, 2)),
            ValueError,
            "X, which has 2 features",
        ),
    ],
    ids=[
        "unresolved",
        "vector",
        "NaN",
        "sparse",
        "overflow",
        "norm",
        "not differentiable",
        "Laplacian",
        "part",
        "given",
        "no jacobian",
        "name",
        "columns",
    ],
)
def test_kernels_and_points_without_a_metric_are_refused(kernel, X, error, message):
    with pytest.raises(error, match=message):
        manifold.metric(kernel, X)


def test_tensors_beyond_the_budget_are_refused_before_any_work():
    with pytest.raises(
        MemoryError, match="a tensor of 4 indices at 100 points of 100 dimensions needs"
    ):
        manifold.riemann(mc.Gaussian(1.0), np.ones((100, 100)))
    with pytest.raises(MemoryError, match="larger memory="):
        manifold.metric(mc.Gaussian(1.0), np.ones((10, 10)), memory="1kB")


@pytest.mark.parametrize("field", ["metric", "christoffel", "riemann"])
def test_of_many_points_a_field_needs_more_memory_than_its_array_and_less_than_two(rng, field):
    kernel, X = mc.Gaussian(0.5), rng.normal(size=(2000, 2))
    size = getattr(manifold, field)(kernel, X).nbytes
    with pytest.raises(MemoryError, match="larger memory="):
        getattr(manifold, field)(kernel, X, memory=size)
    getattr(manifold, field)(kernel, X, memory=2 * size)


@pytest.mark.parametrize("field", ["metric", "inverse_metric", "christoffel", "riemann", "ricci", "scalar_curvature",
                                   "determinant", "log_volume_element", "volume_element", "length"])  # fmt: skip
def test_arrays_of_other_libraries_give_fields_of_that_library(rng, field):
    X, kernel = rng.normal(size=(4, 2)), mc.Gaussian(0.5)
    expected, found = (getattr(manifold, field)(kernel, points) for points in (X, xp.asarray(X)))
    assert field == "length" or type(found) is type(xp.asarray(X))
    np.testing.assert_array_equal(np.asarray(found), expected)


def copies(x):
    """Three multiples of a column."""
    return x * [1.3, -0.7, 0.37]


def slopes(x):
    return np.tile([[1.3], [-0.7], [0.37]], (len(x), 1, 1))


@pytest.mark.parametrize("kernel", [mc.Normalized(mc.Linear()), mc.Normalized(mc.Polynomial(3, coef0=0.0)),
                                    2 * mc.Normalized(mc.Mapped(mc.Linear(), np.array([3.0]))),
                                    2 * mc.Normalized(mc.Mapped(mc.Linear(), copies, slopes))], ids=repr)  # fmt: skip
def test_what_rounding_leaves_of_a_direction_of_length_0_is_no_length(kernel, rng):
    # along x, where the terms of the metric cancel: on axes, near them, and for numbers
    if isinstance(kernel, mc.Normalized):
        for X in (
            np.diag([0.3, 2.0, 1 / 3]),
            rng.normal(size=(40, 2)) * [1.0, 1e-5],
            rng.normal(size=(40, 1)),
        ):
            assert (manifold.log_volume_element(kernel, X) == -np.inf).all()
            with pytest.raises(ValueError, match=r"is singular at X\[0\]"):
                manifold.inverse_metric(kernel, X)
            assert manifold.length(kernel, np.array([X[0], 2 * X[0], 0.3 * X[0]])) == 0
    X = rng.normal(size=(40, 1))
    assert (manifold.volume_element(kernel, X) == 0).all()
    # a point of the sphere is no cone, at any place where its metric is known
    sphere, x = mc.Normalized(mc.Linear() + 1), np.array([[1e-3], [0.7], [30.0], [1e4]])
    np.testing.assert_allclose(
        manifold.volume_element(sphere, x), 1 / (1 + x[:, 0] ** 2), rtol=1e-6
    )


def test_sizes_are_those_of_the_terms_of_the_diagonal(rng):
    X = rng.normal(size=(5, 3))
    # no terms cancel
    for kernel in (
        mc.Polynomial(3),
        mc.Gaussian(0.7),
        mc.Exp(0.3 * mc.Linear()) * mc.Gaussian(0.5) + 2 * mc.Linear(),
    ):
        found = jet(kernel, X, X, (1, 1))
        np.testing.assert_allclose(found.sizes, np.einsum("naa->na", found.term(1, 1)), rtol=1e-13)
    # x^2 / |x|^2 and its three corrections, whose sum is 1 / |x|^2 - x^2 / |x|^4
    squares = (X**2).sum(axis=1)[:, None]
    found = jet(mc.Normalized(mc.Linear()), X, X, (1, 1)).sizes
    np.testing.assert_allclose(found, 1 / squares + 3 * X**2 / squares**2, rtol=1e-13)
    # columns twice as large have sizes four times as large, and sums of columns those of their sum
    A = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 2.0]])
    found = jet(mc.Mapped(mc.Linear(), A), X, X, (1, 1)).sizes
    np.testing.assert_allclose(found, np.tile([1.0, 1.0, 4.0], (5, 1)))
