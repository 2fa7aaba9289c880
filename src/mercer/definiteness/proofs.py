"""Proofs that a kernel is positive semidefinite for all points, by class and by closure rules."""

import functools
from dataclasses import replace
from typing import Any

from mercer import kernels
from mercer._common import record
from mercer.definiteness.report import Statement
from mercer.kernels import graphs, sequences, sets, strings
from mercer.kernels.base import Kernel, inner_kernels, rule_of

_ROWS = "all rows"
_ORIGIN = "all sets with a neighbourhood of 0"
# Conditionally positive definite kernels by their order.
ORDERS = {
    1: "c'Kc >= 0 for all c of sum 0",
    2: "c'Kc >= 0 for all c orthogonal to 1 and to the columns of X",
}


@record
class Proof:
    """Verdict for all points: ``holds`` is True, False or None (open), with statements on the kernel and its parts."""

    holds: bool | None
    statements: tuple[Statement, ...]

    @property
    def where(self) -> str:
        """Set of points to which the proof applies."""
        return self.statements[0].where


@functools.singledispatch
def _proof_of(kernel):
    return _open(f"no proof is registered for {type(kernel).__name__}")


# Decorator of functions of a kernel, annotated with its class, that return its Proof.
register = _proof_of.register


def prove(kernel: Kernel) -> Any:
    r"""Return the proof or refutation of a resolved kernel, which its class, or one with the same formula, registers.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.definiteness.proofs import prove
    >>> print(*prove(2 * mc.Gaussian(1.0) + mc.Linear()).statements, sep="\n")
    + proved for all rows: a sum of positive semidefinite kernels
      + proved for all rows: a positive multiple of a positive semidefinite kernel
        + proved for all rows: exp(-gamma s) of s = |x - z|^2 is completely monotone (Schoenberg 1938)
      + proved for all rows: an inner product
    """
    return rule_of(_proof_of, kernel)(kernel)


def _proved(reason, where=_ROWS):
    return Proof(True, (Statement("proved", where, reason),))


def _open(reason, where=_ROWS):
    return Proof(None, (Statement("open", where, reason),))


def _refuted(reason):
    return Proof(False, (Statement("refuted", _ORIGIN, reason),))


def _conditional(reason, kernel):
    order = kernel.tags.order
    return Proof(
        False,
        (
            *_refuted("k(x, x) is at most 0 of all points, and k(x, z) is not k(x, x)").statements,
            Statement("proved", _ROWS, f"{ORDERS[order]}: {reason}"),
        ),
    )


def _below(proof):
    return tuple(replace(line, depth=line.depth + 1) for line in proof.statements)


def closed(rule: str, kernel: Kernel, where: str = "") -> Proof:
    """Return the proof of a kernel that is positive semidefinite when all its parts are, on their points by default."""
    parts = [prove(part) for part in inner_kernels(kernel).values()]
    below = tuple(line for part in parts for line in _below(part))
    where = where or next(
        (part.where for part in parts if part.where not in (_ROWS, _ORIGIN)), _ROWS
    )
    if all(part.holds for part in parts):
        return Proof(True, (Statement("proved", where, rule), *below))
    return Proof(None, (Statement("open", where, f"{rule}, but not all parts are proved"), *below))


# Proofs that hold for all parameters, by the set of points.
for _where, _reasons in {
    _ROWS: {
        kernels.Linear: "an inner product",
        kernels.Gaussian: "exp(-gamma s) of s = |x - z|^2 is completely monotone (Schoenberg 1938)",
        kernels.Matern: "a function of x - z whose Fourier transform is positive (Bochner)",
        kernels.RationalQuadratic: "(1 + b s)^-alpha of s = |x - z|^2 is completely monotone: a mixture of Gaussians",
        kernels.Cauchy: "1 / (1 + gamma s) of s = |x - z|^2 is completely monotone: a mixture of Gaussians",
        kernels.Laplacian: "a product over coordinates of exp(-gamma |x - z|), whose Fourier transform is positive",
        kernels.BSpline: "a product over columns of functions whose Fourier transform is a square (Bochner)",
        kernels.Periodic: "a Gaussian of the points (cos, sin) of the phases of the coordinates",
        kernels.Constant: "one constant feature",
        kernels.VariableWidthGaussian: "an inner product of Gaussian functions in the space of one of them",
    },
    "all nonnegative rows": {
        kernels.Chi2: "exp(-gamma s) of a conditionally negative definite s (Schoenberg 1938)",
        kernels.Bhattacharyya: "an inner product of square roots",
        kernels.Intersection: "min(x, z) is the integral of [t < x] [t < z] over t > 0",
    },
    "all points that the features take": {kernels.FeatureMap: "an inner product of features"},
    "all points that the inner kernel takes": {
        kernels.EmpiricalMap: "an inner product of kernel values"
    },
    "all strings": {
        strings.Spectrum: "an inner product of counts of substrings",
        strings.BlendedSpectrum: "an inner product of counts of substrings",
        strings.Mismatch: "an inner product of counts of substrings near each word",
        strings.Subsequence: "an inner product of weights of subsequences",
        strings.WeightedDegree: "an inner product of weighted indicators of substrings at positions",
        strings.Words: "an inner product of counts of words",
    },
    "all series": {
        sequences.GlobalAlignment: "a sum over alignments of products of w g / (2 - w g), with w g a positive "
        "semidefinite kernel (Cuturi 2011)"
    },
    "all graphs": {
        graphs.WeisfeilerLehman: "an inner product of counts of labels",
        graphs.ShortestPath: "an inner product of counts of labels and distances of pairs of nodes",
        graphs.Graphlets: "an inner product of counts of subgraphs",
        graphs.RandomWalk: "an inner product of weighted counts of walks by their labels",
    },
    "all sets": {
        sets.Overlap: "an inner product of indicators of members",
        sets.Tanimoto: "the probability that sets have the same first member in a random order of all members",
        sets.MinMax: "the probability that consistent weighted samples of multisets are equal",
    },
}.items():
    for _kind, _reason in _reasons.items():
        register(_kind, lambda _, reason=_reason, where=_where: _proved(reason, where))
# Closure rules for positive semidefinite parts.
for _kind, _rule in {
    kernels.Sum: "a sum of positive semidefinite kernels",
    kernels.DirectSum: "an inner product of a direct sum of the spaces of positive semidefinite kernels",
    kernels.Product: "a product of positive semidefinite kernels (Schur)",
    kernels.Power: "a product of a positive semidefinite kernel with itself (Schur)",
    kernels.Exp: "a limit of polynomials with no negative coefficient in a positive semidefinite kernel",
    kernels.Normalized: "f(x) k(x, z) f(z) of a positive semidefinite kernel k",
    kernels.Rescaled: "c(x) k(x, z) c(z) of a positive semidefinite kernel k",
    kernels.Anova: "a sum of products of a positive semidefinite kernel of single columns (Schur)",
    kernels.Local: "a mean over patches of a positive semidefinite kernel of weighted pixels",
    kernels.Mapped: "a positive semidefinite kernel of the images of the points",
    kernels.OnColumns: "a positive semidefinite kernel of some columns of the points",
    kernels.OnFeatures: "a positive semidefinite function of distances or inner products of feature vectors",
}.items():
    register(_kind, functools.partial(closed, _rule))
# Conditionally positive definite kernels of order 1 and 2.
for _kind, _reason in {
    kernels.AdditiveChi2: "sums of 4 x z / (x + z) less x + z, of positive semidefinite kernels less c(x) + c(z)",
    kernels.PowerDistance: "a limit of sums of a (exp(-t |x - z|^2) - 1) with a, t > 0 (Schoenberg 1938)",
    kernels.Multiquadric: "-c and a limit of sums of a (exp(-t |x - z|^2) - 1) with a, t > 0 (Micchelli 1986)",
    kernels.ThinPlate: "the second derivative of s log(s) / 2 in s = |x - z|^2 is completely monotone (Micchelli 1986)",
}.items():
    register(_kind, functools.partial(_conditional, _reason))


@register
def _(_kernel: kernels.FunctionKernel):
    return _open(
        "a Python function has no proof; kernels of Mercer have one, such as Intersection() for sums of minima",
        "all points that the function takes",
    )


@register
def _(_kernel: kernels.Precomputed):
    return _open("a given matrix has no formula", "the rows of the matrix")


@register
def _(kernel: kernels.Polynomial):
    if kernel.coef0 >= 0:
        return _proved("a polynomial of <x, z> with no negative coefficient")
    # the coefficient of s^(degree - 1) is a positive number times coef0
    return _refuted(
        f"the Taylor coefficient of <x, z>^{kernel.degree - 1} has the sign of coef0 = {kernel.coef0:g}, and near 0 "
        "none may be negative"
    )


@register
def _(kernel: kernels.Sigmoid):
    c = kernel.coef0
    which = (
        "the third one is -gamma^3 / 3"
        if c == 0
        else f"that of order {0 if c < 0 else 2} is negative"
    )
    return _refuted(
        f"near 0 no Taylor coefficient of f(<x, z>) may be negative, and of tanh(gamma s + {c:g}) {which}"
    )


@register
def _(kernel: kernels.Scaled):
    inner = prove(kernel.kernel)
    if inner.holds is False:
        reason = "a positive multiple of a kernel that is not positive semidefinite"
        return Proof(False, (Statement("refuted", inner.where, reason), *_below(inner)))
    return closed("a positive multiple of a positive semidefinite kernel", kernel)


# Kernels of objects with vectors, whose proof is that of a kernel of the vectors.
register(
    sets.MeanMap,
    functools.partial(
        closed,
        "an inner product of means in the feature space of a positive semidefinite kernel",
        where="all bags of vectors",
    ),
)
register(
    graphs.AttributedShortestPath,
    functools.partial(
        closed,
        "an inner product of sums of products of features of two nodes, by the length of their path",
        where="all graphs with vectors of nodes",
    ),
)
