"""Kernel: values against loops in extended precision, exactness on one set of points, values as parameters."""

from dataclasses import InitVar, dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import naive
from tests.reference.inside import MATH, parameters_of, points_of, tile_of
from tests.reference.instances import KERNELS, ROWS

import mercer as mc
from mercer.kernels.base import (
    MOST_DEGREE,
    Kernel,
    Tags,
    brief,
    matched,
    refuse_infinite,
    require_gradient,
    require_kernel,
    with_params,
)

X = np.random.default_rng(5).random((15, 3))
Z = np.random.default_rng(6).random((10, 3))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 2e-6)])
@pytest.mark.parametrize("name", KERNELS)
def test_values_are_those_of_the_formula_in_extended_precision(name, dtype, tolerance):
    kernel, A, B = KERNELS[name], X.astype(dtype), Z.astype(dtype)
    exact = naive.gram(kernel, A, B)
    assert abs(kernel(A, B) - exact).max() <= tolerance * abs(exact).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_one_set_of_points_gives_a_block_that_is_symmetric_to_the_last_bit(name, dtype):
    K = KERNELS[name](X.astype(dtype))
    assert (K == K.T).all()


@pytest.mark.parametrize(
    "name",
    [name for name, k in ROWS.items() if isinstance(k, mc.Radial) and k.tags.order == 0],
)
def test_radial_kernels_are_one_on_the_diagonal_and_between_zero_and_one_elsewhere(name):
    for offset in (0, 1e9):
        K = ROWS[name](X + offset)
        assert (np.diagonal(K) == ROWS[name].diag(X + offset)).all()
        assert (np.diagonal(K) == 1).all()
        assert (K >= 0).all()
        assert (K <= 1).all()


@pytest.mark.parametrize("name", ROWS)
def test_a_value_does_not_depend_on_its_batch_mates(name):
    kernel = ROWS[name]
    together = kernel(X, Z)
    alone = np.concatenate([kernel(X[i : i + 1], Z) for i in range(len(X))])
    np.testing.assert_allclose(together, alone, rtol=1e-13, atol=1e-15)


def test_kernels_are_values():
    assert mc.Gaussian(1.0) == mc.Gaussian(1.0)
    assert mc.Gaussian(1.0) != mc.Gaussian(2.0)
    assert mc.Gaussian(1.0) != mc.Cauchy(1.0)
    assert hash(mc.Gaussian(1.0) + mc.Linear()) == hash(mc.Gaussian(1.0) + mc.Linear())
    assert mc.Mapped(mc.Linear(), np.ones(2)) == mc.Mapped(mc.Linear(), np.ones(2))
    assert mc.Mapped(mc.Linear(), np.ones(2)) != mc.Mapped(mc.Linear(), np.ones(2, np.float32))
    with pytest.raises(AttributeError):
        mc.Gaussian(1.0).gamma = 2.0


def test_parameters_reach_into_parts_and_replace_them():
    kernel = 2 * mc.Gaussian("scale") + mc.Polynomial(2)
    assert kernel.get_params()["left__kernel__gamma"] == "scale"
    changed = with_params(kernel, {"left__kernel__gamma": 3.0, "right__degree": 4})
    assert changed == 2.0 * mc.Gaussian(3.0) + mc.Polynomial(4)
    assert with_params(kernel, {"right": mc.Cauchy(1.0), "right__gamma": 5.0}).right == mc.Cauchy(
        5.0
    )


@pytest.mark.parametrize(
    "name", ["sigma", "left__sigma", "gamma", "left__kernel__gamma__x", "factor__x"]
)
def test_a_parameter_that_is_not_there_is_refused_with_those_that_are(name):
    with pytest.raises(ValueError, match="Invalid parameter .* Valid parameters are: \\[") as error:
        with_params(mc.Gaussian(1.0) + mc.Linear(), {name: 1.0})
    assert "missing" not in str(error.value)


def test_resolving_leaves_numbers_alone_and_reaches_every_rule():
    resolved = mc.Gaussian(2.0)
    assert resolved.resolve(X) is resolved
    kernel = (mc.Gaussian() + mc.Linear() * mc.Cauchy("median")).resolve(X)
    assert kernel.left.gamma == pytest.approx(1 / (3 * X.var()))
    assert isinstance(kernel.right.right.gamma, float)


@pytest.mark.parametrize(
    "use",
    [
        lambda k: k(X),
        lambda k: k.diag(X),
        lambda k: k.vjp(X, Z, np.ones((15, 10))),
        lambda k: mc.Gram(k, X),
        lambda k: mc.features(k, X),
    ],
    ids=["call", "diag", "vjp", "Gram", "features"],
)
def test_a_rule_is_refused_by_path_value_and_remedy_until_it_is_resolved(use):
    with pytest.raises(
        ValueError,
        match=r"Sum is not resolved, right.kernel.gamma = 'median'; call kernel.resolve\(X\)",
    ):
        use(mc.Linear() + 2 * mc.Gaussian("median"))


def test_features_must_agree():
    with pytest.raises(
        ValueError, match="X has 3 features, but Z has 2 features; they must be equal"
    ):
        mc.Gaussian(1.0)(X, Z[:, :2])


def test_weights_must_be_one_per_pair():
    with pytest.raises(
        ValueError, match=r"W must have shape \(15, 10\), one weight per pair, got \(2, 2\)"
    ):
        mc.Gaussian(1.0).vjp(X, Z, np.ones((2, 2)))


def test_kernels_without_a_gradient_say_so():
    with pytest.raises(TypeError, match=r"FeatureMap\(.*no gradient"):
        mc.FeatureMap(np.abs).vjp(X, Z, np.ones((15, 10)))


def test_sparse_rows_are_refused_by_kernels_that_would_fill_them():
    with pytest.raises(TypeError, match=r"Laplacian does not take sparse rows; pass X.toarray\(\)"):
        mc.Laplacian(1.0)(sp.csr_array(X))


def test_mixed_types_become_the_wider_one():
    single = X.astype(np.float32)
    assert mc.Linear()(single, Z).dtype == np.float64
    assert mc.Linear()(single, Z.astype(np.float32)).dtype == np.float32


def test_a_one_row_block_is_a_block():
    assert mc.Gaussian(1.0)(X[:1]).tolist() == [[1.0]]


def test_nothing_is_claimed_of_a_kernel_but_what_is_known():
    assert mc.Gaussian().tags == Tags(positive_semidefinite=True, sparse=True)
    assert Tags().positive_semidefinite is None
    assert _OnlyValues().tags.positive_semidefinite is None
    assert mc.Sigmoid().tags.positive_semidefinite is False
    assert mc.Polynomial(coef0=-1.0).tags.positive_semidefinite is None
    assert (mc.Sigmoid() + mc.Linear()).tags.positive_semidefinite is None
    assert not (mc.Linear() + mc.Laplacian(1.0)).tags.sparse


def test_arrays_of_up_to_eight_numbers_are_shown_in_full():
    assert brief(np.arange(8)) == repr(np.arange(8))
    assert brief(np.arange(9)) == "<array of shape (9,)>"


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("others", [0.0, 1.0, -1.0])
def test_values_that_are_not_finite_are_refused(bad, others):
    values = np.array([others, bad, others])
    with pytest.raises(ValueError, match=r"Linear\(\) overflows float64; scale X"):
        refuse_infinite(mc.Linear(), values)
    assert refuse_infinite(mc.Linear(), values[:1]) is not None


def test_a_kernel_that_states_nothing_has_no_values_and_no_gradients():
    class Bare(Kernel):
        pass

    tile = tile_of(X, Z)
    for use in (lambda: Bare()(X), lambda: Bare().diag(X)):
        with pytest.raises(NotImplementedError, match=r"Bare must define evaluate\(tile\)"):
            use()
    for use in (lambda: Bare().gradient(tile, 1.0), lambda: Bare().diagonal_gradient(tile.X, 1.0)):
        with pytest.raises(TypeError, match="Bare has no gradient in its points"):
            use()


def test_a_name_that_is_not_a_kernel_is_refused_with_a_remedy():
    with pytest.raises(
        TypeError, match=r"kernel must be a Kernel, .* got 'rbf' of type str; .* are for estimators"
    ):
        require_kernel("rbf")


def test_gradients_are_refused_for_kernels_without_and_given_for_kernels_with_them():
    require_gradient(mc.Gaussian(1.0))
    with pytest.raises(
        TypeError, match="fit needs a gradient, but .* has no gradient in its points; take another"
    ):
        require_gradient(mc.FunctionKernel(np.dot), "fit", "take another")


def test_known_points_are_converted_once_for_points_of_another_type():
    narrow = points_of(Z.astype(np.float32))
    left, right = matched(mc.Gaussian(1.0), X, narrow)
    assert left.container.dtype == right.container.dtype == np.float64
    assert matched(mc.Gaussian(1.0), X, narrow)[1] is right
    left, same = matched(mc.Gaussian(1.0), X.astype(np.float32), narrow)
    assert same is narrow
    assert left.container.dtype == np.float32


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.5),
        mc.Matern(),
        mc.RationalQuadratic(),
        mc.Cauchy(1.0),
        mc.Linear(),
        mc.Polynomial(2),
        mc.Sigmoid(),
    ]
    + [mc.Laplacian(1.0), mc.Chi2(1.0), mc.Intersection()],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_profile_without_an_order_is_the_function_itself(kernel):
    s, xp = np.linspace(0.5, 2, 4), MATH
    value = kernel.profile(xp, s, *parameters_of(kernel))
    np.testing.assert_array_equal(value, kernel.profile(xp, s, *parameters_of(kernel), order=0))
    assert (value != kernel.profile(xp, s, *parameters_of(kernel), order=1)).any()
    if isinstance(kernel, mc.Coordinatewise):
        assert (kernel.term(xp, s, s[::-1]) == kernel.term(xp, s, s[::-1], order=0)).all()


@dataclass(frozen=True, eq=False)
class _OnlyValues(mc.Kernel):
    """A kernel of a user that states its values only."""

    def evaluate(self, tile):
        return (tile.X.container @ tile.Z.container.T + 1.0) ** 2


def test_a_kernel_without_a_diagonal_takes_it_from_its_values():
    kernel, same = _OnlyValues(), mc.Polynomial(2, 1.0, 1.0)
    np.testing.assert_allclose(kernel.diag(X), same.diag(X))
    labels = np.arange(15) % 2
    ours, theirs = (
        mc.SVC(kernel=each).fit(X, labels).decision_function(Z) for each in (kernel, same)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_a_matrix_in_place_of_a_kernel_is_named_by_its_shape_with_the_remedy():
    message = (
        r"got an array of shape \(15, 3\) of type ndarray; "
        r".* matrix K of kernel values in mercer.Precomputed\(K\)"
    )
    with pytest.raises(TypeError, match=message):
        mc.check_kernel(X)


def test_a_kernel_without_a_gradient_says_so():
    assert not _OnlyValues().tags.differentiable
    assert mc.Gaussian(1.0).tags.differentiable
    phi = mc.features(_OnlyValues(), X)
    with pytest.raises(TypeError, match="needs a gradient, but .*_OnlyValues.* has no gradient"):
        phi.gradient(X)


def test_multiplications_are_those_of_the_parts_or_of_an_inner_product():
    assert mc.Gaussian("scale").multiplications(7) == 7
    assert (2 * mc.Gaussian(1.0) + mc.Linear() ** 2).multiplications(7) == 14
    assert (mc.Local(mc.Polynomial(2), (3, 3), 5) ** 2).multiplications(9) == 9 * 40
    assert mc.Normalized(mc.Laplacian(1.0)).multiplications(7) == 630


def test_up_to_the_largest_degree_float32_holds_all_whole_numbers():
    held = [
        int(np.float32(number)) == number
        for number in (MOST_DEGREE - 1, MOST_DEGREE, MOST_DEGREE + 1)
    ]
    assert held == [True, True, False]


@pytest.mark.parametrize(
    "kernel", [mc.Polynomial(3), mc.Linear(), mc.Gaussian(1e-6) + mc.Linear()], ids=repr
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gradient_that_overflows_is_refused(kernel, dtype):
    rows = 1e5 * np.array([[1.0, 2.0], [3.0, 5.0]]).astype(dtype)
    largest = float(np.finfo(dtype).max)
    with pytest.raises(
        ValueError,
        match=f"W has entries up to .* overflow {np.dtype(dtype)}; divide W by a constant",
    ):
        kernel.vjp(rows, rows, np.full((2, 2), largest / 4))
    with pytest.raises(
        ValueError, match=f"coef has entries up to .* overflow {np.dtype(dtype)}; divide coef by"
    ):
        mc.Expansion(kernel, rows, np.full((2, 1), largest / 4)).gradient(rows)


STRINGS = ["a", "ab", "abcab", "bcabcabbca", ""]


@pytest.mark.parametrize(
    ("make", "value", "points"),
    [
        (mc.strings.Spectrum, np.uint8(3), STRINGS),
        (lambda n: mc.strings.Mismatch(n, 1, "abc"), np.uint8(3), STRINGS),
        (mc.strings.Subsequence, np.int8(8), STRINGS),
        (mc.strings.WeightedDegree, np.int8(16), ["abcabcabcabcabcabc", "abcbbbabcbbbabcbbb"]),
        (mc.kernels.BSpline, np.int8(80), X),
        (lambda n: mc.kernels.Local(mc.Gaussian(1.0), (1, 3), n), np.uint8(3), X),
        (lambda n: mc.Linear() ** n, np.int64(2), X.astype(np.float32)),
        (lambda f: mc.kernels.Scaled(mc.Linear(), f), np.float64(2.0), X.astype(np.float32)),
        (lambda g: mc.VariableWidthGaussian(g, 3), np.float64(0.5), X.astype(np.float32)),
    ],
)
def test_scalars_of_numpy_are_the_numbers_that_they_stand_for(make, value, points):
    expected, found = make(value.item()), make(value)
    assert found == expected
    assert repr(found) == repr(expected)
    for evaluate in (Kernel.__call__, Kernel.diag):
        values = evaluate(found, points)
        np.testing.assert_array_equal(values, evaluate(expected, points), strict=True)
        assert values.dtype == mc.Gram(found, points).dtype


def test_a_kernel_may_take_values_that_become_no_fields():
    @dataclass(frozen=True, eq=False)
    class Wide(mc.Kernel):
        gamma: float = 1.0
        width: InitVar[float | None] = None

        def __post_init__(self, width):
            object.__setattr__(self, "gamma", 0.5 / width**2)

        def evaluate(self, tile):
            return tile.xp.exp(-self.gamma * tile.sqdist)

    np.testing.assert_allclose(Wide(width=2.0)(X, Z), mc.Gaussian(0.125)(X, Z), rtol=1e-14)
