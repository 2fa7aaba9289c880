"""mercer warmup: compile the machine code of the common kernels, and keep it on disk."""

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mercer.estimators import SVC, SVCCV, KernelPCA
from mercer.expansion import features
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from mercer.preimages import preimage
from mercer.progress_bar import Progress

KERNELS = (
    Gaussian("auto"),
    Linear(),
    Polynomial(gamma="auto"),
    Sigmoid("auto"),
    Laplacian("auto"),
)
DTYPES = ("float64", "float32")


def run(_options: argparse.Namespace, progress: Progress) -> str:
    """Compile, tell each step, and return a line on the time."""
    start = time.monotonic()
    log = logging.getLogger("mercer")
    level = log.level
    # the notice on compilations points here
    log.setLevel(logging.ERROR)
    try:
        tasks = list(steps())
        for done, (text, task) in enumerate(tasks):
            progress(text)
            progress.step(done, len(tasks))
            with warnings.catch_warnings():
                # the hyperbolic tangent is indefinite
                warnings.simplefilter("ignore")
                task()
    finally:
        log.setLevel(level)
    return f"{len(tasks)} calls in {time.monotonic() - start:.0f} s; their machine code is on disk"


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each step and the function that makes its calls."""
    for dtype in DTYPES:
        yield f"searches over C, {dtype}", partial(_search, dtype)
        for kernel in KERNELS:
            name = f"{type(kernel).__name__}, {dtype}"
            yield f"support vector machines, {name}", partial(_train, kernel, dtype)
            yield f"components and pre-images, {name}", partial(_look_inside, kernel, dtype)


def _search(dtype):
    X, y = _data(60, 8, dtype)
    # products of one row have machine code of their own
    SVCCV(Gaussian(0.5), Cs=3, cv=2).fit(X, y).decision_function(X[:1])


def _train(kernel, dtype):
    # machine code of solvers differs by the number of rows, and the other by that of columns
    for n in (200, 300):
        X, y = _data(n, 8, dtype)
        SVC(kernel=kernel).fit(X, y).decision_function(X)
    # votes of pairs
    SVC(kernel=kernel).fit(X, np.arange(len(X)) % 3).decision_function(X)


def _look_inside(kernel, dtype):
    for d in (8, 9):
        X, _ = _data(60, d, dtype)
        KernelPCA(2, kernel=kernel, preimage="gradient").fit(X).transform(X)
    preimage(features(kernel.resolve(X), X) @ np.ones((len(X), 1), X.dtype))


def _data(n, d, dtype):
    """Return points of two classes that overlap."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)
