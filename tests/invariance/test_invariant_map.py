"""InvariantMap is the inverse root of the tangent covariance, with the way back; its kernel follows."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import mercer as mc
from mercer.invariance import InvariantMap, invariant_kernel, tangent_covariance
from mercer.invariance.invariant_map import inverse_root

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
G = RNG.normal(size=(2, 4, 4))
LINES = [lambda X, t: X + t * X @ G[0], lambda X, t: X + t * X @ G[1]]


def growth(X, t):
    return X + t * (1 + X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [0.1, 1.0])
def test_it_passes_the_checks_of_scikit_learn(weight):
    check_estimator(InvariantMap([growth], weight=weight))


@pytest.mark.parametrize("weight", [0.01, 0.5, 1.0])
def test_components_are_the_inverse_root_and_the_map_is_invertible(weight):
    found = InvariantMap(LINES, weight).fit(X)
    C = (1 - weight) * tangent_covariance(X, LINES) + weight * np.eye(4)
    np.testing.assert_allclose(
        found.components_, scipy.linalg.inv(scipy.linalg.sqrtm(C)), rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(found.components_ @ C @ found.components_, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(found.transform(X), X @ found.components_, rtol=1e-12)
    np.testing.assert_allclose(
        found.inverse_transform(found.transform(X)), X, rtol=1e-9, atol=1e-11
    )
    np.testing.assert_array_equal(found.covariance_, tangent_covariance(X, LINES))


def test_a_weight_of_1_is_the_identity_and_small_weights_scale_the_tangents_back():
    np.testing.assert_allclose(InvariantMap(LINES, 1.0).fit(X).components_, np.eye(4), atol=1e-14)
    along = np.array([1.0, 0.0, 0.0, 0.0])
    lengths = []
    for weight in (0.9, 0.5, 0.1):
        B = InvariantMap([lambda X, t: X + t * along], weight).fit(X).components_
        lengths.append(np.linalg.norm(B @ along) / np.linalg.norm(B[1]))
        np.testing.assert_allclose(lengths[-1], weight**0.5, rtol=1e-12)
    assert lengths[0] > lengths[1] > lengths[2]


def test_weights_count_as_repetitions():
    weights = np.arange(30) % 3
    repeated = InvariantMap(LINES, 0.5).fit(np.repeat(X, weights, axis=0))
    weighted = InvariantMap(LINES, 0.5).fit(X, sample_weight=weights)
    np.testing.assert_allclose(repeated.components_, weighted.components_, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_is_that_of_mapped_rows(dtype):
    rows = X.astype(dtype)
    mapped = InvariantMap(LINES, 0.3).fit(X).transform(X)
    for inner in (mc.Gaussian(0.3), mc.Polynomial(3, 0.1, 1.0)):
        kernel = invariant_kernel(inner, X, LINES, 0.3)
        assert type(kernel) is mc.Mapped
        np.testing.assert_allclose(
            kernel(rows), inner(mapped), rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-5
        )
    rule = invariant_kernel(mc.Gaussian("scale"), X, LINES, 0.3).resolve(X)
    np.testing.assert_allclose(rule.kernel.gamma, 1 / (4 * mapped.var()))


def test_a_model_of_the_kernel_is_that_of_the_map_in_a_pipeline_and_is_stored(tmp_path):
    y = X[:, 0] > 0
    kernel = invariant_kernel(mc.Gaussian(0.3), X, LINES, 0.3)
    model = mc.SVC(kernel=kernel, C=10).fit(X, y)
    piped = make_pipeline(InvariantMap(LINES, 0.3), mc.SVC(kernel=mc.Gaussian(0.3), C=10)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), piped.decision_function(X), atol=1e-6)
    mc.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "model.mercer").decision_function(X), model.decision_function(X)
    )


def test_a_pipeline_with_a_map_of_images_is_stored(tmp_path):
    images, shifts = (
        np.random.default_rng(0).random((30, 16)),
        mc.invariance.image_transforms((4, 4)),
    )
    model = make_pipeline(InvariantMap(shifts, 0.3), mc.SVC()).fit(images, images[:, 5] > 0.5)
    mc.save(model, tmp_path / "model.mercer")
    found = mc.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(found.decision_function(images), model.decision_function(images))
    np.testing.assert_array_equal(
        found[:-1].inverse_transform(images), model[:-1].inverse_transform(images)
    )
    assert found[0].transforms == shifts
    with pytest.raises(
        TypeError, match=r"InvariantMap.transforms.0: function is a Python function"
    ):
        mc.save(InvariantMap(LINES).fit(X), tmp_path / "model.mercer")


def test_a_failed_fit_changes_nothing():
    found = InvariantMap(LINES, 0.5).fit(X)
    before = dict(vars(found))
    with pytest.raises(ValueError, match="must return rows of the shape"):
        found.set_params(transforms=[lambda X, t: X[:, :2]]).fit(X[:, :3])
    assert {**vars(found), "transforms": LINES} == before


def test_the_default_weight_is_that_of_the_map_and_of_the_kernel():
    components = InvariantMap(LINES, 0.9).fit(X).components_
    np.testing.assert_array_equal(InvariantMap(LINES).fit(X).components_, components)
    np.testing.assert_allclose(
        invariant_kernel(mc.Linear(), X, LINES).A, components, rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("weight", [-0.1, 1.5])
def test_weights_outside_of_0_to_1_are_refused(weight):
    for call in (
        lambda: InvariantMap(LINES, weight).fit(X),
        lambda: invariant_kernel(mc.Linear(), X, LINES, weight),
        lambda: mc.invariance.invariant_feature_kernel(mc.Linear(), X, LINES, weight),
    ):
        with pytest.raises(ValueError, match=f"weight = {weight} must be from 0 to 1"):
            call()


def test_weight_0_is_the_root_of_the_pseudo_inverse_of_the_covariance(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    rows, S = rng.normal(size=(20, 5)), rng.normal(size=(2, 5))
    # moves within the plane that two vectors span
    lines = [lambda X, t: X + t * X[:, :1] * S[0], lambda X, t: X + t * (1 + X[:, 1:2]) * S[1]]
    C = tangent_covariance(rows, lines)
    found = InvariantMap(lines, weight=0).fit(rows)
    B = found.components_
    np.testing.assert_allclose(B @ B, scipy.linalg.pinvh(C), atol=1e-8 * np.abs(B).max() ** 2)
    assert np.linalg.matrix_rank(B, tol=1e-6) == 2
    # the way back is the projection onto the plane
    np.testing.assert_allclose(
        found.inverse_transform(found.transform(rows)), rows @ np.linalg.pinv(S) @ S, atol=1e-8
    )
    # the limit of weights to 0, on the plane
    near = InvariantMap(lines, weight=1e-12).fit(rows).components_
    np.testing.assert_allclose(S @ near, S @ B, rtol=1e-3, atol=1e-4)
    A = invariant_kernel(mc.Linear(), rows, lines, weight=0).A
    np.testing.assert_allclose(A, B, atol=1e-9)


def test_weight_0_is_refused_in_feature_space():
    with pytest.raises(ValueError, match="weight = 0 must be above 0 in feature space"):
        mc.invariance.invariant_feature_kernel(mc.Linear(), X, LINES, 0)


def test_a_weight_may_be_any_real_number():
    given, plain = (
        InvariantMap(LINES, weight).fit(X).components_ for weight in (Fraction(1, 4), 0.25)
    )
    np.testing.assert_array_equal(given, plain)


def test_other_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="weight must be a number, got 'half'"):
        InvariantMap(LINES, "half").fit(X)
    with pytest.raises(TypeError, match="kernel must be a Kernel"):
        invariant_kernel("rbf", X, LINES, 0.5)
    with pytest.raises(ValueError, match="X has 3 features"):
        InvariantMap(LINES, 0.5).fit(X).transform(X[:, :3])
    assert clone(InvariantMap(LINES, 0.3)).get_params() == {
        "transforms": LINES,
        "weight": 0.3,
        "step": None,
    }


def test_rounding_of_eigenvalues_of_0_is_no_obstacle_to_the_smallest_weights(global_random_seed):
    F = np.random.default_rng(global_random_seed).normal(size=(40, 3))
    B = inverse_root(F @ F.T, 1e-25)
    assert np.isfinite(B).all()
    np.testing.assert_allclose(np.linalg.eigvalsh(B)[-1], 1e12 * np.sqrt(10), rtol=1e-6)


@pytest.mark.parametrize("weights", [(0.0, 0.5), (0.5, 0.0)])
def test_the_inverse_is_that_of_the_components(weights):
    X = np.random.default_rng(0).normal(size=(20, 3))
    fitted = InvariantMap([lambda X, t: X + [t, 0.0, 0.0]], weight=weights[0]).fit(X)
    wanted = X @ np.linalg.pinv(fitted.components_)
    fitted.set_params(weight=weights[1])
    np.testing.assert_allclose(fitted.inverse_transform(X), wanted, atol=1e-12)
