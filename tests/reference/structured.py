"""Kernels on strings, sets, graphs and sequences, with points that they take."""

import numpy as np

import mercer as mc

WORDS = ["gatta", "cat", "attac", "gag", "tt", "catgat", "g"]
ALIGNED = ["gatt", "cata", "atta", "gaga", "ttac", "cagg", "gcta"]
TOKENS = [(1, 2, 1), (2,), (1, 2, 3, 1, 2), (3, 3), (1, 1), (2, 3), (3, 1, 2)]

STRINGS = {
    "spectrum": (mc.strings.Spectrum(2), WORDS),
    "spectrum_of_bytes": (mc.strings.Spectrum(3), [word.encode() for word in WORDS]),
    "spectrum_of_tokens": (mc.strings.Spectrum(2), TOKENS),
    "blended": (mc.strings.BlendedSpectrum(3), WORDS),
    "mismatch": (mc.strings.Mismatch(3, 1, alphabet="acgt"), WORDS),
    "subsequence": (mc.strings.Subsequence(2, 0.7), WORDS),
    "weighted_degree": (mc.strings.WeightedDegree(3), ALIGNED),
    "words": (mc.strings.Words(analyzer="char", ngrams=(1, 2)), WORDS),
    "normalized": (mc.Normalized(mc.strings.Subsequence(1, 0.5)), WORDS),
}

MEMBERS = [frozenset(word) for word in ("abc", "b", "", "bcd", "ade", "abcdef", "f")]
MULTISETS = [
    {"a": 2, "b": 1},
    {"b": 0.5},
    {},
    {"a": 1, "c": 3},
    {"c": 1},
    {"a": 2, "b": 4, "c": 1},
    {"d": 1},
]
BAGS = [np.random.default_rng(i).random((1 + i % 4, 3)) for i in range(7)]

SETS = {
    "overlap": (mc.sets.Overlap(), MEMBERS),
    "tanimoto": (mc.sets.Tanimoto(), MEMBERS),
    "min_max": (mc.sets.MinMax(), MULTISETS),
    "mean_map": (mc.sets.MeanMap(mc.Gaussian(0.5)), BAGS),
    "mean_map_of_sum": (mc.sets.MeanMap(mc.Linear() + mc.Laplacian(0.5)), BAGS),
}


def random_graph(seed, n, edges, labels="CNO", directed=False):
    """Return a graph with random edges and labels."""
    rng = np.random.default_rng(seed)
    adjacency = np.zeros((n, n), int)
    pairs = rng.permutation([(i, j) for i in range(n) for j in range(n) if i != j])[:edges]
    adjacency[tuple(pairs.T)] = 1
    adjacency = adjacency if directed else np.maximum(adjacency, adjacency.T)
    return mc.graphs.Graph(adjacency, labels and list(rng.choice(list(labels), n)))


MOLECULES = [random_graph(i, n, n + i % 3) for i, n in enumerate([4, 6, 3, 5, 7, 2, 5])]
PLAIN = [random_graph(i, n, 2 * n, None) for i, n in enumerate([4, 6, 3, 5, 7, 5])]
DIRECTED = [
    random_graph(i, n, n + 2, "ab", directed=True) for i, n in enumerate([4, 6, 3, 5, 7, 5])
]


def with_vectors(graphs, seed=0):
    """Return graphs whose nodes have random vectors."""
    rng = np.random.default_rng(seed)
    return [
        mc.graphs.Graph(g.adjacency, g.labels, g.edge_labels, rng.normal(size=(len(g), 2)))
        for g in graphs
    ]


GRAPHS = {
    "weisfeiler_lehman": (mc.graphs.WeisfeilerLehman(3), MOLECULES),
    "weisfeiler_lehman_of_directed": (mc.graphs.WeisfeilerLehman(2), DIRECTED),
    "shortest_path": (mc.graphs.ShortestPath(), MOLECULES),
    "attributed_shortest_path": (
        mc.graphs.AttributedShortestPath(mc.Gaussian(0.5)),
        with_vectors(MOLECULES),
    ),
    "random_walk": (mc.graphs.RandomWalk(0.02), MOLECULES),
    "random_walk_of_directed": (mc.graphs.RandomWalk(0.02), DIRECTED),
    "graphlets": (mc.graphs.Graphlets(3), MOLECULES),
    "graphlets_of_four": (mc.graphs.Graphlets(4), PLAIN),
}

SERIES = [np.random.default_rng(i).normal(size=(3 + i, 2)) for i in range(6)]

SEQUENCES = {
    "alignment": (mc.sequences.GlobalAlignment(1.0), SERIES),
    "alignment_in_a_band": (mc.sequences.GlobalAlignment(1.0, band=4), SERIES),
    "alignment_unnormalized": (mc.sequences.GlobalAlignment(0.5, normalized=False), SERIES),
}

STRUCTURED = STRINGS | SETS | GRAPHS | SEQUENCES
