"""Columns of odd types and edge values: a table is refused with words, or equals the table of its numbers or texts."""

import datetime
import decimal
import re

import numpy as np
import pytest

import mercer as mc

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore")
N = 60


def numbers(rng):
    return rng.integers(0, 9, N)


def letters(x):
    return np.array([*"abc"])[x % 3]


# Columns made of integers from 0 to 8, and the plain columns of numbers or texts that they mean.
MEANS = {
    "int8": lambda x: (pd.Series(x, dtype="int8"), x.astype(float)),
    "uint64": lambda x: (pd.Series(x, dtype="uint64"), x.astype(float)),
    "float16": lambda x: (pd.Series(x.astype("float16")), x.astype(float)),
    "float32": lambda x: (
        pd.Series(x / 3, dtype="float32"),
        (x / 3).astype(np.float32).astype(float),
    ),
    "Int64": lambda x: (pd.Series(x, dtype="Int64"), x.astype(float)),
    "Float64": lambda x: (pd.Series(x / 3, dtype="Float64"), x / 3),
    "bool": lambda x: (pd.Series(x > 4), (x > 4).astype(float)),
    "object numbers": lambda x: (pd.Series(x / 3, dtype=object), x / 3),
    "string": lambda x: (pd.Series(letters(x), dtype="string"), letters(x)),
    "category": lambda x: (pd.Series(letters(x), dtype="category"), letters(x)),
    "list of texts": lambda x: (pd.Series(letters(x).tolist()), letters(x)),
}
# Columns that are refused, or predicted with finite numbers.
ODD = {
    "dates": lambda rng: pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(numbers(rng), "D")),
    "time spans": lambda rng: pd.Series(pd.to_timedelta(numbers(rng), "D")),
    "decimals": lambda rng: pd.Series([decimal.Decimal(int(x)) / 3 for x in numbers(rng)]),
    "complex": lambda rng: pd.Series(numbers(rng) + 1j),
    "lists": lambda rng: pd.Series([[1, int(x)] for x in numbers(rng)]),
    "date objects": lambda rng: pd.Series(
        [datetime.date(2020, 1, 1 + int(x)) for x in numbers(rng)]
    ),
    "periods": lambda rng: pd.Series(pd.period_range("2020-01", periods=N, freq="M")),
    "huge integers": lambda rng: pd.Series([10**30 + int(x) for x in numbers(rng)]),
    "uint64 beyond int64": lambda rng: pd.Series(numbers(rng).astype("uint64") + np.uint64(2**63)),
    "subnormal": lambda rng: pd.Series(numbers(rng) * 5e-324),
    "large": lambda rng: pd.Series(numbers(rng) * 1e300),
    "all missing": lambda rng: pd.Series([None] * N),
    "all nan": lambda rng: pd.Series(np.full(N, np.nan)),
    "constant": lambda rng: pd.Series(np.ones(N)),
    "mixed": lambda rng: pd.Series(
        [int(x) if x % 2 else str(x) for x in numbers(rng)], dtype=object
    ),
    "missing booleans": lambda rng: pd.Series([True, None, False] * (N // 3), dtype="boolean"),
    "missing integers": lambda rng: pd.Series([1, None, 3] * (N // 3), dtype="Int64"),
    "infinite": lambda rng: pd.Series(np.where(numbers(rng) == 1, np.inf, 0.0)),
}
MODELS = {"TableRegressor": mc.TableRegressor, "TableClassifier": mc.TableClassifier}


def table(column, rng):
    return pd.DataFrame({"a": np.asarray(rng.normal(size=N)), "b": column})


def outputs(model, X):
    return np.asarray(
        model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X),
        float,
    )


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_column_of_another_type_is_the_column_of_its_numbers_or_texts(
    name, kind, global_random_seed
):
    column, plain = MEANS[name](numbers(np.random.default_rng(global_random_seed)))
    X, Z = (table(each, np.random.default_rng(1)) for each in (column, plain))
    y = np.asarray(X["a"]) + (pd.factorize(plain)[0] % 2)
    y = y > np.median(y) if kind == "TableClassifier" else y
    ours, theirs = (outputs(MODELS[kind]().fit(each, y), each) for each in (X, Z))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", MODELS)
def test_a_column_of_odd_values_is_refused_with_words_or_predicted_by_numbers(
    name, kind, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = table(ODD[name](rng), rng)
    y = np.asarray(X["a"])
    y = y > np.median(y) if kind == "TableClassifier" else y
    refusal = ""
    try:
        model = MODELS[kind]().fit(X, y)
        found = outputs(model, X)
    except (TypeError, ValueError) as error:
        refusal = str(error)
    assert not refusal or re.search("X|column", refusal)
    if not refusal:
        assert np.isfinite(found).all()
        # a row alone is that row among others
        np.testing.assert_allclose(outputs(model, X.iloc[3:4]), found[3:4], rtol=1e-6, atol=1e-9)
