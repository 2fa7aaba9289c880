"""Combined kernels are about as good as the best single kernel that a search finds."""

import numpy as np
import pytest

import mercer as mc
from experiments import kernel_combination


@pytest.mark.data
def test_combinations_are_near_the_search_on_waveform(data, monkeypatch, settings):
    data("ida_waveform")
    settings(kernel_combination, CS=[1.0])
    for name in ("alignment", "either"):
        monkeypatch.delitem(kernel_combination.METHODS, name)
    results = kernel_combination.compared("ida_waveform", 1, 0)[0]
    assert np.abs(results[1, 0] - results[0, 0]) < 2
    assert 1 < results[1, 1] < 9


def test_kernels_without_a_weight_are_not_tried(monkeypatch):
    X, tried = np.random.default_rng(0).uniform(-1, 1, (60, 2)), []
    X[:, 0] = np.sign(X[:, 0])
    kernels = [mc.Mapped(mc.Linear(), np.array([column])) for column in range(2)]
    fit = mc.SVC
    monkeypatch.setattr(
        kernel_combination.mc,
        "SVC",
        lambda C, kernel: tried.append(kernel) or fit(C, kernel=kernel),
    )
    model, count = kernel_combination.METHODS["either"](kernels, X, X[:, 0] > 0)
    assert count == 1
    assert model.score(X, X[:, 0] > 0) == 1
    # the linear kernel of column 1 is 1 at the second unit vector, that of column 0 is 0
    assert tried
    assert not any(kernel(np.eye(2))[1, 1] for kernel in tried)


@pytest.mark.data
def test_splice_rows_are_tables_of_a_string_and_numbers(data):
    data("splice_uci")
    X, y, _, _ = kernel_combination.split("splice_uci", 0, 40)
    assert [type(entry) for entry in X[0][:2]] == [str, float]
    for kernel in kernel_combination.scaled(kernel_combination.kernels_of(X), X):
        assert np.mean(kernel.diag(X)) - np.mean(kernel(X)) == pytest.approx(1)
    assert len(set(y)) == 3


def test_a_sum_must_be_better_than_single_kernels_by_a_standard_error():
    single = np.array([[0.3, 0.2], [0.1, 0.2], [0.2, 0.3], [0.2, 0.1]])
    for gain, chosen in ((0.049, (0, 1)), (0.001, (1, 1))):
        # the other value of C of the sum is worse, and differences of folds have the standard error 0.046
        better = single[:, 1] - gain + np.array([0.1, -0.1, 0.05, -0.05])
        errors = np.stack(
            [
                np.column_stack([single[:, 0] + 1, better]),
                np.column_stack([single[:, 0] + 0.5, single[:, 1]]),
            ],
            axis=1,
        )
        assert kernel_combination.selected(errors, both=True) == chosen
        assert kernel_combination.selected(errors, both=False) == (0, 1)
