"""certify: recompute how far a fitted model is from its optimum, by objectives and their gap or by residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._common import LISTED, ArrayLike, MaybeNone, PointsLike
from mercer._compute import html
from mercer._compute.devices import Place
from mercer._compute.register import storable

# Ends of the text of a certificate, and the gap in its table.
_ENDS = {
    True: "",
    False: ", convex=False: a stationary point, no gap",
    None: ", convex=None: not proved, no gap",
}
_CONVEX = {True: "yes", False: "no", None: "not proved"}
_NO_GAP = {
    False: "none: the problem is not convex",
    None: "none: not proved convex; mercer.certify may prove it",
}


class _Evidence:
    """Mixin of results that stay in the main memory."""

    def __mercer_place__(self) -> None:
        return None

    def __mercer_move__(self, place: Place | None) -> Self:
        return self


@storable
@dataclass(frozen=True, repr=False)
class Certificate(_Evidence):
    """Evidence of optimality, summed over the binary classifiers of a model.

    Attributes
    ----------
    primal, dual : float
        Objective values; the optimum of a convex problem lies between them up to the rounding of kernel values, which
        `certify` computes in float64. Those of ``certificate_`` may be float32, where that moves the gap by at most 0.1
        per cent of the objective; they contain this bound, so that the optimum lies between them too.
    gap : float or None
        primal - dual, at least 0 up to rounding; None unless the problem is proved convex: it bounds nothing then.
    kkt : float
        Largest violation of the optimality conditions, over all binary classifiers, with its rounding, which is
        estimated for float32 kernel values; 0 at the optimum, and at any other stationary point of a problem that is
        not convex.
    convex : bool or None
        Whether the kernel is positive semidefinite on changes of sum 0 of the training points: True if proved, by the
        kernel's tags or by a Cholesky factor of the centred kernel matrix, whose rounding is part of ``primal``; False
        if refuted (see `make_positive`); None if neither. A fit factors up to 600 rows, and more where this takes at
        most 15 % of its time; `certify` factors what fits into the model's ``memory``.
    """

    primal: float
    dual: float
    kkt: float
    convex: bool | MaybeNone = True

    @property
    def gap(self) -> float | MaybeNone:
        """Primal minus dual objective of a convex problem."""
        return self.primal - self.dual if self.convex else None

    def __repr__(self) -> str:
        gap = f"gap={self.gap:.2g}, " if self.convex else ""
        end = _ENDS[self.convex]
        return f"Certificate(primal={self.primal:.6g}, dual={self.dual:.6g}, {gap}kkt={self.kkt:.2g}{end})"

    def _repr_html_(self):
        gap = f"{self.gap:.6g}" if self.convex else _NO_GAP[self.convex]
        facts = [
            ("primal objective", f"{self.primal:.8g}"),
            ("dual objective", f"{self.dual:.8g}"),
            ("gap", gap),
            ("largest violation", f"{self.kkt:.4g}"),
        ]
        return html.table("Certificate", facts)


@dataclass(frozen=True, repr=False)
class Residuals(_Evidence):
    """Evidence that equations hold, for models that solve a linear system or an eigenproblem.

    Attributes
    ----------
    residuals : float64 array (m,)
        Relative residual of each target, component, landmark or binary classifier, see `certify`; 0 up to rounding at
        the solution.
    convex : bool or None
        False for the stationary point of a problem that is not convex: a kernel with negative eigenvalues on the
        training points in `KernelRidge` or `KernelFisher`. None where the memory of the model does not hold the factor
        of the kernel matrix that would prove or refute it.
    """

    residuals: np.ndarray
    convex: bool | MaybeNone = True

    def __repr__(self) -> str:
        values = np.ravel(self.residuals)
        shown = ", ".join(f"{value:.2g}" for value in values[:LISTED])
        more = ", ..." if len(values) > LISTED else ""
        end = _ENDS[self.convex]
        return f"Residuals(largest={np.max(values, initial=0.0):.2g}, residuals=[{shown}{more}] ({len(values)}){end})"

    def _repr_html_(self):
        values = np.ravel(self.residuals)
        facts = [("residuals", len(values)), ("largest", f"{np.max(values, initial=0.0):.4g}")]
        return html.table("Residuals", [*facts, ("convex problem", _CONVEX[self.convex])])


def total(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate for several: objectives add up, the largest violation counts."""
    found = {each.convex for each in certificates}
    return Certificate(
        sum(each.primal for each in certificates),
        sum(each.dual for each in certificates),
        max(each.kkt for each in certificates),
        # one that is not known leaves the sum unknown, one that is refuted refutes it
        False if False in found else None if None in found else True,
    )


def certify(
    model: Any,
    X: PointsLike | None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    r"""Recompute the certificate of a fitted model in float64 from its training points.

    Support vector machines give objectives, their gap and the largest violation of the optimality conditions; the dual
    objective is -inf for coefficients whose sum is not that of the parameters, such as another ``nu``. Other models
    give residuals, 0 up to rounding where the model is the solution; float32 coefficients leave the rounding of
    float32. The certificate of a model over landmarks is that of the problem in their span.

    * `KernelRidge`, for each target: the normal equations over the points z_j of the expansion (all x_i without
      landmarks), :math:`|K_{zx} W (y - K_{xz} a) - \alpha K_{zz} a| \,/\, |K_{zx} W y|`.
    * `KernelPCA`, for each component: the eigenpair and the scores y_k of the training points, recomputed, :math:`|s_k
      y_k - \lambda_k v_k| \,/\, \lambda_1` with s_k = lambda_k^(1/2), whitened lambda_k / n^(1/2). Where ``expansion_``
      and ``intercept_`` are those of v_k it is :math:`|H K H v_k - \lambda_k v_k| \,/\, \lambda_1`. With landmarks as
      for `KernelMap`, and at least :math:`||y_k|^2 - \lambda_k| \,/\, \lambda_1`.
    * `KernelMap`, for each axis with coefficients a_k: the eigenpair lambda_k = 1 / |a_k|^2, v_k = a_k / |a_k|, as for
      `KernelPCA`, with H = I when not centred. With landmarks z: the generalised eigenpair of the coordinates y_k of
      the training points, :math:`|K_{zx} y_k - |y_k|^2 K_{zz} a_k| \,/\, |a_k|` over the largest :math:`|K_{zx} y_k|
      \,/\, |a_k|`. After ``partial_fit``, where the axes are no longer principal: the orthonormality of the axes,
      :math:`A' K_{zz} A = I`, and the intercepts, minus the inner products of axes and origin.
    * `Nystroem`, for each landmark: the kernel values k_j with all landmarks and the dot products of the features z,
      :math:`|k_j - Z z_j| \,/\, \max_i |k_i|`. The negative part of an indefinite kernel remains.
    * `KernelFisher`, for each direction: the largest of three. With scores y_i, class means M and s = 1 + 1 / lambda:
      the eigenproblem, :math:`|w_i y_i + \mu a_i - s w_i M_{c(i)}| \,/\, |s w_i M_{c(i)}|`; the means of the classes;
      the scale :math:`\sum_c \pi_c M_c^2 = \lambda`. With landmarks z K_zx multiplies the first, and K_zz a_i.
      Rounding amounts to about eps lambda_1 / mu, with the largest eigenvalue lambda_1 of K.
    * `PCAL1`, for each direction: the distance to the next step of the sign iteration, :math:`|w - X's \,/\, |X's||`
      with s = sign(X w), over the centred rows without their parts along the directions before; of joint directions,
      the length of a column of W - U V' with X' sign(X W) = U S V'. Where ``mean_`` shifts scores by a larger share of
      their mean size, that share.
    * `KernelPerceptron`, for each binary classifier: the share of training points with :math:`y f(x) \le 0`; 0 where
      the classes are separated.
    * `Kernelized`: that of the coordinates, ``map_``. That of the wrapped estimator is
      ``certify(model.estimator_, model.map_.transform(X), y)``, if it has one.

    Parameters
    ----------
    model : fitted estimator of Mercer
        Or any model with a method ``__mercer_certify__(X, y, sample_weight)``. `SVCCV` gives the certificate of its
        best classifier; of another search give the ``best_estimator_``.
    X : points (n)
        The training points, in the order of the fit; after ``partial_fit`` those of all calls. For "precomputed" their
        matrix.
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
        For another number of rows than that of the fit, and for a model that was not fitted but made from another.

    Notes
    -----
    The cost is n times the number of support vectors or landmarks in kernel values in float64, n^2 for models over all
    points. For a kernel that is not proved by its tags add n^2 kernel values and a Cholesky factor of their matrix,
    O(n^3), where 16 n^2 bytes fit into the ``memory`` of the model. `Nystroem` stores the matrix of its landmarks. Only
    the fitted arrays of the model are used: coefficients and intercepts, eigenvectors and eigenvalues, class means and
    priors, directions and means, and the landmarks. The points of a model without landmarks are those of X.

    A residual relative to the largest eigenvalue says little about an axis whose eigenvalue is far below it: a change
    of its length by a share d is a residual of d lambda_k / lambda_1.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC(kernel="linear").fit(X, y)
    >>> mc.certify(model, X, y).gap < 1e-8
    True
    >>> mc.certify(mc.KernelRidge(kernel="linear").fit(X, y), X, y).residuals < 1e-12
    array([ True])
    >>> mc.certify(mc.KernelPerceptron().fit(X, y), X, y)
    Residuals(largest=0, residuals=[0] (1))
    """
    if isinstance(model, type) or not hasattr(model, "__mercer_certify__"):
        raise TypeError(
            "model must be a fitted estimator of Mercer, but none for tables, which solve no single problem, or have a "
            "method __mercer_certify__(X, y, sample_weight), got "
            f"{type(model).__module__}.{type(model).__name__}; of a search give its best_estimator_, of a patched "
            "model its mercer_, of a pipeline its last step and the rows that this step gets, model[:-1].transform(X)."
        )
    return model.__mercer_certify__(X, y, sample_weight)
