"""Data sets for tests, experiments and examples, read from this machine; only `fetch` downloads.

A set is one ``.npz`` file of plain arrays in the folder of the environment variable ``MERCER_DATA`` or in the cache:
``MERCER_CACHE``, else ``mercer`` in ``XDG_CACHE_HOME``, else ``~/.cache/mercer``.
"""

import itertools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, check_number, check_positive, shown
from mercer._compute.points import as_dense_rows
from mercer._elsewhere import explain_names
from mercer.formats.files import replacing
from mercer.kernels.graphs import Graph

__all__ = ["available", "fetch", "load", "load_objects", "smooth"]

# Name on OpenML, version, training rows, types of pixels and of labels, and the label of the digit 0.
_OPENML = {
    "mnist": ("mnist_784", 1, 60_000, np.uint8, np.uint8, 0),
    "usps": ("USPS", 2, 7_291, np.float32, np.int8, 1),
}


def load(name: str) -> Any:
    """Load a data set from this machine.

    Parameters
    ----------
    name : str
        The file name without ``.npz``.

    Returns
    -------
    sklearn.utils.Bunch
        The arrays, by key and by attribute: usually ``X, y``, or ``X_train, y_train, X_test, y_test`` if there is a
        canonical split.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the message names the folders that were searched.
    ValueError
        If `name` is not a plain name, or the file holds other objects than plain arrays.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.load("no_such_set")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    from sklearn.utils import Bunch

    if not isinstance(name, str) or re.fullmatch(r"\w[\w-]*", name) is None:
        raise ValueError(
            f"name = {shown(name)} must be a plain name of letters, digits, '_' and '-', without folder and '.npz'."
        )
    for folder in _folders():
        path = folder / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return Bunch(**arrays)
    searched = " or ".join(str(folder) for folder in _folders())
    remedy = f"call mercer.datasets.fetch({name!r}) or " if name in _OPENML else ""
    raise FileNotFoundError(
        f"data set {shown(name)} was not found in {searched}; {remedy}set the environment variable MERCER_DATA to the "
        f"folder of {name}.npz."
    )


def load_objects(name: str) -> Any:
    """Load a data set of graphs, strings or texts from this machine, as a list of objects.

    Parameters
    ----------
    name : str
        The file name without ``.npz``. The file holds graphs in the arrays of the TU Dortmund collection (``A``,
        ``graph_indicator``, ``graph_labels``, ``node_labels``), texts as ``text`` and ``offsets``, or strings of equal
        length as rows ``X`` of ASCII codes.

    Returns
    -------
    sklearn.utils.Bunch
        ``X``, a list of ``mercer.graphs.Graph`` or str, and ``y``, their labels.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file holds other arrays.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.load_objects("no_such_set")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    from sklearn.utils import Bunch

    arrays = load(name)
    if "graph_indicator" in arrays:
        return Bunch(X=_graphs(arrays), y=arrays.graph_labels)
    if "offsets" in arrays:
        text = arrays.text.tobytes()
        ends = arrays.offsets.tolist()
        return Bunch(X=[text[a:b].decode() for a, b in itertools.pairwise(ends)], y=arrays.y)
    if "X" in arrays and arrays.X.dtype == np.uint8 and arrays.X.ndim == 2 and arrays.X.max() < 128:
        return Bunch(X=[row.tobytes().decode("ascii") for row in arrays.X], y=arrays.y)
    raise ValueError(
        f"data set {shown(name)} holds the arrays {', '.join(sorted(arrays))}, which are neither graphs nor strings; "
        "read rows of numbers by mercer.datasets.load."
    )


def _graphs(arrays):
    """Return the graphs of arrays of the TU Dortmund collection, whose nodes and graphs are counted from 1."""
    starts = np.searchsorted(arrays.graph_indicator, np.arange(1, len(arrays.graph_labels) + 2))
    edges = arrays.A[np.argsort(arrays.A[:, 0], kind="stable")].astype(np.int64) - 1
    cuts = np.searchsorted(edges[:, 0], starts)
    labels = arrays.get("node_labels")
    graphs = []
    for i, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
        part = edges[cuts[i] : cuts[i + 1]] - start
        adjacency = sp.csr_array(
            (np.ones(len(part), np.int8), part.T), (stop - start, stop - start)
        )
        graphs.append(Graph(adjacency, None if labels is None else labels[start:stop]))
    return graphs


def available() -> list[str]:
    """Return the sorted names of the data sets on this machine.

    Examples
    --------
    >>> from mercer import datasets
    >>> isinstance(datasets.available(), list)
    True
    """
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.npz")})


def fetch(name: str) -> Any:
    """Download a data set from OpenML to the cache and load it.

    Parameters
    ----------
    name : {"mnist", "usps"}
        With the canonical splits: 60 000 and 10 000 rows (pixels 0 to 255); 7 291 and 2 007 rows (pixels -1 to 1).

    Returns
    -------
    sklearn.utils.Bunch
        With ``X_train, y_train, X_test, y_test``, as from `load`.

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.fetch("iris")
    Traceback (most recent call last):
    ValueError: name = 'iris' must be one of 'mnist', 'usps'.
    """
    if name not in _OPENML:
        raise ValueError(f"name = {shown(name)} must be one of {', '.join(map(repr, _OPENML))}.")
    from sklearn.datasets import fetch_openml

    title, version, n_train, of_pixels, of_labels, zero = _OPENML[name]
    pixels, labels = fetch_openml(
        title, version=version, return_X_y=True, as_frame=False, parser="liac-arff"
    )
    X = pixels.astype(of_pixels)
    y = labels.astype(of_labels) - zero
    _store(
        _cache() / f"{name}.npz",
        X_train=X[:n_train],
        y_train=y[:n_train],
        X_test=X[n_train:],
        y_test=y[n_train:],
    )
    return load(name)


def smooth(images: Array, width: float = 0.75, background: float = -1.0) -> Array:
    """Smooth square images by a Gaussian, as Schoelkopf et al. (1999) smoothed the USPS digits.

    Each row is an image and is convolved with the normalised, sampled density of a Gaussian; pixels outside of the
    image have the value ``background``.

    Parameters
    ----------
    images : ndarray of shape (n, side * side)
        Rows of pixels.
    width : float, default=0.75
        Standard deviation in pixels.
    background : float, default=-1.0
        Value beyond the border.

    Returns
    -------
    ndarray of shape (n, side * side)
        float32 for float32; integers become floats.

    Raises
    ------
    ValueError
        If the number of pixels is not a square, or `width` is not positive.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE Trans. Neural Networks 10 (1999). This smoothing reduces the mean variance of a USPS pixel from 0.47
    to 0.26 (published: 0.25).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import datasets
    >>> bool((datasets.smooth(np.full((2, 9), -1.0)) == -1).all())
    True
    """
    from scipy.ndimage import gaussian_filter

    images = as_dense_rows(images, "images")
    side = int(np.sqrt(images.shape[-1]))
    if side * side != images.shape[-1]:
        raise ValueError(
            f"images has shape {images.shape}; rows must be square images, (n, side * side)."
        )
    check_positive("width", width)
    if width > 100 * side:
        raise ValueError(
            f"width = {shown(width)} must be at most {100 * side}, a hundred times the side of the images."
        )
    check_number("background", background)
    stack = images.reshape(-1, side, side)
    return gaussian_filter(
        stack, sigma=(0, width, width), mode="constant", cval=background
    ).reshape(images.shape)


def _folders():
    given = os.environ.get("MERCER_DATA")
    return ([Path(given)] if given else []) + [_cache()]


def _cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("MERCER_CACHE") or Path(base, "mercer"))


def _store(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


explain_names(__name__)
