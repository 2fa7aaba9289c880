"""Nested accuracies with kernels on graphs and series are those of the literature, within their spread."""

import numpy as np
import pytest

from experiments import structured


@pytest.mark.data
def test_the_accuracy_on_mutag_is_within_the_spread_of_the_literature(data, settings):
    data("tu_mutag")
    settings(structured, CS=[0.1, 1.0, 10.0])
    settings(
        structured,
        candidates=lambda _: {"WL": [structured.mc.graphs.WeisfeilerLehman(h) for h in (1, 3)]},
    )
    [(title, [accuracy])] = structured.accuracies("tu_mutag")
    assert title == "WL"
    assert 78 < accuracy < 92


def test_every_published_value_belongs_to_a_kernel_that_is_run():
    for name, title in structured.PUBLISHED:
        assert title in structured.candidates(name)


def test_matrices_are_normalised_and_new_points_are_compared_with_the_training_points():
    kernels = [structured.mc.strings.Mismatch(2, 1), structured.mc.strings.Spectrum(1)]
    words = ["aab", "bba", "abab"]
    for K, new in zip(
        structured.matrices(kernels, words),
        structured.matrices(kernels, words, ["bab"]),
        strict=True,
    ):
        np.testing.assert_allclose(np.diagonal(K), 1)
        assert new.shape == (1, 3)


def test_series_of_another_offset_and_amplitude_are_equal_from_0_to_1():
    x = np.random.default_rng(0).normal(size=(3, 20))
    scaled = structured.unit(x)
    np.testing.assert_array_equal([scaled.min(axis=1), scaled.max(axis=1)], [[0.0] * 3, [1.0] * 3])
    np.testing.assert_allclose(structured.unit(7.0 * x - 2.0), scaled, atol=1e-15)


def test_the_deviation_of_an_accuracy_that_was_measured_once_is_the_binomial_one():
    assert structured.binomial(90.0, 100) == pytest.approx(3.0)
