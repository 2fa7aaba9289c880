"""Certificates of support vector estimators: indefinite kernels, float32, and what a recomputation finds."""

import copy
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer import capacity

X = np.random.default_rng(0).normal(size=(80, 3))
Y, LABELS = X[:, 0] + np.sin(2 * X[:, 1]), (X[:, 0] > 0).astype(int)
BAD = mc.Sigmoid(5.0, -3.0)
MODELS = [mc.SVC(100.0), mc.NuSVC(0.2), mc.SVR(10.0), mc.NuSVR(0.3), mc.OneClassSVM(0.2), mc.SVDD()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_indefinite_kernel_gives_a_stationary_point_without_gap(model):
    target = LABELS if hasattr(model, "multi_class") else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.warns(
            UserWarning,
            match=f"{type(model).__name__} solved a problem that is not convex: .*make_pos",
        ):
            model.set_params(kernel=BAD).fit(X, target)
    found = mc.certify(model, X, target)
    assert not found.convex
    assert found.gap is None
    stored = model.certificate_
    assert (stored.convex, stored.gap) == (False, None)
    assert (stored.primal, stored.dual) == pytest.approx((found.primal, found.dual), rel=1e-12)
    assert stored.kkt == pytest.approx(found.kkt, rel=1e-9, abs=1e-12)
    assert found.kkt <= 1e-3 * max(1.0, abs(found.dual))


@pytest.mark.filterwarnings("ignore:.*not convex")
def test_indefinite_models_have_no_margin_and_no_bounds():
    model = mc.SVC(kernel=BAD).fit(X, LABELS)
    with pytest.raises(
        AttributeError,
        match=r"margin_ needs a positive semidefinite kernel; see mercer\.make_positive",
    ):
        _ = model.margin_
    with pytest.raises(ValueError, match="SVC has no bounds: its problem is not convex"):
        capacity.model(model, X, LABELS)
    with pytest.warns(UserWarning, match="smallest_ball solved a problem that is not convex"):
        capacity.smallest_ball(BAD, X)


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_a_float32_matrix_is_solved_as_the_float64_matrix_of_the_same_values(C):
    K = (1e5 * mc.Gaussian(0.3)(X)).astype(np.float32)
    for model, target in ((mc.SVC(C), LABELS), (mc.SVR(C), 1e3 * Y), (mc.OneClassSVM(0.3), None)):
        model.set_params(kernel="precomputed").fit(K, target)
        assert mc.certify(model, K, target).kkt <= 1e-7
        wide = type(model)(**model.get_params(deep=False)).fit(K.astype(float), target)
        np.testing.assert_allclose(
            model.dual_coef_, wide.dual_coef_, atol=1e-9 * abs(wide.dual_coef_).max()
        )


@pytest.mark.parametrize("C", [1e3, 1e5])
def test_float32_values_of_a_sum_of_kernels_cause_no_violation_without_a_warning(C):
    points = (30 + X[:, :1]).astype(np.float32)
    for kernel in (mc.Gaussian(0.5) + mc.Linear(), mc.Laplacian(0.5) + mc.Linear()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = mc.SVC(C, kernel=kernel).fit(points, np.arange(80) % 2)
        found = mc.certify(model, points, np.arange(80) % 2)
        assert model.certificate_.kkt == pytest.approx(found.kkt, rel=1e-3, abs=1e-4)
        assert found.kkt <= 1e-3 or any("above tol" in str(each.message) for each in caught)


@pytest.mark.parametrize("kernel", [mc.Laplacian(0.5), mc.Gaussian(0.5)])
def test_float32_coefficients_of_a_quadratic_loss_are_certified_as_stored(kernel):
    # 1 / (2 C) on the diagonal multiplies the rounding of the coefficients
    points, target = X.astype(np.float32), 1e7 * Y
    model = mc.SVR(1e-3, kernel=kernel, loss="squared_epsilon")
    with pytest.warns(ConvergenceWarning, match="violation of .* above tol"):
        model.fit(points, target)
    found = mc.certify(model, points, target)
    assert found.kkt > 1e-3
    assert model.certificate_.kkt == pytest.approx(found.kkt, rel=1e-6)


@pytest.mark.parametrize("C", [0.03, 0.1])
def test_float32_coefficients_at_a_bound_of_a_ball_are_certified_as_being_there(C):
    points = X.astype(np.float32)
    model = mc.SVDD(C, kernel=mc.Laplacian(0.5)).fit(points)
    assert np.isclose(model.dual_coef_, np.float32(C)).any()
    assert mc.certify(model, points).kkt <= 1e-6


def test_a_gap_of_a_share_of_the_objective_causes_a_warning_though_the_violation_is_below_tol():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((300, 5)).astype(np.float32)
    labels = points[:, 0] + rng.standard_normal(300) > 0
    with pytest.warns(
        ConvergenceWarning,
        match=r"SVC ended with .* below tol = 0.001, but a relative gap of 0\.\d",
    ):
        model = mc.SVC(1e6).fit(points, labels)
    found = mc.certify(model, points, labels)
    assert found.kkt < 1e-3
    assert found.gap > 0.01 * found.primal
    exact = mc.SVC(1e6).fit(points.astype(float), labels).certificate_
    assert exact.gap < 1e-6 * exact.primal


def test_a_polynomial_of_degree_300_causes_an_error_or_a_warning():
    model = mc.OneClassSVM(kernel=mc.Polynomial(300))
    with pytest.raises(ValueError, match="overflows float64: .* scale X"):
        model.fit(X)
    # values up to 1e15 round to more than the objectives of points whose values are about 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(0.1 * X)
    hidden = model.certificate_.gap < 1e-9 * np.abs(model.kernel_.diag(0.1 * X)).max()
    assert hidden or "relative gap" in str(caught[0].message)


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
def test_no_gap_is_missed_where_the_optimum_is_0():
    # the origin is inside of the points
    model = mc.OneClassSVM(0.1, kernel="linear").fit(X - X.mean(axis=0))
    assert abs(model.certificate_.primal) < 1e-9


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_boundary_that_float32_moves_outwards_is_no_gap_where_the_optimum_is_0(
    scale, global_random_seed
):
    points = (scale * np.random.default_rng(global_random_seed).standard_normal((200, 3))).astype(
        np.float32
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "OneClassSVM has no half space")
        model = mc.OneClassSVM(0.5, kernel="linear").fit(points)
    found = mc.certify(model, points)
    largest = float(np.square(points).sum(axis=1).max())
    assert 0 < found.gap <= 1e-5 * largest
    assert found.kkt <= 1e-7 * largest
    # nothing but the offset: the normal is 0
    assert np.abs(model.score_samples(points)).max() <= 1e-5 * largest


@pytest.mark.parametrize(
    "model", [mc.SVDD(1.0, kernel="linear"), mc.OneClassSVM(0.5, kernel="linear")]
)
def test_a_boundary_moved_outwards_by_more_than_distances_of_points_is_warned_of(model):
    # 64 roundings of k(x, x) = 2e10 in float32 are 2e5, and squared distances of points are 4
    points = (1e5 + X[:20, :2]).astype(np.float32)
    with pytest.warns(
        ConvergenceWarning,
        match=r"boundary of .* is accurate to 2e\+05 only, where squared distances",
    ):
        model.fit(points)


@pytest.mark.filterwarnings("ignore:.*above tol")
def test_a_model_that_stopped_early_has_the_certificate_of_its_raw_inputs():
    for model in (
        mc.SVR(1e3, kernel="linear", max_iter=30),
        mc.NuSVR(0.4, C=1e3, kernel="linear", max_iter=30),
    ):
        model.fit(1e3 * X, Y)
        assert model.certificate_.kkt > 1e-3
        assert model.certificate_ == mc.certify(model, 1e3 * X, Y)


def fitted_in_both(model, points, target):
    """Return the values of a model fitted to float32 rows and to the same numbers in float64, and the warnings."""
    narrow, values = points.astype(np.float32), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in (narrow, narrow.astype(float)):
            fitted = model.fit(rows, target)
            values.append(getattr(fitted, "transform", fitted.predict)(rows))
    return *values, [str(each.message) for each in caught]


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("share", [1e-7, 1e-5, 1e-3, 1e-1])
def test_float32_models_warn_where_their_values_are_off_by_a_thousandth(
    scale, share, global_random_seed
):
    points = scale * np.random.default_rng(global_random_seed).standard_normal((150, 3))
    labels = (points[:, 0] + 0.5 * np.abs(points[:, 1]) > 0).astype(int)
    for kernel in (mc.Linear(), mc.Polynomial(2, 1.0, 1.0), mc.Gaussian(0.1 * scale**-2)):
        ridge = share * float(kernel.diag(points).mean())
        for model in (
            mc.KernelFisher(kernel=kernel, mu=ridge),
            mc.KernelRidge(ridge, kernel=kernel),
        ):
            narrow, wide, said = fitted_in_both(model, points, labels)
            error = np.linalg.norm(narrow - wide) / np.linalg.norm(wide)
            name, warned = (
                type(model).__name__,
                any("float32 rounds kernel values" in each for each in said),
            )
            assert warned or error < 3e-3
            assert not warned or error > 1e-4
            assert all(f"{name} are accurate" in each for each in said if "float32" in each)


def test_float32_coefficients_of_repeated_points_are_warned_of_though_kernel_values_are_exact():
    points = np.repeat(100 * np.arange(4), 2)[:, None]
    target = np.random.default_rng(0).standard_normal(8)
    narrow, wide, said = fitted_in_both(
        mc.KernelRidge(1e-8, kernel=mc.Gaussian(1.0)), points, target
    )
    assert np.abs(narrow - wide).max() > 0.1
    assert ["values of KernelRidge are accurate" in each for each in said] == [True]


def test_a_discriminant_of_float32_rows_far_apart_is_solved_with_a_warning_not_refused():
    points = (100 * np.random.default_rng(0).standard_normal((200, 5))).astype(np.float32)
    with pytest.warns(ConvergenceWarning, match=r"float64, or a larger mu than 0\.1"):
        mc.KernelFisher(kernel="linear", mu=0.1).fit(points, points[:, 0] > 0)


def random_problem(seed):
    """Return a model, points, targets and weights drawn at random, and whether the kernel is definite."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 90)), int(rng.integers(1, 6))
    points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3) + 10.0 ** rng.integers(-1, 3)
    points[: n // 4] = points[n // 4 : n // 4 + n // 4]
    points = points.astype(rng.choice([np.float32, np.float64]))
    kernels = [
        mc.Gaussian("median"),
        mc.Gaussian("scale"),
        mc.Linear(),
        mc.Polynomial(2, 1e-2),
        mc.Sigmoid(0.5, -1.0),
    ]
    C = 10.0 ** rng.integers(-2, 4)
    models = [
        mc.SVC(C),
        mc.SVR(C),
        mc.SVR(C, loss="huber"),
        mc.NuSVR(0.4, C=C),
        mc.NuSVC(0.1),
        mc.OneClassSVM(0.3),
    ]
    model = models[rng.integers(len(models))].set_params(kernel=kernels[rng.integers(len(kernels))])
    weights = rng.integers(0, 4, n).astype(float) if rng.random() < 0.5 else None
    labels = np.arange(n) % int(rng.integers(2, 4))
    target = (
        labels
        if hasattr(model, "multi_class")
        else 10.0 ** rng.integers(-6, 7) * (rng.normal(size=n) + 10)
    )
    return model, points, target, weights


@pytest.mark.parametrize(
    "seed", [*range(80), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(80, 200))]
)
def test_certificates_of_random_problems_are_those_of_the_raw_inputs_and_warn_exactly_above_tol(
    seed,
):
    model, points, target, weights = random_problem(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(points, target, sample_weight=weights)
        except ValueError as error:
            assert "class" in str(error) or "weight" in str(error)  # noqa: PT017 - a draw without two classes
            return
        found, own = mc.certify(model, points, target, weights), model.certificate_
    assert found.convex == own.convex
    size = max(abs(found.primal), abs(found.dual), np.finfo(points.dtype).tiny)
    # kernel values are rounded before they are multiplied by coefficients
    rounding = (
        np.finfo(points.dtype).eps
        * np.abs(model.kernel_.diag(points)).max()
        * np.abs(model.dual_coef_).sum() ** 2
    )
    assert (
        abs(found.dual - own.dual)
        <= (1e-4 if points.dtype == np.float32 else 1e-5) * size + rounding
    )
    if found.convex:
        exact = rounding * np.finfo(np.float64).eps / np.finfo(points.dtype).eps
        assert found.gap - own.gap <= 1e-9 * size + exact
    warned = any(
        "above tol" in str(each.message) for each in caught if each.category is ConvergenceWarning
    )
    tol = _tolerance(model, points, target)
    assert abs(found.kkt - own.kkt) <= 0.1 * tol + 1e-3 * own.kkt
    if found.kkt > 1.1 * tol:
        assert warned


def _tolerance(model, points, target):
    if isinstance(model, mc.OneClassSVM):
        return model.tol * max(1e-300, float(np.abs(model.kernel_.diag(points)).max()))
    if isinstance(model, (mc.SVR, mc.NuSVR)):
        return min(model.tol, 1e-3 * float(np.std(target)))
    return model.tol


def test_float32_coefficients_that_leave_a_gap_are_certified_and_warned_of(global_random_seed):
    # rounding moves values by 1e-6, far below tol, but C times that is more than the objective
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((30, 20)).astype(np.float32), np.arange(30) % 2
    with pytest.warns(ConvergenceWarning, match="below tol = 0.001, but a relative gap of"):
        model = mc.SVC(1e6, kernel="linear").fit(X, y)
    found, exact = model.certificate_, mc.certify(model, X, y)
    assert exact.kkt < model.tol
    assert exact.gap > 0.01 * exact.primal
    np.testing.assert_allclose([found.primal, found.dual], [exact.primal, exact.dual], rtol=1e-9)
    # without an upper bound, or with a small one, the same rounding leaves no gap
    for C in (1.0, np.inf):
        model = mc.SVC(C, kernel="linear").fit(X, y)
        found, exact = model.certificate_, mc.certify(model, X, y)
        # the certificate contains a bound of the rounding, which is below a tenth of the gap that causes a warning
        assert found.dual <= exact.dual * (1 + 1e-9)
        assert found.primal >= exact.primal * (1 - 1e-9)
        assert found.gap <= 1e-3 * exact.primal


@pytest.mark.parametrize("loss", ["epsilon", "squared_epsilon"])
def test_an_intercept_that_targets_far_from_0_round_by_more_than_tol_causes_a_warning_and_no_other(
    loss, global_random_seed
):
    rng, warned = np.random.default_rng(global_random_seed), []
    for offset in 10.0 ** rng.uniform(6, 12, 12):
        target = Y[:20] + offset
        for share in (1e-17, 1e-14):
            model = mc.SVR(10.0, kernel=mc.Gaussian(0.5), loss=loss, tol=share * offset)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X[:20], target)
            exact = copy.copy(model).fit(X[:20], target - offset)
            rounding = abs(model.intercept_[0] - offset - exact.intercept_[0])
            found, said = mc.certify(model, X[:20], target), [str(each.message) for each in caught]
            assert len(said) == (rounding > model.tol)
            assert max(found.kkt, model.certificate_.kkt) <= model.tol
            if said:
                name, number = re.match(
                    "the intercept of (.*) is rounded by (.*), above", said[0]
                ).groups()
                assert float(number) == pytest.approx(rounding, rel=0.34)
                assert name == "SVR"
                assert said[0].endswith(": subtract the mean of the targets, or give a larger tol.")
                assert model.certificate_ == found
                assert share == 1e-17
                warned.append(offset)
    assert warned


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
def test_a_gap_where_the_optimum_is_0_causes_a_warning_until_it_is_rounding():
    # an odd kernel on points around 0: values at the usual tolerance are noise, at a small one they are 0
    X = np.random.default_rng(0).normal(size=(1200, 3))
    X, odd = X - X.mean(axis=0), mc.Polynomial(3, 1.0, 0.0)
    with pytest.warns(
        ConvergenceWarning, match=r"below tol = .*, but a relative gap of .* give a smaller tol"
    ):
        noisy = mc.OneClassSVM(0.1, kernel=odd).fit(X)
    exact = mc.OneClassSVM(0.1, kernel=odd, tol=1e-10).fit(X)
    assert np.abs(noisy.score_samples(X)).max() > 1e-3
    assert np.abs(exact.score_samples(X)).max() < 1e-5
    assert abs(exact.certificate_.primal) < 1e-8


LOSSES = {
    "epsilon": lambda e: np.maximum(abs(e) - 0.1, 0),
    "squared_epsilon": lambda e: np.maximum(abs(e) - 0.1, 0) ** 2 / 2,
    "huber": lambda e: np.where(abs(e) < 0.1, e**2 / 0.2, abs(e) - 0.05),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e8])
def test_an_intercept_that_float32_rounds_is_in_the_certificate_and_warned_of_above_tol(
    loss, offset
):
    points, target = X.astype(np.float32), Y + offset
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mc.SVR(2.0, kernel=mc.Gaussian(0.5), loss=loss).fit(points, target)
    found, own = mc.certify(model, points, target), model.certificate_
    values = mc.as_expansion(model).expansion
    values = mc.Expansion(values.kernel, values.points.astype(float), values.coef.astype(float))
    error = target - values(points.astype(float))[:, 0] - float(model.intercept_[0])
    primal = 0.5 * values.norms()[0] ** 2 + 2.0 * LOSSES[loss](error).sum()
    np.testing.assert_allclose(found.primal, primal, rtol=1e-6)
    # a bound of the rounding is added
    assert primal * (1 - 1e-6) <= own.primal <= primal * (1 + 1e-3)
    exact = mc.SVR(2.0, kernel=mc.Gaussian(0.5), loss=loss).fit(points.astype(float), target)
    assert found.dual <= exact.certificate_.primal * (1 + 1e-6)
    rounding = abs(exact.intercept_[0] - model.intercept_[0])
    said = [str(each.message) for each in caught]
    assert all(
        f"the intercept of SVR is rounded by {rounding:.1g}, above tol = 0.001" in each
        for each in said
    )
    assert all("give X in float64, or a larger tol" in each for each in said)
    assert bool(said) == (rounding > 1e-3)


def _hinge(e, epsilon):
    return np.maximum(abs(e) - epsilon, 0)


# machines with the loss of errors e, and what a free epsilon adds to it
MACHINES = [
    (mc.SVR, lambda _, e: _hinge(e, np.longdouble(0.1)).sum()),
    (
        mc.NuSVR,
        lambda m, e: _hinge(e, np.longdouble(m.epsilon_)).sum() + m.nu * m.epsilon_ * len(e),
    ),
    (mc.QuantileSVR, lambda _, e: np.maximum(e / 2, -e / 2).sum()),
]


@pytest.mark.parametrize(
    ("offset", "dtype"),
    [
        (0.0, np.float64),
        (-1e5, np.float32),
        (-1e5, np.float64),
        (1.7e9, np.float32),
        (1.7e9, np.float64),
        (1e12, np.float64),
    ],
)
@pytest.mark.parametrize(("machine", "loss"), MACHINES)
def test_objectives_of_targets_far_from_0_are_those_of_stored_numbers_and_certificates_agree(
    machine, loss, offset, dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    rows = rng.standard_normal((60, 2)).astype(dtype)
    target = offset + np.sin(rows[:, 0].astype(float)) + 0.1 * rng.standard_normal(60)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*rounded by", ConvergenceWarning)
        model = machine(C=1.0, kernel=mc.Gaussian(0.5)).fit(rows, target)
    coef = np.zeros(60, np.longdouble)
    coef[model.support_] = model.dual_coef_[:, 0]
    values = mc.Gaussian(0.5)(rows.astype(float)).astype(np.longdouble) @ coef
    # the difference of near numbers is exact
    error = target - float(model.intercept_[0]) - values
    primal = float(coef @ values / 2 + loss(model, error))
    own, found = model.certificate_, mc.certify(model, rows, target)
    assert found.primal == pytest.approx(primal, rel=1e-9 if dtype == np.float64 else 1e-5)
    # one optimum lies in both
    exact = 1 + 1e-12
    assert found.dual <= own.primal * exact
    assert own.dual <= found.primal * exact
    assert own.dual <= own.primal * exact
    assert found.dual <= found.primal * exact
    # the fit with targets about 0 has the optimum
    best = machine(C=1.0, kernel=mc.Gaussian(0.5)).fit(rows.astype(float), target - offset)
    assert own.dual <= best.certificate_.primal * (1 + 1e-6)
    assert best.certificate_.dual <= own.primal * (1 + 1e-6)


def test_the_optimum_lies_between_stored_objectives_of_float32_kernel_rows():
    rng = np.random.default_rng(0)
    points, labels = rng.standard_normal((100, 2))[rng.integers(0, 100, 300)], np.arange(300) % 2
    model = mc.SVC(0.02, kernel=mc.Gaussian(0.5)).fit(points, labels)
    found, own = mc.certify(model, points, labels), model.certificate_
    assert found.gap < 1e-12 * found.primal
    assert own.dual < found.dual < own.primal < found.primal * (1 + 1e-3)


@pytest.mark.parametrize("C", [1.0, 40.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_stored_gap_and_violation_contain_the_rounding_of_float32(seed, C):
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((6, 2)).astype(np.float32), np.array([0, 0, 0, 1, 1, 1])
    model = mc.SVC(C, kernel=mc.Gaussian(0.5)).fit(points, labels)
    found, own = mc.certify(model, points, labels), model.certificate_
    assert found.gap - 1e-12 * found.primal <= own.gap <= found.gap + 1e-3 * found.primal
    assert found.kkt - 1e-12 <= own.kkt <= found.kkt + 1e-4


@pytest.mark.parametrize("seed", [3, 8, 9, 11])
def test_equal_roundings_of_coefficients_at_one_bound_add_up_in_the_certificate(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((200, 2)).astype(np.float32)
    labels = points[:, 0] + rng.standard_normal(200) > 0
    # neither bound is a number of float32
    model = mc.SVC(0.7, kernel=mc.Gaussian(0.05), class_weight={False: 1.3}).fit(points, labels)
    assert mc.certify(model, points, labels).kkt <= model.certificate_.kkt


@pytest.mark.parametrize("seed", range(7))
def test_the_optimum_lies_between_stored_objectives_where_errors_of_float32_rows_follow_the_coefficients(
    seed,
):
    # values of a wide kernel are alike, and so are their errors, in many rows
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1000, 2))
    labels = points[:, 0] + rng.standard_normal(1000) > 0
    model = mc.NuSVC(0.7, kernel=mc.Gaussian(0.002)).fit(points, labels)
    found, own = mc.certify(model, points, labels), model.certificate_
    assert own.dual <= found.primal * (1 + 1e-12)
    assert found.dual <= own.primal * (1 + 1e-12)
    assert own.gap <= 1e-3 * found.primal


def test_equal_targets_that_float32_rounds_cause_no_warning():
    model = mc.SVR(7e3, epsilon=0.0).fit(X.astype(np.float32), np.full(80, 6e-4))
    assert abs(model.intercept_[0] - 6e-4) < 1e-10
    assert model.certificate_.dual == 0


def test_a_violation_by_the_rounding_of_sums_that_cancel_is_certified_and_warned_of(
    global_random_seed,
):
    # values of a polynomial far from the origin are large, and the coefficients of two classes cancel
    rng = np.random.default_rng(global_random_seed)
    points, warned = 10 + 1e-3 * rng.standard_normal((120, 6)), []
    for C in (1.0, 300.0, 1000.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = mc.SVC(C, kernel=mc.Polynomial(3, 1.0, 1.0)).fit(points, np.arange(120) % 2)
        found = mc.certify(model, points, np.arange(120) % 2)
        warned.append(any("above tol" in str(each.message) for each in caught))
        assert warned[-1] == (found.kkt > 1e-3)
        assert model.certificate_ == found or found.kkt < 1e-4
    assert not warned[0]
    assert any(warned)


@pytest.mark.parametrize("gamma", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize(
    "model", [mc.KernelPCA(3), mc.KernelPCA(3, whiten=True), mc.KernelMap()], ids=str
)
def test_coordinates_that_float32_rounds_by_more_than_a_thousandth_are_said_to_be_inaccurate(
    model, gamma
):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(kernel=mc.Gaussian(gamma)).fit(X.astype(np.float32))
    said = [found for found in caught if "float32 rounds kernel values" in str(found.message)]
    points = X.astype(np.float32).astype(float)
    coef = model.expansion_.coef.astype(float)
    exact = mc.Gaussian(gamma)(points) @ coef + model.intercept_
    # along whitened axes the shares of the variance remain
    lengths = np.sqrt(model.eigenvalues_) if getattr(model, "whiten", False) else 1.0
    errors, sizes = (
        np.linalg.norm(values, axis=0) * lengths
        for values in (model.transform(points.astype(np.float32)) - exact, exact)
    )
    assert bool(said) == (errors.max() > 1e-3 * sizes.max())
    assert bool(said) == (gamma < 1e-4)


@pytest.mark.parametrize("C", [1e2, 1e6])
def test_a_matrix_of_definite_values_has_the_gap_of_its_kernel(C, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(200, 5))
    y = X[:, 0] + 0.5 * rng.normal(size=200) > 0
    kernel = mc.Gaussian(1.0)
    matrix = mc.SVC(C, kernel="precomputed").fit(kernel(X, X), y)
    known = mc.SVC(C, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(matrix.dual_coef_, known.dual_coef_, rtol=1e-6)
    # a proof of more than rounding: no share of n C^2 is added
    assert matrix.certificate_.convex
    assert matrix.certificate_.gap <= 1e-8 * matrix.certificate_.dual
