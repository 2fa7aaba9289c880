from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import mercer as mc
from mercer import capacity
from mercer.capacity import Model, leave_one_out_predictions, span_rule, squared_spans


@pytest.fixture
def moons(global_random_seed):
    return make_moons(150, noise=0.3, random_state=global_random_seed)


def naive_span(model, p):
    """The definition, by a constrained minimisation over the vectors on the margin."""
    size = np.abs(model.coef)
    free = np.setdiff1d(np.flatnonzero((size > 0) & (size < model.upper_bounds * (1 - 1e-6))), [p])
    K, k = model.kernel(model.points[free]), model.kernel(model.points[[p]], model.points[free])[0]
    system = np.block([[K, np.ones((len(free), 1))], [np.ones((1, len(free))), np.zeros((1, 1))]])
    weights = np.linalg.lstsq(system, np.append(k, 1.0), rcond=None)[0][:-1]
    assert np.isclose(weights.sum(), 1)
    return model.diagonal[p] - 2 * weights @ k + weights @ K @ weights


def test_four_points_on_a_line_have_the_spans_known_by_hand():
    # on the margin 1 and 2, at their upper bounds 0 and 5; the affine span of one point is that point
    X, targets = (
        np.array([[0.0], [1.0], [2.0], [5.0], [9.0]]),
        np.array([-1.0, -1.0, 1.0, 1.0, 1.0]),
    )
    kernel, coef = mc.Linear() + 1.0, targets * [1.0, 0.5, 0.5, 1.0, 0.0]
    own = Model(
        kernel,
        X,
        np.arange(5),
        targets,
        2 * X[:, 0] - 3,
        kernel.diag(X),
        2.0,
        -3.0,
        coef,
        np.ones(5),
    )
    assert np.allclose(squared_spans(own), [0, 1, 1, 0, 0], atol=1e-6)
    # without the sum: to the line of (1, 2) or (1, 1), and to their plane
    assert np.allclose(squared_spans(own, affine=False), [0, 1 / 5, 1 / 2, 0, 0], atol=1e-6)
    wide = replace(own, points=6 * X, diagonal=36 * X[:, 0] ** 2 + 1)
    assert np.allclose(squared_spans(wide), [0, 36, 36, 0, 0], atol=1e-4)
    ours = mc.capacity.leave_one_out_outputs(own)
    assert np.allclose(ours, [-3, -1 + 0.5, 1 - 0.5, 7, 15], atol=1e-6)


def test_a_single_vector_on_the_margin_has_the_distance_to_its_nearest_opponent():
    X, targets = np.array([[1.0], [3.0], [6.0], [2.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
    coef = targets * [0.5, 1.0, 1.0, 0.0]
    own = Model(
        mc.Linear(), X, np.arange(4), targets, X[:, 0], X[:, 0] ** 2, 1.0, 0.0, coef, np.ones(4)
    )
    # the others are at their upper bounds, 2 and 5 away from the single one
    assert np.allclose(squared_spans(own), [4, 4, 25, 0], atol=1e-6)
    # also where phi is 0
    moved = replace(own, points=X - 1, diagonal=(X[:, 0] - 1) ** 2)
    assert np.allclose(squared_spans(moved), [4, 4, 25, 0], atol=1e-6)


def test_many_vectors_at_their_bounds_are_computed_in_blocks(moons, costs):
    X, y = moons
    own = capacity.model(mc.SVC(C=0.3, kernel=mc.Gaussian(4.0)).fit(X, y), X, y)
    whole = squared_spans(own)
    costs(BLOCK=100)
    np.testing.assert_allclose(squared_spans(own), whole, rtol=1e-9)


def test_the_jitter_of_an_inverse_grows_up_to_a_factor_of_1e14():
    # the mean 1 of the diagonal, times 1e-10, 1e-8, ..., 1e4
    points, signs = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    for low in (-0.5, -5e3, -1.5e4):
        values = np.diag([2 - low, low])
        kernel = mc.FunctionKernel(
            lambda A, B, K=values: K[A[:, 0].astype(int)][:, B[:, 0].astype(int)]
        )
        own = Model(
            kernel,
            points,
            np.arange(2),
            signs,
            signs,
            np.diag(values),
            1.0,
            0.0,
            0.5 * signs,
            np.ones(2),
        )
        if low > -1e4:
            np.testing.assert_allclose(squared_spans(own, affine=False), [2 - low, 0.0])
            continue
        with pytest.raises(ValueError, match="indefinite"):
            squared_spans(own, affine=False)


def test_an_indefinite_kernel_has_no_spans():
    X, signs = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 1.0])
    kernel = mc.FunctionKernel(lambda A, B: np.abs(A - B.T))
    own = Model(
        kernel, X, np.arange(3), signs, signs, np.zeros(3), 1.0, 0.0, 0.5 * signs, np.ones(3)
    )
    with pytest.raises(ValueError, match="indefinite on the support vectors"):
        squared_spans(own)


def test_spans_are_distances_to_affine_combinations(moons):
    X, y = moons
    own = capacity.model(mc.SVC(C=1.0, kernel=mc.Gaussian(4.0)).fit(X, y), X, y)
    spans = squared_spans(own)
    support = np.flatnonzero(own.coef)
    assert np.allclose(spans[support], [naive_span(own, p) for p in support], rtol=1e-5, atol=1e-8)
    assert np.all(spans[own.coef == 0] == 0)


def test_spans_do_not_depend_on_the_origin(moons):
    X, y = moons
    own = capacity.model(mc.SVC(C=1.0, kernel="linear").fit(X, y), X, y)
    for offset in (1e3, 1e5):
        far = replace(own, points=X + offset, diagonal=np.sum((X + offset) ** 2, axis=1))
        np.testing.assert_allclose(squared_spans(far), squared_spans(own), atol=1e-14 * offset**2)


def test_spans_of_a_nu_classifier_without_coefficients_at_their_bounds_are_those_of_a_hard_margin(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    X += 6 * y[:, None]
    fits = (
        mc.SVC(C=1e6, kernel=mc.Gaussian(0.1)).fit(X, y),
        mc.NuSVC(nu=0.05, kernel=mc.Gaussian(0.1)).fit(X, y),
    )
    hard, nu = (capacity.model(fit, X, y) for fit in fits)
    assert np.array_equal(nu.on_margin, nu.coef != 0)
    np.testing.assert_allclose(squared_spans(nu), squared_spans(hard), atol=1e-4)


def test_the_small_case_agrees_with_a_general_optimiser():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    own = capacity.model(mc.SVC(C=100.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)
    p = int(np.flatnonzero(own.coef)[0])
    others = np.setdiff1d(np.flatnonzero((own.coef != 0) & (np.abs(own.coef) < 99)), [p])
    K, k = own.kernel(X[others]), own.kernel(X[[p]], X[others])[0]
    found = minimize(
        lambda w: 1 - 2 * w @ k + w @ K @ w,
        np.full(len(others), 1 / len(others)),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert np.isclose(squared_spans(own)[p], found.fun, rtol=1e-4)


def test_leave_one_out_outputs_are_exact_while_the_margin_keeps_its_vectors(moons):
    # where no vector enters or leaves, the rule is exact: compare with refits point by point
    X, y = moons
    model = mc.SVC(C=10.0, kernel=mc.Gaussian(4.0), tol=1e-6).fit(X, y)
    own = capacity.model(model, X, y)
    ours = mc.capacity.leave_one_out_outputs(own)
    exact = 0
    for p in np.flatnonzero(own.coef):
        rest = np.delete(np.arange(len(X)), p)
        other = clone(model).fit(X[rest], y[rest])
        there = capacity.model(other, X[rest], y[rest])
        same = np.array_equal(_states(there), np.delete(_states(own), p))
        if same:
            exact += 1
            assert np.isclose(other.decision_function(X[[p]])[0], ours[p], atol=1e-5)
    assert exact >= 3


def _states(own):
    size = np.abs(own.coef)
    return np.where(size == 0, 0, np.where(size < own.upper_bounds * (1 - 1e-6), 1, 2))


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_the_rule_is_near_the_true_error(moons, C):
    X, y = moons
    model = mc.SVC(C=C, kernel=mc.Gaussian(1.0)).fit(X, y)
    truth = np.mean(cross_val_predict(model, X, y, cv=LeaveOneOut()) != y)
    assert abs(span_rule(model, X, y).value - truth) < 0.035


@pytest.mark.data
@pytest.mark.parametrize("name", ["banana", "heart", "image", "ringnorm", "waveform", "synth"])
def test_the_rule_is_within_a_point_and_a_half_of_the_true_error_on_real_data(data, name):
    if name == "synth":
        X, y = (data("ripley_synth")[key] for key in ("X_train", "y_train"))
        gamma = 2 * mc.Gaussian("median").resolve(X).gamma
    else:
        sets = data(f"ida_{name}")
        rows = sets.train_idx[0][:200]
        X, y = sets.X[rows], sets.y[rows]
        gamma = 2 * mc.Gaussian("median").resolve(X).gamma
    model = mc.SVC(C=1.0, kernel=mc.Gaussian(gamma)).fit(X, y)
    assert abs(span_rule(model, X, y).value - mc.capacity.leave_one_out(model, X, y)) <= 0.015


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_binary_classifiers_vote(multi_class, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 2 * np.eye(3)[y][:, :2]
    model = mc.SVC(multi_class=multi_class, kernel=mc.Gaussian(0.3)).fit(X, y)
    truth = cross_val_predict(model, X, y, cv=LeaveOneOut())
    assert np.mean(leave_one_out_predictions(model, X, y) != truth) < 0.05


@pytest.mark.parametrize(("C", "most"), [(1.0, 1.1), (10.0, 1.7)])
def test_regressions_are_left_out_too_and_few_points_are_overrated_for_a_large_C(
    C, most, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(120, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(0, 0.2, 120)
    model = mc.SVR(C=C, kernel=mc.Gaussian(0.3), epsilon=0.1).fit(X, y)
    truth = cross_val_predict(model, X, y, cv=LeaveOneOut())
    ours = leave_one_out_predictions(model, X, y)
    trained = np.mean((y - model.predict(X)) ** 2)
    assert trained < 0.5 * np.mean((y - truth) ** 2)
    # most points are right; those whose vectors leave the margin have too large errors
    assert np.median(abs(ours - truth)) < 0.02
    assert 0.9 < np.mean((y - ours) ** 2) / np.mean((y - truth) ** 2) < most


def test_repeated_points_have_no_span():
    X, signs = (
        np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 2, axis=0),
        np.resize([1.0, 1.0, -1.0, -1.0], 10),
    )
    K = mc.Gaussian(1.0)(X)
    own = Model(
        mc.Gaussian(1.0),
        X,
        np.arange(10),
        signs,
        K @ (0.5 * signs),
        np.ones(10),
        1.0,
        0.0,
        0.5 * signs,
        np.ones(10),
    )
    assert np.all(squared_spans(own) < 1e-8)
    own = replace(own, coef=np.where(np.arange(10) == 1, 0, own.coef))
    assert squared_spans(own)[0] > 1e-2


def test_without_vectors_on_the_margin_the_nearest_opponent_counts():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    own = capacity.model(mc.SVC(C=1e-3, kernel="linear").fit(X, y), X, y)
    assert np.allclose(squared_spans(own), [9, 4, 4, 9])


def test_other_losses_are_refused():
    X = np.linspace(0, 1, 10)[:, None]
    with pytest.raises(ValueError, match="loss = 'huber'"):
        leave_one_out_predictions(mc.SVR(loss="huber").fit(X, X.ravel()), X, X.ravel())


def test_a_matrix_beyond_the_budget_is_refused_before_it_is_made(moons):
    X, y = moons
    own = capacity.model(mc.SVC(C=1.0, kernel=mc.Gaussian(4.0)).fit(X, y), X, y)
    m = own.on_margin.sum()
    with pytest.raises(MemoryError, match=f"the matrix of {m} support vectors on the margin"):
        squared_spans(own, memory=int(16 * m**2 - 1))
    assert len(squared_spans(own, memory=int(16 * m**2))) == len(X)


def test_the_estimate_of_a_quantile_is_near_the_fits_without_a_point():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = np.sin(2 * X[:, 0]) + rng.exponential(size=50)
    fitted = mc.QuantileSVR(0.2, kernel=mc.Gaussian(0.3)).fit(X, y)
    left_out = [
        clone(fitted).fit(np.delete(X, p, 0), np.delete(y, p)).predict(X[p : p + 1])[0]
        for p in range(50)
    ]
    away = np.abs(leave_one_out_predictions(fitted, X, y) - left_out)
    # beside that of the fit to all points
    assert away.mean() < 0.5 * np.abs(fitted.predict(X) - left_out).mean()
