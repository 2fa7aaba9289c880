"""Kernels on sets equal their definitions, obey the laws of kernels, and refuse other objects by index and type."""

import copy
import random
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.structured import SETS

import mercer as mc
from mercer.kernels.sets import MeanMap, MinMax, Overlap, Tanimoto
from mercer.testing import check_expansion_laws, check_kernel_implementation


def _random_sets(seed, n=10):
    source = random.Random(seed)
    return [set(source.choices(range(12), k=source.randint(0, 9))) for _ in range(n)]


def _naive(pair, X, Z):
    return np.array([[float(pair(x, z)) for z in Z] for x in X])


def _tanimoto(x, z):
    return len(x & z) / len(x | z) if x | z else 1


def _min_max(x, z):
    members = x.keys() | z.keys()
    largest = sum(max(x.get(a, 0), z.get(a, 0)) for a in members)
    return sum(min(x.get(a, 0), z.get(a, 0)) for a in members) / largest if largest else 1


def test_kernels_on_sets_equal_their_definitions_exactly(global_random_seed):
    X, Z = _random_sets(global_random_seed), [set(), *_random_sets(global_random_seed + 1, 5)]
    np.testing.assert_array_equal(Overlap()(X, Z), _naive(lambda x, z: len(x & z), X, Z))
    np.testing.assert_array_equal(Tanimoto()(X, Z), _naive(_tanimoto, X, Z))
    np.testing.assert_array_equal(MinMax()(X, Z), _naive(_tanimoto, X, Z))


def test_the_min_max_kernel_equals_its_definition(global_random_seed):
    source = random.Random(global_random_seed)
    X = [
        {a: source.randint(0, 3) * source.random() for a in source.sample(range(9), 4)}
        for _ in range(10)
    ]
    X += [{}, {3: 0.0}]
    np.testing.assert_allclose(MinMax()(X, X[3:]), _naive(_min_max, X, X[3:]), rtol=1e-12)
    words = ["abca", "", "cc", "bdaa"]
    np.testing.assert_array_equal(
        MinMax()(list(map(list, words))), MinMax()(list(map(Counter, words)))
    )


@pytest.mark.parametrize("size", [1e-300, 1e300, 1e307])
def test_the_min_max_kernel_does_not_depend_on_the_size_of_the_weights(size):
    X = [{"a": 10.0}, {"a": 17.0}, {"a": 3.0, "b": 9.0}, {"b": 4.0}]
    scaled = [{member: weight * size for member, weight in x.items()} for x in X]
    np.testing.assert_allclose(MinMax()(scaled), MinMax()(X), rtol=1e-14)


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.7), mc.Linear(), mc.Polynomial(2)], ids=repr)
def test_mean_maps_are_means_of_kernel_values_and_inner_products_of_means(
    kernel, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = ([rng.normal(size=(rng.integers(1, 6), 3)) for _ in range(n)] for n in (7, 4))
    K = MeanMap(kernel)(X, Z)
    np.testing.assert_allclose(K, _naive(lambda x, z: kernel(x, z).mean(), X, Z), rtol=1e-12)
    means = [[mc.mean(mc.features(kernel, bag)) for bag in bags] for bags in (X, Z)]
    np.testing.assert_allclose(K, _naive(lambda x, z: x.inner(z)[0, 0], *means), rtol=1e-12)
    distances = mc.sqdist(mc.features(MeanMap(kernel), X), mc.features(MeanMap(kernel), Z)) ** 0.5
    expected = _naive(lambda x, z: mc.mmd(mc.features(kernel, x), mc.features(kernel, z)), X, Z)
    np.testing.assert_allclose(distances, expected, rtol=1e-7)


@pytest.mark.parametrize("name", SETS)
def test_every_kernel_on_sets_obeys_the_laws_of_kernels_and_expansions(name):
    kernel, points = SETS[name]
    check_kernel_implementation(kernel, points)
    check_expansion_laws(mc.features(kernel, points))


@pytest.mark.parametrize("kernel", [Overlap(), Tanimoto(), MinMax()], ids=repr)
def test_sets_lists_and_arrays_of_members_are_equal_points(kernel):
    X = [{1, 2}, {2}, {5, 1, 2}]
    for make in (frozenset, list, tuple, lambda x: np.array(sorted(x))):
        np.testing.assert_array_equal(kernel([make(x) for x in X]), kernel(X))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Overlap()({"a"}), TypeError, "X must be an array or a list of points, got set"),
        (lambda: Overlap()([{1}, 3]), TypeError, r"X\[1\] must be a set.*3 of type int"),
        (lambda: Overlap()([{1}, "ab"]), TypeError, r"X\[1\] must be a set.*'ab' of type str"),
        (lambda: Tanimoto()([{1}, None]), (TypeError, ValueError), r"X\[1\].*None"),
        (
            lambda: Tanimoto()([{1}, [2, [3]]]),
            TypeError,
            r"X\[1\]\[1\] must be hashable, got \[3\] of type list",
        ),
        (
            lambda: Tanimoto()([[2, 3, 2]]),
            ValueError,
            r"X\[0\] has the member 2 twice; .*MinMax .*0 and 1 are",
        ),
        (
            lambda: Overlap()(np.eye(3) / 3),
            TypeError,
            r"X\[0\] is an array of dtype float64, a row of numbers",
        ),
        (
            lambda: MinMax()([*np.eye(3)]),
            TypeError,
            r"X\[0\] is an array of dtype float64, a row of numbers",
        ),
        (
            lambda: MinMax()([{"a": 1}, {"b": -1}]),
            ValueError,
            r"X\[1\]\['b'\] = -1 must be .*at least 0",
        ),
        (lambda: MinMax()([{"a": np.nan}]), ValueError, r"X\[0\]\['a'\] = nan must be"),
        (
            lambda: MinMax()([{"a": 10**400}]),
            ValueError,
            r"\[.a.\] = 10+\.\.\. must be a number, at least 0 and finite",
        ),
        (
            lambda: MinMax()([{"a": 1e308, "b": 1e308}]),
            ValueError,
            r"X\[0\] has weights whose sum overflows float64",
        ),
        (lambda: MinMax()(["ab"]), TypeError, r"X\[0\] must be a mapping.*of type str"),
        (lambda: MinMax()([[1], [{2}]]), TypeError, r"X\[1\]\[0\] must be hashable"),
        (lambda: MeanMap(3), TypeError, "kernel of MeanMap must be a Kernel"),
        (lambda: MeanMap(Overlap()), ValueError, "must be a kernel on rows of numbers"),
        (
            lambda: MeanMap(mc.Linear())([np.eye(2), np.eye(3)]),
            ValueError,
            r"X\[1\] is a bag .*3 features, but X\[0\]",
        ),
        (
            lambda: MeanMap(mc.Linear())([np.eye(2)], [np.eye(3)]),
            ValueError,
            r"X\[0\] is a bag .*, but Z\[0\] is",
        ),
        (
            lambda: MeanMap(mc.Linear())([np.eye(2), np.ones((2, 0))]),
            ValueError,
            r"X\[1\] must have at least one row",
        ),
        (lambda: MeanMap(mc.Linear())([np.eye(2), "ab"]), (TypeError, ValueError), r"X\[1\] must"),
        (
            lambda: MeanMap(mc.Linear())([np.eye(2), [[1.0, np.nan]]]),
            ValueError,
            r"Input X\[1\] contains NaN",
        ),
        (
            lambda: MeanMap(mc.Gaussian("scale"))([np.eye(2)]),
            ValueError,
            r"kernel.gamma = 'scale'.*resolve",
        ),
    ],
)
def test_what_is_no_set_is_refused_by_index_and_type(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_rules_of_the_kernel_of_a_mean_map_are_resolved_on_all_rows():
    bags = [np.arange(6.0).reshape(3, 2), np.array([[7.0, -1.0]])]
    rows = np.concatenate(bags)
    assert MeanMap(mc.Gaussian("scale")).resolve(bags) == MeanMap(
        mc.Gaussian("scale").resolve(rows)
    )
    weighted = MeanMap(mc.Gaussian("scale")).resolve(bags, [3.0, 2.0])
    repeated = MeanMap(mc.Gaussian("scale")).resolve(3 * bags[:1] + 2 * bags[1:])
    assert weighted.kernel.gamma == pytest.approx(repeated.kernel.gamma, rel=1e-12)
    assert weighted.kernel == mc.Gaussian("scale").resolve(rows, np.array([3.0, 3.0, 3.0, 2.0]))


@pytest.mark.parametrize("kernel", [MinMax(), Tanimoto()])
def test_values_of_rows_have_the_type_of_the_rows_on_the_diagonal_too(kernel):
    rows = np.eye(3, dtype=np.float32)
    assert kernel(rows).dtype == kernel.diag(rows).dtype == np.float32


def test_rules_of_a_mean_map_are_resolved_on_sparse_bags_too():
    bags = [np.eye(2), np.array([[7.0, -1.0]])]
    kernel = MeanMap(mc.Gaussian("median"))
    assert kernel.resolve(list(map(sp.csr_array, bags)), [1.0, 2.0]) == kernel.resolve(
        bags, [1.0, 2.0]
    )


def test_a_mean_map_computes_with_vectors_in_the_form_of_its_kernel(global_random_seed):
    rng, inner = np.random.default_rng(global_random_seed), mc.VariableWidthGaussian(0.5, 2)
    bags = [rng.normal(size=(n, 2)) for n in (3, 1, 4)]
    kernel = MeanMap(inner)
    np.testing.assert_allclose(
        kernel(bags), _naive(lambda x, z: inner(x, z).mean(), bags, bags), rtol=1e-12
    )
    np.testing.assert_allclose(kernel.diag(bags), np.diag(kernel(bags)), rtol=1e-12)
    # rows without widths have that of a Gaussian kernel
    np.testing.assert_allclose(kernel(bags), MeanMap(mc.Gaussian(0.5))(bags), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "points", "change"),
    [
        (MinMax(), [{"a": 1.0 + i, "b": 2.0} for i in range(8)], lambda x: x.update(a=50.0)),
        (MinMax(), [Counter("a" * i + "b") for i in range(8)], lambda x: x.update("bbbb")),
        (
            MeanMap(mc.Gaussian(0.1)),
            [np.array([[1.0 + i, 0.0], [0.0, 2.0]]) for i in range(8)],
            lambda x: x.fill(5.0),
        ),
    ],
    ids=["dict", "Counter", "bags"],
)
def test_models_do_not_depend_on_later_changes_of_their_points(kernel, points, change, tmp_path):
    points = copy.deepcopy(points)
    model = mc.SVC(kernel=kernel).fit(points, [0, 1] * 4)
    asked = copy.deepcopy(points)
    before = model.decision_function(asked)
    for point in points:
        change(point)
    mc.save(model, tmp_path / "model")
    for each in (model, mc.load(tmp_path / "model"), copy.deepcopy(model)):
        np.testing.assert_allclose(each.decision_function(asked), before, rtol=1e-12)


def test_a_mean_map_is_proved_only_if_its_kernel_is():
    assert MeanMap(mc.Gaussian(1.0)).tags.positive_semidefinite
    assert not MeanMap(mc.Sigmoid(1.0)).tags.positive_semidefinite
    assert mc.check_kernel(MeanMap(mc.Sigmoid(1.0))).positive_semidefinite is not True


@pytest.mark.filterwarnings("error")
def test_weights_may_be_of_any_type_of_numpy():
    bags = [
        {"a": kind(2), "b": kind(1)}
        for kind in (np.float16, np.float32, np.float64, np.int8, np.longdouble)
    ]
    np.testing.assert_array_equal(mc.sets.MinMax()(bags), np.ones((5, 5)))
    with pytest.raises(
        ValueError, match=r"X\[0\]\['a'\] = .*inf.* must be a number, at least 0 and finite"
    ):
        mc.sets.MinMax()([{"a": np.float32(np.inf)}])


# --- rows of numbers --------------------------------------------------------------------------------------------------


def ratio(X, Z):
    least = np.minimum(X[:, None], Z[None]).sum(axis=-1)
    most = np.maximum(X[:, None], Z[None]).sum(axis=-1)
    return np.where(most > 0, least / np.where(most > 0, most, 1), 1)


@pytest.mark.parametrize("kernel", [mc.sets.MinMax(), mc.sets.Tanimoto()])
@pytest.mark.parametrize("dtype", [np.int64, bool, np.uint8, np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_rows_of_nonnegative_numbers_are_compared_by_minima_and_maxima(
    kernel, dtype, container, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.integers(0, 3, (20, 12)), rng.integers(0, 2, (9, 12))
    X[3] = Z[2] = 0
    X, Z = X.astype(dtype), Z.astype(dtype)
    wanted = ratio(X.astype(float), Z.astype(float))
    found = kernel(container(X), container(Z))
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype == np.float32 else 1e-14)
    K = kernel(container(X))
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(kernel.diag(container(X)), 1)
    np.testing.assert_allclose(
        mc.Gram(kernel, container(X), container(Z)) @ np.ones(9), wanted.sum(axis=1), rtol=1e-6
    )


def test_rows_of_0_and_1_are_the_sets_of_their_ones(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.integers(0, 2, (60, 40))
    sets = [set(np.flatnonzero(row)) for row in X]
    np.testing.assert_allclose(mc.sets.Tanimoto()(X), mc.sets.Tanimoto()(sets), rtol=1e-15)
    np.testing.assert_allclose(mc.sets.MinMax()(X), mc.sets.Tanimoto()(sets), rtol=1e-15)
    y = X[:, 0] ^ X[:, 1]
    rows, members = (mc.SVC(kernel=mc.sets.Tanimoto()).fit(each, y) for each in (X, sets))
    np.testing.assert_allclose(
        rows.decision_function(X), members.decision_function(sets), atol=1e-8
    )
    sparse = mc.SVC(kernel=mc.sets.MinMax()).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_matrix(X)), rows.decision_function(X), atol=1e-8
    )
    # a row of numbers has its columns
    with pytest.raises(ValueError, match="features"):
        rows.predict(X[:, 1:])


@pytest.mark.parametrize("kernel", [mc.sets.MinMax(), mc.sets.Tanimoto()])
def test_rows_below_0_and_single_rows_are_refused(kernel):
    with pytest.raises(
        ValueError, match=f"X has the number -1, but must be at least 0 for {type(kernel).__name__}"
    ):
        kernel(np.array([[1.0, -1.0]]))
    with pytest.raises(ValueError, match="two dimensions"):
        kernel(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="NaN"):
        kernel(np.array([[1.0, np.nan]]))


def test_lists_are_bags_of_tokens_and_float_rows_of_other_set_kernels_name_the_kernels_on_rows():
    bags = [[0, 1, 1], [1, 1, 2]]
    np.testing.assert_allclose(mc.sets.MinMax()(bags), [[1, 0.5], [0.5, 1]])
    with pytest.raises(
        TypeError, match=r"row of numbers.*one array of all rows to .* mercer\.sets\.MinMax"
    ):
        mc.sets.Overlap()(np.array([[0.0, 1.0]]))


@pytest.mark.parametrize("inner", [mc.Gaussian(0.5), mc.Linear(), mc.Polynomial(2)], ids=repr)
def test_empty_bags_have_the_embedding_0(inner, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    bags = [rng.normal(size=(m, 2)) for m in (0, 3, 0, 1, 0)]
    kernel = MeanMap(inner)
    expected = [[inner(A, B).mean() if len(A) and len(B) else 0 for B in bags] for A in bags]
    np.testing.assert_allclose(kernel(bags), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(bags), np.diag(expected), atol=1e-12)
    np.testing.assert_array_equal(kernel(bags[:1], bags[2:3]), 0)
    columns = np.hstack([kernel(bags, [bag]) for bag in bags])
    np.testing.assert_allclose(columns, expected, atol=1e-12)
    assert MeanMap(mc.Gaussian("median")).resolve(bags) == MeanMap(mc.Gaussian("median")).resolve(
        [bags[1], bags[3]]
    )
