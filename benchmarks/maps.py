"""KernelMap: time and peak memory against n and the number of landmarks, each fit in a separate process.

Gaussian kernel with gamma "scale", standard normal data in 10 dimensions. Three sweeps: all coordinates; 256 landmarks
and growing n; fixed n and growing landmarks. The script prints the slopes of the logarithms. With m landmarks the time
should grow at most as n m^2 + m^3, and the memory should stay below an n x n matrix, whose size is printed.

Run: python benchmarks/maps.py [--repeat 3] [--largest 64000] [--figure maps.png]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

FEATURES, HELD = 10, 256


def sweeps(largest):
    """Return name, index of the growing size, and cases (n, landmarks) for each sweep."""
    return [
        ("all coordinates", 0, [(n, None) for n in (500, 1000, 2000)]),
        (f"{HELD} landmarks", 0, [(largest // part, HELD) for part in (16, 8, 4, 2, 1)]),
        (f"n = {largest // 4}", 1, [(largest // 4, m) for m in (64, 128, 256, 512, 1024)]),
    ]


def child(n, landmarks=None):
    """Run one fit and print its seconds and megabytes, without imports, data and a small fit that compiles the code."""
    from mercer.estimators import KernelMap

    X = np.random.default_rng(0).standard_normal((n, FEATURES))
    mapping = KernelMap("rbf", landmarks=landmarks, random_state=0)
    mapping.fit(X[:300])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    mapping.fit(X)
    seconds = time.perf_counter() - start
    print(
        json.dumps([seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3])
    )


def measure(n, landmarks, repeat):
    """Return the medians of seconds and megabytes."""
    command = [
        sys.executable,
        __file__,
        "--child",
        str(n),
        *([] if landmarks is None else [str(landmarks)]),
    ]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repeat)
    ]
    return [
        statistics.median(column)
        for column in zip(*(json.loads(run.stdout) for run in runs), strict=True)
    ]


def slope(sizes, values):
    """Return the slope of the logarithms over the upper half of the sizes, where constant costs matter least."""
    upper = len(sizes) // 2
    return np.polyfit(np.log(sizes[upper:]), np.log(np.maximum(values[upper:], 1e-3)), 1)[0]


def draw(results, path):
    """Draw seconds and megabytes of all sweeps on logarithmic axes."""
    import matplotlib.pyplot as plt

    fig, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for name, sizes, values in results:
        for panel, column in zip(panels, values.T, strict=True):
            panel.loglog(sizes, np.maximum(column, 1e-3), "o-", label=name)
    for panel, label in zip(panels, ("seconds", "peak MB"), strict=True):
        panel.set(xlabel="n, or number of landmarks", ylabel=label)
    panels[0].legend()
    fig.savefig(path, dpi=120)


def main():
    """Print the table and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--largest", type=int, default=64_000)
    parser.add_argument("--figure", help="file for the picture")
    parser.add_argument("--child", type=int, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    results = []
    for name, grows, cases in sweeps(options.largest):
        print(f"{name:18}{'n':>8}{'landmarks':>11}{'seconds':>10}{'peak MB':>10}{'n x n MB':>11}")
        measured = []
        for n, landmarks in cases:
            measured.append(measure(n, landmarks, options.repeat))
            seconds, memory = measured[-1]
            print(
                f"{'':18}{n:8d}{landmarks or n:11d}{seconds:10.3f}{memory:10.1f}{8e-6 * n * n:11.0f}",
                flush=True,
            )
        sizes, values = np.array([case[grows] for case in cases]), np.array(measured)
        powers = [slope(sizes, column) for column in values.T]
        print(f"{'':18}{'slopes':>19}{powers[0]:10.2f}{powers[1]:10.2f}")
        results.append((name, sizes, values))
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()
