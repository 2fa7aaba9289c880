import numpy as np
import pytest

import mercer as mc
from mercer import capacity
from mercer.capacity import pac_bayes, rademacher, srm, vc_margin


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-1, 1, (120, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0.1).astype(int)


@pytest.mark.parametrize("bound", [vc_margin, rademacher, pac_bayes])
def test_the_least_bound_is_chosen_and_all_hold_at_once(sample, bound):
    X, y = sample
    family = [mc.SVC(C=C, kernel=mc.Gaussian(0.5)) for C in (0.01, 1.0, 100.0)]
    choice = srm(family, X, y, bound=bound, confidence=0.94)
    own = capacity.model(choice.models[1], X, y)
    assert np.isclose(choice.bounds[1].value, bound(own, confidence=0.98).value)
    assert choice.bounds[choice.best].value == min(each.value for each in choice.bounds)
    assert choice.confidence == 0.94


def test_the_family_of_degrees_is_cut_where_it_suffices(sample):
    # a straight boundary: higher degrees only add capacity
    X, y = sample
    family = [mc.SVC(C=10.0, kernel=mc.Polynomial(degree)) for degree in (1, 3, 7)]
    assert srm(family, X, y).best == 0
    choice = srm(family, X, y)
    assert np.allclose(choice.training_errors, [1 - model.score(X, y) for model in choice.models])
    rough = srm([mc.SVC(C=1e-3, kernel=mc.Linear())], X, y)
    assert rough.training_errors[0] > 0
    assert rough.training_errors[0] == pytest.approx(1 - rough.model.score(X, y))


def test_models_are_cloned(sample):
    X, y = sample
    model = mc.SVC()
    srm([model], X, y)
    assert not hasattr(model, "support_")


def test_an_empty_family_is_refused(sample):
    with pytest.raises(ValueError, match=r"models = \[\] must not be empty"):
        srm([], *sample)
