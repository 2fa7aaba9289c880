"""Kernels of columns: sums and products are those of the columns; estimators take tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import mercer as mc

RNG = np.random.default_rng(0)
WORDS = ["".join(word) for word in RNG.choice(list("abc"), (40, 6))]
NUMBERS = RNG.standard_normal((40, 2))
FRAME = pd.DataFrame(
    {"dose": NUMBERS[:, 0], "text": WORDS, "age": NUMBERS[:, 1]}, index=RNG.permutation(40)
)
LABELS = np.array([word.count("a") for word in WORDS]) + (NUMBERS[:, 0] > 0) > 2
STRINGS = mc.Normalized(mc.strings.Spectrum(2))
BY_NAME = (
    mc.on_columns(STRINGS, "text")
    + 0.5 * mc.on_columns(mc.Gaussian("scale"), ["dose", "age"])
    + 1.0
)
BY_POSITION = mc.on_columns(STRINGS, 1) + 0.5 * mc.on_columns(mc.Gaussian("scale"), [0, -1]) + 1.0
TABLES = {"frame": FRAME, "array": FRAME.to_numpy(), "rows": FRAME.to_numpy().tolist()}


@pytest.mark.parametrize("name", TABLES)
def test_sums_and_products_are_those_of_the_kernels_of_the_columns(name):
    table, gaussian = TABLES[name], mc.Gaussian("scale").resolve(NUMBERS)
    kernel = BY_POSITION.resolve(table)
    expected = STRINGS(WORDS) + 0.5 * gaussian(NUMBERS) + 1.0
    np.testing.assert_allclose(kernel(table), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(table), 2.5, rtol=1e-12)
    np.testing.assert_allclose(
        mc.Gram(kernel, table) @ np.ones(40), expected.sum(axis=1), rtol=1e-12
    )
    product = mc.on_columns(STRINGS, 1) * mc.on_columns(gaussian, [0, 2])
    np.testing.assert_allclose(product(table), STRINGS(WORDS) * gaussian(NUMBERS), rtol=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_a_multiple_of_a_kernel_of_the_features_of_columns_takes_their_table(name):
    table = TABLES[name]
    expected = 2 * mc.kernels.OnFeatures(mc.Gaussian(0.5), STRINGS)(WORDS)
    kernel = 2 * mc.kernels.OnFeatures(mc.Gaussian(0.5), mc.on_columns(STRINGS, 1))
    np.testing.assert_allclose(kernel(table), expected, rtol=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_an_estimator_equals_the_one_on_the_matrix_of_kernel_values(name):
    table = TABLES[name]
    model = mc.SVC(kernel=BY_POSITION, C=10.0).fit(table, LABELS)
    K = BY_POSITION.resolve(FRAME)(FRAME)
    expected = mc.SVC(kernel="precomputed", C=10.0).fit(K, LABELS)
    np.testing.assert_allclose(
        model.decision_function(table), expected.decision_function(K), atol=1e-6
    )
    assert model.n_features_in_ == 3
    narrow = FRAME.iloc[:, :2]
    with pytest.raises(ValueError, match="feature names should match|X has 2 features"):
        model.predict(narrow if name == "frame" else narrow.to_numpy())


def test_names_of_columns_are_those_of_the_fit():
    model = mc.SVC(kernel=BY_NAME).fit(FRAME, LABELS)
    assert list(model.feature_names_in_) == ["dose", "text", "age"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME[["text", "dose", "age"]])


def test_cross_validation_and_grid_search_take_tables():
    model = mc.SVC(kernel=BY_NAME, C=10.0)
    assert cross_val_score(model, FRAME, LABELS, cv=3).shape == (3,)
    grid = {"kernel__left__left__kernel__kernel__length": [1, 2]}
    search = GridSearchCV(model, grid, cv=3).fit(FRAME, LABELS)
    assert search.best_estimator_.kernel_.left.left.kernel.kernel.length in (1, 2)


def test_several_columns_of_objects_are_tuples_and_one_is_its_values():
    seen = []
    kernel = mc.FunctionKernel(lambda A, B: seen.append(A) or np.ones((len(A), len(B))))
    mc.on_columns(kernel, ["text", "dose"])(FRAME[:2])
    mc.on_columns(kernel, ["text"])(FRAME[:2])
    mc.on_columns(kernel, ["age", "dose"])(FRAME[:2])
    assert seen[0] == [(WORDS[0], NUMBERS[0, 0]), (WORDS[1], NUMBERS[1, 0])]
    assert seen[1] == WORDS[:2]
    np.testing.assert_array_equal(seen[2], NUMBERS[:2, ::-1])


def test_columns_of_objects_are_kept_as_the_kernel_computes_with_them():
    members = pd.DataFrame({"age": np.arange(4.0), "tags": [["a"], ["b", "c"], ["a", "c"], ["b"]]})
    kernel = mc.on_columns(mc.sets.Tanimoto(), "tags") + mc.on_columns(mc.Linear(), "age")
    table = kernel.admit(members, "X")
    assert table.columns[1] == [frozenset(each) for each in members["tags"]]
    assert kernel.admit(table, "X") is table
    np.testing.assert_array_equal(kernel(table), kernel(members))


BAD = pd.DataFrame(
    {"word": [*WORDS[:5], np.nan, *WORDS[6:8]], "age": np.ones(8), "dose": np.ones(8)}
)
BAD.loc[6, "age"] = np.nan
WORD, AGE = mc.on_columns(mc.strings.Spectrum(2), "word"), mc.on_columns(mc.Linear(), "age")
BOTH = mc.on_columns(mc.Linear(), ["age", "dose"])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: mc.on_columns(mc.Linear(), "text")(FRAME),
            ValueError,
            r"column 'text'\[0\] of type str must be a number",
        ),
        (lambda: mc.on_columns(STRINGS, "age")(FRAME), TypeError, r"must be a string.*float"),
        (
            lambda: mc.on_columns(STRINGS, "word")(FRAME),
            ValueError,
            "column 'word' is not in the table of 3 columns",
        ),
        (
            lambda: mc.on_columns(mc.Linear(), "age") + mc.Linear(),
            ValueError,
            "same kind of points",
        ),
        (lambda: mc.on_columns(mc.Precomputed(), 0), ValueError, "must take rows or objects"),
        (lambda: mc.on_columns("rbf", 0), TypeError, "kernel must be a Kernel"),
        (lambda: mc.on_columns(mc.Linear(), []), TypeError, "at least one"),
        (
            lambda: mc.SVC(kernel=STRINGS).fit(FRAME, LABELS),
            TypeError,
            "combine kernels by mercer.on_columns",
        ),
        (lambda: mc.KernelPCA(kernel=BY_NAME).fit(FRAME[:1]), ValueError, "minimum of 2"),
        (lambda: mc.on_columns(mc.Gaussian(), "age")(FRAME), ValueError, "kernel.gamma = 'scale'"),
        (
            lambda: mc.SVC(kernel=WORD).fit(BAD, [0, 1] * 4),
            TypeError,
            r"X\['word'\]\[5\] must be a string.* got nan of",
        ),
        (
            lambda: mc.SVC(kernel=AGE).fit(BAD, [0, 1] * 4),
            ValueError,
            r"X\['age'\] contains NaN at \(6, 0\)",
        ),
        (
            lambda: mc.KernelPCA(kernel=BOTH).fit(BAD),
            ValueError,
            r"X\[\['age', 'dose'\]\] contains NaN at \(6, 0\)",
        ),
        # not columns 1, 0 and 0
        (
            lambda: mc.on_columns(mc.Linear(), [True, False, False])(np.eye(3)),
            ValueError,
            "column True is not in the table of 3 columns",
        ),
    ],
    ids=range(14),
)
def test_errors_name_the_column(make, error, message):
    with pytest.raises(error, match=message):
        make()


DAYS = np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]")


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (DAYS, TypeError, "must hold real numbers, got dates or durations"),
        (DAYS - DAYS[0], TypeError, "must hold real numbers, got dates or durations"),
        ([1 + 1j, 2.0], ValueError, "must hold real numbers, got dtype complex128"),
        ([1.0, 10**400], ValueError, r"\[1\] of type int must be at most 1.8e308"),
        (
            [1.0, None],
            (TypeError, ValueError),
            r"\[1\] of type NoneType must be a number|contains NaN at \(1, 0\)",
        ),
    ],
    ids=["dates", "durations", "complex", "large", "None"],
)
def test_a_kernel_of_rows_refuses_the_columns_that_it_refuses_as_rows(values, error, message):
    frame = pd.DataFrame({"day": values, "dose": [1.0, 2.0]})
    with pytest.raises(error, match=f"(column|X\\[)'?.*{message}"):
        mc.on_columns(mc.Linear(), "day")(frame)
    with pytest.raises(error):
        mc.Linear()(frame[["day"]])


@pytest.mark.parametrize("columns", [1.5, slice(0, 2), None], ids=str)
def test_columns_that_are_no_list_are_refused(columns):
    with pytest.raises(
        TypeError, match="columns = .* must be a name, a position, or a list of names and positions"
    ):
        mc.on_columns(mc.Linear(), columns)
