"""Mixins of estimators: atomic fits, kernel parameters, validated points, tags, warnings and callbacks."""

import inspect
import warnings
from itertools import count

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.decomposition
import sklearn.kernel_approximation
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

import mercer as mc
from mercer import estimators

RNG = np.random.default_rng(0)
ROWS, LABELS = RNG.standard_normal((30, 3)), np.arange(30) % 2
ESTIMATORS = [name for name in estimators.__all__ if isinstance(getattr(estimators, name), type)]
# They have kernels of their own, and take missing entries.
TABLES = {"TableClassifier", "TableRegressor"}
INCREMENTAL = [name for name in ESTIMATORS if hasattr(getattr(estimators, name), "partial_fit")]
LISTENED = [name for name in ESTIMATORS if "SV" in name]
KERNEL = mc.Gaussian(0.3)
OTHERS = {
    "KernelPCA": lambda: mc.KernelPCA(2, kernel=KERNEL),
    "KernelPCA on landmarks": lambda: mc.KernelPCA(2, kernel=KERNEL, landmarks=9, random_state=0),
    "KernelRidge": lambda: mc.KernelRidge(kernel=KERNEL),
    "KernelRidge on landmarks": lambda: mc.KernelRidge(kernel=KERNEL, landmarks=9, random_state=0),
    "KernelRidge tuned": lambda: mc.KernelRidge(kernel=KERNEL, tune="loo"),
    "KernelFisher": lambda: mc.KernelFisher(kernel=KERNEL),
    "KernelMap": lambda: mc.KernelMap(KERNEL),
    "Kernelized": lambda: mc.Kernelized(LogisticRegression(), kernel=KERNEL),
    "KernelPerceptron": lambda: mc.KernelPerceptron(kernel=KERNEL),
    "Nystroem": lambda: mc.Nystroem(KERNEL, n_components=9, random_state=0),
    "PCAL1": lambda: mc.PCAL1(2, random_state=0),
    "TableClassifier": lambda: mc.TableClassifier(),
    "TableRegressor": lambda: mc.TableRegressor(),
    "VirtualSupportVectors": lambda: mc.VirtualSupportVectors(
        mc.SVC(kernel=KERNEL), [lambda X: X + 0.1]
    ),
}
STAGES = dict.fromkeys(OTHERS, {"eigenvectors"}) | {
    "KernelPCA on landmarks": {"pivots", "eigenvectors", "rows"},
    "KernelRidge": {"Cholesky factor"},
    "KernelRidge on landmarks": {"pivots", "eigenvectors", "rows"},
    "KernelRidge tuned": {"tuning", "Cholesky factor"},
    "KernelFisher": {"Cholesky factor"},
    "KernelPerceptron": {"passes"},
    "PCAL1": {"steps"},
    "TableClassifier": {"table", "tuning", "Cholesky factor", "smo"},
    "TableRegressor": {"table", "tuning", "Cholesky factor"},
    "VirtualSupportVectors": {"smo"},
}


def test_setting_a_kernel_parameter_replaces_the_kernel_and_leaves_the_given_one_alone():
    kernel = mc.Gaussian(1.0) + 2.0 * mc.Matern(3.0)
    estimator = mc.KernelPCA(kernel=kernel).set_params(kernel__left__gamma=5.0, n_components=2)
    assert estimator.kernel == mc.Gaussian(5.0) + 2.0 * mc.Matern(3.0)
    assert kernel == mc.Gaussian(1.0) + 2.0 * mc.Matern(3.0)
    assert estimator.get_params()["kernel__right__factor"] == 2.0


def test_setting_a_parameter_of_a_shorthand_replaces_it_by_its_kernel():
    estimator = mc.KernelPCA(kernel="poly").set_params(kernel__degree=2)
    assert estimator.kernel == mc.Polynomial(2, "auto", 1.0)


def test_a_kernel_and_its_parameter_can_be_set_at_once():
    estimator = mc.KernelPCA().set_params(kernel=mc.Cauchy(), kernel__gamma=0.5)
    assert estimator.kernel == mc.Cauchy(0.5)


@pytest.mark.parametrize("name", ["kernel__width", "kernel__gamma__x", "kernel__left__gamma"])
def test_unknown_kernel_parameters_are_named(name):
    with pytest.raises(ValueError, match="Invalid parameter"):
        mc.KernelPCA(kernel="rbf").set_params(**{name: 1.0})


@pytest.mark.parametrize(
    "peer",
    [
        sklearn.svm.SVC,
        sklearn.svm.NuSVC,
        sklearn.svm.SVR,
        sklearn.svm.NuSVR,
        sklearn.svm.OneClassSVM,
        sklearn.kernel_ridge.KernelRidge,
        sklearn.decomposition.KernelPCA,
        sklearn.kernel_approximation.Nystroem,
    ],
)
def test_parameters_shared_with_scikit_learn_have_its_defaults(peer):
    ours, theirs = (inspect.signature(cls).parameters for cls in (getattr(mc, peer.__name__), peer))
    shared = ours.keys() & theirs.keys()
    assert len(shared) >= 2
    assert {name: ours[name].default for name in shared} == {
        name: theirs[name].default for name in shared
    }


def test_clones_have_equal_kernels():
    estimator = mc.KernelPCA(kernel=mc.Mapped(mc.Gaussian(1.0), np.array([1.0, 2.0])))
    assert clone(estimator).kernel == estimator.kernel


def test_tags_follow_the_kernel():
    assert mc.KernelPCA(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert mc.KernelPCA(kernel="rbf").__sklearn_tags__().input_tags.sparse
    assert not mc.KernelPCA(kernel=mc.Laplacian(1.0)).__sklearn_tags__().input_tags.sparse


def test_sparse_rows_for_a_dense_kernel_are_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        mc.KernelPCA(kernel=mc.Laplacian(1.0)).fit(sp.eye_array(4, format="csr"))


def test_a_sparse_precomputed_matrix_is_refused():
    with pytest.raises(
        TypeError, match=r"X must not be sparse for kernel = 'precomputed'; give X.toarray\(\)"
    ):
        mc.KernelPCA(kernel="precomputed").fit(sp.eye_array(4, format="csr"))


def test_kernel_values_with_some_training_points_only_are_refused_with_a_remedy():
    model = mc.KernelPCA(2, kernel="precomputed").fit(ROWS @ ROWS.T)
    with pytest.raises(ValueError, match="30 features") as caught:
        model.transform(np.ones((5, 7)))
    assert "kernel values of new points with all 30 training points" in str(caught.value)


def test_lists_of_numbers_are_rows_and_lists_of_strings_are_objects():
    def lengths(A, B):
        return np.array([[float(len(a) * len(b)) for b in B] for a in A])

    assert mc.KernelPCA(1).fit([[1.0, 2.0], [3.0, 5.0]]).n_features_in_ == 2
    for words in (
        ["a", "abc"],
        [["a"], ["b", "c"]],
        np.array(["a", "abc"]),
        np.array(["a", "abc"], object),
    ):
        assert mc.KernelPCA(1, kernel=lengths).fit(words).n_samples_ == 2


def test_certificates_need_the_training_rows_of_the_fit():
    model = mc.KernelPCA(2).fit(ROWS)
    with pytest.raises(
        ValueError, match="X has 29 rows, but KernelPCA was fitted on 30; give all training points"
    ):
        mc.certify(model, ROWS[1:])
    with pytest.raises(ValueError, match="X has 2 features"):
        mc.certify(model, ROWS[:, :2])


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match="minimum of 2"):
        mc.KernelPCA().fit([[1.0, 2.0]])


def test_sequences_of_any_length_are_points_of_a_callable_kernel():
    def overlap(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    bags = [[1, 2], [2, 3, 4], [5], [1, 5]]
    assert mc.KernelPCA(2, kernel=overlap).fit(bags).transform([[1, 2, 5]]).shape == (1, 2)


class Interrupted(np.random.RandomState):
    """A kernel and random state that raises KeyboardInterrupt at use number ``last``."""

    def __init__(self):
        super().__init__(0)
        self.restart()

    def restart(self, last=None):
        self.seed(0)
        self.used, self.last = count(1), last

    def __deepcopy__(self, memo):
        # clones of a wrapped estimator share it
        return self

    def __call__(self, A, B):
        self._use()
        return mc.Gaussian(0.5)(A, B)

    def standard_normal(self, size=None):
        self._use()
        return super().standard_normal(size)

    def _use(self):
        # next() of a count is atomic
        if next(self.used) == self.last:
            raise KeyboardInterrupt


def made(name, interrupted):
    """Return an unfitted estimator whose kernel or random state can be interrupted."""
    if name == "PCAL1":
        return mc.PCAL1(2, random_state=interrupted)
    if name == "VirtualSupportVectors":
        return mc.VirtualSupportVectors(mc.SVC(kernel=interrupted), [np.negative])
    inner = {"estimator": LogisticRegression()} if name == "Kernelized" else {}
    return getattr(estimators, name)(kernel=interrupted, **inner)


def holder(model):
    """Return the estimator that has the kernel."""
    return model.estimator if isinstance(model, mc.VirtualSupportVectors) else model


def values(model):
    return (model.predict if hasattr(model, "predict") else model.transform)(ROWS)


def interrupt(model, method, X, share):
    """Call a method and interrupt it after a share of all uses of the kernel or random state."""
    part = model.random_state if isinstance(model, mc.PCAL1) else holder(model).kernel
    twin = made(type(model).__name__, part)
    vars(twin).update(vars(model))
    part.restart()
    getattr(twin, method)(X, LABELS[: len(X)])
    used = next(part.used) - 1
    part.restart(last=1 + round(share * (used - 1)))
    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(X, LABELS[: len(X)])
    part.restart()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", [pytest.param(0.0, marks=pytest.mark.slow), 0.5, 1.0])
@pytest.mark.parametrize("name", sorted({*ESTIMATORS} - TABLES))
def test_an_interrupted_fit_restores_every_estimator(name, share):
    model = made(name, Interrupted())
    before = dict(vars(model))
    interrupt(model, "fit", ROWS, share)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    expected = values(model.fit(ROWS, LABELS))
    np.testing.assert_allclose(
        expected, values(made(name, Interrupted()).fit(ROWS, LABELS)), atol=1e-12
    )
    before = dict(vars(model))
    interrupt(model, "fit", ROWS[:20, :2], share)
    assert vars(model) == before
    np.testing.assert_array_equal(values(model), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", INCREMENTAL)
def test_an_interrupted_partial_fit_restores_the_earlier_model(name, share):
    model = made(name, Interrupted())
    if name == "KernelPCA":
        # without them there is no partial_fit
        model.set_params(landmarks=ROWS[:5])
    model.fit(ROWS[:20], LABELS[:20])
    before, expected = dict(vars(model)), values(model)
    interrupt(model, "partial_fit", ROWS[20:], share)
    assert vars(model) == before
    np.testing.assert_array_equal(values(model), expected)


def test_a_failed_fit_restores_every_estimator():
    for name in {*ESTIMATORS} - TABLES:
        model = made(name, Interrupted())
        before = dict(vars(model))
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.where(np.arange(3) == 1, np.nan, ROWS), LABELS)
        assert vars(model) == before


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD"])
def test_a_warning_names_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(mc, name)(max_iter=1, tol=1e-8, kernel=mc.Gaussian(0.3)).fit(ROWS, LABELS)
    assert ConvergenceWarning in {warning.category for warning in caught}
    assert {warning.filename for warning in caught} == {__file__}


class Listener:
    """A callback that records violations, and returns the value of a function after each of them."""

    def __init__(self, answer):
        self.answer, self.heard, self.visits = answer, [], []

    def setup(self, estimator, context):
        self.visits.append("setup")

    def teardown(self, estimator, context):
        self.visits.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        if metadata:
            self.heard.append(metadata)
            return self.answer()
        return False


def raised():
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(mc.SVC, "set_callbacks"), reason="scikit-learn before 1.9 has none")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LISTENED)
def test_callbacks_receive_the_violation_and_can_stop_or_interrupt_a_fit(name):
    patient, hasty, hostile = (Listener(answer) for answer in (lambda: False, lambda: True, raised))
    labels = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(int)
    model, peer, victim = (getattr(mc, name)(kernel=mc.Gaussian(0.3), tol=1e-6) for _ in range(3))
    model.set_callbacks(patient).fit(ROWS, labels)
    violations = [each["violation"] for each in patient.heard]
    assert 0 <= min(violations) <= violations[0] < np.inf
    peer.set_callbacks(hasty).fit(ROWS, labels)
    assert 1 <= len(hasty.heard) <= len(patient.heard)
    victim.set_callbacks(hostile)
    before = dict(vars(victim))
    with pytest.raises(KeyboardInterrupt):
        victim.fit(ROWS, labels)
    assert vars(victim) == before
    for each in (patient, hasty, hostile):
        assert each.visits == ["setup", "teardown"]


@pytest.mark.skipif(not hasattr(mc.SVC, "set_callbacks"), reason="scikit-learn before 1.9 has none")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_callbacks_hear_the_stages_of_every_fit_change_nothing_and_an_exception_in_them_restores(
    name,
):
    models = [OTHERS[name]() for _ in range(3)]
    patient, hostile = Listener(lambda: False), Listener(raised)
    models[0].set_callbacks(patient).fit(ROWS, LABELS)
    models[1].fit(ROWS, LABELS)
    assert [each["iteration"] for each in patient.heard] == list(range(len(patient.heard)))
    assert {each["stage"] for each in patient.heard} == STAGES[name]
    axes = [model.components_ if name == "PCAL1" else model.expansion_.coef for model in models[:2]]
    np.testing.assert_array_equal(*axes)
    before = dict(vars(models[2].set_callbacks(hostile)))
    with pytest.raises(KeyboardInterrupt):
        models[2].fit(ROWS, LABELS)
    assert vars(models[2]) == before
    assert len(hostile.heard) == 1
    assert patient.visits == hostile.visits == ["setup", "teardown"]


def _mean_features(bags):
    return np.array([np.ravel(np.mean(np.asarray(bag, float), axis=0)) for bag in bags])


class Chain:
    """An object with a length."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


def _bags(sizes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((int(size), 3)) + i % 2 for i, size in enumerate(sizes)]


OBJECTS = {
    "ragged_bags": (_bags([2, 3, 4, 5] * 5), _mean_features),
    "bags_of_one_size": (_bags([4] * 20), _mean_features),
    "array_of_bags": (np.array(_bags([4] * 20)), _mean_features),
    "adjacency_matrices": ([np.eye(3) * (i % 2) for i in range(20)], _mean_features),
    "lists_of_numbers": (
        [[i % 2, 2, 3] for i in range(20)],
        lambda lists: np.array([[bag[0], 1.0] for bag in lists]),
    ),
    "graphs_with_len": (
        [Chain(3 + i % 2) for i in range(20)],
        lambda graphs: np.array([[len(g), 1.0] for g in graphs]),
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_recognised_by_the_kernel_and_reach_it_as_they_are(name):
    objects, phi = OBJECTS[name]
    given = []
    kernel = mc.FeatureMap(lambda block: given.extend(block) or phi(block))
    y = np.arange(20) % 2
    model = mc.SVC(kernel=kernel, C=1e3).fit(objects, y)
    assert model.predict(objects[:1]).tolist() == [0]
    features = phi(list(objects))
    expected = mc.SVC(kernel="linear", C=1e3).fit(features, y).decision_function(features)
    np.testing.assert_allclose(model.decision_function(objects), expected, atol=1e-6)
    assert {type(each) for each in given} == {type(each) for each in objects}
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    "estimator",
    [
        mc.SVC(),
        mc.NuSVC(nu=0.5),
        mc.KernelFisher(),
        mc.Kernelized(LogisticRegression()),
        mc.Nystroem(n_components=3),
    ],
    ids=repr,
)
def test_a_fit_names_the_place_of_a_bad_object_in_the_points_of_the_user(estimator):
    words = ["ab", "ba", "aab", "bba", "abb", 7, "bab", "aba"]
    with pytest.raises(TypeError, match=r"^X\[5\] must be a string.*got 7 of type int"):
        clone(estimator).set_params(kernel=mc.strings.Spectrum(1)).fit(words, [1, 0] * 4)


def test_models_keep_objects_in_the_form_of_the_kernel_so_that_files_hold_them(tmp_path):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graphs = [networkx.cycle_graph(n) if n % 2 else networkx.path_graph(n) for n in range(3, 15)]
    model = mc.SVC(kernel=mc.graphs.WeisfeilerLehman(2)).fit(graphs, [0, 1] * 6)
    assert {type(each) for each in model.support_vectors_} == {mc.graphs.Graph}
    mc.save(model, tmp_path / "model")
    expected = model.decision_function(graphs)
    np.testing.assert_allclose(
        mc.load(tmp_path / "model").decision_function(graphs), expected, rtol=1e-12
    )


def test_the_kind_of_points_of_a_fit_stays_that_of_predictions():
    kernel = mc.FunctionKernel(lambda A, B: np.array([[float(np.dot(a, b)) for b in B] for a in A]))
    rows = ROWS[:6, :2]
    by_rows, by_lists = (
        mc.KernelPCA(1, kernel=kernel).fit(rows),
        mc.KernelPCA(1, kernel=kernel).fit(rows.tolist()),
    )
    expected = by_rows.transform(rows)
    for points in (rows, rows.tolist(), list(rows)):
        for model in (by_rows, by_lists):
            np.testing.assert_allclose(
                np.abs(model.transform(points)), np.abs(expected), atol=1e-12
            )
    assert by_rows.n_features_in_ == 2
    assert not hasattr(by_rows.fit(rows.tolist()), "n_features_in_")
    with pytest.raises(ValueError, match="Found X with 1 sample"):
        by_rows.fit([[1.0, 2.0]])


@pytest.mark.parametrize(
    "estimator", [mc.SVC(), mc.KernelRidge(), mc.KernelPCA()], ids=lambda e: type(e).__name__
)
def test_dates_are_no_numbers(estimator):
    dates = np.arange(90).reshape(30, 3).astype("datetime64[D]")
    with pytest.raises(TypeError, match=r"X must hold real numbers, got .*datetime64\[D\]"):
        estimator.fit(dates, LABELS)
    fitted = clone(estimator).fit(ROWS, LABELS)
    with pytest.raises(TypeError, match="X must hold real numbers"):
        (fitted.transform if hasattr(fitted, "transform") else fitted.predict)(dates)


@pytest.mark.parametrize(
    "estimator", [mc.SVC(), mc.KernelRidge(), mc.KernelPCA()], ids=lambda e: type(e).__name__
)
def test_tables_with_two_columns_of_one_name_or_sparse_columns_without_zeros_are_refused(estimator):
    twice = pd.DataFrame(ROWS, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="X must have columns of different names, got 'a' 2 times"):
        estimator.fit(twice, LABELS)
    filled = pd.DataFrame(ROWS, columns=list("abc")).astype(pd.SparseDtype(float))
    with pytest.raises(ValueError, match="column 'a' of X must have the fill value 0, got nan"):
        estimator.fit(filled, LABELS)
    zeros = filled.astype(pd.SparseDtype(float, 0.0))
    dense, sparse = (
        clone(estimator).fit(table, LABELS) for table in (filled.sparse.to_dense(), zeros)
    )
    np.testing.assert_allclose(
        mc.as_expansion(sparse).expansion.norms(), mc.as_expansion(dense).expansion.norms()
    )


@pytest.mark.parametrize(
    "estimator", [mc.SVR(), mc.NuSVR(), mc.KernelRidge()], ids=lambda e: type(e).__name__
)
def test_dates_are_no_targets(estimator):
    with pytest.raises(
        TypeError, match=r"y must hold labels or numbers, got dtype datetime64\[D\]"
    ):
        estimator.fit(ROWS, np.arange(30).astype("datetime64[D]"))


@pytest.mark.parametrize(
    "estimator", [mc.KernelPCA(), mc.KernelRidge(), mc.Nystroem()], ids=lambda e: type(e).__name__
)
def test_a_random_state_is_checked_where_no_route_uses_it(estimator):
    with pytest.raises(ValueError, match="random_state = 'x' must be a whole number"):
        estimator.set_params(random_state="x").fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (["ab", "c", "ab", "d"], r"X\[0\] of type str.* use a kernel of objects"),
        (pd.Series(["ab", "c", "ab", "d"]), r"X\[0\] of type str"),
        ([1.0, {2.0}, 3.0, 4.0], r"X\[1\] of type set"),
        (
            pd.DataFrame({"text": ["ab", "c", "ab", "d"]}),
            r"X\[0, 0\], column 'text', of type str.*mercer.on_columns",
        ),
    ],
    ids=["list", "Series", "set", "table"],
)
def test_a_kernel_of_rows_refuses_objects_by_their_place_and_type(points, message):
    for use in (
        lambda: mc.SVC().fit(points, [0, 1, 0, 1]),
        lambda: mc.Gaussian("median").resolve(points),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            use()


@pytest.mark.parametrize(
    "estimator",
    [mc.SVC(), mc.KernelRidge(), mc.KernelFisher(), mc.KernelPCA()],
    ids=lambda e: type(e).__name__,
)
def test_rows_whose_squares_underflow_are_refused_and_other_scales_are_taken(estimator):
    single = ROWS.astype(np.float32)
    with pytest.raises(ValueError, match="underflow float32: X has entries up to .*e-23; scale X"):
        estimator.fit(single * np.float32(1e-23), LABELS)
    with pytest.raises(ValueError, match="underflow float64"):
        estimator.fit(ROWS * 1e-200, LABELS)
    estimator.fit(single * np.float32(1e-10), LABELS)


@pytest.mark.parametrize(
    "estimator",
    [
        mc.SVR(),
        mc.KernelFisher(),
        mc.KernelPerceptron(),
        mc.KernelMap(),
        mc.KernelPCA(),
        mc.Nystroem(n_components=3),
    ],
    ids=repr,
)
def test_a_bandwidth_that_leaves_no_pair_related_is_named(estimator):
    with pytest.warns(UserWarning, match="100% of the pairs .* are unrelated.* use a wider kernel"):
        estimator.set_params(kernel=mc.Gaussian(1e9)).fit(ROWS, LABELS)
    # a wide kernel causes none
    estimator.set_params(kernel=mc.Gaussian("median")).fit(ROWS, LABELS)


@pytest.mark.parametrize("name", ["SVC", "KernelPCA", "KernelRidge"])
def test_the_names_of_an_estimator_are_listed_without_computing_properties(name):
    model = getattr(mc, name)()
    made = type(name, (type(model),), {"broken_": property(lambda _self: 1 / 0)})()
    assert {"broken_", "fit", "kernel"} <= set(dir(made))
    # a method that only exists for another kernel or target is not listed
    assert ("inverse_transform" in dir(mc.KernelPCA(kernel="precomputed"))) == hasattr(
        mc.KernelPCA(kernel="precomputed"), "inverse_transform"
    )
    assert "predict_proba" not in dir(mc.SVCCV())
    assert "predict_proba" in dir(mc.SVCCV(calibration="sigmoid"))


@pytest.mark.parametrize(
    "name", sorted({*ESTIMATORS} - {"Nystroem", "PCAL1", "VirtualSupportVectors"} - TABLES)
)
def test_float32_kernel_values_of_a_matrix_give_float32(name):
    K = mc.Gaussian(0.5)(ROWS).astype(np.float32)
    cls = getattr(estimators, name)
    inner = [LogisticRegression()] if name == "Kernelized" else []
    model = cls(*inner, kernel="precomputed")
    targets = ROWS[:, 0] if sklearn.base.is_regressor(model) else LABELS
    model.fit(K, targets)
    used = [method for method in ("decision_function", "transform") if hasattr(model, method)] or [
        "predict"
    ]
    assert all(getattr(model, method)(K[:5]).dtype == np.float32 for method in used)
    if hasattr(model, "fit_transform"):
        assert model.fit_transform(K, targets).dtype == np.float32


def test_names_of_rows_in_blocks_are_compared_with_those_of_the_fit_and_not_taken():
    pyarrow = pytest.importorskip("pyarrow")
    model = mc.KernelPCA(2, kernel=KERNEL, landmarks=9).fit(pd.DataFrame(ROWS, columns=list("abc")))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(pyarrow.table(dict(pd.DataFrame(ROWS, columns=list("xyz")))))
    assert model.feature_names_in_.tolist() == list("abc")


def test_a_model_of_rows_in_blocks_is_certified_on_all_of_them():
    pyarrow = pytest.importorskip("pyarrow")
    rows = pd.DataFrame(ROWS, columns=list("abc"))
    model = mc.Nystroem(KERNEL, n_components=9).fit(pyarrow.table(dict(rows)))
    assert mc.certify(model, rows).residuals.max() < 1e-9
    with pytest.raises(ValueError, match="X has 3 rows, but Nystroem was fitted on 30"):
        mc.certify(model, rows[:3])
