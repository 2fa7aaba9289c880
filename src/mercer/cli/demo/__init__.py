"""The page that `mercer demo` writes: what the library does, on digits and on toys, with its own numbers."""

import os
import platform
import time
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import mercer
from mercer.cli.demo import chapters, compressing, digits, eigenvectors, page, toys
from mercer.plot import _axes

__all__ = ["Setting", "write"]

Setting = digits.Setting


def write(folder, say, setting=None, n_grid=100, sizes=compressing.SIZES):
    """Run the experiments and write ``index.html``.

    Parameters
    ----------
    folder : path
        Made when it is not there.
    say : callable
        Called with a sentence before each part.
    setting : Setting, optional
        Sizes of the experiment on digits.
    n_grid : int
        Points on each axis of the contours.
    sizes : sequence of int
        Numbers of vectors to compress to.

    Returns
    -------
    Path
        Of the page.

    Raises
    ------
    OSError
        When the folder cannot be made or written to, before anything is computed.
    ModuleNotFoundError
        When matplotlib is missing, before anything is computed.
    """
    _axes.require()
    path = _claim(Path(folder))
    start = time.perf_counter()
    # The matrices are small, and on a busy machine threads that wait for one another would be most of the times.
    with threadpool_limits(1):
        body = _body(say, Setting() if setting is None else setting, n_grid, sizes)
    lead = (
        "Mercer goes from input space into the feature space of a kernel, and back. This page was made on this "
        "machine, from the digits that ship with scikit-learn; every number comes from this run."
    )
    text = page.document("Mercer: there and back", lead, body, _foot(time.perf_counter() - start))
    path.write_text(text, encoding="utf-8")
    return path


def _body(say, setting, n_grid, sizes):
    """Run one experiment after the other, and return the chapters."""
    data = digits.load(setting)
    outcomes = digits.compare(data, setting, say)
    say("drawing the digits")
    body = [chapters.denoising(data, setting, outcomes)]
    say("three clusters: contours")
    X = toys.three_clusters(np.random.default_rng(setting.seed))
    body.append(chapters.contours(toys.gaussian_components(X), X, toys.REGION, n_grid))
    say("directions of feature space")
    body.append(chapters.eigenvectors(eigenvectors.see(data.train)))
    say("three clusters: tanh")
    body.append(chapters.tanh(toys.tanh_components(X), X, toys.REGION, n_grid))
    say("what it cost")
    body += [chapters.cost(data, outcomes), chapters.snippet()]
    return [*body, compressing.chapter(compressing.run(setting, say, sizes))]


def _claim(folder):
    """Return the path of the page, in a folder that is there and can be written to."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    with path.open("a"):
        pass
    return path


def _foot(seconds):
    return (
        f"Made in {seconds:.0f} s on {os.cpu_count()} processors ({platform.machine()}) by Mercer "
        f"{mercer.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}."
    )
