"""Run all experiments and write a page: reproduction/index.html, and results.json with all numbers.

Finished experiments are kept: a run that was interrupted continues where it stopped. An experiment runs again if the
code of the package or its own has changed, or if a data set was missing. Scripts that are not compared with published
figures take a few splits or draws, and all of them if they are named. QUICK=1 takes fewer draws and points in all
scripts, about ten minutes.

Run: python -m experiments [names] [--quick] [--again] [--output reproduction]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from experiments._code import version
from experiments._page import document, shares
from experiments._report import SKIPPED

# Experiments that print text and are not compared with published figures, with the arguments of a short run.
PRINTED = {
    "fisher_ida": ["--sets", "ida_heart", "--splits", "2"],
    "span_rule": ["--sets", "ida_heart", "--splits", "2"],
    "outliers": ["--toy-only", "--draws", "5"],
    "usps_preimages": [],
    "kernel_combination": ["--sets", "ida_waveform", "--splits", "1"],
    "learned_metric": ["--sets", "abalone", "--rows", "300"],
    "interruption": ["--trials", "10", "--rows", "4000", "--memory-rows", "0"],
    "compression": ["usps_kpca"],
}
FOLDER = Path(__file__).parent
# Seconds after which an experiment is ended.
LIMIT = 3 * 3600


def names():
    """Return the names of all scripts: those with published figures first."""
    found = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    return [name for name in found if name not in PRINTED] + [
        name for name in found if name in PRINTED
    ]


def finished(path, quick):
    """Return whether a file holds all results of a run of the wanted kind with the code of today."""
    try:
        found = json.loads(path.read_text())
        return (
            found["quick"] == quick
            and not found["skipped"]
            and found["version"] == version(path.stem)
        )
    except (OSError, ValueError, KeyError):
        return False


def run(name, output, quick):
    """Run a script in a process of its own, ``quick`` for a short run; return whether it wrote its results."""
    command = [sys.executable, "-m", f"experiments.{name}"]
    if name not in PRINTED:
        command += ["--output", str(output), *(["--quick"] if quick else [])]
    elif quick:
        command += PRINTED[name]
    started = time.monotonic()
    code = version(name)
    with (output / f"{name}.log").open("w") as log:
        try:
            done = subprocess.run(
                command, cwd=FOLDER.parent, stdout=log, stderr=subprocess.STDOUT, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return False
    if done.returncode == 0 and name in PRINTED:
        write_printed(
            name, output, {"quick": quick, "version": code, "seconds": time.monotonic() - started}
        )
    return done.returncode == 0


def write_printed(name, output, run_of):
    """Write the text of a script as its results."""
    lines = (FOLDER / f"{name}.py").read_text().split('"""')[1].strip().split("\n\n")
    text = (output / f"{name}.log").read_text()
    about = {
        "name": name,
        "title": lines[0].rstrip("."),
        "source": "not a published figure",
        **run_of,
    }
    about |= {"texts": [" ".join(lines[1].split())], "entries": [], "pictures": [], "output": text}
    about["skipped"] = next((line for line in text.splitlines() if line.startswith(SKIPPED)), "")
    (output / f"{name}.json").write_text(json.dumps(about, indent=1))


def bar(done, most, text):
    """Show the progress."""
    width = 24 * done // most
    end = "\r" if sys.stdout.isatty() else "\n"
    print(f"[{'#' * width}{'.' * (24 - width)}] {done}/{most} {text:40}", end=end, flush=True)


def write_page(output):
    """Write results.json and index.html from the files of all experiments; return the shares of the tables."""
    paths = [output / f"{name}.json" for name in names()]
    experiments = [json.loads(path.read_text()) for path in paths if path.exists()]
    for each in experiments:
        each["old"] = each.get("version") != version(each["name"])
    records = [
        {"source": each["source"], **record, "command": f"python -m experiments.{each['name']}"}
        for each in experiments
        for record in each["entries"]
    ]
    (output / "results.json").write_text(json.dumps(records, indent=1))
    (output / "index.html").write_text(document(experiments, records))
    return shares(records)


def main():
    """Run the experiments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[], choices=[[], *names()])
    parser.add_argument("--quick", action="store_true", default=os.environ.get("QUICK") == "1")
    parser.add_argument("--again", action="store_true", help="run finished experiments again")
    parser.add_argument("--output", type=Path, default=Path("reproduction"))
    options = parser.parse_args()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    wanted = options.names or names()
    failed, started = [], time.monotonic()
    for i, name in enumerate(wanted):
        bar(i, len(wanted), f"{name}, {time.monotonic() - started:.0f} s")
        path = output / f"{name}.json"
        quick = options.quick or (name in PRINTED and not options.names)
        if (options.again or not finished(path, quick)) and not run(name, output, quick):
            failed.append(name)
    bar(len(wanted), len(wanted), f"{time.monotonic() - started:.0f} s\n")
    for (source, table), row in write_page(output).items():
        print(
            f"{source}, {table}: {row['reproduced']} of {row['entries']} reproduced, {row['better']} better"
        )
    print(f"page: {output / 'index.html'}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; see the files .log in {output}")


if __name__ == "__main__":
    main()
