"""from_expansion: return a fitted model of a given class over other vectors."""

import numbers
from typing import Any

import numpy as np

from mercer._common import ArrayLike, as_float64, shown
from mercer._compute.points import as_columns, take_points
from mercer.compression import families
from mercer.expansion import Expansion, require_expansion, rows_of


def from_expansion(expansion: Expansion, intercept: float | ArrayLike, like: Any) -> Any:
    r"""Return a fitted model whose outputs are ``expansion(X) + intercept``, of the class of another model.

    .. math:: f_j(x) = \langle \phi(x), \psi_j \rangle + b_j

    Whatever changes the expansion of a model, such as ``reduce`` or arithmetic on its vectors, gives a model again.

    Parameters
    ----------
    expansion : Expansion
        As many vectors as the model has columns: one for each binary classifier, target or component.
    intercept : float or array (m,)
        One number for each vector; a number is that of all.
    like : estimator, pipeline, str or path
        Fitted model, as in ``compress``: it gives the class, parameters, labels and names of columns. It is not
        changed.

    Returns
    -------
    estimator or Pipeline
        Mercer's estimator of the name of ``like``. Of a pipeline only the final step is replaced. The kernel is that of
        ``expansion``, which may differ from that of ``like``.

    Raises
    ------
    TypeError
        If ``expansion`` is not an Expansion, or its kernel takes points of another kind than ``like``; for a model that
        ``compress`` does not take.
    ValueError
        For another number of vectors, intercepts or features than those of ``like``, and for numbers that are not
        finite; for KernelPCA, whose mean lies in the feature space of its kernel, with another kernel.
    NotFittedError
        If ``like`` is not fitted.

    Notes
    -----
    Points and coefficients are not copied. `save` stores the model. `certify` refuses it with a ValueError: it was not
    fitted, so that it has no optimality conditions.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [0.1], [2.0], [2.1]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y)
    >>> answer = mc.reduce(model.expansion_, 2)
    >>> small = mc.from_expansion(answer.expansion, model.intercept_, like=model)
    >>> small, small.predict(X)
    (SVC(kernel=Gaussian(gamma=1.0)), array([0, 0, 1, 1]))
    """
    require_expansion("expansion", expansion)
    try:
        model, replaced = families.read_last(like)
    except Exception as error:
        error.add_note("Raised by like, which must be a fitted model that compress takes.")
        raise
    _require_fitting(expansion, model)
    made = families.with_vectors(model, expansion, _intercepts(intercept, len(expansion)))
    return replaced(made)


def _intercepts(intercept, m):
    """Return one finite intercept for each of m vectors."""
    values = [intercept] * m if isinstance(intercept, numbers.Real) else intercept
    values = as_float64(as_columns(values, "intercept"))
    if values.shape != (m,):
        raise ValueError(
            f"intercept has shape {values.shape}, but expansion has {m} vectors; give one number for each, "
            f"shape ({m},)."
        )
    return values


def _require_fitting(psi, model):
    """Raise unless an expansion has the columns of a model and its kernel takes the points of the model."""
    known = model.expansion_
    name = type(model).__name__
    if len(psi) != len(known):
        raise ValueError(
            f"expansion has {len(psi)} vectors, but {name} has {len(known)} columns of outputs; give one vector for "
            "each."
        )
    kinds = [each.kernel.tags.points for each in (psi, known)]
    if kinds[0] != kinds[1] and "any" not in kinds:
        raise TypeError(
            f"expansion has the kernel {shown(psi.kernel)} on {kinds[0]}, but {name} was fitted on {kinds[1]}; give an "
            f"expansion over points like those of {name}."
        )
    try:
        # a new point of a given matrix is a row of it
        indices = kinds[0] == "indices"
        psi(
            np.zeros((1, model.n_features_in_))
            if indices
            else take_points(rows_of(known), slice(0, 1))
        )
    except (TypeError, ValueError) as error:
        error.add_note(
            f"Raised by expansion at a point of like, a {name}; give an expansion that takes its points."
        )
        raise
