"""Run bad inputs, injected faults and mutated model files, and print the misses; ``make trust`` runs all of them.

python -m tests.trust [--draw 500] [--seed 0] [--only TEXT] [--mutations 1000000] [--page trust] [--known]
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.trust import mutations, pool, report
from tests.trust.faults import all_faults, can_mount
from tests.trust.probes import all_probes, draw

KNOWN = Path(__file__).parent / "known_misses.txt"
COMMENT = "# Names of probes and faults that missed when they were last run, one a line.\n"
# Processor seconds of a probe that both libraries have; most take milliseconds.
SHARED_LIMIT = 10
NOT_RUN = (
    "Windows, macOS, arrays on a GPU, and arrays of other libraries than NumPy, SciPy, pandas and polars.",
    "Counterparts in scikit-learn of estimators and functions that it does not have.",
)


def known_misses():
    """Return the names of known misses, without comments."""
    return [line for line in KNOWN.read_text().splitlines() if not line.startswith("#")]


def _options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draw", type=int, help="about this many probes and faults; all by default"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default="", help="text that the names of probes and faults contain"
    )
    parser.add_argument("--mutations", type=int, default=0, help="number of mutated model files")
    parser.add_argument(
        "--page", type=Path, help="folder that index.html and results.json are written to"
    )
    parser.add_argument(
        "--known", action="store_true", help="write the list of known misses, after a run of all"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--limit", type=float, default=30, help="processor seconds that a probe may take"
    )
    return parser.parse_args()


def _names(options):
    known = all_probes() | all_faults()
    groups = [list(part) for part in report.by(known, lambda name: name.partition(":")[0]).values()]
    if options.draw:
        groups = [draw(names, options.draw, options.seed) for names in groups]
        # both libraries under the same probes
        theirs = [name for names in groups for name in names if name.startswith("sklearn:")]
        groups.append([name.replace("sklearn:", "mercer:", 1) for name in theirs])
    names = list(dict.fromkeys(name for names in groups for name in names if name in known))
    return [name for name in names if options.only in name]


def _outcomes(names, options, limits):
    """Return the outcomes of probes and faults, and print the misses."""
    known = all_probes()

    def said(name, kind, evidence):
        if kind != "ok":
            print(f"{kind:8} {name}  {evidence}", flush=True)

    def limit(name):
        return "shared" if name.replace("mercer:", "sklearn:", 1) in known else "others"

    parts = report.by(dict.fromkeys(names), limit)
    outcomes = [pool.run(part, options.workers, limits[key], said) for key, part in parts.items()]
    return {name: outcome for part in outcomes for name, outcome in part.items()}


def main():
    """Run the probes."""
    options, start = _options(), time.perf_counter()
    names, limits = (
        _names(options),
        {"shared": min(SHARED_LIMIT, options.limit), "others": options.limit},
    )
    # the limits of probes must not count the seconds of the compiler
    subprocess.run([sys.executable, "-m", "mercer", "warmup"], check=True)
    outcomes = _outcomes(names, options, limits)
    mutated = mutations.run(options.mutations, options.workers) if options.mutations else (0, [])
    faults = {name: outcome for name, outcome in outcomes.items() if name.startswith("fault:")}
    probes = {name: outcome for name, outcome in outcomes.items() if name not in faults}
    print(
        f"{len(names)} probes and faults, {mutated[0]} mutations, {time.perf_counter() - start:.0f} s"
    )
    for side, part in report.by(outcomes, lambda name: name.partition(":")[0]).items():
        print(side, report.counts(part))
    print("\n".join(mutated[1]))
    if options.page:
        not_run = [*NOT_RUN] + (
            [] if can_mount() else ["A full disk: this user cannot mount a small one."]
        )
        left = len(all_probes() | all_faults()) - len(names)
        not_run += (
            [f"{left:,} of {left + len(names):,} probes and faults: this page shows a part."]
            if left
            else []
        )
        not_run += [] if options.mutations else ["Mutations of model files."]
        areas = {name: probe.area for name, probe in all_probes().items()}
        report.write(options.page, report.summary(probes, areas, faults, mutated, limits, not_run))
        print(f"wrote {options.page / 'index.html'}")
    if options.known:
        misses = sorted(
            name
            for name, (kind, _) in outcomes.items()
            if kind != "ok" and not name.startswith("sklearn")
        )
        KNOWN.write_text(COMMENT + "".join(f"{name}\n" for name in misses))


if __name__ == "__main__":
    main()
