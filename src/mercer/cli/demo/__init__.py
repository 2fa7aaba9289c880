"""The page of `mercer demo`: compression and denoising of digits."""

import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import mercer
from mercer.cli.demo import compression, denoising, page
from mercer.cli.failure import naming
from mercer.plot.axes import require


def write(
    folder: Path,
    callback: Callable[[str], object],
    setting: denoising.Setting | None = None,
    sizes: Sequence[int] = compression.SIZES,
) -> Path:
    """Run all experiments, write ``folder/index.html`` and return its path; ``callback(text)`` announces each part.

    A folder that is not writable and a missing matplotlib raise an error before any computation.
    """
    require()
    path = _created(Path(folder))
    start = time.perf_counter()
    # one thread: the matrices are small, and waiting threads would dominate the times on a busy machine
    with threadpool_limits(1):
        chapters = _chapters(callback, setting or denoising.Setting(), sizes)
    lead = (
        "Mercer is a scikit-learn-compatible library of kernel methods. This page was computed on this machine from "
        "the digits of scikit-learn; every number comes from this run."
    )
    text = page.document(
        "Mercer: kernel methods on digits", lead, chapters, _foot(time.perf_counter() - start)
    )
    path.write_text(text, encoding="utf-8")
    return path


def _chapters(callback, setting, sizes):
    """Run the experiments in order and return the chapters."""
    compressed = compression.run(setting, callback, sizes)
    data = denoising.load(setting)
    outcomes = denoising.compare(data, setting, callback)
    callback("drawing the digits")
    return [
        compression.chapter(compressed),
        denoising.chapter(data, setting, outcomes),
        denoising.cost(data, outcomes),
        ("Denoising in five lines", page.code(denoising.SNIPPET)),
        _onward(),
    ]


def _onward():
    """Return the chapter with the commands and calls that come next."""
    commands = "mercer explore\nmercer compress MODEL --data FILE --vectors 100 --to c"
    text = (
        "<p><code>mercer explore</code> tries kernels on a table of yours in the browser, and <code>mercer "
        "compress</code> compresses a model file of Mercer or LIBSVM. In Python, <code>help(mercer)</code> lists the "
        "library; the guide and the gallery are in the folder docs, which <code>make docs</code> builds.</p>"
    )
    return "Next", text + page.code(commands)


def _created(folder):
    """Return the path of the page in a folder that exists and is writable."""
    path = folder / "index.html"
    with naming(f"cannot write {path}", "name another folder: mercer demo FOLDER"):
        folder.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    return path


def _foot(seconds):
    return (
        f"Made in {seconds:.0f} s on {os.cpu_count()} processors ({platform.machine()}) by Mercer "
        f"{mercer.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}."
    )
