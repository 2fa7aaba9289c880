"""Rows on disk: time and memory of fits over landmarks on a memory map, each fit in a process of its own.

Standard normal rows in 20 dimensions (float32) in a memory map, y = sin of a projection, Gaussian kernel, gamma 1/20,
landmarks from the rule "uniform". Ridge has alpha = 1e-6 n and takes conjugate gradients where the memory limit forbids
the direct solution. ``bare`` are the two products of the direct solution, kernel values times the basis and coordinates
times coordinates, measured on one block and extrapolated to all rows. Memory is beyond the interpreter after the
imports and a small fit; the pages of the file do not count. Seconds are those of all processors together, so that other
processes change them little.

Run: OMP_NUM_THREADS=1 python benchmarks/disk.py [--rows 100000 1000000] [--only pca ridge many]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

FEATURES, BLOCK = 20, 16_384
# Weights of the projection, of norm 1.
W = np.linspace(0, 1, FEATURES, dtype=np.float32) / np.linalg.norm(np.linspace(0, 1, FEATURES))
CASES = {
    "pca": "KernelPCA, 2 000 landmarks, 16 components",
    "ridge": "KernelRidge, 2 000 landmarks",
    "many": "KernelRidge, 10 000 landmarks, 1 GB",
}


def write(path, n):
    rng = np.random.default_rng(0)
    rows = np.memmap(path, "float32", "w+", shape=(n, FEATURES))
    for start in range(0, n, BLOCK):
        part = rows[start : start + BLOCK]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    rows.flush()


def estimator(name, n):
    import mercer as mc
    from mercer.estimators import KernelRidge

    kernel = mc.Gaussian(1 / FEATURES)
    if name == "pca":
        return mc.KernelPCA(16, kernel=kernel, landmarks=2000, rule="uniform", memory="1GB")
    landmarks = {"ridge": 2000, "many": 10_000}[name]
    return KernelRidge(
        1e-6 * n, kernel=kernel, landmarks=min(landmarks, n // 4), rule="uniform", memory="1GB"
    )


def own_memory():
    """Return the bytes of this process that are not pages of files."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon"))


class Peak(threading.Thread):
    """Largest memory while it runs, looked at every 20 milliseconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.value, self.ended = own_memory(), threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            self.value = max(self.value, own_memory())


def child(name, path, n):
    """Run one fit, and print its seconds and memory."""
    rows = np.memmap(path, "float32", "r", shape=(n, FEATURES))
    y = np.sin(2 * (rows @ W)) if name != "pca" else None
    small = np.array(rows[:1000])
    estimator(name, 1000).set_params(landmarks=50).fit(small, None if y is None else y[:1000])
    before, peak = own_memory(), Peak()
    peak.start()
    start = time.process_time()
    model = estimator(name, n).fit(rows, y)
    seconds = time.process_time() - start
    peak.ended.set()
    residual = float(np.max(model.residuals_ if name == "pca" else model.residual_))
    new = np.random.default_rng(1).standard_normal((2000, FEATURES), dtype=np.float32)
    error = None if y is None else float(np.std(model.predict(new) - np.sin(2 * (new @ W))))
    found = {"seconds": seconds, "bytes": peak.value - before, "residual": residual, "error": error}
    print(json.dumps(found | {"planned": plan_of(name, n), "bare": bare(model.expansion_, rows)}))


def plan_of(name, n):
    import mercer as mc

    found = mc.plan(estimator(name, n), n, FEATURES)
    return [found.seconds, found.bytes]


def bare(expansion, rows):
    """Return the seconds of the products K @ Q and C' C over all rows, for coordinates in the span of the landmarks."""
    m, size = expansion.shape[0], min(len(rows), 4096)
    K, Q = np.ones((size, m)), np.eye(m)
    start = time.process_time()
    C = K @ Q
    C.T @ C
    return (time.process_time() - start) * len(rows) / size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--child", nargs=3)
    arguments = parser.parse_args()
    if arguments.child:
        name, path, n = arguments.child
        child(name, path, int(n))
        return
    print(
        f"{'':45}{'rows':>10}{'s':>9}{'bare s':>9}{'MB':>8}{'planned s':>11}{'MB':>8}{'residual':>10}{'error':>8}"
    )
    for n in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows")
            write(path, n)
            for name in arguments.only:
                command = [sys.executable, __file__, "--child", name, path, str(n)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found = json.loads(done.stdout.splitlines()[-1])
                planned, n_bytes = found["planned"]
                error = "-" if found["error"] is None else f"{found['error']:.4f}"
                print(
                    f"{CASES[name]:45}{n:10}{found['seconds']:9.1f}{found['bare']:9.1f}{found['bytes'] / 1e6:8.0f}"
                    f"{planned:11.1f}{n_bytes / 1e6:8.0f}{found['residual']:10.1e}{error:>8}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
