from dataclasses import replace

import numpy as np
import pytest
from scipy.special import comb
from sklearn.datasets import make_moons

import mercer as mc
from mercer import capacity
from mercer.capacity import sample_compression


def moons(C=10.0, n=200):
    X, y = make_moons(n, noise=0.2, random_state=0)
    model = mc.SVC(C=C, kernel=mc.Gaussian(1.0)).fit(X, y)
    return model, X, y


def test_a_fit_to_the_support_vectors_gives_the_same_classifier():
    model, X, y = moons()
    again = mc.SVC(C=10.0, kernel=mc.Gaussian(1.0)).fit(X[model.support_], y[model.support_])
    assert np.allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    others = np.setdiff1d(np.arange(len(X)), model.support_)
    assert model.score(X[others], y[others]) == 1


def test_a_fit_to_the_support_vectors_gives_the_same_nu_classifier_where_both_classes_are_on_the_margin():
    differs = {1: 0, 2: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.arange(20) % 2
        X, nu, kernel = (
            rng.normal(size=(20, 2)) + 1.5 * y[:, None],
            float(rng.choice([0.3, 0.5, 0.7])),
            mc.Gaussian(0.3),
        )
        model = mc.NuSVC(nu=nu, kernel=kernel, tol=1e-8).fit(X, y)
        own, rows = capacity.model(model, X, y), model.support_
        sides = len(np.unique(own.targets[own.on_margin]))
        assert (sample_compression(own).value < 1) == (sides == 2)
        again = mc.NuSVC(nu=min(1.0, nu * 20 / len(rows)), kernel=kernel, tol=1e-8).fit(
            X[rows], y[rows]
        )
        if sides:
            differs[sides] += not np.allclose(
                again.decision_function(X), model.decision_function(X), atol=1e-3
            )
    assert differs[2] == 0
    assert differs[1] > 0


def test_it_is_the_formula():
    model, X, y = moons()
    d = len(model.support_)
    failure = 0.05 / (200 * comb(200, d, exact=True))
    assert np.isclose(
        sample_compression(capacity.model(model, X, y)).value, 1 - failure ** (1 / (200 - d))
    )


def test_it_falls_with_the_support_vectors():
    values = [sample_compression(capacity.model(*moons(C))).value for C in (0.1, 1.0, 10.0)]
    assert values == sorted(values, reverse=True)


def test_it_needs_a_support_vector_on_the_margin():
    own = capacity.model(*moons())
    at_bound = replace(own, coef=np.where(own.coef != 0, 10.0, 0.0))
    assert not sample_compression(own).vacuous
    assert sample_compression(at_bound).value == 1
    assert sample_compression(own, confidence=0.9).value < sample_compression(own).value


def test_where_all_points_support_nothing_is_known():
    own = capacity.model(*moons())
    assert sample_compression(replace(own, coef=np.full(200, 0.1))).vacuous


def test_a_model_without_support_vectors_is_refused():
    with pytest.raises(TypeError, match="compression"):
        sample_compression(replace(capacity.model(*moons()), coef=None))
