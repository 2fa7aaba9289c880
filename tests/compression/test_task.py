"""Compression by a method of reduce: thresholds, rows held out, shares, given matrices and objects.

Several sizes of one compression: smaller models start from larger ones, and a loss limits the number of vectors.
"""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer as mc
from mercer.compression.report import measure
from mercer.compression.task import Task, fewest, most_needed

KERNEL = mc.Gaussian(0.5)


def _data(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 2)).astype(dtype)
    return X, np.digitize((X**2).sum(axis=1), [0.8, 2.2])


def _squared_hinge(values, signs):
    return np.sum(np.maximum(0, 1 - signs * values)[signs != 0] ** 2, axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(
    "method", ["greedy", mc.Construct(), mc.Refine(max_iter=5), mc.Pivoted()], ids=str
)
def test_the_vectors_are_those_of_reduce_and_the_threshold_is_optimal_on_the_rows(
    method, dtype, global_random_seed
):
    X, y = _data(global_random_seed, dtype)
    model = mc.SVC(kernel=KERNEL, multi_class="ovr").fit(X, y)
    kept = mc.compress(model, X, y, n_vectors=8, method=method, threshold="none")
    small = mc.compress(model, X, y, n_vectors=8, method=method)
    expected = mc.reduce(model.expansion_, 8, method=method)
    for each in (kept, small):
        np.testing.assert_array_equal(each.expansion_.points, expected.expansion.points)
        np.testing.assert_array_equal(each.expansion_.coef, expected.expansion.coef)
        np.testing.assert_allclose(each.report_.relative_error, expected.relative_error, rtol=1e-2)
    np.testing.assert_array_equal(kept.intercept_, model.intercept_)
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    values = small.expansion_(X).astype(np.float64)
    least = np.sum(_squared_hinge(values + small.intercept_, signs))
    for step in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert np.sum(_squared_hinge(values + small.intercept_ + step, signs)) > least
    assert least < np.sum(_squared_hinge(values + kept.intercept_, signs))


def test_a_share_is_that_of_the_vectors_of_the_model():
    X, y = _data(0)
    model = mc.SVC(kernel=KERNEL).fit(X, y > 0)
    n = model.expansion_.shape[0]
    for method in (None, "greedy"):
        assert mc.compress(model, X, y > 0, n_vectors=0.2, method=method).expansion_.shape[
            0
        ] == round(0.2 * n)


def test_each_classifier_may_have_its_own_vectors():
    X, y = _data(1)
    model = mc.SVC(kernel=KERNEL, multi_class="ovr").fit(X, y)
    small = mc.compress(model, X, y, n_vectors=4, method=mc.Construct(), shared=False)
    assert np.count_nonzero(small.expansion_.coef, axis=0).tolist() == [4, 4, 4]
    assert small.report_.vectors_after == 12
    np.testing.assert_allclose(
        small.decision_function(X), small.expansion_(X) + small.intercept_, atol=1e-12
    )


@pytest.mark.parametrize("method", [None, "greedy"])
def test_rows_held_out_are_in_no_fit_and_the_report_is_on_them(method, global_random_seed):
    X, y = _data(global_random_seed)
    model = mc.SVC(kernel=KERNEL).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=9, method=method, holdout=0.3, random_state=0)
    report = small.report_
    assert (report.held_out, report.measured.rows) == (True, 45)
    # the rows of the report are those whose labels change nothing but the report
    inside = []
    for i in range(0, 150, 50):
        other = y.copy()
        other[i] = (y[i] + 1) % 3
        again = mc.compress(
            model, X, other, n_vectors=9, method=method, holdout=0.3, random_state=0
        )
        same = np.array_equal(again.intercept_, small.intercept_)
        assert same == (again.report_.measured != report.measured) or not same
        inside.append(not same)
    assert 0 < sum(inside) < 3
    assert report.verdict in str(report)
    assert "on 45 held-out rows" in report.verdict


def test_the_report_of_held_out_rows_is_the_measure_of_these_rows():
    X, y = _data(3)
    model = mc.SVC(kernel=KERNEL).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=9, method="greedy", holdout=0.2, random_state=1)
    order = np.random.default_rng(np.random.RandomState(1).randint(2**31 - 1)).permutation(150)
    out = np.sort(order[:30])
    assert small.report_.measured == measure(model, small, X[out], y[out])
    rest = mc.compress(
        model, np.delete(X, out, axis=0), np.delete(y, out), n_vectors=9, method="greedy"
    )
    np.testing.assert_array_equal(rest.intercept_, small.intercept_)


def test_a_given_matrix_gives_the_same_model_as_its_kernel():
    X, y = _data(2)
    # smallest eigenvalues far above rounding, so that Eigenvector has one answer
    wanted = mc.Laplacian(2.0)
    rows, given = (
        mc.SVC(kernel=kernel, multi_class="ovr", tol=1e-9) for kernel in (wanted, "precomputed")
    )
    rows.fit(X, y)
    given.fit(wanted(X), y)
    for options in ({}, {"method": mc.Pivoted()}, {"method": mc.Eigenvector(), "holdout": 0.4}):
        options |= {"n_vectors": 12, "random_state": 0}
        expected = mc.compress(rows, X, y, **{"method": "greedy"} | options)
        small = mc.compress(given, wanted(X), y, **options)
        assert small.expansion_.shape == (12, 3)
        np.testing.assert_allclose(
            small.decision_function(wanted(X)), expected.decision_function(X), atol=1e-5
        )
        assert small.report_.verdict == expected.report_.verdict
    assert mc.compress(given, n_vectors=12).report_.measured is None


def test_a_given_matrix_has_no_new_points():
    X, y = _data(2)
    given = mc.SVC(kernel="precomputed").fit(KERNEL(X), y)
    with pytest.raises(TypeError, match="use a method that selects points"):
        mc.compress(given, KERNEL(X), y, n_vectors=3, method="construct")


def test_strings_keep_their_accuracy_with_few_of_them():
    rng = np.random.default_rng(0)
    words = ["".join(word) for word in rng.choice(list("abcd"), (300, 8))]
    y = np.array([word.count("a") + word.count("ab") > 2 for word in words])
    model = mc.SVC(kernel=mc.Normalized(mc.strings.BlendedSpectrum(2))).fit(words, y)
    known = set(model.support_vectors_)
    for method in (None, "greedy", mc.Pivoted()):
        small = mc.compress(model, words, y, n_vectors=0.15, method=method, holdout=0.3)
        assert set(small.support_vectors_) < known
        assert small.report_.measured.score_after > 0.8
        assert small.report_.score == "accuracy"


def test_the_loss_may_limit_a_method():
    X, y = _data(5)
    model = mc.SVC(kernel=KERNEL).fit(X, y > 0)
    small = mc.compress(model, X, y > 0, max_loss=0.05, method=mc.Construct(), random_state=0)
    assert small.report_.vectors_after < small.report_.vectors_before / 2
    assert small.score(X, y > 0) > 0.93 * model.score(X, y > 0)


@pytest.mark.parametrize(
    ("model", "name"),
    [(mc.SVR(kernel=KERNEL), "R^2"), (mc.KernelRidge(kernel=KERNEL), "R^2"), (mc.KernelPCA(2, kernel=KERNEL), "R^2"),
     (mc.OneClassSVM(kernel=KERNEL), "agreement")],
)  # fmt: skip
def test_other_families_take_methods(model, name):
    X, _ = _data(6)
    y = np.sin(2 * X[:, 0])
    supervised = name == "R^2" and hasattr(model, "predict")
    model = model.fit(X, y) if supervised else model.fit(X)
    small = mc.compress(
        model, X, y if supervised else None, n_vectors=15, method=mc.Construct(), holdout=0.2
    )
    assert small.report_.score == name
    assert small.report_.measured.score_after > 0.9
    if supervised:
        whole = mc.compress(model, X, y, n_vectors=15, method=mc.Construct())
        assert np.mean(y - whole.predict(X)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold": "test"}, ValueError, "threshold = 'test' must be one of"),
        ({"method": "best"}, ValueError, "method = 'best' must be one of"),
        ({"method": mc.Greedy}, TypeError, "must be a string or a record"),
        ({"holdout": 1.0}, ValueError, "holdout = 1.0 must be below 1"),
        ({"holdout": 0}, ValueError, "holdout = 0 must be above 0"),
        ({"shared": False}, ValueError, "shared is False, but method is None; give a method"),
        ({"shared": 1, "method": "greedy"}, TypeError, "shared must be True or False"),
        (
            {"neighbours": np.copy, "method": "greedy"},
            ValueError,
            "neighbours is given, but method",
        ),
        ({"n_vectors": None}, ValueError, "n_vectors and max_loss are both None"),
        (
            {"n_vectors": None, "method": "greedy"},
            ValueError,
            "n_vectors and max_loss are both None",
        ),
        ({"n_vectors": 1.0}, TypeError, "n_vectors must be a whole number"),
    ],
)
def test_options_out_of_range_are_refused(options, error, message):
    X, y = _data(0)
    model = mc.SVC(kernel=KERNEL).fit(X, y > 0)
    with pytest.raises(error, match=message):
        mc.compress(model, X, y > 0, **({"n_vectors": 3} | options))
    with pytest.raises(TypeError, match="X is None, but holdout is given"):
        mc.compress(model, n_vectors=3, holdout=0.5)
    with pytest.raises(ValueError, match="X has 1 row, but holdout = 0.5 needs at least 2"):
        mc.compress(model, X[:1], y[:1] > 0, n_vectors=3, holdout=0.5)


def test_a_tenth_of_the_vectors_of_digits_lose_little_on_held_out_rows():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.3), multi_class="ovr").fit(X[:300], y[:300])
    small = mc.compress(model, X[300:], y[300:], n_vectors=0.2, holdout=0.5, random_state=0)
    seen = small.report_.measured
    assert seen.loss < 0.05
    assert small.report_.verdict.startswith(("4.9", "5."))
    assert (
        f"{100 * seen.score_before:.1f} % -> {100 * seen.score_after:.1f} % on 150 held-out rows"
        in (small.report_.verdict)
    )


@pytest.mark.parametrize("method", [None, "greedy"])
@pytest.mark.parametrize(("fitted", "given"), [(2, 1), (2, 4), (1, 2)])
def test_targets_of_another_number_than_those_of_the_model_are_refused(fitted, given, method):
    X, _ = _data(0)
    Y = np.tile(X**2, (1, 2))
    model = mc.KernelRidge(kernel=KERNEL).fit(X, Y[:, :fitted])
    with pytest.raises(
        ValueError,
        match=rf"y has the shape \(150,( {given})?\), but the model has m = {fitted} targets",
    ):
        mc.compress(model, X, Y[:, :given], n_vectors=3, method=method)


@pytest.mark.parametrize("options", [{"threshold": "none"}, {}], ids=["threshold", "kernel"])
def test_neighbours_that_no_fit_would_use_are_refused(options):
    X, y = _data(0)
    kernel = KERNEL if options else lambda A, B: np.exp(-np.abs(A[:, None] - B).sum(axis=2))
    model = mc.SVC(kernel=kernel).fit(X, y > 0)
    with pytest.raises(
        ValueError, match="neighbours is given, but only vectors that are fitted to data use it"
    ):
        mc.compress(model, X, y > 0, n_vectors=3, neighbours=np.copy, **options)


@pytest.mark.parametrize("model", [mc.SVC(kernel=KERNEL), mc.KernelPCA(2, kernel=KERNEL)], ids=repr)
def test_tables_are_compressed_without_warnings_and_need_the_columns_of_the_fit(model):
    pd = pytest.importorskip("pandas")
    X, y = _data(0)
    table = pd.DataFrame(X, columns=["a", "b"])
    small = mc.compress(model.fit(table, y > 0), table, y > 0, n_vectors=5, random_state=0)
    np.testing.assert_array_equal(small.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="names should match"):
        mc.compress(model, table[["b", "a"]], y > 0, n_vectors=5)


def test_texts_as_targets_are_refused_with_the_name_of_the_model():
    X, _ = _data(0)
    model = mc.SVR(kernel=KERNEL).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="SVR needs y of numbers, got dtype <U1"):
        mc.compress(model, X, np.full(150, "a"), n_vectors=3)


def test_a_model_without_coefficients_stays_0():
    X, _ = _data(0)
    model = mc.KernelRidge(kernel=KERNEL).fit(X, np.zeros(150))
    assert not mc.compress(model, X, np.zeros(150), n_vectors=3).predict(X).any()


def _rings(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize((X**2).sum(axis=1), [0.8, 2.2])


def _misses(small, model, X):
    return np.mean(small.predict(X) != model.predict(X))


def test_smaller_models_of_a_report_agree_with_the_model_as_separate_compressions_do(
    global_random_seed,
):
    X, y = _rings(global_random_seed)
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    new, _ = _rings(1000 + global_random_seed, 2000)
    small = mc.compress(model, X, y, n_vectors=40, random_state=0)
    for size in (20, 15, 10):
        found, alone = (
            small.report_.at(size),
            mc.compress(model, X, y, n_vectors=size, random_state=0),
        )
        assert found.expansion_.shape[0] == found.report_.vectors_after == size
        assert type(found) is type(model)
        assert _misses(found, model, new) < _misses(alone, model, new) + 0.015


def test_a_curve_takes_fewer_kernel_values_than_its_largest_size(global_random_seed):
    X, y = _rings(global_random_seed)
    calls = []
    model = mc.SVC(10.0, kernel=KERNEL).fit(X, y)
    small = mc.compress(
        model, X, y, n_vectors=40, random_state=0, callback=lambda *_: calls.append(40)
    )
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
    np.testing.assert_array_equal(
        second.report_.at(5).expansion_.points, found[2].expansion_.points
    )
    np.testing.assert_array_equal(
        found[1].report_.at(5).expansion_.points, found[2].expansion_.points
    )


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


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda report: pickle.loads(pickle.dumps(report))]
)
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


@pytest.mark.parametrize(
    "model", [mc.SVR(10.0, kernel=KERNEL), mc.KernelPCA(2, kernel=KERNEL)], ids=repr
)
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


def test_the_fewest_vectors_within_a_loss_lose_less_on_held_out_rows_and_take_few_fits(
    monkeypatch, global_random_seed
):
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
    few, many = (
        mc.compress(model, X, y, max_loss=0.1, n_vectors=n, random_state=0) for n in (None, 10_000)
    )
    assert many.report_.vectors_after == few.report_.vectors_after < few.report_.vectors_before


@pytest.mark.parametrize("model", [mc.SVC(kernel=KERNEL), mc.SVR(kernel=KERNEL)], ids=repr)
def test_a_loss_needs_two_rows(model):
    X, y = _rings(0)
    model.fit(X, y)
    with pytest.raises(
        ValueError, match="X has 1 row for fits, but max_loss = 0.1 needs at least 2"
    ):
        mc.compress(model, X[:1], y[:1], max_loss=0.1)


@pytest.mark.parametrize("least", [1, 2, 5, 6, 13, 16, 17, 40])
@pytest.mark.parametrize("most", [1, 16, 30])
def test_the_fewest_that_suffice_are_found_by_doubling_then_by_smaller_ones_of_the_larger_fit(
    least, most
):
    sizes = []

    def fit(size, larger=None):
        assert larger is None or larger > size
        sizes.append(size)
        return size

    found = fewest(fit, lambda size: size >= least, most)
    assert (found is None) == (least > most)
    if found is not None:
        assert least <= found <= max(least * 1.2, least + 1)
        assert len(sizes) < 2 * np.log2(2 * found) + 3


def _error(K, F):
    A = np.column_stack([K, np.ones(len(K))])
    return np.sum((A @ np.linalg.lstsq(A, F, rcond=None)[0] - F) ** 2)


def test_each_vector_removed_is_the_one_least_missed_by_least_squares(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    K = mc.Gaussian(0.5)(rng.normal(size=(200, 3)), rng.normal(size=(9, 3)))
    F = K @ rng.normal(size=(9, 2)) + 0.3
    coef = np.linalg.lstsq(K - K.mean(axis=0), F - F.mean(axis=0), rcond=None)[0]
    left = list(range(9))
    for size in range(8, 0, -1):
        errors = [_error(K[:, [j for j in left if j != i]], F) for i in left]
        left.pop(int(np.argmin(errors)))
        np.testing.assert_array_equal(most_needed(K, coef, size), left)


def test_of_two_equal_vectors_one_goes_first(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    Z = rng.normal(size=(6, 2))
    K = mc.Gaussian(1.0)(rng.normal(size=(100, 2)), np.concatenate([Z, Z[:1]]))
    coef = np.concatenate([np.full((6, 1), 1.0), [[1.0]]])
    kept = most_needed(K, coef, 6)
    assert sum(i in kept for i in (0, 6)) == 1
    np.testing.assert_array_equal(most_needed(K, coef, 7), np.arange(7))


@pytest.mark.parametrize("method", [None, "greedy"])
def test_smaller_models_are_those_of_the_data_of_their_time(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    given = X.copy(), y.copy()
    small = mc.compress(model, *given, n_vectors=6, method=method, random_state=0)
    expected = small.report_.at(2)
    for each in given:
        each[:] = 0
    found = small.report_.at(2)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert str(found.report_) == str(expected.report_)
