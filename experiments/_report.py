"""Results of an experiment: published numbers beside ours with a verdict by rule, statements, pictures and notes.

An experiment is a generator function of one argument, ``quick``, which yields in any order

- ``Entry``: a published number, and ours with one value for each draw,
- ``Statement``: a published statement as a number that must not exceed a limit,
- ``Picture``: a function that draws a figure, and a caption,
- text: the first is the sentence that sums up the experiment, the others are notes.

``main`` prints them, and writes them to a JSON file that ``python -m experiments`` collects.
"""

import argparse
import base64
import inspect
import io
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Relative difference from the published number that counts as reproduced.
TOLERANCE = 0.1
# Width of all figures in inches: text stays readable on a phone.
WIDTH = 5.0
SKIPPED = "The rest was skipped, because a data set is missing: "
STYLES = {"light": [], "dark": ["dark_background"]}
REPRODUCED, BETTER, MISSED, BEYOND = "reproduced", "better", "not reproduced", "beyond"


@dataclass(frozen=True)
class Entry:
    """A published number (None if there is none) with its tag, and ours: one number, or one for each draw.

    ``best`` is "least" or "largest" if smaller or larger numbers are better. ``reason`` explains a miss.
    """

    table: str
    entry: str
    published: float | None
    tag: str
    ours: object
    best: str = ""
    reason: str = ""

    def record(self):
        """Return the entry as a dictionary."""
        values = np.atleast_1d(np.asarray(self.ours, float))
        middle, verdict = float(np.median(values)), self.verdict()
        parts = {"table": self.table, "entry": self.entry, "published": self.published, "tag": self.tag}
        parts |= {"ours": middle, "spread": [float(values.min()), float(values.max())], "draws": len(values)}
        reason = self.reason or "no reason is known"
        return parts | {"verdict": verdict, "reason": reason if verdict == MISSED else ""}

    def verdict(self):
        """Return reproduced (inside the spread, or within a tenth), better, not reproduced, or beyond."""
        if self.published is None:
            return BEYOND
        values = np.atleast_1d(np.asarray(self.ours, float))
        difference = float(np.median(values)) - self.published
        if values.min() <= self.published <= values.max() or abs(difference) <= TOLERANCE * abs(self.published):
            return REPRODUCED
        gain = {"least": -difference, "largest": difference}.get(self.best, 0.0)
        return BETTER if gain > 0 else MISSED


@dataclass(frozen=True)
class Statement:
    """A published statement that holds if ``value`` is at most ``limit``."""

    table: str
    entry: str
    tag: str
    value: float
    limit: float
    reason: str = ""

    def record(self):
        """Return the statement as a dictionary."""
        value, holds = float(self.value), bool(self.value <= self.limit)
        parts = {"table": self.table, "entry": self.entry, "published": f"at most {self.limit:g}", "tag": self.tag}
        parts |= {"ours": value, "spread": [value, value], "draws": 1}
        reason = "" if holds else self.reason or "no reason is known"
        return parts | {"verdict": REPRODUCED if holds else MISSED, "reason": reason}


@dataclass(frozen=True)
class Picture:
    """``draw()`` returns a figure; it is called once for light and once for dark pages."""

    draw: Callable
    caption: str

    def record(self):
        """Return the caption and the images as text."""
        import matplotlib as mpl
        import matplotlib.pyplot as plt

        images = {}
        for name, styles in STYLES.items():
            with plt.style.context([*styles, {"font.size": 9, "axes.titlesize": 9, "savefig.facecolor": "none"}]):
                figure, buffer = self.draw(), io.BytesIO()
                figure.savefig(buffer, format="png", dpi=144, transparent=True)
                plt.close(figure)
            images[name] = base64.b64encode(buffer.getvalue()).decode()
        mpl.rcdefaults()
        return {"caption": self.caption, **images}


def panels(rows, columns, height=None, **options):
    """Return a figure of the usual width with a grid of axes."""
    import matplotlib.pyplot as plt

    height = height or WIDTH / columns * rows
    return plt.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", **options)


def run_printed(script):
    """Call the main function of a script that only prints; a part without its data set is noted."""
    try:
        script()
    except FileNotFoundError as error:
        print(SKIPPED + str(error))


def collect(experiment, quick, show=print):
    """Return the results of an experiment as a dictionary; a part without its data set is noted."""
    found = {"texts": [], "entries": [], "pictures": []}
    started = time.process_time()
    try:
        for each in experiment(quick):
            kind = "texts" if isinstance(each, str) else "pictures" if isinstance(each, Picture) else "entries"
            found[kind].append(each if kind == "texts" else each.record())
            show(line(found[kind][-1]))
    except FileNotFoundError as error:
        found["texts"].append(SKIPPED + str(error))
        show(found["texts"][-1])
    return found | {"quick": bool(quick), "seconds": time.process_time() - started}


def line(record):
    """Return one line of text for a record."""
    if isinstance(record, str):
        return record
    if "caption" in record:
        return f"picture: {record['caption']}"
    low, high = (number(value) for value in record["spread"])
    spread = f" [{low}, {high}]" if record["draws"] > 1 else ""
    published = "" if record["published"] is None else f"  published {number(record['published'])} ({record['tag']})"
    name = f"{record['table']}, {record['entry']}"
    return f"{name:56}{number(record['ours']):>9}{spread}{published}  {record['verdict']}"


def number(value):
    """Return a number as text with four digits; text stays."""
    return value if isinstance(value, str) else f"{value:.4g}"


def main(experiment, source):
    """Run an experiment from the command line."""
    module = inspect.getmodule(experiment)
    # matplotlib reports each font of its list that is not installed
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=module.__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", default=os.environ.get("QUICK") == "1",
                        help="fewer draws and points; the same as QUICK=1")  # fmt: skip
    parser.add_argument("--output", type=Path, help="folder for the JSON file")
    options = parser.parse_args()
    found = collect(experiment, options.quick, lambda text: print(text, flush=True))
    name = Path(module.__file__).stem
    about = {"name": name, "title": module.__doc__.splitlines()[0].rstrip("."), "source": source}
    print(f"{found['seconds']:.0f} s of processor time")
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / f"{name}.json").write_text(json.dumps(about | found, indent=1))
