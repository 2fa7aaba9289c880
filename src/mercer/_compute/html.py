"""HTML of objects in notebooks: tables of names and values, and small pictures as SVG."""

import html

import numpy as np

from mercer._common import shortened

# Colours of positive and negative values, which differ for colour-blind readers too, on light and dark pages.
_SIGNS = ("#0072b2", "#d55e00")
# Most cells of a heat map in a row or column, their side in pixels, and the size of a curve, as wide as such a map.
CELLS = 30
_CELL = 5
_WIDTH = CELLS * _CELL
_HEIGHT = 50


def table(title, facts, picture=""):
    """Return a table of (name, value) pairs as HTML; all texts are escaped, the picture is HTML already."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts
    )
    caption = f'<caption style="text-align:left"><code>{escape(title)}</code></caption>'
    return f'<table style="text-align:left">{caption}<tbody>{rows}</tbody></table>{picture}'


def heat_map(values, text):
    """Return the picture of a matrix: a cell is the stronger, the larger its value is; the text describes it."""
    size = np.max(np.abs(values), initial=0.0)
    cells = "".join(
        f'<rect x="{_CELL * j}" y="{_CELL * i}" width="{_CELL}" height="{_CELL}" fill="{_SIGNS[int(value < 0)]}" '
        f'fill-opacity="{abs(value) / size:.2g}"/>'
        for (i, j), value in np.ndenumerate(values)
        if value
    )
    return _svg(_CELL * values.shape[1], _CELL * values.shape[0], cells, text)


def curve(x, y, text):
    """Return the picture of a curve through points whose x increase, with the axis y = 0; the text describes it."""
    span = max(float(x[-1] - x[0]), 1e-300)
    top = max(float(np.max(y)), 1e-300)
    points = " ".join(
        f"{_WIDTH * float(a - x[0]) / span:.1f},{_HEIGHT * (1 - float(b) / top):.1f}"
        for a, b in zip(x, y, strict=True)
    )
    line = f'<polyline points="{points}" fill="none" stroke="{_SIGNS[0]}" stroke-width="2"/>'
    axis = f'<path d="M0 {_HEIGHT}H{_WIDTH}" stroke="currentColor"/>'
    return _svg(_WIDTH, _HEIGHT, axis + line, text)


def escape(value):
    """Return the text of a value on one line, cut if it is long, with the signs of HTML escaped."""
    return html.escape(shortened(str(value)))


def _svg(width, height, content, text):
    opening = f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
    return f"{opening}><title>{escape(text)}</title>{content}</svg>"
