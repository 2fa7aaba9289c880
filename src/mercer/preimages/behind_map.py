"""Pre-images under a kernel of linearly mapped rows: those of the inner kernel, mapped back."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mercer._common import Array
from mercer.expansion import Expansion
from mercer.kernels.forms import pull_rows, unmapped
from mercer.kernels.mapped import map_rows
from mercer.preimages.base import Found


def behind_maps(find: Callable[[Any, Expansion, Array], Found]) -> Callable[..., Found]:
    """Let the method ``find`` compute on mapped rows where the kernel is behind a linear map.

    Points are mapped back by the pseudo-inverse. Coordinates that the map drops stay those of the start.
    """

    @functools.wraps(find)
    def mapped_find(self: Any, psi: Expansion, start: Array) -> Found:
        kernel, A = unmapped(psi.kernel)
        if A is None:
            return find(self, psi, start)
        mapped = Expansion(kernel, map_rows(A, psi.points), psi.coef)
        found = mapped_find(self, mapped, map_rows(A, start))
        return replace(found, points=pull_rows(A, found.points, start))

    return mapped_find
