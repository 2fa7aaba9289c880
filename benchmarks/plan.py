"""Memory and time of fits beside `mercer.plan`: settings of at least 200 MB, each in a process of its own.

Standard normal rows in 10 dimensions, two classes for classifiers and a sine for regressions, Gaussian kernel, gamma
0.1 unless it is said. "map" are rows in a memory map, "4 y" four targets. Memory is beyond the interpreter
after a small fit and the rows, looked at every 20 milliseconds; pages of a file do not count.
Seconds are those of the processor with one thread, of the fit and of the calibration of the plan, so that other
processes change them little.

Run: OMP_NUM_THREADS=1 python benchmarks/plan.py [--only 0 1 2]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time

import numpy as np
from disk import Peak, own_memory

import mercer as mc

FEATURES, KERNEL = 10, mc.Gaussian(0.1)
UNIFORM = {"kernel": KERNEL, "rule": "uniform"}
SETTINGS = [
    (mc.KernelPCA(kernel=KERNEL), 2000, ""),
    (mc.KernelPCA(16, kernel=KERNEL), 6000, ""),
    (mc.KernelPCA(16, kernel=KERNEL), 8000, ""),
    (mc.KernelPCA(64, kernel=mc.Gaussian(0.02)), 33_000, ""),
    (mc.KernelPCA(16, landmarks=1800, **UNIFORM), 20_000, ""),
    (mc.KernelPCA(16, landmarks=2000, **UNIFORM), 20_000, "map"),
    (mc.KernelRidge(0.1, kernel=KERNEL), 4000, ""),
    (mc.KernelRidge(0.1, kernel=KERNEL), 5500, "4 y"),
    (mc.KernelRidge(0.0, kernel=KERNEL), 2000, ""),
    (mc.KernelRidge(0.1, kernel=KERNEL), 15_000, ""),
    (mc.KernelRidge(2.0, kernel=KERNEL, memory="300MB"), 30_000, "4 y"),
    (mc.KernelRidge(2.0, kernel=KERNEL, memory="250MB"), 20_000, "float32"),
    (mc.KernelRidge(0.1, landmarks=2000, **UNIFORM), 20_000, ""),
    (mc.KernelRidge(0.1, landmarks=2000, **UNIFORM), 200_000, "map"),
    (mc.KernelRidge(0.1, landmarks=1000, kernel=KERNEL), 20_000, ""),
    (mc.KernelRidge(20.0, landmarks=5000, memory="400MB", **UNIFORM), 20_000, "4 y"),
    (mc.KernelRidge(0.1, kernel=KERNEL, tune="marginal_likelihood"), 2500, ""),
    (mc.KernelFisher(kernel=KERNEL, mu=0.1), 4000, ""),
    (mc.KernelFisher(mu=0.1, landmarks=2200, **UNIFORM), 20_000, ""),
    (mc.KernelMap(KERNEL), 2000, ""),
    (mc.KernelMap(landmarks=1800, **UNIFORM), 20_000, ""),
    (mc.KernelMap(KERNEL, landmarks=1000, rule="greedy"), 30_000, "float32"),
    (mc.Nystroem(KERNEL, n_components=2000), 20_000, ""),
    (mc.SVC(kernel=KERNEL), 8000, ""),
    (mc.SVC(kernel=KERNEL, memory="300MB"), 30_000, ""),
    (mc.SVC(landmarks=400, **UNIFORM), 20_000, ""),
]
# Rows of the fit before the measurement, and its landmarks.
SMALL, FEW = 400, 20


def mapped(X):
    """Return rows in a memory map of a file that is deleted with the process."""
    with tempfile.TemporaryFile() as file:
        X.tofile(file)
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape)


def child(k):
    """Run one fit, and print its seconds and memory beside those of the plan."""
    model, n, kind = SETTINGS[k]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES))
    values = np.sin(X[:, :4] if kind == "4 y" else X[:, 0])
    values += 0.1 * rng.standard_normal(values.shape)
    y = (values > 0).astype(int) if isinstance(model, (mc.SVC, mc.KernelFisher)) else values
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "map":
        X = mapped(X)
    few = {
        name: FEW
        for name in ("landmarks", "n_components")
        if isinstance(getattr(model, name, None), int)
    }
    type(model)(**model.get_params(deep=False) | few).fit(X[:SMALL], y[:SMALL])
    planned = mc.plan(model, n, FEATURES)
    before, peak = own_memory(), Peak()
    peak.start()
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    peak.ended.set()
    found = {"route": planned.route, "seconds": seconds, "planned seconds": planned.seconds}
    print(json.dumps(found | {"bytes": peak.value - before, "planned bytes": planned.bytes}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, nargs="+", default=range(len(SETTINGS)))
    parser.add_argument("--child", type=int)
    arguments = parser.parse_args()
    if arguments.child is not None:
        child(arguments.child)
        return
    print(
        f"{'':81}{'n':>7}{'route':>11}{'MB':>7}{'plan':>7}{'ratio':>7}{'s':>8}{'plan':>8}{'ratio':>7}"
    )
    for k in arguments.only:
        command = [sys.executable, "-W", "ignore", __file__, "--child", str(k)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        model, n, kind = SETTINGS[k]
        pairs = [
            (found["bytes"] / 1e6, found["planned bytes"] / 1e6),
            (found["seconds"], found["planned seconds"]),
        ]
        text = "".join(
            f"{a:{w}.{p}f}{b:{w}.{p}f}{a / b:7.2f}"
            for (a, b), w, p in zip(pairs, (7, 8), (0, 1), strict=True)
        )
        print(
            f"{k:2} {' '.join(repr(model).split()):70.68}{kind:8}{n:7}{found['route']:>11}{text}",
            flush=True,
        )


if __name__ == "__main__":
    main()
