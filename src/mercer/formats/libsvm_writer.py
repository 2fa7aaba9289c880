"""Writer of LIBSVM text models."""

import itertools
import os

import numpy as np
import scipy.sparse as sp

from mercer._common import as_float64, shown
from mercer.formats._as_expansion import read
from mercer.formats.files import replacing
from mercer.formats.fitted_expansion import FittedExpansion, PairClassifier, PrecomputedColumns
from mercer.formats.libsvm import KERNELS
from mercer.kernels import FunctionKernel, Precomputed, Scaled
from mercer.solvers.svm.multiclass import class_signs, class_slices

# LIBSVM's type for each estimator of Mercer and scikit-learn, whose class names are the same.
_TYPES = {
    "SVC": "c_svc",
    "NuSVC": "nu_svc",
    "SVR": "epsilon_svr",
    "NuSVR": "nu_svr",
    "KernelRidge": "epsilon_svr",
    "OneClassSVM": "one_class",
}
# LIBSVM's name and parameters for each class of kernel.
_NAMES = {
    kind: (name, parameters) for name, (kind, parameters) in KERNELS.items() if kind is not None
}
# Labels and degrees have type int in C.
_LARGEST = int(np.iinfo(np.intc).max)


def write_libsvm(model: object, path: str | os.PathLike[str]) -> None:
    r"""Write a fitted support vector machine as a LIBSVM text model.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM or KernelRidge of Mercer or scikit-learn, or FittedExpansion
        With a linear, polynomial, Gaussian or sigmoid kernel, a multiple of one, or a precomputed matrix. Labels must
        be integers. ``KernelRidge`` (one target) becomes a model of type epsilon_svr, which predicts the same.
    path : path
        An existing file is replaced when everything is written.

    Raises
    ------
    TypeError
        For another model or kernel.
    ValueError
        For labels that are not integers, several targets, or a prediction rule that LIBSVM does not have.
    NotFittedError
        For a model that is not fitted.

    Notes
    -----
    Numbers are written with enough digits to read back the same float64 values; decision values differ by the rounding
    of sums, about 1e-15 of their terms. A one-vs-rest model becomes one classifier per pair of classes with decision
    values s_i - s_j, which vote for the class with the largest s. LIBSVM stores each vector under one class, with
    coefficients for pairs with that class only: a vector that other pairs need too, as after ``mercer.compress``, is
    written once per class, at most c - 1 times. Columns that are zero in all vectors are not recorded. The curves of
    scikit-learn's ``probability=True`` are written too, for ``svm-predict -b 1``.

    References
    ----------
    Chang, Lin, *LIBSVM: a library for support vector machines*, ACM TIST 2 (2011).

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats import write_libsvm
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, 1, 2, 2])
    >>> model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "svm.model")
    >>> write_libsvm(model, path)
    >>> np.allclose(mc.as_expansion(path)(X)[:, 0], model.decision_function(X), rtol=0, atol=1e-15)
    True
    """
    fitted, svm_type = _fitted(model)
    psi = fitted.expansion
    kernel = psi.kernel
    factor = 1.0
    while isinstance(kernel, Scaled):
        factor *= kernel.factor
        kernel = kernel.kernel
    lines = [f"svm_type {svm_type}", *_kernel_lines(kernel)]
    coef = factor * np.asarray(psi.dense_coef(), np.float64)
    intercept = as_float64(fitted.intercept)
    labels = None if fitted.classes is None else _integer_labels(fitted.classes)
    if labels is None:
        blocks = [(np.flatnonzero(coef.any(axis=1)), coef)]
    elif isinstance(fitted, PairClassifier):
        used = coef.any(axis=1)
        blocks = [
            (own.start + np.flatnonzero(used[own]), coef) for own in class_slices(fitted.counts)
        ]
    else:
        blocks, intercept = _by_class(
            coef, intercept, len(labels), getattr(model, "multi_class", "ovo")
        )
        if len(labels) == 2:
            # the first of two labels is LIBSVM's positive class
            labels = labels[::-1]
            blocks = blocks[::-1]
    lines += [f"nr_class {2 if labels is None else len(labels)}"]
    lines += [f"total_sv {sum(len(rows) for rows, _ in blocks)}", f"rho {_join(0.0 - intercept)}"]
    if labels is not None:
        lines += [
            f"label {' '.join(map(str, labels))}",
            *_probability_lines(model, len(labels)),
            f"nr_sv {' '.join(str(len(rows)) for rows, _ in blocks)}",
        ]
    lines += ["SV"]
    entries = _entries(psi.points)
    lines += [f"{_join(own[i])} {entries(i)}" for rows, own in blocks for i in rows]
    text = "\n".join([*lines, ""])
    with replacing(path) as file:
        file.write(text.encode("ascii"))


def _fitted(model):
    """Return the model as an expansion and LIBSVM's type for it, or raise if LIBSVM has no such model."""
    name = type(model).__name__
    if isinstance(model, FittedExpansion):
        _require_pairs(model)
        return model, "epsilon_svr" if model.classes is None else "c_svc"
    if name not in _TYPES:
        raise TypeError(
            f"LIBSVM has no model for {name}; write_libsvm takes {', '.join(_TYPES)} of Mercer or scikit-learn. A "
            "file of LIBSVM holds no scaler: mercer.formats.to_onnx and to_c hold a pipeline, or give model[-1], and "
            "in prediction the points model[:-1].transform(X). mercer.save takes any estimator of Mercer."
        )
    fitted = read(model)
    if fitted.classes is None and len(fitted.expansion) != 1:
        raise ValueError(
            f"{name} has {len(fitted.expansion)} targets; LIBSVM predicts one, so fit and write one model per target."
        )
    if getattr(model, "break_ties", False):
        raise ValueError(
            "break_ties = True must be False; LIBSVM predicts the first of the classes with most votes."
        )
    return fitted, _TYPES[name]


def _require_pairs(fitted):
    """Raise unless an expansion has one vector, or one for each pair of classes."""
    m = len(fitted.expansion)
    if fitted.classes is None:
        if m != 1:
            raise ValueError(
                f"the expansion has {m} vectors; a LIBSVM model without classes must have 1."
            )
        return
    c = len(fitted.classes)
    if 2 * m != c * (c - 1) or (c > 2 and not fitted.pairs):
        raise ValueError(
            f"the expansion has {m} vectors for {c} classes; LIBSVM needs one for each pair of classes. Give the SVC "
            'itself, or one that was fitted with multi_class="ovo".'
        )


def _kernel_lines(kernel):
    if isinstance(kernel, Precomputed) or (
        isinstance(kernel, FunctionKernel) and isinstance(kernel.function, PrecomputedColumns)
    ):
        return ["kernel_type precomputed"]
    if type(kernel) not in _NAMES:
        raise TypeError(
            f"LIBSVM has no kernel {shown(kernel)}; it has {', '.join(kind.__name__ for kind in _NAMES)} and "
            "precomputed "
            'matrices. Fit with one of these, for example kernel="precomputed" with the matrix of your kernel; '
            "mercer.save takes other kernels, and joblib Python functions."
        )
    name, numbers = _NAMES[type(kernel)]
    if "degree" in numbers and kernel.degree > _LARGEST:
        raise ValueError(
            f"degree = {kernel.degree} must be at most {_LARGEST}, the largest integer of LIBSVM."
        )
    values = {key: getattr(kernel, key) for key in numbers}
    return [
        f"kernel_type {name}",
        *(
            f"{key} {int(value) if key == 'degree' else repr(float(value))}"
            for key, value in values.items()
        ),
    ]


def _probability_lines(model, c):
    """Return the curves 1 / (1 + exp(A f + B)) of the pairs of scikit-learn's ``probability=True``."""
    slopes = getattr(model, "_probA", None)
    if slopes is None or not len(slopes):
        return []
    # of two labels the second comes first, so that f changes its sign and the probability becomes that of the other
    shifts = 0.0 - model._probB if c == 2 else model._probB  # noqa: SLF001 - the public name warns
    return [f"probA {_join(slopes)}", f"probB {_join(shifts)}"]


def _integer_labels(classes):
    """Return the labels as Python integers, or raise for one that LIBSVM cannot write."""
    for label in classes.tolist():
        is_integer = (
            not isinstance(label, (str, bytes, bool)) and label is not None and label == int(label)
        )
        if not is_integer or abs(label) > _LARGEST:
            raise ValueError(
                f"label {shown(label)} must be an integer of 32 bits for LIBSVM; fit to integer labels, such as "
                "sklearn.preprocessing.LabelEncoder().fit_transform(y), and keep the names beside the model."
            )
    return [int(label) for label in classes.tolist()]


# --- coefficients ----------------------------------------------------------------------------------------------------


def _by_class(coef, intercept, c, multi_class):
    """Return the rows and coefficients (n, c - 1) of each class in LIBSVM's order, and the intercepts of all pairs."""
    signs = class_signs(c, "ovo")
    if c > 2 and multi_class == "ovr":
        coef = coef @ signs
        intercept = intercept @ signs
    packed = np.zeros((c, len(coef), c - 1))
    owner = _owners(coef, signs)
    for column, (i, j) in enumerate(itertools.combinations(range(c), 2)):
        # pair (i, j) reads column j - 1 of the vectors of class i and column i of the vectors of class j
        at_second = owner == j
        packed[i, ~at_second, j - 1] = coef[~at_second, column]
        packed[j, at_second, i] = coef[at_second, column]
    return [(np.flatnonzero(own.any(axis=1)), own) for own in packed], intercept


def _owners(coef, signs):
    """Return for each vector the class that all its pairs have in common, or -1.

    A vector of one pair fits two classes; it goes, as in training, to the class that it votes for.
    """
    owner = np.full(len(coef), -1)
    for k, own in enumerate(signs):
        fits = ~coef[:, own == 0].any(axis=1)
        owner[fits & ((owner < 0) | (coef * own >= 0).all(axis=1))] = k
    return owner


# --- text ------------------------------------------------------------------------------------------------------------


def _entries(points):
    """Return a function that gives the index:value pairs of a vector by its number."""
    if np.ndim(points) == 1:
        return lambda i: f"0:{int(points[i]) + 1}"
    rows = sp.csr_matrix(points)

    def entry(i):
        own = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[own].tolist(), rows.data[own].tolist(), strict=True)
        return " ".join(f"{j + 1}:{value!r}" for j, value in pairs if value)

    return entry


def _join(values):
    return " ".join(map(repr, np.asarray(values).tolist()))
