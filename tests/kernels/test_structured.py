"""Features and loops that kernels on objects share: vocabularies, sparse products, threads, lists of points."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.inside import points_of, tile_of
from tests.reference.structured import STRINGS, WORDS

import mercer as mc
from mercer.gram import kept_product
from mercer.kernels.structured import (
    Features,
    Vocabulary,
    count_features,
    fill_pairs,
    inner_products,
    weigh_features,
)


def test_counted_features_are_the_counts_of_keys():
    features = count_features(["abca", "", "cc"])
    assert features.vocabulary == {"a": 0, "b": 1, "c": 2}
    np.testing.assert_array_equal(features.matrix.toarray(), [[2, 1, 1], [0, 0, 0], [0, 0, 2]])


def test_weighed_features_are_the_weights_of_keys():
    features = weigh_features([{"a": 0.5, "b": 2}, {}, {"b": 3.0}])
    np.testing.assert_array_equal(features.matrix.toarray(), [[0.5, 2], [0, 0], [0, 3]])


def test_features_of_two_blocks_are_compared_by_their_keys():
    X, Z = count_features(["abca", "d"]), count_features(["cb", "aad"])
    np.testing.assert_array_equal(inner_products(X, Z), [[2, 4], [0, 1]])
    np.testing.assert_array_equal(inner_products(Z, X), [[2, 0], [4, 1]])


def _random_features(seed, shape, density):
    matrix = sp.csr_array(sp.random(*shape, density, random_state=seed, format="csr"))
    matrix.sort_indices()
    return Features(matrix, Vocabulary.fromkeys(range(shape[1])))


@pytest.mark.parametrize("density", [0.01, 0.3], ids=["sparse", "dense"])
def test_products_are_those_of_matrices_and_symmetric_to_the_last_bit(density):
    X = _random_features(0, (60, 500), density)
    K = inner_products(X, X)
    np.testing.assert_allclose(K, (X.matrix @ X.matrix.T).toarray(), rtol=1e-13)
    np.testing.assert_array_equal(K, K.T)


def test_neither_tasks_nor_threads_change_a_product(limits):
    X = _random_features(0, (60, 500), 0.02)
    whole = inner_products(X, X)
    limits(steps_of_pairs=50)
    np.testing.assert_array_equal(inner_products(X, X), whole)
    tile = tile_of(list(range(7)))

    def fill(i, j, block):
        n, m = block.shape
        block[:] = np.subtract.outer(np.arange(i, i + n), np.arange(j, j + m)) ** 2

    for work in (1, 10, 1000):
        np.testing.assert_array_equal(
            fill_pairs(tile, work, fill), np.subtract.outer(np.arange(7), np.arange(7)) ** 2
        )


def test_features_are_computed_once_for_each_block_of_points():
    class Counted(mc.strings.Spectrum):
        def _compute_features(self, points):
            calls.append(len(points))
            return super()._compute_features(points)

    calls, kernel = [], Counted(1)
    phi = mc.features(kernel, ["ab", "b", "a"])
    phi.norms()
    phi.inner(phi)
    phi(["a"])
    phi(["b"])
    phi[:, [0, 2]].inner(phi)
    mc.Gram(kernel, phi.points)[[2, 0], 1:]
    assert calls == [3, 1, 1]


def test_points_taken_from_a_block_keep_its_features():
    words = ["gatta", "cat", "attac", "gag"]
    for kernel in (
        mc.strings.Spectrum(2),
        mc.strings.Subsequence(2),
        mc.strings.Mismatch(2, 1, "acgt"),
    ):
        G = mc.Gram(kernel, words)
        np.testing.assert_array_equal(G[[2, 0], 1:3], kernel(words)[[2, 0], 1:3])


def test_admitted_points_are_admitted_unchanged():
    kernel = mc.strings.Spectrum(1)
    points = kernel.admit([["a"], ("b", "c")], "X")
    assert points == [("a",), ("b", "c")]
    assert kernel.admit(points, "X") is points


@pytest.mark.parametrize(
    ("steps", "work", "sides"),
    [
        (50, 50, [1] * 7),
        (50, 12, [2, 2, 2, 1]),
        (50, 2, [5, 2]),
        (50, 1, [7]),
        (50, 0, [7]),
        (3, 50, [1] * 7),
    ],
)
def test_blocks_of_pairs_are_squares_of_so_many_steps(using_threads, steps, work, sides, limits):
    limits(steps_of_pairs=steps)
    blocks = []
    with using_threads(1):
        fill_pairs(
            SimpleNamespace(X=range(7), Z=[0] * 7),
            work,
            lambda i, j, block: blocks.append((i, j, block.shape)),
        )
    assert [shape[1] for i, _, shape in blocks if i == 0] == sides
    assert [shape[0] for _, j, shape in blocks if j == 0] == sides


def test_blocks_of_quick_pairs_have_at_most_1024_rows_and_columns(using_threads):
    shapes = []
    with using_threads(1):
        fill_pairs(
            SimpleNamespace(X=range(1500), Z=[0]), 1, lambda *args: shapes.append(args[2].shape)
        )
    assert shapes == [(1024, 1), (476, 1)]


COUNTED = {name: pair for name, pair in STRINGS.items() if pair[0].explicit}
NUMBERS = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
BLOCKS = COUNTED | {
    "algebra": (
        2 * mc.Normalized(mc.strings.Spectrum(2)) + mc.strings.Mismatch(3, 1, "acgt") + 0.5,
        WORDS,
    ),
    "columns": (
        mc.on_columns(mc.strings.Spectrum(1), 0)
        + mc.on_columns(mc.FeatureMap(lambda values: np.sin(values)[:, None]), 1),
        [[word, float(i)] for i, word in enumerate(WORDS)],
    ),
    "mapped": (
        mc.Mapped(mc.strings.Spectrum(2), lambda words: [word[::-1] for word in words]),
        WORDS,
    ),
    "sparse": (mc.FeatureMap(lambda rows: sp.csr_array(np.maximum(rows, 0))), NUMBERS),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_products_run_over_features_without_kernel_values(name, monkeypatch, costs):
    kernel, points = BLOCKS[name]
    some = points[:3]
    K, V = kernel(some, points), np.random.default_rng(0).standard_normal((len(points), 5))
    pieces = [slice(0, 1), slice(1, len(points))]
    expected = np.concatenate([K[:, piece] @ V[piece] for piece in pieces], axis=1)
    monkeypatch.setattr(type(tile_of(NUMBERS)), "__init__", None)
    np.testing.assert_allclose(mc.Gram(kernel, some, points) @ V, K @ V, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(mc.Expansion(kernel, points, V)(some), K @ V, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        kept_product(kernel, some, points_of(kernel.admit(points, "Z")), V, pieces),
        expected,
        rtol=1e-13,
        atol=1e-13,
    )
    # a few columns at a time
    costs(BLOCK=20)
    np.testing.assert_allclose(mc.Gram(kernel, some, points) @ V, K @ V, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [mc.Gaussian(1.0), mc.strings.Spectrum(2) ** 2, mc.strings.Subsequence(9) + 1.0],
    ids=str,
)
def test_kernels_without_features_say_so(kernel):
    assert not kernel.explicit
    with pytest.raises(NotImplementedError, match="has no explicit features"):
        mc.Gaussian(1.0).multiply(None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "mc.graphs.RandomWalk(0.1)([mc.graphs.Graph([[0, 1], [1, 0]])])",
        "mc.strings.Subsequence(2, 0.5)(['ab', 'ba'])",
        "mc.strings.Subsequence(9, 0.5)(['abcdefghij', 'bacdefghij'])",
        "mc.strings.WeightedDegree(2)(['ab', 'ba'])",
        "mc.sets.MinMax()([{'a': 1}])",
        "mc.sequences.GlobalAlignment(1.0)([[0.0, 1.0]])",
    ],
)
def test_a_first_call_compiles_no_text_of_errors(call, tmp_path):
    # for sums of parts of arrays Numba compiles the message of shapes that differ, which takes longer than the rest
    code = (
        "import mercer as mc\n"
        "from numba.core import event\n"
        "class Listener(event.Listener):\n"
        "    def on_start(self, data): print(data.data['dispatcher'].py_func.__module__)\n"
        "    def on_end(self, data): pass\n"
        "event.register('numba:compile', Listener())\n" + call
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    found = run.stdout.split()
    assert found
    assert "numba.cpython.unicode" not in found
