"""ReductionDisplay: error of reduced sets against their number of vectors."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike, PointsLike
from mercer.plot import _axes


@dataclass(eq=False, repr=False)
class ReductionDisplay:
    """Error of reduced sets against their number of vectors, one line; further displays can share the axes.

    Parameters
    ----------
    sizes : array (h,)
        Numbers of vectors.
    errors : array (h,)
        Error for each number.
    name : str, optional
        Name in the legend.
    reference : float, optional
        Error of the uncompressed model, drawn as a dotted line.
    spread : array (2, h), optional
        Smallest and largest error of each number, drawn as a band.
    ylabel : str
    yscale : {"log", "linear"}

    Attributes
    ----------
    ax_ : Axes
    line_ : Line2D
    reference_ : Line2D or None
    band_ : FillBetweenPolyCollection or None
    figure_ : Figure

    See Also
    --------
    ReductionDisplay.from_reduction : Draw the history of `mercer.reduce`.
    ReductionDisplay.from_estimators : Draw test errors of compressed models.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), figure 7.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import ReductionDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> psi = mc.mean(mc.features(mc.Gaussian(0.5), X))
    >>> display = ReductionDisplay.from_reduction(mc.reduce(psi, 8), name="construct")
    >>> second = ReductionDisplay.from_reduction(mc.reduce(psi, 8, method="greedy"), name="greedy", ax=display.ax_)
    >>> len(display.ax_.lines), bool((np.diff(display.errors) < 0).all())
    (2, True)
    """

    sizes: ArrayLike
    errors: ArrayLike
    _: KW_ONLY
    name: str | None = None
    reference: float | None = None
    spread: ArrayLike | None = None
    ylabel: str = "relative error"
    yscale: str = "log"

    @classmethod
    def from_reduction(
        cls, reduction: object, *, name: str | None = None, ax: object = None, **line: object
    ) -> Self:
        """Draw the history of a reduction: the relative error in feature space for every size.

        Parameters
        ----------
        reduction : Reduction
        name : str, optional
            Default: the name of the method.
        ax : Axes, optional
            Axes of another display, for comparison.
        **line
            Options of ``Axes.plot``.

        Returns
        -------
        ReductionDisplay
        """
        name = type(reduction.method).__name__ if name is None else name
        ylabel = "relative error in feature space"
        return cls(reduction.sizes, reduction.history, name=name, ylabel=ylabel).plot(ax, **line)

    @classmethod
    def from_estimators(
        cls,
        estimators: Sequence[Any],
        X: PointsLike,
        y: ArrayLike,
        *,
        full: object = None,
        name: str | None = None,
        ax: object = None,
        **line: object,
    ) -> Self:
        """Draw the errors of compressed models on data against their numbers of vectors.

        Parameters
        ----------
        estimators : sequence of estimators
            Compressed by `mercer.compress`, with ``report_``; one model at different sizes. Of several models of one
            size, such as those of other random states, the line is the mean error and a band the range.
        X : points (n)
            Preferably test points.
        y : array (n,)
        full : estimator, optional
            Uncompressed model, for the dotted line.
        name, ax, **line
            As in `from_reduction`.

        Returns
        -------
        ReductionDisplay
        """
        for each in estimators:
            _axes.require_method(each, "report_", "models that mercer.compress returned")
        sizes = np.array([each.report_.vectors_after for each in estimators])
        errors = np.array([1 - each.score(X, y) for each in estimators])
        reference = None if full is None else 1 - full.score(X, y)
        found = {size: errors[sizes == size] for size in np.unique(sizes)}
        means = np.array([each.mean() for each in found.values()])
        spread = None
        if len(found) < len(sizes):
            spread = np.array([[each.min(), each.max()] for each in found.values()]).T
        return cls(
            np.array(list(found)),
            means,
            name=name,
            reference=reference,
            spread=spread,
            ylabel="1 - score",
            yscale="linear",
        ).plot(ax, **line)

    def plot(self, ax: object = None, **line: object) -> Self:
        """Draw the errors against the sizes on a logarithmic scale.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.
        **line
            Options of ``Axes.plot``.

        Returns
        -------
        self
        """
        ax = _axes.one(ax, (4.8, 3.2))
        line = {"marker": "o", "markersize": 3, "label": self.name} | line
        self.line_: Any = ax.plot(self.sizes, self.errors, **line)[0]
        color = self.line_.get_color()
        self.band_: Any = (
            None
            if self.spread is None
            else ax.fill_between(self.sizes, *self.spread, color=color, alpha=0.25)
        )
        self.reference_: Any = (
            None
            if self.reference is None
            else ax.axhline(self.reference, linestyle=":", color=color, label="all vectors")
        )
        # a logarithmic scale cannot show an error of 0
        positive = bool(np.any(np.asarray(self.errors) > 0))
        ax.set_yscale(self.yscale if positive else "linear")
        ax.set_xscale("log")
        ax.set(xlabel="vectors", ylabel=self.ylabel)
        _plain_sizes(ax)
        if any(each is not None for each in (self.name, self.reference)):
            ax.legend(frameon=False)
        if self.yscale == "linear":
            ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


def _plain_sizes(ax):
    """Label sizes as integers, at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
