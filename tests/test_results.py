"""Records of results and of parameters: comparing them raises no error, and they hold arrays of their own."""

import numpy as np
import pytest

import mercer as mc

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
LABELS = (X[:, 0] > 0).astype(int)
KERNEL = mc.Gaussian(0.5)
PHI = mc.features(KERNEL, X)


def compressed():
    model = mc.KernelPCA(2, kernel=KERNEL).fit(X)
    return mc.compress(model, n_vectors=5).report_


RESULTS = {
    "model": lambda: mc.capacity.model(mc.SVC(kernel=KERNEL).fit(X, LABELS), X, LABELS),
    "spectrum": lambda: mc.capacity.spectrum(KERNEL, X),
    "eigenvalues": lambda: mc.capacity.ListedDecay(np.array([1.0, 0.5])),
    "report of a compression": compressed,
    "repaired matrix": lambda: mc.make_positive(np.array([[0.0, 1.0], [1.0, 0.0]])),
    "sum of kernels": lambda: mc.learning.combination([KERNEL, mc.Linear()], X, LABELS),
    "Mercer map": lambda: mc.maps.mercer_map(KERNEL, X, 3),
    "Fourier features": lambda: mc.maps.FourierFeatures(np.eye(2)),
    "pre-images": lambda: mc.preimage(PHI @ np.ones((30, 1))),
    "multiples": lambda: mc.ray(PHI @ np.ones((30, 1))),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_compared_and_hashed_without_an_error(name):
    first = RESULTS[name]()
    second = RESULTS[name]()
    assert first == first
    assert first != second
    assert len({first, second}) == 2


def test_frequencies_are_those_of_their_time():
    given = np.eye(2)
    features = mc.maps.FourierFeatures(given)
    before = features(X)
    given *= 3.0
    np.testing.assert_array_equal(features(X), before)
