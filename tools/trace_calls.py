"""Count the calls of Mercer's functions in a small fit, in a prediction of one row, and in `mercer.compress`.

    python -m tools.trace_calls                          # SVC, KernelPCA, KernelRidge and compress
    python -m tools.trace_calls SVC NuSVR --most 15      # the functions called most often
    python -m tools.trace_calls SVC --tree 4             # who calls whom, to a depth of 4

The fit is the third of the process, so that code is compiled and imported: kernel ``Gaussian(0.3)``, 60 rows of 4
columns, two classes; parameters are the defaults. The prediction, or the transformation, of one row is the third after
that fit. `mercer.compress` reduces such an `SVC` to five vectors.

calls
    Events "call" of `sys.setprofile` for code under ``src/mercer``: functions, comprehensions, steps of generators.
    Compiled code, C and other threads are not seen.
functions, files
    Numbers of different ones; a comprehension counts as a function.
depth
    Largest number of functions of Mercer that are active at once.
"""

import argparse
import functools
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import mercer as mc

SOURCE = Path(mc.__file__).parent
DEFAULT = "SVC", "KernelPCA", "KernelRidge", "compress"
# The fit that is traced.
THIRD = 3


@dataclass
class Node:
    """A function in the tree of calls, with the number of calls from its place."""

    calls: int = 0
    inner: dict = field(default_factory=dict)


@dataclass
class Trace:
    """The calls of Mercer's functions while a function runs."""

    counts: Counter = field(default_factory=Counter)
    depth: int = 0
    root: Node = field(default_factory=Node)

    @property
    def calls(self):
        return self.counts.total()

    @property
    def functions(self):
        return len(self.counts)

    @property
    def files(self):
        return len({file for file, _ in self.counts})


def trace(function, folder=SOURCE):
    """Return the trace of a call without arguments; ``folder`` holds the files whose functions count."""
    found = Trace()
    stack = [found.root]
    start = f"{folder}/"

    def watch(frame, event, _argument):
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(start):
            return
        if event == "return":
            stack.pop()
            return
        name = code.co_filename.removeprefix(start), code.co_qualname
        found.counts[name] += 1
        node = stack[-1].inner.setdefault(name, Node())
        node.calls += 1
        stack.append(node)
        found.depth = max(found.depth, len(stack) - 1)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def data():
    """Return 60 rows of 4 columns and their labels."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 4)) + y[:, None], y


def traces(name):
    """Yield (text, trace) for the fit of an estimator and its output for one row, or for `compress`."""
    X, y = data()
    kernel = mc.Gaussian(0.3)
    if name == "compress":
        compress = functools.partial(
            mc.compress, mc.SVC(kernel=kernel).fit(X, y), X, y, n_vectors=5, random_state=0
        )
        compress()
        yield "compress to 5 vectors", trace(compress)
        return
    make = functools.partial(getattr(mc, name), kernel=kernel)
    for _ in range(THIRD - 1):
        make().fit(X, y)
    model = make()
    yield f"{name}.fit", trace(lambda: model.fit(X, y))
    for method in ("predict", "transform"):
        if hasattr(model, method):
            output = functools.partial(getattr(model, method), X[:1])
            for _ in range(THIRD - 1):
                output()
            yield f"{name}.{method} of one row", trace(output)
            return


def tree(node, depth, indent=0):
    """Yield the lines of a tree of calls: number of calls, function and file."""
    if indent < depth:
        for (file, function), inner in node.inner.items():
            yield f"{inner.calls:8}  {'  ' * indent}{function}  {file}"
            yield from tree(inner, depth, indent + 1)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=DEFAULT, help="estimators, or compress")
    parser.add_argument(
        "--most", type=int, default=0, help="print as many of the functions called most often"
    )
    parser.add_argument("--tree", type=int, default=0, help="print who calls whom, to this depth")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{'':32}{'calls':>8}{'functions':>11}{'files':>7}{'depth':>7}")
    for name in options.names or DEFAULT:
        for text, found in traces(name):
            print(f"{text:32}{found.calls:8}{found.functions:11}{found.files:7}{found.depth:7}")
            for (file, function), calls in found.counts.most_common(options.most):
                print(f"{calls:8}  {function}  {file}")
            for line in tree(found.root, options.tree):
                print(line)


if __name__ == "__main__":
    main()
