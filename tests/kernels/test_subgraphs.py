"""Numbers of subgraphs equal a search of all sets of nodes, for many graphs at once and for large ones."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.structured import random_graph

from mercer.kernels.subgraphs import count_subgraphs


def _degrees(adjacency, size):
    """Yield the sorted degrees of the subgraphs of all sets of nodes, which identify their form."""
    A = adjacency.toarray() * (1 - np.eye(adjacency.shape[0], dtype=int))
    for nodes in combinations(range(len(A)), size):
        yield tuple(sorted(A[np.ix_(nodes, nodes)].sum(axis=0).tolist()))


@pytest.mark.parametrize("size", [3, 4])
def test_numbers_are_those_of_all_sets_of_nodes(size, global_random_seed):
    graphs = [
        random_graph(global_random_seed + n, n, n * n // 2).adjacency for n in (2, 3, 5, 8, 9)
    ]
    found = count_subgraphs(graphs, size)
    for numbers, graph in zip(found, graphs, strict=True):
        forms = list(_degrees(graph, size))
        assert sorted(numbers[numbers > 0]) == sorted(map(forms.count, set(forms)))
        assert sum(numbers) == comb(graph.shape[0], size)


def test_numbers_beyond_64_bits_are_exact():
    n = 200_000
    edge = sp.csr_array((np.ones(2, np.int8), ([0, 1], [1, 0])), (n, n))
    [numbers] = count_subgraphs([edge], 4)
    assert sorted(numbers[numbers > 0]) == [comb(n - 2, 2), comb(n, 4) - comb(n - 2, 2)]
