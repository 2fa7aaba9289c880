"""Trials: few rows are compressed with smaller errors between them, to outputs or labels as held-out rows decide."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_classification

import mercer as mc
from mercer.solvers.few_vectors.objective import Rows
from mercer.solvers.few_vectors.refit import refit
from mercer.solvers.few_vectors.trials import Model, Trials


def test_few_rows_with_noise_give_smaller_errors_at_other_rows(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, test = rng.normal(size=(100, 15)), rng.normal(size=(2000, 15))
    kernel, B = mc.Gaussian(0.1), rng.normal(size=(60, 1))
    Z = rng.normal(size=(60, 15))

    def outputs(points):
        return kernel(points, Z) @ B

    def answers(points):
        F = outputs(points)
        return F, np.where(F > 0, 1.0, -1.0)

    start, rows = X[:8], Rows(X, *answers(X))
    choice, noisy = Trials(rows, Model(answers), start).choose(kernel)
    plain = refit(kernel, start, rows, labelled=False, random_state=0)
    errors = [
        np.mean(np.square(k(test, each.points) @ each.coef + each.intercept - outputs(test)))
        for k, each in ((choice.kernel, noisy), (kernel, plain))
    ]
    assert errors[0] < 0.4 * errors[1], errors


def test_rows_held_out_are_in_the_last_fit_only(monkeypatch):
    rng, fitted = np.random.default_rng(0), []
    X = rng.normal(size=(60, 4))
    answers = lambda rows: (rows[:, :1], np.sign(rows[:, :1]))  # noqa: E731

    def recorded(kernel, start, rows, *args):
        fitted.append(set(map(tuple, rows.X)))
        return refit(kernel, start, rows, *args)

    monkeypatch.setattr("mercer.solvers.few_vectors.trials.refit", recorded)
    F, own = answers(X)
    Trials(Rows(X, F, own, own * np.sign(X[:, 1:2])), Model(answers), X[:4]).choose(
        mc.Gaussian(0.1)
    )
    held = set(map(tuple, X[::4]))
    assert len(fitted) > 3
    assert [len(held & rows) for rows in fitted] == [0] * (len(fitted) - 1) + [len(held)]


def test_enough_rows_are_fitted_without_noise():
    X = np.linspace(-3, 3, 500)[:, None]
    F = mc.Gaussian(1.0)(X, np.array([[0.3]]))
    kernel, start = mc.Gaussian(1.0), np.array([[0.6]])
    _, found = Trials(Rows(X, F), Model(pytest.fail), start).choose(kernel)
    np.testing.assert_array_equal(
        found.points, refit(kernel, start, Rows(X, F), labelled=False).points
    )


@pytest.mark.parametrize(
    ("n", "many", "lead", "labelled"),
    [
        (500, 0, 1.1, 1),
        (500, 0, 0.9, 0),
        (500, 1, -0.9, 1),
        (500, 1, -1.1, 0),
        (30, 0, 2.1, 1),
        (30, 0, 1.9, 0),
    ],
)
def test_labels_must_lead_where_rows_are_few_and_must_not_trail_where_they_are_many(
    n, many, lead, labelled, monkeypatch, limits
):
    X = np.linspace(-3, 3, n)[:, None]
    limits(many_rows=n if many else n + 1)
    monkeypatch.setattr("mercer.solvers.few_vectors.trials.standard_errors", lambda *_: lead)

    def found(labels):
        answers = lambda rows: (rows, np.sign(rows))  # noqa: E731
        trials = Trials(
            Rows(X, X, np.sign(X), labels),
            Model(answers, lambda _: answers),
            np.array([[-1.0], [0.6]]),
        )
        return trials.choose(mc.Gaussian(1.0))[1].points

    # other labels change the result where they count
    assert np.array_equal(found(np.sign(X + 0.5)), found(np.sign(X + 0.8))) == (not labelled)


def test_labels_are_compared_with_outputs_of_a_model_that_does_not_know_the_held_out_rows(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    means = rng.uniform(-3, 3, (15, 4))
    y = rng.integers(15, size=3600)
    X = means[y] + rng.normal(0, 0.7, (len(y), 4))
    # a narrow kernel knows the rows of the fit by heart
    model = mc.SVC(10.0, kernel=mc.Gaussian(1.0)).fit(X[:600], y[:600])
    small = mc.compress(model, X[:600], y[:600], n_vectors=20, random_state=0)
    assert small.kernel_.gamma < 1.0
    assert small.score(X[600:], y[600:]) > model.score(X[600:], y[600:])


def test_the_model_beside_is_fitted_to_the_rows_that_are_not_held_out():
    X, called = np.linspace(-3, 3, 40)[:, None], []
    answers = lambda rows: (rows, np.sign(rows))  # noqa: E731

    def afresh(rows):
        called.extend(rows)
        return answers

    rows = Rows(X, X, np.sign(X), np.sign(X))
    Trials(rows, Model(answers, afresh), np.array([[-1.0], [0.6]])).choose(mc.Gaussian(1.0))
    assert called == [i for i in range(len(X)) if i % 4]


def test_labels_replace_the_outputs_of_a_model_that_misses_them(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.random((3000, 2))
    y = np.floor(3 * X).sum(axis=1) % 2
    model = mc.SVC(0.03, kernel=mc.Gaussian(5.0)).fit(X[:1000], y[:1000])
    small = mc.compress(model, X[:1000], y[:1000], n_vectors=30, random_state=0)
    assert small.score(X[1000:], y[1000:]) > model.score(X[1000:], y[1000:]) + 0.1


@pytest.mark.parametrize("many", [pytest.param(False, marks=pytest.mark.slow), True])
def test_labels_that_mislead_few_vectors_do_not_count(many, limits):
    X, y = make_classification(2600, 20, n_informative=10, n_classes=3, random_state=0)
    limits(many_rows=600 if many else 601)
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.02)).fit(X[:600], y[:600])
    small = mc.compress(model, X[:600], y[:600], n_vectors=30, random_state=0)
    assert small.score(X[600:], y[600:]) > model.score(X[600:], y[600:]) - 0.02


def test_a_wider_kernel_is_selected_where_few_vectors_follow_the_boundary_better(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    X, test = rng.uniform(-1, 1, size=(2, 300, 6))
    # a narrow kernel and a linear boundary: no few narrow functions are right everywhere
    model = mc.SVC(100.0, kernel=mc.Gaussian(4.0)).fit(X, X.sum(axis=1) > 0)
    small = mc.compress(model, X, n_vectors=6, random_state=0)
    assert small.kernel_.gamma in (2.0, 1.0, 0.5)
    assert small.kernel == small.kernel_ == small.expansion_.kernel
    assert np.mean(small.predict(test) == model.predict(test)) > 0.8


def test_kernels_without_a_width_are_kept():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = mc.SVC(kernel=mc.Polynomial(2, 0.5, 1.0)).fit(X, X[:, 0] > 0)
    assert mc.compress(model, X, n_vectors=4, random_state=0).kernel_ == model.kernel_


def test_recombined_rows_of_independent_categories_give_smaller_errors_at_other_rows(limits):
    kernel, errors = mc.Gaussian(0.06), np.empty((3, 2))
    for seed, i in itertools.product(range(3), range(2)):
        rng = np.random.default_rng(seed)
        X, test, Z = (
            np.eye(4)[rng.integers(4, size=(n, 20))].reshape(n, -1) for n in (300, 2000, 100)
        )
        B = rng.normal(size=(100, 1))

        def answers(points, Z=Z, B=B):
            F = kernel(points, Z) @ B
            return F, np.where(F > 0, 1.0, -1.0)

        limits(noise_levels=[(0.5, 1.0, None), (0.5, 1.0)][i])
        choice, found = Trials(Rows(X, *answers(X)), Model(answers), X[:8]).choose(kernel)
        assert (choice.level is None) == (i == 0)
        values = choice.kernel(test, found.points) @ found.coef + found.intercept
        errors[seed, i] = np.mean((values - answers(test)[0]) ** 2)
    assert (errors[:, 0] < 0.7 * errors[:, 1]).all(), errors
