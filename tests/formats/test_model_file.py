"""A loaded model predicts like the saved one, files of every version load, and models that contain code are refused.

F12 and F14 are rows of the catalogue of failures that other formats had.
"""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from tests.formats.golden import make

import mercer as mc
from mercer.formats import model_card, model_file
from mercer.formats.fitted_expansion import FittedExpansion

GOLDEN = Path(__file__).parent / "golden"
MODELS = make.models()
X, NEW, TARGET, THREE = make.X, make.NEW, make.TARGET, make.THREE


# --- saved and loaded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_the_same_bits_and_is_saved_to_the_same_bytes(name, tmp_path):
    model = MODELS[name]
    mc.save(model, tmp_path / "first")
    loaded = mc.load(tmp_path / "first")
    assert type(loaded) is type(model)
    assert make.answers(loaded, make.new_points(name)) == make.answers(model, make.new_points(name))
    mc.save(loaded, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()


@pytest.mark.parametrize("weights", [None, 0.1 + np.random.default_rng(0).random(len(X))])
@pytest.mark.parametrize(
    "model",
    [
        mc.KernelPCA(2, kernel="rbf"),
        mc.KernelPCA(2, kernel="rbf", landmarks=5, whiten=True),
        mc.KernelMap("rbf"),
        mc.KernelMap("rbf", landmarks=5),
        mc.KernelFisher(kernel="rbf", mu=0.1),
        mc.NuSVC(0.1, kernel="rbf"),
        mc.SVDD(0.2),
        mc.SVCCV(Cs=[1.0, 2.0], cv=3),
        mc.TableClassifier(n_landmarks=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loaded_model_of_weighted_points_predicts_the_same(model, weights, tmp_path):
    model = clone(model).fit(
        X, None if isinstance(model, mc.KernelMap) else THREE, sample_weight=weights
    )
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    for method in ("predict", "transform", "score_samples", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(loaded, method)(NEW), getattr(model, method)(NEW))


@pytest.mark.parametrize("name", [name for name in MODELS if hasattr(MODELS[name], "set_params")])
def test_a_loaded_estimator_has_the_parameters_and_fitted_attributes_and_can_be_cloned(
    name, tmp_path
):
    model = MODELS[name]
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    assert repr(loaded) == repr(model)
    assert repr(clone(loaded)) == repr(clone(model))
    if name != "pipeline":
        assert vars(loaded).keys() == vars(model).keys() - {"scorer_", "_training"}
        for attribute, value in vars(loaded).items():
            if isinstance(value, np.ndarray):
                own = getattr(model, attribute)
                assert (value.dtype, value.shape) == (own.dtype, own.shape)
                np.testing.assert_array_equal(value, own)


@pytest.mark.parametrize("name", MODELS)
def test_files_of_every_version_load_and_predict_the_recorded_values(name):
    folders = sorted(GOLDEN.glob("version*"))
    assert [folder.name for folder in folders] == [
        f"version{i}" for i in range(1, model_file.VERSION + 1)
    ]
    for folder in folders:
        stated = json.loads((folder / "answers.json").read_text())[name]
        model = mc.load(folder / f"{name}.mercer")
        found = make.answers(model, np.array(stated["new"]))
        assert found.keys() == stated["says"].keys()
        for method, values in stated["says"].items():
            if np.asarray(values).dtype.kind == "U":
                assert found[method] == values
            else:
                np.testing.assert_allclose(
                    found[method], values, rtol=1e-12, atol=1e-6 if "float32" in name else 1e-12
                )


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("version*/*.libsvm")), ids=lambda path: path.stem
)
def test_text_models_of_every_version_load_and_predict_the_recorded_values(path):
    stated = json.loads((path.parent / "answers.json").read_text())[path.stem]
    values = stated["says"].get("decision_function", stated["says"]["predict"])
    np.testing.assert_allclose(
        mc.as_expansion(path)(np.array(stated["new"]))[:, 0], values, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_methods_of_an_estimator_beyond_prediction_survive(dtype, tmp_path):
    points = X.astype(dtype)
    pca, ridge = (
        mc.KernelPCA(3, kernel=make.K).fit(points),
        mc.KernelRidge(0.1, kernel=make.K).fit(points, TARGET),
    )
    for model in (pca, ridge):
        mc.save(model, tmp_path / type(model).__name__)
    again, other = mc.load(tmp_path / "KernelPCA"), mc.load(tmp_path / "KernelRidge")
    np.testing.assert_array_equal(again.denoise(points[:2]), pca.denoise(points[:2]))
    np.testing.assert_array_equal(other.variance(points), ridge.variance(points))
    np.testing.assert_array_equal(other.loo_residuals_, ridge.loo_residuals_)
    assert other.fit(points, TARGET).predict(points).dtype == dtype


@pytest.mark.parametrize(
    "labels",
    [
        THREE,
        THREE.astype(object),
        make.TWO.astype(bool),
        make.TWO * 2.5,
        (make.TWO + 2**40).astype(np.uint64),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, tmp_path):
    if labels.dtype == float:
        labels = labels * 2
    model = mc.SVC(kernel=make.K).fit(X, labels)
    mc.save(model, tmp_path / "model")
    predicted = mc.load(tmp_path / "model").predict(NEW)
    assert predicted.dtype == model.classes_.dtype
    np.testing.assert_array_equal(predicted, model.predict(NEW))


def test_tables_keep_the_names_of_their_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["height", "width", "\N{GREEK SMALL LETTER DELTA}"])
    model = make_pipeline(
        StandardScaler().set_output(transform="pandas"), mc.SVC(kernel=make.K)
    ).fit(table, THREE)
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(table), model.decision_function(table))
    assert list(loaded[-1].feature_names_in_) == list(table.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table[table.columns[::-1]])


@pytest.mark.parametrize(
    "scaler", [MinMaxScaler(), RobustScaler(with_centering=False), StandardScaler(with_mean=False)]
)
@pytest.mark.parametrize(
    "last", [mc.SVR(), mc.Kernelized(LogisticRegression(C=10.0), make.K, landmarks=6)], ids=repr
)
def test_pipelines_of_scalers_and_models_are_read_back(scaler, last, tmp_path):
    model = make_pipeline(scaler, last).fit(X, make.TWO)
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(NEW), model.predict(NEW))


def test_numbers_that_are_not_finite_are_kept_where_a_fit_leaves_them(tmp_path):
    model = mc.KernelPerceptron(kernel=make.K).fit(X, make.TWO)
    # assignments take no NaN
    vars(model)["mistake_bound_"] = np.array([np.nan, np.inf, -np.inf])
    model.note_ = (float("nan"), -np.inf, np.float32("inf"), -0.0, 5e-324, 2**64 - 1)
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.mistake_bound_, model.mistake_bound_)
    assert repr(loaded.note_) == repr(model.note_)


def test_orders_in_memory_and_shared_arrays_stay_as_they_are(tmp_path):
    coef = np.asfortranarray(np.cos(np.outer(np.arange(14.0), np.arange(5))))
    psi = mc.Expansion(make.K, X, coef)
    mc.save(psi, tmp_path / "expansion")
    assert mc.load(tmp_path / "expansion").coef.flags.f_contiguous
    pca = mc.KernelPCA(2, kernel=make.K).fit(X)
    mc.save(pca, tmp_path / "pca")
    loaded = mc.load(tmp_path / "pca")
    assert np.shares_memory(loaded.mean_.points, loaded.expansion_.points)


def test_models_of_scikit_learn_are_saved_as_expansions(tmp_path):
    sk = pytest.importorskip("sklearn.svm")
    fitted = mc.as_expansion(sk.SVC().fit(X, THREE))
    mc.save(fitted, tmp_path / "fitted")
    np.testing.assert_array_equal(mc.load(tmp_path / "fitted")(NEW), fitted(NEW))


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (mc.SVR(kernel=lambda A, B: A @ B.T), r"SVR.kernel: .*Python function, which is code"),
        (mc.SVR(kernel=mc.FeatureMap(np.abs)), r"SVR.kernel: FeatureMap.*code"),
        (mc.SVR(kernel=mc.Rescaled(mc.Linear(), lambda A: A[:, 0])), r"SVR.kernel.c: .*code"),
        (mc.KernelRidge(landmarks=3, random_state=np.random.RandomState(0)), r"KernelRidge.random_state: .*State"),
    ],
    ids=["function", "FeatureMap", "Rescaled", "RandomState"],
)  # fmt: skip
def test_code_is_refused_by_the_name_of_its_attribute_and_leaves_no_file(model, where, tmp_path):
    model.fit(X, TARGET)
    with pytest.raises(TypeError, match=where):
        mc.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_objects_that_are_not_fitted_models_are_refused(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    class Mine(mc.SVC):
        pass

    with pytest.raises(NotFittedError):
        mc.save(mc.SVC(), tmp_path / "model")
    with pytest.raises(NotFittedError):
        mc.save(make_pipeline(StandardScaler(), mc.SVC()), tmp_path / "model")
    for thing in (X, {"a": 1}, None):
        with pytest.raises(TypeError, match=f"got {type(thing).__name__}"):
            mc.save(thing, tmp_path / "model")
    for foreign in (DecisionTreeClassifier(), Mine()):
        words = f"must be a fitted estimator of Mercer, .*got {type(foreign).__name__} of {type(foreign).__module__}; "
        with pytest.raises(TypeError, match=words):
            mc.save(foreign.fit(X, THREE), tmp_path / "model")
    with pytest.raises(TypeError, match=r"write mercer\.save\(model, 'model\.mercer'\)"):
        mc.save("model.mercer", mc.SVC())
    with pytest.raises(TypeError, match="got one that ends in a Pipeline; join their steps"):
        mc.save(
            make_pipeline(make_pipeline(StandardScaler(), mc.SVC())).fit(X, THREE),
            tmp_path / "model",
        )
    assert list(tmp_path.iterdir()) == []


# --- training data in a file ------------------------------------------------------------------------------------------


def test_a_search_with_a_splitter_is_saved_as_the_error_says(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    search = mc.SVCCV(Cs=[1.0], cv=KFold(3)).fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match=r"best_estimator_, or .* model\.set_params\(cv=5\)"):
        mc.save(search, tmp_path / "search.mercer")
    mc.save(search.set_params(cv=5), tmp_path / "search.mercer")
    again = mc.load(tmp_path / "search.mercer")
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))


@pytest.mark.parametrize("name", MODELS)
def test_f12_the_card_counts_the_training_rows_in_a_file(name, tmp_path):
    mc.save(MODELS[name], tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    card = model_card(MODELS[name])
    # rows as they are, wherever in the file they lie; scalers, transposes and float32 would hide them
    plain = name not in ("pipeline", "SVC-one-vs-rest-float32", "SVC-sparse", "SVC-precomputed")
    inside = sum(row.tobytes() in content for row in X) if plain else 0
    assert card["rows_stored"] >= inside
    assert card["bytes"] < len(content)
    if name in ("KernelRidge", "KernelPCA", "KernelFisher", "Expansion", "kernel"):
        assert card["rows_stored"] == 14 == inside
    if name == "PCAL1":
        assert (card["rows_stored"], inside) == (0, 0)


def test_f12_the_card_names_the_model_and_its_kernel():
    card = model_card(MODELS["pipeline"])
    assert (card["model"], card["features"]) == ("SVC", 3)
    assert card["kernel"] == "Laplacian(gamma=0.2)"
    sparse = MODELS["SVC-sparse"]
    assert sp.issparse(sparse.support_vectors_)
    assert model_card(sparse)["rows_stored"] == len(sparse.support_)


def test_f12_the_card_of_a_pipeline_counts_the_columns_of_its_first_step_and_names_its_last():
    model = make_pipeline(StandardScaler(), MinMaxScaler(), mc.KernelPCA(2, kernel=make.K)).fit(X)
    card = model_card(model)
    assert (card["model"], card["features"], card["kernel"]) == ("KernelPCA", 3, repr(make.K))
    card = model_card(
        make_pipeline(mc.KernelPCA(2, kernel=make.K), mc.SVC(kernel="linear")).fit(X, THREE)
    )
    assert (card["model"], card["features"], card["kernel"]) == ("SVC", 3, "Linear()")


def test_f12_the_card_counts_numbers_and_bytes_of_all_arrays():
    points, coef = np.arange(6, dtype=np.float32).reshape(3, 2), np.ones((3, 1))
    card = model_card(mc.Expansion(mc.Gaussian(1.0), points, coef))
    assert (card["values"], card["bytes"]) == (6 + 3, 4 * 6 + 8 * 3)
    repeated = mc.Expansion(mc.Gaussian(1.0), points[[0, 1, 0]], coef)
    assert (card["rows_stored"], model_card(repeated)["rows_stored"]) == (3, 2)
    sparse = mc.Expansion(mc.Linear(), sp.csr_matrix(points[[0, 1, 1]]), coef)
    assert model_card(sparse)["rows_stored"] == 2


@pytest.mark.parametrize("length", [8, 20, 47])
def test_a_file_that_ends_before_its_header_is_refused_by_its_length(saved, length):
    with pytest.raises(
        mc.ModelFileError, match=f"has {length} bytes; a model file has at least 48"
    ):
        saved(saved.content[:length])


def test_f14_messages_hold_no_rows(saved):
    digits = re.compile(r"-?\d\.\d{4,}")
    broken = mc.load(saved.path)
    broken.support_vectors_ = np.full((3, 3), 1.234567)
    with pytest.raises(ValueError, match=".") as caught:
        mc.save(broken, saved.path)
    assert not digits.search(str(caught.value))


# --- points that are not rows -----------------------------------------------------------------------------------------


WORDS = ["".join(word) for word in np.random.default_rng(3).choice(list("abcd"), (30, 6))]
STRINGS = mc.Normalized(mc.strings.Spectrum(2))
TABLE = [
    [word, float(number)]
    for word, number in zip(WORDS, np.random.default_rng(4).standard_normal(30), strict=True)
]
BOTH = mc.on_columns(STRINGS, 0) * mc.on_columns(mc.Gaussian(0.5), 1)
POINTS = {
    "strings": (STRINGS, WORDS),
    "bytes": (STRINGS, [word.encode() for word in WORDS]),
    "tokens": (STRINGS, list(map(tuple, WORDS))),
    "table": (BOTH, TABLE),
    "rows_with_marks": (
        mc.kernels.DirectSum(mc.Gaussian(1.0), mc.Linear(), n_features=1),
        np.array([[word.count("a"), len(word) % 3 - 1.0] for word in WORDS]),
    ),
}
ESTIMATORS = [
    mc.SVC(), mc.SVR(), mc.OneClassSVM(), mc.SVDD(), mc.KernelRidge(), mc.KernelPCA(2),
    mc.KernelFisher(), mc.KernelMap(), mc.KernelPerceptron(), mc.Nystroem(n_components=2, random_state=0),
    mc.Kernelized(LogisticRegression()),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("kind", POINTS)
def test_models_on_objects_tables_and_rows_with_marks_predict_as_before(kind, estimator, tmp_path):
    kernel, points = POINTS[kind]
    y = np.array([word.count("a") > 1 for word in WORDS]).astype(int)
    model = clone(estimator).set_params(kernel=kernel).fit(points, y)
    mc.save(model, tmp_path / "model")
    again = mc.load(tmp_path / "model")
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            np.testing.assert_allclose(
                getattr(again, method)(points), getattr(model, method)(points), atol=1e-12
            )
    assert type(getattr(again, "support_vectors_", None)) is type(
        getattr(model, "support_vectors_", None)
    )


@pytest.mark.parametrize(
    "points",
    [
        [{"a", "b", 3}, {"b"}, set()],
        [frozenset({1, 2}), frozenset()],
        [np.eye(2), np.ones((3, 2)), np.zeros((1, 2), np.float32)],
        [[1, 2, 3], [2.5], []],
        [("a", 1), ("b", None)],
        [{"a": 1}, {"b": 2}],
        [{("a", 1): 1}, {b"b": 2, frozenset("c"): 1}],
        [b"", b"\x00ab"],
    ],
    ids=[
        "sets",
        "frozensets",
        "arrays_of_differing_length",
        "ragged_lists",
        "tuples",
        "counts",
        "counts_of_tuples",
        "bytes",
    ],
)
def test_objects_of_every_kind_keep_their_types_and_values(points, tmp_path):
    psi = mc.Expansion(mc.Constant(1.0), points, np.ones((len(points), 1)))
    mc.save(FittedExpansion(psi, np.zeros(1)), tmp_path / "model")
    again = mc.load(tmp_path / "model").expansion.points
    assert type(again) is type(psi.points)
    assert repr(again) == repr(psi.points) or again == points
    assert list(map(type, again)) == list(map(type, points))


@pytest.mark.parametrize(
    ("kernel", "points"),
    [
        (
            mc.graphs.WeisfeilerLehman(1),
            [mc.graphs.Graph(np.ones((n, n)) - np.eye(n)) for n in range(1, 5)],
        ),
        (BOTH, TABLE),
    ],
    ids=["graphs", "table"],
)
def test_objects_that_expansions_share_stay_one_object_and_are_saved_to_the_same_bytes(
    kernel, points, tmp_path
):
    mc.save(mc.KernelPCA(2, kernel=kernel).fit(points), tmp_path / "model")
    again = mc.load(tmp_path / "model")
    assert again.expansion_.points is again.mean_.points
    mc.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_files_of_sets_do_not_depend_on_the_order_of_hashes(tmp_path):
    contents = []
    # 0 and 8 have one place in the table of a small set, so that the first one added comes first
    for members in (["a", "b", 0, 8], [8, 0, "b", "a"]):
        psi = mc.Expansion(mc.Constant(1.0), [set(members)], np.ones((1, 1)))
        mc.save(FittedExpansion(psi, np.zeros(1)), tmp_path / "model")
        contents.append((tmp_path / "model").read_bytes())
    assert contents[0] == contents[1]


def test_tables_of_objects_keep_the_names_of_their_columns(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(TABLE, columns=["word", "number"])
    kernel = mc.on_columns(STRINGS, "word") * mc.on_columns(mc.Gaussian(0.5), "number")
    model = mc.KernelPCA(2, kernel=kernel).fit(frame)
    mc.save(model, tmp_path / "model")
    again = mc.load(tmp_path / "model")
    np.testing.assert_allclose(again.transform(frame), model.transform(frame), atol=1e-12)


@pytest.mark.parametrize("search", [mc.SVCCV, mc.SVRCV])
def test_a_search_over_columns_of_a_table_is_saved_and_read(search, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(TABLE * 4, columns=["word", "number"])
    kernel = mc.on_columns(STRINGS, "word") + mc.on_columns(mc.Gaussian(0.5), "number")
    model = search(kernel, Cs=[1.0], cv=2).fit(frame, np.arange(len(frame)) % 2)
    mc.save(model, tmp_path / "model")
    np.testing.assert_allclose(
        mc.load(tmp_path / "model").predict(frame), model.predict(frame), atol=1e-12
    )


@pytest.mark.parametrize("kind", ["table", "sparse"])
@pytest.mark.parametrize(
    "model", [mc.SVC(), mc.KernelRidge(kernel="rbf"), mc.KernelPCA(2, kernel="rbf")], ids=repr
)
def test_a_model_of_a_table_or_of_sparse_rows_is_saved_to_the_same_bytes_after_it_was_read(
    kind, model, tmp_path
):
    rows = (
        sp.csr_matrix(X)
        if kind == "sparse"
        else pytest.importorskip("pandas").DataFrame(X).rename(columns=str)
    )
    model = clone(model).fit(rows, np.arange(len(X)) % 3)
    if hasattr(model, "variance"):
        # its vectors are over the points of others
        model.variance(rows)
    mc.save(model, tmp_path / "first")
    mc.save(mc.load(tmp_path / "first"), tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()


def test_objects_in_an_array_keep_its_shape(tmp_path):
    points = [np.array([["a", 1.5, 2], ["b", "", -1]], object), np.array(["c"], object)]
    psi = mc.Expansion(mc.Constant(1.0), points, np.ones((2, 1)))
    mc.save(FittedExpansion(psi, np.zeros(1)), tmp_path / "model")
    for found, given in zip(mc.load(tmp_path / "model").expansion.points, points, strict=True):
        assert found.dtype == object
        np.testing.assert_array_equal(found, given)


def test_models_with_functions_are_refused_by_the_place_of_the_function(tmp_path):
    mapped = mc.Mapped(
        mc.Gaussian(1.0), lambda words: np.array([[len(word)] for word in words], float)
    )
    for kernel in (mapped, 2 * mapped + 1.0):
        model = mc.SVC(kernel=kernel).fit(["a", "bb", "ccc"], [0, 1, 1])
        with pytest.raises(
            TypeError, match=r"SVC\.kernel.*\.A: function is a Python function, which is code"
        ):
            mc.save(model, tmp_path / "model")


@pytest.mark.parametrize(
    "inner", [Ridge(), LinearRegression(), Lasso(0.01), ElasticNet(0.01)], ids=repr
)
def test_a_linear_model_of_float32_rows_is_stored_with_its_scalar_intercept(inner, tmp_path):
    rows = X.astype(np.float32)
    model = mc.Kernelized(inner, make.K).fit(rows, make.TWO.astype(float))
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_a_perceptron_of_an_older_file_learns_from_further_rows():
    fitted = make.models()["KernelPerceptron"]
    loaded = mc.load(make.FOLDER / "version1" / "KernelPerceptron.mercer")
    expected = copy.deepcopy(fitted).partial_fit(make.X[:5] + 0.1, make.THREE[:5])
    loaded.partial_fit(make.X[:5] + 0.1, make.THREE[:5])
    np.testing.assert_array_equal(loaded.support_, expected.support_)
    assert loaded.predict(make.NEW).tolist() == expected.predict(make.NEW).tolist()
