"""Kernel ridge regression: time and peak memory of Mercer and scikit-learn, each fit in a separate process.

Gaussian kernel with gamma "scale", alpha 0.1, standard normal data in 10 dimensions, y = sin of a projection and noise.
Rows: scikit-learn's KernelRidge; Mercer with a direct solver, with lazy products within 100 MB, and with 500 landmarks;
scikit-learn's GaussianProcessRegressor and Mercer with the variance. Predictions at 1 000 new points are compared with
those of the first row, so that no system wins by stopping early.

With ``--large``: one full ridge, gamma 1/d and alpha 1e-6 n, within 1 GB, of rows of a type. It ends at a relative
residual of 1e-4 for float32 and 1e-8 for float64; each tenth step of conjugate gradients is printed.
With ``--covtype``: 2 000 landmarks for the rows of svm_full.py, beside the products X Z' and K'K alone, of this size.

Run: python benchmarks/ridge.py [--n 4000] [--repeat 3]
     python benchmarks/ridge.py --large float32 --n 100000
     python benchmarks/ridge.py --covtype       (needs MERCER_DATA)
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

FEATURES, NEW, ALPHA = 10, 1000, 0.1


def points(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + NEW, FEATURES))
    y = np.sin(X @ np.linspace(0, 1, FEATURES)) + 0.1 * rng.standard_normal(len(X))
    return X[:n], y[:n], X[n:]


def scikit_learn(X, _, new):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(
        alpha=ALPHA, kernel="rbf", gamma=1 / (FEATURES * X.var())
    ), lambda model: model.predict(new)


def process(X, _, new):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    kernel = RBF(np.sqrt(FEATURES * X.var() / 2))
    model = GaussianProcessRegressor(kernel, alpha=ALPHA, optimizer=None)
    return model, lambda model: model.predict(new, return_std=True)[0]


def mercer(**parameters):
    def system(X, y, new):
        from mercer.estimators.kernel_ridge import KernelRidge

        model = KernelRidge(ALPHA, kernel="rbf", gamma="scale", random_state=0, **parameters)
        model.fit(X[:500], y[:500]).predict(new)  # compile
        return model, lambda model: model.predict(new)

    return system


def mercer_with_variance(X, y, new):
    model, predict = mercer()(X, y, new)

    def both(model):
        model.variance(new)
        return predict(model)

    return model, both


SYSTEMS = {
    "scikit-learn KernelRidge": scikit_learn,
    "Mercer": mercer(),
    "Mercer, lazy, 100 MB": mercer(memory="100MB"),
    "Mercer, 500 landmarks": mercer(landmarks=500),
    "scikit-learn GP, with deviation": process,
    "Mercer, with variance": mercer_with_variance,
}


def child(name, n):
    """Run one fit and prediction and print their seconds and memory, without imports and data."""
    X, y, new = points(n)
    model, predict = SYSTEMS[name](X, y, new)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    predicted = predict(model)
    seconds = fitted - start, time.perf_counter() - fitted
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([*seconds, (peak - before) / 1e6, predicted.tolist()]))


def large(dtype, n):
    """Fit one full ridge, and print its steps, residual, seconds and memory."""
    import mercer as mc
    from mercer._progress import listening

    X, y, new = (each.astype(dtype) for each in points(n))
    model = mc.KernelRidge(1e-6 * n, kernel=mc.Gaussian(1 / FEATURES), random_state=0)
    print(mc.plan(model, n, FEATURES), flush=True)
    mc.KernelRidge(1.0, kernel=mc.Gaussian(1 / FEATURES), memory="1MB").fit(X[:3000], y[:3000])
    steps, start = [], time.perf_counter()

    def watch(task, **state):
        if task == "conjugate gradients":
            steps.append(state["residual"])
            if len(steps) % 10 == 0:
                print(
                    f"step {len(steps)}: {steps[-1]:.1e}, {time.perf_counter() - start:.0f} s",
                    flush=True,
                )

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with listening(watch):
        model.fit(X, y)
    seconds = time.perf_counter() - start
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
    print(
        f"{dtype}, n = {n}: {len(steps)} steps, residual {model.residual_:.1e}, {seconds:.0f} s, {peak:.2f} GB"
    )


def over_covtype(m=2000):
    """Fit labels by ridge over landmarks on all training rows; print seconds, those of the products, and the error."""
    from svm_full import rows

    import mercer as mc

    X, y, new, new_y = rows(500_000)
    X, new = X.astype(np.float32), new.astype(np.float32)
    model = mc.KernelRidge(
        1e-6 * len(X), kernel=mc.Gaussian(0.1), landmarks=m, rule="uniform", random_state=0
    )
    mc.KernelRidge(1.0, kernel=mc.Gaussian(0.1), landmarks=20, rule="uniform").fit(
        X[:3000], y[:3000]
    )
    start = time.perf_counter()
    model.fit(X, y)
    seconds, start = time.perf_counter() - start, time.perf_counter()
    # sums over all rows are in float64
    Z, total = X[:m].astype(np.float64).T.copy(), np.zeros((m, m))
    for first in range(0, len(X), 4096):
        K = X[first : first + 4096].astype(np.float64) @ Z
        total += K.T @ K
    bare = time.perf_counter() - start
    error = 100 * np.mean(np.sign(model.predict(new)) != new_y)
    print(
        f"covtype, {len(X)} rows, {m} landmarks: {seconds:.1f} s, products {bare:.1f} s, test error {error:.2f} %"
    )


def measure(name, n):
    command = [sys.executable, __file__, "--child", name, "--n", str(n)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--large", choices=("float32", "float64"))
    parser.add_argument("--covtype", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.n)
        return
    if arguments.covtype:
        over_covtype()
        return
    if arguments.large:
        large(arguments.large, arguments.n)
        return
    runs = {name: [] for name in SYSTEMS}
    for _ in range(arguments.repeat):
        for name in SYSTEMS:
            runs[name].append(measure(name, arguments.n))
    exact = np.array(runs["scikit-learn KernelRidge"][0][3])
    print(
        f"Kernel ridge regression, Gaussian, n = {arguments.n}, d = {FEATURES}; {NEW} predictions"
    )
    print(f"{'':34}{'fit s':>8}{'predict s':>11}{'peak GB':>9}{'largest difference':>20}")
    for name, each in runs.items():
        fit, predict, memory = (statistics.median(run[j] for run in each) for j in range(3))
        gap = np.abs(np.array(each[0][3]) - exact).max()
        print(f"{name:34}{fit:8.2f}{predict:11.2f}{memory:9.2f}{gap:20.0e}")


if __name__ == "__main__":
    main()
