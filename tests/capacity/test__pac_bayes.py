from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import mercer as mc
from mercer import capacity
from mercer.capacity import pac_bayes


def learned(n, gap, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.resize([0, 1], n)
    X[:, 0] += gap * (2 * y - 1)
    return capacity.model(mc.SVC(kernel=mc.Linear()).fit(X, y), X, y)


def inverse(q, limit):
    """Return the largest p with kl(q || p) at most a limit, by bisection."""
    low, high = q, 1 - 1e-12
    for _ in range(60):
        p = (low + high) / 2
        kl = (q * np.log(q / p) if q else 0) + (1 - q) * np.log((1 - q) / (1 - p))
        low, high = (p, high) if kl <= limit else (low, p)
    return low


@pytest.mark.parametrize("cosine", [1.0, 0.3, 0.01, 0.0])
@pytest.mark.parametrize("n", [30, 300, 100_000])
def test_the_bound_inverts_the_divergence_of_rare_and_of_frequent_errors(n, cosine):
    # all points have one cosine with w: k + 1 = 1 and |w| = 1
    one = np.ones(n)
    own = capacity.Model(
        mc.Linear(), one[:, None], np.arange(n), one, cosine * one, 0 * one, 1.0, 0.0
    )
    mu = 0.25 * np.sqrt(2.0) ** np.arange(24)
    limits = (mu**2 / 2 + np.log((n + 1) * 24 / 0.05)) / n
    values = list(map(inverse, norm.sf(mu * cosine), limits))
    assert pac_bayes(own).value == pytest.approx(2 * min(values), rel=1e-9)


def test_the_bound_is_the_smallest_over_the_grid_of_mu():
    # Langford, Shawe-Taylor (2002): kl(q || Q) = (mu^2 / 2 + log((n + 1) 24 / delta)) / n, and twice Q, by bisection
    own = learned(300, 1.0)
    w, features = (
        np.append(own.coef @ own.points, own.bias),
        np.column_stack([own.points, np.ones(300)]),
    )
    cosines = own.margins / (np.linalg.norm(w) * np.linalg.norm(features, axis=1))
    values = []
    for mu in 0.25 * np.sqrt(2.0) ** np.arange(24):
        q, limit = norm.sf(mu * cosines).mean(), (mu**2 / 2 + np.log(301 * 24 / 0.05)) / 300
        values.append(2 * inverse(q, limit))
    bound = pac_bayes(own)
    assert bound.value == pytest.approx(min(values), rel=1e-9)
    assert bound.confidence == 0.95
    # mu is neither the first nor the last of the grid
    assert 0 < np.argmin(values) < 23


def test_short_vectors_have_cosines_too():
    # |w| = 1/4 and k + 1 = 1/4: outputs 1/16 have the cosine 1/2
    own = replace(
        learned(300, 1.0),
        outputs=np.full(300, 1 / 16),
        targets=np.ones(300),
        diagonal=np.full(300, -0.75),
        norm=0.25,
        bias=0,
    )
    mu = 0.25 * np.sqrt(2.0) ** np.arange(24)
    limits = (mu**2 / 2 + np.log(301 * 24 / 0.05)) / 300
    values = [2 * inverse(q, limit) for q, limit in zip(norm.sf(mu / 2), limits, strict=True)]
    assert pac_bayes(own).value == pytest.approx(min(values))


def test_a_point_at_the_origin_counts_as_half_an_error():
    own = replace(
        learned(300, 1.0), outputs=np.zeros(300), diagonal=np.full(300, -1.0), norm=1.0, bias=0.0
    )
    assert pac_bayes(own).value == pytest.approx(
        2 * inverse(0.5, (0.25**2 / 2 + np.log(301 * 24 / 0.05)) / 300)
    )


def test_drawn_classifiers_err_as_often_as_under_the_normal_law():
    # the sum over points of erfc is the mean error of w + noise, by the law of large numbers
    own = learned(200, 1.0)
    rng, mu = np.random.default_rng(1), 4.0
    features = np.column_stack([own.points, np.ones(200)])
    w = np.append(own.coef @ own.points, own.bias)
    drawn = mu * w / np.linalg.norm(w) + rng.normal(size=(4000, 3))
    simulated = np.mean(own.targets * (drawn @ features.T) <= 0)
    cosines = own.margins / (np.linalg.norm(w) * np.linalg.norm(features, axis=1))
    assert abs(simulated - norm.sf(mu * cosines).mean()) < 0.01


def test_it_falls_with_more_points_and_wider_margins():
    assert pac_bayes(learned(2000, 3.0)).value < pac_bayes(learned(200, 3.0)).value < 1
    assert pac_bayes(learned(500, 3.0)).value < pac_bayes(learned(500, 1.0)).value


def test_more_confidence_gives_a_larger_bound(global_random_seed):
    own = learned(500, 2.0, global_random_seed)
    assert pac_bayes(own, confidence=0.999).value > pac_bayes(own, confidence=0.9).value


def test_the_scale_of_the_outputs_does_not_matter():
    own = learned(300, 2.0)
    larger = replace(own, outputs=8 * own.outputs, norm=8 * own.norm, bias=8 * own.bias)
    assert np.isclose(pac_bayes(own).value, pac_bayes(larger).value)


def test_a_classifier_that_is_always_wrong_has_a_vacuous_bound():
    own = learned(300, 3.0)
    assert pac_bayes(replace(own, outputs=-own.outputs)).vacuous
    few = replace(
        own,
        targets=own.targets[:2],
        outputs=-own.outputs[:2],
        diagonal=own.diagonal[:2],
        rows=own.rows[:2],
    )
    assert pac_bayes(few, confidence=1 - 1e-12).value == 2
