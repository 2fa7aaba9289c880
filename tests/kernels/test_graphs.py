"""Kernels on graphs equal their definitions, obey the laws of kernels, and refuse other objects by index and type."""

import itertools
import pickle
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.structured import (
    DIRECTED,
    GRAPHS,
    MOLECULES,
    PLAIN,
    random_graph,
    with_vectors,
)

import mercer as mc
from mercer.kernels.graphs import (
    AttributedShortestPath,
    Graph,
    Graphlets,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
)
from mercer.testing import check_expansion_laws, check_kernel_implementation

ALL = [WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.01), Graphlets(3)]
FAMILIES = {"labelled": MOLECULES, "plain": PLAIN, "directed": DIRECTED}


def _naive(features, graphs):
    counts = [
        features(graph.adjacency.toarray(), graph.labels or [0] * len(graph)) for graph in graphs
    ]
    return np.array(
        [[float(sum(n * z[key] for key, n in x.items())) for z in counts] for x in counts]
    )


def _refined(iterations):
    def features(A, labels):
        found = Counter(labels)
        for _ in range(iterations):
            labels = [
                (labels[i], tuple(sorted(map(repr, (labels[j] for j in np.flatnonzero(A[i]))))))
                for i in range(len(A))
            ]
            found.update(labels)
        return found

    return features


def _paths(A, labels):
    distances = np.where(A > 0, 1.0, np.inf)
    np.fill_diagonal(distances, 0)
    for k in range(len(A)):
        distances = np.minimum(distances, distances[:, [k]] + distances[[k], :])
    pairs = itertools.permutations(range(len(A)), 2)
    return Counter(
        (labels[i], labels[j], distances[i, j]) for i, j in pairs if np.isfinite(distances[i, j])
    )


def _subgraphs(size):
    def form(A, nodes):
        part = A[np.ix_(nodes, nodes)]
        return max(part[np.ix_(p, p)].tobytes() for p in itertools.permutations(range(size)))

    return lambda A, _: Counter(
        form(A, nodes) for nodes in itertools.combinations(range(len(A)), size)
    )


def _walks(decay, graphs):
    def pair(x, z):
        names = [each.labels or [0] * len(each) for each in (x, z)]
        pairs = [(u, v) for u in range(len(x)) for v in range(len(z)) if names[0][u] == names[1][v]]
        A, B = x.adjacency.toarray(), z.adjacency.toarray()
        W = np.array([[float(A[u, s] * B[v, t]) for s, t in pairs] for u, v in pairs]).reshape(
            len(pairs), len(pairs)
        )
        return np.linalg.solve(np.eye(len(W)) - decay * W, np.ones(len(W))).sum()

    return np.array([[pair(x, z) for z in graphs] for x in graphs])


@pytest.mark.parametrize("family", FAMILIES)
def test_counting_kernels_equal_their_definitions_exactly(family):
    graphs = FAMILIES[family]
    for iterations in (0, 1, 3):
        expected = _naive(_refined(iterations), graphs)
        np.testing.assert_array_equal(WeisfeilerLehman(iterations)(graphs), expected)
    np.testing.assert_array_equal(ShortestPath()(graphs), _naive(_paths, graphs))


@pytest.mark.parametrize("size", [3, 4])
def test_graphlets_equal_their_definition_exactly(size, global_random_seed):
    graphs = [
        random_graph(global_random_seed + i, n, 3 * n) for i, n in enumerate([2, 4, 5, 6, 7, 8, 9])
    ]
    np.testing.assert_array_equal(Graphlets(size)(graphs), _naive(_subgraphs(size), graphs))


def _exact_walks(decay, x, z):
    """Return the sum over walks by elimination in rational numbers."""
    W, decay = np.kron(x.adjacency.toarray(), z.adjacency.toarray()), Fraction(decay)
    rows = [
        [int(i == j) - decay * int(w) for j, w in enumerate(row)] + [Fraction(1)]
        for i, row in enumerate(W)
    ]
    for k, pivot in enumerate(rows):
        for i, row in enumerate(rows):
            if i != k and row[k]:
                factor = row[k] / pivot[k]
                rows[i] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    return float(sum(row[-1] / row[i] for i, row in enumerate(rows)))


CYCLE, CHAIN = Graph(np.roll(np.eye(3), 1, axis=1)), Graph(np.eye(4, k=1))
SPLIT = Graph([[0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0]])
RING = Graph([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])


@pytest.mark.parametrize("gap", [0.5, 1e-3, 1e-6, 1e-9])
def test_walks_of_a_decay_near_its_bound_have_the_stated_error(gap):
    for graphs, degree in (([CYCLE, CHAIN], 1), ([SPLIT, CYCLE, CHAIN, RING], 2)):
        decay = (1 - gap) / degree**2
        exact = [[_exact_walks(decay, x, z) for z in graphs] for x in graphs]
        np.testing.assert_allclose(RandomWalk(decay)(graphs), exact, rtol=1e-13 + 1e-15 / gap)
    # nine pairs of walks of every length
    np.testing.assert_allclose(RandomWalk(1 - gap)([CYCLE]), 9 / (1 - (1 - gap)), rtol=1e-13)


def test_a_decay_near_its_bound_takes_no_more_steps_than_there_are_pairs_of_nodes():
    cycles = [Graph(np.roll(np.eye(n), 1, axis=1)) for n in (30, 41)]
    RandomWalk(0.5)(cycles)
    start = time.perf_counter()
    K = RandomWalk(1 - 1e-9)(cycles)
    # a sum over all walks that count takes hours
    assert time.perf_counter() - start < 5
    np.testing.assert_allclose(K, np.outer([30, 41], [30, 41]) * 1e9, rtol=1e-6)


def test_graphlets_of_labelled_graphs_are_those_without_labels():
    plain = [Graph(graph.adjacency) for graph in MOLECULES]
    np.testing.assert_array_equal(Graphlets(3)(MOLECULES, plain), Graphlets(3)(plain))


def test_graphlets_of_four_are_all_found():
    complete = Graph(1 - np.eye(7, dtype=int))
    np.testing.assert_array_equal(Graphlets(4).diag([complete]), [35.0**2])
    loops = Graph(np.ones((7, 7), int))
    np.testing.assert_array_equal(Graphlets(4)([loops], [complete]), [[35.0**2]])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("share", [0.05, 0.6, 0.98])
def test_random_walks_equal_their_definition(family, share):
    graphs = FAMILIES[family]
    decay = share / max(np.diff(graph.adjacency.indptr).max() for graph in graphs) ** 2
    np.testing.assert_allclose(RandomWalk(decay)(graphs), _walks(decay, graphs), rtol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_kernel_on_graphs_obeys_the_laws_of_kernels_and_expansions(name):
    kernel, points = GRAPHS[name]
    check_kernel_implementation(kernel, points)
    check_expansion_laws(mc.features(kernel, points))


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_values_do_not_depend_on_the_numbers_of_nodes_or_the_other_graphs(kernel):
    order = np.array([2, 0, 3, 1])
    graph = random_graph(5, 4, 5)
    turned = Graph(graph.adjacency.toarray()[np.ix_(order, order)], np.array(graph.labels)[order])
    np.testing.assert_allclose(kernel([turned], MOLECULES), kernel([graph], MOLECULES), rtol=1e-13)
    single = [kernel([x], [z])[0, 0] for x in MOLECULES for z in MOLECULES]
    np.testing.assert_allclose(np.ravel(kernel(MOLECULES)), single, rtol=1e-13)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_graphs_of_networkx_have_the_values_of_their_matrices(kernel):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    made = []
    for graph in MOLECULES:
        other = networkx.from_scipy_sparse_array(graph.adjacency)
        networkx.set_node_attributes(other, dict(enumerate(graph.labels)), "label")
        made.append(other)
    np.testing.assert_array_equal(kernel(made), kernel(MOLECULES))


def test_values_are_those_of_grakel():
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    graphs = [
        grakel.Graph(each.adjacency.toarray().astype(float), dict(enumerate(each.labels)))
        for each in MOLECULES
    ]
    refined = grakel.WeisfeilerLehman(
        n_iter=3, base_graph_kernel=grakel.VertexHistogram
    ).fit_transform(graphs)
    np.testing.assert_array_equal(WeisfeilerLehman(3)(MOLECULES), refined)
    np.testing.assert_array_equal(
        ShortestPath()(MOLECULES), grakel.ShortestPath().fit_transform(graphs)
    )
    points = with_vectors(PLAIN)
    graphs = [
        grakel.Graph(each.adjacency.toarray().astype(float), dict(enumerate(each.vectors)))
        for each in points
    ]
    # the kernel of nodes of GraKeL is the inner product
    np.testing.assert_allclose(
        AttributedShortestPath(mc.Linear())(points),
        grakel.ShortestPathAttr().fit_transform(graphs),
        rtol=1e-12,
    )
    walks = grakel.RandomWalkLabeled(lamda=0.01, method_type="baseline").fit_transform(graphs)
    # walks without edges of GraKeL join all pairs of nodes
    sizes = np.array([len(each) for each in MOLECULES])
    unequal = np.outer(sizes, sizes) - WeisfeilerLehman(0)(MOLECULES)
    np.testing.assert_allclose(RandomWalk(0.01)(MOLECULES) + unequal, walks, rtol=1e-12)


class _View(dict):
    """Nodes or edges with their attributes, as networkx shows them."""

    def __call__(self, data):
        return [
            (*key, value) if isinstance(key, tuple) else (key, value) for key, value in self.items()
        ]


class _Networkx:
    """Graph with the part of the interface of networkx that is used."""

    def __init__(self, edges, labels, directed=False, multi=False):
        self._directed, self._multi = directed, multi
        self.nodes = _View(
            {node: {} if label is None else {"label": label} for node, label in labels.items()}
        )
        self.edges = _View(dict.fromkeys(edges, {}))

    def is_directed(self):
        return self._directed

    def is_multigraph(self):
        return self._multi


def test_nodes_and_labels_of_networkx_are_read():
    graph = _Networkx([("x", "y"), ("y", "z")], {"x": 1, "y": 2, "z": 1})
    [read] = ShortestPath().admit([graph], "X")
    assert read == Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], (1, 2, 1))
    [read] = ShortestPath().admit(
        [_Networkx([("x", "y")], {"y": None, "x": None}, directed=True)], "X"
    )
    assert read == Graph([[0, 0], [1, 0]])
    with pytest.raises(
        ValueError,
        match=r"X\[0\] has nodes with and without the attribute 'label'; node 'y' has none",
    ):
        ShortestPath()([_Networkx([("x", "y")], {"x": 1, "y": None})])
    with pytest.raises(TypeError, match=r"X\[0\] is a _Networkx, which may have parallel edges"):
        ShortestPath()([_Networkx([], {}, multi=True)])
    with pytest.raises(ValueError, match=r"X\[0\] is an empty graph"):
        ShortestPath()([_Networkx([], {})])


def test_weights_and_some_labels_of_edges_of_networkx_are_refused():
    graph = _Networkx([("x", "y"), ("y", "z")], dict.fromkeys("xyz"))
    graph.edges["x", "y"] = {"weight": 1.0, "colour": "red"}
    assert ShortestPath()([graph]) == [[20]]
    graph.edges["y", "z"] = {"weight": 2.5}
    with pytest.raises(
        ValueError, match=r"X\[1\] has an edge 'y' - 'z' of weight 2.5; edges have no weights"
    ):
        ShortestPath()([EDGE, graph])
    graph.edges["y", "z"] = {"label": "double"}
    with pytest.raises(
        ValueError, match=r"X\[0\] has edges with and without the attribute 'label'"
    ):
        WeisfeilerLehman(1)([graph])


def _with_edge_labels(graph, rng):
    """Return a graph with labels of its edges, the same in both directions of an undirected one."""
    A = graph.adjacency.toarray()
    marks = np.array(["single", 2, None], object)[rng.integers(3, size=A.shape)]
    i, j = np.nonzero(A)
    if not graph.directed:
        i, j = np.minimum(i, j), np.maximum(i, j)
    labels = {(int(a), int(b)): marks[a, b] for a, b in zip(i, j, strict=True)}
    return Graph(graph.adjacency, graph.labels, labels), labels


@pytest.mark.parametrize("family", FAMILIES)
def test_refinements_with_labels_of_edges_are_those_of_their_definition(family, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    graphs, marks = zip(*(_with_edge_labels(each, rng) for each in FAMILIES[family]), strict=True)

    def counts(graph, marks):
        A = graph.adjacency.toarray()
        labels = graph.labels or [0] * len(graph)
        found = Counter(labels)
        for _ in range(3):
            # strings keep what a label was made of
            labels = [
                repr(
                    (
                        labels[i],
                        sorted(
                            repr((marks.get((i, j), marks.get((j, i))), labels[j]))
                            for j in map(int, np.flatnonzero(A[i]))
                        ),
                    )
                )
                for i in range(len(A))
            ]
            found.update(labels)
        return found

    features = list(map(counts, graphs, marks))
    expected = [[sum(n * z[key] for key, n in x.items()) for z in features] for x in features]
    kernel = WeisfeilerLehman(3)
    np.testing.assert_array_equal(kernel(list(graphs)), expected)
    # blocks with vocabularies of their own
    np.testing.assert_array_equal(
        kernel(list(graphs[:3]), list(graphs[2:])), np.array(expected)[:3, 2:]
    )


def _joined(graph, marks):
    """Return the pairs of nodes with a path, by length and label of an edge, by Floyd's algorithm."""
    A = graph.adjacency.toarray()
    distances = np.where(A > 0, 1.0, np.inf)
    np.fill_diagonal(distances, 0)
    for k in range(len(A)):
        distances = np.minimum(distances, distances[:, [k]] + distances[[k], :])
    return {
        (u, v): (distances[u, v], marks.get((u, v), marks.get((v, u))) if A[u, v] else None)
        for u, v in itertools.permutations(range(len(A)), 2)
        if np.isfinite(distances[u, v])
    }


def _sum_over_paths(graphs, marks, inner):
    """Return the sums over pairs of pairs of nodes with equal labels and paths, one by one."""
    paths = list(map(_joined, graphs, marks))

    def pair(i, j):
        names = [each.labels or [0] * len(each) for each in (graphs[i], graphs[j])]
        return sum(
            inner(i, a, j, c) * inner(i, b, j, d)
            for (a, b), one in paths[i].items()
            for (c, d), other in paths[j].items()
            if one == other and names[0][a] == names[1][c] and names[0][b] == names[1][d]
        )

    return np.array([[pair(i, j) for j in range(len(graphs))] for i in range(len(graphs))])


@pytest.mark.parametrize("family", FAMILIES)
def test_paths_with_labels_of_edges_are_those_of_their_definition(family, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    graphs, marks = zip(*(_with_edge_labels(each, rng) for each in FAMILIES[family]), strict=True)
    expected = _sum_over_paths(graphs, marks, lambda *_: 1)
    np.testing.assert_array_equal(ShortestPath()(list(graphs)), expected)
    # blocks with vocabularies of their own
    np.testing.assert_array_equal(
        ShortestPath()(list(graphs[:3]), list(graphs[2:])), expected[:3, 2:]
    )


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.7), mc.Linear(), mc.Laplacian(0.3)], ids=repr)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("marked", [False, True], ids=["plain edges", "labels of edges"])
def test_paths_between_vectors_are_sums_of_products_of_values_at_their_ends(
    kernel, family, marked, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    graphs = FAMILIES[family]
    marks = [{}] * len(graphs)
    if marked:
        graphs, marks = zip(*(_with_edge_labels(each, rng) for each in graphs), strict=True)
    graphs = with_vectors(graphs, global_random_seed)

    def inner(i, a, j, b):
        x, z = graphs[i].vectors[a], graphs[j].vectors[b]
        if isinstance(kernel, mc.Linear):
            return x @ z
        if isinstance(kernel, mc.Laplacian):
            return np.exp(-0.3 * np.abs(x - z).sum())
        return np.exp(-0.7 * np.sum((x - z) ** 2))

    expected = _sum_over_paths(graphs, marks, inner)
    found = AttributedShortestPath(kernel)
    np.testing.assert_allclose(found(graphs), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        found(graphs[:3], graphs[2:]), expected[:3, 2:], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(found.diag(graphs), np.diag(expected), rtol=1e-12, atol=1e-12)
    assert found.tags.positive_semidefinite
    assert mc.check_kernel(found, graphs).positive_semidefinite


@pytest.mark.parametrize("family", FAMILIES)
def test_paths_between_equal_vectors_of_length_1_are_those_between_labels(family):
    graphs = FAMILIES[family]
    same = [Graph(g.adjacency, g.labels, vectors=np.ones((len(g), 1))) for g in graphs]
    np.testing.assert_array_equal(AttributedShortestPath(mc.Linear())(same), ShortestPath()(graphs))


def test_rules_of_a_kernel_of_vectors_are_those_of_the_vectors_of_all_nodes():
    graphs = with_vectors(PLAIN)
    vectors = np.concatenate([each.vectors for each in graphs])
    found = AttributedShortestPath(mc.Gaussian("median")).resolve(graphs)
    assert found.kernel == mc.Gaussian("median").resolve(vectors)
    weights = np.arange(1, 1 + len(graphs))
    repeated = [graph for graph, weight in zip(graphs, weights, strict=True) for _ in range(weight)]
    for rule in ("scale", "median"):
        kernel = AttributedShortestPath(mc.Gaussian(rule))
        found = kernel.resolve(graphs, weights.astype(float)).kernel.gamma
        assert found == pytest.approx(kernel.resolve(repeated).kernel.gamma, rel=1e-12)


def test_a_classifier_of_graphs_with_vectors_is_the_one_of_their_kernel_matrix(
    tmp_path, global_random_seed
):
    graphs = with_vectors(MOLECULES + MOLECULES[::-1], global_random_seed)
    y = [0, 1] * len(MOLECULES)
    model = mc.SVC(kernel=AttributedShortestPath(mc.Gaussian("median"))).fit(graphs, y)
    K = model.kernel_(graphs)
    matrix = mc.SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(graphs), matrix.decision_function(K), atol=1e-6
    )
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "model").decision_function(graphs), model.decision_function(graphs)
    )


def test_vectors_of_nodes_belong_to_the_content_of_a_graph_and_are_not_shared():
    A = [[0, 1], [1, 0]]
    given = np.array([[0.0], [1.0]], np.float32)
    graph = Graph(A, vectors=given)
    assert graph == Graph(A, vectors=[[0], [1]])
    assert hash(graph) == hash(Graph(A, vectors=[[0], [1]]))
    assert graph != Graph(A)
    assert graph != Graph(A, vectors=[[0], [2]])
    given[0] = 5
    assert graph.vectors.tolist() == [[0.0], [1.0]]


def test_vectors_of_networkx_are_read():
    graph = _Networkx([("x", "y")], dict.fromkeys("xy"))
    graph.nodes["x"] = {"vector": np.array([1.0, 2.0])}
    graph.nodes["y"] = {"vector": [3.0, 4.0]}
    [read] = AttributedShortestPath(mc.Linear()).admit([graph], "X")
    assert read == Graph([[0, 1], [1, 0]], vectors=[[1.0, 2.0], [3.0, 4.0]])
    graph.nodes["y"] = {}
    with pytest.raises(ValueError, match="attribute 'vector'; node 'y' has none"):
        AttributedShortestPath(mc.Linear())([graph])


def test_vectors_that_kernels_do_not_take_are_named_with_the_kernel_that_does():
    A = [[0, 1], [1, 0]]
    graph = Graph(A, vectors=[[0.0], [-1.0]])
    for kernel in ALL:
        with pytest.raises(ValueError, match="does not use; use AttributedShortestPath, or give"):
            kernel([graph])
    with pytest.raises(ValueError, match=r"has no vectors of nodes, which AttributedShortestPath"):
        AttributedShortestPath(mc.Linear())([Graph(A)])
    with pytest.raises(ValueError, match=r"X\[1\] is a graph .* with vectors of 2 numbers"):
        AttributedShortestPath(mc.Linear())([graph, Graph(A, vectors=np.eye(2))])
    with pytest.raises(
        ValueError, match=r"X\[0\].vectors\[1, 0\] = -1 must be at least 0 for Chi2"
    ):
        AttributedShortestPath(mc.Chi2(1.0))([graph])
    with pytest.raises(ValueError, match="vectors has 1 rows; there must be one for each of 2"):
        Graph(A, vectors=[[0.0]])
    with pytest.raises(ValueError, match=r"labels has the shape \(2, 2\); .* as vectors=."):
        Graph(A, np.eye(2))
    with pytest.raises(TypeError, match="kernel of AttributedShortestPath must be a Kernel"):
        AttributedShortestPath(1.0)


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), ShortestPath()], ids=repr)
@pytest.mark.parametrize("family", FAMILIES)
def test_equal_labels_of_all_edges_change_nothing(family, kernel):
    graphs = FAMILIES[family]
    marked = [Graph(g.adjacency, g.labels, ["x"] * g.adjacency.nnz) for g in graphs]
    np.testing.assert_array_equal(kernel(marked), kernel(graphs))
    assert marked[0] != graphs[0]
    assert marked[0] == Graph(graphs[0].adjacency, graphs[0].labels, marked[0].edge_labels)


def test_labels_of_edges_of_networkx_are_read():
    graph = _Networkx([("x", "y"), ("y", "z")], dict.fromkeys("xyz"))
    for edge, label in zip(graph.edges, ("single", "double"), strict=True):
        graph.edges[edge] = {"label": label}
    same = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], None, {(0, 1): "single", (2, 1): "double"})
    turned = Graph(
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]], None, ["double", "double", "single", "single"]
    )
    K = WeisfeilerLehman(1)([graph, same, turned])
    # 9 pairs of nodes, and three nodes with labels of their own
    np.testing.assert_array_equal(K, np.full((3, 3), 12))


def test_labels_of_edges_that_fit_no_edges_and_kernels_that_use_none_are_named():
    A = [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match=r"label for each edge and no other pair.* \(0, 0\)"):
        Graph(A, None, {(0, 1): "a", (0, 0): "b"})
    with pytest.raises(
        ValueError, match="edge_labels has 1 entries; there must be one for each of 2"
    ):
        Graph(A, None, ["a"])
    marked = Graph(A, None, {(0, 1): "a"})
    for kernel in ALL[2:]:
        with pytest.raises(ValueError, match=r"X\[0\] has labels of edges, which .* does not use"):
            kernel([marked])
    with pytest.raises(ValueError, match="give all graphs labels and vectors of one kind, or none"):
        WeisfeilerLehman(1)([marked, Graph(A)])


def test_a_graph_without_edges_stands_beside_labels_of_edges():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    bond = networkx.Graph()
    bond.add_nodes_from(range(2), label="C")
    bond.add_edge(0, 1, label="double")
    atom = networkx.Graph()
    atom.add_node(0, label="C")
    with pytest.raises(ValueError, match=r"X\[1\] is a graph with labels, .* edge_labels=\{\}"):
        WeisfeilerLehman(1)([bond, atom])
    atom = Graph([[0]], ["C"], edge_labels={})
    # labels before refinement: two nodes and one; after it two equal nodes with a neighbour, and one without
    expected = [[4 + 4, 2], [2, 1 + 1]]
    np.testing.assert_array_equal(WeisfeilerLehman(1)([bond, atom]), expected)
    np.testing.assert_array_equal(WeisfeilerLehman(1)([bond], [atom]), [[2]])
    np.testing.assert_array_equal(ShortestPath()([atom, bond]), [[0, 0], [0, 4]])


def test_labels_of_networkx_that_cannot_be_hashed_are_named():
    with pytest.raises(
        TypeError, match=r"labels of X\[1\]\[0\] must be hashable, got \[1\] of type list"
    ):
        ShortestPath()([EDGE, _Networkx([], {"x": [1]})])


def test_graphs_are_equal_by_content():
    adjacency = np.array([[0, 1], [1, 0]])
    graph = Graph(adjacency, ["a", "b"])
    assert graph == Graph(sp.coo_matrix(adjacency.astype(bool)), np.array(["a", "b"]))
    assert hash(graph) == hash(Graph(adjacency.astype(float), ("a", "b")))
    assert graph != Graph(adjacency)
    assert graph != "graph"
    assert not graph.directed
    assert Graph([[0, 1], [0, 0]]).directed
    assert repr(Graph([[1, 1], [0, 0]])) == "Graph(2 nodes, 2 edges, directed)"
    assert repr(Graph([[1, 1], [1, 0]])) == "Graph(2 nodes, 2 edges)"


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix], ids=lambda make: make.__name__)
def test_the_matrix_of_the_caller_is_neither_changed_nor_shared(make):
    # rows in no order, with a stored zero
    given = np.array([1.0, 0.0, 1.0, 1.0]), np.array([2, 1, 0, 1]), np.array([0, 2, 2, 4])
    for array in given:
        array.flags.writeable = False
    matrix = make(given, (3, 3))
    graph = Graph(matrix)
    for kept, array in zip((matrix.data, matrix.indices, matrix.indptr), given, strict=True):
        np.testing.assert_array_equal(kept, array)
    assert graph == Graph(matrix.toarray())
    changed = matrix.copy()
    before = Graph(changed)
    changed.data[:] = 0
    assert before == graph


EDGE = Graph([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Graph([[0, 1]]), ValueError, r"adjacency must be a square matrix.*shape \(1, 2\)"),
        (lambda: Graph([["a"]]), ValueError, "adjacency must be a square matrix.*dtype <U1"),
        (
            lambda: Graph([[0, 2.5], [2.5, 0]]),
            ValueError,
            "adjacency has the entry 2.5; entries must be 0 or 1",
        ),
        (lambda: Graph([[0, np.nan], [0, 0]]), ValueError, "adjacency has the entry nan"),
        (
            lambda: Graph([[0]], ["a", "b"]),
            ValueError,
            "labels has 2 entries; there must be one for each of 1 nodes",
        ),
        (
            lambda: Graph(np.eye(2), 5),
            TypeError,
            "labels = 5 must be a list with one label for each of 2 nodes",
        ),
        (
            lambda: Graph(np.eye(2), np.array(5)),
            TypeError,
            "labels = 5 must be a list with one label for each of 2",
        ),
        (
            lambda: Graph(np.eye(2), {0: "C", 1: "O"}),
            TypeError,
            "labels = {0: 'C', 1: 'O'} must be a list .* in order",
        ),
        (
            lambda: Graph(np.eye(2), {"C", "O"}),
            TypeError,
            "labels = {.*} must be a list .* in order",
        ),
        (lambda: Graph([[0]], [["a"]]), TypeError, r"labels\[0\] must be hashable"),
        (
            lambda: ShortestPath()([EDGE, np.eye(2)]),
            TypeError,
            r"X\[1\] must be a mercer.graphs.Graph.*type ndarray",
        ),
        (
            lambda: ShortestPath()([EDGE, "ab"]),
            TypeError,
            r"X\[1\] must be a mercer.graphs.Graph.*type str",
        ),
        (lambda: ShortestPath()([EDGE, None]), (TypeError, ValueError), r"X\[1\].*None"),
        (
            lambda: ShortestPath()([EDGE, Graph(np.zeros((0, 0)))]),
            ValueError,
            r"X\[1\] is an empty graph, of type Gr",
        ),
        (
            lambda: ShortestPath()(EDGE),
            TypeError,
            "X must be an array or a list of points, got Graph",
        ),
        (
            lambda: ShortestPath()([EDGE, MOLECULES[0]]),
            ValueError,
            r"X\[1\] is a graph with labels, but X\[0\] is",
        ),
        (
            lambda: ShortestPath()([EDGE], MOLECULES),
            ValueError,
            r"X\[0\] is a graph without labels, but Z\[0\] is",
        ),
        (
            lambda: mc.Gram(ShortestPath(), [EDGE], MOLECULES) @ np.ones(7),
            ValueError,
            r"X\[0\] is .*, but Z\[0\] is",
        ),
        (
            lambda: RandomWalk(0.25)([EDGE, PLAIN[0]]),
            ValueError,
            r"decay = 0.25 must be below .* X\[1\] has a node of",
        ),
        (
            lambda: RandomWalk(1.0)([EDGE]),
            ValueError,
            "decay = 1.0 must be below 1 / degree.2 = 1:",
        ),
        (lambda: RandomWalk(0.0), ValueError, "decay = 0.0 must be above 0"),
        (lambda: Graphlets(5), ValueError, "size = 5 must be 3 or 4"),
        (lambda: Graphlets(3)(DIRECTED), ValueError, r"X\[0\] is a directed graph"),
        (lambda: WeisfeilerLehman(-1), ValueError, "iterations = -1 must be at least 0"),
    ],
)
def test_what_is_no_graph_is_refused_by_index_and_type(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_graphs_without_edges_and_with_unknown_labels_are_points():
    single, pair = Graph([[0]], ["C"]), Graph([[0, 1], [1, 0]], ["Si", "Si"])
    for kernel in (WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.5), Graphlets(4)):
        assert np.isfinite(kernel([single, pair])).all()
    np.testing.assert_array_equal(WeisfeilerLehman(1)([pair], MOLECULES), 0)
    np.testing.assert_array_equal(RandomWalk(0.01)([pair], MOLECULES), 0)
    np.testing.assert_array_equal(RandomWalk(0.5)([single]), [[1]])


def test_a_value_that_a_pickle_of_an_earlier_version_holds_hides_no_method():
    graph = Graph([[0, 1], [1, 0]])
    # that version kept its content there
    vars(graph)["_content"] = 2, b"", b"", None, None, None
    read = pickle.loads(pickle.dumps(graph))
    assert read == graph == Graph([[0, 1], [1, 0]])
    assert hash(read) == hash(Graph([[0, 1], [1, 0]]))
