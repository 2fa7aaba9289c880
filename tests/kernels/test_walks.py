"""Flat arrays of graphs: parts of a block, and labels of two blocks."""

import numpy as np
from tests.reference.structured import DIRECTED, MOLECULES

import mercer as mc
from mercer.kernels.walks import WalkGraphs, fill_walks


def _flat(graphs):
    return WalkGraphs.of(graphs, [graph.labels for graph in graphs])


def test_parts_of_a_block_are_the_blocks_of_the_graphs():
    whole = _flat(MOLECULES + DIRECTED)
    for rows in (slice(2, 5), np.array([9, 0, 3])):
        part = whole.take_rows(rows)
        expected = _flat([(MOLECULES + DIRECTED)[i] for i in np.arange(13)[rows]])
        for got, wanted in ((part.labels, expected.labels), (part.neighbours, expected.neighbours)):
            np.testing.assert_array_equal(got.ends, wanted.ends)
        np.testing.assert_array_equal(part.neighbours.values, expected.neighbours.values)
        np.testing.assert_array_equal(part.directed, expected.directed)
        np.testing.assert_array_equal(
            part.labels.recoded(expected.labels).values, expected.labels.values
        )


def test_labels_of_two_blocks_are_compared_by_value():
    X, Z = _flat(MOLECULES), _flat(MOLECULES[::-1])
    np.testing.assert_array_equal(
        Z.labels.values[X.labels.recoded(Z.labels).values >= 0].size, X.labels.values.size
    )
    out = np.empty((2, 2))
    fill_walks(X.arrays(Z), Z.arrays(Z), 0.01, 0, 5, out)
    np.testing.assert_allclose(out, mc.graphs.RandomWalk(0.01)(MOLECULES)[:2, [1, 0]], rtol=1e-13)
