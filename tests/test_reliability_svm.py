"""Failures of support vector machines in other libraries do not occur here (rows C of the list in test_reliability)."""

import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as LIBSVM
from tests.reference.inside import costs
from threadpoolctl import threadpool_limits

import mercer as mc
from mercer.solvers.svm.smo import load, subtract, take_steps

RNG = np.random.default_rng(11)
X = RNG.standard_normal((80, 3))
Y = (X[:, 0] * X[:, 1] + 0.3 * RNG.standard_normal(80) > 0).astype(int)
VALUES = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(80)
KERNEL = mc.Gaussian(0.3)
MODELS = {
    "SVC": (mc.SVC(kernel=KERNEL), Y),
    "NuSVC": (mc.NuSVC(0.6, kernel=KERNEL), Y),
    "SVR": (mc.SVR(kernel=KERNEL), VALUES),
    "NuSVR": (mc.NuSVR(kernel=KERNEL), VALUES),
    "QuantileSVR": (mc.QuantileSVR(0.7, kernel=KERNEL), VALUES),
    "OneClassSVM": (mc.OneClassSVM(0.3, kernel=KERNEL), None),
    "SVDD": (mc.SVDD(0.05, kernel=KERNEL), None),
}
each_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, rows=slice(None), points=X, weights=None, **parameters):
    """Return a model fitted to some rows."""
    model, target = MODELS[name]
    model = type(model)(**model.get_params(deep=False) | parameters)
    return model.fit(points[rows], None if target is None else target[rows], sample_weight=weights)


def outputs(model, points=X):
    return getattr(model, "decision_function", model.predict)(points)


# --- C1 to C4: stops --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, 1e6])
@pytest.mark.parametrize(
    "kernel",
    [mc.Polynomial(9, 1.0, 1.0), mc.Polynomial(3, 1.0, 0.0), mc.Linear()],
    ids=["degree 9", "cubic", "linear"],
)
def test_c1_unscaled_and_nearly_singular_problems_end_with_the_number(kernel, C):
    # one feature, high degree, large C: other solvers never return
    points = np.linspace(0, 30, 40).reshape(-1, 1)
    labels = np.random.default_rng(0).integers(0, 2, 40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mc.SVC(C, kernel=kernel, max_iter=100_000).fit(points, labels)
    assert model.n_iter_[0] <= 100_000
    assert np.isfinite(outputs(model, points)).all()
    assert all("violation of" in str(each.message) for each in caught)
    assert caught or model.certificate_.kkt <= 1e-3


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "SVDD"])
@pytest.mark.parametrize("K", ["-I", "sigmoid", "random"])
def test_c2_indefinite_matrices_end_with_finite_numbers(name, K):
    A = np.random.default_rng(3).standard_normal((80, 80))
    K = {"-I": -np.eye(80), "sigmoid": mc.Sigmoid(1.0, -1.0)(X), "random": A + A.T}[K]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(name, points=K, kernel="precomputed", max_iter=5000)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.intercept_ if name != "SVDD" else model.radius_).all()


@each_model
def test_c2_asymmetric_matrices_raise_an_error_with_the_difference(name):
    K = KERNEL(X)
    K[0, 1] += 0.5
    with pytest.raises(ValueError, match=r"must be symmetric: max .* = 0.5"):
        fitted(name, points=K, kernel="precomputed")


@each_model
def test_c3_c4_too_few_steps_end_at_the_number_with_violation_and_gap(name):
    # NuSVC and NuSVR with few points are solved after two steps
    steps = 3 if name not in ("NuSVC", "NuSVR") else 1
    with pytest.warns(
        ConvergenceWarning,
        match=rf"{name} stopped after \d+ steps with a violation of .* relative gap",
    ):
        model = fitted(name, max_iter=steps, tol=1e-8)
    # NuSVC solves twice
    assert np.max(model.n_iter_) <= 2 * steps
    assert np.isfinite(model.dual_coef_).all()


# --- C5, C6, C12: accuracy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_c5_c6_the_gap_is_small_for_every_c_and_the_violation_is_rounding(name, C):
    target = MODELS[name][1]
    certificate = mc.certify(fitted(name, C=C), X, target)
    assert certificate.gap <= 1e-3 * certificate.primal
    assert certificate.kkt <= 1e-9


@each_model
def test_c12_the_order_of_rows_does_not_change_outputs(name, global_random_seed):
    order = np.random.default_rng(global_random_seed).permutation(len(X))
    np.testing.assert_allclose(outputs(fitted(name)), outputs(fitted(name, order)), atol=1e-7)


def test_labels_are_those_of_scikit_learn_if_decision_values_are_above_the_tolerance():
    for gamma in (0.1, 1.0):
        ours, theirs = mc.SVC(kernel=mc.Gaussian(gamma)).fit(X, Y), LIBSVM(gamma=gamma).fit(X, Y)
        clear = np.abs(ours.decision_function(X)) > 2e-3
        assert (ours.predict(X) == theirs.predict(X))[clear].all()


# --- C8 to C11, C13, C14: input ---------------------------------------------------------------------------------------


def test_c8_an_infeasible_nu_is_found_before_kernel_values_are_computed():
    computed = []

    def counted(A, B):
        computed.append(len(A) * len(B))
        return KERNEL(np.asarray(A), np.asarray(B))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"nu = 0.9 is infeasible.*lowered to 0.2"):
            mc.NuSVC(0.9, kernel=counted).fit(X[:60], np.arange(60) < 6)
    assert sum(computed) < 60 * 60


@pytest.mark.parametrize(
    "model", [mc.SVC(), mc.NuSVC(), mc.SVCCV(Cs=[1.0])], ids=lambda each: type(each).__name__
)
def test_c9_one_class_is_named(model):
    with pytest.raises(ValueError, match="one class, 1"):
        model.fit(X, np.ones(80, int))
    with pytest.raises(ValueError, match="one class, 0, among rows of positive weight"):
        model.fit(X, Y, sample_weight=Y == 0)


@each_model
@pytest.mark.parametrize("weight", [np.nan, -1.0, np.inf])
def test_c10_a_bad_weight_is_named_with_its_row(name, weight):
    weights = np.ones(80)
    weights[5] = weight
    with pytest.raises(ValueError, match=rf"sample_weight\[5\] = {weight}"):
        fitted(name, weights=weights)


@each_model
def test_c10_c11_integer_weights_equal_repetitions_and_zero_weights_raise_an_error(
    name, global_random_seed
):
    with pytest.raises(ValueError, match="sample_weight must not all be zero"):
        fitted(name, weights=np.zeros(80))
    weights = np.random.default_rng(global_random_seed).integers(0, 3, 80)
    parameters = {"C": 0.04} if name == "SVDD" else {}
    repeated = fitted(name, np.repeat(np.arange(80), weights), **parameters)
    np.testing.assert_allclose(
        outputs(fitted(name, weights=weights, **parameters)), outputs(repeated), atol=1e-7
    )


@each_model
def test_c10_weights_that_are_not_numbers_are_shown(name):
    with pytest.raises(
        ValueError,
        match="sample_weight must be numbers, one for each of 80 points, got 'balanced'.*class_weight",
    ):
        fitted(name, weights="balanced")


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR", "SVDD"])
@pytest.mark.parametrize("C", ["1", [1.0], True])
def test_a_c_of_another_type_is_shown(name, C):
    with pytest.raises(
        TypeError, match=r"C must be a number, got ('1'|\[1.0\]|True) of type (str|list|bool)"
    ):
        fitted(name, C=C)


@pytest.mark.parametrize("name", ["SVR", "NuSVR"])
def test_labels_as_targets_raise_an_error_that_names_classifiers(name):
    with pytest.raises(
        ValueError, match=rf"{name} needs y of numbers, got dtype <U1; for labels use a classifier"
    ):
        MODELS[name][0].fit(X, np.array(list("ab" * 40)))


@each_model
def test_d2_kernel_values_with_too_few_training_points_raise_an_error_with_the_shape(name):
    with pytest.raises(ValueError, match=r"X has 79 features, but .* expecting 80") as caught:
        fitted(name, points=KERNEL(X), kernel="precomputed").predict(KERNEL(X)[:, :79])
    assert "kernel values of new points with all 80 training points" in str(caught.value)


def test_c13_continuous_labels_raise_an_error_and_large_integers_stay_different():
    with pytest.raises(ValueError, match="[Cc]ontinuous"):
        mc.SVC().fit(X, VALUES)
    big = np.array([2**53, 2**53 + 1])[Y]
    assert set(mc.SVC().fit(X, big).classes_) == {2**53, 2**53 + 1}


def test_c14_svc_has_no_probabilities_that_could_contradict_the_prediction():
    assert not hasattr(mc.SVC().fit(X, Y), "predict_proba")


# --- C17, C18: sizes and backends -------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [2**31 - 1, 2**31, 2**32 + 1, 2**40])
def test_c17_limits_beyond_32_bits_are_not_truncated_and_not_allocated(memory):
    labels = RNG.integers(0, 3, 80)
    for model, target in ((mc.SVC(kernel=KERNEL), labels), (mc.SVR(kernel=KERNEL), VALUES)):
        wide, usual = (
            type(model)(kernel=KERNEL, memory=own).fit(X, target) for own in (memory, "1GB")
        )
        np.testing.assert_array_equal(wide.dual_coef_, usual.dual_coef_)
        np.testing.assert_array_equal(wide.n_iter_, usual.n_iter_)


@each_model
def test_c17_sparse_rows_with_64_bit_indices_equal_those_with_32_bit_indices(name):
    narrow, wide = sp.csr_array(X * (X > 0)), sp.csr_array(X * (X > 0))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    one, other = fitted(name, points=narrow), fitted(name, points=wide)
    np.testing.assert_array_equal(outputs(one, wide), outputs(other, narrow))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows writes the whole file")
def test_c17_kernel_values_beyond_the_first_two_to_the_31_are_found():
    n, width = 80, 8 * costs.LANES
    first = 2**31 // width + 1
    # a file of 8 GB, of which a few pages are written
    with tempfile.TemporaryFile() as file:
        far = np.asarray(np.memmap(file, np.float32, "w+", shape=(first + n, width)))
    near = np.zeros((n, width), np.float32)
    near[:, :n] = far[first:, :n] = KERNEL(X)
    target, ones = np.zeros(width), np.zeros(width)
    target[:n], ones[:n] = 2.0 * Y - 1, 1.0
    found = []
    for values, start in ((near, 0), (far, first)):
        slots, coef, rising, falling = (
            np.full(width, -1),
            np.zeros(width),
            np.empty(width),
            np.empty(width),
        )
        slots[:n], none = start + np.arange(n), np.empty(0, int)
        problem = coef, np.minimum(target, 0), np.maximum(target, 0), 0.0
        load(target, *problem, rising, falling)
        slopes, groups = (rising, falling, *problem), np.array([0, width])
        n_iter, missing, gap = take_steps(
            values, slots, ones, *slopes, groups, values[:0], none, slots, 1e-6, 10**6
        )
        assert missing == -1
        assert gap <= 1e-6
        gradient = target.copy()
        subtract(values, slots[:n], coef[:n], gradient)
        free = (coef > problem[1]) & (coef < problem[2])
        assert free.any()
        np.testing.assert_allclose(gradient[free], rising[free], atol=1e-9)
        found.append((n_iter, coef))
    assert found[0][0] == found[1][0] > 0
    np.testing.assert_array_equal(found[0][1], found[1][1])


# unscaled features: a share, a count, an income; on such data parallel solvers were wrong without a warning
UNSCALED = np.random.default_rng(5).standard_normal((240, 3)) * [0.1, 30.0, 2e3] + [0.5, 200.0, 4e4]
OUTCOME = np.digitize(
    UNSCALED @ [10.0, 0.03, 0.0005] + np.random.default_rng(6).standard_normal(240), [30.0, 32.0]
)
BACKENDS = {
    "compiled": (mc.Gaussian(), UNSCALED, {}),
    "float32": (mc.Gaussian(), UNSCALED.astype(np.float32), {}),
    "callable": (lambda A, B: mc.Gaussian().resolve(UNSCALED)(A, B), UNSCALED, {}),
    "precomputed": ("precomputed", mc.Gaussian().resolve(UNSCALED)(UNSCALED), {}),
    "sparse": (mc.Gaussian(), sp.csr_array(UNSCALED), {}),
    "little memory": (mc.Gaussian(), UNSCALED, {"memory": 300_000}),
}


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("backend", BACKENDS)
def test_c18_every_backend_has_its_certificate_and_the_labels_of_libsvm_on_unscaled_data(
    backend, threads
):
    kernel, points, parameters = BACKENDS[backend]
    with threadpool_limits(threads):
        model = mc.SVC(100.0, kernel=kernel, **parameters).fit(points, OUTCOME)
    certificate = mc.certify(model, points, OUTCOME)
    assert certificate.kkt <= (1e-3 if backend == "float32" else 1e-8)
    assert certificate.gap <= 1e-3 * certificate.primal
    peer = LIBSVM(C=100.0, tol=1e-8, decision_function_shape="ovo").fit(UNSCALED, OUTCOME)
    values = peer.decision_function(UNSCALED)
    pairs = model.set_params(decision_function_shape="ovo").decision_function(points)
    np.testing.assert_allclose(pairs, values, atol=5e-2 if backend == "float32" else 1e-3)
    clear = (np.abs(values) > 5e-2).all(axis=1)
    assert (model.predict(points) == peer.predict(UNSCALED))[clear].all()


# --- C16, C19: scales and state ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-100, 1e-10, 1e10, 1e30])
def test_c16_targets_of_any_scale_give_the_same_function(scale):
    model = mc.SVR(scale, kernel=KERNEL, epsilon=0.1 * scale, tol=1e-3 * scale).fit(
        X, scale * VALUES
    )
    np.testing.assert_allclose(model.predict(X) / scale, fitted("SVR").predict(X), atol=1e-6)


def test_c16_a_very_large_c_gives_the_hard_margin():
    apart = X + 4 * np.column_stack([2 * Y - 1, np.zeros((80, 2))])
    hard = mc.SVC(np.inf, kernel="linear").fit(apart, Y).decision_function(apart)
    for C in (1e6, 1e100, 1e300):
        np.testing.assert_allclose(
            mc.SVC(C, kernel="linear").fit(apart, Y).decision_function(apart), hard, atol=1e-5
        )


@each_model
def test_features_of_a_billion_are_finite(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(name, points=X * [1e-6, 1.0, 1e9], kernel="rbf", max_iter=5000)
    assert np.isfinite(outputs(model, X * [1e-6, 1.0, 1e9])).all()


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR", "OneClassSVM", "SVDD"])
def test_two_points_are_enough(name):
    rows = np.array([np.flatnonzero(Y == 0)[0], np.flatnonzero(Y == 1)[0]])
    with warnings.catch_warnings():
        # C = 0.05 is infeasible for two points: SVDD raises it
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(outputs(fitted(name, rows))).all()


@each_model
def test_c19_fits_in_several_threads_equal_single_fits(name):
    alone = outputs(fitted(name))
    with ThreadPoolExecutor(4) as pool:
        for together in pool.map(lambda _: outputs(fitted(name)), range(4)):
            np.testing.assert_allclose(together, alone, atol=1e-9)
