"""Damage the machine code that Mercer keeps on disk, or plant code there, and run a fit in a new process."""

import functools
import hashlib
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.trust import scratch
from tests.trust.pool import ROOT
from tests.trust.rules import Outcome

# Processor seconds of a fit that compiles everything; the time on the wall depends on other processes.
PATIENCE = 120
FIT = """
import numpy as np, mercer as mc
X = np.linspace(0, 1, 60).reshape(20, 3)
print(round(float(abs(mc.SVC(kernel=mc.Gaussian(2.0)).fit(X, np.arange(20) % 2).decision_function(X)).sum()), 9))
"""
# Two fits, between which somebody may put a folder in the place of the cache.
SWAPPED = (
    FIT
    + """
import os
cache, planted = os.environ["NUMBA_CACHE_DIR"], os.environ.get("PLANTED")
if planted:
    os.chmod(os.path.dirname(cache), 0o777)
    os.rename(cache, cache + ".before")
    os.rename(planted, cache)
print(round(float(abs(mc.KernelPCA(2, kernel=mc.Laplacian(2.0)).fit_transform(X)).sum()), 9))
"""
)


def _run(folder, fit=FIT, planted=""):
    """Return exit code, answer and stderr of a fit that keeps its machine code in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "PLANTED": str(planted)}
    environment["PYTHONPATH"] = str(ROOT / "src")
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1))
    done = subprocess.run(
        [sys.executable, "-c", fit],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    return done.returncode, done.stdout.strip(), done.stderr


@functools.cache
def _healthy(fit=FIT):
    """Return a folder of machine code and the answer."""
    folder = scratch.folder()
    return folder, _run(folder, fit)[1]


def _files(folder, pattern):
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def _damage(folder, kind, draw):
    """Damage one file in three."""
    for path in _files(folder, "*.nb[ic]"):
        content = path.read_bytes()
        if draw.random() < 2 / 3:
            continue
        if kind == "truncated":
            path.write_bytes(content[: draw.randrange(len(content))])
        elif kind == "zeros":
            path.write_bytes(bytes(len(content)))
        elif kind == "random":
            path.write_bytes(draw.randbytes(len(content)))
        elif kind == "flipped":
            place = draw.randrange(len(content))
            path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        elif kind == "empty":
            path.write_bytes(b"")
        else:
            path.unlink()


def damaged(kind, seed):
    """Score a fit with damaged machine code."""
    healthy, answer = _healthy()
    folder = scratch.folder() / "cache"
    shutil.copytree(healthy, folder)
    _damage(folder, kind, random.Random(seed))
    return _scored(*_run(folder), answer)


def _scored(code, found, errors, answer):
    if code == -signal.SIGXCPU:
        return Outcome("hang", f"more than {PATIENCE} processor seconds")
    if code:
        return Outcome("crash" if code < 0 else "unclear", f"exit {code}: {errors.strip()[-200:]}")
    return Outcome("ok" if found == answer else "silent", f"{found}, without damage {answer}")


class Planted:
    """An object whose unpickling writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def _plant(healthy, mark):
    """Return a folder of machine code in which every index runs code when it is read."""
    folder = scratch.folder() / "cache"
    shutil.copytree(healthy, folder)
    content = pickle.dumps(Planted(mark))
    for path in _files(folder, "*.nbi"):
        path.write_bytes(hashlib.sha256(content).digest() + content)
    return folder


def planted(place):
    """Score a fit whose machine code others may have written: planted code must not run."""
    mark = scratch.folder() / "mark"
    healthy, answer = _healthy()
    folder = _plant(healthy, mark)
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(
            {"group": 0o775, "everybody": 0o777, "with sticky bit": 0o1777}.get(place, 0o700)
        )
    if place == "owner of files":
        for path in _files(folder, "*"):
            os.chown(path, 12345, 12345)
    if place in ("owner of folders", "with sticky bit"):
        for path in folders:
            os.chown(path, 12345, 12345)
    if place == "folder around":
        folder.parent.chmod(0o777)
    if place == "owner around":
        os.chown(folder.parent, 12345, 12345)
    if place == "link in an open folder":
        opened = scratch.folder()
        opened.chmod(0o777)
        (opened / "link").symlink_to(folder)
        folder = opened / "link"
    return _scored_planted(place, mark, _run(folder), answer)


def swapped(_):
    """Score a fit after another folder took the place of the cache: its code must not run."""
    mark = scratch.folder() / "mark"
    healthy, answer = _healthy(SWAPPED)
    return _scored_planted(
        "swapped", mark, _run(scratch.folder() / "cache", SWAPPED, _plant(healthy, mark)), answer
    )


def _scored_planted(place, mark, found, answer):
    if mark.exists():
        return Outcome("silent", f"planted code ran: {place}")
    return _scored(*found, answer)


def all_faults():
    """Yield (name, function, arguments)."""
    for kind in ("truncated", "zeros", "random", "flipped", "empty", "missing"):
        for seed in range(4):
            yield "damaged cache", damaged, (kind, seed)
    owners = "owner of files", "owner of folders", "owner around", "with sticky bit"
    anyone = "group", "everybody", "folder around", "link in an open folder"
    for place in (*anyone, *(owners if os.geteuid() == 0 else ())):
        yield "planted code", planted, (place,)
    yield "planted code", swapped, ("folder",)
