"""Seconds from Ctrl-C to the end of a fit, and peak memory of a fit compared with its limit.

Interruption: a process sends SIGINT at random times during fits of ``SVC``. The experiment measures the seconds from
the signal to KeyboardInterrupt. It checks that a new estimator is then unfitted, that a fitted estimator keeps its
earlier fit, and that the next fit gives the same bits as a fit without interruption.

Memory: in a separate process, peak resident memory of a fit minus the resident memory before it (after a small fit that
compiles everything), compared with ``memory``. Needs Linux.

Run: python -m experiments.interruption [--trials 200] [--rows 12000] [--memory 300MB] [--memory-rows 20000]
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import mercer as mc
from mercer._compute.memory import parse_memory

_SEND = """
import os, signal, sys, time
print(flush=True)
time.sleep(float(sys.argv[2]))
print(time.monotonic(), flush=True)
os.kill(int(sys.argv[1]), signal.SIGINT)
"""
KERNEL = mc.Gaussian(0.5)


def sample(n, seed=0):
    """Return normal rows and three noisy classes; many points become support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n), [-0.5, 0.5])


def classifier(**parameters):
    return mc.SVC(kernel=KERNEL, **parameters)


def interrupt(model, X, y, delay):
    """Fit, send SIGINT after ``delay`` seconds, and return the delay of KeyboardInterrupt; None if the fit ended first.

    The sender is another process, so that a lock in this process cannot delay it.
    """
    command = [sys.executable, "-S", "-c", _SEND, str(os.getpid()), str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
        sender.stdout.readline()
        ended = None
        try:
            model.fit(X, y)
            ended = time.monotonic()
            sender.kill()
            sender.wait()
        except KeyboardInterrupt:
            arrived = time.monotonic()
            return None if ended else arrived - float(sender.stdout.readline())


def state(model):
    """Return support, coefficients and intercepts of a fitted model, or None for an unfitted one."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return None
    return model.support_.copy(), model.dual_coef_.copy(), model.intercept_.copy()


def same(one, other):
    """Whether two states are the same to the last bit."""
    if one is None or other is None:
        return one is other
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def delays(trials, n, seed=0):
    """Return the seconds from signal to exception (trials,), and check the state after each interruption.

    Every second trial interrupts a fitted estimator. A small fit follows each interruption, a full fit the last one.
    """
    rng, (X, y) = np.random.default_rng(seed), sample(n, seed)
    few = slice(0, 300)
    small = state(classifier().fit(X[few], y[few]))
    whole = classifier()
    started = time.monotonic()
    expected = state(whole.fit(X, y))
    duration = time.monotonic() - started
    found = []
    model = classifier()
    while len(found) < trials:
        model = classifier() if len(found) % 2 else model
        before = state(model)
        late = interrupt(model, X, y, rng.uniform(0, duration))
        if late is None:
            continue
        found.append(late)
        if not same(state(model), before):
            raise AssertionError(f"trial {len(found)}: the interrupted fit changed the state.")
        if not same(state(model.fit(X[few], y[few])), small):
            raise AssertionError(
                f"trial {len(found)}: the next fit differs from the fit of a new estimator."
            )
    if not same(state(model.fit(X, y)), expected):
        raise AssertionError("the fit after all interruptions differs from the one before.")
    return np.array(found), duration


def resident():
    """Return resident memory and its peak so far, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = {
        line.split(":")[0]: int(line.split()[1])
        for line in lines
        if line.startswith(("VmRSS", "VmHWM"))
    }
    return 1024 * kib["VmRSS"], 1024 * kib["VmHWM"]


def print_growth(n, memory):
    """Fit in this process and print the peak memory of the fit and its seconds."""
    X, y = sample(n)
    y = y > 0
    # machine code of both routes before the measurement: up to 8 192 rows, and more
    for few in (1500, 9000):
        classifier(memory="30MB").fit(X[:few], y[:few])
    before, _ = resident()
    started = time.monotonic()
    classifier(memory=memory).fit(X, y)
    print(resident()[1] - before, time.monotonic() - started)


def growth(n, memory):
    """Return peak resident bytes of a fit minus those before it, and its seconds."""
    call = f"from experiments.interruption import print_growth; print_growth({n}, {memory!r})"
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", call], cwd=root, check=True, capture_output=True, text=True
    )
    taken, seconds = done.stdout.split()
    return int(taken), float(seconds)


def main():
    """Print both results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--memory", default="300MB")
    parser.add_argument("--memory-rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # a shell lets processes in the background ignore the signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.memory_rows:
        taken, seconds = growth(options.memory_rows, options.memory)
        ratio = taken / parse_memory(options.memory)
        print(f"fit of {options.memory_rows} rows in {seconds:.1f} s:")
        print(
            f"peak {taken / 1e6:.0f} MB above the start, {ratio:.2f} of memory={options.memory!r}",
            flush=True,
        )
    if options.trials:
        late, duration = delays(options.trials, options.rows, options.seed)
        median, most = np.quantile(late, [0.5, 0.99])
        print(
            f"{len(late)} interruptions of fits of {options.rows} rows, {duration:.1f} s each; delay:"
        )
        print(f"median {median:.3f} s   99th percentile {most:.3f} s   maximum {late.max():.3f} s")


if __name__ == "__main__":
    main()
