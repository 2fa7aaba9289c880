"""Function kernels: values are checked, arguments are copies."""

import math

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import additive_chi2_kernel

import mercer as mc

X = np.random.default_rng(0).standard_normal((6, 3))


def _write(A, B):
    A[0, 0] = 7.0
    return A @ B.T


def _nothing(*_):
    return None


def _divide(A, B):
    raise ZeroDivisionError(len(A), len(B))


def _returning(make):
    """Return a function of two blocks that returns ``make(n, m)``."""
    return lambda A, B: make(len(A), len(B))


SHAPE = r"must return shape \(\d, \d\), one value per pair, got "


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            _returning(lambda n, m: 1.0 * n / m),
            ValueError,
            "callable kernel <lambda> " + SHAPE + r"\(\)",
        ),
        (_returning(lambda n, m: np.ones(n * m + 1)), ValueError, SHAPE + r"\(\d+,\)"),
        (_returning(lambda n, m: np.ones((n + 1, m))), ValueError, SHAPE + r"\(\d, \d\)"),
        (_nothing, ValueError, SHAPE + r"\(\)"),
        (
            _returning(lambda n, m: np.full((n, m), np.nan)),
            ValueError,
            r"finite values, got NaN .* \(0, 0\)",
        ),
        (
            _returning(lambda n, m: np.ones((n, m), complex)),
            TypeError,
            "must return real numbers, got dtype complex128",
        ),
    ],
    ids=["number", "vector", "shape", "None", "NaN", "complex"],
)
def test_bad_functions_are_refused_in_blocks_and_on_the_diagonal(function, error, message):
    before = X.copy()
    for use in (lambda k: k(X), lambda k: k.diag(X), lambda k: mc.Gram(k, X) @ np.ones(6)):
        with pytest.raises(error, match=message):
            use(mc.FunctionKernel(function))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    "convert",
    [np.asarray, np.float16, sp.csr_array, lambda K: K.tolist(), np.asfortranarray],
    ids=range(5),
)
def test_values_of_every_kind_of_matrix_are_taken(convert):
    K = mc.FunctionKernel(lambda A, B: convert(np.rint(A) @ np.rint(B).T))(X)
    assert type(K) is np.ndarray
    np.testing.assert_array_equal(K, np.rint(X) @ np.rint(X).T)


def test_values_have_the_type_of_the_points():
    kernel = mc.FunctionKernel(lambda A, B: (A @ B.T).astype(float))
    assert (
        kernel(X.astype(np.float32)).dtype == kernel.diag(X.astype(np.float32)).dtype == np.float32
    )
    assert kernel(X).dtype == np.float64


def test_functions_get_copies_that_they_may_write_to_and_compiled_ones_accept():
    before = X.copy()
    expected = before.copy()
    expected[0, 0] = 7.0
    np.testing.assert_array_equal(mc.FunctionKernel(_write)(X), expected @ before.T)
    np.testing.assert_array_equal(X, before)
    # this function refuses read-only arrays
    for rows in (abs(X), np.asfortranarray(abs(X))):
        np.testing.assert_allclose(
            mc.FunctionKernel(additive_chi2_kernel)(rows), additive_chi2_kernel(abs(X))
        )


def test_errors_of_the_function_are_its_own():
    with pytest.raises(ZeroDivisionError):
        mc.FunctionKernel(_divide)(X)


def test_points_and_functions_are_checked_by_kind():
    with pytest.raises(TypeError, match="function must be callable, got 3"):
        mc.FunctionKernel(3)
    with pytest.raises(TypeError, match="X must be an array or a list of points, got int"):
        mc.FunctionKernel(_write)(3)
    with pytest.raises(ValueError, match=r"Input X contains NaN at \(0, 0\)"):
        mc.FunctionKernel(_write)(X * np.nan)


def of_two_points(x, z):
    return float(x[0]) * float(z[0]) if x[0] > 0 else 0.0


def test_a_function_of_two_points_is_told_how_to_become_one_of_blocks():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises((ValueError, TypeError)) as caught:
        mc.FunctionKernel(of_two_points)(X)
    text = str(caught.value)
    assert "callable kernel of_two_points raised ValueError: The truth value of an array" in text
    assert (
        "blocks of points, (n, d) and (m, d) or lists of n and m objects, and returns all values, (n, m)"
        in text
    )
    recipe = text[text.index("lambda X, Z") :].rstrip(".")
    kernel = mc.FunctionKernel(eval(recipe, {"np": np, "f": of_two_points}))
    np.testing.assert_array_equal(kernel(X), np.outer(X[:, 0], X[:, 0]))


def test_an_error_of_numpy_in_a_function_of_two_points_is_told_the_same():
    with pytest.raises(
        TypeError, match=r"<lambda> raised TypeError: .*lambda X, Z: np.array"
    ) as caught:
        mc.SVC(kernel=lambda x, z: math.exp(-sum((x - z) ** 2))).fit(X, np.arange(6) % 2)
    assert str(caught.value.__cause__) in str(caught.value)


def test_a_shape_of_one_value_is_told_the_same():
    with pytest.raises(
        ValueError, match=r"one value per pair, got \(\).*returns all values, \(n, m\)"
    ):
        mc.FunctionKernel(lambda x, z: float(np.sum(x) * np.sum(z)))(np.eye(3))


def test_lists_and_arrays_of_objects_reach_the_function_as_they_are():
    seen = []

    def lengths(A, B):
        seen.append(A)
        return np.array([[float(len(a) * len(b)) for b in B] for a in A])

    kernel, words = mc.FunctionKernel(lengths), ["ab", "c", "def"]
    np.testing.assert_array_equal(kernel(words), np.outer([2, 1, 3], [2, 1, 3]))
    assert type(seen[0]) is list
    assert seen[0] == words
    objects = np.array(words, dtype=object)
    np.testing.assert_array_equal(kernel(objects), kernel(words))
    np.testing.assert_array_equal(kernel.diag(words), [4, 1, 9])
    square = np.array([["ab", "c"], ["d", "ef"]])
    np.testing.assert_array_equal(kernel(square), [[4.0, 4.0], [4.0, 4.0]])


def test_whole_numbers_become_rows_in_two_dimensions_only():
    seen = []
    kernel = mc.FunctionKernel(lambda A, B: seen.append(A) or np.ones((len(A), len(B))))
    kernel(np.arange(6).reshape(3, 2))
    kernel(np.arange(3))
    assert seen[0].dtype == np.float64
    assert seen[1].dtype.kind == "i"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_at_arrays_of_another_library_are_arrays_of_it(dtype):
    X = array_api_strict.asarray(
        np.eye(3), dtype=getattr(array_api_strict, dtype), device=array_api_strict.Device("device1")
    )
    kernel = mc.FunctionKernel(lambda X, Z: X @ Z.T)
    for found in (kernel(X), kernel.diag(X), mc.Gram(kernel, X) @ X):
        assert (found.device, found.dtype) == (X.device, X.dtype)


def test_the_diagonal_takes_an_eighth_of_a_call_for_each_point():
    calls = []

    def product(A, B):
        calls.append(len(A))
        return A @ B.T

    points = np.random.default_rng(0).standard_normal((1001, 3))
    found = mc.FunctionKernel(product).diag(points)
    np.testing.assert_allclose(found, (points**2).sum(axis=1), rtol=1e-14)
    assert len(calls) <= 1001 / 8 + 1
