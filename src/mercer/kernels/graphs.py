"""Graph, and kernels on graphs: refined labels of nodes, shortest paths, small subgraphs, and common walks.

The points of a kernel are a list of ``Graph`` or of networkx graphs, whose nodes and edges have the attribute ``label``
or not, and nodes the attribute ``vector``. Kernels refuse labels of edges and vectors that they do not use. Edges have
no weights; networkx graphs with weights are refused.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property, partial
from operator import getitem
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from mercer._common import Array, ArrayLike, array_record, check_integer, check_positive, shown
from mercer._compute.points import Points, as_rows, owned
from mercer._compute.register import storable
from mercer._compute.tile import Tile
from mercer.kernels.base import ByContent, storable_kernel
from mercer.kernels.structured import (
    Coded,
    Counting,
    Joined,
    OverVectors,
    Paired,
    Vocabulary,
    add_up,
    ends_of,
    require_hashable,
    weigh_features,
)
from mercer.kernels.subgraphs import count_subgraphs
from mercer.kernels.walks import WalkGraphs, fill_walks, neighbours_of

# What to write for a list of edges.
_EDGES = (
    "kernels take a list of edges as networkx.Graph(edges), or as mercer.graphs.Graph(A), where A[i, j] = A[j, i] = 1 "
    "for each edge (i, j)"
)
# Above the number of labels of nodes.
_MARK = 1 << 40

__all__ = [
    "AttributedShortestPath",
    "Graph",
    "Graphlets",
    "RandomWalk",
    "ShortestPath",
    "WeisfeilerLehman",
]


@storable
@array_record
class Graph(ByContent):
    """Graph with numbered nodes, directed if its adjacency matrix is not symmetric; equal by content.

    Parameters
    ----------
    adjacency : array or sparse matrix (n, n)
        Entry (i, j) is 1 for an edge from node i to node j, otherwise 0. Rows are lists or arrays: tuples are refused,
        since two of them may be two edges.
    labels : sequence of n hashable objects, optional
        Labels of the nodes.
    edge_labels : mapping or sequence of hashable objects, optional
        Labels of the edges, ``{(i, j): label}``, for an undirected edge once, ``{}`` without edges; or one label for
        each entry of ``adjacency``, row by row.
    vectors : array (n, d), optional
        Vectors of the nodes, for `AttributedShortestPath`.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.graphs.Graph([[0, 1], [1, 0]], labels=["C", "O"])
    Graph(2 nodes, 1 edge, labelled)
    """

    adjacency: Any
    labels: ArrayLike | None = None
    edge_labels: Any = None
    vectors: ArrayLike | None = None

    def __post_init__(self) -> None:
        adjacency = self.adjacency
        if isinstance(adjacency, (list, tuple)) and any(type(row) is tuple for row in adjacency):
            raise TypeError(
                f"adjacency must be a matrix, whose rows are lists, got tuples; {_EDGES}."
            )
        adjacency = adjacency if sp.issparse(adjacency) else np.asarray(adjacency)
        if (
            adjacency.ndim != 2
            or adjacency.shape[0] != adjacency.shape[1]
            or adjacency.dtype.kind not in "fiub"
        ):
            raise ValueError(
                f"adjacency must be a square matrix of 0 and 1, got shape {adjacency.shape}, dtype {adjacency.dtype}; "
                f"{_EDGES}."
            )
        # a copy, since the next lines change its arrays in place
        adjacency = sp.csr_array(adjacency, copy=True)
        adjacency.sum_duplicates()
        other = adjacency.data[~np.isin(adjacency.data, (0, 1))]
        if len(other):
            raise ValueError(
                f"adjacency has the entry {other[0]}; entries must be 0 or 1, edges have no weights; {_EDGES}."
            )
        adjacency.eliminate_zeros()
        indices = adjacency.indices.astype(np.int32), adjacency.indptr.astype(np.int32)
        ones = np.ones(adjacency.nnz, np.int8)
        object.__setattr__(self, "adjacency", sp.csr_array((ones, *indices), adjacency.shape))
        labels = _as_labels(self.labels, "labels", len(self), "nodes")
        object.__setattr__(self, "labels", labels)
        marks = self.edge_labels
        marks = self._by_entry(marks) if isinstance(marks, Mapping) else marks
        marks = _as_labels(marks, "edge_labels", self.adjacency.nnz, "entries of adjacency")
        object.__setattr__(self, "edge_labels", marks)
        if self.vectors is not None:
            vectors = owned(as_rows(self.vectors, "vectors", np.float64))
            if len(vectors) != len(self):
                raise ValueError(
                    f"vectors has {len(vectors)} rows; there must be one for each of {len(self)} nodes."
                )
            object.__setattr__(self, "vectors", vectors)

    def _by_entry(self, marks):
        """Return the labels of edges, a mapping, in the order of the entries of the adjacency matrix."""
        rows, columns = self.adjacency.nonzero()
        entries = list(zip(rows.tolist(), columns.tolist(), strict=True))
        turned = {} if self.directed else {edge[::-1]: mark for edge, mark in marks.items()}
        marks = turned | dict(marks)
        wrong = set(marks) ^ set(entries)
        if wrong:
            raise ValueError(
                f"edge_labels must have a label for each edge and no other pair, but not at {min(wrong, key=repr)}."
            )
        return [marks[entry] for entry in entries]

    def __len__(self) -> int:
        return self.adjacency.shape[0]

    def __repr__(self) -> str:
        edges = self.adjacency.nnz
        if not self.directed:
            edges = (edges + int(self.adjacency.diagonal().sum())) // 2
        kind = ["directed"] * self.directed + ["labelled"] * (self.labels is not None)
        return f"Graph({', '.join([f'{len(self)} nodes', f'{edges} edge' + 's' * (edges != 1), *kind])})"

    @cached_property
    def directed(self) -> bool:
        """Whether an edge has no edge in the other direction."""
        return (self.adjacency != self.adjacency.T).nnz > 0


def _as_labels(labels, name, count, of):
    """Return labels as a tuple, or None, or raise unless they are ``count`` hashable objects in order."""
    if labels is None:
        return None
    if isinstance(labels, np.ndarray):
        if labels.ndim > 1:
            raise ValueError(
                f"{name} has the shape {labels.shape}; give one label for each of {count} {of}, and rows of numbers as "
                "vectors=."
            )
        labels = labels.tolist()
    # mappings have keys in place of labels, and sets have no order
    if not isinstance(labels, Iterable) or isinstance(labels, (Mapping, Set)):
        raise TypeError(
            f"{name} = {shown(labels)} must be a list with one label for each of {count} {of}, in order."
        )
    labels = tuple(labels)
    if len(labels) != count:
        raise ValueError(
            f"{name} has {len(labels)} entries; there must be one for each of {count} {of}."
        )
    require_hashable(labels, name)
    return labels


def _from_networkx(graph, name):
    """Return a networkx graph as a Graph, with the attributes ``label`` and ``vector`` of its nodes."""
    if graph.is_multigraph():
        raise TypeError(
            f"{name} is a {type(graph).__name__}, which may have parallel edges; give a simple graph."
        )
    number = {node: i for i, node in enumerate(graph.nodes)}
    nodes = graph.nodes(data=True)
    of_nodes = f"{name} has nodes", "node {} has none"
    labels = _attributes(nodes, "label", *of_nodes)
    require_hashable(labels.values(), f"labels of {name}")
    vectors = _attributes(nodes, "vector", *of_nodes)
    for a, b, data in graph.edges(data=True):
        if data.get("weight", 1) != 1:
            raise ValueError(
                f"{name} has an edge {shown(a)} - {shown(b)} of weight {shown(data['weight'])}; edges have no "
                "weights, remove the attribute 'weight'."
            )
    of_edges = {(number[a], number[b]): data for a, b, data in graph.edges(data=True)}
    marks = _attributes(
        of_edges.items(), "label", f"{name} has edges", "give all edges labels or none"
    )
    edges = np.array(list(of_edges), np.int64).reshape(-1, 2)
    if not graph.is_directed():
        edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    adjacency = sp.csr_array((np.ones(len(edges), np.int8), edges.T), (len(number), len(number)))
    return Graph(
        adjacency, list(labels.values()) or None, marks or None, list(vectors.values()) or None
    )


def _attributes(data, key, of, remedy):
    """Return an attribute of nodes or edges, of none if none has it; raise for some only."""
    found = {each: own[key] for each, own in data if key in own}
    missing = [each for each, _ in data if each not in found]
    if found and missing:
        raise ValueError(
            f"{of} with and without the attribute '{key}'; {remedy.format(shown(missing[0]))}."
        )
    return found


class _Graphs:
    """Mixin of kernels on graphs: validation."""

    _remedy = (
        "give all graphs labels and vectors of one kind, or none, and one without edges beside labels of edges as "
        "Graph(..., edge_labels={})"
    )
    _takes_edge_labels = False
    _takes_vectors = False

    def _checked(self, point, name):
        if all(hasattr(point, each) for each in ("nodes", "edges", "is_multigraph")):
            point = _from_networkx(point, name)
        if not isinstance(point, Graph):
            raise TypeError(
                f"{name} must be a mercer.graphs.Graph or a networkx graph, got type {type(point).__name__}; "
                f"{_EDGES}."
            )
        if not len(point):
            raise ValueError(
                f"{name} is an empty graph, of type {type(point).__name__} without nodes; remove it."
            )
        if point.edge_labels is not None and not self._takes_edge_labels:
            raise ValueError(
                f"{name} has labels of edges, which {type(self).__name__} does not use; use WeisfeilerLehman or "
                "ShortestPath, or put a node with this label on each edge."
            )
        if self._takes_vectors != (point.vectors is not None):
            raise ValueError(
                f"{name} has no vectors of nodes, which {type(self).__name__} needs; give Graph(vectors=), or use "
                "ShortestPath."
                if self._takes_vectors
                else f"{name} has vectors of nodes, which {type(self).__name__} does not use; use "
                "AttributedShortestPath, or give numbers of clusters of the vectors as labels."
            )
        return point

    def _kind(self, point):
        kind = f"a graph {'without' if point.labels is None else 'with'} labels"
        if point.edge_labels is not None:
            kind += " and with labels of edges"
        if point.vectors is not None:
            kind += f" and with vectors of {point.vectors.shape[1]} numbers"
        return kind


def _labels(graph):
    return graph.labels or (None,) * len(graph)


class _Edges(NamedTuple):
    """Edges of graphs whose nodes are numbered one after the other, sorted by tail and head, with their labels.

    Those of node u are ``ends[u]`` to ``ends[u + 1] - 1``.
    """

    ends: Array
    heads: Array
    labels: Coded

    @classmethod
    def of(cls, graphs: Sequence[Graph], starts: Array) -> Self:
        """Return the edges of graphs whose first nodes have some numbers; edges without labels have the label None."""
        near = neighbours_of(graphs)
        labels = Coded.of(
            graph.edge_labels or itertools.repeat(None, graph.adjacency.nnz) for graph in graphs
        )
        return cls(near.ends, near.values + np.repeat(starts[:-1], labels.sizes), labels)


@storable_kernel
class WeisfeilerLehman(_Graphs, Counting):
    """Weisfeiler-Lehman subtree kernel, the number of pairs of nodes with equal labels, summed over refinements.

    A refinement replaces the label of each node by itself with the multiset of the labels of its neighbours (successors
    in a directed graph), each with the label of the edge to it. Graphs without labels start with one label.

    Parameters
    ----------
    iterations : int
        Number of refinements, at least 0.

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn, Borgwardt, *Weisfeiler-Lehman graph kernels*, JMLR 12 (2011).

    Examples
    --------
    >>> import mercer as mc
    >>> path = mc.graphs.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> edge = mc.graphs.Graph([[0, 1], [1, 0]])
    >>> mc.graphs.WeisfeilerLehman(1)([path, edge])
    array([[14., 10.],
           [10.,  8.]])
    """

    _takes_edge_labels = True

    iterations: int = 5

    def __post_init__(self) -> None:
        check_integer("iterations", self.iterations, least=0)

    def _compute_features(self, points):
        levels = [Coded.of(map(_labels, points))]
        starts = levels[0].ends
        edges = _Edges.of(points, starts)
        ends = edges.ends.tolist()
        for _ in range(self.iterations):
            labels = levels[-1].values
            near = (labels[edges.heads] + edges.labels.values * _MARK).tolist()
            multisets = (tuple(sorted(near[a:b])) for a, b in itertools.pairwise(ends))
            levels.append(Coded.of([zip(labels.tolist(), multisets, strict=True)]))
        vocabulary = _Refined([each.vocabulary for each in levels], edges.labels.vocabulary)
        columns = np.stack([each.values for each in levels], axis=1) + vocabulary.ends[:-1]
        # the labels of a node are adjacent, so that those of a graph are
        coded = Coded(columns.ravel(), starts * len(levels), vocabulary)
        return add_up(np.ones(columns.size), coded)


class _Refined:
    """Columns of labels of all refinements; a label is a label before and the sorted labels of neighbours.

    A label of a neighbour is its column plus ``_MARK`` times the column of the label of the edge, in ``marks``.
    """

    def __init__(self, levels: list[Vocabulary], marks: Vocabulary) -> None:
        self.levels = levels
        self.marks = marks
        self.ends = ends_of(levels)

    def __len__(self) -> int:
        return self.ends[-1]

    def columns_of(self, other: Self) -> Array:
        """Return the column here of each column of another vocabulary; -1 for unknown labels."""
        columns = []
        before = []
        marks = (self.marks.columns_of(other.marks) * _MARK).tolist()
        for known, asked, start in zip(self.levels, other.levels, self.ends, strict=False):
            if columns:
                asked = [
                    (
                        before[own],
                        tuple(sorted([before[i % _MARK] + marks[i // _MARK] for i in near])),
                    )
                    for own, near in asked
                ]
            found = known.columns_of(asked)
            columns.append(np.where(found >= 0, found + start, -1))
            before = found.tolist()
        return np.concatenate(columns)


@storable_kernel
class ShortestPath(_Graphs, Counting):
    """Shortest-path kernel, the number of pairs of node pairs with equal labels and equal distances.

    The features are the numbers of ordered pairs of two nodes (u, v), by the label of u, the label of v and the number
    of edges of a shortest path from u to v, and by the label of the edge where the path has one. Pairs without a path
    are left out.

    References
    ----------
    Borgwardt, Kriegel, *Shortest-path kernels on graphs*, ICDM (2005).

    Examples
    --------
    >>> import mercer as mc
    >>> path = mc.graphs.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> edge = mc.graphs.Graph([[0, 1], [1, 0]])
    >>> mc.graphs.ShortestPath()([path, edge])
    array([[20.,  8.],
           [ 8.,  4.]])
    """

    _takes_edge_labels = True

    def _compute_features(self, points):
        found = _Paths.of(points)
        # one number for each label of the first node, label of the last, and path
        triples = (*found.labels.values[found.nodes].T, found.paths.values)
        keys = [list(each) for each in (found.labels.vocabulary,) * 2 + (found.paths.vocabulary,)]
        shape = tuple(map(len, keys))
        distinct, columns = np.unique(np.ravel_multi_index(triples, shape), return_inverse=True)
        places = np.stack(np.unravel_index(distinct, shape), axis=1).tolist()
        vocabulary = Vocabulary.of(tuple(map(getitem, keys, place)) for place in places)
        return add_up(np.ones(len(columns)), Coded(columns, found.paths.ends, vocabulary))


@storable_kernel
class AttributedShortestPath(_Graphs, OverVectors, Paired):
    r"""Shortest-path kernel of graphs whose nodes have vectors, with a kernel between these.

    .. math:: k(G, G') = \sum_{(u, v)} \sum_{(u', v')} [d(u, v) = d(u', v')] \, k(x_u, x_{u'}) \, k(x_v, x_{v'})

    over the ordered pairs of two nodes with a path. As in `ShortestPath`, which it equals for k = 1, labels of nodes
    have to be equal, and labels of edges where a path is one edge.

    Parameters
    ----------
    kernel : Kernel
        k, on the vectors ``Graph(vectors=)``. ``resolve`` replaces its rules by their numbers on those of all nodes.

    Notes
    -----
    O(n m (n + m)) for graphs of n and m nodes, and n m values of k.

    References
    ----------
    Borgwardt, Kriegel, *Shortest-path kernels on graphs*, ICDM (2005), with k for the kernel of nodes, and 1 for equal
    lengths.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> near, far = (mc.graphs.Graph([[0, 1], [1, 0]], vectors=[[0.0], [x]]) for x in (1.0, 3.0))
    >>> mc.graphs.AttributedShortestPath(mc.Gaussian(1.0))([near, far]).round(3)
    array([[2.271, 0.037],
           [0.037, 2.   ]])
    """

    _takes_edge_labels = True
    _takes_vectors = True

    def _checked(self, point, name):
        point = super()._checked(point, name)
        self.kernel.admit(point.vectors, f"{name}.vectors")
        return point

    def _vectors(self, point):
        return point.vectors

    def _compute_features(self, points):
        return _Paths.of(points)

    def _work(self, X, Z):
        sizes = [part.labels.sizes.mean() for part in (X, Z)]
        return sizes[0] * sizes[1] * sum(sizes)

    def _filler(self, X, Z):
        def fill(i, j, block):
            x = X.take_rows(slice(i, i + block.shape[0]))
            z = Z.take_rows(slice(j, j + block.shape[1])).recoded(X)
            K = self.kernel.evaluate(Tile(Points(x.vectors.values), Points(z.vectors.values), None))
            K = np.where(x.labels.values[:, None] == z.labels.values, K, 0.0)
            ends = (A @ K @ B.T for A, B in zip(x.adjacency, z.adjacency, strict=True))
            sums = np.add.reduceat(K * sum(ends), x.labels.ends[:-1], axis=0)
            block[:] = np.add.reduceat(sums, z.labels.ends[:-1], axis=1)

        return fill


class _Paths(NamedTuple):
    """Labels and vectors of the nodes of graphs, and the pairs of nodes with a path.

    ``pairs`` are the numbers of nodes within their graph, and ``paths`` the lengths of the paths, with the label of an
    edge.
    """

    labels: Coded
    vectors: Joined
    pairs: Joined
    paths: Coded

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Self:
        """Return the nodes and paths of a list of graphs."""
        labels = Coded.of(map(_labels, graphs))
        vectors = [
            np.empty((len(each), 0)) if each.vectors is None else each.vectors for each in graphs
        ]
        pairs = []
        lengths = []
        for graph in graphs:
            found = shortest_path(graph.adjacency, method="D", unweighted=True)
            pairs.append(np.argwhere((found > 0) & np.isfinite(found)))
            lengths.append(found[*pairs[-1].T])
        edges = _Edges.of(graphs, labels.ends)
        n_labels = len(edges.labels.vocabulary)
        codes = np.concatenate(lengths).astype(np.int64) * n_labels
        # pairs in the order of edges, of which loops are no paths
        tails = np.repeat(np.arange(len(labels.values)), np.diff(edges.ends))
        codes[codes == n_labels] += edges.labels.values[tails != edges.heads]
        distinct, codes = np.unique(codes, return_inverse=True)
        names = list(edges.labels.vocabulary)
        known = Vocabulary.of(
            (c // n_labels, names[c % n_labels] if c < 2 * n_labels else None)
            for c in distinct.tolist()
        )
        ends = ends_of(pairs)
        joined = Joined(np.concatenate(vectors), labels.ends)
        return cls(labels, joined, Joined(np.concatenate(pairs), ends), Coded(codes, ends, known))

    def take_rows(self, rows: Array | slice) -> "_Paths":
        """Return the nodes and paths of some of the graphs."""
        return _Paths(*(each.take_rows(rows) for each in self))

    def recoded(self, other: "_Paths") -> Self:
        """Return labels and paths in the vocabularies of other graphs."""
        return self._replace(
            labels=self.labels.recoded(other.labels), paths=self.paths.recoded(other.paths)
        )

    @property
    def nodes(self) -> Array:
        """The pairs by the numbers of nodes among those of all graphs."""
        return self.pairs.values + np.repeat(self.labels.ends[:-1], self.pairs.sizes)[:, None]

    @property
    def adjacency(self) -> list[Any]:
        """Sparse matrices of the pairs of nodes of all graphs, one for each kind of path."""
        n = len(self.labels.values)
        nodes = self.nodes
        kinds = (nodes[self.paths.values == k] for k in range(len(self.paths.vocabulary)))
        return [sp.csr_array((np.ones(len(pairs)), pairs.T), (n, n)) for pairs in kinds]


@storable_kernel
class Graphlets(_Graphs, Counting):
    """Graphlet kernel, the inner product of the numbers of subgraphs with ``size`` nodes, by their form.

    A subgraph is a set of nodes with all edges between them, connected or not; all are counted, without sampling.
    Labels and loops are not used, so labelled graphs may stand beside unlabelled ones. Graphs must be undirected.

    Parameters
    ----------
    size : {3, 4}
        Number of nodes of a subgraph.

    References
    ----------
    Shervashidze, Vishwanathan, Petri, Mehlhorn, Borgwardt, *Efficient graphlet kernels for large graph comparison*,
    AISTATS (2009).

    Examples
    --------
    >>> import mercer as mc
    >>> triangle = mc.graphs.Graph([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> path = mc.graphs.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> mc.graphs.Graphlets(3)([triangle, path])
    array([[1., 0.],
           [0., 1.]])
    """

    size: int = 3

    def __post_init__(self) -> None:
        check_integer("size", self.size, least=3)
        if self.size > 4:
            raise ValueError(
                f"size = {self.size} must be 3 or 4; larger subgraphs are not counted."
            )

    def _checked(self, point, name):
        point = super()._checked(point, name)
        if point.directed:
            raise ValueError(f"{name} is a directed graph; Graphlets takes undirected graphs.")
        return point

    def _kind(self, point):
        return "a graph"

    def _compute_features(self, points):
        counts = count_subgraphs([graph.adjacency for graph in points], self.size)
        return weigh_features([dict(enumerate(row)) for row in counts])


@storable_kernel
class RandomWalk(_Graphs, Paired):
    """Random-walk kernel, sum over t of decay^t times the number of pairs of walks with t edges and equal labels.

    Parameters
    ----------
    decay : float
        Positive, below 1 / (largest degree)^2 over all graphs, with successors counted in directed graphs. One number
        for all pairs: a number that depends on the pair gives an indefinite kernel.

    Notes
    -----
    A walk is a sequence of nodes joined by edges. The sum is that of all entries of (I - decay W)^-1, with the
    adjacency matrix W of the product graph, whose nodes are the pairs of nodes with equal labels. W is not formed: a
    step costs n_x edges_z + n_z edges_x, by conjugate gradients, or by biconjugate gradients for directed graphs. The
    relative error is below 1e-13, or about 1e-15 / (1 - decay degree^2) for a decay that is so near to its bound.

    References
    ----------
    van der Vorst, *Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG*, SIAM J. Sci. Stat. Comput. 13 (1992).
    Gaertner, Flach, Wrobel, *On graph kernels: hardness results and efficient alternatives*, COLT (2003).
    Vishwanathan, Schraudolph, Kondor, Borgwardt, *Graph kernels*, JMLR 11 (2010).

    Examples
    --------
    >>> import mercer as mc
    >>> edge = mc.graphs.Graph([[0, 1], [1, 0]])
    >>> mc.graphs.RandomWalk(0.5)([edge])                # 4 pairs of walks of every length: 4 / (1 - 0.5)
    array([[8.]])
    """

    decay: float

    def __post_init__(self) -> None:
        check_positive("decay", self.decay)

    def _checked(self, point, name):
        point = super()._checked(point, name)
        degree = int(np.diff(point.adjacency.indptr).max())
        if not self.decay * degree**2 < 1:
            raise ValueError(
                f"decay = {shown(self.decay)} must be below 1 / degree^2 = {1 / degree**2:.3g}: {name} has a node of "
                f"degree {degree}, and the sum over walks diverges; use one smaller decay for all graphs."
            )
        return point

    def _compute_features(self, points):
        return WalkGraphs.of(points, map(_labels, points))

    def _work(self, X, Z):
        n, x_edges = X.means
        m, z_edges = Z.means
        # about 20 steps of the iteration, of two operations each
        return 40 * (n * z_edges + m * x_edges + n * m)

    def _filler(self, X, Z):
        return partial(fill_walks, X.arrays(Z), Z.arrays(Z), float(self.decay))
