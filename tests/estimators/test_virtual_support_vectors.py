"""VirtualSupportVectors is two fits by hand, for every support vector machine that has support vectors."""

import copy
import functools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import mercer as mc
from mercer.invariance import image_transforms

K = mc.Gaussian(0.5)


def turned(X):
    """Turn rows by a small angle in their first two columns, or stretch a single column."""
    X = np.array(X)
    if X.shape[1] == 1:
        return 1.01 * X
    moved = X.copy()
    moved[:, 0], moved[:, 1] = 0.995 * X[:, 0] - 0.1 * X[:, 1], 0.1 * X[:, 0] + 0.995 * X[:, 1]
    return moved


def grown(X):
    return 1.02 * X


def failures(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    return {result["check_name"] for result in results if result["status"] == "failed"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "inner",
    [
        mc.SVC(kernel=K, C=2.0),
        pytest.param(mc.SVC(kernel="poly", multi_class="ovr"), marks=pytest.mark.slow),
        pytest.param(mc.SVR(kernel=K), marks=pytest.mark.slow),
        pytest.param(mc.OneClassSVM(kernel=K), marks=pytest.mark.slow),
        pytest.param(sklearn.svm.SVC(), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_it_passes_the_checks_that_the_wrapped_estimator_passes(inner):
    assert failures(mc.VirtualSupportVectors(inner, [grown])) <= failures(inner)


@pytest.fixture
def moons(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(90, 2))
    return X, np.digitize(np.linalg.norm(X, axis=1), [0.8, 1.6]), rng.uniform(0.5, 2, 90)


@pytest.mark.parametrize(
    "inner",
    [
        mc.SVC(kernel=K, C=3.0),
        mc.SVC(kernel=K, C=3.0, multi_class="ovr", decision_function_shape="ovo"),
        mc.NuSVC(kernel=K, nu=0.2),
        mc.SVR(kernel=K, epsilon=0.2),
        mc.NuSVR(kernel=K, nu=0.3),
        mc.OneClassSVM(kernel=K, nu=0.2),
        sklearn.svm.SVC(gamma=0.5),
        sklearn.svm.SVR(gamma=0.5),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_a_fit_to_support_vectors_and_moved_copies(inner, weighted, moons):
    X, y, weights = moons
    options = {"sample_weight": weights} if weighted else {}
    found = mc.VirtualSupportVectors(inner, [turned, grown]).fit(X, y, **options)
    first = clone(inner).fit(X, y, **options)
    rows = first.support_
    Z = np.concatenate([X[rows], turned(X[rows]), grown(X[rows])])
    options = {"sample_weight": np.tile(weights[rows], 3)} if weighted else {}
    second = clone(inner).fit(Z, np.tile(y[rows], 3), **options)
    np.testing.assert_array_equal(found.support_, rows)
    assert found.n_virtual_ == 2 * len(rows)
    np.testing.assert_array_equal(found.predict(X), second.predict(X))
    if hasattr(inner, "decision_function"):
        np.testing.assert_array_equal(found.decision_function(X), second.decision_function(X))
    if hasattr(second, "classes_"):
        np.testing.assert_array_equal(found.classes_, second.classes_)
        assert found.score(X, y, weights) == second.score(X, y, weights)
    if hasattr(second, "expansion_"):
        np.testing.assert_array_equal(
            found.expansion_(X) + found.intercept_, second.expansion_(X) + second.intercept_
        )


def reversed_words(words):
    return [word[::-1] for word in words]


def reversed_cells(table):
    return [[word[::-1], -number] for word, number in zip(*table.columns, strict=True)]


class Word:
    """An object that cannot be hashed."""

    __hash__ = None

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text == other.text


SPECTRUM = mc.strings.Spectrum(2)
WORDS = ["abab", "baba", "aabb", "abba", "cabd", "dbac", "ccdd", "cdcd", "dcdc", "dabc"]
CELLS = [[word, float(i)] for i, word in enumerate(WORDS)]
ROWS = np.random.default_rng(3).normal(size=(10, 2)).round(1)
REPEATED = {
    "rows": (K, ROWS, grown),
    "float32": (K, ROWS.astype(np.float32), grown),
    "sparse": (K, sp.csr_matrix(ROWS * (np.abs(ROWS) > 0.3)), grown),
    "words": (SPECTRUM, WORDS, reversed_words),
    "sets": (
        mc.sets.Overlap(),
        list(map(set, WORDS)),
        lambda sets: [{*each, "x"} for each in sets],
    ),
    "multisets": (mc.sets.MinMax(), list(map(Counter, WORDS)), lambda bags: bags),
    "lists": (SPECTRUM, list(map(list, WORDS)), reversed_words),
    "series": (
        mc.sequences.GlobalAlignment(1.0),
        list(np.random.default_rng(5).normal(size=(10, 4))),
        reversed_words,
    ),
    "tables": (
        mc.on_columns(SPECTRUM, 0) * mc.on_columns(mc.Gaussian(0.1), 1),
        CELLS,
        reversed_cells,
    ),
    "objects": (
        mc.FunctionKernel(lambda A, B: SPECTRUM([a.text for a in A], [b.text for b in B])),
        list(map(Word, WORDS)),
        lambda objects: [Word(each.text[::-1]) for each in objects],
    ),
}


@pytest.mark.parametrize(
    "inner", [mc.SVC(C=0.5), mc.SVR(C=0.5, epsilon=0.2), mc.OneClassSVM(nu=0.4)], ids=repr
)
@pytest.mark.parametrize("kind", REPEATED)
def test_a_weight_is_a_number_of_repetitions(kind, inner):
    kernel, X, move = REPEATED[kind]
    y = np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1]) * 0.8
    y = (y > 0) if isinstance(inner, mc.SVC) else y
    counts = np.array([2, 1, 3, 1, 0, 2, 1, 3, 2, 1])
    rows = np.repeat(np.arange(10), counts)
    # equal objects, and one object several times where equality cannot be seen
    copied = (lambda point: point) if kind == "objects" else copy.copy
    many = X[rows] if hasattr(X, "shape") else [copied(X[i]) for i in rows]
    if kind == "rows":
        # zeros of both signs are equal
        X, many = (
            np.column_stack([X, np.zeros(10)]),
            np.column_stack([many, np.where(np.arange(16) % 2, 0.0, -0.0)]),
        )
    model = mc.VirtualSupportVectors(clone(inner).set_params(kernel=kernel), [move])
    weighted = clone(model).fit(X, y, sample_weight=counts.astype(float))
    repeated = clone(model).fit(many, y[rows])
    method = "predict" if isinstance(inner, mc.SVR) else "decision_function"
    expected, atol = getattr(weighted, method)(X), 1e-4 if kind == "float32" else 1e-6
    np.testing.assert_allclose(getattr(repeated, method)(X), expected, atol=atol)
    assert counts[weighted.support_].min() > 0
    assert sorted(rows[repeated.support_]) == sorted(
        np.repeat(weighted.support_, counts[weighted.support_])
    )


def test_equal_rows_with_other_targets_are_not_taken():
    X, y = np.array([[0.0], [0.0], [1.0], [2.0], [3.0]]), np.array([5.0, 1.5, 0.0, 0.0, 0.0])
    model = mc.VirtualSupportVectors(mc.SVR(kernel=mc.Linear(), C=0.01, epsilon=1.0), [grown]).fit(
        X, y
    )
    assert 0 in model.support_
    assert 1 not in model.support_


def test_it_learns_the_invariance(global_random_seed):
    rng = np.random.default_rng(global_random_seed)

    def ring(n, width):
        angle, y = rng.uniform(-width, width, n), rng.integers(0, 2, n)
        return (1.0 + 0.5 * y + rng.normal(0, 0.08, n))[:, None] * np.stack(
            [np.cos(angle), np.sin(angle)], axis=1
        ), y

    X, y = ring(80, 0.6)
    new, labels = ring(400, np.pi)
    turns = [functools.partial(_turn, angle=angle) for angle in np.arange(-3.0, 3.1, 0.6)]
    plain = mc.SVC(kernel=mc.Gaussian(2.0), C=10).fit(X, y)
    found = mc.VirtualSupportVectors(clone(plain), turns).fit(X, y)
    assert found.score(new, labels) > plain.score(new, labels) + 0.2


def _turn(X, angle):
    return X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def test_objects_and_tables_are_moved_too():
    words = ["abab", "baba", "aabb", "ccdd", "cdcd", "dcdc"]
    for move in (lambda X: [word[::-1] for word in X], lambda X: (word[::-1] for word in X)):
        model = mc.VirtualSupportVectors(mc.SVC(kernel=mc.strings.Spectrum(2)), move)
        assert model.fit(words, [0, 0, 0, 1, 1, 1]).predict(["bbaa", "ddcc"]).tolist() == [0, 1]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    model = mc.VirtualSupportVectors(mc.SVC(kernel=K), [grown]).fit(X, X["a"] > 0)
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(model.predict(X), model.predict(X.copy()))


def test_a_move_in_place_leaves_the_support_vectors_as_they_are(moons):
    X, y, weights = moons

    def moved_in_place(X):
        X *= 1.1
        return X

    def lengthened(words):
        for word in words:
            word.append("z")
        return words

    first, second = (
        mc.VirtualSupportVectors(mc.SVC(kernel=K), move).fit(X, y, weights)
        for move in (moved_in_place, lambda X: 1.1 * X)
    )
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    words = [list(word) for word in ("ab", "abb", "bba", "ba")]

    def common(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    mc.VirtualSupportVectors(mc.SVC(kernel=common), lengthened).fit(words, [0, 0, 1, 1])
    assert [len(word) for word in words] == [2, 3, 3, 2]


def test_equal_objects_of_lists_in_dicts_are_taken_together():
    values = [[0.0, 1.0], [1.0, 1.0], [4.0, 0.0], [3.0, 4.0], [1.0, 1.0]]

    def products(A, B):
        return np.array([[float(np.dot(a["at"], b["at"])) for b in B] for a in A])

    model = mc.VirtualSupportVectors(mc.SVC(kernel=products), lambda X: X)
    model.fit([{"at": value} for value in values], [0, 0, 1, 1, 0])
    assert not {1, 4}.isdisjoint(model.support_)
    assert {1, 4} <= set(model.support_.tolist())


@pytest.mark.parametrize(
    "inner", [mc.SVR(epsilon=9.0), mc.NuSVR(), sklearn.svm.SVR(epsilon=9.0)], ids=repr
)
def test_without_support_vectors_the_constant_of_the_first_fit_remains(inner, moons):
    X, y = moons[0], np.full(90, 3.0)
    model = mc.VirtualSupportVectors(inner, [turned, grown]).fit(X, y)
    assert (model.n_virtual_, len(model.support_)) == (0, 0)
    np.testing.assert_array_equal(model.predict(X), clone(inner).fit(X, y).predict(X))


def test_it_composes_with_compress_searches_and_model_files(moons, tmp_path):
    X, y, _ = moons
    model = mc.VirtualSupportVectors(mc.SVC(kernel=K, C=10), [turned, grown]).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=20, neighbours=turned, random_state=0)
    assert type(small) is mc.SVC
    assert len(small.support_vectors_) <= 20
    assert small.score(X, y) > model.score(X, y) - 0.1
    mc.save(model.estimator_, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mc.load(tmp_path / "model.mercer").predict(X), model.predict(X))
    with pytest.raises(TypeError, match=r"moves\.0: function is a Python function.*estimator_"):
        mc.save(model, tmp_path / "model.mercer")
    search = GridSearchCV(
        model, {"estimator__C": [0.1, 10.0], "estimator__kernel__gamma": [0.5]}, cv=2
    ).fit(X, y)
    assert search.best_params_["estimator__C"] in (0.1, 10.0)


def test_transformations_of_images_are_moves_that_model_files_hold(tmp_path):
    X, y, g = np.random.default_rng(0).random((30, 16)), np.arange(30) % 3, image_transforms((4, 4))
    moves = [functools.partial(g["down"], t=1), functools.partial(g["thickness"], t=-0.5)]
    model = mc.VirtualSupportVectors(mc.SVC(kernel=K), moves).fit(X, y)
    assert model.n_virtual_ == 2 * len(model.support_)
    mc.save(model, tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.support_, model.support_)
    refitted = clone(again).fit(X, y)
    np.testing.assert_array_equal(refitted.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("inner", "moves", "error", "message"),
    [
        (
            mc.SVC(),
            [lambda X: X[:2]],
            ValueError,
            r"moves\[0\] must return one moved copy of each .* got \(2, 2\)",
        ),
        (
            mc.SVC(),
            [grown, lambda X: X[:, :1]],
            ValueError,
            r"moves\[1\] must return one moved copy",
        ),
        (mc.SVC(), lambda X: X * np.nan, ValueError, "Input moves contains NaN"),
        (mc.SVC(), [], TypeError, "moves must be a list of functions of points, at least one"),
        (mc.SVC(), [3], TypeError, r"moves\[0\] must be a function of points, got 3 of type int"),
        (mc.SVC(), "turn", TypeError, "moves must be a list of functions"),
        (
            mc.SVC(kernel="precomputed"),
            [grown],
            TypeError,
            "takes kernel values, which cannot be moved",
        ),
        (
            LogisticRegression(),
            [grown],
            TypeError,
            "has no support_ and support_vectors_ after fit",
        ),
        (mc.SVC, [grown], TypeError, "estimator must be a support vector machine"),
        (3, [grown], TypeError, "estimator must be a support vector machine"),
    ],
)
def test_unsuitable_arguments_are_refused(inner, moves, error, message, moons):
    X, y, _ = moons
    model = mc.VirtualSupportVectors(inner, moves)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")


def test_an_error_of_a_move_names_it(moons):
    with pytest.raises(ZeroDivisionError) as raised:
        mc.VirtualSupportVectors(mc.SVC(), [lambda X: X / (1 // 0)]).fit(*moons[:2])
    assert "Raised by moves[0] for" in raised.value.__notes__[0]
    with pytest.raises(TypeError) as raised:
        mc.VirtualSupportVectors(mc.SVC(), list(image_transforms((1, 2)).values())).fit(*moons[:2])
    assert "functools.partial(g, t=1)" in raised.value.__notes__[0]
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        mc.VirtualSupportVectors(mc.SVC(), [grown]).predict_proba(moons[0])


def test_a_row_of_weight_0_is_not_taken_beside_an_equal_one():
    X, y = np.array([[0.0], [0.0], [1.0]]), [0, 0, 1]
    model = mc.VirtualSupportVectors(mc.SVC(kernel=K), [grown]).fit(
        X, y, sample_weight=[1.0, 0.0, 1.0]
    )
    np.testing.assert_array_equal(model.support_, [0, 2])
    assert model.n_virtual_ == 2


@pytest.mark.parametrize(
    "inner", [sklearn.svm.SVC(gamma=0.5), sklearn.svm.SVR(), sklearn.svm.OneClassSVM()], ids=repr
)
@pytest.mark.parametrize(
    "container", [np.asarray, sp.coo_matrix, pd.DataFrame, list], ids=lambda each: each.__name__
)
def test_rows_of_weight_0_are_as_if_left_out_also_of_models_of_scikit_learn(
    inner, container, moons
):
    X, y, _ = moons
    weights = np.arange(len(X)) % 3 / 2.0
    kept, model = np.flatnonzero(weights), mc.VirtualSupportVectors(inner, [grown])
    found = clone(model).fit(container(X), y, sample_weight=weights)
    expected = clone(model).fit(container(X[kept]), y[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(found.support_, kept[expected.support_])
    np.testing.assert_array_equal(found.predict(container(X)), expected.predict(container(X)))


def test_a_table_of_sparse_columns_is_taken_as_its_dense_rows():
    rows = np.random.default_rng(0).standard_normal((40, 3))
    labels, sparse = rows[:, 0] > 0, pd.DataFrame(rows).astype(pd.SparseDtype(float, 0.0))
    expected = (
        mc.VirtualSupportVectors(mc.SVC(), [lambda A: A + 0.1])
        .fit(rows, labels)
        .decision_function(rows)
    )

    def moved(A):
        return sp.csr_matrix(A.toarray() + 0.1)

    found = mc.VirtualSupportVectors(mc.SVC(), [moved]).fit(sparse, labels)
    np.testing.assert_allclose(found.decision_function(rows), expected, atol=1e-6)


def test_sparse_rows_with_stored_zeros_equal_those_without():
    dense = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    stored = sp.csr_matrix(
        ([1.0, 1.0, 0.0, 2.0, 3.0, 3.0], [0, 0, 1, 1, 0, 1], [0, 1, 3, 4, 6]), shape=(4, 2)
    )
    y = [0, 0, 1, 1]
    plain, found = (
        mc.VirtualSupportVectors(mc.SVC(C=np.inf, kernel=K), lambda X: X).fit(X, y)
        for X in (dense, stored)
    )
    np.testing.assert_array_equal(np.sort(found.support_), np.sort(plain.support_))
    assert {0, 1} <= set(found.support_.tolist())
    np.testing.assert_allclose(
        found.decision_function(dense), plain.decision_function(dense), atol=1e-8
    )
