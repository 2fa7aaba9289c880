"""Memory: read a budget, see what is there, refuse before allocating, allocate what may be touched in part.

Everything that would store on the order of n^2 numbers computes its need first and asks `require`, so that a user reads
one sentence with two numbers instead of waiting for the operating system to kill the process.
"""

import math
import mmap
import os
import re
from decimal import Decimal
from numbers import Real
from pathlib import Path

import numpy as np

_PREFIXES = ("", "k", "M", "G", "T", "P")
_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgtp]?)(i?)b\s*", re.IGNORECASE)
# Bytes up to which the C library gives memory anew that was given back, without asking the system.
_MANY = 1 << 25


def parse_memory(size):
    """Read a number of bytes.

    Prefixes k, M, G, T, P are powers of 1000, and of 1024 with an i (``GiB``); case does not matter. Numbers pass.

    Parameters
    ----------
    size : str, int or float
        For example ``"1GB"``, ``"512 MiB"`` or ``2**30``.

    Returns
    -------
    int
        Bytes, rounded down.

    Raises
    ------
    ValueError
        If the text is not a number with a unit, or the number is not positive and finite.
    TypeError
        If `size` is neither text nor a number.

    Examples
    --------
    >>> from mercer._compute.memory import parse_memory
    >>> parse_memory("1GB"), parse_memory("1.5 MiB"), parse_memory(4096)
    (1000000000, 1572864, 4096)
    """
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        if match is None:
            raise ValueError(f"memory={size!r} is not a size; write a number and a unit, such as '1GB' or '512 MiB'.")
        number, prefix, binary = match.groups()
        power = [p.lower() for p in _PREFIXES].index(prefix.lower())
        # decimals as written: 1.001 kB are 1001 bytes, where 1.001 * 1000 in binary is less
        value = Decimal(number) * (1024 if binary else 1000) ** power
    elif isinstance(size, Real) and not isinstance(size, bool):
        value = size
    else:
        raise TypeError(f"memory={size!r} is a {type(size).__name__}; give a number of bytes or text such as '1GB'.")
    if not 1 <= value < math.inf:
        raise ValueError(f"memory={size!r} is less than one byte or not finite; give a budget such as '1GB'.")
    return int(value)


def human_bytes(n_bytes, digits=1):
    """Write a number of bytes for people, in powers of 1000.

    Examples
    --------
    >>> from mercer._compute.memory import human_bytes
    >>> human_bytes(8e10), human_bytes(999), human_bytes(1_250_000, digits=2)
    ('80.0 GB', '999 B', '1.25 MB')
    """
    if n_bytes < 1000:
        return f"{int(n_bytes)} B"
    power = min(int(math.log10(n_bytes) / 3), len(_PREFIXES) - 1)
    return f"{n_bytes / 1000**power:.{digits}f} {_PREFIXES[power]}B"


def require_memory(needed, budget, what, instead):
    """Refuse a need that exceeds a budget, before anything is allocated.

    Parameters
    ----------
    needed : int
        Bytes.
    budget : int or str
        Bytes, or text for `parse`.
    what : str
        The thing, with its shape and dtype: the subject of the sentence.
    instead : str
        What to do, after "use".

    Raises
    ------
    MemoryError
        If ``needed > budget``. Both numbers are given, with as many digits as it takes to tell them apart.

    Examples
    --------
    >>> from mercer._compute.memory import require_memory
    >>> require_memory(8 * 10**10, "1GB", "K(X, Z) of 100 000 x 100 000 float64", "Gram(...) @ V")
    Traceback (most recent call last):
    MemoryError: K(X, Z) of 100 000 x 100 000 float64 needs 80.0 GB, the budget is 1.0 GB;
    use Gram(...) @ V, which never stores it.
    """
    limit = parse_memory(budget)
    if needed <= limit:
        return
    texts = ((human_bytes(needed, digits), human_bytes(limit, digits)) for digits in range(1, 17))
    need, have = next((pair for pair in texts if pair[0] != pair[1]), (f"{needed} B", f"{limit} B"))
    raise MemoryError(f"{what} needs {need}, the budget is {have}; use {instead}.")


def allocate(shape, dtype):
    """Return a C-contiguous array of any values, in pages that are taken one by one as they are touched.

    Arrays of NumPy ask the system for huge pages. Where a virtual machine gave its free memory back, a first touch then
    waits for 2 MiB at a time: 2.7 s per GB were measured, 0.9 s with pages of 4 kB, which cost 0.2 s per GB more than
    huge ones where the memory is there.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype

    Returns
    -------
    array of that shape

    Examples
    --------
    >>> from mercer._compute.memory import allocate
    >>> allocate((1000, 2000), "float32").shape
    (1000, 2000)
    """
    shape, dtype = np.atleast_1d(shape), np.dtype(dtype)
    n_bytes = math.prod(shape.tolist()) * dtype.itemsize
    if n_bytes < _MANY:
        return np.empty(shape, dtype)
    # private to the process; lives as long as an array looks at it
    return np.frombuffer(mmap.mmap(-1, n_bytes, access=mmap.ACCESS_COPY), dtype).reshape(shape)


def available(root="/"):
    r"""Bytes that this process can still allocate without swapping.

    .. math:: \min(\text{MemAvailable},\ \min_g\ \text{limit}_g - \text{usage}_g + \text{inactive page cache}_g)

    over the control groups g (version 1 or 2) that hold the process, from its own up to the root.

    Parameters
    ----------
    root : str or Path, default="/"
        Where ``proc`` and ``sys/fs/cgroup`` are mounted.

    Returns
    -------
    int
        Where neither is there: half of the physical memory, or 4 GiB if that is unknown too.

    Notes
    -----
    An estimate: other processes allocate as well.

    Examples
    --------
    >>> from mercer._compute.memory import available
    >>> available() > 0
    True
    """
    root = Path(root)
    known = [room for room in (_meminfo(root), *_group_rooms(root)) if room is not None]
    return min(known) if known else _physical() // 2


def _meminfo(root):
    return _field(root / "proc/meminfo", "MemAvailable:", 1024)


def _physical():
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30


def _group_rooms(root):
    """Room in each memory group around this process; None where a group has no limit."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names = ("memory.max", "memory.current", "inactive_file")
            mount = root / "sys/fs/cgroup"
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            mount = root / "sys/fs/cgroup/memory"
        else:
            continue
        own = mount / path.lstrip("/")
        for group in (own, *own.parents):
            yield _room(group, *names)
            if group == mount:
                break


def _room(group, limit, usage, cache):
    limit, usage = _number(group / limit), _number(group / usage)
    if limit is None or usage is None:
        return None
    return max(limit - usage + (_field(group / "memory.stat", cache, 1) or 0), 0)


def _number(path):
    # "max" (version 2) and a number next to 2^63 (version 1) both mean that there is no limit.
    text = _text(path).strip()
    return int(text) if text.isdigit() and int(text) < 2**62 else None


def _field(path, name, unit):
    for line in _text(path).splitlines():
        words = line.split()
        if words[:1] == [name]:
            return int(words[1]) * unit
    return None


def _text(path):
    try:
        return path.read_text()
    except OSError:
        return ""
