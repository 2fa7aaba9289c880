"""Pre-images under a kernel of linearly mapped rows: those of the inner kernel, mapped back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mercer._common import Array
from mercer.expansion import Expansion
from mercer.kernels.forms import pull_rows, unmapped
from mercer.kernels.mapped import map_rows
from mercer.preimages.base import Found


def behind_maps(find: Callable[..., Any], psi: Expansion, start: Array) -> Found:
    """Return ``find(psi, start)``, computed on mapped rows where the kernel is behind a linear map.

    Points are mapped back by the pseudo-inverse. Coordinates that the map drops stay those of the start.
    """
    kernel, A = unmapped(psi.kernel)
    if A is None:
        return find(psi, start)
    found = behind_maps(
        find, Expansion(kernel, map_rows(A, psi.points), psi.coef), map_rows(A, start)
    )
    return replace(found, points=pull_rows(A, found.points, start))
