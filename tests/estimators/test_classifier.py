"""Parts shared by SVC and NuSVC: the sorted training problem, fitted attributes, decisions."""

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone

import mercer as mc

X = np.array([[0.0], [3.0], [1.0], [4.0], [8.0], [9.0]])
Y = np.array(["b", "c", "b", "c", "a", "a"])

# Prints how often threads of other libraries run in a product, a fit and a prediction.
RUNS_OF_OTHER_THREADS = """
import os, sys, threading
import numpy as np
import mercer as mc
def runs(call):
    def count():
        own = {thread.native_id for thread in threading.enumerate()}
        tasks = [task for task in os.listdir("/proc/self/task") if int(task) not in own]
        lines = [line for task in tasks for line in open(f"/proc/self/task/{task}/status") if "ctxt_switches" in line]
        return sum(int(line.split()[1]) for line in lines)
    before = count()
    call()
    return count() - before
random, c = np.random.default_rng(0), int(sys.argv[1])
X, y = random.standard_normal((1500, 60)), random.integers(c, size=1500)
model = mc.SVC().fit(X, y)
model.predict(X)
print(runs(lambda: X @ X.T), runs(lambda: model.fit(X, y)), runs(lambda: model.predict(X)))
"""


def test_upper_bounds_are_C_times_the_weights_of_classes_and_points():
    weights, factors = np.array([1.0, 3.0, 1.0, 1.0, 1.0, 2.0]), {"a": 1.0, "b": 10.0, "c": 100.0}
    model = mc.SVC(0.5, kernel="linear", class_weight=factors).fit(X, Y, weights)
    expected = 0.5 * weights * [factors[label] for label in Y]
    for each in mc.capacity.models(model, X, Y, weights):
        np.testing.assert_allclose(each.upper_bounds, expected[each.rows])


@pytest.mark.parametrize(
    "weights", [np.ones(30), np.arange(30) % 4 / 2 + 0.25], ids=["equal", "weighted"]
)
def test_support_vectors_are_stored_once_sorted_by_class_as_those_of_scikit_learn(
    weights, global_random_seed
):
    rows = np.random.default_rng(global_random_seed).standard_normal((30, 2))
    labels = np.array(list("bca"))[np.arange(30) % 3]
    options = {"C": 2.0, "gamma": 0.5, "tol": 1e-9}
    peer = sklearn.svm.SVC(**options).fit(rows, labels, weights)
    model = mc.SVC(2.0, kernel=mc.Gaussian(0.5), tol=1e-9).fit(rows, labels, weights)
    np.testing.assert_array_equal(model.support_, peer.support_)
    np.testing.assert_array_equal(model.support_vectors_, rows[model.support_])
    np.testing.assert_array_equal(model.n_support_, peer.n_support_)
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_.T, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
    # columns of pairs: the coefficients of vectors of both classes, and 0 for the third
    values = np.reshape(model.expansion_(rows) + model.intercept_, (30, 3))
    pairs = model.set_params(decision_function_shape="ovo").decision_function(rows)
    np.testing.assert_allclose(values, pairs, atol=1e-12)
    places = np.repeat(np.arange(3), model.n_support_)
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        coef = model.expansion_.coef[:, column]
        assert not coef[(places != i) & (places != j)].any()
        np.testing.assert_array_equal(coef[places == i], model.dual_coef_[places == i, j - 1])
        np.testing.assert_array_equal(coef[places == j], model.dual_coef_[places == j, i])


def test_a_fit_sorts_points_by_class_and_leaves_out_those_of_weight_0():
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    model = mc.SVC(100.0, kernel="linear").fit(X, Y, weights)
    assert 4 not in model.support_
    assert [Y[row] for row in model.support_] == sorted(Y[row] for row in model.support_)
    np.testing.assert_array_equal(
        np.bincount(np.searchsorted(list("abc"), Y[model.support_])), model.n_support_
    )


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize(
    "estimator", [mc.SVC(10.0, kernel=mc.Gaussian(0.5)), mc.NuSVC(0.2, kernel=mc.Gaussian(0.5))]
)
def test_decisions_are_the_expansion_and_the_intercept_by_pair_or_class(
    estimator, multi_class, shape
):
    params = {"multi_class": multi_class, "decision_function_shape": shape}
    model = type(estimator)(**estimator.get_params(deep=False) | params).fit(X, Y)
    values, new = model.decision_function(X), model.expansion_(X) + model.intercept_
    assert (model.predict(X) == Y).all()
    if (multi_class, shape) == ("ovo", "ovr"):
        # votes plus values that are scaled to less than a third of a vote
        wins = np.column_stack([new[:, 0] > 0, new[:, 0] < 0, np.zeros(6)]).astype(float)
        wins += np.column_stack([new[:, 1] > 0, np.zeros(6), new[:, 1] < 0])
        wins += np.column_stack([np.zeros(6), new[:, 2] > 0, new[:, 2] < 0])
        sums = np.column_stack(
            [new[:, 0] + new[:, 1], new[:, 2] - new[:, 0], -new[:, 1] - new[:, 2]]
        )
        new = wins + sums / (3 * (1 + np.abs(sums)))
    np.testing.assert_allclose(values, new, atol=1e-12)


def test_nu_svc_is_no_svc():
    assert not issubclass(mc.NuSVC, mc.SVC)
    assert not hasattr(mc.NuSVC(), "C")


def test_choices_are_checked():
    with pytest.raises(ValueError, match=r"multi_class = 'x' must be one of \('ovo', 'ovr'\)"):
        mc.SVC(multi_class="x").fit(X, Y)


def test_balanced_weights_count_samples_by_their_weights():
    rows, y, weights = X[:3], np.array([0, 1, 1]), np.array([2.0, 1.0, 3.0])
    for given, factors in (("balanced", [6 / 4, 6 / 8]), (None, [1, 1]), ({0: 3.0}, [3, 1])):
        model = mc.SVC(kernel="linear", class_weight=given).fit(rows, y, weights)
        (own,) = mc.capacity.models(model, rows, y, weights)
        np.testing.assert_allclose(own.upper_bounds, weights * np.array(factors)[y])
    for factor in (-1.0, 0.0, np.inf):
        with pytest.raises(ValueError, match=rf"class_weight\[1\] = {factor} must be"):
            mc.SVC(class_weight={0: 1.0, 1: factor}).fit(rows, y)


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/task"), reason="the system does not show threads as files"
)
@pytest.mark.parametrize("n_classes", [2, 26])
def test_no_thread_of_blas_runs_in_a_fit_or_a_prediction(n_classes):
    # with this limit, threads of OpenBLAS do not wait for further products in a loop
    environment = os.environ | {
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "OPENBLAS_THREAD_TIMEOUT": "4",
    }
    command = [sys.executable, "-W", "ignore", "-c", RUNS_OF_OTHER_THREADS, str(n_classes)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    product, fit, prediction = map(int, result.stdout.split())
    if not product:
        pytest.skip("this BLAS starts no threads")
    assert (fit, prediction) == (0, 0)


@pytest.mark.parametrize(
    "estimator", [mc.SVC(), mc.NuSVC(nu=0.3), mc.SVC(kernel="linear"), mc.SVC(landmarks=4)]
)
@pytest.mark.parametrize(("fitted", "changed"), [("ovo", "ovr"), ("ovr", "ovo")])
def test_another_multi_class_than_that_of_the_fit_is_refused(estimator, fitted, changed):
    model = clone(estimator).set_params(multi_class=fitted).fit(X, Y)
    values = model.decision_function(X)
    model.set_params(multi_class=changed)
    for use in (
        model.predict,
        model.decision_function,
        lambda _: model.expansion_,
        lambda X: mc.certify(model, X, Y),
    ):
        with pytest.raises(
            ValueError, match=f"multi_class = '{changed}' must be that of the fit, '{fitted}'"
        ):
            use(X)
    np.testing.assert_array_equal(model.set_params(multi_class=fitted).decision_function(X), values)
    # two classes have one binary classifier
    two = clone(estimator).set_params(multi_class=fitted).fit(X, Y[0] == Y)
    values = two.decision_function(X)
    np.testing.assert_array_equal(two.set_params(multi_class=changed).decision_function(X), values)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "kernel", ["rbf", "linear", "precomputed", mc.strings.Spectrum(2)], ids=str
)
def test_points_are_decided_in_parts_if_classes_are_many(kernel, n_classes, shape, limits):
    rng = np.random.default_rng(0)
    points, y = rng.standard_normal((40, 3)), np.arange(40) % n_classes
    new = rng.standard_normal((23, 3))
    if kernel == "precomputed":
        points, new = points @ points.T, new @ points.T
    elif isinstance(kernel, mc.strings.Spectrum):
        points, new = (
            ["".join("ab"[each] for each in rng.integers(2, size=6)) for _ in range(n)]
            for n in (40, 23)
        )
    model = mc.SVC(kernel=kernel, decision_function_shape=shape).fit(points, y)
    values, labels = model.decision_function(new), model.predict(new)
    limits(pair_values=5 * n_classes**2)
    np.testing.assert_allclose(model.decision_function(new), values, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), labels)
