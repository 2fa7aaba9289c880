"""Expansion: a vector space with an inner product, whose explicit form is known for the linear kernel."""

import array_api_strict as xp
import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.arrays import as_numpy

import mercer as mc
from mercer.testing import check_expansion_laws

rng = np.random.default_rng(0)
X, Z, NEW = rng.standard_normal((40, 3)), rng.standard_normal((25, 3)), rng.standard_normal((10, 3))
A, B = rng.standard_normal((40, 4)), rng.standard_normal((25, 4))
KERNELS = [
    mc.Gaussian(0.5),
    mc.Matern(1.0, 1.5),
    mc.Polynomial(3),
    mc.Linear(),
    mc.Sigmoid(0.1),
    mc.Intersection(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_laws_of_expansions_hold(kernel, dtype):
    points = np.abs(X).astype(dtype)
    check_expansion_laws(mc.Expansion(kernel, points, A.astype(dtype)))
    check_expansion_laws(mc.features(kernel, points[:12]))


def test_with_the_linear_kernel_all_results_are_those_of_explicit_vectors():
    psi, chi = mc.Expansion(mc.Linear(), X, A), mc.Expansion(mc.Linear(), Z, B)
    P, C = X.T @ A, Z.T @ B
    np.testing.assert_allclose(psi(NEW), NEW @ P, atol=1e-12)
    np.testing.assert_allclose(psi.inner(chi), P.T @ C, atol=1e-11)
    np.testing.assert_allclose(psi.norms(), np.linalg.norm(P, axis=0), rtol=1e-12)
    np.testing.assert_allclose((psi - 2 * chi)(NEW), NEW @ (P - 2 * C), atol=1e-11)
    np.testing.assert_allclose(
        mc.sqdist(psi, chi), ((P[:, :, None] - C[:, None]) ** 2).sum(axis=0), rtol=1e-10
    )
    np.testing.assert_allclose(
        mc.sqdist(psi, chi, paired=True), ((P - C) ** 2).sum(axis=0), rtol=1e-10
    )
    np.testing.assert_allclose(mc.mean(psi)(NEW)[:, 0], NEW @ P.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(psi.gradient(NEW), np.broadcast_to(P.T, (10, 4, 3)), atol=1e-12)


def test_the_identity_is_never_stored_and_changes_nothing():
    kernel = mc.Gaussian(0.5)
    phi, explicit = mc.features(kernel, X), mc.Expansion(kernel, X, np.eye(40))
    assert phi.coef is None
    np.testing.assert_allclose(phi(NEW), explicit(NEW), atol=1e-15)
    np.testing.assert_allclose(phi.inner(phi), explicit.inner(explicit), atol=1e-14)
    np.testing.assert_allclose(phi.gradient(NEW), explicit.gradient(NEW), atol=1e-14)
    np.testing.assert_allclose(phi.norms(), explicit.norms(), rtol=1e-14)
    assert (phi @ A).shape == (40, 4)
    assert phi[:, [3, 1]].coef is None
    np.testing.assert_array_equal(phi[:, [3, 1]].points, X[[3, 1]])


def test_squared_distances_are_those_of_a_metric():
    phi = mc.features(mc.Gaussian(0.5), X)
    D = mc.sqdist(phi, phi)
    np.testing.assert_array_equal(D.diagonal(), 0)
    np.testing.assert_allclose(D, 2 - 2 * mc.Gaussian(0.5)(X), atol=1e-14)
    root = np.sqrt(D)
    assert (root[:, :, None] <= root[:, None, :] + root.T[None] + 1e-7).all()
    np.testing.assert_array_equal(mc.sqdist(phi, phi, paired=True), 0)


def test_paired_distances_of_many_features_need_no_matrix():
    many = rng.standard_normal((600, 2))
    phi, chi = mc.features(mc.Gaussian(0.5), many), mc.features(mc.Gaussian(0.5), many + 0.1)
    np.testing.assert_allclose(
        mc.sqdist(phi, chi, paired=True), 2 - 2 * np.exp(-0.5 * 0.02), rtol=1e-11
    )


def test_the_discrepancy_of_means_is_that_of_the_definition():
    kernel = mc.Gaussian(0.5)
    phi, chi = mc.features(kernel, X), mc.features(kernel, Z)
    square = kernel(X).mean() + kernel(Z).mean() - 2 * kernel(X, Z).mean()
    np.testing.assert_allclose(mc.mmd(phi, chi), square**0.5, rtol=1e-12)
    assert mc.mmd(phi, phi) == pytest.approx(0, abs=1e-7)


def test_sums_broadcast_one_vector_and_join_points():
    kernel = mc.Gaussian(0.5)
    psi, one = mc.Expansion(kernel, X, A), mc.Expansion(kernel, Z, B[:, 0])
    total = psi + one
    assert total.shape == (65, 4)
    np.testing.assert_allclose(total(NEW), psi(NEW) + one(NEW), atol=1e-13)
    with pytest.raises(
        ValueError,
        match="blocks must have equally many vectors, or one, to be added; these have 4 and 2",
    ):
        psi + mc.Expansion(kernel, Z, B[:, :2])


def test_the_same_points_are_not_joined_twice():
    phi = mc.features(mc.Gaussian(0.5), X)
    assert (phi @ A + phi @ A).shape == (40, 4)
    assert (mc.Expansion(phi.kernel, X, A) - mc.Expansion(phi.kernel, X, A)).shape == (40, 4)


@pytest.mark.parametrize(
    "make", [list, tuple, lambda words: np.array(words, object)], ids=["list", "tuple", "array"]
)
def test_containers_of_the_same_objects_hold_the_same_points(make):
    kernel, words = mc.strings.Spectrum(1), ["ab", "ba", "bb"]
    psi, chi = (
        mc.Expansion(kernel, words, np.eye(3)),
        mc.Expansion(kernel, make(words), np.ones((3, 3))),
    )
    assert (psi - chi).shape == (3, 3)
    np.testing.assert_allclose((psi - chi).norms(), np.sqrt([10.0, 10.0, 8.0]))
    # other objects of equal content are other points, with the same feature vectors
    copies = mc.Expansion(kernel, make([w[:1] + w[1:] for w in words]), np.eye(3))
    np.testing.assert_array_equal((psi - copies).norms(), 0)


def test_norms_of_an_indefinite_kernel_are_zero_rather_than_nan():
    kernel = mc.Sigmoid(2.0)
    K = kernel(X)
    negative = np.linalg.eigh(K)[1][:, 0]
    assert negative @ K @ negative < 0
    np.testing.assert_array_equal(mc.Expansion(kernel, X, negative).norms(), 0)


def test_points_and_coefficients_cannot_be_written_to():
    psi = mc.Expansion(mc.Gaussian(0.5), X, A)
    for array in (psi.points, psi.coef):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    assert X.flags.writeable
    assert A.flags.writeable


def test_sparse_points_evaluate_like_dense_ones():
    thin = sp.csr_array(np.maximum(np.random.default_rng(1).uniform(-0.6, 0.4, (30, 6)), 0))
    sparse, full = (
        mc.Expansion(mc.Gaussian(0.5), points, A[:30]) for points in (thin, thin.toarray())
    )
    np.testing.assert_allclose(sparse(thin[:5]), full(thin[:5].toarray()), atol=1e-13)
    np.testing.assert_allclose(sparse.norms(), full.norms(), rtol=1e-12)


def test_mixed_precision_is_computed_in_the_wider_type():
    psi = mc.Expansion(mc.Gaussian(0.5), X.astype(np.float32), A.astype(np.float32))
    assert psi(NEW.astype(np.float32)).dtype == np.float32
    assert psi(NEW).dtype == np.float64


def test_predictions_do_not_depend_on_their_batch_mates():
    psi = mc.Expansion(mc.Gaussian(10.0), X + 1e6, A)
    together = psi(np.vstack([NEW + 1e6, NEW - 1e9]))[:10]
    np.testing.assert_allclose(together, psi(NEW + 1e6), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: mc.Expansion(mc.Gaussian(0.5), X, A[:5]),
            ValueError,
            r"coef must have 40 rows, one for each point; got shape \(5, 4\)",
        ),
        (
            lambda: mc.Expansion(mc.Gaussian(0.5), X, A * np.nan),
            ValueError,
            r"coef\[0, 0\] = nan must be finite",
        ),
        (lambda: mc.Expansion(mc.Gaussian("scale"), X), ValueError, "resolve"),
        (
            lambda: mc.features(mc.Gaussian(0.5), X) @ A[:5],
            ValueError,
            r"C must have 40 rows in psi @ C, one for each vector; got shape \(5, 4\)",
        ),
        (
            lambda: mc.features(mc.Gaussian(0.5), X)[3],
            IndexError,
            r"must be indexed by psi\[:, j\]",
        ),
        (
            lambda: mc.features(mc.Gaussian(0.5), X).inner(3),
            TypeError,
            "chi must be an Expansion, .* of type int",
        ),
        (
            lambda: mc.features(mc.Gaussian(0.5), X).inner(mc.features(mc.Gaussian(0.6), X)),
            ValueError,
            "must have the same kernel to be combined",
        ),
        (
            lambda: mc.sqdist(mc.features(mc.Linear(), X), mc.features(mc.Linear(), Z), True),
            ValueError,
            "equally many",
        ),
    ],
)
def test_invalid_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("wrong", ["rbf", None, np.dot], ids=["name", "None", "function"])
@pytest.mark.parametrize(
    "make", [mc.features, mc.Gram, mc.Expansion], ids=lambda make: make.__name__
)
def test_a_kernel_of_another_kind_is_refused_with_an_example(make, wrong):
    with pytest.raises(
        TypeError, match=r"kernel must be a Kernel, such as mercer\.Gaussian\(0\.5\), got"
    ):
        make(wrong, np.ones((2, 2)))


@pytest.mark.parametrize(("given", "name"), [((3, None), "phi"), ((None, "b"), "chi")])
def test_the_discrepancy_needs_two_expansions(given, name):
    phi = mc.features(mc.Linear(), np.eye(2))
    with pytest.raises(TypeError, match=f"{name} must be an Expansion, such as mercer.features"):
        mc.mmd(*(phi if each is None else each for each in given))


def test_numbers_and_factors_multiply_the_vectors():
    psi = mc.Expansion(mc.Gaussian(0.5), X, A)
    np.testing.assert_array_equal((psi * 2).coef, 2 * A)
    np.testing.assert_array_equal((2 * psi).coef, 2 * A)
    np.testing.assert_array_equal((-psi).coef, -A)
    np.testing.assert_array_equal((psi / 4).coef, A / 4)
    np.testing.assert_array_equal((psi * np.arange(4.0)).coef, A * np.arange(4.0))
    np.testing.assert_array_equal((mc.features(psi.kernel, X) * 3).coef, 3 * np.eye(40))


def test_columns_are_vectors_and_a_combination_is_a_product_of_coefficients():
    psi = mc.Expansion(mc.Gaussian(0.5), X, A)
    for index in (2, [2, 0], slice(1, 3), np.array([False, True, True, False])):
        expected = A[:, [index]] if isinstance(index, int) else A[:, index]
        np.testing.assert_array_equal(psi[:, index].coef, expected)
    C = B[:4, :3]
    np.testing.assert_allclose((psi @ C).coef, A @ C, atol=1e-14)
    np.testing.assert_allclose((psi @ C[:, 0]).coef, A @ C[:, :1], atol=1e-14)


def test_distances_of_nearly_equal_vectors_are_never_negative():
    phi = mc.features(mc.Gaussian(0.5), X)
    near = mc.features(mc.Gaussian(0.5), X + 1e-9)
    assert mc.sqdist(phi, near).min() >= 0
    # the diagonal is set to 0 for one block only
    assert mc.sqdist(phi, mc.features(mc.Gaussian(0.5), X + 0.1)).diagonal().min() > 0.01


@pytest.mark.parametrize("factor", [np.ones((4, 1)), np.ones((4, 4)), np.ones(3)], ids=np.shape)
def test_factors_of_points_are_refused(factor):
    phi = mc.features(mc.Linear(), np.arange(8.0).reshape(4, 2))
    with pytest.raises(
        ValueError,
        match=r"factor must be a number or have shape \(4,\), one number for each vector",
    ):
        phi * factor


def test_a_vector_is_one_column_and_whole_numbers_become_float64():
    coef = mc.Expansion(mc.Linear(), np.zeros((3, 2)), [1, 2, 3]).coef
    assert coef.shape == (3, 1)
    assert coef.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        coef[0] = 2


@pytest.mark.parametrize(
    ("coef", "message"),
    [
        (np.ones(2), "coef must have 3 rows"),
        (np.ones((3, 1, 1)), r"shape \(n,\) or \(n, m\)"),
        ([1, 2, np.nan], r"coef\[2\] = nan must be finite"),
    ],
)
def test_bad_coefficients_are_refused(coef, message):
    with pytest.raises(ValueError, match=message):
        mc.Expansion(mc.Linear(), np.zeros((3, 2)), coef)


def test_inner_products_of_float32_are_summed_in_float64(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    psi = mc.Expansion(
        mc.Linear(), *(rng.standard_normal((20_000, 1)).astype(np.float32) + 1 for _ in range(2))
    )
    other = mc.features(mc.Linear(), np.ones((1, 1), np.float32))
    exact = float(psi.coef.astype(np.longdouble)[:, 0] @ psi.points.astype(np.longdouble)[:, 0])
    product = psi.inner(other)
    assert product.dtype == np.float32
    assert abs(float(product[0, 0]) / exact - 1) <= np.finfo(np.float32).eps


def test_values_that_overflow_are_refused_with_the_size_of_the_coefficients():
    psi = mc.Expansion(mc.Gaussian(1.0), np.eye(3), np.full((3, 1), 1e160))
    with pytest.raises(
        ValueError,
        match=r"coef has entries up to 1e\+160, with which values overflow float64; divide",
    ):
        psi.norms()
    with pytest.raises(ValueError, match="overflow float64"):
        mc.Expansion(mc.Linear(), 1e5 * np.eye(3), np.full((3, 1), 1e305))(1e5 * np.ones((1, 3)))


PHI = mc.features(mc.Linear(), X[:5])
CALLS = {
    "mean phi": mc.mean,
    "mmd phi": lambda bad: mc.mmd(bad, PHI),
    "mmd chi": lambda bad: mc.mmd(PHI, bad),
    "sqdist psi": lambda bad: mc.sqdist(bad, PHI),
    "sqdist chi": lambda bad: mc.sqdist(PHI, bad),
    "svd phi": lambda bad: mc.svd(bad, 1),
    "qr phi": mc.qr,
    "lstsq phi": lambda bad: mc.lstsq(bad, np.ones(5), 1.0),
    "project psi": lambda bad: mc.project(bad, PHI),
    "project onto": lambda bad: mc.project(PHI, bad),
    "spectral phi": mc.maps.spectral,
    "triangular phi": mc.maps.triangular,
    "whitened phi": mc.maps.whitened,
    "onto_landmarks onto": lambda bad: mc.maps.onto_landmarks(bad, PHI),
    "onto_landmarks phi": lambda bad: mc.maps.onto_landmarks(PHI, bad),
    "transform psi": lambda bad: mc.regularisation.transform(bad, X[:1]),
    "energy psi": lambda bad: mc.regularisation.energy(bad, X[:1]),
}


@pytest.mark.parametrize("call", CALLS, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize(
    "bad", [None, X, [1.0], mc.Linear()], ids=["none", "array", "list", "kernel"]
)
def test_arguments_that_are_no_expansion_are_named_and_their_data_are_not_shown(call, bad):
    found = "None" if bad is None else f"an object of type {type(bad).__name__}"
    message = f"{call.split()[1]} must be an Expansion, such as mercer.features\\(kernel, X\\), .*, got {found}\\."
    with pytest.raises(TypeError, match=f"^{message}$"):
        CALLS[call](bad)


OF_NONE = (
    "mean",
    "mmd",
    "svd",
    "qr",
    "lstsq",
    "project onto",
    "spectral",
    "triangular",
    "whitened",
)


@pytest.mark.parametrize(
    "call",
    [call for call in CALLS if call.startswith(OF_NONE)],
    ids=lambda name: name.replace(" ", "-"),
)
def test_a_block_of_no_vectors_is_refused_by_name_where_no_result_exists(call):
    message = f"^{call.split()[1]} must have at least one vector, got 0 vectors over 5 points\\.$"
    with pytest.raises(ValueError, match=message):
        CALLS[call](PHI[:, :0])


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.5), mc.Laplacian(0.5), mc.Gaussian(0.5) + mc.Linear()]
)
def test_values_of_a_block_of_no_vectors_are_arrays_of_no_columns(kernel):
    phi = mc.features(kernel, X)
    for psi in (
        phi[:, []],
        phi[:, :0],
        phi[:, np.zeros(40, bool)],
        (phi @ A)[:, []],
        phi @ np.zeros((40, 0)),
    ):
        assert psi.shape == (40, 0)
        assert psi(Z).shape == (len(Z), 0)
        assert psi.gradient(Z).shape == (len(Z), 0, Z.shape[1])
        assert psi.inner(phi).shape == (0, 40)
        assert psi.norms().shape == (0,)
        assert len(mc.project(psi, phi[:, [0, 1]])) == 0
        # as an array (40, 0) and a column
        for other in (phi[:, 0], mc.features(kernel, Z)[:, [0]]):
            assert len(psi + other) == len(other - psi) == 0


@pytest.mark.parametrize("flag", [None, "no", [], np.nan, 2.0])
def test_flags_must_be_true_or_false(flag):
    for name, call in {
        "paired": lambda: mc.sqdist(PHI, PHI, paired=flag),
        "centre": lambda: mc.svd(PHI, 1, centre=flag),
    }.items():
        with pytest.raises(
            TypeError, match=f"{name} must be True or False, got .* of type {type(flag).__name__}"
        ):
            call()
    assert mc.sqdist(PHI, PHI, paired=np.True_).shape == (5,)


def test_distances_of_a_kernel_that_is_definite_on_changes_of_sum_0_only_are_those_of_the_definition():
    K = -np.linalg.norm(X[:, None] - X[None], axis=2) - 1
    psi = mc.features(mc.Precomputed(K), np.arange(40))
    mu = mc.mean(psi)
    want = K.mean() + np.diag(K) - 2 * K.mean(axis=0)
    assert want.min() > 0
    np.testing.assert_allclose(mc.sqdist(mu, psi)[0], want, rtol=1e-12)
    np.testing.assert_allclose(mc.sqdist(psi, mu)[:, 0], want, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_weight_of_2_in_a_mean_equals_a_repeated_vector(dtype):
    rows = np.random.default_rng(3).standard_normal((5, 2)).astype(dtype)
    kernel = mc.Gaussian(0.4)
    weighted = mc.mean(mc.features(kernel, rows), weights=[2, 1, 0, 1, 1])
    repeated = mc.mean(mc.features(kernel, rows[[0, 0, 1, 3, 4]]))
    np.testing.assert_allclose(
        weighted(rows), repeated(rows), rtol=1e-6 if dtype == np.float32 else 1e-14
    )
    huge = mc.mean(mc.features(kernel, rows), weights=np.full(5, 1e307))
    np.testing.assert_allclose(huge.coef, mc.mean(mc.features(kernel, rows)).coef, rtol=1e-6)
    with pytest.raises(ValueError, match="weights has an infinite sum"):
        mc.mean(mc.features(kernel, rows), weights=np.full(5, 1e308))


def test_vectors_of_two_libraries_are_not_added():
    for call in (lambda psi, chi: psi - chi, mc.mmd, mc.sqdist):
        with pytest.raises(ValueError, match="all arrays must be of one library and on one device"):
            call(mc.features(mc.Linear(), X), mc.features(mc.Linear(), xp.asarray(X)))


def test_an_expansion_is_neither_an_array_nor_a_sequence_of_vectors():
    psi = mc.features(mc.Gaussian(1.0), np.eye(3))
    with pytest.raises(TypeError, match=r"an Expansion is not an array; psi\(X\) are its values"):
        np.asarray(psi)
    with pytest.raises(TypeError, match="'Expansion' object is not iterable"):
        list(psi)


def test_weights_of_a_mean_may_be_on_a_device():
    device = xp.Device("device1")
    X, weights = np.random.default_rng(0).normal(size=(6, 2)), np.arange(1.0, 7.0)
    points, there = (xp.asarray(each, device=device) for each in (X, weights))
    found = mc.mean(mc.features(mc.Gaussian(0.5), points), there).coef
    assert found.device == device
    np.testing.assert_array_equal(
        as_numpy(found), mc.mean(mc.features(mc.Gaussian(0.5), X), weights).coef
    )
