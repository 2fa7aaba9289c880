"""Many C, folds, values of gamma and cells: each solution is that of a fit alone, whatever the one before it was."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.solvers.svm.duals import GAUSSIAN, noisy_classes, noisy_curve

import mercer as mc

CS = np.logspace(-2, 2, 4)
MEMORY = pytest.mark.parametrize("memory", ["1GB", 140_000], ids=["stored", "lazy"])
MULTI_CLASS = pytest.mark.parametrize("multi_class", ["ovo", "ovr"])


def three_classes(seed, n=180):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    # without equal bounds, which may leave the bias open
    return (
        X,
        np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), [-0.4, 0.6]),
        rng.uniform(1.0, 2.0, n),
    )


def folds_of(n):
    """Return two folds, one of which trains on a third of the rows."""
    held_out = np.arange(n) % 3 == 0
    return [(np.flatnonzero(part), np.flatnonzero(~part)) for part in (~held_out, held_out)]


def models_of(search, X, y, weights=None):
    """Return the fitted search and the model of each fold and C, which a scorer is given."""
    seen = []

    def scorer(model, *_args, **_weights):
        seen.append(model)
        return 0.0

    search.set_params(scoring=scorer, refit=False).fit(X, y, weights)
    return search, np.array(seen, object).reshape(search.n_splits_, -1)


# --- classifiers ------------------------------------------------------------------------------------------------------


@MEMORY
@MULTI_CLASS
def test_every_classifier_of_a_path_is_that_of_its_C_alone(multi_class, memory, global_random_seed):
    X, y, weights = three_classes(global_random_seed)
    # a row of weight 0 is held out
    weights[::10] = 0
    options = {"kernel": GAUSSIAN, "multi_class": multi_class, "memory": memory}
    for C, model in zip(
        CS, mc.svc_path(X, y, CS, sample_weight=weights, tol=1e-6, **options), strict=True
    ):
        alone = mc.SVC(C, tol=1e-6, **options).fit(X, y, weights)
        assert mc.certify(model, X, y, weights).kkt <= 1e-6
        assert model.certificate_.dual == pytest.approx(alone.certificate_.dual, rel=1e-8)
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-5
        )
        assert not (set(model.support_) & set(range(0, len(X), 10)))


@MEMORY
@MULTI_CLASS
def test_held_out_values_are_those_of_a_fit_to_the_other_rows(
    multi_class, memory, global_random_seed
):
    X, y, weights = three_classes(global_random_seed)
    cv, options = (
        folds_of(len(X)),
        {"kernel": GAUSSIAN, "multi_class": multi_class, "memory": memory},
    )
    search = mc.SVCCV(Cs=CS, cv=cv, tol=1e-9, **options)
    search, models = models_of(search, X, y, weights)
    for (train, test), own in zip(cv, models, strict=True):
        for C, model in zip(CS, own, strict=True):
            alone = mc.SVC(C, tol=1e-9, **options).fit(X[train], y[train], weights[train])
            expected = alone.decision_function(X[test])
            np.testing.assert_allclose(model.decision_function(X[test]), expected, atol=1e-4)
    # the first C is the best of equal ones
    values = np.concatenate(
        [own[0].decision_function(X[test]) for own, (_, test) in zip(models, cv, strict=True)]
    )
    found = np.concatenate([search.held_out_values_[test] for _, test in cv])
    np.testing.assert_allclose(found, values, atol=1e-6)
    assert (search.cv_results_["n_iter"] > 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_classifiers_of_folds_end_at_a_gap_relative_to_the_loss_of_the_function_0(
    gap, dtype, global_random_seed
):
    X, sign = noisy_classes(global_random_seed, 300, noise=0.5)
    X, cv = X.astype(dtype), folds_of(300)[:1]
    (train, _), n = cv[0], 200
    coarse, models = models_of(mc.SVCCV(GAUSSIAN, Cs=CS, cv=cv, tol=gap), X, sign)
    exact, _ = models_of(mc.SVCCV(GAUSSIAN, Cs=CS, cv=cv, tol=1e-7), X, sign)
    assert coarse.cv_results_["n_iter"].sum() < exact.cv_results_["n_iter"].sum()
    for C, model in zip(CS, models[0], strict=True):
        loss = C * np.maximum(0, 1 - sign[train] * model.decision_function(X[train])).sum()
        w = model.dual_coef_[:, 0].astype(float)
        primal = loss + 0.5 * w @ GAUSSIAN(model.support_vectors_.astype(float)) @ w
        best = (
            mc.SVC(C, kernel=GAUSSIAN, tol=1e-9)
            .fit(X[train].astype(float), sign[train])
            .certificate_.dual
        )
        assert -1e-6 * primal <= primal - best <= 1.01 * gap * C * n


def test_neighbours_save_steps(global_random_seed):
    X, y, _ = three_classes(global_random_seed)
    options = {"kernel": GAUSSIAN, "tol": 1e-3}
    Cs = np.logspace(0, 1, 9)
    together = sum(int(model.n_iter_.sum()) for model in mc.svc_path(X, y, Cs, **options))
    alone = sum(int(mc.svc_path(X, y, [C], **options)[0].n_iter_.sum()) for C in Cs)
    assert together < alone


@MEMORY
@pytest.mark.parametrize(
    "Cs", [[1e-16, 1.0], [1e-280, 1.0], np.logspace(-18, 0, 10)], ids=["far", "tiny", "steps"]
)
def test_a_start_from_tiny_values_of_C_hides_no_violation(memory, Cs, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 180)
    model = mc.svc_path(X, sign, Cs, kernel=GAUSSIAN, memory=memory)[-1]
    alone = mc.SVC(1.0, kernel=GAUSSIAN).fit(X, sign)
    assert mc.certify(model, X, sign).kkt <= 1e-3
    assert model.certificate_.dual == pytest.approx(alone.certificate_.dual, rel=1e-3)
    y, cv = X[:, 0] + 0.3 * sign, folds_of(180)[:1]
    regressions = models_of(
        mc.SVRCV(GAUSSIAN, Cs=Cs, cv=cv, epsilon=0.1, tol=1e-6, memory=memory), X, y
    )[1][0]
    alone = mc.SVR(1.0, kernel=GAUSSIAN, tol=1e-6).fit(X[cv[0][0]], y[cv[0][0]])
    np.testing.assert_allclose(regressions[-1].predict(X), alone.predict(X), atol=1e-3)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_linear_kernel_beyond_the_memory_has_the_path_of_stored_values(global_random_seed, wrap):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(1300, 4)) + np.array([3.0, 0, 0, 0])
    sign = np.where(X[:, 0] - 3 + X[:, 1] + rng.normal(size=1300) > 0, 1.0, -1.0)
    weights, found = np.sqrt(np.arange(1300) % 6), []
    for memory in (10**6, "1GB"):
        options = {"kernel": mc.Linear(), "tol": 1e-7, "memory": memory}
        found.append(mc.svc_path(wrap(X), sign, CS, sample_weight=weights, **options))
    for one, other in zip(*found, strict=True):
        assert one.certificate_.kkt <= 1e-7
        assert one.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-7)
        np.testing.assert_allclose(
            one.decision_function(wrap(X)), other.decision_function(wrap(X)), atol=1e-5
        )


@MEMORY
@pytest.mark.parametrize(("scale", "offset", "solved"), [(1e3, 1e5, True), (1e5, 1e8, False)])
def test_where_steps_over_pairs_stall_newton_steps_solve_or_the_violation_is_reported(
    memory, scale, offset, solved
):
    # kernel values of 1e10 are rounded by 1e-6, those of 1e16 by 2
    rng = np.random.default_rng(0)
    X, sign = (
        scale * rng.standard_normal((40, 2)) + offset,
        np.where(rng.random(40) < 0.5, -1.0, 1.0),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (model,) = mc.svc_path(X, sign, [1.0], kernel=mc.Linear(), memory=memory)
    assert bool(caught) != solved
    assert (model.certificate_.kkt <= 1e-3) == solved
    assert np.isfinite(model.decision_function(X)).all()
    if solved:
        best = mc.SVC(1.0, kernel=mc.Linear(), tol=1e-6).fit(X - X.mean(axis=0), sign).certificate_
        assert best.dual - 0.1 <= model.certificate_.dual <= best.primal + 1e-2


def test_a_violation_in_a_fold_is_reported():
    # rounding of values near 1e16 stops the steps
    rng = np.random.default_rng(0)
    X, sign = 1e5 * rng.standard_normal((24, 2)) + 1e8, np.tile([-1.0, 1.0], 12)
    with pytest.warns(
        ConvergenceWarning,
        match="stopped in some folds with a violation of up to .* above tol = 0.001",
    ):
        mc.SVCCV(mc.Linear(), Cs=[1.0], cv=2, refit=False).fit(X, sign)


# --- regression -------------------------------------------------------------------------------------------------------


@MEMORY
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_regressions_of_folds_are_those_of_a_fit_to_the_other_rows(
    epsilon, memory, global_random_seed
):
    X, y = noisy_curve(global_random_seed, 210)
    cv = folds_of(210)
    search = mc.SVRCV(GAUSSIAN, Cs=CS, cv=cv, epsilon=epsilon, tol=1e-9, memory=memory)
    _, models = models_of(search, X, y)
    for (train, test), own in zip(cv, models, strict=True):
        for C, model in zip(CS, own, strict=True):
            alone = mc.SVR(C, kernel=GAUSSIAN, epsilon=epsilon, tol=1e-9).fit(X[train], y[train])
            np.testing.assert_allclose(model.predict(X[test]), alone.predict(X[test]), atol=1e-3)


# --- values of gamma, threads, cells ----------------------------------------------------------------------------------


@MEMORY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian, lambda gamma: mc.Polynomial(2, gamma, 1.0)], ids=["radial", "dot"]
)
def test_values_of_gamma_over_shared_distances_have_the_scores_of_each_alone(
    kernel, dtype, memory, global_random_seed
):
    X, y = noisy_curve(global_random_seed, 390)
    X, options = (
        X.astype(dtype),
        {"Cs": [0.3, 3.0], "cv": folds_of(390)[:1], "tol": 1e-6, "memory": memory, "refit": False},
    )
    gammas = [0.1, 2.0]
    together = (
        mc.SVRCV(kernel(1.0), gammas=gammas, **options)
        .fit(X, y)
        .cv_results_["mean_test_score"]
        .reshape(2, 2)
    )
    for gamma, scores in zip(gammas, together.T, strict=True):
        alone = mc.SVRCV(kernel(gamma), **options).fit(X, y).cv_results_["mean_test_score"]
        np.testing.assert_allclose(scores, alone, atol=1e-4)


# 1.13 MB hold the values of 401 points and copies for one fold, but not their padding
@pytest.mark.parametrize("memory", ["1GB", 1_500_000, 1_130_000, 100])
@pytest.mark.parametrize("cells", [None, 90])
def test_folds_on_several_threads_have_the_bits_of_one(
    cells, memory, global_random_seed, using_threads
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((401, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(401) > 0
    options = {"Cs": CS, "cv": 3, "memory": memory, "refit": False}
    found = []
    for threads in (1, 3):
        with using_threads(threads):
            search = mc.SVCCV(GAUSSIAN, cells=cells, **options).fit(X, y)
        found.append((search.held_out_values_, search.cv_results_["n_iter"]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def clusters(seed, *, everywhere=True):
    """Return four clusters of 60 points that lie far apart, mixed, and labels; the last class may lack in two."""
    rng = np.random.default_rng(seed)
    cluster = rng.permutation(np.repeat(np.arange(4), 60))
    middle = np.array([[0.0, 0.0], [90.0, 0.0], [0.0, 20.0], [90.0, 20.0]])[cluster]
    X = middle + rng.standard_normal((240, 2))
    y = (X[:, 0] - middle[:, 0] + 0.3 * rng.standard_normal(240) > 0).astype(int)
    y[((cluster > 1) | everywhere) & (rng.random(240) < 0.3)] = 2
    return X, y, cluster


@MULTI_CLASS
@pytest.mark.parametrize("everywhere", [True, False], ids=["all classes", "some classes"])
def test_values_of_cells_are_those_of_a_fit_to_the_other_rows_of_the_cell(
    everywhere, multi_class, global_random_seed
):
    X, y, cluster = clusters(global_random_seed, everywhere=everywhere)
    weights, cv = np.sqrt(1.0 + np.arange(240) % 7), folds_of(240)
    options = {"multi_class": multi_class, "tol": 1e-9}
    search = mc.SVCCV(GAUSSIAN, Cs=[4.0], cv=cv, cells=60, refit=False, **options).fit(
        X, y, weights
    )
    for train, test in cv:
        for k in range(4):
            own, tested = train[cluster[train] == k], test[cluster[test] == k]
            model = mc.SVC(4.0, kernel=GAUSSIAN, **options).fit(X[own], y[own], weights[own])
            found, expected = search.held_out_values_[tested], model.decision_function(X[tested])
            if expected.ndim == 2:
                np.testing.assert_allclose(found, expected, atol=1e-4)
            elif multi_class == "ovr":
                # the class that the cell lacks is that of no point
                both = np.column_stack([-expected, expected, np.full(len(tested), -1.0)])
                np.testing.assert_allclose(found, both, atol=1e-4)
            else:
                assert (found[:, :2].argmax(axis=1) == (expected > 0)).all()
                assert (found[:, 2] < found[:, :2].max(axis=1)).all()


def test_points_of_any_kind_have_cells(global_random_seed):
    X, y, _ = clusters(global_random_seed)
    options, found = {"Cs": [0.5, 4.0], "cv": 3, "cells": 60, "tol": 1e-9, "refit": False}, []
    # both are divided by kernel values
    for kernel, points in ((GAUSSIAN, sp.csr_array(X)), ("precomputed", GAUSSIAN(X))):
        found.append(mc.SVCCV(kernel, **options).fit(points, y).held_out_values_)
    np.testing.assert_allclose(*found, atol=1e-6)


def test_one_cell_gives_what_no_cells_give(global_random_seed):
    X, y, weights = three_classes(global_random_seed)
    options = {"Cs": CS, "gammas": [0.1, 0.7], "cv": 3, "tol": 1e-9, "refit": False}
    whole, one = (mc.SVCCV(cells=cells, **options).fit(X, y, weights) for cells in (None, 180))
    np.testing.assert_allclose(one.held_out_values_, whole.held_out_values_, atol=1e-6)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"]
    )
