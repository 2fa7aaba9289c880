"""Displays as pictures inside a page: one PNG for light pages, one for dark ones."""

import base64
import html
import io

from mercer.plot import _axes

_INK = {"light": "#1c1e21", "dark": "#e6e6e3"}
# What has the colour of the letters.
_LETTERS = ("text.color", "axes.titlecolor", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def png(display, size, theme="light", background="none"):
    """Return what a display draws, as the bytes of a PNG.

    Parameters
    ----------
    display : display
        With ``plot(ax=)``.
    size : (float, float)
        Width and height in inches.
    theme : {"light", "dark"}
        Colour of the letters.
    background : str
        Colour behind the panels; the page shines through where it is "none".

    Returns
    -------
    bytes
    """
    _axes.require()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ink = _INK[theme]
    style = dict.fromkeys(_LETTERS, ink) | {"axes.facecolor": "none", "axes.titlesize": 10, "font.size": 10}
    with rc_context(style):
        figure = Figure(figsize=size, layout="constrained", facecolor=background)
        display.plot(ax=figure.subplots())
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=144, facecolor=background)
    return buffer.getvalue()


def figure(display, size, alt, caption):
    """Return a ``<figure>`` with both pictures inline.

    Parameters
    ----------
    display, size
        As in `png`.
    alt : str
        What is to be seen, for those who do not see it.
    caption : str
        HTML.

    Returns
    -------
    str
    """
    light, dark = (_inline(png(display, size, theme)) for theme in ("light", "dark"))
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{html.escape(alt)}" width="{size[0] * 110:.0f}"></picture>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _inline(data):
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")
