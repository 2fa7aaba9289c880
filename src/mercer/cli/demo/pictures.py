"""Displays as pictures inside a page, one PNG for light themes and one for dark themes."""

import base64
import html
import io

from mercer.plot import _axes

_INK = {"light": "#1c1e21", "dark": "#e6e6e3"}
# Settings that take the colour of text.
_TEXT = ("text.color", "axes.titlecolor", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def png(display: object, size: tuple[float, float], theme: str) -> bytes:
    """Return the PNG bytes of a display, ``size`` inches large, with text for a "light" or "dark" theme."""
    _axes.require()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = dict.fromkeys(_TEXT, _INK[theme]) | {"axes.facecolor": "none", "axes.titlesize": 10, "font.size": 10}
    with rc_context(style):
        figure = Figure(figsize=size, layout="constrained", facecolor="none")
        display.plot(ax=figure.subplots())
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=144, facecolor="none")
    return buffer.getvalue()


def figure(display: object, size: tuple[float, float], alt: str, caption: str) -> str:
    """Return a ``<figure>`` with inline pictures for both themes; ``alt`` is text, ``caption`` HTML."""
    light, dark = (_inline(png(display, size, theme)) for theme in ("light", "dark"))
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{html.escape(alt)}" width="{size[0] * 110:.0f}"></picture>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _inline(data):
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")
