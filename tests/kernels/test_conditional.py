"""Conditionally positive definite kernels: orders, machines that only need sums of 0, and thin plate splines."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.linalg import null_space
from sklearn.base import clone
from tests.reference.derivatives import central
from tests.reference.inside import profile_values

import mercer as mc
from mercer import kernels as ks

FIRST = [
    ks.PowerDistance(0.4),
    ks.PowerDistance(1.0),
    ks.PowerDistance(2.0),
    ks.Multiquadric(0.3),
    2.0 * ks.PowerDistance(1.0) + mc.Gaussian(0.5),
    mc.Mapped(ks.Multiquadric(1.0), np.sin),
]
SECOND = [
    ks.ThinPlate(),
    0.5 * ks.ThinPlate() + ks.PowerDistance(1.0),
    mc.Mapped(ks.ThinPlate(), np.array([[1.0, 0.5], [0.0, 2.0]])),
]


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(50, 2))
    noise = 0.3 * rng.normal(size=50)
    return X, np.sin(X[:, 0]) + X[:, 1] * noise, (X[:, 0] + noise > 0).astype(int)


def definite(kernel, origin):
    """Return the kernel of the same distances with an origin, by its definition."""
    return mc.FunctionKernel(
        lambda A, B: kernel(A, B) - kernel(A, origin) - kernel(origin, B) + kernel(origin, origin)
    )


@pytest.mark.parametrize("kernel", FIRST + SECOND, ids=repr)
def test_values_are_nonnegative_on_coefficients_orthogonal_to_polynomials(kernel, sample):
    X, *_ = sample
    order = kernel.tags.order
    assert order == (1 if kernel in FIRST else 2)
    columns = [np.ones(len(X)), *X.T][: 1 if order == 1 else 3]
    N = null_space(np.array(columns))
    values = np.linalg.eigvalsh(N.T @ kernel(X) @ N)
    assert values[0] >= -1e-12 * values[-1]
    report = mc.check_kernel(kernel, X)
    assert report.order == order
    assert report.verdict.startswith(f"conditionally positive definite of order {order}")
    # no lower order
    if order == 2:
        H = null_space(np.ones((1, len(X))))
        assert np.linalg.eigvalsh(H.T @ kernel(X) @ H)[0] < -1e-3 * values[-1]


@pytest.mark.parametrize(
    "kernel",
    [
        ks.PowerDistance(1.0) * ks.PowerDistance(1.0),
        mc.Exp(ks.PowerDistance(1.0)),
        ks.PowerDistance(1.0) + mc.Sigmoid(1.0),
        mc.Mapped(ks.ThinPlate(), np.sin),
        mc.DirectSum(ks.PowerDistance(1.0), mc.Linear(), n_features=2),
    ],
)
def test_products_and_unknown_parts_have_no_order(kernel):
    assert kernel.tags.order is None
    assert mc.check_kernel(kernel).order is None


@pytest.mark.parametrize("order", [1, 2])
def test_the_order_of_a_function_is_sought_on_the_points(order, sample):
    X, *_ = sample
    kernel = (ks.PowerDistance(1.0), ks.ThinPlate())[order - 1]
    report = mc.check_kernel(mc.FunctionKernel(lambda A, B: kernel(A, B)), X)
    assert report.order is None
    assert f"order {order}, c'Kc >= 0" in str(report)
    negative = mc.check_kernel(mc.FunctionKernel(lambda A, B: -((A @ B.T) ** 2)), X)
    assert "c'Kc >= 0" not in str(negative)


@pytest.mark.parametrize("kernel", [*FIRST[:4], ks.ThinPlate()], ids=repr)
def test_derivatives_of_profiles_are_those_of_differences(kernel):
    s = np.linspace(0.5, 4.0, 12)[:, None]
    for order in range(1, 5):
        slopes = central(lambda s, o=order: profile_values(kernel, s[:, 0], o - 1), s)[:, 0]
        np.testing.assert_allclose(
            profile_values(kernel, s[:, 0], order), slopes, rtol=1e-7, atol=1e-9
        )


def test_distances_in_feature_space_are_twice_the_power(sample):
    X, *_ = sample
    phi = mc.features(ks.PowerDistance(1.5), X)
    distances = np.linalg.norm(X[:1] - X, axis=1)
    np.testing.assert_allclose(mc.sqdist(phi[:, :1], phi).ravel(), 2 * distances**1.5, rtol=1e-10)


@pytest.mark.parametrize("kernel", [FIRST[1], FIRST[3], FIRST[4]], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_machines_are_those_of_the_definite_kernel_of_the_same_distances(kernel, offset, sample):
    X, t, y = sample
    X = X + offset
    same = definite(kernel, X.mean(axis=0, keepdims=True))
    new = X[:20] + 0.1
    for make, target in [
        (lambda k: mc.SVC(kernel=k, tol=1e-9), y),
        (lambda k: mc.NuSVC(kernel=k, tol=1e-9), y),
        (lambda k: mc.SVR(kernel=k, tol=1e-9), t),
        (lambda k: mc.SVDD(kernel=k, tol=1e-9, C=0.1), None),
        (lambda k: mc.KernelRidge(0.1, kernel=k, free="constant"), t),
    ]:
        found = make(kernel).fit(X, target)
        expected = make(same).fit(X, target)
        # the boundary of a ball stands outside by the rounding of its kernel values
        name = next(
            each
            for each in ("score_samples", "decision_function", "predict")
            if hasattr(found, each)
        )
        np.testing.assert_allclose(
            getattr(found, name)(new), getattr(expected, name)(new), rtol=1e-6, atol=1e-6
        )
    certificate = mc.SVC(kernel=kernel).fit(X, y).certificate_
    assert certificate.convex
    assert certificate.gap < 1e-2


def test_one_class_machines_reach_their_tolerance_where_k_of_x_and_x_is_zero(sample, recwarn):
    X, *_ = sample
    for model in (mc.OneClassSVM(kernel=FIRST[1]), mc.SVDD(kernel=FIRST[1])):
        certificate = model.fit(X).certificate_
        assert certificate.convex
        assert certificate.primal - certificate.dual <= 1e-2 * abs(certificate.dual)
    ball = mc.capacity.smallest_ball(FIRST[1], X)
    assert ball.radius - ball.least < 1e-3 * ball.radius
    # on a line the centre of two ends
    line = mc.capacity.smallest_ball(ks.PowerDistance(2.0), np.array([[0.0], [1.0], [4.0]]))
    assert line.radius == pytest.approx(2 * 2**0.5, rel=1e-6)
    assert not recwarn.list


def test_kernel_pca_and_maps_keep_distances(sample):
    X, *_ = sample
    kernel = FIRST[1]
    D = -2 * kernel(X)
    for Y in (
        mc.KernelPCA(kernel=kernel).fit(X).transform(X),
        mc.KernelMap(kernel=kernel).fit(X).transform(X),
    ):
        found = ((Y[:, None] - Y[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(found, D, atol=1e-9 * D.max())


@pytest.mark.parametrize("precomputed", [False, True])
@pytest.mark.parametrize("kernel", [FIRST[1], FIRST[3]], ids=repr)
def test_reports_and_spans_are_those_of_the_definite_kernel(kernel, precomputed, sample):
    X, t, y = sample
    same = definite(kernel, X[:1])
    points = kernel(X) if precomputed else X
    for make, target in [(mc.SVC, y), (mc.NuSVC, y), (mc.SVR, t)]:
        given = "precomputed" if precomputed else kernel
        model = make(kernel=given, tol=1e-8).fit(points, target)
        expected = make(kernel=same, tol=1e-8).fit(X, target)
        found = mc.capacity.report(model, points, target, test=(points[:9], target[:9]))
        other = mc.capacity.report(expected, X, target, test=(X[:9], target[:9]))
        assert [one.name for one in found.bounds] == [one.name for one in other.bounds]
        np.testing.assert_allclose(
            [one.value for one in found.bounds], [one.value for one in other.bounds], rtol=1e-4
        )
        assert found.truth == pytest.approx(other.truth, rel=1e-5)
    pca = mc.KernelPCA(3, kernel=kernel).fit(X)
    bounds = mc.capacity.report(pca, X).bounds
    other = mc.capacity.kpca_residual(same, X, 3)
    assert bounds[0].value == pytest.approx(other.value, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_thin_plate_splines_are_those_of_scipy(alpha, dtype, sample):
    X, t, _ = sample
    model = mc.KernelRidge(alpha, kernel=ks.ThinPlate(), free="linear")
    model.fit(X.astype(dtype), t.astype(dtype))
    options = {"kernel": "thin_plate_spline", "degree": 1, "smoothing": alpha}
    new = np.random.default_rng(1).uniform(-2, 2, size=(30, 2))
    expected = RBFInterpolator(X, t, **options)(new)
    tolerance = 1e-8 if dtype == np.float64 else 2e-3
    assert abs(model.predict(new.astype(dtype)) - expected).max() <= tolerance * abs(expected).max()


@pytest.mark.parametrize(
    "model",
    [
        mc.SVC(), mc.NuSVC(), mc.SVR(), mc.OneClassSVM(), mc.SVDD(), mc.KernelPCA(), mc.KernelMap(),
        mc.KernelFisher(), mc.KernelRidge(), mc.KernelRidge(free="constant"), mc.QuantileSVR(),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_without_linear_terms_refuse_thin_plates(model, sample):
    X, _, y = sample
    with pytest.raises(ValueError, match="order 2, which .* cannot use; use KernelRidge"):
        model.set_params(kernel=2 * ks.ThinPlate()).fit(X, y)


@pytest.mark.parametrize("kernel", [ks.PowerDistance(1.0), ks.Multiquadric(1.0)], ids=repr)
@pytest.mark.parametrize("given", [False, True], ids=["number", "points"])
@pytest.mark.parametrize(
    "model",
    [
        mc.SVC(), mc.KernelPCA(2), mc.KernelMap(), mc.KernelFisher(), mc.KernelRidge(),
        mc.Kernelized(mc.PCAL1(1)),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_landmarks_whose_features_span_no_euclidean_space_are_refused_by_the_cause(
    model, given, kernel, sample
):
    X, _, y = sample
    model = clone(model).set_params(kernel=kernel, landmarks=X[:5] if given else 5)
    with pytest.raises(ValueError, match="definite of order 1: .* give landmarks=None, or"):
        model.fit(X, y)
    # the matrix of five points has a negative and a positive eigenvalue
    values = np.linalg.eigvalsh(kernel(X[:5]))
    assert values[0] < 0 < values[-1]


def test_free_columns_of_ones_and_rows_take_thin_plates(sample):
    X, t, _ = sample
    linear = mc.KernelRidge(0.1, kernel=ks.ThinPlate(), free="linear").fit(X, t)
    columns = np.insert(X, 0, 1.0, axis=1)
    array = mc.KernelRidge(0.1, kernel=ks.ThinPlate(), free=columns).fit(X, t)
    np.testing.assert_allclose(array.loo_residuals_, linear.loo_residuals_, rtol=1e-8, atol=1e-9)
    function = mc.KernelRidge(
        0.1, kernel=ks.ThinPlate(), free=lambda X: np.insert(X, 0, 1.0, axis=1)
    )
    np.testing.assert_allclose(
        function.fit(X, t).predict(X), linear.predict(X), rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (ks.PowerDistance, 2.1),
        (ks.PowerDistance, 0.0),
        (ks.PowerDistance, 1e-300),
        (ks.Multiquadric, 0.0),
        (ks.Multiquadric, 1e300),
    ],
)
def test_parameters_outside_of_their_range_are_refused(make, bad):
    with pytest.raises(ValueError, match="must be"):
        make(bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [ks.PowerDistance(1e-30), ks.Multiquadric(1e18)], ids=repr)
def test_values_of_extreme_parameters_are_finite_and_those_of_the_formula(kernel, dtype):
    K = kernel(np.array([[0.0], [2.0]], dtype))
    between = -1.0 if isinstance(kernel, ks.PowerDistance) else -kernel.c
    itself = 0.0 if isinstance(kernel, ks.PowerDistance) else -kernel.c
    np.testing.assert_allclose(K, [[itself, between], [between, itself]], rtol=1e-6)


def test_a_ridge_over_distances_without_free_terms_is_refused_with_the_option_that_takes_them(
    sample,
):
    X, y, _ = sample
    model = mc.KernelRidge(1e-3, kernel=ks.PowerDistance())
    with pytest.raises(ValueError, match=r'KernelRidge takes with free="constant", is indefinite'):
        model.fit(X, y)
    found = mc.certify(model.set_params(free="constant").fit(X, y), X, y)
    assert found.residuals.max() < 1e-10
