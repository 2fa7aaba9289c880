"""OneClassSVM: scikit-learn's numbers, shares from tiny to one, weights, containers and bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.svm import OneClassSVM as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.one_class_svm import OneClassSVM


def shortcomings(estimator):
    """Return the checks that hand points to an estimator whose X is a matrix of kernel values."""
    reason = "the check passes 300 x 2 points as a precomputed matrix; scikit-learn's OneClassSVM fails it too"
    names = ("check_outliers_train", "check_outliers_fit_predict")
    return dict.fromkeys(names, reason) if estimator.kernel == "precomputed" else {}


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
@parametrize_with_checks(
    [OneClassSVM(), OneClassSVM(0.1, kernel="linear"), OneClassSVM(kernel="precomputed")],
    expected_failed_checks=shortcomings,
)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    return rng.standard_normal((200, 3)), rng.standard_normal((20, 3)), rng.integers(0, 3, 200)


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 0.9])
def test_decision_values_and_objective_are_those_of_scikit_learn(sample, nu):
    X, new, _ = sample
    ours = OneClassSVM(nu, kernel=mc.Gaussian(0.3)).fit(X)
    theirs = Reference(nu=nu, gamma=0.3, tol=1e-10).fit(X)
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), atol=1e-5)
    # 64 roundings of float32 for coefficients of sum 1
    margin = 64 * np.finfo(np.float32).eps * nu * len(X)
    np.testing.assert_allclose(ours.intercept_ - margin, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(
        ours.decision_function(new) - margin, theirs.decision_function(new), atol=1e-5
    )
    b, K = theirs.dual_coef_[0], mc.Gaussian(0.3)(theirs.support_vectors_)
    np.testing.assert_allclose(ours.certificate_.dual, -0.5 * b @ K @ b / b.sum() ** 2, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nu", [1e-9, 1e-6, 1e-3, 0.03, 0.3, 0.99, 1.0])
def test_at_most_the_share_nu_is_rejected(sample, nu, dtype):
    X = sample[0].astype(dtype)
    model = OneClassSVM(nu).fit(X)
    assert (model.predict(X) < 0).mean() <= nu
    assert len(model.support_) >= nu * len(X) * (1 - 1e-9)
    assert model.offset_ == -model.intercept_[0]
    np.testing.assert_allclose(
        model.score_samples(X) - model.offset_, model.decision_function(X), atol=0
    )


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.Laplacian(0.5), mc.Polynomial(3), "linear"], ids=repr
)
@pytest.mark.parametrize(
    ("n", "d", "nu", "mean"), [(60, 4, 0.2, 0.0), (300, 20, 0.5, 1.0), (200, 2, 0.05, 30.0)]
)
def test_rows_and_vectors_in_float32_leave_the_points_on_the_boundary_inside(
    kernel, n, d, nu, mean, global_random_seed
):
    X = np.random.default_rng(global_random_seed).standard_normal((n, d)) + mean
    model = OneClassSVM(nu, kernel=kernel).fit(X)
    inside = model.predict(X)
    assert np.mean(model.predict(X.astype(np.float32)) == inside) >= 0.99
    vectors, coef = model.support_vectors_.astype(np.float32), model.dual_coef_.astype(np.float32)
    values = model.kernel_(X.astype(np.float32), vectors) @ coef[:, 0] + np.float32(
        model.intercept_[0]
    )
    assert np.mean(np.where(values >= 0, 1, -1) == inside) >= 0.99


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
@pytest.mark.parametrize("mean", [1e2, 1e3, 1e5])
def test_the_margin_for_float32_is_a_small_share_of_distances(sample, mean):
    X, _, weights = sample
    near, far = (
        OneClassSVM(0.3, kernel="linear").fit(each, sample_weight=weights) for each in (X, X + mean)
    )
    for model, points in ((near, X), (far, X + mean)):
        b = model.dual_coef_[:, 0] / model.dual_coef_.sum()
        centred = points[model.support_] - b @ points[model.support_]
        touching = model.score_samples(points[model.predict(points) > 0]).min()
        # rounding of float64 moves it, too
        moved, scale = (
            (touching - model.offset_) / model.dual_coef_.sum(),
            np.square(points).sum(axis=1).max(),
        )
        assert moved <= 1.001e-3 * b @ np.square(centred).sum(axis=1) + 1e-13 * scale


@pytest.mark.parametrize("nu", [1e-9, 0.2])
def test_the_certificate_from_raw_inputs_closes_the_gap(sample, nu):
    X, _, weights = sample
    certificate = mc.certify(OneClassSVM(nu).fit(X, sample_weight=weights), X, None, weights)
    assert abs(certificate.gap) <= 1e-8 * abs(certificate.primal)
    assert certificate.kkt <= 1e-9


def test_a_weight_of_two_is_a_row_given_twice(sample):
    X, new, weights = sample
    weighted = OneClassSVM(0.2).fit(X, sample_weight=weights).decision_function(new)
    repeated = OneClassSVM(0.2).fit(np.repeat(X, weights, axis=0)).decision_function(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


def test_precomputed_sparse_callables_and_copies_give_the_same_values(sample):
    X, new, _ = sample
    kernel = mc.Gaussian(0.3)
    expected = OneClassSVM(kernel=kernel).fit(X).decision_function(new)
    given = OneClassSVM(kernel="precomputed").fit(kernel(X)).decision_function(kernel(new, X))
    sparse = OneClassSVM(kernel=kernel).fit(sp.csr_array(X)).decision_function(sp.csr_array(new))
    called = OneClassSVM(kernel=lambda A, B: kernel(A, B)).fit(X).decision_function(new)
    copied = pickle.loads(pickle.dumps(OneClassSVM(kernel=kernel).fit(X))).decision_function(new)
    for values in (given, sparse, called, copied):
        np.testing.assert_allclose(values, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("nu", "message"), [(0, "nu = 0 must be above 0"), (1.1, "nu = 1.1 must be at most 1")]
)
def test_a_share_that_is_none_is_named(sample, nu, message):
    with pytest.raises(ValueError, match=message):
        OneClassSVM(nu).fit(sample[0])


def test_weights_that_are_all_zero_are_refused(sample):
    with pytest.raises(ValueError, match="sample_weight must not all be zero"):
        OneClassSVM().fit(sample[0], sample_weight=np.zeros(200))


@pytest.mark.parametrize(("nu", "other"), [(0.3, 0.8), (0.8, 0.3)])
def test_a_model_of_another_nu_is_certified_as_no_solution(sample, nu, other):
    X, weights = sample[0], sample[-1]
    model = OneClassSVM(nu).fit(X, sample_weight=weights)
    right = mc.certify(model, X, None, weights)
    wrong = mc.certify(model.set_params(nu=other), X, None, weights)
    assert abs(right.gap) <= 1e-8 * abs(right.primal)
    assert wrong.gap == np.inf
    # the sum of coefficients is nu times that of the weights
    assert wrong.kkt > 0.5 * abs(1 - min(nu, other) / max(nu, other))


@pytest.mark.parametrize("base", [mc.OneClassSVM, mc.SVDD])
def test_scores_of_a_subclass_are_those_of_its_boundary(sample, base):
    class Doubled(base):
        def score_samples(self, X):
            return 2 * super().score_samples(X)

    X = sample[0]
    model = Doubled(kernel=mc.Gaussian(0.5)).fit(X)
    values = model.score_samples(X) - model.offset_
    np.testing.assert_array_equal(model.decision_function(X), values)
    np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, 1, -1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5, 0.8, 2.0])
def test_a_half_space_is_missed_where_and_only_where_weights_below_their_bounds_give_the_origin(
    sample, shift, dtype, recwarn
):
    X = (sample[0] + shift).astype(dtype)
    model = OneClassSVM(0.4, kernel="linear").fit(X)
    # is there b with X'b = 0, sum b = 1 and b <= 1 / (nu n)?
    constraints = np.vstack([X.T, np.ones(len(X))])
    found = linprog(
        np.zeros(len(X)), A_eq=constraints, b_eq=[0, 0, 0, 1], bounds=(0, 1 / (0.4 * len(X)))
    )
    assert any("half space" in str(each.message) for each in recwarn) == (found.status == 0)
    assert (model.predict(X) == 1).all() == (found.status == 0)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_fit_that_stops_early_does_not_say_that_the_origin_lies_among_the_points(
    sample, kernel, recwarn
):
    OneClassSVM(0.2, kernel=kernel, max_iter=1).fit(sample[0] + 2)
    assert [str(each.message).split()[1] for each in recwarn] == ["stopped"]


def test_a_conditionally_positive_kernel_needs_no_half_space(sample, recwarn):
    model = OneClassSVM(0.4, kernel=mc.kernels.PowerDistance(1.0)).fit(sample[0])
    assert not len(recwarn)
    assert 0.3 < (model.predict(sample[0]) < 0).mean() <= 0.4
