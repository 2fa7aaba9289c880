"""Exact numbers of the subgraphs of three or four nodes of undirected graphs, by their form."""

import itertools
from functools import cache
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array


def count_subgraphs(adjacencies: list[Any], size: int) -> Array:
    """Return the numbers (n, forms) of sets of 3 or 4 nodes of each graph by the form of their subgraph.

    ``adjacencies`` are matrices of 0 and 1 in CSR; loops do not count. The numbers are Python integers.
    """
    return (
        _contained(size) @ {3: _count_three, 4: _count_four}[size](_Neighbourhoods(adjacencies))
    ).T


# Edges of all graphs of 3 and of 4 nodes; their sorted degrees identify them.
_FORMS = {
    3: ["", "01", "01 12", "01 12 02"],
    4: ["", "01", "01 23", "01 12", "01 02 03", "01 12 23", "01 12 02", "01 12 23 03", "01 12 02 03", "01 12 23 03 02",
        "01 12 23 03 02 13"],
}  # fmt: skip


@cache
def _contained(size):
    """Return the matrix from the numbers of subgraphs with at least the edges of each form to those with just these."""

    def degrees(edges):
        return sorted("".join(edges).count(str(node)) for node in range(size))

    forms = [form.split() for form in _FORMS[size]]
    known = list(map(degrees, forms))
    copies = np.zeros((len(forms), len(forms)))
    for j, form in enumerate(forms):
        for m in range(len(form) + 1):
            for edges in itertools.combinations(form, m):
                copies[known.index(degrees(edges)), j] += 1
    # whole numbers of any size: 1 on the diagonal, 0 below
    return np.rint(np.linalg.inv(copies)).astype(np.int64).astype(object)


class _Neighbourhoods:
    """Numbers of neighbours and common neighbours of the nodes of several graphs without loops, as exact integers."""

    def __init__(self, adjacencies: list[Any]) -> None:
        self.sizes = np.array([len(each.indptr) - 1 for each in adjacencies], object)
        self.starts = np.cumsum([0, *self.sizes], dtype=np.int64)
        joined = sp.block_diag(adjacencies, format="csr").astype(np.int64)
        self.adjacency = sp.csr_array(sp.triu(joined, 1) + sp.tril(joined, -1))
        self.degrees = np.diff(self.adjacency.indptr).astype(object)
        self.common = self.adjacency @ self.adjacency
        # common neighbours of the ends of each edge; half a row is the number of triangles at a node
        self.at_edges = self.common * self.adjacency
        self.triangles_at = _row_sums(self.at_edges) // 2
        # of each graph
        self.edges = self.add(self.degrees) // 2
        self.triangles = self.add(self.triangles_at) // 3

    def add(self, values: Array) -> Array:
        """Return the sums over the nodes of each graph."""
        return np.add.reduceat(values, self.starts[:-1])


def _row_sums(matrix):
    return np.asarray(matrix.sum(axis=1)).ravel().astype(object)


def _choose(n, k):
    """Return the binomial coefficients of an array of Python integers."""
    return np.array([comb(each, k) for each in n], object)


def _count_three(near):
    """Return the numbers of sets of three nodes with at least the edges of each form, for each graph."""
    n = near.sizes
    return np.array(
        [_choose(n, 3), near.edges * (n - 2), near.add(_choose(near.degrees, 2)), near.triangles]
    )


def _count_four(near):
    """Return the numbers of sets of four nodes with at least the edges of each form, for each graph."""
    n = near.sizes
    d = near.degrees
    m = near.edges
    triangles = near.triangles
    wedges, stars = (near.add(_choose(d, k)) for k in (2, 3))
    paths = near.add((d - 1) * (near.adjacency @ (d - 1).astype(np.int64))) // 2 - 3 * triangles
    sparse = [
        _choose(n, 4),
        m * _choose(np.maximum(n - 2, 0), 2),
        _choose(m, 2) - wedges,
        wedges * (n - 3),
        stars,
        paths,
    ]
    # pairs of common neighbours, of two nodes for squares and of the ends of an edge for diamonds
    pairs = near.common.copy()
    at_edges = near.at_edges.copy()
    for matrix in (pairs, at_edges):
        matrix.data = matrix.data * (matrix.data - 1) // 2
    squares = near.add(_row_sums(pairs) - _choose(d, 2)) // 4
    paws = near.add(near.triangles_at * (d - 2))
    diamonds = near.add(_row_sums(at_edges)) // 2
    return np.array([*sparse, triangles * (n - 3), squares, paws, diamonds, _count_complete(near)])


def _count_complete(near):
    """Return the numbers of complete subgraphs of four nodes; each is found at its six edges."""
    adjacency = near.adjacency
    found = np.zeros(len(near.sizes), object)
    rows = [set(part.tolist()) for part in np.split(adjacency.indices, adjacency.indptr[1:-1])]
    graphs = np.repeat(np.arange(len(near.sizes)), near.sizes.astype(np.int64)).tolist()
    for u, v in zip(*(part.tolist() for part in sp.triu(near.at_edges, 1).nonzero()), strict=True):
        both = rows[u] & rows[v]
        found[graphs[u]] += sum(len(rows[w] & both) for w in both) // 2
    return found // 6
