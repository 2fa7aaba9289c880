"""TableRegressor: errors on data sets, messy tables, weights, importances, files, refused tables."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.expansion import summands

polars = pytest.importorskip("polars", reason="polars is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@parametrize_with_checks(
    [mc.TableRegressor(), mc.TableRegressor(n_landmarks=20, memory="1MB", random_state=1)]
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def table(seed, n=240):
    """Return a table with categories, missing numbers and flags, and targets."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    flag = rng.random(n) < 0.5
    y = np.where(colour == "red", np.sin(2 * size), size) + flag
    X = pd.DataFrame(
        {"size": np.where(rng.random(n) < 0.1, np.nan, size), "colour": colour, "flag": flag}
    )
    X["weight"] = rng.lognormal(size=n)
    X.loc[::17, "colour"] = None
    return X, y


SPLITS = {
    "kin8nm": 0.335,
    "uci_concrete": 0.25,
    "house8l": 0.64,
    "uci_wine": 0.42,
    "cadata": 0.49,
    "cpusmall": 0.16,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITS)
def test_errors_on_data_sets_are_those_that_the_documentation_states(name, data):
    found = data(name)
    X, y, errors = found["X"].astype(float), found["y"].astype(float), []
    for seed in (0, 1):
        order = np.random.default_rng(1000 + seed).permutation(len(y))
        m = min(1000, int(0.75 * len(y)))
        train, test = order[:m], order[m : m + 4000]
        model = mc.TableRegressor().fit(X[train], y[train])
        errors.append(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)) / y[test].std())
    assert np.mean(errors) <= SPLITS[name]


def test_a_messy_table_is_predicted_where_its_noise_ends(global_random_seed):
    X, y = table(global_random_seed)
    model = mc.TableRegressor().fit(X[:180], y[:180])
    assert model.score(X[180:], y[180:]) > 0.6
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances.argmax() == 0
    assert list(model.feature_names_in_) == ["size", "colour", "flag", "weight"]


def test_libraries_of_tables_and_lists_of_rows_give_one_model(global_random_seed):
    X, y = table(global_random_seed, 100)
    X["flag"] = X["flag"].astype(float)
    rows = X.astype(object).where(X.notna(), None)
    expected = mc.TableRegressor().fit(X, y).predict(X)
    for other in (
        polars.from_pandas(X),
        pyarrow.Table.from_pandas(X),
        rows.to_numpy().tolist(),
        rows.to_numpy(),
    ):
        np.testing.assert_allclose(
            mc.TableRegressor().fit(other, y).predict(other), expected, atol=1e-9
        )


def test_dictionaries_of_arrow_are_the_categories_of_pandas(global_random_seed):
    X, y = table(global_random_seed, 200)
    X["colour"] = X["colour"].astype("category")
    X["flag"] = pd.Categorical(np.where(np.arange(200) % 13, X["flag"] * 7, None))
    model = mc.TableRegressor().fit(X, y)
    arrow = pyarrow.Table.from_pandas(X)
    assert {(column.source, column.kind) for column in model.columns_} >= {(2, "levels")}
    for other in (arrow, X.assign(flag=X["flag"].astype(pd.ArrowDtype(arrow["flag"].type)))):
        np.testing.assert_array_equal(model.predict(other), model.predict(X))
        np.testing.assert_array_equal(
            mc.TableRegressor().fit(other, y).predict(other), model.predict(X)
        )


def test_intervals_contain_about_their_share_of_new_targets():
    shares = []
    for seed in range(4):
        X, y = table(seed, 700)
        y = y + 0.3 * np.random.default_rng(seed).normal(size=700)
        model = mc.TableRegressor().fit(X[:300], y[:300])
        found = model.predict_interval(X[300:], confidence=0.8)
        np.testing.assert_allclose(found.mean(axis=1), model.predict(X[300:]))
        shares.append(np.mean((found[:, 0] <= y[300:]) & (y[300:] <= found[:, 1])))
        # the smallest radius that holds ceil(0.8 (m + 1)) of the m residuals
        sizes, radius = np.abs(model.held_out_residuals_[:, 0]), np.diff(found[0]).item() / 2
        m = len(sizes)
        assert (
            np.count_nonzero(sizes <= radius + 1e-9)
            == np.ceil(0.8 * (m + 1))
            > np.count_nonzero(sizes < radius - 1e-9)
        )
        assert np.isinf(model.predict_interval(X[:2], confidence=1 - 0.5 / m)).all()
    assert np.mean(shares) == pytest.approx(0.8, abs=0.03)


def test_few_vectors_for_all_members_predict_as_the_model_does(tmp_path, global_random_seed):
    X, y = table(global_random_seed)
    model = mc.TableRegressor().fit(X, y)
    found = model.predict(X)
    small = mc.compress(model, X, n_vectors=30, random_state=0)
    assert np.std(small.predict(X) - found) < 0.35 * np.std(found)
    # the error in feature space is that of the vectors of all blocks, among which inner products are 0
    parts, chi = summands(model.expansion_), small.expansion_
    of_parts = [mc.Expansion(part.kernel, chi.points, chi.coef) for part in parts]
    pairs = zip(parts, of_parts, strict=True)
    square = sum(mc.sqdist(part, own, paired=True) for part, own in pairs)
    size = sum(part.norms() ** 2 for part in parts)
    assert small.report_.relative_error == pytest.approx(np.sqrt(square / size), rel=1e-6)
    assert small.feature_importances_.sum() == pytest.approx(1)
    mc.save(small, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(X), small.predict(X))


def test_intervals_need_equal_weights_and_the_residuals_of_a_fit(tmp_path, global_random_seed):
    X, y = table(global_random_seed, 60)
    model = mc.TableRegressor().fit(X, np.column_stack([y, 3 * y]), sample_weight=np.full(60, 2.0))
    found = model.predict_interval(X)
    assert found.shape == (60, 2, 2)
    np.testing.assert_allclose(found[:, :, 1], 3 * found[:, :, 0], rtol=1e-6)
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict_interval(X), found)
    with pytest.raises(AttributeError, match="a model that was fitted; this one has other vectors"):
        mc.compress(model, X, n_vectors=40).predict_interval(X)
    weighted = mc.TableRegressor().fit(X, y, sample_weight=np.arange(60))
    with pytest.raises(ValueError, match="needs a fit with equal sample_weight"):
        weighted.predict_interval(X)


def test_unseen_categories_are_none_of_the_known_ones_and_rare_ones_are_joined(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    letters = rng.choice(list("ab"), 80).tolist() + ["x", "y", "z"]
    y = np.array([{"a": 0.0, "b": 1.0}.get(letter, 5.0) for letter in letters]) + 0.01 * rng.normal(
        size=83
    )
    X = pd.DataFrame({"letter": letters, "noise": rng.normal(size=83)})
    model = mc.TableRegressor().fit(X, y)
    levels = [column.levels for column in model.columns_ if column.kind == "levels"]
    assert sorted(map(sorted, levels)) == [["a"], ["b"], ["x", "y", "z"]]
    new = pd.DataFrame({"letter": ["x", "never"], "noise": [0.0, 0.0]})
    known = model.encode(new)[:, [column.kind == "levels" for column in model.columns_]]
    assert (known[1] <= known[0]).all()
    assert np.isfinite(model.predict(new)).all()


def test_a_weight_is_a_number_of_repetitions_and_rows_of_weight_zero_do_not_count(
    global_random_seed,
):
    X, y = table(global_random_seed, 90)
    weights = np.arange(90) % 3
    left = mc.TableRegressor().fit(X, y, sample_weight=weights)
    right = mc.TableRegressor().fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
    np.testing.assert_allclose(left.predict(X), right.predict(X), atol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e-300])
def test_columns_and_targets_whose_squares_are_zero_are_fitted_as_their_multiples(
    size, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    expected = mc.TableRegressor(random_state=0).fit(X, y).predict(X)
    found = mc.TableRegressor(random_state=0).fit(X * [size, 1], y * size).predict(X * [size, 1])
    assert np.std(found / size - expected) < 0.1 * np.std(expected - y)


@pytest.mark.parametrize("size", [1e-309, 5e-324])
def test_columns_of_subnormal_numbers_count_as_constant(size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = mc.TableRegressor(random_state=0).fit(X * [1, size], X[:, 0])
    assert [column.source for column in model.columns_] == [0]
    np.testing.assert_allclose(model.predict(X * [1, 0]), X[:, 0], atol=0.05)


def test_the_expansion_is_a_sum_over_kernels_with_the_predictions_and_gradients(global_random_seed):
    X, y = table(global_random_seed)
    model = mc.TableRegressor().fit(X, np.column_stack([y, -2 * y]))
    rows = model.encode(X)
    np.testing.assert_allclose(
        model.expansion_(rows) + model.intercept_, model.predict(X), atol=1e-12
    )
    total = sum(part(rows) for part in summands(model.expansion_))
    np.testing.assert_allclose(total + model.intercept_, model.predict(X), atol=1e-12)
    read = mc.as_expansion(model)
    np.testing.assert_allclose(read(rows), model.predict(X), atol=1e-12)
    # the same for both targets, up to their scale
    np.testing.assert_allclose(model.predict(X)[:, 1], -2 * model.predict(X)[:, 0], atol=1e-9)


def test_a_file_keeps_columns_and_predictions(tmp_path, global_random_seed):
    X, y = table(global_random_seed, 60)
    model = mc.TableRegressor().fit(X, y)
    mc.save(model, tmp_path / "model")
    found = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    assert [column.levels for column in found.columns_] == [
        column.levels for column in model.columns_
    ]


def test_landmarks_predict_like_all_rows(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-2, 2, size=(600, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    whole = mc.TableRegressor().fit(X, y)
    few = mc.TableRegressor(n_landmarks=150).fit(X, y)
    assert {part.shape[0] for part in summands(few.expansion_)} == {150}
    assert np.sqrt(np.mean((few.predict(X) - whole.predict(X)) ** 2)) < 0.05 * y.std()
    assert mc.plan(few, 600, 2).route == "landmarks"


def messy(rng, n):
    """Return a table of n rows and one of 20 new rows, with an unseen category and with missing entries."""
    size = n + 20
    columns = {}
    for j in range(rng.integers(1, 6)):
        numbers = rng.normal(size=size) * 10.0 ** rng.integers(-100, 100)
        kinds = [
            numbers,
            np.where(rng.random(size) < 0.4, np.nan, numbers),
            np.full(size, np.nan),
            np.zeros(size),
            np.append(rng.choice(["a", "b", "c", None], n), ["unseen", None] * 10),
            np.array([f"only {i % 9}" for i in range(size)], object),
            np.append(numbers[:n], np.full(20, np.nan)),
            rng.random(size) < 0.5,
            pd.Categorical(rng.integers(0, 4, size)),
            pd.array(rng.integers(0, 4, size), "Int64"),
        ]
        columns[f"c{j}"] = kinds[rng.integers(len(kinds))]
    columns["copy"] = columns["c0"]
    table = pd.DataFrame(columns)
    return table[:n], table[n:]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_messy_table_is_fitted_better_than_by_a_constant_or_refused_by_name(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 5, 30, 60]))
    X, new = messy(rng, n)
    is_regression = seed % 2 == 0
    y = rng.normal(size=n) if is_regression else rng.integers(0, 3, n)
    reasons = []
    if n == 1 and is_regression:
        reasons.append("needs a minimum of 2")
    if len(np.unique(y)) == 1:
        reasons.append("needs at least two classes")
    # categories of fewer than 4 rows are one
    counts = [X[name].value_counts(dropna=False) for name in X]
    is_number = [pd.api.types.is_numeric_dtype(X[name]) for name in X]
    if not any(
        len(found) > 1 and (number or found.max() >= 4)
        for found, number in zip(counts, is_number, strict=True)
    ):
        reasons.append("all columns are constant")
    model = mc.TableRegressor() if is_regression else mc.TableClassifier()
    if reasons:
        with pytest.raises(ValueError, match="|".join(reasons)):
            model.fit(X, y)
        return
    model.fit(X, y)
    if is_regression:
        assert np.isfinite(model.predict(new)).all()
        assert np.mean((model.predict(X) - y) ** 2) <= (1 + 1e-9) * y.var()
    else:
        np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1)
        assert np.isin(model.predict(new), y).all()
        assert np.mean(model.predict(X) == y) >= np.bincount(y).max() / n


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (
            pd.date_range("2020-01-01", periods=60),
            TypeError,
            "has dates or durations; give numbers, such as the month",
        ),
        (
            [f"text number {i}" for i in range(60)],
            ValueError,
            "60 different texts in 60 rows, which are no categories",
        ),
        ([{"a": 1}] * 60, TypeError, "argument must be a string or a real number"),
        ([np.inf] + [0.0] * 59, ValueError, "contains infinity in column 'bad'"),
        ([1e200] + [0.0] * 59, ValueError, "column 'bad' of X.* squares overflow"),
        ([1j] * 60, (TypeError, ValueError), "omplex"),
    ],
    ids=["dates", "texts", "objects", "infinite", "huge", "complex"],
)
def test_columns_that_cannot_be_read_are_refused_with_a_remedy(column, error, message):
    X = pd.DataFrame({"good": np.arange(60.0), "bad": column})
    with pytest.raises(error, match=message):
        mc.TableRegressor().fit(X, np.arange(60.0))


def test_texts_in_a_column_of_numbers_are_refused_at_predictions():
    X = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) % 7})
    model = mc.TableRegressor().fit(X, np.arange(30.0))
    with pytest.raises(
        ValueError, match="column 'a' of X has the text 'x', but had numbers in the fit"
    ):
        model.predict(pd.DataFrame({"a": ["x"], "b": [1.0]}))


@pytest.mark.parametrize(
    ("fitted", "new", "message"),
    [
        (str, float, "column 'code' of X has the number 1.0, but had texts in the fit; give texts"),
        (
            "category",
            str,
            "column 'code' of X has the text '1', but had numbers in the fit; give numbers",
        ),
    ],
    ids=["numbers for texts", "texts for categories of numbers"],
)
def test_categories_of_another_type_are_refused_instead_of_taken_for_unseen_ones(
    fitted, new, message
):
    codes, x = pd.Series(np.tile([1, 2, 3], 10)), np.arange(30.0)
    given = pd.DataFrame({"code": codes.astype(fitted), "x": x})
    model = mc.TableRegressor().fit(given, x + np.tile([0.0, 20.0, 0.0], 10))
    with pytest.raises(ValueError, match=message):
        model.predict(pd.DataFrame({"code": codes.astype(new), "x": x}))
    # a missing entry changes the prediction of its row only
    some = given.assign(code=given["code"].astype(object).where(x > 2, None))
    np.testing.assert_allclose(model.predict(some)[3:], model.predict(given)[3:], rtol=1e-12)


def test_categories_of_numbers_are_numbers_where_the_fit_had_numbers():
    X = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) % 7})
    X.loc[3, "b"] = np.nan
    model = mc.TableRegressor().fit(X, np.arange(30.0))
    np.testing.assert_array_equal(model.predict(X.astype({"b": "category"})), model.predict(X))


BITS = """
import hashlib
import numpy as np, mercer as mc
rng = np.random.default_rng(0)
X = rng.normal(size=(700, 5))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
models = mc.TableRegressor().fit(X, y), mc.TableClassifier().fit(X, np.digitize(y, [-1, 1]))
Z = rng.normal(size=(3000, 5))
for model in models:
    for array in (model.expansion_.coef, model.expansion_(model.encode(Z)), model.predict(Z)):
        print(hashlib.sha256(array.tobytes()).hexdigest())
"""


def test_numbers_of_threads_give_models_and_predictions_of_equal_bits():
    found = set()
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        command = [sys.executable, "-W", "ignore", "-c", BITS]
        found.add(
            subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    assert len(found) == 1
