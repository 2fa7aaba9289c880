"""Statement and KernelReport: verdicts on a kernel, each with a reason and the points to which it applies."""

import html

from mercer._common import LISTED, SHOWN, MaybeNone, record, shortened, shown
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel

_MARKS = {"proved": "+", "refuted": "-", "not refuted": "o", "open": "?"}
_COLOURS = {"proved": "#2a7d4f", "refuted": "#b3261e", "not refuted": "#8a6d00", "open": "#666"}


@record
class Statement:
    """Verdict on a kernel for a set of points, with a reason.

    Attributes
    ----------
    verdict : {"proved", "refuted", "not refuted", "open"}
        "not refuted" means that a necessary condition holds.
    where : str
        Set of points.
    reason : str
    depth : int
        0 for the kernel itself, 1 for its parts, 2 for their parts, ...

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

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{_MARKS[self.verdict]} {self.verdict} for {self.where}: {self.reason}"


@record
class KernelReport:
    """Result of ``check_kernel``; prints as text, and as a table in a notebook.

    Attributes
    ----------
    kernel : Kernel
    n_points : int
        Number of points.
    symmetric : bool or None
        Whether k(x, z) = k(z, x) on all tested pairs; None without points.
    positive_semidefinite : bool or None
        True when proved by formula, or by the eigenvalues of a given matrix. False when refuted by the witness, by
        asymmetry, or, without points, by formula or the profile. Otherwise None; ``verdict`` then says for which
        points the kernel is refuted.
    smallest_eigenvalue : float or None
        Smallest eigenvalue of the Gram matrix of the points.
    error : float or None
        Error bound of ``smallest_eigenvalue``.
    witness : Expansion or None
        Vector sum_i c_i phi(x_i) over few points whose squared norm sum_ij c_i c_j k(x_i, x_j) is negative.
    square : float or None
        Squared norm of the witness, recomputed in extended precision.
    statements : tuple of Statement
    """

    kernel: Kernel
    n_points: int
    symmetric: bool | None
    positive_semidefinite: bool | None
    smallest_eigenvalue: float | MaybeNone
    error: float | None
    witness: Expansion | MaybeNone
    square: float | MaybeNone
    statements: tuple[Statement, ...]

    @property
    def order(self) -> int | None:
        """0 where positive semidefinite, or the proved order of a conditionally positive definite kernel, or None."""
        return 0 if self.positive_semidefinite else self.kernel.tags.conditional

    @property
    def verdict(self) -> str:
        """Verdict in one sentence."""
        order = f"conditionally positive definite of order {self.order}; " if self.order else ""
        return order + self._verdict

    @property
    def _verdict(self):
        on = f" on these {self.n_points} points" if self.n_points else ""
        if self.symmetric is False:
            return "not a kernel: it is not symmetric"
        if self.positive_semidefinite is False:
            return "not positive semidefinite" + (on if self.witness is not None else "")
        if self.positive_semidefinite:
            return "positive semidefinite"
        refuted = dict.fromkeys(
            each.where for each in self.statements if each.verdict == "refuted" and not each.depth
        )
        known = f"refuted for {', and for '.join(refuted)}; otherwise " if refuted else ""
        return f"{known}open: no proof is known{', and no negative eigenvalue' + on if on else ''}"

    def __str__(self) -> str:
        lines = [shortened(repr(self.kernel)), f"  {self.verdict}"]
        lines += [f"  {name}: {value}" for name, value in self._facts()]
        return "\n".join([*lines, *(f"  {statement}" for statement in self.statements)])

    def _facts(self):
        if self.smallest_eigenvalue is not None:
            yield "smallest eigenvalue", f"{self.smallest_eigenvalue:.6g} +- {self.error:.2g}"
        if self.witness is not None:
            points = self.witness.points
            coef = self.witness.coef[:, 0]
            terms = [
                f"{c:+.4g} phi({_shown(x)})" for c, x in zip(coef[:LISTED], points, strict=False)
            ]
            more = f" and {len(coef) - LISTED} more terms" if len(coef) > LISTED else ""
            yield "witness", f"{' '.join(terms)}{more} has the squared norm {self.square:.4g}"

    def _repr_html_(self):
        rows = [
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in self._facts()
        ]
        rows += [
            f'<tr><td style="padding-left:{0.6 + statement.depth}em;padding-right:1em;white-space:nowrap">'
            f'<b style="color:{_COLOURS[statement.verdict]}">{statement.verdict}</b></td>'
            f"<td>for {html.escape(statement.where)}: {html.escape(statement.reason)}</td></tr>"
            for statement in self.statements
        ]
        return (
            '<table style="text-align:left;border-collapse:collapse"><caption style="text-align:left"><code>'
            f"{html.escape(shortened(repr(self.kernel)))}</code><br><b>{html.escape(self.verdict)}</b></caption>"
            f"<tbody>{''.join(rows)}</tbody></table>"
        )


def _shown(x):
    """Return a short text for a point: numbers of a row, an index, or its repr."""
    if getattr(x, "ndim", 0) == 1:
        return shortened(f"({', '.join(f'{value:.4g}' for value in x)})", SHOWN)
    return shown(x.item() if hasattr(x, "item") else x)
