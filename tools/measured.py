"""Shorten the results of `make reproduce` and `make trust` for the documentation: python -m tools.measured.

Writes docs/measured/reproduction.json and docs/measured/trust.json, of which docs/measured_tables.py makes tables.
"""

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

MEASURED = Path(__file__).parents[1] / "docs" / "measured"
# Probes of scikit-learn that fail are counted, not listed.
_LEFT_OUT = {"sklearn_misses"}


def reproduction(folder):
    """Return a summary of each experiment in a folder: how many numbers have which verdict, and those missed."""
    paths = [path for path in sorted(folder.glob("*.json")) if path.name != "results.json"]
    return [
        _experiment(json.loads(path.read_text(encoding="utf-8")), path.stat().st_mtime)
        for path in paths
    ]


def _experiment(found, seconds):
    kept = ("table", "entry", "published", "tag", "ours", "reason")
    entries = found["entries"]
    return {
        **{name: found[name] for name in ("name", "title", "source", "quick")},
        "date": f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}",
        "verdicts": dict(Counter(each["verdict"] for each in entries)),
        "missed": [
            {name: each[name] for name in kept}
            for each in entries
            if each["verdict"] == "not reproduced"
        ],
    }


def trust(path):
    """Return the results of all probes and faults, as counts and as the list of misses."""
    return {
        name: value for name, value in json.loads(path.read_text()).items() if name not in _LEFT_OUT
    }


def main(arguments=None, output=MEASURED):
    """Write the files for which there are results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--reproduction", type=Path, default=Path("reproduction"), help="folder of make reproduce"
    )
    parser.add_argument(
        "--trust", type=Path, default=Path("trust/results.json"), help="results of make trust"
    )
    options = parser.parse_args(arguments)
    if options.reproduction.is_dir():
        path = output / "reproduction.json"
        # experiments that did not run again keep their results and their date
        kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        found = {each["name"]: each for each in kept + reproduction(options.reproduction)}
        _write(path, [found[name] for name in sorted(found)])
    if options.trust.is_file():
        _write(output / "trust.json", trust(options.trust))


def _write(path, content):
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
