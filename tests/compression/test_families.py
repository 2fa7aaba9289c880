"""Every kind of model is read as scores of Mercer's class, and takes other vectors without losing anything else."""

import numpy as np
import pytest
from sklearn.svm import SVC as PeerSVC

import mercer as mc
from mercer.compression.families import dense, read


@pytest.mark.parametrize("model", [mc.SVC(5.0), mc.SVC(5.0, multi_class="ovr"), PeerSVC(C=5.0)], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_signs_say_which_scores_of_a_class_should_be_positive(model, n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 20)
    X = rng.normal(scale=0.1, size=(len(y), 2)) + np.column_stack([np.cos(y), np.sin(y)]) * 4
    fitted = read(model.fit(X, y))
    scores = fitted.expansion(X) + fitted.intercept
    signs = fitted.signs[y]
    assert fitted.signs.shape == (n_classes, scores.shape[1])
    assert (signs * scores)[signs != 0].min() > 0


def test_other_vectors_change_the_copy_and_not_the_model():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = mc.SVC(2.0, kernel=mc.Gaussian(1.0)).fit(X, y)
    before = model.decision_function(X)
    other = read(model).with_vectors(mc.Expansion(mc.Gaussian(1.0), X[:1], np.array([[3.0]])), np.array([0.5]))
    np.testing.assert_allclose(other.decision_function(X), 3 * np.exp(-(X[:, 0] ** 2)) + 0.5)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "support_")


def test_dense_rows_stay_and_sparse_ones_are_filled():
    import scipy.sparse as sp

    X = np.eye(3)
    assert dense(X) is X
    np.testing.assert_array_equal(dense(sp.csr_matrix(X)), X)
