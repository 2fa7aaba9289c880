"""The pictures of the views: each function returns one that draws the numbers of a recipe into axes."""

import functools
from typing import Any, TypeAlias

import numpy as np

from mercer._common import Array
from mercer.cli.explore.tables import Table
from mercer.cli.pictures import Draw
from mercer.plot import (
    DecisionBoundaryDisplay,
    ImageGridDisplay,
    KernelPCAContoursDisplay,
    ReductionDisplay,
    _axes,
)

# The numbers of a recipe by name.
Numbers: TypeAlias = dict[str, Any]


def boundary(result: Numbers, X: Array, table: Table) -> Draw:
    """Draw the decision values of two classes, or the predicted class, over the plane, with points and vectors."""
    model = result["model"]
    several = len(model.classes_) > 2
    values = np.searchsorted(model.classes_, result["values"]) if several else result["values"]
    options = {"vectors": X[model.support_], "points": X, "labels": table.y, "multiclass": several}
    display = DecisionBoundaryDisplay(result["x1"], result["x2"], values, **options)
    return lambda ax: display.plot(ax).ax_.legend(
        frameon=False, bbox_to_anchor=(1, 1), loc="upper left"
    )


def components(result: Numbers, X: Array, _table: Table) -> Draw:
    """Draw contours of the scores of each component, in three columns."""
    titles = [
        f"{k + 1}: {share:.1%}" for k, share in enumerate(result["model"].explained_variance_ratio_)
    ]
    display = KernelPCAContoursDisplay(
        result["x1"], result["x2"], result["scores"], points=X, titles=titles
    )
    return functools.partial(display.plot, n_columns=3)


def spectrum(result: Numbers, _X: Array, _table: Table) -> Draw:
    """Draw the shares of the variance and their sum, on logarithmic scales."""
    shares = result["shares"]

    def draw(ax):
        number = np.arange(1, len(shares) + 1)
        ax.loglog(number, shares, ".-", label="share")
        ax.loglog(number, np.cumsum(shares), ":", label="sum")
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(1e-6, 2.0))
        ax.legend(frameon=False)

    return draw


def geometry(result: Numbers, X: Array, _table: Table) -> Draw:
    """Draw images of the volume element and of the distance from the mean in feature space."""
    with np.errstate(divide="ignore"):
        volume = np.log10(result["volume"])
    images = {
        "log10 of volume": np.ma.masked_invalid(volume),
        "distance from mean": result["distance"],
    }

    def draw(ax):
        for panel, (name, values) in zip(
            _axes.grid(ax, 1, 2, (0, 0))[0], images.items(), strict=True
        ):
            image = panel.pcolormesh(result["x1"], result["x2"], values, cmap="cividis")
            panel.figure.colorbar(image, ax=panel, orientation="horizontal")
            panel.plot(*X.T, ".", color="white", markersize=2, alpha=0.5)
            panel.set(aspect="equal", title=name)

    return draw


def denoising(result: Numbers, _X: Array, table: Table) -> Draw:
    """Draw the errors against the number of components, and for the digits the first ten, in three rows."""
    rows = ("clean", "noisy", "denoised")

    def draw(ax):
        if table.name == "digits":
            pixels, ax = _axes.grid(ax, 2, 1, (0, 0))[:, 0]
            images = np.stack([result[name][:10].reshape(-1, 8, 8) for name in rows])
            ImageGridDisplay(images, titles=rows).plot(pixels, cmap="Greys")
        ax.semilogx(result["sizes"], result["errors"], ".-", label="denoised")
        ax.axhline(result["error"], linestyle=":", color="C1", label="noisy")
        ax.set(xlabel="components", ylabel="mean squared error", ylim=(0, None))
        ax.minorticks_off()
        ax.set_xticks(result["sizes"], list(map(str, result["sizes"])))
        ax.legend(frameon=False)

    return draw


def vectors(result: Numbers, _X: Array, _table: Table) -> Draw:
    """Draw the test errors against the number of vectors, with a band of their standard errors."""
    errors = np.asarray(result["errors"])
    spread = np.sqrt(errors * (1 - errors) / result["n_test"])
    options = {
        "name": "compressed",
        "reference": result["error"],
        "ylabel": "test error",
        "yscale": "linear",
    }
    return ReductionDisplay(
        result["sizes"], errors, spread=(errors - spread, errors + spread), **options
    ).plot
