"""Members of a stack: metrics that find the columns that matter, weights of least squares, choices of random order."""

import numpy as np
import pytest
import scipy.optimize

import mercer as mc
from mercer.learning import members
from mercer.learning.members import Rows
from mercer.learning.tuning import Scales, Tuning, likely_scales


def sample(seed, n=300, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return Rows(X, ((y - y.mean()) / y.std())[:, None], np.ones(n))


def searched(rows, rng):
    return members.search(rows, members.plain_members(rows, [np.arange(rows.X.shape[1])]), rng)


def test_scales_of_large_likelihood_shrink_columns_that_do_not_matter(global_random_seed):
    rows = sample(global_random_seed)
    scales, ridge, _ = likely_scales(
        mc.Matern(1.0, 1.5), rows, Scales(np.full(4, 0.5), 0.1), Tuning(max_steps=40, prior=0.1)
    )
    assert scales[0] > 5 * scales[1:].max()
    assert 0 < ridge < 1


def test_a_search_never_has_a_smaller_likelihood_than_its_start(global_random_seed):
    rows = sample(global_random_seed, n=60)

    def evidence(scales, ridge, _=None):
        C = mc.Mapped(mc.Laplacian(1.0), scales)(rows.X) + ridge * np.eye(60)
        fit = rows.Y.T @ np.linalg.solve(C, rows.Y)
        away = np.log(scales) - np.log(scales).mean()
        return 30 * np.log(fit.item() / 60) + np.linalg.slogdet(C)[1] / 2 + 0.05 * away @ away

    start = np.array([0.5, 0.2, 0.1, 0.3])
    values = [
        evidence(
            *likely_scales(
                mc.Laplacian(1.0), rows, Scales(start, 0.1), Tuning(max_steps=k, prior=0.1)
            )
        )
        for k in (1, 3, 10)
    ]
    assert values[2] <= values[1] <= values[0] < evidence(start, 0.1)


def test_the_stack_has_the_weights_of_nonnegative_least_squares_on_rows_that_metrics_have_not_seen(
    global_random_seed,
):
    rows = sample(global_random_seed)
    stack = searched(rows, np.random.default_rng(0))
    assert stack.judged == slice(135, 300)
    assert (stack.weights > 0).all()
    errors = rows.Y[stack.judged] - stack.predictions
    assert np.mean(errors**2) < 0.1
    # no multiple of the stack is better
    scale = scipy.optimize.nnls(stack.predictions, rows.Y[stack.judged, 0])[0]
    assert scale[0] == pytest.approx(1, abs=0.02)


def test_kinds_of_members_are_found_where_they_are_right(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(400, 6))
    turned = X @ np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :1]
    y = np.sin(2 * turned) * 1.5
    rows = Rows(X, (y - y.mean()) / y.std(), np.ones(400))
    stack = searched(rows, rng)
    best = stack.members[int(np.argmax(stack.weights))]
    assert best.kind == "matrix"
    direction = np.linalg.eigh(best.metric @ best.metric)[1][:, -1]
    along = np.linalg.lstsq(X, turned[:, 0], rcond=None)[0]
    assert abs(direction @ along) > 0.99


def test_targets_that_do_not_vary_have_a_stack_of_weight_zero():
    rows = Rows(np.arange(20.0)[:, None], np.zeros((20, 1)), np.ones(20))
    stack = searched(rows, np.random.default_rng(0))
    np.testing.assert_array_equal(stack.predictions, 0)
    np.testing.assert_array_equal(stack.weights, [0])


def test_rows_that_say_nothing_of_one_another_are_predicted_by_the_mean():
    y = np.arange(30.0)
    model = mc.TableRegressor().fit(np.eye(30), y)
    np.testing.assert_allclose(model.predict(np.eye(30)), y.mean(), atol=3 * y.std())
    new = np.zeros((1, 30))
    assert abs(model.predict(new)[0] - y.mean()) < y.std()


def test_each_kernel_has_the_better_scaling_and_the_best_of_the_other_follows(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-2, 2, (200, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    # monotone, and nearly all of the second pair of columns in one place
    rows = Rows(
        np.hstack([X, np.sinh(6 * X) / 1e4]), ((y - y.mean()) / y.std())[:, None], np.ones(200)
    )
    plain = members.plain_members(rows, [np.array([0, 1]), np.array([2, 3])])
    assert [each.member.columns.tolist() for each in plain] == [[0, 1]] * 3 + [[2, 3]]
    assert max(each.error for each in plain[:3]) < plain[3].error
    alone = members.plain_members(rows, [np.array([0, 1])])
    assert [each.error for each in alone] == [each.error for each in plain[:3]]


def test_a_search_of_few_rows_does_not_depend_on_which_half_comes_first(global_random_seed):
    rows = sample(global_random_seed, n=400)
    plain = members.plain_members(rows, [np.arange(4)])
    weights = []
    for each in (rows, rows.take(slice(None, None, -1))):
        stack = members.search(each, plain, np.random.default_rng(0))
        weights.append(
            {
                (repr(member.kernel), member.kind): weight
                for member, weight in zip(stack.members, stack.weights, strict=True)
            }
        )
        # one member of each kind
        assert len(weights[-1]) == len(stack.members)
    assert weights[0] == pytest.approx(weights[1], rel=1e-9)
    assert 0.8 < sum(weights[0].values()) < 1.1
