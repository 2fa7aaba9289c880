"""BoundsDisplay, ReductionDisplay and ParameterGridDisplay: errors and scores of models, bounds beside them."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike, PointsLike, as_float64, shown
from mercer.capacity import report
from mercer.plot import axes


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
        ax = axes.one(ax, (6.4, 0.9 + 0.34 * len(bounds)))
        places = np.arange(len(bounds))
        # a vacuous bound may be infinite
        lengths = [one.trivial if one.vacuous else one.value for one in bounds]
        self.bars_: Any = ax.barh(places, lengths, color="C0", edgecolor="white")
        for bar, one in zip(self.bars_, bounds, strict=True):
            if one.kind == "heuristic":
                bar.set(facecolor="white", edgecolor="C0", hatch="////")
            if one.vacuous:
                bar.set_alpha(0.35)
        texts = ["vacuous" if one.vacuous else f"{one.value:.3g}" for one in bounds]
        ax.bar_label(self.bars_, texts, padding=4, fontsize="small")
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
            axes.require_method(each, "report_", "models that mercer.compress returned")
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
        ax = axes.one(ax, (4.8, 3.2))
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
        positive = np.any(np.asarray(self.errors) > 0)
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
    from matplotlib.ticker import LogLocator

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.xaxis.set_minor_formatter("")


@dataclass(eq=False, repr=False)
class ParameterGridDisplay:
    """Scores of a search over two parameters on logarithmic axes, as coloured cells.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        Values of the parameters, increasing.
    scores : array (n_y, n_x)
        Mean scores; NaN where the search has none.
    names : (str, str)
        Names of the parameters.
    best : (float, float), optional
        The parameters chosen, marked by a star.

    Attributes
    ----------
    ax_ : Axes
    cells_ : QuadMesh
    best_ : Line2D or None
    figure_ : Figure

    See Also
    --------
    ParameterGridDisplay.from_estimator : Draw the results of a fitted search.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import ParameterGridDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> search = mc.SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0]).fit(X, X[:, 0] > 0)
    >>> ParameterGridDisplay.from_estimator(search).scores.shape
    (2, 3)
    """

    x: ArrayLike
    y: ArrayLike
    scores: ArrayLike
    _: KW_ONLY
    names: tuple[Any, ...] = ("C", "gamma")
    best: Any = None

    @classmethod
    def from_estimator(
        cls, search: object, *, names: tuple[str, str] | None = None, ax: object = None
    ) -> Self:
        """Draw the mean scores of a fitted search over two parameters.

        Parameters
        ----------
        search : SVCCV, SVRCV or GridSearchCV
            Fitted.
        names : (str, str), optional
            Parameters of the two axes, as in ``best_params_``. Default: its two parameters, that of C first.
        ax : Axes, optional
            As in `plot`.

        Returns
        -------
        ParameterGridDisplay

        Raises
        ------
        ValueError
            If the search has not two parameters and ``names`` does not choose them, if a value of one is no number
            above 0, or if several candidates have the same values of both.
        TypeError
            For an estimator that is not a fitted search.
        """
        axes.require_method(search, "cv_results_", "a fitted SVCCV, SVRCV or GridSearchCV")
        results = search.cv_results_
        known = sorted(
            search.best_params_, key=lambda name: (name.rpartition("__")[2] != "C", name)
        )
        chosen = tuple(known if names is None else names)
        if len(chosen) != 2 or not set(chosen) <= set(known):
            raise ValueError(
                f"names = {shown(names)} must be two of the parameters of the search, {known}; search over two, such "
                "as C and gamma, or name two."
            )
        columns = [_positive(name, results[f"param_{name}"]) for name in chosen]
        (x, at_x), (y, at_y) = (np.unique(column, return_inverse=True) for column in columns)
        scores = np.full((len(y), len(x)), np.nan)
        scores[at_y, at_x] = results["mean_test_score"]
        if len(set(zip(at_y, at_x, strict=True))) < len(at_x):
            raise ValueError(
                f"several candidates have the same values of {chosen}; search over two parameters."
            )
        best = tuple(float(search.best_params_[name]) for name in chosen)
        return cls(x, y, scores, names=chosen, best=best).plot(ax)

    def plot(self, ax: object = None, *, cmap: object = "cividis") -> Self:
        """Draw one cell for each pair of values, and a star at the best one.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.
        cmap : str or Colormap

        Returns
        -------
        self
        """
        ax = axes.one(ax, (5.0, 3.6))
        self.cells_: Any = ax.pcolormesh(_edges(self.x), _edges(self.y), self.scores, cmap=cmap)
        ax.figure.colorbar(self.cells_, ax=ax, label="mean score")
        self.best_: Any = axes.markers(
            ax, self.best, "*", markersize=14, color="white", markeredgecolor="black"
        )
        ax.set(xscale="log", yscale="log", xlabel=self.names[0], ylabel=self.names[1])
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


def _positive(name, values):
    """Return the values of a parameter as floats, or raise unless they have places on a logarithmic axis."""
    other = [value for value in values if not (isinstance(value, Real) and value > 0)]
    if other:
        raise ValueError(
            f"the search has {name} = {shown(other[0])}, but the axes are logarithmic; search over numbers above 0, or "
            "name two other parameters by names=."
        )
    return as_float64(values)


def _edges(values):
    """Return the edges of cells whose geometric centres are the values."""
    logs = np.log(as_float64(values))
    # one cell more on each side, as wide as the last; a single cell has a width of e
    logs = (
        np.pad(logs, 1, "reflect", reflect_type="odd") if len(logs) > 1 else logs + np.arange(-1, 2)
    )
    return np.exp((logs[:-1] + logs[1:]) / 2)
