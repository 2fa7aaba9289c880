"""Published accuracies with kernels on graphs, strings and series: nested cross-validation, or the set's own split.

Graphs: Weisfeiler-Lehman (number of refinements chosen) and shortest path on MUTAG, PTC-MR and ENZYMES, normalised,
10 folds; in each, C is chosen by 5 folds of the training part. Strings: the same with the spectrum, blended spectrum,
mismatch and weighted degree kernels on promoters, and on 1000 random splice sites, as published. Series: global
alignment on GunPoint and Trace, on their own split, with C and the width chosen by 5 folds of the training part. The
published values are printed beside, with their source and a verdict: "within" if the intervals of one standard
deviation meet, otherwise "above" or "below". The deviation of an accuracy on n points that was measured once is the
binomial one.

The spectrum kernels and the mismatch kernel ignore positions, which matter at splice sites: no published value with
such kernels on this set is known, so KBANN's is printed, which reads positions. On promoters KBANN has the best of
the five published rates (96.2; back-propagation 92.5, nearest neighbour 87.7, recalled as well). On MUTAG the
shortest-path kernel needs C up to 1e4: with C up to 1e3 three repetitions give 83.3 instead of 85.1. On Trace the
value beside is that of another method, DTW; widths of 0.05, 0.1, 0.2 and 0.5 times the rule "median" have 95, 99, 97
and 95 per cent in the 5 folds and 90, 96, 97 and 95 on the test part, so that the width with the best folds gives 96
as well.

Run: python experiments/structured.py [--sets tu_mutag,promoters] [--repeats 3]     (needs MERCER_DATA)
"""

import argparse

import numpy as np
from sklearn.model_selection import StratifiedKFold

import mercer as mc
from mercer import datasets

CS = 10.0 ** np.arange(-2, 5)
# Splice sites in one repetition, as in the published study.
SPLICE = 1000
RIECK = "Rieck, Bock, Borgwardt, ICML 2019"
RWNN = "Nikolentzos, Vazirgiannis, NeurIPS 2020, on the folds of Errica et al."
DEEP = "Yanardag, Vishwanathan, KDD 2015, table 2; recalled, the printed table has not been compared"
TOWELL = (
    "KBANN, leave-one-out, Towell, Shavlik, Noordewier, AAAI 1990; recalled, the printed table has not been compared"
)
UCI = "KBANN, 1000 points, error rates of the classes on the page of the set at UCI, weighted by their shares"
UCR = "nearest neighbour with DTW, UCR archive; recalled, the printed table has not been compared"


def binomial(accuracy, n):
    """Return the standard deviation of an accuracy, in per cent, on n points."""
    return float(np.sqrt(accuracy * (100 - accuracy) / n))


# Accuracy in per cent, its standard deviation, source.
PUBLISHED = {
    ("tu_mutag", "WL"): (87.3, 1.4, RIECK),
    ("tu_ptc_mr", "WL"): (63.1, 1.4, RIECK),
    ("tu_enzymes", "WL"): (50.3, 5.7, RWNN),
    ("tu_mutag", "shortest path"): (80.2, 6.5, RWNN),
    ("tu_ptc_mr", "shortest path"): (58.2, 2.4, DEEP),
    ("tu_enzymes", "shortest path"): (38.3, 8.0, RWNN),
    ("ucr_gunpoint", "global alignment"): (90.7, binomial(90.7, 150), UCR),
    ("ucr_trace", "global alignment"): (100.0, binomial(100.0, 100), UCR),
}
for each in ("spectrum", "blended spectrum", "mismatch", "weighted degree"):
    PUBLISHED["promoters", each] = 96.2, binomial(96.2, 106), TOWELL
    PUBLISHED["splice_uci", each] = 93.7, binomial(93.7, 1000), UCI


def candidates(name):
    """Return, by name, the kernels among which one is chosen."""
    if name.startswith("tu_"):
        refined = [mc.graphs.WeisfeilerLehman(h) for h in (0, 1, 2, 3, 4, 5)]
        return {"WL": refined, "shortest path": [mc.graphs.ShortestPath()]}
    if name.startswith("ucr_"):
        return {"global alignment": [mc.sequences.GlobalAlignment(width) for width in (0.1, 0.3, 1.0, 3.0)]}
    return {
        "spectrum": [mc.strings.Spectrum(n) for n in (3, 4, 5)],
        "blended spectrum": [mc.strings.BlendedSpectrum(n) for n in (3, 4, 5)],
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
    searches = [mc.SVCCV(kernel="precomputed", Cs=CS, cv=folds).fit(K, y) for K in Ks]
    chosen = int(np.argmax([search.best_score_ for search in searches]))
    return chosen, searches[chosen]


def nested(Ks, y, seed):
    """Return the accuracy in per cent, over 10 folds, with the choice inside each training part."""
    hits = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        chosen, model = best([K[np.ix_(train, train)] for K in Ks], y[train], seed)
        hits.append(100 * model.score(Ks[chosen][np.ix_(test, train)], y[test]))
    return float(np.mean(hits))


def accuracies(name, repeats=1, part=""):
    """Yield each kernel with ``part`` in its name, its accuracy in per cent, and its deviation over repetitions."""
    chosen_kernels = {title: kernels for title, kernels in candidates(name).items() if part in title}
    if name.startswith("ucr_"):
        series = datasets.load(name)
        X, Z = (list(part.astype(np.float64)) for part in (series.X_train, series.X_test))
        for title, kernels in chosen_kernels.items():
            chosen, model = best(matrices(kernels, X), series.y_train, 0)
            accuracy = 100 * model.score(matrices([kernels[chosen]], X, Z)[0], series.y_test)
            yield title, accuracy, binomial(accuracy, len(Z))
        return
    objects = datasets.load_objects(name)
    size = SPLICE if name == "splice_uci" else len(objects.X)
    for title, kernels in chosen_kernels.items():
        Ks, found = matrices(kernels, objects.X), []
        for seed in range(repeats):
            rows = np.random.default_rng(seed).permutation(len(objects.X))[:size]
            found.append(nested([K[np.ix_(rows, rows)] for K in Ks], objects.y[rows], seed))
        yield title, np.mean(found), np.std(found)


def verdict(found, spread, published):
    """Return whether the intervals of one standard deviation meet, and otherwise on which side the accuracy lies."""
    difference = found - published[0]
    if abs(difference) <= spread + published[1]:
        return "within"
    return "above" if difference > 0 else "below"


def main():
    """Print one line for each set and kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="tu_mutag,tu_ptc_mr,tu_enzymes,promoters,splice_uci,ucr_gunpoint,ucr_trace")
    parser.add_argument("--repeats", type=int, default=3, help="repetitions of the 10 folds")
    parser.add_argument("--kernels", default="", help="part of the name of kernels")
    options = parser.parse_args()
    for name in options.sets.split(","):
        for title, found, spread in accuracies(name, options.repeats, options.kernels):
            line = f"{name:<14} {title:<17} {found:5.1f} +- {spread:.1f}"
            if (name, title) in PUBLISHED:
                accuracy, given, source = published = PUBLISHED[name, title]
                line += f"   {verdict(found, spread, published)} {accuracy} +- {given:.1f} ({source})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
