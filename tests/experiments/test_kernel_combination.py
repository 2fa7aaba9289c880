"""Combined kernels are about as good as the best single kernel that a search finds."""

import numpy as np
import pytest

from experiments import kernel_combination


@pytest.mark.data
def test_combinations_are_near_the_search_on_waveform(data, monkeypatch):
    data("ida_waveform")
    monkeypatch.setattr(kernel_combination, "CS", [1.0])
    results = kernel_combination.compared("ida_waveform", 1, 0)[0]
    assert np.abs(results[1:, 0] - results[0, 0]).max() < 2
    assert 1 <= results[2, 1] < 9


@pytest.mark.data
def test_splice_rows_are_tables_of_a_string_and_numbers(data):
    data("splice_uci")
    X, y, _, _ = kernel_combination.split("splice_uci", 0, 40)
    assert [type(entry) for entry in X[0][:2]] == [str, float]
    for kernel in kernel_combination.scaled(kernel_combination.kernels_of(X), X):
        assert np.mean(kernel.diag(X)) - np.mean(kernel(X)) == pytest.approx(1)
    assert len(set(y)) == 3
