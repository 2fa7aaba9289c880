"""SVR: scikit-learn's numbers, its losses against an outsider, weights, containers and bad input."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.svr import SVR

SETTINGS = [
    SVR(),
    SVR(loss="huber"),
    SVR(5.0, kernel="rbf", loss="squared_epsilon"),
    SVR(kernel=mc.Linear(), epsilon=0.0),
    SVR(kernel="precomputed"),
]


@parametrize_with_checks(SETTINGS)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((120, 3))
    return (
        X,
        np.sin(X[:, 0]) + 0.1 * rng.standard_normal(120),
        rng.standard_normal((20, 3)),
        rng.integers(0, 3, 120),
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_predictions_and_objective_are_those_of_scikit_learn(sample, C, epsilon):
    X, y, new, _ = sample
    ours = SVR(C, kernel=mc.Gaussian(0.3), epsilon=epsilon).fit(X, y)
    theirs = Reference(C=C, gamma=0.3, epsilon=epsilon, tol=1e-10).fit(X, y)
    b = theirs.dual_coef_[0]
    # scikit-learn keeps kernel values in float32
    rounding = np.finfo(np.float32).eps * np.abs(b).sum()
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=rounding)
    K = mc.Gaussian(0.3)(theirs.support_vectors_)
    dual = y[theirs.support_] @ b - epsilon * np.abs(b).sum() - 0.5 * b @ K @ b
    np.testing.assert_allclose(ours.certificate_.dual, dual, rtol=1e-6)
    np.testing.assert_allclose(
        ours.expansion_(new)[:, 0] + ours.intercept_, ours.predict(new), atol=0
    )


def test_repeated_points_in_float32_reach_the_objective_of_libsvm_to_six_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 4)).astype(np.float32)
    # a third of the rows twice, with different targets
    X[600:] = X[:300]
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(900)
    ours = SVR(5.0, kernel=mc.Gaussian(0.25)).fit(X, y)
    theirs = Reference(C=5.0, gamma=0.25, epsilon=0.1, tol=1e-6).fit(X, y)
    b, K = theirs.dual_coef_[0], mc.Gaussian(0.25)(theirs.support_vectors_.astype(np.float64))
    dual = y[theirs.support_] @ b - 0.1 * np.abs(b).sum() - 0.5 * b @ K @ b
    np.testing.assert_allclose(mc.certify(ours, X, y).dual, dual, rtol=1e-6)
    assert ours.certificate_.dual < dual * (1 + 1e-6)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


def test_a_tube_around_all_points_needs_none_of_them(sample):
    X, y, new, _ = sample
    with pytest.warns(UserWarning, match="no support vectors"):
        model = SVR(epsilon=0.51 * np.ptp(y)).fit(X, y)
    assert len(model.support_) == 0
    np.testing.assert_allclose(model.predict(new), 0.5 * (y.min() + y.max()), atol=0.02 * np.ptp(y))


@pytest.mark.parametrize("loss", ["epsilon", "huber", "squared_epsilon"])
def test_the_certificate_from_raw_inputs_closes_the_gap(sample, loss):
    X, y, _, weights = sample
    model = SVR(3.0, loss=loss).fit(X, y, weights)
    certificate = mc.certify(model, X, y, weights)
    assert abs(certificate.gap) <= 1e-7 * certificate.primal
    assert certificate.kkt <= 1e-8


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("huber", lambda e: np.where(np.abs(e) <= 0.2, e**2 / 0.4, np.abs(e) - 0.1)),
        ("squared_epsilon", lambda e: np.maximum(np.abs(e) - 0.2, 0) ** 2 / 2),
    ],
)
def test_no_other_function_has_a_smaller_primal_objective(sample, loss, penalty):
    X, y = sample[0][:25], sample[1][:25]
    model = SVR(2.0, kernel=mc.Gaussian(0.5), epsilon=0.2, loss=loss).fit(X, y)
    K = mc.Gaussian(0.5)(X)

    def objective(z):
        return 0.5 * z[1:] @ K @ z[1:] + 2.0 * penalty(y - K @ z[1:] - z[0]).sum()

    own = np.zeros(26)
    own[0], own[1 + model.support_] = model.intercept_[0], model.dual_coef_[:, 0]
    np.testing.assert_allclose(objective(own), model.certificate_.primal, rtol=1e-8)
    assert minimize(objective, own + 0.01, method="BFGS").fun >= objective(own) * (1 - 1e-8)


@pytest.mark.parametrize("loss", ["epsilon", "huber", "squared_epsilon"])
def test_a_weight_of_two_is_a_row_given_twice(sample, loss):
    X, y, new, weights = sample
    weighted = SVR(loss=loss).fit(X, y, weights).predict(new)
    repeated = SVR(loss=loss).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


def test_squared_loss_without_a_tube_is_ridge_regression_with_an_intercept(sample):
    X, y, new, _ = sample
    model = SVR(4.0, kernel=mc.Gaussian(0.3), epsilon=0.0, loss="squared_epsilon").fit(X, y)
    system = np.zeros((121, 121))
    system[:120, :120] = mc.Gaussian(0.3)(X) + np.eye(120) / 4.0
    system[120, :120] = system[:120, 120] = 1
    solved = np.linalg.solve(system, np.append(y, 0))
    np.testing.assert_allclose(
        model.predict(new), mc.Gaussian(0.3)(new, X) @ solved[:120] + solved[120], atol=1e-8
    )


def test_precomputed_sparse_and_callables_give_the_same_function(sample):
    X, y, new, _ = sample
    kernel = mc.Gaussian(0.3)
    expected = SVR(kernel=kernel).fit(X, y).predict(new)
    given = SVR(kernel="precomputed").fit(kernel(X), y).predict(kernel(new, X))
    sparse = SVR(kernel=kernel).fit(sp.csr_array(X), y).predict(sp.csr_array(new))
    called = SVR(kernel=lambda A, B: kernel(A, B)).fit(X, y).predict(new)
    for values in (given, sparse, called):
        np.testing.assert_allclose(values, expected, atol=1e-6)


def test_float32_stays_float32_and_a_pickled_model_predicts_alike(sample):
    X, y, new, _ = sample
    model = SVR().fit(X.astype(np.float32), y)
    values = pickle.loads(pickle.dumps(model)).predict(new.astype(np.float32))
    assert values.dtype == model.dual_coef_.dtype == model.intercept_.dtype == np.float32
    np.testing.assert_allclose(values, SVR().fit(X, y).predict(new), atol=1e-4)


def test_too_few_steps_end_with_the_violation_in_the_warning(sample):
    with pytest.warns(
        ConvergenceWarning, match=r"after 3 steps with a violation of .* relative gap"
    ):
        model = SVR(max_iter=3).fit(*sample[:2])
    assert model.certificate_.gap > 0
    assert np.isfinite(model.predict(sample[2])).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C = 0 must be above 0"),
        ({"epsilon": -1.0}, "epsilon = -1.0 must be at least 0"),
        ({"epsilon": 0.0, "loss": "huber"}, "epsilon = 0.0 must be above 0 for the Huber loss"),
        ({"loss": "square"}, "loss = 'square' must be one of"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(sample, parameters, message):
    with pytest.raises(ValueError, match=message):
        SVR(**parameters).fit(*sample[:2])


def test_targets_that_are_not_finite_are_named(sample):
    with pytest.raises(ValueError, match=r"y\[3\] = nan"):
        SVR().fit(sample[0], np.where(np.arange(120) == 3, np.nan, sample[1]))


# --- the hard tube ----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
LINE = X @ [1.0, 2.0] + 0.05 * RNG.uniform(-1, 1, 60)


@pytest.mark.parametrize(
    ("kernel", "y", "epsilon"),
    [
        (mc.Gaussian(10.0), Y, 0.1),
        (mc.Gaussian(10.0), Y, 0.0),
        (mc.Laplacian(1.0), Y, 0.02),
        (mc.Linear(), LINE, 0.05),
    ],
    ids=["Gaussian", "interpolation", "Laplacian", "linear"],
)
def test_a_hard_tube_has_all_points_inside_and_is_that_of_scikit_learn_at_a_large_C(
    kernel, y, epsilon
):
    hard = mc.SVR(np.inf, kernel=kernel, epsilon=epsilon).fit(X, y)
    assert np.abs(y - hard.predict(X)).max() <= epsilon + 1e-9
    peer = Reference(C=1e4, kernel="precomputed", epsilon=epsilon, tol=1e-9).fit(kernel(X), y)
    assert np.abs(hard.dual_coef_).max() < 1e4
    Z = RNG.standard_normal((20, 2))
    np.testing.assert_allclose(hard.predict(Z), peer.predict(kernel(Z, X)), atol=1e-6)
    certificate = mc.certify(hard, X, y)
    assert certificate.kkt <= 1e-9
    assert certificate.gap <= 1e-8 * certificate.primal


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_hard_tubes_around_targets_of_any_scale_give_the_same_function(scale):
    one, other = (
        mc.SVR(np.inf, kernel=mc.Gaussian(10.0), epsilon=0.1 * s, tol=1e-3 * s).fit(X, s * Y)
        for s in (1.0, scale)
    )
    np.testing.assert_allclose(other.predict(X) / scale, one.predict(X), atol=1e-8)


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Linear()], ids=["Gaussian", "linear"])
def test_two_targets_of_one_point_are_the_evidence_where_no_function_is_within(kernel):
    points, y = np.vstack([X[:5], X[2:3]]), np.append(LINE[:5], LINE[2] + 0.5)
    with pytest.raises(
        ValueError, match=r"C = inf needs a function within epsilon = 0.2 of every target"
    ) as caught:
        mc.SVR(np.inf, kernel=kernel, epsilon=0.2).fit(points, y)
    rows = re.findall(r"the heaviest in rows (\d+)", str(caught.value))
    assert rows == ["5", "2"]
    apart, difference = map(
        float,
        re.search(
            r"are (\S+) apart in feature space, their targets (\S+):", str(caught.value)
        ).groups(),
    )
    assert apart < 1e-3
    assert 0.4 < difference <= 0.5
    mc.SVR(np.inf, kernel=kernel, epsilon=0.3).fit(points, y)


def test_lines_are_within_as_long_as_the_best_line_of_a_linear_program_is():
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
        hard.predict(X),
        mc.SVR(np.inf, kernel="linear", epsilon=0.05).fit(X, LINE).predict(X),
        atol=1e-9,
    )


def test_a_tube_that_holds_a_constant_has_no_vector():
    with pytest.warns(
        UserWarning, match="SVR has no support vectors: all targets are within epsilon = 5 of"
    ):
        hard = mc.SVR(np.inf, epsilon=5.0).fit(X, Y)
    with pytest.warns(UserWarning, match="prediction everywhere; give a smaller epsilon"):
        soft = mc.SVR(epsilon=5.0).fit(X, Y)
    assert len(hard.support_) == 0
    assert mc.certify(hard, X, Y) == mc.certify(soft, X, Y)
    # a constant target has no other prediction
    assert len(mc.SVR().fit(X, np.ones(len(X))).support_) == 0
    with pytest.raises(ValueError, match="SVR has no support vectors: .* give a smaller epsilon"):
        hard.expansion_  # noqa: B018 - a property


@pytest.mark.parametrize("loss", ["huber", "squared_epsilon"])
def test_other_losses_are_refused(loss):
    with pytest.raises(ValueError, match=f"loss = '{loss}' must be 'epsilon' if C = inf"):
        mc.SVR(np.inf, loss=loss).fit(X, Y)


@pytest.mark.filterwarnings("ignore:the intercept of SVR is rounded by")
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e10])
@pytest.mark.parametrize("scale", [1e-10, 1e-3, 1e6, 1e10])
@pytest.mark.parametrize("loss", ["epsilon", "huber", "squared_epsilon"])
def test_targets_far_from_zero_and_of_any_scale_give_the_same_function(loss, scale, offset):
    def fit(factor, added):
        C = factor if loss != "squared_epsilon" else 1.0
        return mc.SVR(C, loss=loss, epsilon=0.1 * factor, kernel=mc.Gaussian(1.0)).fit(
            X, factor * (Y + added)
        )

    expected, model = fit(1.0, 0.0).predict(X), fit(scale, offset)
    np.testing.assert_allclose(
        model.predict(X) / scale - offset, expected, atol=3e-3 + 1e-14 * offset
    )
    found = mc.certify(model, X, scale * (Y + offset))
    assert found.kkt <= 1e-3 * scale
    assert model.certificate_.kkt <= 1e-3 * scale
    # the certificate of the fit contains a bound of the rounding of the intercept
    np.testing.assert_allclose(found.dual, model.certificate_.dual, rtol=1e-6 + 1e-14 * offset)
    assert model.certificate_.dual <= found.primal * (1 + 1e-12)
    assert found.dual <= model.certificate_.primal * (1 + 1e-12)


def test_targets_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"y\[1\] = -1e\+200 must be at most 1e\+150 in size"):
        mc.SVR().fit(X[:3], [0.0, -1e200, 1.0])
