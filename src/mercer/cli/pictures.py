"""Pictures inside a page: one PNG for light themes and one for dark themes."""

import base64
import html
import io
from collections.abc import Callable
from typing import Any, TypeAlias

from mercer.plot.axes import require

# A function that draws into axes, such as the method ``plot`` of a display.
Draw: TypeAlias = Callable[[Any], object]

_INK = {"light": "#1c1e21", "dark": "#e6e6e3"}
# Settings that take the colour of text.
_TEXT = (
    "text.color",
    "axes.titlecolor",
    "axes.labelcolor",
    "axes.edgecolor",
    "xtick.color",
    "ytick.color",
)


def inline(draw: Draw, size: tuple[float, float] | None = None) -> tuple[str, ...]:
    """Return the addresses of a picture for light and for dark themes, which hold its bytes.

    It is ``size`` inches large, or has matplotlib's size.
    """
    require()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = []
    for ink in _INK.values():
        with rc_context(
            dict.fromkeys(_TEXT, ink)
            | {"axes.facecolor": "none", "axes.titlesize": 10, "font.size": 10}
        ):
            figure = Figure(figsize=size, layout="constrained", facecolor="none")
            draw(figure.subplots())
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=144, facecolor="none")
        found.append("data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii"))
    return tuple(found)


def figure(draw: Draw, size: tuple[float, float], alt: str, caption: str) -> str:
    """Return a ``<figure>`` with inline pictures for both themes; ``alt`` is text, ``caption`` HTML."""
    light, dark = inline(draw, size)
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{html.escape(alt)}" width="{size[0] * 110:.0f}"></picture>'
        f"<figcaption>{caption}</figcaption></figure>"
    )
