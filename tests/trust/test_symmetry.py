"""Functions that need k(x, z) = k(z, x) refuse a function that is not symmetric, and name two points."""

import numpy as np
import pytest

import mercer as mc
from mercer import capacity, maps

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0] > 0
A = np.array([[1.0, 0.9, 0.0], [-0.7, 1.0, 0.3], [0.0, 0.2, 1.0]])
BAD = mc.FunctionKernel(
    lambda P, Q: np.exp(-((P[:, None] - Q[None]) ** 2).sum(-1)) + 0.5 * np.tanh(P @ A @ Q.T)
)
GOOD = mc.FunctionKernel(lambda P, Q: np.exp(-((P[:, None] - Q[None]) ** 2).sum(-1)))
CALLS = {
    "svd": lambda k: mc.svd(mc.features(k, X), 3),
    "qr": lambda k: mc.qr(mc.features(k, X)),
    "project": lambda k: mc.project(mc.mean(mc.features(k, X)), mc.features(k, X[:5])),
    "lstsq": lambda k: mc.lstsq(mc.features(k, X), X[:, 0], 1.0),
    "mmd": lambda k: mc.mmd(mc.features(k, X), mc.features(k, X + 1)),
    "mmd_test": lambda k: mc.mmd_test(X, X + 1, kernel=k, n_permutations=10, random_state=0),
    "hsic_test": lambda k: mc.hsic_test(
        X, X, kernel_x=k, kernel_y=k, n_permutations=10, random_state=0
    ),
    "alignment": lambda k: mc.alignment(k, X, Y),
    "combine": lambda k: mc.combine([k, mc.Gaussian(1.0)], X, Y),
    "reduce": lambda k: mc.reduce(mc.mean(mc.features(k, X)), 3, method="greedy"),
    "smallest_ball": lambda k: capacity.smallest_ball(k, X),
    "spectrum": lambda k: capacity.spectrum(k, X),
    "report": lambda k: capacity.report(k, X),
    "whitened": lambda k: maps.whitened(mc.features(k, X)),
    "triangular": lambda k: maps.triangular(mc.features(k, X)),
    "spectral": lambda k: maps.spectral(mc.features(k, X)),
    "mercer_map": lambda k: maps.mercer_map(k, X),
    "select_landmarks": lambda k: maps.select_landmarks(k, X, 5, random_state=0),
    "make_positive": lambda k: mc.make_positive(k, "clip", X=X),
    "KernelPCA": lambda k: mc.KernelPCA(2, kernel=k).fit(X),
    "SVC": lambda k: mc.SVC(kernel=k).fit(X, Y),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_is_not_symmetric_is_refused(name):
    CALLS[name](GOOD)
    with pytest.raises(ValueError, match="kernel must be symmetric: .* for .*"):
        CALLS[name](BAD)


def test_the_whitening_of_a_kernel_that_is_not_symmetric_is_a_map_for_new_points():
    K = BAD(X)
    W = maps.nonsymmetric_whitening(K)
    F = W @ K
    values, V = np.linalg.eigh(K.T @ K)
    np.testing.assert_allclose(F.T @ F, (V * np.sqrt(np.maximum(values, 0))) @ V.T, atol=1e-8)
