"""Figures of the views: arrays in, Plotly figures as dictionaries out. The style sheet gives text its colour."""

from typing import Any, TypeAlias

import numpy as np

from mercer._common import Array

# The numbers of a recipe by name, and a figure of Plotly.
Numbers: TypeAlias = dict[str, Any]
Figure: TypeAlias = dict[str, Any]

# Colours of Okabe and Ito, which the colour-blind tell apart; the symbol repeats the class.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C00", "#7F7F7F")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
_GRID = "rgba(128,128,128,0.25)"
# From the first class colour to the second, without colour at 0.
_DIVERGING = [[0, "rgba(0,114,178,0.5)"], [0.5, "rgba(128,128,128,0)"], [1, "rgba(230,159,0,0.5)"]]


def boundary(result: Numbers, X: Array, y: Array) -> Figure:
    """Return the decision values of two classes, or the predicted class, over the plane, with points and vectors."""
    model = result["model"]
    values = result["values"]
    if len(model.classes_) == 2:
        traces = [_contours(result, values), _line(result, values, 0, width=2.5)]
        traces.append(_line(result, values, -1, 1, dash="dot"))
    else:
        traces = [_regions(result, np.searchsorted(model.classes_, values), len(model.classes_))]
    traces += _points(X, y)
    around = X[model.support_]
    traces.append(_markers(around, "support vectors", symbol="circle-open", size=11, color="#888"))
    return _figure(traces, _plane_axes(result))


def components(result: Numbers, X: Array) -> Figure:
    """Return contours of the scores of each component, in three columns."""
    traces = []
    layout = {}
    shares = result["model"].explained_variance_ratio_
    notes = []
    for k, scores in enumerate(result["scores"]):
        axis = "" if k == 0 else str(k + 1)
        left = (k % 3) / 3
        bottom = 0.52 * (1 - k // 3)
        place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        dots = _markers(X, "", size=2, color="#888") | {"showlegend": False}
        traces += [each | place for each in (_contours(result, scores), _line(result, scores, 0), dots)]
        hidden = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": ""}
        layout[f"xaxis{axis}"] = hidden | {"domain": [left, left + 0.31], "anchor": f"y{axis}"} | _span(result["x1"])
        layout[f"yaxis{axis}"] = hidden | {"domain": [bottom, bottom + 0.42], "anchor": f"x{axis}"}
        layout[f"yaxis{axis}"] |= _span(result["x2"])
        notes.append(_note(left + 0.155, bottom + 0.43, f"{k + 1}: {shares[k]:.1%}"))
    return _figure(traces, layout | {"annotations": notes})


def spectrum(result: Numbers) -> Figure:
    """Return the shares of the variance and their sum, on a logarithmic scale of components."""
    shares = result["shares"]
    number = np.arange(1, len(shares) + 1)
    traces = [
        {"type": "scatter", "mode": "lines+markers", "x": number, "y": shares, "name": "share"},
        {
            "type": "scatter",
            "mode": "lines",
            "x": number,
            "y": np.cumsum(shares),
            "name": "sum",
            "line": {"dash": "dot"},
        },
    ]
    return _figure(
        [_coloured(trace, k) for k, trace in enumerate(traces)],
        {
            "xaxis": _axis("component", type="log", dtick="D2"),
            "yaxis": _axis("share of the variance", type="log", range=[-6, 0.2], dtick=1, exponentformat="power"),
        },
    )


def geometry(result: Numbers, X: Array) -> Figure:
    """Return images of the volume element and of the distance from the mean in feature space."""
    with np.errstate(divide="ignore"):
        volume = np.where(result["volume"] > 0, np.log10(result["volume"]), np.nan)
    traces = []
    layout = {}
    notes = []
    names = ("log10 of volume", "distance from mean")
    for k, values in enumerate((volume, result["distance"])):
        axis, left = ("", 0.0) if k == 0 else ("2", 0.55)
        place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        bar = {"orientation": "h", "x": left + 0.225, "len": 0.42, "y": 0.06, "yanchor": "top", "thickness": 10}
        bar |= {"outlinewidth": 0, "nticks": 4, "tickangle": 0}
        image = {"type": "heatmap", "x": result["x1"], "y": result["x2"], "z": values, "colorscale": "Cividis"}
        dots = _markers(X, "", size=3, color="#fff") | {"showlegend": False, "opacity": 0.5}
        traces += [image | {"colorbar": bar, "hoverinfo": "x+y+z"} | place, dots | place]
        layout[f"xaxis{axis}"] = _axis("", domain=[left, left + 0.45], anchor=f"y{axis}", **_span(result["x1"]))
        layout[f"yaxis{axis}"] = _axis(
            "", anchor=f"x{axis}", domain=[0.16, 1], showticklabels=k == 0, **_span(result["x2"])
        )
        notes.append(_note(left + 0.225, 1.02, names[k]))
    return _figure(traces, layout | {"annotations": notes})


def denoising(result: Numbers, width: int | None = None) -> Figure:
    """Return the errors against the number of components, and for images of a width the first ten, in three rows."""
    traces = [_curve(result["sizes"], result["errors"], "denoised")]
    traces.append(_reference(result["sizes"], result["error"], "noisy"))
    layout = {"xaxis": _axis("components", type="log", **_ticks(result["sizes"]))}
    layout["yaxis"] = _axis("mean squared error", rangemode="tozero")
    if width is not None:
        layout["yaxis"]["domain"] = [0.0, 0.5]
        rows = [mosaic(result[name][:10], width) for name in ("denoised", "noisy", "clean")]
        image = {"type": "heatmap", "z": np.concatenate(rows)[::-1], "colorscale": "Greys", "zmin": 0, "zmax": 1}
        traces.append(image | {"showscale": False, "hoverinfo": "skip", "xaxis": "x2", "yaxis": "y2"})
        layout["xaxis2"] = {"visible": False, "anchor": "y2"}
        named = {
            "tickvals": [0.5 * width + k * (width + 1) for k in range(3)],
            "ticktext": ["clean", "noisy", "denoised"],
        }
        layout["yaxis2"] = named | {
            "domain": [0.6, 1.0],
            "anchor": "x2",
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        }
    return _figure(traces, layout)


def vectors(result: Numbers) -> Figure:
    """Return the test errors against the number of vectors, with their standard errors."""
    errors = np.asarray(result["errors"])
    spread = np.sqrt(errors * (1 - errors) / result["n_test"])
    curve = _curve(result["sizes"], 100 * errors, "compressed")
    curve["error_y"] = {"type": "data", "array": 100 * spread, "thickness": 1}
    sizes = [*result["sizes"], result["n_full"]]
    layout = {"xaxis": _axis("vectors", type="log", **_ticks(result["sizes"]))}
    layout["yaxis"] = _axis("test error, %", rangemode="tozero")
    return _figure([curve, _reference(sizes, 100 * result["error"], f"all {result['n_full']} vectors")], layout)


def mosaic(rows: Array, width: int) -> Array:
    """Return images (n, d) beside each other, the first row of pixels at the bottom, with gaps of one pixel."""
    images = np.asarray(rows).reshape(len(rows), -1, width)
    padded = np.pad(images, ((0, 0), (1, 0), (0, 1)), constant_values=np.nan)
    return np.concatenate(padded, axis=1)


def empty() -> Figure:
    """Return a figure without data."""
    return _figure([], {"xaxis": {"visible": False}, "yaxis": {"visible": False}})


def _figure(traces, layout):
    common = {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "font": {"size": 13}}
    common |= {
        "margin": {"l": 45, "r": 10, "t": 30, "b": 45},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": traces, "layout": common | layout}


def _note(x, y, text):
    """Return a text whose bottom centre is at a place of the figure, in shares of its width and height."""
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom"}
    return place | {"text": text, "showarrow": False}


def _axis(title, **options):
    return {"title": {"text": title}, "gridcolor": _GRID, "zerolinecolor": _GRID, "automargin": True, **options}


def _ticks(sizes):
    return {"tickvals": list(sizes), "ticktext": [str(n) for n in sizes]}


def _span(values):
    return {"range": [float(values[0]), float(values[-1])]}


def _plane_axes(result):
    return {"xaxis": _axis("", **_span(result["x1"])), "yaxis": _axis("", **_span(result["x2"]))}


def _contours(result, values):
    # values must differ from 0 somewhere for a scale to exist; "best" would take 70 ms more to draw than "fast"
    reach = float(np.quantile(np.abs(values), 0.98)) or 1.0
    colours = {"colorscale": _DIVERGING, "zmin": -reach, "zmax": reach, "showscale": False, "zsmooth": "fast"}
    return {"type": "heatmap", "x": result["x1"], "y": result["x2"], "z": values, **colours}


def _line(result, values, *levels, **style):
    """Return the curves where the values are at one level, or at the two levels of the margins."""
    contours = {"start": levels[0], "end": levels[-1], "size": max(levels[-1] - levels[0], 1), "coloring": "none"}
    common = {"contours": contours, "showscale": False, "showlegend": False, "hoverinfo": "skip"}
    plane = {"x": result["x1"], "y": result["x2"], "z": values}
    return {"type": "contour", **plane, **common, "line": {"width": 1, "color": "#444"} | style}


def _regions(result, indices, n):
    steps = [[(k + edge) / n, COLOURS[k % len(COLOURS)]] for k in range(n) for edge in (0, 1)]
    limits = {"zmin": -0.5, "zmax": n - 0.5, "showscale": False, "opacity": 0.3, "hoverinfo": "skip"}
    return {"type": "heatmap", "x": result["x1"], "y": result["x2"], "z": indices, "colorscale": steps, **limits}


def _points(X, y):
    labels = np.unique(y)
    return [
        _markers(
            X[y == label],
            f"class {label}"[:24],
            symbol=SYMBOLS[k % len(SYMBOLS)],
            size=6,
            color=COLOURS[k % len(COLOURS)],
        )
        for k, label in enumerate(labels)
    ]


def _markers(X, name, **marker):
    # edges of all points would take a third of the time of drawing
    edge = {"width": 1.2 if marker.get("symbol") == "circle-open" else 0}
    points = {"type": "scatter", "mode": "markers", "x": X[:, 0], "y": X[:, 1], "hoverinfo": "skip"}
    return points | {"name": name, "marker": marker | {"line": edge}}


def _coloured(trace, k):
    return trace | {"line": trace.get("line", {}) | {"color": COLOURS[k]}}


def _curve(x, y, name):
    return _coloured({"type": "scatter", "mode": "lines+markers", "x": list(x), "y": np.asarray(y), "name": name}, 0)


def _reference(x, y, name):
    ends = [min(x), max(x)]
    return _coloured(
        {"type": "scatter", "mode": "lines", "x": ends, "y": [y, y], "name": name, "line": {"dash": "dot"}}, 1
    )
