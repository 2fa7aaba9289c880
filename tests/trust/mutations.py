"""A million mutations of model files, by the checks of tests/formats/test_fuzzing.py, in several processes."""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.formats import test_fuzzing

# damaged files, forged files and those with exchanged nodes, both with a new checksum, texts of LIBSVM
SHARES = (6_000, 1_000, 500, 2_500)
PART = sum(SHARES)
FIRST_SEED = 5_000


def part(number):
    """Return None, or what went wrong with the mutations of a part."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            test_fuzzing.check(FIRST_SEED + number, *SHARES, Path(folder) / "model")
        except Exception as error:
            return f"part {number}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return None


def run(n, workers=2):
    """Return the number of mutations and the list of failures."""
    parts = range(max(1, n // PART))
    with ProcessPoolExecutor(workers) as executor:
        failures = [failure for failure in executor.map(part, parts) if failure]
    return len(parts) * PART, failures
