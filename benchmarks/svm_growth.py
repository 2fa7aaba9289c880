"""Training time of a support vector machine against the number of rows: seconds on covtype, log-log slopes.

    python benchmarks/svm_growth.py [--rows 10000,20000,40000] [--peers intelex,sklearn] [--limit 60]

Needs MERCER_DATA. A contender whose fit takes longer than the limit is not run on larger sizes.
"""

import argparse

import numpy as np
from svm import CONTENDERS, covtype, objective, seconds


def main():
    """Print one line for each size, then the slopes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="10000,20000,40000,80000,160000")
    parser.add_argument("--peers", default="sklearn,intelex")
    parser.add_argument("--limit", type=float, default=60, help="seconds")
    options = parser.parse_args()
    names = ["mercer", *filter(None, options.peers.split(","))]
    sizes = [int(size) for size in options.rows.split(",")]
    X, y, _, C, gamma, shape = covtype(max(sizes), 1)
    taken = {name: [] for name in names}
    CONTENDERS["mercer"]().fit(X[:2000], y[:2000], C, gamma, shape)
    print(f"{'rows':>8}" + "".join(f"{name:>12}" for name in names) + "   dual objectives")
    for size in sizes:
        cells, objectives = [], []
        for name in names:
            if taken[name] and (
                len(taken[name]) < sizes.index(size) or taken[name][-1] > options.limit
            ):
                cells.append(f"{'-':>12}")
                continue
            second, fitted = seconds(CONTENDERS[name]().fit, X[:size], y[:size], C, gamma, shape)
            taken[name].append(second)
            cells.append(f"{second:>12.2f}")
            objectives.append(f"{objective(fitted, gamma):.7g}")
        print(f"{size:>8}" + "".join(cells) + "   " + " ".join(objectives), flush=True)
    for name in names:
        if len(taken[name]) > 1:
            slope = np.polyfit(np.log(sizes[: len(taken[name])]), np.log(taken[name]), 1)[0]
            print(f"{name}: seconds grow as n^{slope:.2f}")


if __name__ == "__main__":
    main()
