"""The span rule: the leave-one-out error of a support vector machine from one fit."""

import numpy as np
import scipy.linalg
from sklearn.base import is_classifier

from mercer._compute.memory import require_memory
from mercer._compute.points import count_points, take_points
from mercer.capacity._model import machines, require
from mercer.capacity.bound import Bound
from mercer.gram import Gram

# Part of the mean of k(x, x) added to the diagonal: dependent vectors have a span of 0, not of rounding.
_JITTER = 1e-10
# Points at their bound that are looked at together.
_BLOCK = 2048


def squared_spans(machine, *, affine=True, memory="1GB"):
    r"""Return the squared distance of every support vector to the span of those on the margin.

    .. math:: S_p^2 = \min_\lambda \left|\phi(x_p) - \sum_{i \ne p} \lambda_i \phi(x_i)\right|^2
        \quad\text{s.t.}\quad \sum_i \lambda_i = 1

    over vectors i whose coefficients are between their bounds.

    Parameters
    ----------
    machine : Machine
        Of a support vector machine.
    affine : bool
        Keep the sum of lambda, as machines with a bias do.
    memory : str or int
        Bytes that the matrix of the vectors on the margin and its factor may take.

    Returns
    -------
    array (k,)
        0 for points that are no support vectors. Where there is no other vector on the margin the nearest support
        vector of the other sign is taken, for what leaves one side must leave the other.

    Raises
    ------
    TypeError
        For a machine whose coefficients or prices are not known.
    MemoryError
        When the matrix exceeds the budget.

    Notes
    -----
    O(m^3 + m^2 b) for m vectors on the margin and b at their bounds. With u = K^-1 1 it is
    1 / (K^-1 - u u' / 1'u)_pp on the margin, k_pp - k_p'K^-1 k_p + (1 - u'k_p)^2 / 1'u elsewhere.

    References
    ----------
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines*, Neural Computation 12 (2000),
    section 5; Opper, Winther, *Gaussian processes and SVM: mean field and leave-one-out* (2000), without the sum.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> machine = mc.capacity.machine(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.squared_spans(machine).round(6)
    array([0., 1., 1., 0.])
    """
    require(machine, "the span")
    free = np.flatnonzero(machine.on_margin)
    bound = np.flatnonzero(~machine.on_margin & (machine.coef != 0))
    spans, m = np.zeros(len(machine)), len(free)
    if m:
        spans[free], spans[bound] = _to_margin(machine, free, bound, affine, memory)
    lonely = bound if m == 0 else free[:1] if m == 1 and affine else free[:0]
    for p in lonely:
        spans[p] = _nearest_opponent(machine, p)
    return spans


def leave_one_out_outputs(machine, *, memory="1GB"):
    r"""Return what each training point would be told by a machine fitted without it, if the margin kept its vectors.

    .. math:: f^{(-p)}(x_p) \approx f(x_p) - b_p S_p^2

    with signed coefficients b: exact as long as no other vector enters or leaves the margin or a bound. For a
    regression whose kernel is so smooth that its matrix has hardly more large eigenvalues than there are vectors on the
    margin, they always do, and the estimate is far too pessimistic.

    Parameters
    ----------
    machine : Machine
        Of a classifier or a regression.
    memory : str or int

    Returns
    -------
    array (k,)

    References
    ----------
    Vapnik, Chapelle (2000), theorem 3; Chang, Lin, *Leave-one-out bounds for support vector regression model
    selection*, Neural Computation 17 (2005).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> machine = mc.capacity.machine(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.leave_one_out_outputs(machine).round(6)
    array([-3.,  1., -1.,  3.])
    """
    return machine.outputs - machine.coef * squared_spans(machine, memory=memory)


def leave_one_out_predictions(model, X, y, sample_weight=None, *, memory="1GB"):
    """Return the span rule's leave-one-out prediction of every training point: a class or a value.

    Parameters
    ----------
    model : SVC, NuSVC, SVR or NuSVR
        Fitted. With several classes the machines vote as in ``predict``.
    X : points (n)
        Those of the fit.
    y : array (n,)
    sample_weight : array (n,), optional
    memory : str or int

    Returns
    -------
    array (n,)

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.linspace(0, 3, 12)[:, None], np.linspace(0, 3, 12) ** 2
    >>> model = mc.SVR(C=100.0, kernel=mc.Polynomial(2), epsilon=0.01).fit(X, y)
    >>> bool(np.abs(mc.capacity.leave_one_out_predictions(model, X, y) - y).max() < 0.1)
    True
    """
    loss = getattr(model, "loss", "epsilon")
    if loss != "epsilon":
        raise ValueError(f"loss = {loss!r} has no span rule; give loss='epsilon'.")
    found = machines(model, X, y, sample_weight)
    scores = np.column_stack([_everywhere(each, model, X, j) for j, each in enumerate(found)])
    for j, each in enumerate(found):
        scores[each.rows, j] = leave_one_out_outputs(each, memory=memory)
    return model.classes_[model._winners(scores)] if is_classifier(model) else scores[:, 0]


def span_rule(model, X, y, sample_weight=None, *, memory="1GB"):
    r"""Return the span rule's estimate of the leave-one-out error of a support vector classifier.

    .. math:: \frac1n \sum_p \Psi(\alpha_p S_p^2 - y_p f(x_p))

    with the step function Psi; with several classes their machines vote.

    Parameters
    ----------
    model, X, y, sample_weight, memory
        As in `leave_one_out_predictions`.

    Returns
    -------
    Bound
        A heuristic: the vectors on the margin are assumed to stay there.

    References
    ----------
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines*, Neural Computation 12 (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 2 * y
    >>> model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    >>> 0.1 < mc.capacity.span_rule(model, X, y).value < 0.3
    True
    """
    error = float(np.mean(leave_one_out_predictions(model, X, y, sample_weight, memory=memory) != y))
    return Bound(
        "span rule",
        error,
        f"About {error:.1%} of the points are misclassified by machines fitted without them.",
        "leave-one-out error",
        None,
        ("no vector enters or leaves the margin when a point is left out",),
    )


def _to_margin(machine, free, bound, affine, memory):
    """Return the squared spans of vectors on the margin and of those at their bounds."""
    m = len(free)
    require_memory(16 * m * m, memory, f"the matrix of {m} support vectors on the margin", "a smaller C")
    on_margin = take_points(machine.points, free)
    K = np.asarray(Gram(machine.kernel, on_margin, memory=2**62).dense(), np.float64)
    jitter = _JITTER * max(float(np.mean(np.abs(K.diagonal()))), 1e-300)
    inverse = _inverse(K, jitter)
    u = inverse.sum(axis=1)
    total = float(u.sum())
    diagonal = inverse.diagonal().copy()
    if affine:
        diagonal -= u**2 / total
    # a single vector has no other one to lean on; its span is found elsewhere
    with np.errstate(divide="ignore", over="ignore"):
        own = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300) - jitter, 0.0)
    others = np.empty(len(bound))
    for start in range(0, len(bound), _BLOCK):
        some = bound[start : start + _BLOCK]
        columns = np.asarray(machine.kernel(on_margin, take_points(machine.points, some)), np.float64)
        left = machine.diagonal[some] - np.einsum("ij,ij->j", columns, inverse @ columns)
        others[start : start + _BLOCK] = left + (1 - u @ columns) ** 2 / total if affine else left
    return np.maximum(own, 0), np.maximum(others, 0)


def _inverse(K, jitter):
    """Return the inverse of K + jitter I, with more jitter where the kernel is indefinite up to rounding."""
    for _ in range(8):
        L, failed = scipy.linalg.lapack.dpotrf(K + jitter * np.eye(len(K)), lower=1)
        if not failed:
            half = scipy.linalg.lapack.dtrtri(L, lower=1)[0]
            return half.T @ half
        jitter *= 100
    raise ValueError("the kernel is indefinite on the support vectors: spans are distances only in a feature space.")


def _nearest_opponent(machine, p):
    """Return the squared distance to the nearest support vector of the other sign."""
    others = np.flatnonzero(machine.coef * np.sign(machine.coef[p]) < 0)
    values = machine.kernel(take_points(machine.points, np.array([p])), take_points(machine.points, others))[0]
    return max(0.0, float(np.min(machine.diagonal[p] + machine.diagonal[others] - 2 * values)))


def _everywhere(machine, model, X, j):
    """Return the outputs of a machine at all points, those it was not fitted to included."""
    n = count_points(X)
    if len(machine) == n:
        return machine.outputs
    points = np.arange(n) if machine.kernel.tags.points == "indices" else X
    return np.asarray(model.expansion_[:, j](points), np.float64)[:, 0] + machine.bias
