"""Sparse rows of many columns, most of them empty, give models without a dual the answers of dense rows."""

import numpy as np
import pytest
from tests.wide_rows import sample, spread

import mercer as mc

KERNEL = mc.Gaussian(0.5)
MODELS = {
    "predict": mc.KernelRidge(0.1, kernel=KERNEL),
    "predict_interval": mc.KernelRidge(0.1, kernel=KERNEL),
    "transform": mc.KernelPCA(4, kernel=KERNEL),
    "transform of classes": mc.KernelFisher(kernel=KERNEL),
    "transform by whitening": mc.KernelMap(kernel=KERNEL),
    "transform by landmarks": mc.Nystroem(n_components=10, kernel=KERNEL, random_state=0),
    "decision_function": mc.KernelPerceptron(kernel=KERNEL),
    "decision_function by landmarks": mc.SVC(kernel=KERNEL, landmarks=40, tol=1e-6, random_state=0),
}


def answers(name, X, y):
    """Return what a model answers; lengths of feature vectors, whose signs and axes may differ."""
    model = MODELS[name]
    method = name.split()[0]
    target = y if isinstance(model, mc.KernelRidge) else y > np.median(y)
    found = getattr(model.fit(X, target), method)(X)
    return np.linalg.norm(found, axis=1) if method == "transform" else found


@pytest.mark.parametrize("name", MODELS)
def test_sparse_rows_of_many_columns_have_the_answers_of_dense_rows(name, global_random_seed):
    X, y = sample(120, global_random_seed)
    expected = answers(name, X, y)
    np.testing.assert_allclose(answers(name, spread(X, 100_020), y), expected, rtol=1e-6, atol=1e-8)


def test_sparse_rows_of_many_columns_have_the_p_values_of_dense_rows(global_random_seed):
    X, y = sample(120, global_random_seed)
    drawn = {"n_permutations": 50, "random_state": 0}

    def found(rows):
        two = mc.mmd_test(rows[:60], rows[60:], KERNEL, **drawn)
        return two.pvalue, mc.hsic_test(rows, y[:, None], KERNEL, **drawn).pvalue

    assert found(spread(X, 100_020)) == found(X)
