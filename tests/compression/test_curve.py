"""Several sizes of one compression: smaller models start from larger ones, and a loss limits the number of vectors."""

import copy
import pickle

import numpy as np
import pytest

import mercer as mc
from mercer.compression.task import Task

KERNEL = mc.Gaussian(0.5)


def _rings(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize((X**2).sum(axis=1), [0.8, 2.2])


def _misses(small, model, X):
    return np.mean(small.predict(X) != model.predict(X))


def test_smaller_models_of_a_report_agree_with_the_model_as_separate_compressions_do(global_random_seed):
    X, y = _rings(global_random_seed)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    new, _ = _rings(1000 + global_random_seed, 2000)
    small = mc.compress(model, X, y, n_vectors=40, random_state=0)
    for size in (20, 15, 10):
        found, alone = small.report_.at(size), mc.compress(model, X, y, n_vectors=size, random_state=0)
        assert found.expansion_.shape[0] == found.report_.vectors_after == size
        assert type(found) is type(model)
        assert _misses(found, model, new) < _misses(alone, model, new) + 0.015


def test_a_curve_takes_fewer_kernel_values_than_its_largest_size(global_random_seed):
    X, y = _rings(global_random_seed)
    calls = []
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=40, random_state=0, callback=lambda *_: calls.append(40))
    most = sum(calls)
    calls.clear()
    for size in (20, 10, 5):
        before = len(calls)
        small.report_.at(size)
        calls[before:] = [size] * (len(calls) - before)
    assert 0 < sum(calls) < most


def test_a_smaller_model_does_not_depend_on_the_sizes_asked_for_before():
    X, y = _rings(0)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    first, second = (mc.compress(model, X, y, n_vectors=32, random_state=0) for _ in range(2))
    found = [first.report_.at(size) for size in (20, 7, 5)]
    np.testing.assert_array_equal(second.report_.at(5).expansion_.points, found[2].expansion_.points)
    np.testing.assert_array_equal(found[1].report_.at(5).expansion_.points, found[2].expansion_.points)


def test_at_its_own_size_or_above_the_model_itself_is_returned():
    X, y = _rings(0)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=12, random_state=0)
    assert small.report_.at(12) is small.report_.at(13) is small
    whole = mc.compress(model, X, y, n_vectors=10_000)
    assert whole.report_.at(9).expansion_.shape[0] == 9
    with pytest.raises(ValueError, match="n_vectors"):
        small.report_.at(0)


def test_a_share_is_that_of_the_vectors_of_the_original_model():
    X, y = _rings(0)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=0.3, random_state=0)
    assert small.report_.at(0.1).report_.vectors_after == round(0.1 * model.expansion_.shape[0])


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda report: pickle.loads(pickle.dumps(report))])
def test_a_copied_report_holds_no_data_and_says_so(again):
    X, y = _rings(0)
    small = mc.compress(mc.SVC(10.0, kernel=KERNEL).fit(X, y), X, y, n_vectors=12, random_state=0)
    report = again(small.report_)
    assert str(report) == str(small.report_)
    with pytest.raises(ValueError, match="no data of the fit; call compress with n_vectors = 5"):
        report.at(5)


@pytest.mark.parametrize("with_data", [True, False])
def test_reduced_sets_of_a_report_are_those_of_reduce(with_data):
    X, y = _rings(0)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    data = (X, y) if with_data else ()
    small = mc.compress(model, *data, n_vectors=12, method="greedy")
    expected = mc.compress(model, *data, n_vectors=5, method="greedy")
    found = small.report_.at(5)
    np.testing.assert_array_equal(found.expansion_.points, expected.expansion_.points)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)


@pytest.mark.parametrize("model", [mc.SVR(10.0, kernel=KERNEL), mc.KernelPCA(2, kernel=KERNEL)], ids=repr)
def test_outputs_of_smaller_models_are_close_to_those_of_the_original(model, global_random_seed):
    X, _ = _rings(global_random_seed, 200)
    value = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    model.fit(X, value)
    small = mc.compress(model, X, n_vectors=40, random_state=0).report_.at(20)
    assert small.report_.measured.score_after > 0.99


def test_smaller_models_are_fitted_to_neighbours_too():
    X = np.linspace(-2, 2, 9)[:, None]
    model = mc.KernelRidge(1e-3, kernel=mc.Gaussian(2.0)).fit(X, np.sin(3 * X[:, 0]))
    steps = np.linspace(-0.25, 0.25, 8)
    moved = {"neighbours": lambda X: np.concatenate([X + step for step in steps])}
    between, errors = np.linspace(-2, 2, 200)[:, None], []
    for options in ({}, moved):
        small = mc.compress(model, X, n_vectors=8, random_state=0, **options).report_.at(6)
        errors.append(np.abs(small.predict(between) - model.predict(between)).max())
    assert errors[1] < errors[0]


def test_the_fewest_vectors_within_a_loss_lose_less_on_held_out_rows_and_take_few_fits(monkeypatch, global_random_seed):
    X, y = _rings(global_random_seed)
    model, sizes, fitted = mc.SVC(10.0, kernel=KERNEL).fit(X, y), [], Task.fitted

    def counted(task, n_vectors, *others):
        sizes.append(n_vectors)
        return fitted(task, n_vectors, *others)

    monkeypatch.setattr(Task, "fitted", counted)
    small = mc.compress(model, X, y, max_loss=0.03, random_state=0)
    found = small.report_.vectors_after
    # three folds of doubled sizes, and the last fit
    doubled = [2**i for i in range(20) if 2**i < 2 * found]
    assert sizes == [*np.repeat(doubled, 3), found]
    new, labels = _rings(1000 + global_random_seed, 4000)
    assert small.score(new, labels) > model.score(new, labels) - 0.06
    same = mc.compress(model, X, y, n_vectors=found, random_state=0)
    np.testing.assert_array_equal(same.expansion_.points, small.expansion_.points)


def test_a_number_for_each_column_is_compared_with_that_of_each_column():
    X, y = _rings(0)
    model = mc.SVC(10.0, kernel=KERNEL, multi_class="ovr").fit(X, y)
    small = mc.compress(model, X, y, n_vectors=5, method="greedy", shared=False)
    assert small.report_.at(10) is small.report_.at(5) is small
    assert np.count_nonzero(small.report_.at(3).expansion_.coef, axis=0).tolist() == [3, 3, 3]


def test_a_loss_limits_the_vectors_also_where_their_number_allows_all():
    X, y = _rings(0)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    few, many = (mc.compress(model, X, y, max_loss=0.1, n_vectors=n, random_state=0) for n in (None, 10_000))
    assert many.report_.vectors_after == few.report_.vectors_after < few.report_.vectors_before


@pytest.mark.parametrize("model", [mc.SVC(kernel=KERNEL), mc.SVR(kernel=KERNEL)], ids=repr)
def test_a_loss_needs_two_rows(model):
    X, y = _rings(0)
    model.fit(X, y)
    with pytest.raises(ValueError, match="X has 1 row for fits, but max_loss = 0.1 needs at least 2"):
        mc.compress(model, X[:1], y[:1], max_loss=0.1)
