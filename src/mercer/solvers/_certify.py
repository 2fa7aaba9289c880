"""certify: recompute how far a fitted model is from its optimum, by objectives and their gap or by residuals."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Certificate:
    """Evidence of optimality, summed over the binary classifiers of a model.

    Attributes
    ----------
    primal, dual : float
        Objective values; the optimum of a convex problem lies between them.
    gap : float or None
        primal - dual, at least 0 up to rounding; None if the problem is not convex, where it bounds nothing.
    kkt : float
        Largest violation of the optimality conditions, over all binary classifiers; 0 at the optimum, and at any other
        stationary point of a problem that is not convex.
    convex : bool
        Whether the kernel is positive semidefinite on changes of sum 0: proved, or not refuted on the training points
        (see `make_positive`).
    """

    primal: float
    dual: float
    kkt: float
    convex: bool = True

    @property
    def gap(self):
        """Primal minus dual objective of a convex problem."""
        return self.primal - self.dual if self.convex else None


@dataclass(frozen=True)
class Residuals:
    """Evidence that equations hold, for models that solve a linear system or an eigenproblem.

    Attributes
    ----------
    residuals : float64 array (m,)
        Relative residual of each target or component; rounding at the solution.
    """

    residuals: np.ndarray


def total(certificates):
    """Return one certificate for several: objectives add up, the largest violation counts."""
    return Certificate(
        sum(each.primal for each in certificates),
        sum(each.dual for each in certificates),
        max(each.kkt for each in certificates),
        all(each.convex for each in certificates),
    )


def certify(model, X, y=None, sample_weight=None):
    r"""Recompute the certificate of a fitted model in float64 from its training points.

    Support vector machines give objectives. `KernelRidge` gives, for each target, the relative residual of its normal
    equations over the points z_j of its expansion (all x_i without landmarks),

    .. math:: |K_{zx} W (y - K_{xz} a) - \alpha K_{zz} a| \,/\, |K_{zx} W y|.

    `KernelPCA` gives, for each component, the relative residual of its eigenpair,

    .. math:: |H K H v_k - \lambda_k v_k| \,/\, \lambda_1.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, KernelRidge or KernelPCA
        Fitted, or any model with a method ``__mercer_certify__(X, y, sample_weight)``. `SVCCV` gives the certificate of
        its best classifier; of another search give the ``best_estimator_``.
    X : points (n)
        The training points, in the order of the fit.
    y : array (n,) or (n, m)
        As in the fit, if it took any.
    sample_weight : array (n,), optional
        As in the fit.

    Returns
    -------
    Certificate or Residuals
        With ``primal``, ``dual``, ``gap`` and ``kkt``, or with ``residuals``.

    Raises
    ------
    TypeError
        For a model without certificate.
    ValueError
        For another number of rows than that of the fit.

    Notes
    -----
    The cost is n times the number of support vectors kernel values in float64, n^2 for residuals; none are stored. Only
    the coefficients and intercepts (eigenvectors and eigenvalues) of the model are used.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC(kernel="linear").fit(X, y)
    >>> mc.certify(model, X, y).gap < 1e-8
    True
    >>> mc.certify(mc.KernelRidge(kernel="linear").fit(X, y), X, y).residuals < 1e-12
    array([ True])
    """
    if isinstance(model, type) or not hasattr(model, "__mercer_certify__"):
        raise TypeError(
            "model must be a fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD, KernelRidge or KernelPCA of Mercer, got "
            f"{type(model).__module__}.{type(model).__name__}; of a search give its best_estimator_."
        )
    return model.__mercer_certify__(X, y, sample_weight)
