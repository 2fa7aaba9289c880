"""Inject faults into long operations: failed allocations and writes, signals, forks, lack of threads, a full disk.

After every fault the error is the right one, no estimator is half fitted, the earlier file is there, no temporary file
is left, and the next call gives the answer that it gave before.
"""

import builtins
import contextlib
import errno
import functools
import io
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from tests.reference.inside import allocate, using_threads
from tests.trust import damaged_cache, operations, rules
from tests.trust.probes import Probe
from tests.trust.rules import Outcome

import mercer.formats.files

ALLOCATORS = (
    "empty",
    "zeros",
    "ones",
    "full",
    "empty_like",
    "zeros_like",
    "concatenate",
    "column_stack",
    "eye",
)
# A run lasts this many times its usual time, with compilation at most this long.
PATIENCE = 40


class Counter:
    """Counts calls and raises an error at one of them."""

    def __init__(self, at, error):
        self.at, self.error, self.calls = at, error, 0

    def step(self):
        """Count a call."""
        self.calls += 1
        if self.calls - 1 == self.at:
            raise self.error


def _of_mercer():
    name = sys._getframe(2).f_globals.get("__name__", "")
    return name.startswith("mercer.")


@contextlib.contextmanager
def failing_allocation(at):
    """Let the allocation number ``at`` by Mercer's own code fail; yields the counter."""
    counter = Counter(at, MemoryError("injected: Unable to allocate an array"))

    def wrapped(function):
        def allocating(*args, **options):
            if _of_mercer():
                counter.step()
            return function(*args, **options)

        return allocating

    changed = [(np, name, getattr(np, name)) for name in ALLOCATORS]
    modules = [module for name, module in sys.modules.items() if name.startswith("mercer.")]
    changed += [
        (module, "allocate", allocate)
        for module in modules
        if vars(module).get("allocate") is allocate
    ]
    for place, name, function in changed:
        setattr(place, name, wrapped(function))
    try:
        yield counter
    finally:
        for place, name, function in changed:
            setattr(place, name, function)


class _FullFile(io.FileIO):
    """A file whose writes count, and fail at one of them after half of the bytes."""

    def __init__(self, handle, counter):
        super().__init__(handle, "wb")
        self._counter = counter

    def write(self, content):
        try:
            self._counter.step()
        except OSError:
            super().write(bytes(content)[: len(bytes(content)) // 2])
            raise
        return super().write(content)


@contextlib.contextmanager
def failing_write(at, step="write"):
    """Let a write of the one writer of files fail, or its fsync, or its rename."""
    counter = Counter(at, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    files = mercer.formats.files

    def opened(handle, mode):
        return (
            _FullFile(handle, counter) if isinstance(handle, int) else builtins.open(handle, mode)
        )

    def stepping(function):
        def run(*args):
            counter.step()
            return function(*args)

        return run

    names = {"write": (files, "open"), "sync": (os, "fsync"), "rename": (os, "replace")}
    place, name = names[step]
    before = vars(place).get(name)
    setattr(place, name, opened if step == "write" else stepping(before))
    try:
        yield counter
    finally:
        if before is None:
            delattr(place, name)
        else:
            setattr(place, name, before)


@functools.cache
def count(name, fault):
    """Return the number of allocations, or writes, of an operation."""
    operation = operations.all_operations()[name]
    operations.expected(name)
    with fault(-1) as counter:
        operation.run(operation.prepare())
    return counter.calls


def survived(name, inject, right):
    """Run an operation under a fault and score what is left."""
    operation, expected = operations.all_operations()[name], operations.expected(name)
    thing = operation.prepare()
    before = operation.state(thing)
    error = None
    try:
        with inject():
            result = operation.run(thing)
    except BaseException as failure:
        error = failure
    text = (
        "nothing failed"
        if error is None
        else f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    )
    if error is not None and not isinstance(error, right):
        return Outcome("unclear", f"not the right type of error; {text}")
    if (
        error is not None
        and operation.state(thing) != before
        and not _complete(operation, thing, expected)
    ):
        return Outcome("silent", f"the state changed; {text}")
    if error is None and rules.distance([expected], [operation.answer(result)]) > 1e-9:
        return Outcome("silent", "another answer without an error")
    again = operation.answer(operation.run(thing))
    if rules.distance([expected], [again]) > 1e-9:
        return Outcome("silent", f"the next call gives another answer; {text}")
    return Outcome("ok", text)


def _complete(operation, thing, expected):
    """Return whether the operation had ended, just before a signal: the estimator is fitted, the file is written."""
    try:
        return rules.distance([expected], [operation.answer(thing)]) <= 1e-9
    except Exception:
        return False


def _allocation(name, share):
    at = int(share * count(name, failing_allocation))
    return survived(name, lambda: failing_allocation(at), MemoryError)


def _write(name, step, share):
    fault = functools.partial(failing_write, step=step)
    at = int(share * count(name, fault)) if step == "write" else 0
    return survived(name, lambda: fault(at), OSError)


@functools.cache
def _seconds(name):
    operation = operations.all_operations()[name]
    operations.expected(name)
    start = time.perf_counter()
    operation.run(operation.prepare())
    return time.perf_counter() - start


@contextlib.contextmanager
def interrupt(delay):
    """Send SIGINT to this process after a delay, unless the block ends before."""
    done, sent = threading.Event(), threading.Event()

    def send():
        if not done.wait(delay):
            sent.set()
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        # a signal that is on its way arrives here
        done.set()
        thread.join()
        if sent.is_set():
            time.sleep(0.001)


def _signal(name, share):
    delay = share * _seconds(name)
    start = time.perf_counter()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        outcome = survived(name, lambda: interrupt(delay), KeyboardInterrupt)
    except KeyboardInterrupt:
        return Outcome("unclear", "the signal arrived after the operation")
    finally:
        signal.signal(signal.SIGINT, handler)
    took = time.perf_counter() - start
    return outcome if took < PATIENCE else Outcome("hang", f"{took:.0f} s")


def _without_threads(name):
    """Run with a system that starts no more threads."""

    @contextlib.contextmanager
    def refuse():
        start = threading.Thread.start

        def refused(_thread):
            raise RuntimeError("can't start new thread")

        threading.Thread.start = refused
        try:
            yield
        finally:
            threading.Thread.start = start

    return survived(name, refuse, (RuntimeError, MemoryError))


def _limited(name, n):
    return survived(name, lambda: using_threads(n), ())


def answer_elsewhere(name, pipe):
    """Send the answer of an operation through a pipe: what a process started by fork or spawn does."""
    operation = operations.all_operations()[name]
    pipe.send(operation.answer(operation.run(operation.prepare())))


def _in_process(name, method):
    expected = operations.expected(name)
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=answer_elsewhere, args=(name, theirs))
    process.start()
    theirs.close()
    try:
        # a process started by spawn imports everything, on a machine with many other processes
        limit = PATIENCE if method == "fork" else 10 * PATIENCE
        if not ours.poll(limit):
            return Outcome("hang", f"no answer of the process within {limit} s")
        found = ours.recv()
    except EOFError:
        process.join()
        return Outcome("crash", f"the process ended with {process.exitcode}")
    finally:
        process.kill()
        process.join()
    difference = rules.distance([expected], [found])
    return Outcome("ok" if difference < 1e-9 else "silent", f"{difference:.1e}")


def _file_limit(name, share):
    """Let the system refuse to write more than some bytes to one file."""
    size = int(share * (len(operations.expected(name)) - 1))

    @contextlib.contextmanager
    def limited():
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return survived(name, limited, OSError)


def can_mount():
    """Return whether this user may mount a small file system."""
    return (
        os.geteuid() == 0
        and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
    )


def _full_disk(name, size):
    """Write to a file system of a few kB, which is a disk that fills up."""
    operation, (folder, expected) = (
        operations.all_operations()[name],
        (operations.Folder(), operations.expected(name)),
    )
    parent = folder.path.parent
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "full", str(parent)], check=True)
    try:
        folder.path.write_bytes(operations.OLD)
        before, error = operations.folder_state(folder), None
        try:
            operation.run(folder)
        except OSError as failure:
            error = failure
        if error is not None and operations.folder_state(folder) != before:
            return Outcome("silent", f"the folder changed; {error}")
    finally:
        subprocess.run(["umount", str(parent)], check=True)
    again = operation.answer(operation.run(operations.Folder()))
    kind = "ok" if rules.distance([expected], [again]) == 0 else "silent"
    return Outcome(kind, f"{type(error).__name__}: {error}" if error else "the file fits")


def all_faults(allocations=32, signals=24):
    """Return probes of faults by name; places of faults are drawn with a seed."""
    draw, found = random.Random(17), []

    def add(kind, name, score, *args):
        text = ":".join(f"{a:.4f}" if isinstance(a, float) else str(a) for a in args)
        found.append(
            Probe(
                f"fault:{kind}:{name}:{text}", "mercer", kind, functools.partial(score, name, *args)
            )
        )

    for name, operation in operations.all_operations().items():
        for _ in range(allocations):
            add("allocation", name, _allocation, draw.random())
        for _ in range(signals):
            add("signal", name, _signal, draw.random())
        add("no threads", name, _without_threads)
        for n in (1, 2, 3):
            add("thread limit", name, _limited, n)
        add("fork", name, _in_process, "fork")
        if operation.writes:
            for _ in range(25):
                add("write", name, _write, "write", draw.random())
                add("file limit", name, _file_limit, draw.random())
            add("write", name, _write, "sync", 0.0)
            add("write", name, _write, "rename", 0.0)
            if can_mount():
                for size in (4, 8, 12, 16):
                    add("full disk", name, _full_disk, size)
    for name in ("SVC.fit", "KernelPCA.fit", "compress", "save"):
        add("spawn", name, _in_process, "spawn")
    found += [
        Probe(
            f"fault:{kind}:cache:{':'.join(map(str, args))}",
            "mercer",
            kind,
            functools.partial(score, *args),
        )
        for kind, score, args in damaged_cache.all_faults()
    ]
    return {probe.name: probe for probe in found}
