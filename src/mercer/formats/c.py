"""to_c: fitted models as one C99 file without memory allocation, for any C compiler, down to microcontrollers."""

import os
import re
from dataclasses import dataclass

import numpy as np

from mercer._common import MaybeNone, PointsLike, shown
from mercer.formats.c_source import SOURCES, Source
from mercer.formats.files import replacing
from mercer.formats.quantised import CODED, accuracy, checked, quantise, rounded, uncoded

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
# The types of tables and of arrays on the stack, as those of NumPy; pointers have four bytes on microcontrollers.
_DTYPES = {
    f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in ("8", "16", "32")
}
_DTYPES |= {
    "double": "double",
    "float": "single",
    "int": "int32",
    "long long": "int64",
    "char *const": "uint32",
}
_TYPES = "|".join(map(re.escape, _DTYPES))
_TABLE = re.compile(rf"^(?:static const|\w+_table|const) ({_TYPES}) \w+\[(\d+)\] = ", re.MULTILINE)
_ARRAY = re.compile(rf"^ +({_TYPES}) \w+\[(\d+)\]", re.MULTILINE)


@dataclass(frozen=True)
class Exported:
    """Size and accuracy of an exported model.

    Attributes
    ----------
    flash : int
        Bytes of the tables: vectors, coefficients, labels. The machine code adds some kB.
    ram : int
        Bytes of the arrays on the stack during a call.
    max_error : float or None
        Largest error of a score at the points X by the operations of the file, with an exact exponential function;
        that of the file has a relative error of 1e-5.
    label_agreement : float or None
        Share of the points X whose label is that of the model; None without labels.
    """

    flash: int
    ram: int
    max_error: float | MaybeNone = None
    label_agreement: float | MaybeNone = None


def to_c(
    model: object,
    path: str | os.PathLike[str],
    dtype: str = "float64",
    prefix: str = "model",
    X: PointsLike | None = None,
) -> Exported:
    r"""Write a fitted model as one C99 file that needs only the mathematics library and allocates no memory.

    .. math:: \text{scores}_j(x) = \sum_i A_{ij} k(x, z_i) + b_j

    Parameters
    ----------
    model : estimator, FittedExpansion, str or path
        Anything that `mercer.as_expansion` reads or `mercer.compress` returns: models of Mercer and scikit-learn, text
        models of LIBSVM; also a pipeline that scales columns before such a model. Kernels of inner products and
        Euclidean distances, their sums, products, multiples, powers, exponentials and normalised forms, also on
        linearly mapped inputs.
    path : path
        An existing file is replaced when everything is written.
    dtype : {"float64", "float32", "float16", "int8"}
        ``double`` or ``float``, for input, arithmetic and scores; the sum over the vectors is ``double``. "float16" and
        "int8" compute in ``float`` and store the vectors in 16 or 8 bits, the coefficients in 16.
    prefix : str
        Every name in the file starts with this prefix and an underscore. It must be a letter followed by letters,
        digits and underscores, at most 64 characters.
    X : rows (n, d), optional
        Points at which the error is measured; required for "float16" and "int8", whose coefficients are refitted to the
        scores at X. Give training points, and measure the accuracy on others.

    Returns
    -------
    Exported
        With ``.flash`` and ``.ram`` in bytes, ``.max_error`` and ``.label_agreement`` at X.

    Raises
    ------
    TypeError
        For a model or kernel that cannot be exported.
    ValueError
        For another dtype or prefix, a dtype that needs X without it, numbers out of range of the dtype, labels that are
        neither integers nor strings, ``break_ties``, or several quantiles with ``crossing="sort"``.
    MemoryError
        Above 1 GB of numbers.

    Warns
    -----
    UserWarning
        For the probabilities of LIBSVM (``probability=True`` of scikit-learn's SVC), which are left out.

    Notes
    -----
    With the prefix "model" the file defines ``void model_scores(const double *x, double *out)``, which writes the m
    scores of one point: decision values, predictions of a regressor or coordinates. For SVC, NuSVC and one-class models
    it also defines ``int model_predict(const double *x)``, which returns an index into the table ``model_labels`` of
    type ``long long`` or ``char *`` (UTF-8). Where ``decision_function`` turns the values of pairs into classes, ``void
    model_decision(const double *x, double *out)`` writes its c values; ``void model_probabilities(const double *x,
    double *out)`` writes those of ``predict_proba`` of an `SVCCV` with ``calibration``, of a `TableClassifier`, and of
    scikit-learn's ``CalibratedClassifierCV`` with ``ensemble=False``. The comment at the top of the file states all
    sizes. One point costs n_vectors kernel values and n_vectors (d + m) products, n_vectors (d + c - 1) for votes of
    pairs of c classes, whose coefficients are stored as they are trained. Functions keep no state, so threads may share
    them. Distances are sums of squared differences; with "int8", each column has a scale, inner products and the sum
    over the vectors are sums of integers of 32 bits, and distances follow from them. On AVR the tables of coded models
    stay in flash memory. Scores have an error of about 1e-5 of their scale in float32 and 1e-12 in float64.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import to_c
    >>> model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(np.array([[0.0], [1.0]]), ["no", "yes"])
    >>> path = Path(tempfile.mkdtemp(), "model.c")
    >>> to_c(model, path).flash
    55
    >>> "int model_predict(const double *x)" in path.read_text()
    True
    """
    if not (isinstance(prefix, str) and _PREFIX.fullmatch(prefix)):
        raise ValueError(
            f"prefix = {shown(prefix)} must be a letter followed by letters, digits and underscores, at most 64 "
            "characters."
        )
    exported, X, expected = checked(model, dtype, X)
    if dtype in CODED:
        stored = quantise(exported, CODED[dtype], X, expected)
        text = SOURCES[dtype](stored, prefix).text()
    else:
        exported = rounded(exported)
        stored = uncoded(exported, dtype)
        text = Source(exported, prefix).text()
    with replacing(path) as file:
        file.write(text.encode("ascii"))
    return Exported(*_sizes(text, exported.labels), *accuracy(stored, X, expected))


def _sizes(text, labels):
    """Return the bytes of the tables and of the arrays on the stack in a source."""
    flash, ram = (
        sum(np.dtype(_DTYPES[kind]).itemsize * int(n) for kind, n in found.findall(text))
        for found in (_TABLE, _ARRAY)
    )
    return flash + sum(
        len(each.encode()) + 1 for each in labels or () if isinstance(each, str)
    ), ram
