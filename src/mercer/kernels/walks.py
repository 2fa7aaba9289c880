"""Sums over common walks of pairs of graphs: compiled conjugate gradients on product graphs."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from mercer._common import EPS, ROUNDING, Array, record
from mercer._compute.compile import compiled
from mercer.kernels.structured import Coded, Joined


@record
class WalkGraphs:
    """Graphs of a block: the labels of the nodes of each graph, and the neighbours of each node of all graphs.

    Neighbours are counted from the first node of their graph.
    """

    labels: Coded
    neighbours: Joined
    directed: np.ndarray

    @classmethod
    def of(cls, graphs: Sequence[Any], labels: Iterable[Iterable[Hashable]]) -> Self:
        """Return graphs with the labels of their nodes."""
        directed = np.array([graph.directed for graph in graphs])
        return cls(Coded.of(labels), neighbours_of(graphs), directed)

    @property
    def means(self) -> list[float]:
        """Mean numbers of nodes and of neighbours of all nodes."""
        return [len(each.values) / len(self.directed) for each in (self.labels, self.neighbours)]

    def arrays(self, other: Self) -> tuple[Array, ...]:
        """Return ends, labels in the vocabulary of other graphs, ends and neighbours of nodes, and directions."""
        labels = self.labels.recoded(other.labels)
        near = self.neighbours
        return labels.ends, labels.values, near.ends, near.values, self.directed

    def take_rows(self, rows: Array | slice) -> Self:
        """Return some of the graphs."""
        nodes = (
            replace(self.labels, values=np.arange(len(self.labels.values))).take_rows(rows).values
        )
        return replace(
            self,
            labels=self.labels.take_rows(rows),
            neighbours=self.neighbours.take_rows(nodes),
            directed=self.directed[rows],
        )


def neighbours_of(graphs: Sequence[Any]) -> Joined:
    """Return the neighbours of each node of all graphs, by their numbers in their graph."""
    degrees = np.concatenate([np.diff(graph.adjacency.indptr) for graph in graphs])
    heads = np.concatenate([graph.adjacency.indices for graph in graphs]).astype(np.int64)
    return Joined(heads, np.append(0, np.cumsum(degrees)))


@compiled
def fill_walks(X, Z, decay, i0, j0, out):
    """Write the sums over common walks of graphs i0, i0 + 1, ... of X with j0, ... of Z to a block."""
    for i in range(out.shape[0]):
        left = _one(X, i0 + i)
        for j in range(out.shape[1]):
            right = _one(Z, j0 + j)
            rate = decay * _largest_degree(left[1]) * _largest_degree(right[1])
            if X[4][i0 + i] or Z[4][j0 + j]:
                out[i, j] = _solve_directed(left, right, decay, rate)
            else:
                out[i, j] = _conjugate_gradients(left, right, decay, rate)


@compiled
def _one(graphs, i):
    """Return labels, ends and columns of a graph."""
    starts, labels, ends, columns, _ = graphs
    return labels[starts[i] : starts[i + 1]], ends[starts[i] : starts[i + 1] + 1], columns


@compiled
def _largest_degree(ends):
    largest = 0
    for u in range(len(ends) - 1):
        largest = max(largest, ends[u + 1] - ends[u])
    return largest


@compiled
def _equal_labels(left, right):
    """Return the indicator of pairs of nodes with equal labels, and their number."""
    start = np.zeros((len(left[0]), len(right[0])))
    total = 0
    for u in range(start.shape[0]):
        for v in range(start.shape[1]):
            if left[0][u] == right[0][v]:
                start[u, v] = 1.0
                total += 1
    return start, total


@compiled
def _step(left, right, start, x, half, out):
    """Write W x to ``out``, the sums over pairs of neighbours with equal labels."""
    _, x_ends, x_columns = left
    _, z_ends, z_columns = right
    # entry by entry: for sums of rows Numba compiles the text of an error too, which takes many seconds
    for u in range(x.shape[0]):
        for v in range(x.shape[1]):
            half[u, v] = 0.0
        for e in range(x_ends[u], x_ends[u + 1]):
            for v in range(x.shape[1]):
                half[u, v] += x[x_columns[e], v]
    for u in range(x.shape[0]):
        for v in range(x.shape[1]):
            total = 0.0
            if start[u, v] > 0:
                for e in range(z_ends[v], z_ends[v + 1]):
                    total += half[u, z_columns[e]]
            out[u, v] = total


@compiled
def _combine(x, factor, z, out):
    for u in range(out.shape[0]):
        for v in range(out.shape[1]):
            out[u, v] = x[u, v] + factor * z[u, v]


@compiled
def _inner(x, z):
    total = 0.0
    for u in range(x.shape[0]):
        for v in range(x.shape[1]):
            total += x[u, v] * z[u, v]
    return total


@compiled
def _largest(x):
    largest = 0.0
    for u in range(x.shape[0]):
        for v in range(x.shape[1]):
            largest = max(largest, abs(x[u, v]))
    return largest


@compiled
def _solve_directed(left, right, decay, rate):
    """Return the sum of x = start + decay W x; rows of decay W add up to at most ``rate`` < 1."""
    start, pairs = _equal_labels(left, right)
    # a step has rounding of its own
    tolerance = ROUNDING * (1 - rate) + 4 * EPS
    x = _biconjugate_gradients(left, right, start, pairs, decay, tolerance)
    zero = np.zeros_like(start)
    half = np.empty_like(start)
    step = np.empty_like(start)
    rest = np.empty_like(start)
    _step(left, right, start, x, half, step)
    _combine(start, -1.0, x, rest)
    _combine(rest, decay, step, rest)
    if not _inner(rest, rest) <= pairs:
        # the method broke down, also with NaN
        x = zero
        rest = start.copy()
    total = _inner(start, x)
    # the rest adds decay^t W^t rest, whose largest entry shrinks by the rate at least
    while _largest(rest) * pairs > tolerance * total:
        total += _inner(start, rest)
        _step(left, right, start, rest, half, step)
        _combine(zero, decay, step, rest)
    return total


@compiled
def _biconjugate_gradients(left, right, start, pairs, decay, tolerance):
    """Return an approximate solution of x = start + decay W x by BiCGSTAB (van der Vorst 1992)."""
    x = np.zeros_like(start)
    direction = np.zeros_like(start)
    product = np.zeros_like(start)
    rest = start.copy()
    half = np.empty_like(start)
    step = np.empty_like(start)
    before = 1.0
    length = 1.0
    damping = 1.0
    for _ in range(10 * pairs + 10):
        along = _inner(start, rest)
        if damping == 0 or along == 0 or _largest(rest) * pairs <= tolerance * _inner(start, x):
            break
        _combine(direction, -damping, product, direction)
        _combine(rest, along / before * (length / damping), direction, direction)
        _step(left, right, start, direction, half, step)
        _combine(direction, -decay, step, product)
        curvature = _inner(start, product)
        if curvature == 0:
            break
        length = along / curvature
        before = along
        _combine(x, length, direction, x)
        _combine(rest, -length, product, rest)
        _step(left, right, start, rest, half, step)
        _combine(rest, -decay, step, step)
        square = _inner(step, step)
        damping = _inner(step, rest) / square if square > 0 else 0.0
        _combine(x, damping, rest, x)
        _combine(rest, -damping, step, rest)
    return x


@compiled
def _conjugate_gradients(left, right, decay, rate):
    """Return start' (I - decay W)^-1 start, for a symmetric W with |decay W| <= ``rate`` < 1."""
    start, pairs = _equal_labels(left, right)
    residual = start.copy()
    direction = start.copy()
    product = np.empty_like(start)
    half = np.empty_like(start)
    total = 0.0
    square = float(pairs)
    # after t steps the error of the sum is |residual|^2 at (I - decay W)^-1, at most |residual|^2 / (1 - rate)
    for _ in range(10 * pairs + 10):
        if square <= ROUNDING * (1 - rate) * total:
            break
        _step(left, right, start, direction, half, product)
        _combine(direction, -decay, product, product)
        length = square / _inner(direction, product)
        # start' x grows by |residual|^4 / curvature, as the directions are conjugate
        total += length * square
        _combine(residual, -length, product, residual)
        before = square
        square = _inner(residual, residual)
        _combine(residual, square / before, direction, direction)
    return total
