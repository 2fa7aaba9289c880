"""Gram matrices of kernels on strings, sets, graphs and series: seconds beside GraKeL and a plain Python definition.

    python benchmarks/structured.py [--sets mutag,promoters] [--limit 60]

Needs MERCER_DATA. GraKeL is run if it is installed. The plain definition, one pair at a time with the counts of each
object computed once, runs on a part of the pairs; its seconds are scaled to all pairs, and its values are compared.
Mercer is timed from the list of objects to the matrix, after one call that compiles.
"""

import argparse
import importlib.util
import time
from collections import Counter

import numpy as np

import mercer as mc
from mercer import datasets

GRAPHS = ("tu_mutag", "tu_ptc_mr", "tu_enzymes")
STRINGS = ("promoters", "splice_uci", "celegans_acc_small", "reuters40_text")
SERIES = ("ucr_gunpoint", "ucr_trace")
PAIRS = 2000


def seconds(function, *args):
    """Return the time of one call and its result."""
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, result


def substrings(length):
    """Return the counts of substrings of a string."""
    return lambda x: Counter(x[i : i + length] for i in range(len(x) - length + 1))


def refinements(graph, iterations=5):
    """Return the counts of the labels of all Weisfeiler-Lehman refinements, as nested tuples."""
    A, labels = graph.adjacency, list(graph.labels)
    near = np.split(A.indices, A.indptr[1:-1])
    found = Counter(labels)
    for _ in range(iterations):
        labels = [hash((labels[i], tuple(sorted(labels[j] for j in each)))) for i, each in enumerate(near)]
        found.update(labels)
    return found


def distances(graph):
    """Return the counts of labels and distances of pairs of nodes, by breadth-first search."""
    A, labels, found = graph.adjacency, graph.labels, Counter()
    near = [each.tolist() for each in np.split(A.indices, A.indptr[1:-1])]
    for start in range(len(graph)):
        seen, front, d = {start}, [start], 0
        while front:
            d += 1
            front = list({j for i in front for j in near[i]} - seen)
            seen.update(front)
            found.update((labels[start], labels[j], d) for j in front)
    return found


def inner(x, z):
    """Return the inner product of two Counters."""
    return sum(count * z[key] for key, count in x.items() if key in z)


def subsequences(x, z, length=3, decay=0.5):
    """Return the subsequence kernel by dynamic programming."""
    ending = [[decay**2 * (a == b) for b in z] for a in x]
    for _ in range(length - 1):
        reach, following = [0.0] * len(z), []
        for a, row in zip(x, ending, strict=True):
            following.append([decay**2 * r * (a == b) for r, b in zip(reach, z, strict=True)])
            along = 0.0
            for b, value in enumerate(row):
                reach[b] = along + decay * reach[b]
                along = value + decay * along
        ending = following
    return sum(map(sum, ending))


def weighted_degree(x, z, degree=20):
    """Return the weighted degree kernel by runs of equal letters."""
    gains = np.cumsum(2 * (degree - np.arange(degree)) / (degree * (degree + 1))).tolist()
    total, run = 0.0, 0
    for a, b in zip(x, z, strict=True):
        run = run + 1 if a == b else 0
        total += gains[min(run, degree) - 1] if run else 0.0
    return total


def alignment(x, z):
    """Return the logarithm of the sum over alignments, in rows of an array."""
    local = -((x[:, None] - z[None]) ** 2) / 2
    local -= np.log(2 - np.exp(local))
    before = np.full(len(z) + 1, -np.inf)
    before[0] = 0.0
    for row in local:
        current = [-np.inf]
        for j, value in enumerate(row):
            current.append(value + np.logaddexp(np.logaddexp(before[j], before[j + 1]), current[j]))
        before = current
    return before[-1]


def plain(features, pair, X, rng):
    """Return the seconds of a plain definition for all pairs, places of some pairs and their values."""
    count = min(PAIRS if features else 20, len(X) ** 2)
    places = rng.integers(len(X), size=(2, count))
    first, counts = seconds(lambda: [features(x) for x in X] if features else X)
    second, values = seconds(lambda: np.array([pair(counts[i], counts[j]) for i, j in places.T.tolist()]))
    return first + second * (len(X) * (len(X) + 1) / 2) / count, places, values


def grakel(kernel, X):
    """Return the seconds of GraKeL and its matrix, or None if it has no such kernel or is not installed."""
    if importlib.util.find_spec("grakel") is None or not isinstance(X[0], mc.graphs.Graph):
        return None
    import grakel

    peer = {
        mc.graphs.WeisfeilerLehman: lambda: grakel.WeisfeilerLehman(n_iter=5, base_graph_kernel=grakel.VertexHistogram),
        mc.graphs.ShortestPath: grakel.ShortestPath,
    }[type(kernel)]()
    graphs = [grakel.Graph(x.adjacency.toarray().astype(float), dict(enumerate(x.labels))) for x in X]
    return seconds(peer.fit_transform, graphs)


def contenders(name):
    """Return the objects of a set, and its kernels with plain features, a plain function of pairs, and a link."""
    if name in GRAPHS:
        X = datasets.load_objects(name).X
        wl, paths = mc.graphs.WeisfeilerLehman(5), mc.graphs.ShortestPath()
        return X, [(wl, refinements, inner, None), (paths, distances, inner, None)]
    if name in STRINGS:
        X = datasets.load_objects(name).X
        aligned = len({len(x) for x in X}) == 1
        kernels = [(mc.strings.Spectrum(4), substrings(4), inner, None)]
        if aligned:
            kernels += [(mc.strings.WeightedDegree(20), None, weighted_degree, None)]
            kernels += [(mc.strings.Subsequence(3, 0.5), None, subsequences, None)]
        return X, kernels
    series = datasets.load(name)
    X = list(np.concatenate([series.X_train, series.X_test]).astype(np.float64))
    return X, [(mc.sequences.GlobalAlignment(1.0), None, alignment, "log")]


def values_at(kernel, K, X, places, link):
    """Return the values of Mercer at pairs as the plain definition states them."""
    if link is None:
        return K[tuple(places)]
    raw = mc.sequences.GlobalAlignment(kernel.width, normalized=False)
    logs = [raw._log_diagonal(mc.features(kernel, [X[i]]).prepared)[0] for i in range(len(X))]
    logs = np.array(logs)
    return np.log(K[tuple(places)]) + logs[places].sum(axis=0) / 2


def main():
    """Print one line for each set and kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join([*GRAPHS, *STRINGS, *SERIES]))
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{'set':<20}{'objects':>8}  {'kernel':<34}{'mercer':>9}{'GraKeL':>9}{'plain':>10}   largest difference")
    for name in options.sets.split(","):
        X, kernels = contenders(name)
        for kernel, features, pair, link in kernels:
            kernel(X[:60])
            taken, K = seconds(kernel, list(X))
            other = grakel(kernel, X)
            first, places, values = plain(features, pair, X, rng)
            found = values_at(kernel, K, X, places, link)
            difference = abs(found - values).max() / abs(values).max()
            difference = max(difference, abs(K - other[1]).max() if other else 0)
            peer = f"{other[0]:>9.2f}" if other else f"{'-':>9}"
            print(
                f"{name:<20}{len(X):>8}  {str(kernel):<34}{taken:>9.3f}{peer}{first:>10.1f}   {difference:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
