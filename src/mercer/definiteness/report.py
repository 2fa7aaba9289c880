"""What is said of a kernel: statements, each with its verdict and where it holds, and the report of them."""

import html
from dataclasses import dataclass

from mercer.expansion import Expansion
from mercer.kernels.base import Kernel

_MARKS = {"proved": "+", "refuted": "-", "not refuted": "o", "open": "?"}
_COLOURS = {"proved": "#2a7d4f", "refuted": "#b3261e", "not refuted": "#8a6d00", "open": "#666"}
# Points of a witness that are printed.
_SHOWN = 4


@dataclass(frozen=True)
class Statement:
    """One thing that is known.

    Attributes
    ----------
    verdict : {"proved", "refuted", "not refuted", "open"}
        "not refuted" where a test that could have failed did not.
    where : str
        For which points.
    reason : str
    depth : int
        0 for the kernel itself, more for the kernels that it is made of.

    Examples
    --------
    >>> from mercer.definiteness import Statement
    >>> print(Statement("proved", "all rows", "a square"))
    + proved for all rows: a square
    """

    verdict: str
    where: str
    reason: str
    depth: int = 0

    def __str__(self):
        return f"{'  ' * self.depth}{_MARKS[self.verdict]} {self.verdict} for {self.where}: {self.reason}"


@dataclass(frozen=True)
class KernelReport:
    """What ``check_kernel`` found; ``print`` it, or show it in a notebook.

    Attributes
    ----------
    kernel : Kernel
    n_points : int
        Points that it was tried on.
    symmetric : bool or None
        Whether k(x, z) = k(z, x) on all pairs that were tried; None without points.
    positive_semidefinite : bool or None
        True when proved for all points of the kernel's kind, or, for a given matrix, by its eigenvalues; False when
        refuted: by the witness, by asymmetry, or, without points, by a theorem; None when neither.
    smallest_eigenvalue : float or None
        Of the Gram matrix of the points.
    error : float or None
        An eigenvalue lies within this of ``smallest_eigenvalue``; a larger negative one refutes.
    witness : Expansion or None
        One vector sum_i c_i phi(x_i) over few of the points, of negative square sum_ij c_i c_j k(x_i, x_j).
    square : float or None
        The square of the witness, recomputed in extended precision.
    statements : tuple of Statement
    """

    kernel: Kernel
    n_points: int
    symmetric: bool | None
    positive_semidefinite: bool | None
    smallest_eigenvalue: float | None
    error: float | None
    witness: Expansion | None
    square: float | None
    statements: tuple[Statement, ...]

    @property
    def verdict(self):
        """One sentence."""
        on = f" on these {self.n_points} points" if self.n_points else ""
        if self.symmetric is False:
            return "not a kernel: it is not symmetric"
        if self.positive_semidefinite is False:
            return "not positive semidefinite" + (on if self.witness is not None else "")
        if self.positive_semidefinite:
            return "positive semidefinite"
        return f"positive semidefinite or not: not refuted{on}" if self.n_points else "open: no proof is known"

    def __str__(self):
        lines = [_cut(repr(self.kernel), 160), f"  {self.verdict}"]
        lines += [f"  {name}: {value}" for name, value in self._facts()]
        return "\n".join([*lines, *(f"  {statement}" for statement in self.statements)])

    def _facts(self):
        if self.smallest_eigenvalue is not None:
            yield "smallest eigenvalue", f"{self.smallest_eigenvalue:.6g} +- {self.error:.2g}"
        if self.witness is not None:
            points, coef = self.witness.points, self.witness.coef[:, 0]
            terms = [f"{c:+.4g} phi({_shown(x)})" for c, x in zip(coef[:_SHOWN], points, strict=False)]
            more = f" and {len(coef) - _SHOWN} more terms" if len(coef) > _SHOWN else ""
            yield "witness", f"{' '.join(terms)}{more} has the square {self.square:.4g}"

    def _repr_html_(self):
        rows = [f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in self._facts()]
        rows += [
            f'<tr><td style="padding-left:{0.6 + statement.depth}em;padding-right:1em;white-space:nowrap">'
            f'<b style="color:{_COLOURS[statement.verdict]}">{statement.verdict}</b></td>'
            f"<td>for {html.escape(statement.where)}: {html.escape(statement.reason)}</td></tr>"
            for statement in self.statements
        ]
        return (
            '<table style="text-align:left;border-collapse:collapse"><caption style="text-align:left"><code>'
            f"{html.escape(_cut(repr(self.kernel), 160))}</code><br><b>{html.escape(self.verdict)}</b></caption>"
            f"<tbody>{''.join(rows)}</tbody></table>"
        )


def _shown(x):
    """Return a point in few letters: the numbers of a row, an index, or whatever it is."""
    if getattr(x, "ndim", 0) == 1:
        return _cut(f"({', '.join(f'{value:.4g}' for value in x)})", 60)
    return _cut(repr(x.item() if hasattr(x, "item") else x), 60)


def _cut(text, length):
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."
