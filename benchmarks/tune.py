"""Bandwidths of each column and the noise of a Gaussian process by marginal likelihood: Mercer and scikit-learn.

Both start at the same kernel, whose lengths are the root of d, and the same noise. Printed are the processor time over
all threads, and the logarithm of the marginal likelihood that scikit-learn computes at either optimum: the search that
stopped early has the smaller one.

Run: python benchmarks/tune.py [--n 2000] [--d 4] [--repeat 1]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import mercer as mc

NOISE = 0.1


def points(n, d):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(X @ np.linspace(0.2, 2, d)) + 0.1 * rng.standard_normal(n)


def scikit_learn(X, y):
    kernel = ConstantKernel(1.0) * RBF(np.full(X.shape[1], X.shape[1] ** 0.5)) + WhiteKernel(NOISE)
    return GaussianProcessRegressor(kernel).fit(X, y).kernel_


def mercer(X, y):
    start = mc.Mapped(mc.Gaussian(0.5 / X.shape[1]), np.ones(X.shape[1]))
    model = mc.KernelRidge(NOISE, kernel=start, tune="marginal_likelihood").fit(X, y)
    tuned, inner = model.kernel_, model.kernel_.kernel
    lengths = 1 / np.abs(inner.A) / np.sqrt(2 * inner.kernel.gamma)
    return ConstantKernel(tuned.factor) * RBF(lengths) + WhiteKernel(model.alpha_)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--d", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of length scales at their bounds
    X, y = points(options.n, options.d)
    mercer(*points(60, options.d))  # compile
    seconds = {}
    for _ in range(options.repeat):
        for system in (mercer, scikit_learn):
            start = time.process_time()
            kernel = system(X, y)
            seconds.setdefault(system.__name__, []).append(time.process_time() - start)
            value = (
                GaussianProcessRegressor(kernel, optimizer=None)
                .fit(X, y)
                .log_marginal_likelihood_value_
            )
            print(
                f"{system.__name__:13} {seconds[system.__name__][-1]:8.1f} s  log likelihood {value:.4f}  {kernel}"
            )
    print(f"times as fast: {np.median(seconds['scikit_learn']) / np.median(seconds['mercer']):.1f}")


if __name__ == "__main__":
    main()
