"""combine finds the useful kernels, certifies its weights, and returns an ordinary kernel of any points."""

import array_api_strict as xp
import numpy as np
import pytest
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.learning import combination

METHODS = ["alignment", "svm"]


def noisy(seed, n=120, d=6):
    """Return points whose class depends on column 2, and one kernel for each column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return (
        X,
        np.where(np.abs(X[:, 2]) > 0.7, "far", "near"),
        [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(d)],
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_informative_kernel_among_noise_kernels_is_found(method, global_random_seed):
    X, y, kernels = noisy(global_random_seed)
    found = combination(kernels, X, y, method)
    assert found.shares[2] > 0.5
    assert found.shares[2] > 3 * np.delete(found.shares, 2).max()
    assert found.shares.sum() == pytest.approx(1)
    assert (found.shares >= 0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sum_has_variance_1_and_the_stated_weights(method, dtype):
    X, y, kernels = noisy(0)
    X = X.astype(dtype)
    kernels = [*kernels, 50.0 * mc.Gaussian("median"), mc.Polynomial(2)]
    found = combination(kernels, X, y, method)
    K = found.kernel(X)
    assert K.dtype == dtype
    assert np.mean(np.diag(K), dtype=float) - np.mean(K, dtype=float) == pytest.approx(1, rel=1e-5)
    values = sum(
        w * np.asarray(k.resolve(X)(X), float) for w, k in zip(found.weights, kernels, strict=True)
    )
    np.testing.assert_allclose(K, values, rtol=2e-5, atol=1e-5)
    assert mc.combine(kernels, X, y, method) == found.kernel


@pytest.mark.parametrize("method", METHODS)
def test_the_sum_does_not_depend_on_scale_and_order_of_the_kernels(method, global_random_seed):
    X, y, kernels = noisy(global_random_seed)
    kernels = [*kernels[:4], mc.Linear(), mc.Gaussian(0.3)]
    factors, order = [1e-6, 1.0, 30.0, 0.1, 1e5, 7.0], [4, 2, 5, 0, 1, 3]
    shares = combination(kernels, X, y, method).shares
    scaled = combination(
        [f * k for f, k in zip(factors, kernels, strict=True)], X, y, method
    ).shares
    permuted = combination([kernels[k] for k in order], X, y, method).shares
    np.testing.assert_allclose(scaled, shares, atol=1e-3)
    np.testing.assert_allclose(permuted, shares[order], atol=1e-3)


def test_the_aligned_sum_has_the_largest_alignment_of_all_sums(global_random_seed):
    X, y, kernels = noisy(global_random_seed, n=60, d=4)
    best = mc.alignment(mc.combine(kernels, X, y, "alignment"), X, y)
    for kernel in kernels:
        assert mc.alignment(kernel, X, y) <= best + 1e-9
    for weights in np.random.default_rng(global_random_seed).dirichlet(np.full(4, 0.5), 20):
        other = sum(float(w) * kernel for w, kernel in zip(weights, kernels, strict=True) if w > 0)
        assert mc.alignment(other, X, y) <= best + 1e-9


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gap_of_the_weights_is_at_most_the_tolerance(classes, global_random_seed):
    X, _, kernels = noisy(global_random_seed)
    y = np.digitize(X[:, 1], [0.0, 0.7, 1.0][: classes - 1])
    for tol in (1e-2, 1e-5):
        found = combination([*kernels, mc.Linear()], X, y, "svm", C=2.0, tol=tol).certificate
        assert -1e-9 * found.primal <= found.gap <= tol * found.primal
    single = mc.certify(
        mc.SVC(C=2.0, kernel=mc.combine([mc.Linear()], X, y, "svm")).fit(X, y), X, y
    )
    assert found.primal <= single.primal * (1 + 1e-5)


def test_the_gap_of_the_weights_is_at_most_the_tolerance_for_large_bounds(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(300, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - 1 + 0.1 * rng.normal(size=300) > 0
    kernels = [mc.Gaussian(0.1 * 4.0**j) for j in range(-3, 4)] + [
        mc.Linear(),
        mc.Polynomial(3, 0.25),
    ]
    found = combination(kernels, X, y, "svm", C=1000.0)
    assert 0 <= found.certificate.gap <= 1e-3 * found.certificate.primal
    assert found.n_iter < 15


def test_the_objective_is_that_of_a_support_vector_machine_with_the_sum(global_random_seed):
    X, y, kernels = noisy(global_random_seed)
    found = combination(kernels, X, y, "svm", C=3.0, tol=1e-5)
    model = mc.SVC(C=3.0, kernel=found.kernel, tol=1e-6).fit(X, y)
    assert mc.certify(model, X, y).dual == pytest.approx(found.certificate.primal, rel=1e-5)


def test_too_few_steps_are_a_warning_that_gives_the_gap():
    X, y, kernels = noisy(0)
    with pytest.warns(ConvergenceWarning, match="duality gap of .* of the objective, above tol"):
        found = combination([*kernels, mc.Linear()], X, y, "svm", C=100.0, tol=1e-9, max_iter=1)
    assert found.n_iter >= 1
    assert found.certificate.primal > 0
    assert found.certificate.gap > 1e-9 * found.certificate.primal


@pytest.mark.parametrize("method", METHODS)
def test_text_and_numbers_are_combined_by_columns(method):
    rng = np.random.default_rng(0)
    words = [
        "".join(rng.choice(["a", "b"], 8, p=[0.3 + 0.4 * c, 0.7 - 0.4 * c]))
        for c in (0, 1)
        for _ in range(40)
    ]
    table = [[word, float(x)] for word, x in zip(words, rng.normal(size=80), strict=True)]
    y = np.repeat(["left", "right"], 40)
    kernels = [mc.on_columns(mc.strings.Spectrum(2), 0), mc.on_columns(mc.Gaussian("median"), [1])]
    found = combination(kernels, table, y, method)
    assert found.shares[0] > 0.8
    assert mc.SVC(kernel=found.kernel).fit(table, y).score(table, y) > 0.8


def test_matrices_are_combined_by_row_indices():
    X, y, kernels = noisy(0)
    matrices = [mc.Precomputed(kernel(X)) for kernel in kernels]
    expected = combination(kernels, X, y, "svm").shares
    np.testing.assert_allclose(
        combination(matrices, np.arange(len(X)), y, "svm").shares, expected, atol=1e-4
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_kernel_gets_no_weight(method):
    X, y, kernels = noisy(0)
    found = combination([mc.Constant(2.0), *kernels], X, y, method)
    assert found.weights[0] == found.shares[0] == 0
    assert found.shares.argmax() == 3


def test_a_regression_is_aligned_but_has_no_margin():
    X, _, kernels = noisy(0)
    y = np.sin(X[:, 4])
    assert combination(kernels, X, y, "alignment").shares.argmax() == 4
    with pytest.raises(ValueError, match='y must hold one label for each point for method="svm"'):
        mc.combine(kernels, X, y, "svm")


def test_kernels_that_are_orthogonal_to_the_labels_are_refused_by_the_alignment():
    X, y = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]), [0, 0, 1, 1]
    columns = [mc.Mapped(mc.Linear(), np.array([column])) for column in range(2)]
    assert combination(columns, X, y, "alignment").shares.tolist() == [0, 1]
    with pytest.raises(
        ValueError, match="kernels must agree with y, but the alignment of each is 0"
    ):
        mc.combine(columns[:1], X, y, "alignment")


def left_out(K, y, ridge):
    """Return the residuals of ridge regressions fitted without each row in turn."""
    rest = [np.delete(np.arange(len(K)), i) for i in range(len(K))]
    coefs = [np.linalg.solve(K[np.ix_(r, r)] + ridge * np.eye(len(r)), y[r]) for r in rest]
    return np.array([y[i] - K[i, r] @ c for (i, r), c in zip(enumerate(rest), coefs, strict=True)])


def test_errors_of_candidates_are_those_of_refits_without_each_row(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40)
    found = combination([mc.Gaussian(1.0), mc.Linear()], X, y)
    centred = y - y.mean()

    def scaled(K):
        return K / (np.mean(np.diag(K)) - np.mean(K))

    parts = [scaled(kernel(X)) for kernel in (mc.Gaussian(1.0), mc.Linear())]
    ridges = 0.03 * 4.0 ** np.linspace(-8, 7, 61)

    def refits(K):
        return np.array([left_out(K, centred, ridge) for ridge in ridges])

    def best(residuals):
        return np.argmin(np.sum(residuals**2, axis=1))

    aligned = combination([mc.Gaussian(1.0), mc.Linear()], X, y, "alignment").shares
    mixed = sum(share * part for share, part in zip(aligned, parts, strict=True))
    for name, K in [
        ("sum", scaled(sum(parts))),
        ("best", parts[0]),
        ("mean", scaled(scaled(sum(parts)) + parts[0])),
        ("alignment", scaled(mixed)),
    ]:
        residuals = refits(K)
        squares = np.sum(residuals**2, axis=1)
        # the search ends at a step of a quarter of a factor of 4
        near = residuals[squares <= 1.02 * squares.min()]
        near = np.abs(near).sum(axis=1) / np.abs(centred).sum()
        assert near.min() - 1e-9 <= found.errors[name] <= near.max() + 1e-9
    # the stack of least squares, with a small ridge, as the sum of kernels over their ridges
    each = [refits(part) for part in parts]
    places = list(map(best, each))
    P = np.column_stack([centred - one[i] for one, i in zip(each, places, strict=True)])
    small = np.sqrt(1e-3) * np.linalg.norm(centred)
    weights, _ = scipy.optimize.nnls(np.vstack([P, small * np.eye(2)]), np.append(centred, [0, 0]))
    stacked = sum(v / ridges[i] * K for v, i, K in zip(weights, places, parts, strict=True))
    residuals = refits(scaled(stacked))
    error = np.abs(residuals[best(residuals)]).sum() / np.abs(centred).sum()
    assert found.errors["stacking"] == pytest.approx(error, rel=0.03)


def test_the_choice_does_not_depend_on_the_scales_and_order_of_the_kernels(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(80, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=80)
    kernels = [mc.Gaussian(1.0), mc.Linear(), mc.Laplacian(0.5)]
    found = combination(kernels, X, y)
    other = combination([1e4 * kernels[2], kernels[0], 1e-3 * kernels[1]], X, y)
    np.testing.assert_allclose(other.shares[[1, 2, 0]], found.shares, atol=1e-6)
    np.testing.assert_allclose(other.kernel(X), found.kernel(X), atol=1e-6)


def test_a_far_better_kernel_is_chosen_alone(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(150, 6))
    columns = [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(6)]
    found = combination(columns, X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150))
    assert found.shares[0] > 0.8
    assert set(found.errors) == {"sum", "best", "mean", "alignment", "stacking"}


def test_the_sum_is_chosen_where_each_kernel_has_a_part_of_the_targets(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(200, 4))
    columns = [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(4)]
    found = combination(columns, X, np.sin(2 * X).sum(axis=1) + 0.1 * rng.normal(size=200))
    assert found.errors["sum"] < 0.7 * found.errors["best"]
    np.testing.assert_allclose(found.shares, 0.25, atol=0.1)


def test_learned_weights_are_chosen_where_two_of_many_kernels_have_the_targets(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(200, 12))
    columns = [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(12)]
    found = combination(columns, X, np.sin(2 * X[:, :2]).sum(axis=1) + 0.1 * rng.normal(size=200))
    assert found.shares[:2].sum() > 0.8
    assert found.shares[:2].min() > 0.2
    learned = min(found.errors["alignment"], found.errors["stacking"])
    assert learned < 0.9 * min(found.errors["sum"], found.errors["best"])


@pytest.mark.parametrize("seed", range(3))
def test_functions_of_kernels_that_errors_do_not_tell_apart_cost_at_most_twice_as_much(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 6))
    same = [mc.Gaussian(0.1), mc.Gaussian(0.11), mc.Gaussian(0.12)]
    K = mc.combine(same, X, rng.normal(size=150))(X)
    parts = [k(X) / (np.mean(k.diag(X)) - np.mean(k(X))) for k in same]
    # |f|^2 = y'K^+ y for the values y of a function; K >= K_S / 2 is the same for all functions
    assert np.linalg.eigvalsh(K - sum(parts) / 6)[0] > -1e-9
    assert max(np.linalg.eigvalsh(K - part / 2)[0] for part in parts) > -1e-9


@pytest.mark.parametrize("kernel", [mc.kernels.PowerDistance(1.0), mc.kernels.Multiquadric(0.5)])
def test_conditionally_positive_definite_kernels_have_the_errors_of_refits(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=60)
    columns = [mc.Mapped(kernel, np.array([c])) for c in range(3)]
    found = combination(columns, X, y)
    assert found.shares[1] > 0.6
    values = (y - y.mean()) / np.abs(y - y.mean()).mean()
    K = columns[1](X)
    ones = np.ones((59, 1))
    refits = []
    for ridge in np.var(X[:, 1]) * 4.0 ** np.arange(-6, 3):
        errors = []
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            bordered = np.block(
                [[K[np.ix_(rest, rest)] + ridge * np.eye(59), ones], [ones.T, np.zeros((1, 1))]]
            )
            solved = np.linalg.solve(bordered, np.append(values[rest], 0))
            errors.append(values[i] - np.append(K[i, rest], 1) @ solved)
        refits.append((np.mean(np.square(errors)), np.mean(np.abs(errors))))
    # constants have a prior of variance 1 there, and ridges lie between
    assert found.errors["best"] == pytest.approx(min(refits)[1], rel=0.05)


def test_copies_of_rows_do_not_change_the_choice(global_random_seed):
    X, y, kernels = noisy(global_random_seed, n=60, d=3)
    once, twice = (
        combination(kernels, np.repeat(X, m, axis=0), np.repeat(y, m), "loo") for m in (1, 3)
    )
    np.testing.assert_allclose(twice.shares, once.shares, atol=0.1)
    for name, error in once.errors.items():
        assert twice.errors[name] == pytest.approx(error, rel=0.15)


def test_targets_that_vary_at_rows_beyond_the_compared_ones_only_leave_a_simple_sum():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    kernels = [mc.Gaussian(1.0), mc.Linear()]
    # two neighbours that are both among the 500 rows which are not compared
    for i in (0, 3):
        y = np.zeros((1500, 1))
        y[[i, i + 1]] = [[1.0], [-1.0]]
        found = combination(kernels, X, y)
        assert np.isfinite(list(found.errors.values())).all()
        assert found.shares.sum() == pytest.approx(1)
        assert np.isfinite(mc.learn_scales(kernels[0], X, y, max_iter=1).A).all()


@pytest.mark.parametrize("method", METHODS)
def test_bad_input_is_refused(method):
    X, y, kernels = noisy(0)
    for bad, error, text in [
        ([], ValueError, r"kernels = \[\] must hold at least one kernel"),
        (kernels[0], TypeError, "kernels must be a list of kernels"),
        (["rbf"], TypeError, "kernel must be a Kernel"),
        (
            [mc.Linear(), mc.strings.Spectrum(2)],
            ValueError,
            "kernels must take the same kind of points",
        ),
        (
            [mc.Linear(), mc.Sigmoid(1.0, -1.0)],
            ValueError,
            r"kernels\[1\] = Sigmoid.* must be positive semidefinite",
        ),
        ([mc.Constant(1.0)], ValueError, "kernels must differ between the points of X"),
    ]:
        with pytest.raises(error, match=text):
            mc.combine(bad, X, y, method)
    with pytest.raises(ValueError, match=r"C = 0 must be above 0"):
        mc.combine(kernels, X, y, method, C=0)
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        mc.combine(kernels, X, np.zeros(len(X), int), method)
    with pytest.raises(ValueError, match="y must have one entry for each"):
        mc.combine(kernels, X, y[1:], method)
    with pytest.raises(ValueError, match="method = 'sum' must be one of"):
        mc.combine(kernels, X, y, "sum")


@pytest.mark.parametrize("method", ["loo", *METHODS])
def test_arrays_of_other_libraries_have_a_combination(method):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y, kernels = (X[:, 0] > 0).astype(int), [mc.Gaussian(0.5), mc.Linear()]
    found = mc.combine(kernels, xp.asarray(X), xp.asarray(y), method)
    assert found == mc.combine(kernels, X, y, method)


@pytest.mark.parametrize("kernel", [mc.kernels.PowerDistance(1.0), mc.kernels.Multiquadric(0.5)])
def test_a_constant_changes_no_margin_of_conditionally_positive_definite_kernels(kernel):
    X, y, _ = noisy(0, d=4)
    shares = [
        combination([mc.Mapped(k, np.array([c])) for c in range(4)], X, y, "svm", tol=1e-6).shares
        for k in (kernel, kernel + mc.Constant(3.0), kernel + mc.Constant(100.0))
    ]
    assert shares[0][2] > 0.5
    for other in shares[1:]:
        np.testing.assert_allclose(other, shares[0], atol=1e-3)


def test_a_matrix_that_is_positive_definite_on_sums_of_0_has_the_errors_of_its_kernel():
    X, y, _ = noisy(0, d=4)
    kernels = [mc.Mapped(mc.kernels.PowerDistance(1.0), np.array([c])) for c in range(4)]
    matrices = [mc.Precomputed(kernel(X)) for kernel in kernels]
    errors = combination(kernels, X, y).errors
    found = combination(matrices, np.arange(len(X)), y)
    assert found.errors == pytest.approx(errors)
