"""What bounds need to know of a fitted machine: its outputs, coefficients and prices at the points it was fitted to."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._compute.points import count_points, take_points
from mercer.expansion import Expansion
from mercer.solvers.svm.newton import widened

# Coefficients are at a bound when they differ from it by this share.
_AT_BOUND = 1e-6


@dataclass(frozen=True)
class Machine:
    """One machine of a fitted model at the training points it sees: f(x) = <w, phi(x)> + b.

    Attributes
    ----------
    kernel : Kernel
    points : points (k)
        In float64 where they are numbers.
    rows : int array (k,)
        Which training row each is.
    targets : float64 array (k,)
        1 for its positive class and -1 otherwise, or the values of a regression.
    outputs : float64 array (k,)
        f(x_i).
    diagonal : float64 array (k,)
        k(x_i, x_i).
    norm : float
        |w|.
    bias : float
    coef : float64 array (k,) or None
        Signed coefficients of w, y_i alpha_i; None for a model that is no support vector machine.
    prices : float64 array (k,) or None
        C_i, what the coefficients are at most.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> machine = mc.capacity.machine(mc.SVC(kernel="linear").fit(X, y), X, y)
    >>> machine.margins.round(6), round(machine.norm, 6)
    (array([1.5, 0.5, 0.5, 1.5]), 1.0)
    """

    kernel: object
    points: object
    rows: np.ndarray
    targets: np.ndarray
    outputs: np.ndarray
    diagonal: np.ndarray
    norm: float
    bias: float
    coef: np.ndarray | None = None
    prices: np.ndarray | None = None

    def __len__(self):
        return len(self.rows)

    @property
    def margins(self):
        """y_i f(x_i), above 0 where the machine is right."""
        return self.targets * self.outputs

    @property
    def on_margin(self):
        """Which points are support vectors below their price (k,), whose y_i f(x_i) is 1."""
        require(self, "the margin")
        size = np.abs(self.coef)
        return (size > 0) & (size < np.asarray(self.prices) * (1 - _AT_BOUND))


def machine(model, X, y, sample_weight=None):
    """Return the one machine of a fitted model at its training points.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, KernelPerceptron, ...
        Fitted; anything with ``expansion_`` and ``intercept_`` of one column. Support vector machines also show
        ``support_`` and ``C``.
    X : points (n)
        Those of the fit, in its order.
    y : array (n,)
    sample_weight : array (n,), optional
        As in the fit.

    Returns
    -------
    Machine

    Raises
    ------
    ValueError
        For more than two classes, and for points that are not those of the fit.
    TypeError
        For a model whose outputs are not affine in the features.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> mc.capacity.machine(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y).coef.round(6)
    array([ 0., -2.,  2.,  0.])
    """
    found = machines(model, X, y, sample_weight)
    if len(found) > 1:
        raise ValueError(
            f"the model has {len(found)} machines, and a bound is one of a single machine: give two classes, or take "
            "mercer.capacity.span_rule, which counts the votes of all."
        )
    return found[0]


def machines(model, X, y, sample_weight=None):
    """Return all machines of a fitted model: one, one for each pair of classes, or one a class.

    Parameters
    ----------
    model, X, y, sample_weight
        As in `machine`.

    Returns
    -------
    list of Machine
        In the order of the columns of ``expansion_``.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "c"])
    >>> [each.rows.tolist() for each in mc.capacity.machines(mc.SVC(kernel="linear").fit(X, y), X, y)]
    [[0, 1], [0, 2], [1, 2]]
    """
    if not (hasattr(model, "expansion_") and hasattr(model, "intercept_")):
        check_is_fitted(model)
        raise TypeError(
            f"{type(model).__name__} has no expansion_ and intercept_: its outputs are not affine in the features."
        )
    kernel, points = _validated(model, X)
    y, n = column_or_1d(y), count_points(points)
    if len(y) != n:
        raise ValueError(f"X has {n} points, y has {len(y)} values; they must be equal.")
    strange = np.setdiff1d(y, model.classes_ if is_classifier(model) else y)
    if len(strange):
        raise ValueError(f"y has the label {strange[0]}, which the model was not fitted to: {model.classes_}.")
    psi, bias = model.expansion_, np.asarray(model.intercept_, np.float64)
    wide = Expansion(kernel, widened(psi.points), np.asarray(psi.coef, np.float64))
    outputs, norms = np.asarray(wide(points), np.float64) + bias, np.asarray(wide.norms(), np.float64)
    diagonal = np.asarray(kernel.diag(points), np.float64)
    coef = _coefficients(model, points, wide)
    prices = None if coef is None else _prices(model, y, coef, sample_weight)
    found = []
    for j, (rows, targets) in enumerate(_tasks(model, y, len(norms))):
        own = None if coef is None else coef[rows, j]
        limits = None if prices is None else prices[rows]
        if own is not None and hasattr(model, "nu") and is_classifier(model):
            # the price of such a machine is what the coefficients at their bounds show
            weights = _class_weights(model, y)[rows]
            limits = np.max(np.abs(own) / weights) * weights
        found.append(
            Machine(
                kernel, points if len(rows) == n else take_points(points, rows), rows, targets, outputs[rows, j],
                diagonal[rows], float(norms[j]), float(bias[j]), own, limits,
            )
        )  # fmt: skip
    return found


def require(machine, what):
    """Raise unless the machine is a support vector machine whose coefficients and prices are known."""
    if machine.coef is None or machine.prices is None:
        raise TypeError(
            f"{what} needs a support vector machine with support_ and C (SVC, NuSVC, SVR); of this model only the "
            "outputs are known."
        )


def augmented(machine):
    """Return the machine as one without bias: of the kernel k + 1, whose last feature is 1.

    Parameters
    ----------
    machine : Machine

    Returns
    -------
    Machine
        The same outputs; |w|^2 + b^2 is the squared norm, and k(x, x) + 1 the diagonal.
    """
    return replace(machine, diagonal=machine.diagonal + 1, norm=float(np.hypot(machine.norm, machine.bias)), bias=0.0)


def _validated(model, X):
    """Return the kernel, and the points in float64, those of a given matrix by their number."""
    kernel = model.kernel_
    if kernel.tags.points == "indices":
        if np.shape(X) != kernel.matrix.shape:
            raise ValueError(
                f"X has shape {np.shape(X)}; it must be the matrix of the fit, {kernel.matrix.shape}, for a "
                "precomputed kernel."
            )
        return kernel, np.arange(len(kernel.matrix))
    return kernel, widened(kernel.admit(X, "X"))


def _coefficients(model, points, wide):
    """Return the coefficients of all points (n, m), after a look at whether they are those of the fit."""
    support = getattr(model, "support_", None)
    if support is None:
        return None
    if len(support) and (support.max() >= count_points(points) or not _same(take_points(points, support), wide.points)):
        raise ValueError(
            "X does not hold the model's support vectors at support_: give the points of the fit, in its order "
            "(in a grid search, cv=mercer.capacity.Resubstitution())."
        )
    coef = np.zeros((count_points(points), len(wide)))
    coef[support] = wide.coef
    return coef


def _same(X, Z):
    if hasattr(X, "tocsr") or hasattr(Z, "tocsr"):
        return X.shape == Z.shape and abs(X - Z).sum() == 0
    if hasattr(X, "shape"):
        return np.array_equal(X, Z)
    return all(np.array_equal(x, z) for x, z in zip(X, Z, strict=True))


def _prices(model, y, coef, sample_weight):
    """Return C_i (n,), or None where the model has no C."""
    price = getattr(model, "C", None)
    if price is None:
        return None
    weights = np.ones(len(coef)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    return price * weights * (_class_weights(model, y) if is_classifier(model) else 1.0)


def _class_weights(model, y):
    return getattr(model, "class_weight_", np.ones(len(model.classes_)))[np.searchsorted(model.classes_, y)]


def _tasks(model, y, m):
    """Return the rows and targets of every machine."""
    everything = np.arange(len(y))
    if not is_classifier(model):
        return [(everything, np.asarray(y, np.float64))]
    codes, c = np.searchsorted(model.classes_, y), len(model.classes_)
    if c == 2:
        return [(everything, np.where(codes == 1, 1.0, -1.0))]
    if m == c and getattr(model, "multi_class", "ovr") == "ovr":
        return [(everything, np.where(codes == j, 1.0, -1.0)) for j in range(c)]
    tasks = []
    for i in range(c):
        for j in range(i + 1, c):
            rows = np.flatnonzero((codes == i) | (codes == j))
            tasks.append((rows, np.where(codes[rows] == i, 1.0, -1.0)))
    return tasks
