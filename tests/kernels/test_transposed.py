"""Transposed: Gram matrices of functions that are not symmetric equal the function's values on both sides."""

import numpy as np

import mercer as mc

X = np.random.default_rng(1).normal(size=(40, 3))
Z = np.random.default_rng(2).normal(size=(7, 3))


def bent(A, B):
    return A @ np.triu(np.ones((3, 3))) @ B.T


def test_gram_matrices_of_a_function_that_is_not_symmetric_are_its_values():
    for points in (None, Z):
        expected = bent(X, X if points is None else points)
        G = mc.Gram(mc.FunctionKernel(bent), X, points)
        v, w = np.arange(len(X)) + 1.0, np.arange(expected.shape[1]) - 3.0
        np.testing.assert_allclose(G.dense(), expected, rtol=1e-12)
        np.testing.assert_allclose(G.T.dense(), expected.T, rtol=1e-12)
        np.testing.assert_allclose(v @ G, v @ expected, rtol=1e-12)
        np.testing.assert_allclose(G @ w, expected @ w, rtol=1e-12)
        np.testing.assert_allclose(G.T @ v, expected.T @ v, rtol=1e-12)
        np.testing.assert_allclose(G.T[2:4, :3], expected.T[2:4, :3], rtol=1e-12)


def test_composites_with_such_a_function_are_not_mirrored_and_others_are():
    composite = 2 * mc.FunctionKernel(bent)
    assert not composite.tags.symmetric
    assert (mc.Gaussian(1.0) + mc.Linear()).tags.symmetric
    np.testing.assert_allclose(mc.Gram(composite, X).dense(), 2 * bent(X, X), rtol=1e-12)
    np.testing.assert_allclose(
        mc.Gram(composite, X).diagonal(), 2 * np.diag(bent(X, X)), rtol=1e-12
    )
