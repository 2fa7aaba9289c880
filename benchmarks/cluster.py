"""Support vector classification of covtype by blocks of a Dask array, certified over all rows.

Class 2 against the rest, C = 10, gamma = 0.1, blocks of 10 000 rows in random order. Prints the rows and violations of
each pass, seconds of the processor of the client (of all with ``--workers 0``, one thread without a cluster), and the
certificate, recomputed in float64 over the blocks.

Needs MERCER_DATA. Run: python benchmarks/cluster.py [--rows 100000] [--chunk 10000] [--workers 2]
"""

import argparse
import contextlib
import time

import dask
import dask.array as da
from svm import covtype

import mercer as mc
from mercer._progress import listening

C, GAMMA = 10.0, 0.1


def show(stage, **numbers):
    """Print the numbers of a pass."""
    if stage == "passes":
        print(
            f"pass over all blocks: {numbers['rows']} rows, {numbers['violating']} others violate",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    X, y, *_ = covtype(581_012, 0)
    X, y = X[: arguments.rows], y[: arguments.rows]
    with contextlib.ExitStack() as stack:
        if arguments.workers:
            from distributed import Client, LocalCluster

            options = {"threads_per_worker": 1, "dashboard_address": None}
            cluster = stack.enter_context(LocalCluster(n_workers=arguments.workers, **options))
            stack.enter_context(Client(cluster))
        else:
            stack.enter_context(dask.config.set(scheduler="synchronous"))
        stack.enter_context(listening(show))
        rows = da.from_array(X, chunks=(arguments.chunk, X.shape[1]))
        start = time.perf_counter(), time.process_time()
        model = mc.SVC(C, kernel=mc.Gaussian(GAMMA)).fit(rows, y)
        wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
        print(
            f"{len(X)} rows, {len(model.support_)} support vectors: {wall:.1f} s, processor {cpu:.1f} s"
        )
        print(f"fit: {model.certificate_}\ncertify: {mc.certify(model, rows, y)}")


if __name__ == "__main__":
    main()
