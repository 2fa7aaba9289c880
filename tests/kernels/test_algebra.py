"""Composite kernels: identities, gradients against differences, refusals, overflow."""

import functools
import operator
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.derivatives import assert_gradients

import mercer as mc

X = np.random.default_rng(0).standard_normal((8, 3))
G, L = mc.Gaussian(0.5), mc.Linear()


def test_numbers_and_kernels_combine_as_values_do():
    assert 0 + G == G
    assert sum([G, L, G]) == (G + L) + G
    np.testing.assert_array_equal((2 * G + L)(X), 2 * G(X) + L(X))
    np.testing.assert_array_equal((G * L)(X), G(X) * L(X))
    np.testing.assert_array_equal((L + 1.5)(X), L(X) + 1.5)
    np.testing.assert_allclose((L**3)(X), L(X) ** 3, rtol=1e-14)
    np.testing.assert_allclose(mc.Exp(L)(X), np.exp(L(X)), rtol=1e-14)


def test_a_sum_has_the_widest_type_of_its_terms():
    narrow = mc.Precomputed(np.full((2, 2), 0.5, np.float32))
    wide = mc.Precomputed(np.full((2, 2), 1e-12))
    K = (narrow + narrow + wide)(np.arange(2))
    assert float(K[0, 1]) == 1 + 1e-12


def test_powers_of_a_shifted_linear_kernel_are_the_polynomial_kernel():
    np.testing.assert_allclose(
        ((0.5 * L + 2) ** 4)(X), mc.Polynomial(4, gamma=0.5, coef0=2.0)(X), rtol=1e-13
    )


def test_the_normalised_exponential_of_the_linear_kernel_is_the_gaussian():
    np.testing.assert_allclose(
        mc.Normalized(mc.Exp(2 * 0.3 * L))(X), mc.Gaussian(0.3)(X), rtol=1e-12
    )


def test_a_product_of_gaussians_is_the_gaussian_of_the_sum():
    np.testing.assert_allclose(
        (mc.Gaussian(0.2) * mc.Gaussian(0.5))(X), mc.Gaussian(0.7)(X), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: -1 * G, ValueError, "factor = -1.0 must be above 0"),
        (lambda: 0 * G, ValueError, "factor = 0.0 must be above 0"),
        (lambda: mc.Scaled(G, np.inf), ValueError, "factor = inf must be finite"),
        (lambda: G + -0.5, ValueError, "value = -0.5 must be at least 0; add a constant"),
        (lambda: G**0, ValueError, "degree = 0 must be at least 1"),
        (lambda: G**0.5, TypeError, "degree must be a whole number, got 0.5"),
        (lambda: G + "rbf", TypeError, "kernels are combined with kernels and numbers, got 'rbf'"),
        (lambda: np.ones(3) * G, TypeError, "unsupported operand"),
        (lambda: mc.Exp("rbf"), TypeError, "kernel of Exp must be a Kernel, got 'rbf'"),
        (lambda: mc.Normalized(3), TypeError, "kernel of Normalized must be a Kernel, got 3"),
        (lambda: mc.Scaled("rbf", 2.0), TypeError, "kernel of Scaled must be a Kernel"),
        (lambda: mc.Sum(G, 1.0), TypeError, "right of Sum must be a Kernel, got 1.0"),
        (
            lambda: G + mc.Precomputed(),
            ValueError,
            "same kind of points, got {'left': 'rows', 'right': 'indices'}",
        ),
    ],
)
def test_other_operands_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "kernel",
    [L * L, L**3, mc.Exp(L), 1e200 * mc.Polynomial(2), mc.Rescaled(L, lambda Y: Y[:, 0] ** 2)],
)
def test_overflow_is_refused_with_the_kernel_and_a_remedy(kernel):
    for use in (lambda k: k(X * 1e120), lambda k: mc.Gram(k, X * 1e120) @ np.ones(8)):
        with pytest.raises(ValueError, match=r"overflows float64[;:].*scale X"):
            use(kernel)


def test_an_odd_power_that_overflows_below_zero_is_refused_too():
    with pytest.raises(ValueError, match="overflows float64"):
        (L**3)(np.array([[1e120]]), np.array([[-1e30]]))


def test_a_constant_is_one_feature():
    np.testing.assert_array_equal(mc.Constant(2.0)(X), 2)
    np.testing.assert_array_equal(mc.Constant(0.0)(X), 0)
    with pytest.raises(ValueError, match="value = -1.0 must be at least 0"):
        mc.Constant(-1.0)


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.dia_matrix, sp.bsr_matrix, sp.csc_array])
def test_a_constant_takes_sparse_rows_of_any_format(form):
    gram = mc.Gram(mc.Constant(2.0), form(np.eye(4)))
    np.testing.assert_array_equal(gram @ np.ones(4), 8)
    np.testing.assert_array_equal(gram[[1, 3], :], np.full((2, 4), 2.0))


@pytest.mark.parametrize(
    "kernel", [mc.Constant(2.0), 2 * mc.Constant(1.0), mc.Normalized(mc.Constant(3.0))], ids=str
)
def test_constants_take_tables(kernel):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.0, 1.0]})
    np.testing.assert_array_equal(kernel(table, table[:2]), kernel(X[:3], X[:2]))
    np.testing.assert_array_equal(kernel(table), kernel(X[:3]))


INNER = {
    "constant": mc.Constant(2.0),
    "sum": mc.Polynomial(2) + G,
    "product": mc.Polynomial(2, gamma=0.5) * G,
    "scaled": 0.3 * mc.Polynomial(3),
    "power 1": mc.Polynomial(2) ** 1,
    "power 3": (0.5 * L + G) ** 3,
    "exp": mc.Exp(0.3 * L + G),
    "normalised linear": mc.Normalized(L),
    "normalised polynomial": mc.Normalized(mc.Polynomial(3, gamma=0.7)),
    "normalised sum": mc.Normalized(2 * mc.Polynomial(2) + G),
}


@pytest.mark.parametrize("name", INNER)
def test_gradients_are_those_of_differences(name, global_random_seed):
    assert_gradients(INNER[name], X, np.flip(X[:5], axis=1) + 0.1, global_random_seed)


def test_properties_hold_if_they_hold_for_all_inner_kernels():
    tags = (mc.Linear() + mc.Chi2(1.0)).tags
    assert (tags.positive_semidefinite, tags.sparse, tags.differentiable, tags.nonnegative) == (
        True,
        False,
        True,
        True,
    )
    assert (mc.Linear() + mc.Sigmoid()).tags.positive_semidefinite is None
    assert not (G + mc.Rescaled(G, lambda Y: Y[:, 0])).tags.differentiable
    assert mc.Constant(1.0).tags.sparse
    assert (2 * mc.Precomputed()).tags.points == "indices"


def test_values_of_float32_points_are_float32():
    narrow = X.astype(np.float32)
    for name, kernel in INNER.items():
        assert kernel(narrow).dtype == kernel.diag(narrow).dtype == np.float32, name
        assert kernel.vjp(narrow, narrow, np.ones((8, 8))).dtype == np.float32, name


def test_defaults_are_the_square_one_and_no_change():
    assert mc.Power(L) == L**2
    assert mc.Constant() == mc.Constant(1.0)
    assert mc.Scaled(L) == 1 * L


def _overlap(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


SETS = [[1, 2, 3], [2, 3, 4], [3, 4, 5]]


def _kinds():
    rows, matrix = np.random.default_rng(0).standard_normal((5, 2)), np.diag([1.0, 2.0, 3.0])
    features, function = mc.FeatureMap(np.square), mc.FunctionKernel(lambda A, B: A @ B.T)
    return {
        "map_plus_rows": (
            features + mc.Gaussian(1.0),
            rows,
            features(rows) + mc.Gaussian(1.0)(rows),
        ),
        "rows_times_function": (mc.Linear() * function, rows, (rows @ rows.T) ** 2),
        "objects_plus_number": (
            mc.FunctionKernel(_overlap) + 1.0,
            SETS,
            _overlap(SETS, SETS) + 1.0,
        ),
        "number_times_sum": (
            2 * (mc.Constant(1.0) + mc.FunctionKernel(_overlap)),
            SETS,
            2 * _overlap(SETS, SETS) + 2,
        ),
        "matrix_plus_number": (mc.Precomputed(matrix) + 1.0, np.arange(3), matrix + 1.0),
        "numbers": (mc.Constant(1.0) * mc.Constant(2.0), SETS, np.full((3, 3), 2.0)),
    }


@pytest.mark.parametrize("name", _kinds())
def test_kernels_of_rows_or_objects_and_constants_join_any_kernel(name):
    kernel, points, expected = _kinds()[name]
    np.testing.assert_allclose(kernel(points), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(points), np.diag(expected), rtol=1e-14)
    np.testing.assert_allclose(
        mc.Gram(kernel, points) @ np.ones(len(points)), expected.sum(axis=1), rtol=1e-13
    )
    if name == "matrix_plus_number":
        # a fit takes the matrix
        kernel = mc.Precomputed() + 1.0
        points = expected - 1.0
    model = mc.KernelRidge(kernel=kernel).fit(points, np.ones(len(expected)))
    assert model.expansion_.kernel.tags.points == kernel.tags.points


def test_kernels_of_rows_and_of_row_indices_do_not_join():
    for make in (
        lambda: mc.Precomputed() + mc.Linear(),
        lambda: mc.FeatureMap(np.square) * mc.Precomputed(),
    ):
        with pytest.raises(
            ValueError, match=r"must take the same kind of points, got .*'indices'.*on_columns"
        ):
            make()


FORMULAS = {
    "0.5 * Gaussian(gamma=0.2) + Polynomial(degree=3, gamma=1.0, coef0=1.0) * Cauchy(gamma=0.1)": (
        0.5 * mc.Gaussian(0.2) + mc.Polynomial(3) * mc.Cauchy(0.1)
    ),
    "(Linear() + 1.0) ** 2": (mc.Linear() + 1.0) ** 2,
    "Linear() + (Gaussian(gamma=1.0) + 2.0)": mc.Sum(mc.Linear(), mc.Gaussian(1.0) + 2.0),
    "Linear() * (0.5 * (Linear() * Gaussian(gamma=1.0)))": mc.Linear()
    * mc.Scaled(mc.Linear() * mc.Gaussian(1.0), 0.5),
    "2.0 * (3.0 * Linear())": mc.Scaled(mc.Scaled(mc.Linear(), 3.0), 2.0),
    "(Linear() ** 2) ** 3": mc.Power(mc.Power(mc.Linear(), 2), 3),
    "(0.5 * Linear()) ** 2 * (Linear() * Linear())": (0.5 * mc.Linear()) ** 2
    * mc.Product(mc.Linear(), mc.Linear()),
    "Linear() + Constant(value=0.0)": mc.Sum(mc.Linear(), mc.Constant(0.0)),
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_kernels_print_as_formulas_that_python_reads_back(formula):
    assert repr(FORMULAS[formula]) == formula
    assert eval(formula, vars(mc)) == FORMULAS[formula]


@pytest.mark.parametrize("join", [operator.add, operator.mul])
def test_a_sum_or_product_of_many_kernels_has_few_levels_and_their_value(join, tmp_path):
    chain = functools.reduce(join, [mc.Constant(1.0)] * 1024)
    assert chain(np.eye(2))[0, 0] == (1024 if join is operator.add else 1)
    assert chain == pickle.loads(pickle.dumps(chain))
    model = mc.KernelPCA(1, kernel=functools.reduce(join, [G] * 300)).fit(X)
    mc.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "model.mercer").transform(X), model.transform(X)
    )


def test_kernels_within_kernels_beyond_the_stack_are_refused():
    with pytest.raises(ValueError, match="at most 200 levels of kernels within kernels"):
        functools.reduce(lambda kernel, _: mc.Normalized(kernel), range(201), mc.Linear())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda number: mc.Linear() + number, "value = .* must be at most 1.8e308"),
        (lambda number: number * mc.Linear(), "factor = .* must be at most 1.8e308"),
        (lambda number: mc.Linear() ** number, "degree = .* must be at most 16777216"),
        (lambda number: mc.Polynomial(degree=number), "degree = .* must be at most 16777216"),
        (lambda number: mc.Gaussian(number), "gamma = .* must be at most 1.8e308"),
    ],
)
@pytest.mark.parametrize("number", [10**400, 10**5000], ids=["400", "5000"])
def test_numbers_beyond_floating_point_are_refused_by_name(make, message, number):
    with pytest.raises(ValueError, match=f"^{message}"):
        make(number)


def test_products_of_a_constant_keep_float32_digits_over_many_points():
    V = np.full((300_000, 3), 0.1, np.float32)
    product = (
        mc.Gram(mc.Constant(1.0), np.zeros((1, 1), np.float32), np.zeros((300_000, 1), np.float32))
        @ V
    )
    assert product.dtype == np.float32
    np.testing.assert_allclose(product, 300_000 * float(np.float32(0.1)), rtol=1e-6)
