"""compress: predictions with all and with few vectors, every family of models, and refused arguments."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as PeerKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge as PeerKernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC as PeerSVC
from sklearn.svm import SVR as PeerSVR
from sklearn.svm import NuSVC as PeerNuSVC
from sklearn.svm import NuSVR as PeerNuSVR
from sklearn.svm import OneClassSVM as PeerOneClassSVM
from sklearn.utils.validation import check_is_fitted

import mercer as mc
from mercer.compression import compress

LIBSVM = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 4
rho 0.1
label 1 2
nr_sv 2 2
SV
1 1:0.0 2:0.0
0.5 1:0.2 2:0.1
-1 1:2.0 2:2.0
-0.5 1:2.2 2:1.9
"""


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32)[:1000], np.array([f"digit {k}" for k in y])[:1000]


def _toy(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2, (X**2).sum(axis=1) > 1.2


def _regressors():
    kernel = mc.Gaussian(0.5)
    return [
        mc.SVR(10.0, kernel=kernel), mc.NuSVR(0.5, C=10.0, kernel=kernel), mc.KernelRidge(0.1, kernel=kernel),
        PeerSVR(C=10.0, gamma=0.5), PeerNuSVR(C=10.0, gamma=0.5), PeerKernelRidge(alpha=0.1, kernel="rbf", gamma=0.5),
        GaussianProcessRegressor(RBF(1.0), alpha=1e-2, optimizer=None, normalize_y=True),
    ]  # fmt: skip


def _classifiers():
    kernel = mc.Gaussian(0.5)
    return [
        mc.SVC(10.0, kernel=kernel), mc.SVC(10.0, kernel=kernel, multi_class="ovr"), mc.NuSVC(0.2, kernel=kernel),
        PeerSVC(C=10.0, gamma=0.5), PeerNuSVC(nu=0.2, gamma=0.5), PeerSVC(C=10.0, gamma=0.5, break_ties=True),
        PeerSVC(C=10.0, gamma=0.5, decision_function_shape="ovo"),
    ]  # fmt: skip


def _name(model):
    return f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("model", _classifiers(), ids=_name)
def test_a_classifier_with_all_its_vectors_predicts_the_same(model, n_classes):
    X, value, _ = _toy()
    y = np.array(["c", "a", "d", "b"])[
        np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))
    ]
    model = clone(model).fit(X, y)
    same = compress(model, X, y, n_vectors=10_000)
    assert type(same).__module__.startswith("mercer")
    assert type(same).__name__ == type(model).__name__
    new = X + 0.1
    np.testing.assert_array_equal(same.predict(new), model.predict(new))
    np.testing.assert_allclose(
        same.decision_function(new), model.decision_function(new), rtol=1e-5, atol=1e-7
    )
    assert same.report_.vectors_after == same.report_.vectors_before
    assert type(same.report_.vectors_before) is type(same.report_.vectors_after) is int
    assert same.report_.measured.changed == 0
    assert not hasattr(model, "report_")


@pytest.mark.parametrize("model", _classifiers(), ids=_name)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_of_a_small_classifier_are_expansion_and_intercept(model, n_classes):
    X, value, _ = _toy()
    y = np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))
    model = clone(model).fit(X, y)
    small = compress(model, X, y, n_vectors=12, random_state=0)
    values = small.expansion_(X) + small.intercept_
    assert small.expansion_.shape[0] == small.report_.vectors_after == 12
    if n_classes == 2:
        np.testing.assert_allclose(small.decision_function(X), values[:, 0], atol=1e-10)
        np.testing.assert_array_equal(
            small.predict(X), small.classes_[(values[:, 0] > 0).astype(int)]
        )
    elif small.multi_class == "ovr":
        np.testing.assert_allclose(small.decision_function(X), values, atol=1e-10)
    else:
        pairs = np.where(values > 0, [0, 0, 1], [1, 2, 2])
        votes = (pairs[:, :, None] == np.arange(3)).sum(axis=1)
        clear = votes.max(axis=1) == 2
        np.testing.assert_array_equal(
            small.predict(X)[clear], small.classes_[votes.argmax(axis=1)][clear]
        )
    assert np.mean(small.predict(X) == model.predict(X)) > 0.85
    assert np.shape(small.decision_function(X)) == np.shape(model.decision_function(X))


@pytest.mark.parametrize("model", _regressors(), ids=_name)
def test_a_regressor_predicts_the_same_with_all_vectors_and_nearly_so_with_few(model):
    X, value, _ = _toy()
    model = clone(model).fit(X, value)
    same, small = (
        compress(model, X, value, n_vectors=size, random_state=0) for size in (10_000, 18)
    )
    np.testing.assert_allclose(same.predict(X), model.predict(X), rtol=1e-6, atol=1e-8)
    assert small.report_.vectors_after == 18
    assert np.shape(small.predict(X)) == np.shape(model.predict(X))
    assert np.std(small.predict(X) - model.predict(X)) < 0.02 * np.std(model.predict(X))
    assert small.report_.measured.loss < 0.01


def test_targets_of_different_units_have_the_same_relative_error():
    X, value, _ = _toy()
    Y = np.column_stack([value, 1e-4 * np.cos(3 * X[:, 0])])
    model = mc.KernelRidge(1e-2, kernel=mc.Gaussian(0.5)).fit(X, Y)
    small = compress(model, X, Y, n_vectors=30, random_state=0)
    left = np.std(small.predict(X) - model.predict(X), axis=0) / np.std(model.predict(X), axis=0)
    assert left.max() < 0.05


@pytest.mark.parametrize(
    "model",
    [mc.OneClassSVM(0.2, kernel=mc.Gaussian(0.5)), PeerOneClassSVM(nu=0.2, gamma=0.5)],
    ids=_name,
)
def test_an_outlier_detector_rejects_as_many_rows_as_before(model):
    X, _, _ = _toy(n=300)
    model = clone(model).fit(X)
    small = compress(model, X, n_vectors=10, random_state=0)
    assert abs(np.sum(small.predict(X) == -1) - np.sum(model.decision_function(X) < 0)) <= 1
    assert np.mean(small.predict(X) == model.predict(X)) > 0.95
    np.testing.assert_allclose(small.decision_function(X), small.score_samples(X) - small.offset_)
    np.testing.assert_allclose(small.intercept_, -small.offset_)


@pytest.mark.parametrize("whiten", [False, True])
def test_kernel_pca_keeps_its_coordinates_and_pre_images(whiten):
    X, _, _ = _toy(n=200)
    model = mc.KernelPCA(4, kernel=mc.Gaussian(0.3), whiten=whiten).fit(X)
    same, small = (compress(model, X, n_vectors=size, random_state=0) for size in (10_000, 30))
    np.testing.assert_allclose(same.transform(X), model.transform(X))
    assert np.std(small.transform(X) - model.transform(X)) < 0.02 * np.std(model.transform(X))
    for each in (same, small):
        back = each.inverse_transform(each.transform(X[:10]))
        assert np.abs(back - model.inverse_transform(model.transform(X[:10]))).max() < 0.1


def test_kernel_pca_of_scikit_learn_keeps_its_coordinates():
    X, _, _ = _toy(n=200)
    model = PeerKernelPCA(3, kernel="rbf", gamma=0.3).fit(X)
    small = compress(model, X, n_vectors=30, random_state=0)
    assert np.std(small.transform(X) - model.transform(X)) < 0.02 * np.std(model.transform(X))
    assert small.denoise(X[:3]).shape == (3, 2)


def test_text_models_of_libsvm_are_read_from_text_and_path(tmp_path):
    path = tmp_path / "model"
    path.write_text(LIBSVM)
    X = np.random.default_rng(0).normal(1, 1, size=(50, 3))
    for model in (LIBSVM, path, str(path)):
        same = compress(model, X, n_vectors=4)
        # features without an entry are 0 in all support vectors
        wide = np.exp(-0.5 * (X[:, 2] ** 2))
        values = (mc.as_expansion(LIBSVM).expansion(X[:, :2])[:, 0] * wide) + mc.as_expansion(
            LIBSVM
        ).intercept[0]
        np.testing.assert_allclose(same.decision_function(X), values)
        np.testing.assert_array_equal(
            same.predict(X), np.where(values > 0, same.classes_[1], same.classes_[0])
        )
    assert compress(LIBSVM, X[:, :2], n_vectors=2, random_state=0).expansion_.shape == (2, 1)


def test_the_last_step_of_a_pipeline_is_compressed_and_the_others_are_kept():
    X, value, y = _toy()
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler((1, 3)), PeerSVC(C=10.0)).fit(X, y)
    moved, before = np.concatenate([X + 0.01, X - 0.01]), pipeline[:-1].transform
    small = compress(pipeline, X, y, n_vectors=8, neighbours=lambda _: moved, random_state=0)
    last = compress(
        pipeline[-1], before(X), y, n_vectors=8, neighbours=lambda _: before(moved), random_state=0
    )
    np.testing.assert_array_equal(small[-1].expansion_.points, last.expansion_.points)
    assert [small[0], small[1]] == [pipeline[0], pipeline[1]]
    assert isinstance(small[-1], mc.SVC)
    assert isinstance(pipeline[-1], PeerSVC)
    assert small[-1].report_.vectors_after == 8
    assert np.mean(small.predict(X) == pipeline.predict(X)) > 0.9


def test_the_best_estimator_of_a_search_is_compressed():
    X, _, y = _toy()
    search = GridSearchCV(PeerSVC(), {"C": [10.0]}, cv=2).fit(X, y)
    assert compress(search, X, y, n_vectors=5, random_state=0).C == 10.0


def test_fifty_vectors_of_digits_are_nearly_as_good_as_five_hundred(digits):
    X, y = digits
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.3), multi_class="ovr").fit(X[:600], y[:600])
    small = compress(model, X[:600], y[:600], n_vectors=50, random_state=0)
    assert model.expansion_.shape[0] > 8 * 50
    assert small.expansion_.coef.dtype == small.expansion_.points.dtype == np.float32
    assert small.score(X[600:], y[600:]) > model.score(X[600:], y[600:]) - 0.03
    report = str(small.report_)
    assert "50 after" in report
    assert "changed predictions" in report
    assert small.report_.evaluations_saved == model.expansion_.shape[0] - 50


def test_without_data_the_expansion_is_approximated_in_feature_space():
    X, value, _ = _toy()
    model = mc.KernelRidge(0.1, kernel=mc.Gaussian(0.3)).fit(X, value)
    small = compress(model, n_vectors=30)
    left = (
        np.sqrt(mc.sqdist(small.expansion_, model.expansion_, paired=True))
        / model.expansion_.norms()
    )
    np.testing.assert_allclose(small.report_.relative_error, left)
    assert left.max() < 0.1
    assert small.report_.measured is None


def test_the_fewest_vectors_within_a_loss_are_fewer_for_a_larger_loss():
    X, y, _ = _toy(n=40)
    model = mc.KernelRidge(0.01, kernel=mc.Gaussian(0.5)).fit(X, y)
    sizes = [
        compress(model, X, y, max_loss=loss, n_vectors=12, random_state=0).report_.vectors_after
        for loss in (0.05, 0.3)
    ]
    assert sizes[1] < sizes[0] <= 12


def test_a_loss_that_cannot_be_kept_returns_the_model_or_the_limit():
    X, _, _ = _toy(n=9)
    y = np.random.default_rng(0).integers(0, 2, 9)
    model = mc.SVC(1e3, kernel=mc.Gaussian(50.0)).fit(X, y)
    whole = compress(model, X, y, max_loss=0.0, random_state=0)
    assert whole.report_.vectors_after == whole.report_.vectors_before
    assert (
        compress(model, X, y, max_loss=0.0, n_vectors=3, random_state=0).report_.vectors_after == 3
    )


@pytest.mark.filterwarnings("ignore:.*pairs of points are unrelated")
@pytest.mark.parametrize("seed", [0, 3, 49, 147])
def test_very_few_rows_do_not_move_vectors_out_of_range(seed):
    # a line search on the last two of these tries numbers whose squares overflow float32
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-4, 5)
    y = np.arange(n) % int(rng.integers(2, 4))
    rng.shuffle(y)
    kernel = mc.Laplacian("scale") if seed == 49 else mc.Gaussian(50 / np.mean(X * X))
    model = mc.SVC(10.0 ** rng.integers(-1, 4), kernel=kernel).fit(X, y)
    small = compress(model, X, y, n_vectors=int(rng.integers(1, 6)), random_state=seed)
    assert np.isfinite(small.decision_function(X)).all()


def test_a_small_model_is_an_estimator_like_any_other():
    X, _, y = _toy()
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.5)).fit(X, y)
    small = compress(model, X, y, n_vectors=6, random_state=0)
    check_is_fitted(small)
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.decision_function(X), small.decision_function(X))
    assert repr(small) == repr(model)
    assert clone(small).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone(small).predict(X)
    with pytest.raises(ValueError, match="features"):
        small.predict(X[:, :1])


def test_the_same_seed_gives_the_same_vectors():
    X, _, y = _toy()
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.5)).fit(X, y)
    first, second = (compress(model, X, y, n_vectors=6, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.expansion_.points, second.expansion_.points)


def test_neighbours_lower_the_error_between_the_data():
    X = np.linspace(-2, 2, 9)[:, None]
    model = mc.KernelRidge(1e-3, kernel=mc.Gaussian(2.0)).fit(X, np.sin(3 * X[:, 0]))

    def near(X):
        return np.concatenate([X + step for step in np.linspace(-0.25, 0.25, 8)])

    without, with_them = (
        compress(model, X, n_vectors=6, neighbours=each, random_state=0) for each in (None, near)
    )
    between = np.linspace(-2, 2, 200)[:, None]
    errors = [
        np.abs(each.predict(between) - model.predict(between)).max()
        for each in (without, with_them)
    ]
    assert errors[1] < errors[0]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_vectors": None}, ValueError, "n_vectors and max_loss are both None"),
        ({"n_vectors": 0}, ValueError, "n_vectors"),
        ({"n_vectors": 2.5}, TypeError, "n_vectors"),
        ({"max_loss": 1.5}, ValueError, "max_loss = 1.5"),
        ({"X": None}, TypeError, "X is None, but y is given"),
        ({"X": None, "y": None, "max_loss": 0.1}, TypeError, "X is None, but max_loss is given"),
        ({"neighbours": lambda X: X[:-1]}, ValueError, "119 rows for the 120 rows"),
        ({"neighbours": 3}, TypeError, "neighbours must be a function"),
        ({"neighbours": lambda X: X * np.nan}, ValueError, r"neighbours\(X\)\[0, 0\] = nan must be finite"),
        ({"callback": "print"}, TypeError, "callback must be a function, or None, got 'print'"),
        ({"y": np.full(120, 7)}, ValueError, r"y\[0\] = .*must be one of the classes"),
        ({"y": np.zeros(7, bool)}, ValueError, "X has 120 rows, y has 7"),
        ({"X": np.zeros((120, 3))}, ValueError, "3 features, but the model has 2"),
        ({"X": np.full((120, 2), np.nan)}, ValueError, "NaN"),
        ({"model": mc.SVC()}, NotFittedError, "not fitted"),
        ({"model": LinearRegression()}, TypeError, "LinearRegression cannot be written .* one of: fitted SVC"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_with_a_remedy(change, error, message):
    X, _, y = _toy()
    given = {"model": mc.SVC(10.0).fit(X, y), "X": X, "y": y, "n_vectors": 5} | change
    with pytest.raises(error, match=message):
        compress(given.pop("model"), given.pop("X"), given.pop("y"), **given)


def test_vectors_of_a_precomputed_kernel_are_selected():
    X, _, y = _toy()
    K = mc.Gaussian(0.5)(X)
    model = mc.SVC(kernel="precomputed").fit(K, y)
    small = compress(model, n_vectors=3)
    expected = mc.reduce(model.expansion_, 3, method="greedy").expansion
    np.testing.assert_array_equal(small.expansion_.points, expected.points)
    np.testing.assert_allclose(small.decision_function(K), (expected(K) + model.intercept_)[:, 0])


# --- kernels without gradients: selection ----------------------------------------------------------------------------

WORDS = ["".join(word) for word in np.random.default_rng(2).choice(list("abcd"), (90, 7))]
MANY = np.array([word.count("a") for word in WORDS])
STRINGS = mc.Normalized(mc.strings.BlendedSpectrum(3))
OF_WORDS = {
    "SVC": mc.SVC(kernel=STRINGS).fit(WORDS, MANY > 1),
    "three_classes": mc.SVC(kernel=STRINGS).fit(WORDS, np.minimum(MANY, 2)),
    "OneClassSVM": mc.OneClassSVM(kernel=STRINGS).fit(WORDS),
    "KernelRidge": mc.KernelRidge(kernel=STRINGS).fit(WORDS, MANY.astype(float)),
    "KernelPCA": mc.KernelPCA(2, kernel=STRINGS).fit(WORDS),
    "function_of_rows": mc.SVC(kernel=lambda A, B: np.exp(-abs(A[:, None] - B).sum(axis=2))).fit(
        *_toy()[::2]
    ),
}


@pytest.mark.parametrize("name", OF_WORDS)
def test_vectors_of_the_model_are_selected_where_the_kernel_has_no_gradient(name):
    model = OF_WORDS[name]
    X, y = (_toy()[0], _toy()[2]) if name == "function_of_rows" else (WORDS, None)
    small = compress(model, X, y, n_vectors=12)
    before, after = mc.as_expansion(model).expansion, small.expansion_
    assert type(small) is type(model)
    assert after.shape[0] == 12
    known = list(map(tuple, before.points))
    assert all(tuple(point) in known for point in after.points)
    # a projection is orthogonal to its error
    np.testing.assert_allclose(
        (before - after).inner(after), 0, atol=1e-6 * before.norms().max() ** 2
    )
    # and equals the reduced set without data
    other = compress(model, n_vectors=12).expansion_
    np.testing.assert_allclose(
        mc.sqdist(after, other, paired=True), 0, atol=1e-9 * before.norms().max() ** 2
    )
    assert small.report_.measured.rows == len(X)


def test_a_limit_of_the_loss_selects_the_fewest_objects():
    small = compress(OF_WORDS["SVC"], WORDS, MANY > 1, max_loss=0.05)
    assert small.report_.vectors_after < small.report_.vectors_before
    assert small.score(WORDS, MANY > 1) >= OF_WORDS["SVC"].score(WORDS, MANY > 1) - 0.05


@pytest.mark.parametrize("with_data", [True, False])
def test_the_callback_gets_the_number_of_passes_and_its_maximum(with_data):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model, calls = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y), []
    data = (X, y) if with_data else ()
    mc.compress(
        model, *data, n_vectors=3, random_state=0, callback=lambda *counts: calls.append(counts)
    )
    starts = [i for i, (done, _) in enumerate(calls) if done == 1]
    # with data, short fits select the width (2 to 4) and the noise (1), and compare labels (2 to 4) with outputs (1)
    assert len(starts) in (range(7, 12) if with_data else (1,))
    for fit in np.split(np.array(calls), starts[1:]):
        assert fit[:, 0].tolist() == list(range(1, len(fit) + 1))
        assert (fit[:, 1] == fit[0, 1]).all()
        assert fit[-1, 0] <= fit[0, 1]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("left", [[0, 1], [0, 1, 2]])
def test_rows_may_lack_a_class_of_the_model(multi_class, left):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) + 3 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    model = mc.SVC(kernel=mc.Gaussian(0.5), multi_class=multi_class).fit(X, y)
    # one row of the last class is held out
    rows = np.flatnonzero(np.isin(y, left) & ((y < 2) | (np.arange(90) == 2)))
    rows = np.concatenate([rows[y[rows] == 2], rows[y[rows] < 2]])
    small = mc.compress(model, X[rows], y[rows], n_vectors=5, random_state=0)
    assert small.score(X[rows], y[rows]) > 0.9


def test_an_exception_of_the_callback_ends_the_run():
    X = np.arange(20.0)[:, None]
    model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, np.arange(20) % 3 == 0)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mc.compress(model, X, n_vectors=2, callback=stop)


@pytest.mark.parametrize("kernel", [mc.Chi2(0.5), mc.Intersection()], ids=repr)
@pytest.mark.parametrize("model", [mc.SVC(), mc.SVR()], ids=lambda model: type(model).__name__)
def test_vectors_of_kernels_of_histograms_are_non_negative(model, kernel, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = np.maximum(rng.normal(size=(80, 5)), 0)
    y = (X[:, 0] > X[:, 1]).astype(float)
    small = mc.compress(clone(model).set_params(kernel=kernel).fit(X, y), X, y, n_vectors=5)
    assert len(small.expansion_.points) == 5
    assert small.expansion_.points.min() >= 0


def test_without_a_seed_results_repeat_and_the_global_state_is_unchanged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = mc.SVC().fit(X, X[:, 0] > 0)
    before = np.random.get_state()[1].copy()
    first, second = (mc.compress(model, X, n_vectors=4).expansion_ for _ in range(2))
    np.testing.assert_array_equal(first.points, second.points)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    mc.compress(model, X, n_vectors=4, random_state=np.random.default_rng(3))


@pytest.mark.parametrize("labelled", [True, False])
def test_a_single_row_is_data_enough_to_run(labelled):
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, X[:, 0] > 0)
    small = mc.compress(model, X[:1], X[:1, 0] > 0 if labelled else None, n_vectors=2)
    np.testing.assert_allclose(
        small.decision_function(X[:1]), model.decision_function(X[:1]), atol=0.5
    )
    assert np.isfinite(small.expansion_.points).all()


@pytest.mark.parametrize(
    "words",
    [["ab", "b", "aab", "bb"], [["a"], ["a", "b"], ["b", "b"], ["b"]]],
    ids=["text", "lists"],
)
def test_models_of_objects_keep_some_of_their_vectors_whatever_the_data(words):
    def common(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    model = mc.SVC(kernel=common).fit(words, [0, 1, 0, 1])
    for data in ((), (words, [0, 1, 0, 1])):
        small = mc.compress(model, *data, n_vectors=1)
        assert len(small.support_vectors_) == 1
        assert small.support_vectors_[0] in words


@pytest.mark.parametrize("data", [[], 3, {}, "text", np.zeros((0, 3)), np.zeros(3)], ids=str)
def test_what_is_no_table_is_refused_with_the_name_of_the_argument(data):
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(np.eye(3), [0, 1, 1])
    with pytest.raises((TypeError, ValueError), match="X must"):
        mc.compress(model, data, n_vectors=1)


def test_points_far_from_the_vectors_are_refused_by_their_size():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, X[:, 0] > 0)
    with pytest.raises(
        ValueError,
        match=r"X has entries up to 1e\+03 and lies so far from the vectors of the model",
    ):
        compress(model, np.full((5, 3), 1000.0), n_vectors=4)


def test_an_error_of_neighbours_says_where_it_comes_from():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, X[:, 0] > 0)
    with pytest.raises(ZeroDivisionError) as caught:
        compress(model, X, n_vectors=4, neighbours=lambda points: 1 / len(points[:0]))
    assert any(
        "Raised by neighbours(X), which must return k copies" in note
        for note in caught.value.__notes__
    )
    with pytest.raises(TypeError, match="X is None, but neighbours is given"):
        compress(model, n_vectors=4, neighbours=np.copy)


def test_a_search_in_a_pipeline_is_replaced_by_its_model_of_few_vectors():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    whole = make_pipeline(StandardScaler(), mc.SVCCV(mc.Gaussian(0.5), Cs=[10.0], cv=2)).fit(X, y)
    small = compress(whole, X, y, n_vectors=8, random_state=0)
    assert list(small.named_steps) == ["standardscaler", "svccv"]
    assert small[-1].C == 10.0
    assert len(small[-1].support_vectors_) <= 8
    assert small.score(X, y) > whole.score(X, y) - 0.1


def test_a_model_over_arrays_of_another_library_is_compressed_to_one_with_the_same_numbers():
    xp = pytest.importorskip("array_api_strict")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found, expected = (
        compress(mc.SVC(kernel=mc.Gaussian(0.5)).fit(A, b), A, b, n_vectors=6, random_state=0)
        for A, b in ((xp.asarray(X), xp.asarray(y)), (X, y))
    )
    assert found.decision_function(xp.asarray(X)).device == xp.asarray(X).device
    np.testing.assert_array_equal(
        np.asarray(found.decision_function(xp.asarray(X))), expected.decision_function(X)
    )
    smaller = found.report_.at(4)
    assert smaller.support_vectors_.device == xp.asarray(X).device
    np.testing.assert_array_equal(
        np.asarray(smaller.support_vectors_), expected.report_.at(4).support_vectors_
    )


def test_neighbours_may_be_data_frames_as_the_rows_are():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    frame = pandas.DataFrame(X, columns=["a", "b"])

    def moved(rows):
        return pandas.concat([rows + 0.1, rows - 0.1])

    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(frame, y)
    found, expected = (
        compress(model, frame, y, n_vectors=4, neighbours=neighbours, random_state=0)
        for neighbours in (moved, lambda rows: moved(rows).to_numpy())
    )
    np.testing.assert_array_equal(found.decision_function(frame), expected.decision_function(frame))
    # steps before the model take the names
    scaled = make_pipeline(StandardScaler(), model).fit(frame, y)
    small = compress(scaled, frame, y, n_vectors=4, neighbours=moved, random_state=0)
    assert small.score(frame, y) > 0.9
