"""The views: which numbers, which figure, which facts, and the code that computes the numbers."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline

import mercer as mc
from mercer._common import record
from mercer.cli.explore import recipes
from mercer.cli.explore.choice import Choice
from mercer.cli.explore.tables import Table
from mercer.cli.pictures import Draw
from mercer.kernels.mapped import map_rows
from mercer.plot import (
    DecisionBoundaryDisplay,
    ImageGridDisplay,
    KernelPCAContoursDisplay,
    ReductionDisplay,
)
from mercer.plot.axes import grid

# The numbers of a recipe by name.
Numbers: TypeAlias = dict[str, Any]
_IMPORTS = "import numpy as np\nimport mercer as mc\n"


@record
class View:
    """A tab of the page: title, explanation, numbers, figure and facts.

    ``recipe(X, ...)`` returns the numbers; ``draw(result, X, table)`` a picture and ``facts(result)`` sentences. In the
    plane, X are the points (n, 2); ``downloads`` says whether the numbers hold a fitted model.
    """

    title: str
    text: str
    recipe: Callable[..., Numbers]
    draw: Callable[[Numbers, np.ndarray, Table], Draw]
    facts: Callable[[Numbers], list[str]]
    plane: bool = False
    downloads: bool = True

    @property
    def parameters(self) -> list[str]:
        """The names of the arguments of the recipe."""
        return list(inspect.signature(self.recipe).parameters)

    def code(self, table: Table, choice: Choice) -> str:
        """Return the code that computes the numbers and saves the model."""
        settings = {"kernel": choice.code, "C": choice.C, "size": choice.size}
        lines = [f"{name} = {value}" for name, value in settings.items() if name in self.parameters]
        plane = self._plane(table, choice)
        data = table.code
        arguments = ", ".join(self.parameters)
        if plane is not None:
            data += plane.code
            arguments = arguments.replace("X", plane.points)
        lines.append(f"result = {self.recipe.__name__}({arguments})")
        if self.downloads:
            model = 'result["model"]'
            if plane is not None:
                fit = "set_params(kernel=mc.Mapped(kernel, plane)).fit(X, y)"
                lines.append(f"model = {model}.{fit}")
                model = "model"
            if table.scaler is not None:
                lines.append("\nfrom sklearn.pipeline import make_pipeline\n")
                model = f"make_pipeline(scaler, {model})"
            lines.append(f'mc.save({model}, "model.mercer")')
        functions = [recipes.lattice] * self.plane + [self.recipe]
        sources = map(inspect.getsource, functions)
        return "\n\n".join([_IMPORTS, data, *sources, "\n".join(lines)]) + "\n"

    def points(self, table: Table, choice: Choice) -> np.ndarray:
        """Return the points of the view: those of the table, or in the plane."""
        plane = self._plane(table, choice)
        return table.X if plane is None else map_rows(plane.A, table.X)

    def run(self, table: Table, choice: Choice) -> tuple[Numbers, list[str]]:
        """Return the numbers, and the warnings of the computation as texts."""
        known = {
            "X": self.points(table, choice),
            "y": table.y,
            "kernel": choice.kernel(),
            "C": choice.C,
            "size": choice.size,
        }
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = self.recipe(**{name: known[name] for name in self.parameters})
        return result, list(dict.fromkeys(str(each.message) for each in caught))

    def model(self, table: Table, choice: Choice, result: Numbers) -> BaseEstimator:
        """Return the model to download, which takes the rows of the table as they were before scaling."""
        model = result["model"]
        plane = self._plane(table, choice)
        if plane is not None:
            kernel = mc.Mapped(choice.kernel(), plane.A)
            model = clone(model).set_params(kernel=kernel).fit(table.X, table.y)
        return model if table.scaler is None else make_pipeline(table.scaler, model)

    def _plane(self, table, choice):
        return table.plane(choice.plane) if self.plane else None


def _boundary(result, X, table):
    """Draw the decision values of two classes, or the predicted class, over the plane, with points and vectors."""
    model = result["model"]
    several = len(model.classes_) > 2
    values = np.searchsorted(model.classes_, result["values"]) if several else result["values"]
    display = DecisionBoundaryDisplay(
        result["x1"],
        result["x2"],
        values,
        vectors=X[model.support_],
        points=X,
        labels=table.y,
        multiclass=several,
    )
    return lambda ax: display.plot(ax).ax_.legend(
        frameon=False, bbox_to_anchor=(1, 1), loc="upper left"
    )


def _boundary_facts(result):
    model = result["model"]
    return [
        f"{len(model.support_)} support vectors",
        f"accuracy in three-fold cross-validation {result['accuracy']:.1%}",
    ]


def _components(result, X, _table):
    """Draw contours of the scores of each component, in three columns."""
    titles = [
        f"{k + 1}: {share:.1%}" for k, share in enumerate(result["model"].explained_variance_ratio_)
    ]
    display = KernelPCAContoursDisplay(
        result["x1"], result["x2"], result["scores"], points=X, titles=titles
    )
    return functools.partial(display.plot, n_columns=3)


def _component_facts(result):
    return [
        f"six components have {result['model'].explained_variance_ratio_.sum():.1%} of the variance"
    ]


def _spectrum(result, _X, _table):
    """Draw the shares of the variance and their sum, on logarithmic scales."""
    shares = result["shares"]

    def draw(ax):
        number = np.arange(1, len(shares) + 1)
        ax.loglog(number, shares, ".-", label="share")
        ax.loglog(number, np.cumsum(shares), ":", label="sum")
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(1e-6, 2.0))
        ax.legend(frameon=False)

    return draw


def _spectrum_facts(result):
    n = np.searchsorted(np.cumsum(result["shares"]), 0.95) + 1
    return [
        f"{n} components have 95 % of the variance",
        f"alignment with the labels {result['alignment']:.3f}",
    ]


def _geometry(result, X, _table):
    """Draw images of the volume element and of the distance from the mean in feature space."""
    with np.errstate(divide="ignore"):
        volume = np.log10(result["volume"])
    images = {
        "log10 of volume": np.ma.masked_invalid(volume),
        "distance from mean": result["distance"],
    }

    def draw(ax):
        for panel, (name, values) in zip(grid(ax, 1, 2, (0, 0))[0], images.items(), strict=True):
            image = panel.pcolormesh(result["x1"], result["x2"], values, cmap="cividis")
            panel.figure.colorbar(image, ax=panel, orientation="horizontal")
            panel.plot(*X.T, ".", color="white", markersize=2, alpha=0.5)
            panel.set(aspect="equal", title=name)

    return draw


def _geometry_facts(result):
    low, high = (f"{find(result['curvature']):.3g}" for find in (np.nanmin, np.nanmax))
    # a flat surface is the same at all points: that of a kernel of the distance alone, for example
    return [
        f"scalar curvature {low} everywhere"
        if low == high
        else f"scalar curvature from {low} to {high}"
    ]


def _denoising(result, _X, table):
    """Draw the errors against the number of components, and for the digits the first ten, in three rows."""
    rows = ("clean", "noisy", "denoised")

    def draw(ax):
        if table.name == "digits":
            pixels, ax = grid(ax, 2, 1, (0, 0))[:, 0]
            images = np.stack([result[name][:10].reshape(-1, 8, 8) for name in rows])
            ImageGridDisplay(images, titles=rows).plot(pixels, cmap="Greys")
        ax.semilogx(result["sizes"], result["errors"], ".-", label="denoised")
        ax.axhline(result["error"], linestyle=":", color="C1", label="noisy")
        ax.set(xlabel="components", ylabel="mean squared error", ylim=(0, None))
        ax.minorticks_off()
        ax.set_xticks(result["sizes"], list(map(str, result["sizes"])))
        ax.legend(frameon=False)

    return draw


def _denoising_facts(result):
    error = np.mean(np.sum((result["denoised"] - result["clean"]) ** 2, axis=1))
    n = result["model"].n_components
    return [
        f"error {result['error']:.3f} with noise, {error:.3f} after denoising with {n} components"
    ]


def _vectors(result, _X, _table):
    """Draw the test errors against the number of vectors, with a band of their standard errors."""
    errors = np.asarray(result["errors"])
    spread = np.sqrt(errors * (1 - errors) / result["n_test"])
    return ReductionDisplay(
        result["sizes"],
        errors,
        spread=(errors - spread, errors + spread),
        name="compressed",
        reference=result["error"],
        ylabel="test error",
        yscale="linear",
    ).plot


def _vector_facts(result):
    n = len(result["model"].expansion_.points)
    return [
        f"the model to download has {n} of {result['n_full']} vectors",
        f"{result['n_test']} test rows",
    ]


VIEWS = {
    "boundary": View(
        "Decision boundary",
        "A support vector machine in the plane: predicted classes, or the boundary of two classes and its margins.",
        recipes.boundary,
        _boundary,
        _boundary_facts,
        plane=True,
    ),
    "components": View(
        "Kernel PCA",
        "Scores of six kernel principal components over the plane, with their shares of the variance.",
        recipes.components,
        _components,
        _component_facts,
        plane=True,
    ),
    "spectrum": View(
        "Spectrum",
        "The eigenvalues of the centred kernel matrix of all columns, as shares of the variance in feature space.",
        recipes.spectrum,
        _spectrum,
        _spectrum_facts,
        downloads=False,
    ),
    "geometry": View(
        "Geometry",
        "The surface of the mapped points: how much the kernel magnifies, and how far points are from the mean.",
        recipes.geometry,
        _geometry,
        _geometry_facts,
        plane=True,
        downloads=False,
    ),
    "denoising": View(
        "Denoising",
        "Noise is added to 50 rows, at most half; kernel PCA of the other rows removes it. For digits, the first ten "
        "rows are shown.",
        recipes.denoising,
        _denoising,
        _denoising_facts,
    ),
    "vectors": View(
        "Fewer vectors",
        "A support vector machine is compressed. The band has the standard errors; each change takes seconds.",
        recipes.vectors,
        _vectors,
        _vector_facts,
    ),
}
