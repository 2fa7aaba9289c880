"""The tube that holds all points: the peer's at a large price, and the evidence where there is none."""

import re

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVR

import mercer as mc

RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
LINE = X @ [1.0, 2.0] + 0.05 * RNG.uniform(-1, 1, 60)


@pytest.mark.parametrize(
    ("kernel", "y", "epsilon"),
    [(mc.Gaussian(10.0), Y, 0.1), (mc.Gaussian(10.0), Y, 0.0), (mc.Laplacian(1.0), Y, 0.02), (mc.Linear(), LINE, 0.05)],
    ids=["Gaussian", "interpolation", "Laplacian", "linear"],
)
def test_all_points_are_inside_and_the_function_is_that_of_scikit_learn_at_a_large_price(kernel, y, epsilon):
    hard = mc.SVR(np.inf, kernel=kernel, epsilon=epsilon).fit(X, y)
    assert np.abs(y - hard.predict(X)).max() <= epsilon + 1e-9
    peer = SVR(C=1e4, kernel="precomputed", epsilon=epsilon, tol=1e-9).fit(kernel(X), y)
    assert np.abs(hard.dual_coef_).max() < 1e4
    Z = RNG.standard_normal((20, 2))
    np.testing.assert_allclose(hard.predict(Z), peer.predict(kernel(Z, X)), atol=1e-6)
    certificate = mc.certify(hard, X, y)
    assert certificate.kkt <= 1e-9
    assert certificate.gap <= 1e-8 * certificate.primal


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_targets_of_any_scale_give_the_same_function(scale):
    one, other = (
        mc.SVR(np.inf, kernel=mc.Gaussian(10.0), epsilon=0.1 * s, tol=1e-3 * s).fit(X, s * Y) for s in (1.0, scale)
    )
    np.testing.assert_allclose(other.predict(X) / scale, one.predict(X), atol=1e-8)


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Linear()], ids=["Gaussian", "linear"])
def test_two_targets_of_one_point_are_the_evidence_where_no_function_is_within(kernel):
    points, y = np.vstack([X[:5], X[2:3]]), np.append(LINE[:5], LINE[2] + 0.5)
    with pytest.raises(ValueError, match=r"C = inf needs a function within epsilon = 0.2 of every target") as caught:
        mc.SVR(np.inf, kernel=kernel, epsilon=0.2).fit(points, y)
    rows = re.findall(r"the heaviest in rows (\d+)", str(caught.value))
    assert rows == ["5", "2"]
    apart, difference = map(
        float, re.search(r"are (\S+) apart in feature space, their targets (\S+):", str(caught.value)).groups()
    )
    assert apart < 1e-3
    assert 0.4 < difference <= 0.5
    mc.SVR(np.inf, kernel=kernel, epsilon=0.3).fit(points, y)


def test_lines_are_within_as_long_as_the_best_line_of_a_linear_programme_is():
    rows, one = np.column_stack([X, np.ones(60)]), np.ones((60, 1))
    bounded = np.block([[rows, -one], [-rows, -one]])
    least = linprog([0, 0, 0, 1], bounded, np.concatenate([Y, -Y]), bounds=(None, None)).fun
    inside = mc.SVR(np.inf, kernel="linear", epsilon=1.01 * least).fit(X, Y)
    assert np.abs(Y - inside.predict(X)).max() <= 1.01 * least + 1e-9
    with pytest.raises(ValueError, match=r"it would have \|w\| > ") as caught:
        mc.SVR(np.inf, kernel="linear", epsilon=0.99 * least).fit(X, Y)
    needed = float(re.search(r"\|w\| > (\S+),", str(caught.value)).group(1))
    assert needed > 1e3 * inside.expansion_.norms()[0]


def test_points_of_weight_zero_may_be_outside():
    y = np.append(LINE, 99.0)
    points = np.vstack([X, X[:1]])
    weights = np.append(np.full(60, 0.3), 0.0)
    hard = mc.SVR(np.inf, kernel="linear", epsilon=0.05).fit(points, y, weights)
    np.testing.assert_allclose(
        hard.predict(X), mc.SVR(np.inf, kernel="linear", epsilon=0.05).fit(X, LINE).predict(X), atol=1e-9
    )


def test_a_tube_that_holds_a_constant_has_no_vector():
    hard = mc.SVR(np.inf, epsilon=5.0).fit(X, Y)
    assert len(hard.support_) == 0
    assert mc.certify(hard, X, Y) == mc.certify(mc.SVR(epsilon=5.0).fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="no support vector .* smaller epsilon"):
        hard.expansion_  # noqa: B018 - a property


@pytest.mark.parametrize("loss", ["huber", "squared_epsilon"])
def test_other_losses_are_refused(loss):
    with pytest.raises(ValueError, match=f"C = inf, which allows no loss, needs loss = 'epsilon', got '{loss}'"):
        mc.SVR(np.inf, loss=loss).fit(X, Y)
