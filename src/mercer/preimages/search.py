"""Pre-images among objects: the nearest object of an expansion, improved by edits of strings, sequences and sets."""

from functools import partial, singledispatch
from typing import Any

import numpy as np

from mercer._common import check_integer, record, shown
from mercer._compute.objects import Objects
from mercer._compute.register import storable
from mercer._progress import notify
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.preimages.base import Found


@storable
@record
class Search:
    r"""Pre-image among objects by descent over neighbours, from the nearest object of psi.

    Each step moves to the neighbour z with the smallest |psi - phi(z)|^2 = |psi|^2 - 2 <psi, phi(z)> + k(z, z), as long
    as it is smaller than that of the object: the result is never farther from psi than the start.

    Parameters
    ----------
    neighbours : callable, optional
        ``neighbours(z)`` returns a list of objects near an object z. By default strings, bytes, tuples and lists of
        tokens are edited: one token is replaced and, unless all objects of psi have one length, inserted or deleted,
        with the tokens of these objects; sets lose or gain one member. Objects of other types have no neighbours, so
        that the result is the nearest object of psi.
    max_iter : int
        Steps per vector.

    References
    ----------
    Bakir, Weston, Schoelkopf, *Learning to find pre-images*, NIPS 16 (2004), section 1: search in a discrete space.

    Examples
    --------
    >>> import mercer as mc
    >>> psi = mc.mean(mc.features(mc.strings.Spectrum(1), ["aab", "abb", "aabb"]))
    >>> mc.preimage(psi, method=mc.Search()).points
    ['aabb']
    """

    neighbours: Any = None
    max_iter: int = 100

    def __post_init__(self) -> None:
        check_integer("max_iter", self.max_iter)
        if not (self.neighbours is None or callable(self.neighbours)):
            raise TypeError(
                f"neighbours must be a function of an object, got {shown(self.neighbours)}."
            )

    def require(self, kernel: Kernel) -> None:
        """Raise a TypeError unless the kernel takes objects."""
        if kernel.tags.points not in ("objects", "rows or objects", "any"):
            raise TypeError(
                f"Search looks for objects, but {shown(kernel)} takes {kernel.tags.points}; use method='auto'."
            )

    def find(self, psi: Expansion, start: Any) -> Found:
        """Return an object for every vector; one evaluation of psi at all neighbours of an object per step."""
        neighbours = self.neighbours or _edits_of(psi.points)
        found = []
        for j, z in enumerate(start):
            found.append(self._descend(psi[:, j], z, neighbours))
            notify("points", done=j + 1, most=len(start))
        points, steps, converged = zip(*found, strict=True)
        reasons = tuple(
            "" if done else f"max_iter = {self.max_iter} steps were made" for done in converged
        )
        return Found(Objects(points), np.array(converged), np.array(steps), reasons)

    def _descend(self, psi, z, neighbours):
        """Return the last object of a descent, the number of its steps, and whether no neighbour is nearer."""
        least = _objective(psi, [z])[0]
        for step in range(self.max_iter):
            near = list(neighbours(z))
            values = _objective(psi, near) if near else np.full(1, np.inf)
            best = int(np.argmin(values))
            # a difference below rounding is not progress
            if not values[best] < least - 1e-12 * abs(least):
                return z, step, True
            z = near[best]
            least = values[best]
        return z, self.max_iter, False


def _objective(psi, objects):
    """Return |psi - phi(z)|^2 - |psi|^2 of objects."""
    return psi.kernel.diag(objects) - 2 * psi(objects)[:, 0]


def _edits_of(points):
    """Return the function of an object that returns its edits with the tokens of some objects."""
    if edits.dispatch(type(points[0])) is edits.dispatch(object):
        return lambda _: []
    tokens = sorted(
        {token for point in points for token in point},
        key=lambda token: (type(token).__name__, repr(token)),
    )
    resize = len({len(point) for point in points}) > 1
    return lambda point: edits(point, tokens, resize)


@singledispatch
def edits(point: Any, tokens: Any, resize: bool = True) -> Any:  # noqa: ARG001
    """Return the objects at one edit of an object, none empty, with given tokens; ``resize`` allows another length.

    Examples
    --------
    >>> from mercer.preimages.search import edits
    >>> edits("ab", ["a"])
    ['aa', 'aab', 'aba', 'b', 'a']
    >>> edits(("x",), ["x", "y"], resize=False)
    [('y',)]
    """
    return []


def _of_tuples(join, point, tokens, resize=True):
    return [join(edited) for edited in edits(tuple(point), tokens, resize)]


for _kind, _join in {str: "".join, bytes: bytes, list: list}.items():
    edits.register(_kind, partial(_of_tuples, _join))


@edits.register
def _(point: tuple, tokens, resize=True):
    places = range(len(point))
    replaced = [(*point[:i], token, *point[i + 1 :]) for i in places for token in tokens]
    inserted = [
        (*point[:i], token, *point[i:]) for i in range(len(point) + 1) for token in tokens if resize
    ]
    deleted = [(*point[:i], *point[i + 1 :]) for i in places if resize]
    return [
        edited
        for edited in dict.fromkeys(replaced + inserted + deleted)
        if edited and edited != point
    ]


@edits.register(set)
@edits.register(frozenset)
def _(point, tokens, resize=True):  # noqa: ARG001
    return [edited for token in tokens if (edited := point ^ {token})]
