"""Noise: copies of rows have the deviations asked for, and few rows are compressed with smaller errors between them."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_classification

import mercer as mc
from mercer.solvers.few_vectors.noise import _HELD, noise, recombined, refit_at_noise, spread, wanted_copies
from mercer.solvers.few_vectors.refit import refit


def test_copies_of_rows_have_the_deviations_asked_for(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(4, 5)).astype(np.float32)
    deviations = np.array([[0.0], [0.1], [1.0], [4.0]])
    found = noise(X, deviations, 4000, global_random_seed)
    assert found.dtype == X.dtype
    moves = found.reshape(4000, 4, 5) - X
    np.testing.assert_allclose(moves.std(axis=(0, 2)), deviations[:, 0], rtol=0.03)
    assert np.abs(moves.mean(axis=(0, 2))[1:] / deviations[1:, 0]).max() < 0.05
    assert len(noise(X, 0 * deviations, 3, 0)) == 0


def test_the_spread_is_the_mean_distance_to_the_five_nearest_rows(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(50, 3))
    distances = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    np.testing.assert_allclose(spread(X, 0)[:, 0], distances[:, 1:6].mean(axis=1) / np.sqrt(3))
    assert spread(X[:2], 0)[:, 0] == pytest.approx(2 * [np.linalg.norm(X[0] - X[1]) / np.sqrt(3)])
    assert spread(np.vstack([X] * 100), 0).max() == 0


@pytest.mark.parametrize("rows", [50, 400, 3000, 10**6])
def test_copies_give_ten_equations_for_each_free_number_unless_they_are_five(rows):
    vectors, features, columns = 10, 21, 2
    copies = wanted_copies(rows, vectors, features, columns)
    numbers = vectors * (features + columns)
    assert copies == 5 or (copies + 1) * rows * columns >= 10 * numbers
    assert copies == 0 or copies * rows * columns < 10 * numbers
    # a pass over many vectors has no room for copies
    assert wanted_copies(rows, 10**5, features, columns) == (3 if rows == 50 else 0)


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

    start, scale = X[:8], np.ones(1)
    F, own = answers(X)
    choice, noisy = refit_at_noise(kernel, start, X, F, answers, own=own, scale=scale, random_state=0)
    plain = refit(kernel, start, X, *answers(X), labelled=False, random_state=0)
    errors = [
        np.mean(np.square(k(test, each.points) @ each.coef + each.intercept - outputs(test)))
        for k, each in ((choice.kernel, noisy), (kernel, plain))
    ]
    assert errors[0] < 0.4 * errors[1], errors


def test_rows_held_out_are_in_the_last_fit_only(monkeypatch):
    rng, fitted = np.random.default_rng(0), []
    X = rng.normal(size=(60, 4))
    answers = lambda rows: (rows[:, :1], np.sign(rows[:, :1]))  # noqa: E731

    def recorded(kernel, start, rows, *args, **options):
        fitted.append(set(map(tuple, rows)))
        return refit(kernel, start, rows, *args, **options)

    monkeypatch.setattr("mercer.solvers.few_vectors.noise.refit", recorded)
    F, own = answers(X)
    options = {"own": own, "scale": np.ones(1), "random_state": 0}
    refit_at_noise(mc.Gaussian(0.1), X[:4], X, F, answers, own * np.sign(X[:, 1:2]), **options)
    held = set(map(tuple, X[::_HELD]))
    assert len(fitted) > 3
    assert [len(held & rows) for rows in fitted] == [0] * (len(fitted) - 1) + [len(held)]


def test_enough_rows_are_fitted_without_noise():
    X = np.linspace(-3, 3, 500)[:, None]
    F = mc.Gaussian(1.0)(X, np.array([[0.3]]))
    kernel, start = mc.Gaussian(1.0), np.array([[0.6]])
    _, found = refit_at_noise(kernel, start, X, F, pytest.fail, scale=np.ones(1), random_state=0)
    np.testing.assert_array_equal(found.points, refit(kernel, start, X, F, labelled=False).points)


@pytest.mark.parametrize(
    ("n", "many", "lead", "labelled"),
    [(500, 0, 1.1, 1), (500, 0, 0.9, 0), (500, 1, -0.9, 1), (500, 1, -1.1, 0), (30, 0, 2.1, 1), (30, 0, 1.9, 0)],
)
def test_labels_must_lead_where_rows_are_few_and_must_not_trail_where_they_are_many(
    n, many, lead, labelled, monkeypatch
):
    X = np.linspace(-3, 3, n)[:, None]
    monkeypatch.setattr("mercer.solvers.few_vectors.noise._MANY", n if many else n + 1)
    monkeypatch.setattr("mercer.solvers.few_vectors.noise.standard_errors", lambda *_: lead)

    def found(labels):
        options = {"own": np.sign(X), "scale": np.ones(1), "random_state": 0}
        answers = lambda rows: (rows, np.sign(rows))  # noqa: E731
        given = answers, labels, lambda _: answers
        return refit_at_noise(mc.Gaussian(1.0), np.array([[-1.0], [0.6]]), X, X, *given, **options)[1].points

    # other labels change the result where they count
    assert np.array_equal(found(np.sign(X + 0.5)), found(np.sign(X + 0.8))) == (not labelled)


def test_labels_are_compared_with_outputs_of_a_model_that_does_not_know_the_held_out_rows(global_random_seed):
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

    options = {"own": np.sign(X), "scale": np.ones(1), "random_state": 0}
    refit_at_noise(mc.Gaussian(1.0), np.array([[-1.0], [0.6]]), X, X, answers, np.sign(X), afresh, **options)
    assert called == [i for i in range(len(X)) if i % _HELD]


def test_labels_replace_the_outputs_of_a_model_that_misses_them(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.random((3000, 2))
    y = np.floor(3 * X).sum(axis=1) % 2
    model = mc.SVC(0.03, kernel=mc.Gaussian(5.0)).fit(X[:1000], y[:1000])
    small = mc.compress(model, X[:1000], y[:1000], n_vectors=30, random_state=0)
    assert small.score(X[1000:], y[1000:]) > model.score(X[1000:], y[1000:]) + 0.1


@pytest.mark.parametrize("many", [pytest.param(False, marks=pytest.mark.slow), True])
def test_labels_that_mislead_few_vectors_do_not_count(many, monkeypatch):
    X, y = make_classification(2600, 20, n_informative=10, n_classes=3, random_state=0)
    monkeypatch.setattr("mercer.solvers.few_vectors.noise._MANY", 600 if many else 601)
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.02)).fit(X[:600], y[:600])
    small = mc.compress(model, X[:600], y[:600], n_vectors=30, random_state=0)
    assert small.score(X[600:], y[600:]) > model.score(X[600:], y[600:]) - 0.02


def test_a_wider_kernel_is_selected_where_few_vectors_follow_the_boundary_better(global_random_seed):
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


def test_recombined_rows_take_about_half_of_their_numbers_from_one_other_row(global_random_seed):
    # places in units of 1000 tell rows apart
    X = (np.arange(50.0)[:, None] * 1000 + np.arange(400)).astype(np.float32)
    found = recombined(X, 3, global_random_seed)
    assert found.dtype == X.dtype
    assert found.shape == (150, 400)
    np.testing.assert_array_equal(found % 1000, np.tile(np.arange(400), (150, 1)))
    own, places = np.tile(np.arange(50), 3), found // 1000
    others = [np.unique(row[row != i]) for row, i in zip(places, own, strict=True)]
    assert max(map(len, others)) == 1
    shares = (places == own[:, None]).mean(axis=1)[[len(each) == 1 for each in others]]
    assert abs(shares - 0.5).max() < 0.15
    assert len(recombined(X, 0, 0)) == 0


def test_recombined_rows_of_independent_categories_give_smaller_errors_at_other_rows(monkeypatch):
    kernel, errors = mc.Gaussian(0.06), np.empty((3, 2))
    for seed, i in itertools.product(range(3), range(2)):
        rng = np.random.default_rng(seed)
        X, test, Z = (np.eye(4)[rng.integers(4, size=(n, 20))].reshape(n, -1) for n in (300, 2000, 100))
        B = rng.normal(size=(100, 1))

        def answers(points, Z=Z, B=B):
            F = kernel(points, Z) @ B
            return F, np.where(F > 0, 1.0, -1.0)

        monkeypatch.setattr("mercer.solvers.few_vectors.noise._LEVELS", [(0.5, 1.0, None), (0.5, 1.0)][i])
        F, own = answers(X)
        options = {"own": own, "scale": np.ones(1), "random_state": 0}
        choice, found = refit_at_noise(kernel, X[:8], X, F, answers, **options)
        assert (choice.level is None) == (i == 0)
        values = choice.kernel(test, found.points) @ found.coef + found.intercept
        errors[seed, i] = np.mean((values - answers(test)[0]) ** 2)
    assert (errors[:, 0] < 0.7 * errors[:, 1]).all(), errors
