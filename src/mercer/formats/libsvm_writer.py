"""Writer of LIBSVM's text models: whatever runs LIBSVM, in any language, runs the model."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mercer.formats._as_expansion import FittedScores, GivenValues, as_expansion
from mercer.kernels.algebra import Scaled
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.function import FunctionKernel
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian

# What LIBSVM calls the models of Mercer and of scikit-learn, by the names that both share.
_TYPES = {
    "SVC": "c_svc",
    "NuSVC": "nu_svc",
    "SVR": "epsilon_svr",
    "NuSVR": "nu_svr",
    "KernelRidge": "epsilon_svr",
    "OneClassSVM": "one_class",
}
_KERNELS = {
    Linear: ("linear", ()),
    Polynomial: ("polynomial", ("degree", "gamma", "coef0")),
    Gaussian: ("rbf", ("gamma",)),
    Sigmoid: ("sigmoid", ("gamma", "coef0")),
}
# Labels and degrees are of type int in C.
_LARGEST = 2**31 - 1


def write_libsvm(model, path):
    r"""Write a fitted support vector machine as a text model of LIBSVM.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM or KernelRidge of Mercer or scikit-learn, or FittedScores
        With a linear, polynomial, Gaussian or sigmoid kernel, a multiple of one, or a given matrix. Labels must be
        whole numbers. ``KernelRidge`` (one target) becomes a model of type epsilon_svr, which predicts the same.
    path : path
        A file there is replaced.

    Raises
    ------
    TypeError
        For another model or kernel.
    ValueError
        For labels that are no whole numbers, several targets, or a rule of prediction that LIBSVM does not have.
    NotFittedError
        For a model that is not fitted.

    Notes
    -----
    Numbers are written with as many digits as tell them apart, so reading the file gives the same float64 values back;
    scores differ by the rounding of sums, about 1e-15 of their terms. A machine of each class against the rest becomes
    pairs of classes, s_i - s_j, which vote for the class with the largest score. LIBSVM keeps each vector under one
    class, for pairs with that class only: a vector that other pairs need too, as after ``mercer.compress``, is written
    once for each class it takes, up to c - 1 times. Columns that are zero in all vectors leave no trace in the file.

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
    text = model_text(model)
    Path(os.fspath(path)).write_text(text, encoding="ascii", newline="\n")


def model_text(model):
    """Return the text of a fitted machine as LIBSVM writes it.

    Parameters
    ----------
    model : estimator or FittedScores
        As in `write_libsvm`.

    Returns
    -------
    str
    """
    scores, svm_type = _scores(model)
    kernel, factor = scores.expansion.kernel, 1.0
    while isinstance(kernel, Scaled):
        kernel, factor = kernel.kernel, factor * kernel.factor
    lines = [f"svm_type {svm_type}", *_kernel_lines(kernel)]
    coef, intercept = np.asarray(scores.expansion.coef, np.float64) * factor, np.asarray(scores.intercept, np.float64)
    if scores.classes is None:
        lines += ["nr_class 2"]
        blocks, labels = [(np.flatnonzero(coef.any(axis=1)), coef)], None
    else:
        labels = _whole_labels(scores.classes)
        blocks, intercept = _by_class(coef, intercept, len(labels), getattr(model, "multi_class", "ovo"))
        lines += [f"nr_class {len(labels)}"]
        # LIBSVM's positive class of two is its first
        labels = labels[::-1] if len(labels) == 2 else labels
    lines += [f"total_sv {sum(len(rows) for rows, _ in blocks)}", f"rho {_join(0.0 - intercept)}"]
    if labels is not None:
        lines += [f"label {' '.join(map(str, labels))}", f"nr_sv {' '.join(str(len(rows)) for rows, _ in blocks)}"]
    lines += ["SV"]
    entries = _entries(scores.expansion.points)
    lines += [f"{_join(own[i])} {entries(i)}" for rows, own in blocks for i in rows]
    return "\n".join(lines) + "\n"


def _scores(model):
    """Return the scores and LIBSVM's type, or raise for a model that LIBSVM has none for."""
    name = type(model).__name__
    if isinstance(model, FittedScores):
        if model.classes is None and len(model.expansion) != 1:
            raise ValueError(f"a model of LIBSVM gives one value a point, got {len(model.expansion)} without classes.")
        return model, "epsilon_svr" if model.classes is None else "c_svc"
    if name not in _TYPES:
        raise TypeError(
            f"LIBSVM has no model for {name}; write_libsvm takes {', '.join(_TYPES)} of Mercer or scikit-learn, and of "
            "a pipeline its last step. mercer.save takes any estimator of Mercer."
        )
    scores = as_expansion(model)
    if scores.classes is None and len(scores.expansion) != 1:
        raise ValueError(
            f"LIBSVM predicts one target, {name} has {len(scores.expansion)}; write a model of each target alone."
        )
    if getattr(model, "break_ties", False):
        raise ValueError("break_ties = True: LIBSVM takes the first of the classes with most votes; set it to False.")
    return scores, _TYPES[name]


def _kernel_lines(kernel):
    if isinstance(kernel, Precomputed) or (
        isinstance(kernel, FunctionKernel) and isinstance(kernel.function, GivenValues)
    ):
        return ["kernel_type precomputed"]
    if type(kernel) not in _KERNELS:
        raise TypeError(
            f"LIBSVM has no kernel {kernel!r}; it has {', '.join(kind.__name__ for kind in _KERNELS)} and given "
            'matrices. Train with one of these, or with kernel="precomputed" on the matrix of yours; mercer.save '
            "takes every kernel of closed form."
        )
    name, numbers = _KERNELS[type(kernel)]
    if "degree" in numbers and kernel.degree > _LARGEST:
        raise ValueError(f"degree = {kernel.degree} is beyond LIBSVM's largest whole number, {_LARGEST}.")
    values = {key: getattr(kernel, key) for key in numbers}
    return [
        f"kernel_type {name}",
        *(f"{key} {int(value) if key == 'degree' else repr(float(value))}" for key, value in values.items()),
    ]


def _whole_labels(classes):
    """Return the labels as Python integers, or raise for one that LIBSVM cannot write."""
    for label in classes.tolist():
        whole = not isinstance(label, (str, bytes, bool)) and label is not None and label == int(label)
        if not whole or abs(label) > _LARGEST:
            raise ValueError(
                f"LIBSVM writes labels as whole numbers of 32 bits, got {label!r}; train on numbered labels, such as "
                "sklearn.preprocessing.LabelEncoder().fit_transform(y), and keep the names beside the model."
            )
    return [int(label) for label in classes.tolist()]


# --- the coefficients ------------------------------------------------------------------------------------------------


def _by_class(coef, intercept, c, multi_class):
    """Return for each class, in LIBSVM's order, its rows and their coefficients (n, c - 1), and the thresholds."""
    if c == 2:
        used, positive = coef.any(axis=1), coef[:, 0] > 0
        # the sums do not depend on it, but real files have the vectors of a class together
        return [(np.flatnonzero(used & positive), coef), (np.flatnonzero(used & ~positive), coef)], intercept
    pairs = list(combinations(range(c), 2))
    if multi_class == "ovr":
        first, second = np.transpose(pairs)
        coef, intercept = coef[:, first] - coef[:, second], intercept[first] - intercept[second]
    packed = np.zeros((c, len(coef), c - 1))
    owner = _owners(coef, pairs, c)
    for column, (i, j) in enumerate(pairs):
        # a pair reads column j - 1 of the vectors of class i and column i of those of class j
        at_second = owner == j
        packed[i, ~at_second, j - 1] = coef[~at_second, column]
        packed[j, at_second, i] = coef[at_second, column]
    return [(np.flatnonzero(own.any(axis=1)), own) for own in packed], intercept


def _owners(coef, pairs, c):
    """Return for each vector the class that all of its pairs have in common, -1 where there is none.

    A vector of one pair could be under either class; as in training it is under the one that it speaks for.
    """
    owner = np.full(len(coef), -1)
    for k in range(c):
        others = [column for column, pair in enumerate(pairs) if k not in pair]
        speaks = np.array([1 if pair[0] == k else -1 for pair in pairs])
        fits = ~coef[:, others].any(axis=1)
        owner[fits & ((owner < 0) | (coef * speaks >= 0).all(axis=1))] = k
    return owner


# --- the text --------------------------------------------------------------------------------------------------------


def _entries(points):
    """Return a function from the number of a vector to its index:value pairs."""
    if np.ndim(points) == 1:
        return lambda i: f"0:{int(points[i]) + 1}"
    rows = sp.csr_matrix(points)

    def entry(i):
        own = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[own].tolist(), rows.data[own].tolist(), strict=True)
        return " ".join(f"{j + 1}:{value!r}" for j, value in pairs if value)

    return entry


def _join(values):
    return " ".join(repr(value) for value in np.asarray(values).tolist())
