"""Mapped kernels equal the inner kernel on mapped points; invalid maps are refused."""

import numpy as np
import pandas as pd
import pytest
from tests.reference.derivatives import assert_gradients
from tests.reference.inside import tile_of

import mercer as mc
from mercer.kernels.mapped import map_rows

X = np.random.default_rng(0).standard_normal((8, 3))
G = mc.Gaussian(0.5)


@pytest.mark.parametrize(
    ("A", "mapped"),
    [
        (np.array([1.0, 0.0, 2.0]), X * [1, 0, 2]),
        (np.array([[1.0, 2.0, 0.0]]), X @ np.array([[1.0], [2.0], [0.0]])),
        (np.array([2, 0]), X[:, [2, 0]]),
        (np.array([-1, 0, 0]), X[:, [2, 0, 0]]),
        (np.array([1], np.uint8), X[:, [1]]),
    ],
    ids=["factors", "map", "columns", "repeated", "uint8"],
)
def test_a_mapped_kernel_is_the_kernel_of_the_mapped_points(A, mapped):
    kernel, W = mc.Mapped(G, A), np.cos(np.arange(64.0)).reshape(8, 8)
    np.testing.assert_allclose(kernel(X), G(mapped), rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(X), G.diag(mapped))
    back = (np.eye(3)[A] if A.dtype.kind != "f" else np.diag(A) if A.ndim == 1 else A).T
    np.testing.assert_allclose(kernel.vjp(X, X, W), G.vjp(mapped, mapped, W) @ back.T, atol=1e-13)


def test_a_long_map_is_quoted_by_its_shape():
    assert (
        repr(mc.Mapped(G, np.array([2, 0])))
        == "Mapped(kernel=Gaussian(gamma=0.5), A=array([2, 0]))"
    )
    assert (
        repr(mc.Mapped(G, np.ones((4, 3))))
        == "Mapped(kernel=Gaussian(gamma=0.5), A=<array of shape (4, 3)>)"
    )


def test_bandwidths_are_resolved_on_mapped_points():
    kernel = mc.Mapped(mc.Gaussian(), np.array([2, 0])).resolve(X)
    assert kernel.kernel.gamma == mc.Gaussian().resolve(X[:, [2, 0]]).gamma


def test_inner_kernels_check_the_mapped_points():
    with pytest.raises(ValueError, match=r"A-mapped X\[0, 1\] = .* must be at least 0"):
        mc.Mapped(mc.Chi2(1.0), np.array([0, 1]))(X)
    assert np.isfinite(mc.Mapped(mc.Chi2(1.0), np.array([0]))(abs(X))).all()


@pytest.mark.parametrize(
    ("A", "error", "message"),
    [
        (
            np.ones(2),
            ValueError,
            r"A must have 3 columns, one for each feature of X, got shape \(2,\)",
        ),
        (np.ones((2, 4)), ValueError, r"A must have 3 columns, .* got shape \(2, 4\)"),
        (np.array([3]), ValueError, r"A = \[3\] must be columns of X, which has 3 features"),
        (np.array([0, -4]), ValueError, r"A = \[0, -4\] must be columns"),
        (np.array([5]), ValueError, r"A = \[5\] must be columns of X, which has 3 features"),
        (np.array([-4]), ValueError, r"A = \[-4\] must be columns of X, which has 3 features"),
        (np.array([], int), TypeError, r"A must be a function, or an array .*, got shape \(0,\)"),
        (None, TypeError, "A must be a list or an array, .*; got None"),
        (np.array([np.nan, 1, 1]), ValueError, r"A\[0\] = nan must be finite"),
        (np.eye(3, dtype=int), TypeError, "A must be floating if it is a linear map"),
        (np.array(["a"]), ValueError, r"A\[0\] of type str_* must be a number"),
        (np.array([True]), TypeError, "floating or integer"),
    ],
)
def test_bad_maps_are_refused(A, error, message):
    with pytest.raises(error, match=message):
        mc.Mapped(G, A)(X)


def test_only_kernels_can_be_mapped():
    with pytest.raises(TypeError, match="kernel of Mapped must be a Kernel, got 'rbf'"):
        mc.Mapped("rbf", np.ones(3))


@pytest.mark.parametrize(
    "A",
    [
        np.array([1.0, 0.5, 2.0]),
        np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0]]),
        np.array([2, 0, 2]),
        np.array([-1]),
    ],
    ids=repr,
)
def test_gradients_are_those_of_differences(A, global_random_seed):
    for kernel in (mc.Polynomial(2), mc.Gaussian(0.3)):
        assert_gradients(mc.Mapped(kernel, A), X, X[:5, ::-1] + 0.1, global_random_seed)


def test_only_the_mapped_points_must_be_nonnegative_and_rows_dense():
    tags = mc.Mapped(mc.Linear() + mc.Chi2(1.0), np.array([0])).tags
    assert (tags.nonnegative, tags.sparse) == (False, False)
    assert not mc.Mapped(mc.Linear(), np.array([0])).tags.sparse


def test_columns_count_from_both_ends():
    for A in (np.array([-3, 2]), np.array([0, -1])):
        np.testing.assert_allclose(mc.Mapped(mc.Linear(), A)(X), X[:, [0, 2]] @ X[:, [0, 2]].T)


# --- functions -------------------------------------------------------------------------------------------------------


def _image(Y):
    return np.column_stack([Y[:, 0] ** 2, Y[:, 1] * Y[:, 2]])


def _image_jacobian(Y):
    zero = np.zeros(len(Y))
    rows = [np.stack([2 * Y[:, 0], zero, zero], axis=1), np.stack([zero, Y[:, 2], Y[:, 1]], axis=1)]
    return np.stack(rows, axis=1)


def test_a_function_maps_rows_and_its_jacobian_gives_gradients(global_random_seed):
    Y = np.random.default_rng(0).standard_normal((8, 3))
    kernel = mc.Mapped(mc.Gaussian("median"), _image, _image_jacobian).resolve(Y)
    np.testing.assert_allclose(
        kernel(Y, Y[:3]), mc.Gaussian("median").resolve(_image(Y))(_image(Y), _image(Y[:3]))
    )
    np.testing.assert_array_equal(kernel.diag(Y), np.ones(8))
    assert_gradients(kernel, Y, Y[:5, ::-1] + 0.1, global_random_seed)
    assert_gradients(
        mc.Mapped(mc.Polynomial(2), _image, _image_jacobian), Y, Y[:5] + 0.1, global_random_seed
    )


def test_a_function_maps_objects_once_to_rows_or_to_other_objects():
    words, calls = ["ab", "abc", "b", "bbb"], []
    lengths = mc.Mapped(
        mc.Linear(), lambda ws: calls.append(len(ws)) or np.array([[len(w)] for w in ws])
    )
    np.testing.assert_array_equal(lengths(words), np.outer([2, 3, 1, 3], [2, 3, 1, 3]))
    G = mc.Gram(lengths + 1.0, words)
    calls.clear()
    for _ in range(3):
        np.testing.assert_allclose(G @ np.ones(4), lengths(words).sum(axis=1) + 4)
    assert calls[0] == 4
    shared = mc.FunctionKernel(lambda A, B: np.array([[float(len(a & b)) for b in B] for a in A]))
    sets = mc.Mapped(shared, lambda ws: [set(w) for w in ws])
    np.testing.assert_array_equal(sets(words, ["a", "bc"]), [[1, 1], [1, 2], [0, 1], [0, 1]])


def test_a_function_without_a_jacobian_has_values_only():
    kernel = mc.Mapped(mc.Gaussian(1.0), _image)
    assert not kernel.tags.differentiable
    Y = np.ones((2, 3))
    with pytest.raises(TypeError, match="has no gradient"):
        kernel.vjp(Y, Y, np.ones((2, 2)))
    tile = tile_of(Y, Y)
    with pytest.raises(TypeError, match="Mapped has no gradient; give jacobian="):
        kernel.gradient(tile, np.ones((2, 2)))
    for use in (
        lambda: mc.regularisation.spectral_density(kernel, np.ones((1, 3))),
        lambda: map_rows(_image, Y),
    ):
        with pytest.raises(TypeError, match="needs a linear map, but Mapped has a function"):
            use()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mc.Mapped(mc.Linear(), "abc"), "A must be a list or an array, .*; got str"),
        (
            lambda: mc.Mapped(mc.Linear(), np.ones(2), np.square),
            "jacobian must be a function of points, beside a function A",
        ),
        (lambda: mc.Mapped(mc.Linear(), np.square, 3), "jacobian must be a function"),
    ],
    ids=range(3),
)
def test_wrong_functions_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_an_image_for_each_point_is_required():
    with pytest.raises(ValueError, match="one image for each of 3 points, got 2"):
        mc.Mapped(mc.Linear(), lambda Y: Y[:2])(np.ones((3, 2)))


def test_maps_in_lists_and_tables_are_those_of_arrays():
    A = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0]])
    for given in (A.tolist(), pd.DataFrame(A), A.astype(object), np.ma.masked_array(A)):
        np.testing.assert_array_equal(mc.Mapped(G, given)(X), mc.Mapped(G, A)(X))
    np.testing.assert_array_equal(mc.Mapped(G, [2, 0])(X), mc.Mapped(G, np.array([2, 0]))(X))


def test_errors_of_mapped_points_name_the_map():
    with pytest.raises(ValueError, match="overflow float64") as caught:
        mc.Mapped(G, np.full(3, 1e200))(X)
    assert caught.value.__notes__ == ["The points are images by A of Mapped."]
    with pytest.raises(TypeError, match="images of points by A must be a list or an array"):
        mc.Mapped(G, len)(X)


def test_lines_for_arrays_of_another_shape_name_a_variable():
    with pytest.raises(
        ValueError, match=r"^Z must .*, Z\.reshape\(-1, 1\), .* Z\.reshape\(1, -1\)"
    ):
        G(X, X[0])
    with pytest.raises(
        ValueError, match=r"^images of points by A must .*, X\.reshape\(-1, 1\), or"
    ):
        mc.Mapped(G, np.ravel)(X)
