"""Local kernels: the mean of an inner kernel over weighted patches, on every route, with gradients and proofs."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.reference.derivatives import assert_gradients

import mercer as mc
from mercer.testing import check_kernel_implementation

# every profile is compiled
INNER = [
    mc.Polynomial(2, 1.0, 0.5),
    mc.Gaussian(0.7),
    pytest.param(mc.Matern(1.0, 1.5), marks=pytest.mark.slow),
    pytest.param(mc.Linear(), marks=pytest.mark.slow),
]


def patches(shape, width):
    """Return the weights (d, d) of all patches, from the formula."""
    half = width // 2
    tent = {u: half + 1 - abs(u) for u in range(-half, half + 1)}
    places = [(r, c) for r in range(shape[0]) for c in range(shape[1])]
    total = sum(tent.values()) ** 2
    return np.array(
        [[tent.get(r - p, 0) * tent.get(c - q, 0) / total for r, c in places] for p, q in places]
    )


@pytest.mark.parametrize("inner", INNER, ids=repr)
@pytest.mark.parametrize("width", [1, 3, 5, 9, 13])
def test_values_are_means_of_the_inner_kernel_over_weighted_patches(
    inner, width, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.normal(size=(21, 20)), rng.normal(size=(19, 20))
    expected = np.mean(
        [inner(X * np.sqrt(p), Z * np.sqrt(p)) for p in patches((4, 5), width)], axis=0
    )
    kernel = mc.Local(inner, (4, 5), width)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(mc.Gram(kernel, X, Z).dense(), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        mc.Gram(kernel, X.astype("f4"), Z.astype("f4")).dense(), expected, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-13)


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_gradients_are_those_of_differences(inner, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.normal(size=(5, 12)), rng.normal(size=(18, 12))
    assert_gradients(mc.Local(inner, (3, 4), 3), X, Z, global_random_seed)
    psi = mc.Expansion(mc.Local(inner, (3, 4), 3), Z, rng.normal(size=18))
    expected = mc.Local(inner, (3, 4), 3).vjp(X, Z, np.tile(psi.coef[:, 0], (5, 1)))
    np.testing.assert_allclose(psi.gradient(X)[:, 0], expected, rtol=1e-10, atol=1e-13)


def test_a_width_of_1_is_the_mean_over_pixels_and_a_huge_width_sees_the_whole_image():
    X = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.0]])
    single = mc.Local(mc.Polynomial(3, 1.0, 0.0), (2, 2), 1)
    np.testing.assert_allclose(single(X), ((X[:, None] * X) ** 3).mean(axis=2), rtol=1e-14)
    # all weights of a patch of width 2001 are nearly equal
    whole = mc.Local(mc.Gaussian(1e6), (2, 2), 2001)
    np.testing.assert_allclose(
        whole(0.1 * X), np.exp(-0.01 * ((X[:, None] - X) ** 2).sum(axis=2)), rtol=5e-3
    )


@pytest.mark.parametrize("inner", [mc.Polynomial(2, 1.0, 1.0), mc.Gaussian(2.0)], ids=repr)
def test_it_obeys_the_laws_of_kernels(inner):
    X = np.random.default_rng(0).random((9, 6))
    check_kernel_implementation(mc.Local(inner, (2, 3), 3), X)
    check_kernel_implementation(mc.Local(inner, (2, 3), 3) ** 2, X)
    report = mc.check_kernel(mc.Normalized(mc.Local(inner, (2, 3), 3) ** 2))
    assert report.positive_semidefinite
    assert mc.check_kernel(mc.Local(mc.Sigmoid(1.0), (2, 3), 3)).positive_semidefinite is None


def test_a_model_of_local_kernels_is_stored(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 9)), np.arange(40) % 3
    model = mc.SVC(kernel=mc.Local(mc.Gaussian("scale"), (3, 3), 3) ** 2).fit(X, y)
    mc.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mc.load(tmp_path / "model.mercer").predict(X), model.predict(X))
    small = mc.compress(model, X, y, n_vectors=30, random_state=0)
    assert small.score(X, y) >= model.score(X, y) - 0.1


def test_patches_have_a_width_of_9_by_default():
    X = np.random.default_rng(0).normal(size=(3, 144))
    np.testing.assert_array_equal(
        mc.Local(mc.Linear(), (12, 12))(X), mc.Local(mc.Linear(), (12, 12), 9)(X)
    )
    assert (
        abs(
            mc.Local(mc.Gaussian(1.0), (12, 12))(X) - mc.Local(mc.Gaussian(1.0), (12, 12), 7)(X)
        ).max()
        > 1e-3
    )


def test_the_cost_of_a_value_grows_with_the_width_of_patches():
    costs = [mc.Local(mc.Linear(), (4, 5), width).multiplications(20) for width in (1, 3, 9)]
    assert costs == [20 * 32, 20 * 36, 20 * 48]


def test_it_is_cloned_in_estimators():
    model = mc.SVC(kernel=mc.Normalized(mc.Local(mc.Polynomial(2), (2, 3), 3) ** 2))
    assert clone(model).kernel == model.kernel
    assert model.set_params(kernel__kernel__kernel__width=1).kernel.kernel.kernel.width == 1


def test_bandwidth_rules_use_the_mean_over_pixels():
    X = np.random.default_rng(0).normal(size=(30, 9))
    kernel = mc.Local(mc.Gaussian("scale"), (3, 3), 3).resolve(X)
    np.testing.assert_allclose(kernel.kernel.gamma, 1 / X.var())
    assert kernel.resolve(X) is kernel


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"kernel": mc.Laplacian(1.0)},
            TypeError,
            "kernel must be a function of an inner product or of a distance",
        ),
        ({"kernel": "rbf"}, TypeError, "kernel of Local must be a Kernel"),
        (
            {"shape": (4, 4)},
            ValueError,
            r"X has 9 features, but shape = \(4, 4\) must have as many pixels, and has 16",
        ),
        ({"shape": 9}, ValueError, "shape = 9 must be a tuple"),
        ({"shape": (3, 0)}, ValueError, r"shape\[1\] = 0 must be at least 1"),
        ({"shape": (3, 3.0)}, TypeError, r"shape\[1\] must be a whole number"),
        ({"width": 4}, ValueError, "width = 4 must be odd"),
        ({"width": 0}, ValueError, "width = 0 must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        mc.Local(**{"kernel": mc.Gaussian(1.0), "shape": (3, 3), "width": 3} | options)(np.eye(9))


def test_an_overflow_is_refused():
    with pytest.raises(ValueError, match="overflows"):
        mc.Local(mc.Polynomial(9), (3, 3), 3)(1e60 * np.eye(9))


def test_windows_are_those_of_the_formula_where_they_exceed_the_image():
    for shape, width in (((3, 4), 5), ((1, 7), 3), ((4, 2), 9)):
        X, Z = np.random.default_rng(0).standard_normal((2, 6, np.prod(shape)))
        # all pairs of pixels of an image and of another one of which a single pixel is not 0
        Z = np.vstack([Z, np.eye(Z.shape[1])])
        inner = (X[:, None] * Z) @ patches(shape, width)
        found = mc.Local(mc.Polynomial(2, 1.0, 1.0), shape, width)(X, Z)
        np.testing.assert_allclose(found, ((inner + 1) ** 2).mean(axis=2), rtol=1e-13)
