"""BoundsDisplay: bars of error bounds beside the true error."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike, PointsLike
from mercer.capacity import report
from mercer.plot import _axes


@dataclass(eq=False, repr=False)
class BoundsDisplay:
    """Bars of bounds and heuristics of an error, with a line at the measured error.

    Parameters
    ----------
    bounds : sequence of Bound
        Bounds of quantities in the same units.
    truth : float, optional
        Measured error.
    measured : str
        How the error was measured.

    Attributes
    ----------
    ax_ : Axes
    bars_ : BarContainer
        Filled for bounds, hatched for heuristics; vacuous ones are pale and end at the trivial value.
    truth_ : Line2D or None
    figure_ : Figure

    See Also
    --------
    BoundsDisplay.from_estimator : Compute the report of a fitted classifier and draw it.
    mercer.capacity.report : Compute the numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import BoundsDisplay
    >>> X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    >>> X[:, 0] += 4 * y
    >>> display = BoundsDisplay.from_estimator(mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> len(display.bars_)
    12
    """

    bounds: ArrayLike
    _: KW_ONLY
    truth: float | None = None
    measured: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: PointsLike,
        y: ArrayLike,
        *,
        test: object = None,
        confidence: float = 0.95,
        ax: object = None,
    ) -> Self:
        """Compute the report of a fitted classifier of two classes, and draw its bounds.

        Parameters
        ----------
        estimator : SVC or another classifier with ``expansion_``
        X : points (n)
            The training points.
        y : array (n,)
        test : (points, array), optional
        confidence : float
        ax : Axes, optional

        Returns
        -------
        BoundsDisplay
        """
        return cls.from_report(report(estimator, X, y, test=test, confidence=confidence), ax=ax)

    @classmethod
    def from_report(cls, found: object, *, ax: object = None) -> Self:
        """Draw the bounds of a report.

        Parameters
        ----------
        found : Report
        ax : Axes, optional

        Returns
        -------
        BoundsDisplay
        """
        return cls(found.bounds, truth=found.truth, measured=found.measured).plot(ax)

    def plot(self, ax: object = None) -> Self:
        """Draw one bar for each bound, the first on top.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.

        Returns
        -------
        self
        """
        bounds = list(self.bounds)
        ax = _axes.one(ax, (6.4, 0.9 + 0.34 * len(bounds)))
        places = np.arange(len(bounds))
        # a vacuous bound may be infinite
        lengths = [one.trivial if one.vacuous else one.value for one in bounds]
        self.bars_: Any = ax.barh(places, lengths, color="C0", edgecolor="white")
        for bar, one in zip(self.bars_, bounds, strict=True):
            if one.kind == "heuristic":
                bar.set(facecolor="white", edgecolor="C0", hatch="////")
            if one.vacuous:
                bar.set_alpha(0.35)
            text = "vacuous" if one.vacuous else f"{one.value:.3g}"
            end = (bar.get_width(), bar.get_y() + bar.get_height() / 2)
            ax.annotate(
                text, end, (4, 0), textcoords="offset points", va="center", fontsize="small"
            )
        ax.set_yticks(places, [one.name for one in bounds])
        ax.invert_yaxis()
        ax.set(
            xlim=(0, 1.18 * max(lengths, default=1.0)),
            xlabel=_quantity(bounds),
            title="bounds and heuristics (hatched)",
        )
        ax.spines[["top", "right"]].set_visible(False)
        self.truth_ = None
        if self.truth is not None:
            self.truth_: Any = ax.axvline(
                self.truth, color="C3", label=f"true: {self.truth:.3g} ({self.measured})"
            )
            ax.legend(handles=[self.truth_], frameon=False, loc="upper right")
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


def _quantity(bounds):
    """Return the quantity of the bounds, or "error" when they differ."""
    quantities = {one.quantity for one in bounds}
    return quantities.pop() if len(quantities) == 1 else "error"
