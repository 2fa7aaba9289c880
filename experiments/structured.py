"""Published accuracies with kernels on graphs, strings and series: nested cross-validation, or the set's own split.

Graphs: Weisfeiler-Lehman (number of refinements chosen) and shortest path on MUTAG, PTC-MR and ENZYMES, normalised,
10 folds; in each, C is chosen by 5 folds of the training part. Strings: the same with the spectrum, mismatch and
weighted degree kernels on promoters and splice sites. Series: global alignment on GunPoint and Trace, on their own
split, with C and the width chosen by 5 folds of the training part. The published values are printed beside, with their
source.

Run: python experiments/structured.py [--sets tu_mutag,promoters] [--repeats 1]     (needs MERCER_DATA)
"""

import argparse

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import mercer as mc
from mercer import datasets

CS = 10.0 ** np.arange(-2, 4)
DEEP = "Yanardag, Vishwanathan, Deep graph kernels, KDD 2015, table 2"
TOWELL = "leave-one-out, Towell, Shavlik, Noordewier, AAAI 1990"
UCR = "Chen et al., The UCR time series classification archive, 2015"
# Recalled from the literature; the printed tables have not been compared yet.
PUBLISHED = {
    ("tu_mutag", "WL"): f"80.7 +- 3.0 ({DEEP})",
    ("tu_ptc_mr", "WL"): f"57.0 +- 2.0 ({DEEP})",
    ("tu_enzymes", "WL"): f"53.2 +- 1.1 ({DEEP})",
    ("tu_mutag", "shortest path"): f"85.2 +- 2.4 ({DEEP})",
    ("tu_ptc_mr", "shortest path"): f"58.2 +- 2.4 ({DEEP})",
    ("tu_enzymes", "shortest path"): f"40.1 +- 1.5 ({DEEP})",
    ("promoters", "weighted degree"): f"KBANN 96.2, backpropagation 92.5, ID3 82.1 ({TOWELL})",
    ("splice_uci", "weighted degree"): "KBANN 93.7, backpropagation 93.3 (page of the set at UCI)",
    ("ucr_gunpoint", "global alignment"): f"nearest neighbour with DTW 90.7 ({UCR})",
    ("ucr_trace", "global alignment"): f"nearest neighbour with DTW 100.0 ({UCR})",
}


def candidates(name):
    """Return, by name, the kernels among which one is chosen."""
    if name.startswith("tu_"):
        refined = [mc.graphs.WeisfeilerLehman(h) for h in (0, 1, 2, 3, 4, 5)]
        return {"WL": refined, "shortest path": [mc.graphs.ShortestPath()]}
    if name.startswith("ucr_"):
        return {"global alignment": [mc.sequences.GlobalAlignment(width) for width in (0.3, 1.0, 3.0)]}
    return {
        "spectrum": [mc.strings.Spectrum(n) for n in (3, 4, 5)],
        "mismatch": [mc.strings.Mismatch(n, 1) for n in (3, 4, 5)],
        "weighted degree": [mc.strings.WeightedDegree(d) for d in (1, 3, 6, 12)],
    }


def matrices(kernels, X, Z=None):
    """Return the normalised kernel matrices of several kernels."""
    kernels = [mc.Normalized(kernel.resolve(X)) for kernel in kernels]
    return [kernel(X) if Z is None else kernel(Z, X) for kernel in kernels]


def best(Ks, y, seed):
    """Return the kernel and the C with the best accuracy in 5 folds, as a fitted model."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    searches = [GridSearchCV(mc.SVC(kernel="precomputed"), {"C": CS}, cv=folds).fit(K, y) for K in Ks]
    chosen = int(np.argmax([search.best_score_ for search in searches]))
    return chosen, searches[chosen]


def nested(Ks, y, seed):
    """Return the accuracy in per cent, over 10 folds, with the choice inside each training part."""
    hits = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        chosen, model = best([K[np.ix_(train, train)] for K in Ks], y[train], seed)
        hits.append(100 * model.score(Ks[chosen][np.ix_(test, train)], y[test]))
    return float(np.mean(hits))


def accuracies(name, repeats=1):
    """Yield the name of each kernel and its accuracies in per cent."""
    if name.startswith("ucr_"):
        series = datasets.load(name)
        X, Z = (list(part.astype(np.float64)) for part in (series.X_train, series.X_test))
        for title, kernels in candidates(name).items():
            chosen, model = best(matrices(kernels, X), series.y_train, 0)
            yield title, [100 * model.score(matrices([kernels[chosen]], X, Z)[0], series.y_test)]
        return
    objects = datasets.load_objects(name)
    for title, kernels in candidates(name).items():
        Ks = matrices(kernels, objects.X)
        yield title, [nested(Ks, objects.y, seed) for seed in range(repeats)]


def main():
    """Print one line for each set and kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="tu_mutag,tu_ptc_mr,tu_enzymes,promoters,splice_uci,ucr_gunpoint,ucr_trace")
    parser.add_argument("--repeats", type=int, default=1, help="repetitions of the 10 folds")
    options = parser.parse_args()
    for name in options.sets.split(","):
        for title, found in accuracies(name, options.repeats):
            spread = f" +- {np.std(found):.1f}" if len(found) > 1 else ""
            published = PUBLISHED.get((name, title), "-")
            print(f"{name:<14} {title:<17} {np.mean(found):.1f}{spread}   published: {published}", flush=True)


if __name__ == "__main__":
    main()
