"""Data sets for tests, experiments and examples: found on this machine, never fetched unasked.

A set is one ``.npz`` file of plain arrays. It is looked for in the folder that the environment variable ``MERCER_DATA``
names, then in a cache: ``MERCER_CACHE``, or ``mercer`` in ``XDG_CACHE_HOME``, or ``~/.cache/mercer``.
"""

import os
import re
import tempfile
from pathlib import Path

import numpy as np

__all__ = ["available", "fetch", "load", "smooth"]

# name on OpenML, version, rows for training, map of pixels to the scale of the published experiments
_OPENML = {
    "mnist": ("mnist_784", 1, 60_000, lambda pixels, labels: (pixels.astype(np.uint8), labels.astype(np.uint8))),
    "usps": ("USPS", 2, 7_291, lambda pixels, labels: (pixels.astype(np.float32), (labels.astype(np.int8) - 1))),
}


def load(name):
    """Load a data set from this machine.

    Parameters
    ----------
    name : str
        The file's name without ``.npz``.

    Returns
    -------
    sklearn.utils.Bunch
        The arrays, by key and by attribute: usually ``X, y``, or ``X_train, y_train, X_test, y_test`` where a
        canonical split exists.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the message says where it was looked for, and what to set.
    ValueError
        If `name` is not a plain name, or the file holds anything but plain arrays.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.load("no_such_set")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    from sklearn.utils import Bunch

    _check_name(name)
    for folder in _folders():
        path = folder / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return Bunch(**arrays)
    looked = " and ".join(str(folder) for folder in _folders())
    remedy = f"call mercer.datasets.fetch({name!r}) or " if name in _OPENML else ""
    raise FileNotFoundError(
        f"no data set {name!r} in {looked}; {remedy}set the environment variable MERCER_DATA to the folder "
        f"that holds {name}.npz."
    )


def available():
    """Names of the data sets on this machine, sorted.

    Examples
    --------
    >>> from mercer import datasets
    >>> isinstance(datasets.available(), list)
    True
    """
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.npz")})


def fetch(name):
    """Download a data set from OpenML into the cache and load it.

    Parameters
    ----------
    name : {"mnist", "usps"}
        With the canonical split: 60 000 and 10 000 rows (pixels 0 to 255), 7 291 and 2 007 rows (pixels -1 to 1).

    Returns
    -------
    sklearn.utils.Bunch
        As `load`: ``X_train, y_train, X_test, y_test``.

    Raises
    ------
    ValueError
        If OpenML is not known to have the set.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.fetch("iris")
    Traceback (most recent call last):
    ValueError: name='iris' cannot be fetched; the sets to fetch are 'mnist', 'usps'.
    """
    if name not in _OPENML:
        raise ValueError(f"name={name!r} cannot be fetched; the sets to fetch are {', '.join(map(repr, _OPENML))}.")
    from sklearn.datasets import fetch_openml

    title, version, n_train, convert = _OPENML[name]
    pixels, labels = fetch_openml(title, version=version, return_X_y=True, as_frame=False, parser="liac-arff")
    X, y = convert(pixels, labels)
    _store(_cache() / f"{name}.npz", X_train=X[:n_train], y_train=y[:n_train], X_test=X[n_train:], y_test=y[n_train:])
    return load(name)


def smooth(images, width=0.75, background=-1.0):
    """Smooth square images by a Gaussian, as the digits of the experiments of 1999 were.

    Each row is convolved, as an image, with the normalised sampled density of a Gaussian; outside there is background.

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
        float32 for float32; integers become floating point.

    Raises
    ------
    ValueError
        If the number of pixels is not a square, or `width` is not positive.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE Trans. Neural Networks 10 (1999). Smoothed after this recipe the mean variance of a USPS pixel falls
    from 0.47 to 0.26 (published: 0.25).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import datasets
    >>> bool((datasets.smooth(np.full((2, 9), -1.0)) == -1).all())
    True
    """
    from scipy.ndimage import gaussian_filter

    images = np.asarray(images)
    side = int(np.sqrt(images.shape[-1])) if images.ndim == 2 else 0
    if side == 0 or side * side != images.shape[-1]:
        raise ValueError(f"images has shape {images.shape}; rows must be square images, (n, side * side).")
    if not width > 0:
        raise ValueError(f"width={width!r} must be positive.")
    stack = images.reshape(-1, side, side).astype(np.result_type(images.dtype, np.float32), copy=False)
    return gaussian_filter(stack, sigma=(0, width, width), mode="constant", cval=background).reshape(images.shape)


def _check_name(name):
    if not isinstance(name, str) or re.fullmatch(r"\w[\w-]*", name) is None:
        raise ValueError(
            f"name={name!r} is not a plain name of letters, digits, '_' and '-'; leave out folder and '.npz'."
        )


def _folders():
    given = os.environ.get("MERCER_DATA")
    return ([Path(given)] if given else []) + [_cache()]


def _cache():
    given = os.environ.get("MERCER_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mercer"


def _store(path, **arrays):
    # Written beside its place and moved there, so that an interrupted download leaves no half file.
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
