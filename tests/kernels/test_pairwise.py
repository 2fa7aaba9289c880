"""check_pairwise: user functions that are not functions of pairs are refused, with the pair named."""

import re

import numpy as np
import pytest

import mercer as mc
from mercer.kernels.base import check_pairwise

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 2


def gaussian(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=-1))


def about_the_mean(A, B):
    return gaussian(A - A.mean(axis=0), B - B.mean(axis=0))


def bent(A, B):
    return A @ np.array([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) @ B.T


ESTIMATORS = [
    mc.SVC(), mc.NuSVC(), mc.SVR(), mc.NuSVR(), mc.OneClassSVM(), mc.SVDD(), mc.SVCCV(), mc.SVRCV(), mc.KernelPCA(),
    mc.KernelMap(), mc.KernelRidge(), mc.KernelFisher(), mc.KernelPerceptron(), mc.Nystroem(n_components=5),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_estimators_refuse_functions_that_are_not_symmetric_or_depend_on_the_block(estimator):
    with pytest.raises(ValueError, match="must be symmetric"):
        estimator.set_params(kernel=bent).fit(X, Y)
    with pytest.raises(ValueError, match="must depend on x and z only"):
        estimator.set_params(kernel=about_the_mean).fit(X, Y)
    assert not hasattr(estimator, "kernel_")
    estimator.set_params(kernel=gaussian).fit(X, Y)


def test_the_error_names_a_pair_and_both_values():
    with pytest.raises(ValueError, match="must be symmetric") as caught:
        check_pairwise(mc.FunctionKernel(bent), X)
    forth, back, x, z = re.findall(r"= (-?[\d.]+(?:e-\d+)?)", str(caught.value))
    x, z = X[int(x)][None], X[int(z.rstrip("."))][None]
    np.testing.assert_allclose(
        [float(forth), float(back)], [bent(x, z)[0, 0], bent(z, x)[0, 0]], rtol=1e-5
    )


def test_a_function_for_square_blocks_only_is_refused():
    def square(A, B):
        return gaussian(A, B) if len(A) == len(B) else np.ones((len(A), len(B)))

    with pytest.raises(ValueError, match="must depend on x and z only"):
        check_pairwise(mc.FunctionKernel(square), X)


def test_rounding_and_float32_are_no_difference():
    def noisy(A, B):
        return (gaussian(A, B) + 1e-10 * (np.arange(len(A))[:, None] - np.arange(len(B)))).astype(
            A.dtype
        )

    check_pairwise(mc.FunctionKernel(noisy), X)
    check_pairwise(mc.FunctionKernel(noisy), X.astype(np.float32))


@pytest.mark.parametrize("seed", range(4))
def test_parts_in_float32_beside_features_in_float64_are_functions_of_pairs(seed):
    rows = np.random.default_rng(seed).normal(size=(60, 30)).astype(np.float32)
    kernel = mc.FeatureMap(lambda A: np.tanh(A @ np.eye(30)[:, :3])) + mc.Gaussian(0.02)
    model = mc.SVC(kernel=kernel).fit(rows, rows[:, 0] > 0)
    wide = mc.SVC(kernel=kernel).fit(rows.astype(float), rows[:, 0] > 0)
    np.testing.assert_allclose(
        model.decision_function(rows), wide.decision_function(rows.astype(float)), atol=1e-3
    )
