from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import mercer as mc
from mercer import capacity

DECAY = capacity.ExponentialDecay(1.5)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + 2 * np.eye(3)[y][:, :2], y


def test_four_points_on_a_line_have_the_model_known_by_hand():
    # f(x) = 2 x - 3: margins 3, 1, 1, 3, coefficients -2 and 2 of the two points between
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    own = capacity.model(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    assert len(own) == 4
    assert np.allclose(own.outputs, [-3, -1, 1, 3])
    assert np.allclose(own.margins, [3, 1, 1, 3])
    assert np.allclose(own.coef, [0, -2, 2, 0])
    assert own.targets.tolist() == [-1, -1, 1, 1]
    assert own.diagonal.tolist() == [0, 1, 4, 9]
    assert (own.norm, own.bias) == (pytest.approx(2), pytest.approx(-3))
    assert own.upper_bounds.tolist() == [10] * 4
    assert own.on_margin.tolist() == [False, True, True, False]


def test_a_coefficient_is_below_its_upper_bound_beyond_a_millionth():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    own = capacity.model(mc.SVC(kernel="linear").fit(X, y), X, y)
    shares = np.array([0.0, 1 - 1.5e-6, 1 - 0.7e-6, 1.0])
    for upper in (3.0, 0.2):
        model = replace(own, coef=own.targets * shares * upper, upper_bounds=np.full(4, upper))
        assert model.on_margin.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    "given", [None, np.resize([1.0, 2.0, 0.0, 1.5, 0.5], 60)], ids=["plain", "weighted"]
)
def test_upper_bounds_of_nu_svc_follow_the_weights(sample, given):
    X, y = sample[0], (sample[1] == 0).astype(int)
    fit = mc.NuSVC(nu=0.4, kernel=mc.Gaussian(0.5), class_weight={0: 0.25, 1: 0.5}).fit(X, y, given)
    own = capacity.model(fit, X, y, given)
    weights = (1.0 if given is None else given) * np.where(y == 1, 0.5, 0.25)
    assert np.allclose(
        own.upper_bounds, weights * np.max(np.abs(own.coef[weights > 0]) / weights[weights > 0])
    )
    # points at their upper bounds lie within the margin, those below are on it
    size = np.abs(own.coef)
    assert np.all(own.margins[(size == own.upper_bounds) & (weights > 0)] <= 1 + 1e-3)
    assert np.allclose(own.margins[own.on_margin], 1, atol=1e-3)
    assert own.on_margin.any()


def test_weights_that_coefficients_contradict_are_refused(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    fit = mc.SVC(C=0.1, kernel=mc.Gaussian(0.5)).fit(X, y, np.full(60, 3.0))
    for call in (capacity.model, capacity.span_rule, capacity.leave_one_out, capacity.report):
        with pytest.raises(
            ValueError,
            match=r"coefficient \S+ of row \d+ is above its upper bound 0\.1, .* sample_weight",
        ):
            call(fit, X, y)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(60,\)"):
        capacity.model(fit, X, y, np.full(59, 3.0))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_each_binary_classifier_has_its_rows_and_targets(multi_class):
    X, y = np.arange(6.0)[:, None], np.array([2, 0, 1, 2, 0, 1])
    found = capacity.models(
        mc.SVC(multi_class=multi_class, kernel=mc.Gaussian(1.0)).fit(X, y), X, y
    )
    if multi_class == "ovr":
        assert [each.rows.tolist() for each in found] == [list(range(6))] * 3
        assert [np.flatnonzero(each.targets > 0).tolist() for each in found] == [
            [1, 4],
            [2, 5],
            [0, 3],
        ]
    else:
        assert [each.rows.tolist() for each in found] == [[1, 2, 4, 5], [0, 1, 3, 4], [0, 2, 3, 5]]
        assert [each.rows[each.targets > 0].tolist() for each in found] == [[1, 4], [1, 4], [2, 5]]
    assert all(np.array_equal(each.points, X[each.rows]) for each in found)


@pytest.mark.parametrize("weighted", [False, True])
def test_upper_bounds_of_a_regression_are_c_times_the_weights(weighted):
    X = np.linspace(0, 3, 20)[:, None]
    weights = np.linspace(0.5, 2, 20) if weighted else None
    own = capacity.model(
        mc.SVR(C=3.0, kernel=mc.Gaussian(1.0)).fit(X, X.ravel(), weights), X, X.ravel(), weights
    )
    assert np.allclose(own.upper_bounds, 3 * weights if weighted else 3)
    assert np.array_equal(own.targets, X.ravel())


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_outputs_are_the_decision_values(sample, multi_class, dtype):
    X, y = sample[0].astype(dtype), sample[1]
    model = mc.SVC(multi_class=multi_class, decision_function_shape=multi_class).fit(X, y)
    values = model.decision_function(X)
    for j, each in enumerate(capacity.models(model, X, y)):
        assert np.allclose(
            each.outputs, values[each.rows, j], atol=1e-5 if dtype == np.float32 else 1e-12
        )
        assert np.allclose(
            each.outputs, each.kernel(each.points) @ each.coef + each.bias, atol=1e-9
        )
        assert set(each.targets) == {-1.0, 1.0}


def test_coefficients_obey_their_upper_bounds_and_the_certificate(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    model = mc.SVC(C=2.0, class_weight={0: 1.0, 1: 3.0}, kernel=mc.Gaussian(0.5)).fit(X, y)
    weights = np.linspace(0.5, 2, 60)
    for fit, given in (
        (model, None),
        (mc.SVC(C=2.0, kernel=mc.Gaussian(0.5)).fit(X, y, weights), weights),
    ):
        own = capacity.model(fit, X, y, given)
        assert np.all(np.abs(own.coef) <= own.upper_bounds * (1 + 1e-9))
        primal = 0.5 * own.norm**2 + own.upper_bounds @ np.maximum(0, 1 - own.margins)
        assert np.isclose(primal, mc.certify(fit, X, y, given).primal, rtol=1e-9)


def test_upper_bounds_of_nu_svc_are_its_largest_coefficients(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    own = capacity.model(mc.NuSVC(nu=0.4, kernel=mc.Gaussian(0.5)).fit(X, y), X, y)
    bound = np.abs(own.coef) > own.upper_bounds * (1 - 1e-6)
    assert bound.sum() > 5
    assert np.all(own.margins[~bound] > 1 - 1e-3)


def test_a_given_matrix_and_sparse_rows_are_read_as_dense_ones(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    dense = capacity.model(mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y), X, y)
    K = mc.Gaussian(0.5)(X)
    given = capacity.model(mc.SVC(kernel="precomputed").fit(K, y), K, y)
    sparse = capacity.model(
        mc.SVC(kernel=mc.Gaussian(0.5)).fit(sp.csr_matrix(X), y), sp.csr_matrix(X), y
    )
    for other in (given, sparse):
        assert np.allclose(other.coef, dense.coef, atol=1e-8)
        assert np.allclose(other.outputs, dense.outputs, atol=1e-8)


@pytest.mark.parametrize(
    "bound",
    [capacity.rademacher, capacity.pac_bayes, lambda own: capacity.covering_bound(own, DECAY)],
)
def test_bounds_take_the_bias_as_a_coordinate(bound, global_random_seed):
    # f(x) = x - 3 on both sides of 3
    n = 20_000
    x, y = np.random.default_rng(global_random_seed).uniform(1, 2, n), np.resize([1.0, -1.0], n)
    x = 3 + y * x
    own = capacity.Model(mc.Linear(), x[:, None], np.arange(n), y, x - 3, x**2, 1.0, -3.0)
    # the kernel k + 1, the squared norm |w|^2 + b^2, the same outputs: as a model without a bias
    wide = replace(own, kernel=mc.Linear() + 1.0, norm=10**0.5, bias=0.0)
    value = bound(own).value
    assert value < 0.5
    assert bound(wide).value == pytest.approx(value, rel=1e-12)
    assert bound(replace(own, bias=-9.0)).value > value


def test_other_points_than_those_of_the_fit_are_refused(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    model = mc.SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"Resubstitution"):
        capacity.model(model, X[::-1], y)
    with pytest.raises(ValueError, match=r"Resubstitution"):
        capacity.model(model, X[:3], y[:3])
    with pytest.raises(ValueError, match="60 points, y has 3"):
        capacity.model(model, X, y[:3])
    with pytest.raises(ValueError, match=r"y\[\d+\] = 7 must be one of the classes"):
        capacity.model(model, X, np.where(y == 1, 7, y))


def test_labels_that_contradict_the_coefficients_are_named_by_their_row(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    model = mc.SVC().fit(X, y)
    wrong, outside = y.copy(), np.setdiff1d(np.arange(len(y)), model.support_)
    wrong[model.support_[3]] = 1 - y[model.support_[3]]
    with pytest.raises(
        ValueError, match=rf"y\[{model.support_[3]}\] = .* is not the label of the fit"
    ):
        capacity.model(model, X, wrong)
    # rows without a coefficient have no sign
    assert len(outside)
    capacity.model(model, X, np.where(np.isin(np.arange(len(y)), outside), 1 - y, y))


def test_sparse_rows_and_objects_are_compared_with_the_support_vectors(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    rows = sp.csr_matrix(X)
    fit = mc.SVC(kernel=mc.Gaussian(0.5)).fit(rows, y)
    assert np.allclose(capacity.model(fit, X, y).outputs, capacity.model(fit, rows, y).outputs)
    with pytest.raises(
        ValueError, match=f"row {fit.support_[0]} of X is not the support vector of the fit"
    ):
        capacity.model(fit, rows[::-1], y)

    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words, labels = ["kernel", "ridge", "feature", "map", "fold"], np.array([0, 1, 0, 1, 1])
    fit = mc.SVC(kernel=mc.FunctionKernel(shared)).fit(words, labels)
    assert np.allclose(capacity.model(fit, words, labels).outputs, fit.decision_function(words))
    with pytest.raises(ValueError, match="not the support vector of the fit"):
        capacity.model(fit, [*words[1:], words[0]], labels)


def test_estimators_without_a_single_affine_function_are_refused(sample):
    X, y = sample
    with pytest.raises(ValueError, match="3 binary classifiers"):
        capacity.model(mc.SVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match="expansion_ and intercept_.* type LogisticRegression"):
        capacity.model(LogisticRegression().fit(X, y), X, y)


def test_a_perceptron_has_outputs(sample):
    y = (sample[1] == 0).astype(int)
    X = sample[0] + 6 * y[:, None]
    model = mc.KernelPerceptron(kernel=mc.Gaussian(0.5)).fit(X, y)
    own = capacity.model(model, X, y)
    assert np.array_equal(own.outputs > 0, model.predict(X) == 1)
    with pytest.raises(TypeError, match="squared_spans needs a support vector machine"):
        mc.capacity.squared_spans(own)


BOUNDS = (
    "jaakkola_haussler opper_winther pac_bayes rademacher radius_margin sample_compression support_fraction vc_margin "
    "xi_alpha leave_one_out_outputs squared_spans"
)


@pytest.mark.parametrize("bound", BOUNDS.split())
@pytest.mark.parametrize("bad", [None, 3.5, [1.0], mc.SVC()], ids=lambda bad: type(bad).__name__)
def test_arguments_that_are_no_model_are_refused_by_all_bounds(bound, bad):
    with pytest.raises(
        TypeError,
        match=r"model must be a Model, from mercer\.capacity\.model\(fitted, X, y\), got ",
    ):
        getattr(capacity, bound)(bad)


@pytest.mark.parametrize(
    "bad", [None, 3.5, np.ones(2), mc.SVC], ids=["none", "number", "array", "class"]
)
def test_arguments_that_are_no_fitted_estimator_are_named(bad):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    for call in (capacity.model, capacity.leave_one_out, capacity.span_rule, capacity.span_score):
        with pytest.raises(
            TypeError, match=f"fitted must be a fitted estimator .* of type {type(bad).__name__}"
        ):
            call(bad, X, y)
    with pytest.raises(
        TypeError, match=f"model_or_kernel must be a Kernel or a fitted .*{type(bad).__name__}|None"
    ):
        capacity.report(bad, X, y)


def test_new_rows_of_a_given_matrix_are_no_training_points(sample):
    X, y = sample[0], (sample[1] == 0).astype(int)
    K = mc.Gaussian(0.5)(X)
    for kernel in ("precomputed", 0.5 * mc.Precomputed()):
        model = mc.SVC(kernel=kernel).fit(K, y)
        assert np.allclose(capacity.model(model, K.tolist(), y).outputs, model.decision_function(K))
        with pytest.raises(
            ValueError, match=r"X has shape \(4, 60\); .* must be the training matrix"
        ):
            capacity.model(model, K[:4], y[:4])
        with pytest.raises(
            ValueError, match=r"X has shape \(60,\); .* must be the training matrix"
        ):
            capacity.model(model, np.arange(60), y)


@pytest.mark.parametrize("tau", [0.1, 0.7])
def test_coefficients_of_a_quantile_have_the_bounds_of_their_signs(tau):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = X[:, 0] + rng.exponential(size=50)
    fitted = mc.QuantileSVR(tau, C=2.0, kernel=mc.Gaussian(0.5)).fit(X, y)
    own = capacity.model(fitted, X, y)
    upper = np.where(own.coef < 0, 2 * (1 - tau), 2 * tau)
    np.testing.assert_allclose(own.upper_bounds, upper)
    # on the margin are the points on the function, and they are few
    on = np.abs(own.outputs - y) < 1e-7
    np.testing.assert_array_equal(own.on_margin, on)
    assert 0 < on.sum() < 25


def test_a_bound_takes_one_quantile():
    X = np.random.default_rng(0).normal(size=(30, 2))
    fitted = mc.QuantileSVR([0.2, 0.8], kernel=mc.Gaussian(0.5)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="2 functions, .* fit one target or quantile"):
        capacity.model(fitted, X, X[:, 0])


@pytest.mark.parametrize("loss", ["huber", "squared_epsilon"])
def test_other_losses_than_epsilon_have_no_margin(loss):
    X = np.random.default_rng(0).normal(size=(30, 2))
    own = capacity.model(mc.SVR(loss=loss, kernel=mc.Gaussian(0.5)).fit(X, X[:, 0]), X, X[:, 0])
    assert own.upper_bounds is None
    with pytest.raises(TypeError, match="the loss 'epsilon'"):
        capacity.squared_spans(own)


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Linear()])
def test_margins_of_a_fisher_discriminant_are_those_of_its_decisions(kernel):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0.8).astype(int)
    fitted = mc.KernelFisher(kernel=kernel).fit(X, y)
    own = capacity.model(fitted, X, y)
    np.testing.assert_allclose(own.outputs, fitted.decision_function(X), atol=1e-9)
    assert np.mean(own.margins > 0) == fitted.score(X, y)
    # w is the same multiple of the direction as the outputs are of its scores
    scores = fitted.transform(X)[:, 0]
    factor = np.ptp(own.outputs) / np.ptp(scores)
    assert own.norm == pytest.approx(factor * fitted.expansion_.norms()[0])


def test_outputs_that_do_not_follow_from_the_expansion_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 50.0]
    y = np.sin(X[:, 0])
    labels = (X[:, 0] > 0).astype(int)
    free = mc.KernelRidge(kernel=mc.Gaussian(0.5), free="linear").fit(X, y)
    table = mc.TableRegressor().fit(X, y)
    for fitted, targets in (
        (free, y),
        (table, y),
        (mc.TableClassifier().fit(X, labels), labels),
        (mc.KernelPCA(1, kernel=mc.Gaussian(0.5)).fit(X), y),
    ):
        with pytest.raises(TypeError, match="do not follow from expansion_"):
            capacity.model(fitted, X, targets)
    three = np.arange(60) % 3
    with pytest.raises(TypeError, match="do not follow from expansion_"):
        capacity.models(mc.KernelFisher().fit(X, three), X, three)
    with pytest.raises(TypeError, match="kernel of encoded rows; give model.kernel_"):
        capacity.report(table, X)
    assert capacity.report(table.kernel_, table.encode(X)).facts


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.dia_array, sp.csc_array])
def test_every_form_of_sparse_rows_has_the_model_of_dense_rows(sample, form):
    X, y = sample[0], sample[1] > 0
    fitted = mc.SVC(kernel=mc.Gaussian(0.3)).fit(X, y)
    np.testing.assert_allclose(
        mc.capacity.model(fitted, form(X), y).outputs,
        mc.capacity.model(fitted, X, y).outputs,
        atol=1e-12,
    )
