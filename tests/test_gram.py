"""Gram: products, blocks, diagonal and transpose are those of the matrix, which only ``dense`` stores."""

import pickle

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from tests.reference.arrays import as_numpy
from tests.reference.inside import points_of

import mercer as mc
from mercer.gram import kept_product

rng = np.random.default_rng(0)
X, Z, V = rng.standard_normal((70, 4)), rng.standard_normal((30, 4)), rng.standard_normal((30, 5))
KERNELS = [
    mc.Gaussian(0.3),
    mc.Laplacian(0.3),
    mc.Polynomial(2),
    mc.Gaussian(0.3) * mc.Linear() + 1.0,
]

ONE_SCALAR_AND_SEVERAL = [
    mc.Gaussian(0.3),
    mc.Linear(),
    mc.Laplacian(0.5),
    mc.Gaussian(0.3) + mc.Linear(),
]


@pytest.fixture(params=KERNELS, ids=lambda k: type(k).__name__)
def kernel(request):
    return request.param


def test_products_from_left_and_right_are_those_of_the_matrix(kernel):
    K, G = kernel(X, Z), mc.Gram(kernel, X, Z)
    scale = np.abs(K).sum(axis=1).max()
    assert G.shape == (70, 30)
    assert G.dtype == np.float64
    np.testing.assert_allclose(G @ V, K @ V, atol=1e-13 * scale)
    np.testing.assert_allclose(G @ V[:, 0], K @ V[:, 0], atol=1e-13 * scale)
    np.testing.assert_allclose(X.T @ G, X.T @ K, atol=1e-12 * scale)
    np.testing.assert_allclose(X[:, 0] @ G, X[:, 0] @ K, atol=1e-12 * scale)
    np.testing.assert_allclose(G.T @ X, K.T @ X, atol=1e-12 * scale)


def test_products_with_no_columns_have_none(kernel):
    assert (mc.Gram(kernel, X, Z) @ V[:, :0]).shape == (70, 0)
    assert (mc.Gram(kernel, Z) @ V[:, :0]).shape == (30, 0)
    assert (mc.Expansion(kernel, Z, V)[:, :0])(X).shape == (70, 0)
    assert (mc.Gram(mc.strings.Spectrum(1), ["a", "ab"]) @ np.ones((2, 0))).shape == (2, 0)


def test_the_transpose_is_the_matrix_of_exchanged_points(kernel):
    G = mc.Gram(kernel, X, Z)
    np.testing.assert_allclose(G.T.dense(), G.dense().T, rtol=1e-12)
    assert G.T.shape == (30, 70)
    square = mc.Gram(kernel, X)
    assert square.T is square


def test_a_gram_matrix_of_one_set_is_symmetric_to_the_bit_with_an_exact_diagonal(kernel):
    K = mc.Gram(kernel, X).dense()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(mc.Gram(kernel, X).diagonal(), K.diagonal(), rtol=1e-14)


def test_blocks_are_those_of_the_matrix_for_every_kind_of_index(kernel):
    G, K = mc.Gram(kernel, X), kernel(X)
    rows, columns = np.array([5, 0, 69]), np.array([1, 1, -1, 5])
    mask = np.zeros(70, dtype=bool)
    mask[[2, 3]] = True
    scale = np.abs(K).max()
    for index, expected in [
        ((rows, columns), K[np.ix_(rows, columns)]),
        (np.ix_(rows, columns), K[np.ix_(rows, columns)]),
        ((slice(None), columns), K[:, columns]),
        ((slice(3, 9, 2), slice(None)), K[3:9:2]),
        ((mask, slice(0, 4)), K[mask, :4]),
        ((3, slice(None)), K[3:4]),
        (([1, 2], -1), K[1:3, -1:]),
        (([], slice(None)), K[[]]),
        ((slice(None), slice(0)), K[:, :0]),
        ((np.zeros(70, bool), []), K[:0, :0]),
        ((3, []), K[3:4, :0]),
    ]:
        np.testing.assert_allclose(G[index], expected, atol=1e-13 * scale)


def test_the_result_does_not_depend_on_the_tiles(kernel, costs):
    G = mc.Gram(kernel, X)
    whole = G @ X
    costs(BLOCK=1)
    np.testing.assert_allclose(mc.Gram(kernel, X) @ X, whole, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(mc.Gram(kernel, X).dense(), mc.Gram(kernel, X).dense().T)


def test_float32_sums_many_terms_in_float64():
    n = 40_000
    points = np.zeros((n, 1), dtype=np.float32)
    # each entry is 1: a float32 sum of so many tenths is off in the third digit
    product = mc.Gram(mc.Gaussian(1.0), points[:8], points) @ np.full(n, 0.1, dtype=np.float32)
    assert product.dtype == np.float32
    np.testing.assert_allclose(product, n * np.float32(0.1), rtol=1e-6)


def test_sparse_rows_give_the_same_matrix():
    thin = sp.csr_array(np.maximum(np.random.default_rng(1).uniform(-0.7, 0.3, (40, 9)), 0))
    G = mc.Gram(mc.Gaussian(0.5), thin)
    np.testing.assert_allclose(G.dense(), mc.Gaussian(0.5)(thin.toarray()), atol=1e-14)
    np.testing.assert_allclose(G @ np.ones(40), G.dense().sum(axis=1), rtol=1e-13)


def test_a_matrix_beyond_the_budget_is_refused_with_both_numbers_and_products_are_not():
    G = mc.Gram(mc.Gaussian(1.0), X, memory="1kB")
    with pytest.raises(
        MemoryError,
        match=r"70 x 70 values of float64 needs 39\.2 kB, the memory budget is 1\.0 kB; use Gram",
    ):
        G.dense()
    assert np.isfinite(G @ X).all()


@pytest.mark.parametrize(("dtype", "bytes_of_a_value"), [(np.float32, 4), (np.float64, 8)])
def test_the_budget_counts_the_bytes_of_the_type(dtype, bytes_of_a_value):
    needed = 70 * 30 * bytes_of_a_value
    given = X.astype(dtype), Z.astype(dtype)
    assert mc.Gram(mc.Gaussian(1.0), *given, memory=needed).dense().shape == (70, 30)
    with pytest.raises(MemoryError):
        mc.Gram(mc.Gaussian(1.0), *given, memory=needed - 1).dense()
    with pytest.raises(MemoryError):
        mc.Gram(mc.Gaussian(1.0), *given, memory=needed - 1).T.dense()


def test_invalid_arguments_are_refused():
    G = mc.Gram(mc.Gaussian(1.0), X, Z)
    with pytest.raises(
        ValueError, match=r"V must have shape \(30,\) or \(30, p\) in G @ V; got shape \(70,\)"
    ):
        G @ np.ones(70)
    with pytest.raises(ValueError, match=r"got shape \(30, 2, 2\)"):
        G @ np.ones((30, 2, 2))
    with pytest.raises(ValueError, match="Z must be X for a diagonal"):
        G.diagonal()
    with pytest.raises(IndexError, match=r"G\[I, J\]"):
        G[3]
    with pytest.raises(ValueError, match="V must hold real numbers, got dtype complex128"):
        G @ np.ones(30, dtype=complex)
    with pytest.raises(ValueError, match="resolve"):
        mc.Gram(mc.Gaussian("scale"), X)
    with pytest.raises(ValueError, match="features"):
        mc.Gram(mc.Gaussian(1.0), X, Z[:, :2])


def _problem(seed, d=9, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape).astype(dtype) for shape in ((20, d), (700, d), (700, 3)))


@pytest.mark.parametrize("kernel", ONE_SCALAR_AND_SEVERAL, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 9])
def test_products_are_those_of_the_matrix_at_every_call_and_for_every_kernel(
    kernel, dtype, d, global_random_seed
):
    X, Z, coef = _problem(global_random_seed, d, dtype)
    known = points_of(Z)
    kept_product(mc.Gaussian(1.0), X, known, coef)
    expected, rtol = kernel(X.astype(float), Z.astype(float)) @ coef, 2000 * np.finfo(dtype).eps
    for _ in range(2):
        np.testing.assert_allclose(
            kept_product(kernel, X, known, coef), expected, rtol=rtol, atol=rtol
        )
        pieces = [slice(0, 100), slice(100, 700)]
        found = kept_product(kernel, X, known, coef, pieces) @ np.vstack([np.eye(3)] * 2)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def test_rows_of_another_precision_meet_the_vectors_in_the_wider_one(global_random_seed):
    X, Z, coef = _problem(global_random_seed, dtype=np.float32)
    known = points_of(Z)
    for _ in range(2):
        found = kept_product(mc.Gaussian(0.3), X.astype(np.float64), known, coef)
        assert found.dtype == np.float64
        np.testing.assert_allclose(
            found, mc.Gaussian(0.3)(X.astype(float), Z.astype(float)) @ coef, atol=1e-12
        )


def test_a_model_that_has_predicted_is_as_small_a_file_and_predicts_the_same(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((500, 4))
    model = mc.SVC(kernel=mc.Gaussian(0.3)).fit(X, X[:, 0] > X[:, 1] ** 2)
    fresh = pickle.dumps(model)
    scores = model.decision_function(X)
    assert len(pickle.dumps(model)) == len(fresh)
    np.testing.assert_array_equal(pickle.loads(fresh).decision_function(X), scores)


def test_points_of_another_width_are_refused(global_random_seed):
    X, Z, coef = _problem(global_random_seed)
    with pytest.raises(ValueError, match="has 8 features, but Z has 9 features"):
        kept_product(mc.Gaussian(0.3), X[:, :8], points_of(Z), coef)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_products_with_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match=r"V\[1\] = (nan|inf) must be finite"):
        mc.Gram(mc.Gaussian(1.0), np.eye(2)) @ [1.0, bad]


def test_a_gram_is_neither_an_array_nor_a_sequence_of_rows():
    G = mc.Gram(mc.Gaussian(1.0), np.eye(3))
    for read in (
        np.asarray,
        np.linalg.eigvalsh,
        lambda G: mc.SVC(kernel="precomputed").fit(G, [0, 1, 1]),
    ):
        with pytest.raises(TypeError, match=r"a Gram is not stored, .* give G.dense\(\)"):
            read(G)
    with pytest.raises(TypeError, match="'Gram' object is not iterable"):
        list(G)


def test_solvers_of_scipy_take_a_gram_as_a_linear_operator():
    G = mc.Gram(mc.Gaussian(1.0), np.random.default_rng(0).standard_normal((30, 2)))
    A = scipy.sparse.linalg.LinearOperator(
        G.shape, G.__matmul__, matmat=G.__matmul__, dtype=G.dtype
    )
    found = scipy.sparse.linalg.eigsh(A, 3, which="LA", return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(found), np.linalg.eigvalsh(G.dense())[-3:], rtol=1e-10)


def test_places_may_be_arrays_on_a_device():
    device = array_api_strict.Device("device1")
    X = np.random.default_rng(0).normal(size=(6, 2))
    points, places = (
        array_api_strict.asarray(each, device=device) for each in (X, np.array([4, 1]))
    )
    found = mc.Gram(mc.Gaussian(0.5), points)[places, places]
    assert found.device == device
    expected = mc.Gram(mc.Gaussian(0.5), X)[[4, 1], [4, 1]]
    np.testing.assert_allclose(as_numpy(found), expected, rtol=1e-13)
    values = mc.features(mc.Gaussian(0.5), points)[:, places](points)
    np.testing.assert_allclose(as_numpy(values), mc.Gaussian(0.5)(X, X[[4, 1]]), rtol=1e-13)
