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
MULTISETS = [{"a": 2, "b": 1}, {"b": 0.5}, {}, {"a": 1, "c": 3}, {"c": 1}, {"a": 2, "b": 4, "c": 1}, {"d": 1}]
BAGS = [np.random.default_rng(i).random((1 + i % 4, 3)) for i in range(7)]

SETS = {
    "overlap": (mc.sets.Overlap(), MEMBERS),
    "tanimoto": (mc.sets.Tanimoto(), MEMBERS),
    "min_max": (mc.sets.MinMax(), MULTISETS),
    "mean_map": (mc.sets.MeanMap(mc.Gaussian(0.5)), BAGS),
    "mean_map_of_sum": (mc.sets.MeanMap(mc.Linear() + mc.Laplacian(0.5)), BAGS),
}

STRUCTURED = STRINGS | SETS
