"""ParameterGridDisplay: scores of a search over C and gamma."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike, shown
from mercer.plot import _axes


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
        _axes.require_method(search, "cv_results_", "a fitted SVCCV, SVRCV or GridSearchCV")
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
        ax = _axes.one(ax, (5.0, 3.6))
        self.cells_: Any = ax.pcolormesh(_edges(self.x), _edges(self.y), self.scores, cmap=cmap)
        ax.figure.colorbar(self.cells_, ax=ax, label="mean score")
        self.best_: Any = _axes.markers(
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
    return np.asarray(values, np.float64)


def _edges(values):
    """Return the edges of cells whose geometric centres are the values."""
    logs = np.log(np.asarray(values, np.float64))
    # one cell more on each side, as wide as the last; a single cell has a width of e
    logs = (
        np.pad(logs, 1, "reflect", reflect_type="odd") if len(logs) > 1 else logs + np.arange(-1, 2)
    )
    return np.exp((logs[:-1] + logs[1:]) / 2)
