"""Results of an experiment: published numbers beside ours with a verdict by rule, statements, pictures and notes.

An experiment is a generator function of one argument, ``quick``, which yields in any order

- ``Entry``: a published number, and ours with one value for each draw,
- ``Statement``: a published statement as a number that must not exceed a limit,
- ``Goal``: a goal of this project, which counts apart from what is published,
- ``Picture``: a function that draws a figure, and a caption,
- text: the first is the sentence that sums up the experiment, the others are notes.

``main`` prints them, and writes them to a JSON file that ``python -m experiments`` collects. Further arguments of the
generator, with defaults, are options of its command line.
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

from experiments._code import version

# Relative difference from the published number that counts as reproduced.
TOLERANCE = 0.1
# Width of all figures in inches: text stays readable on a phone.
WIDTH = 5.0
UNKNOWN = "no reason is known"
SKIPPED = "The rest was skipped, because a data set is missing: "
STYLES = {"light": [], "dark": ["dark_background"]}
REPRODUCED, BETTER, MISSED, BEYOND = "reproduced", "better", "not reproduced", "beyond"
REACHED, UNREACHED = "goal reached", "goal missed"


@dataclass(frozen=True)
class Entry:
    """A published number (None if there is none) with its tag, and ours: one number, or one for each draw.

    ``best`` is "least" or "largest" if smaller or larger numbers are better. ``reason`` explains a miss.
    ``deviation`` is the published standard deviation, if there is one.
    """

    table: str
    entry: str
    published: float | None
    tag: str
    ours: object
    best: str = ""
    reason: str = ""
    deviation: float | None = None

    def record(self):
        """Return the entry as a dictionary; ``near`` and ``inside`` are the two rules of reproduction."""
        parts = {
            "table": self.table,
            "entry": self.entry,
            "published": self.published,
            "tag": self.tag,
        }
        parts |= {"deviation": self.deviation, **_measured(self.ours), "near": None, "inside": None}
        if self.published is None:
            return parts | {"verdict": BEYOND, "reason": ""}
        difference = parts["ours"] - self.published
        # a published number may be one of NumPy
        parts["near"] = bool(abs(difference) <= TOLERANCE * abs(self.published))
        if self.deviation is not None:
            parts["inside"] = bool(abs(difference) <= self.deviation)
        verdict = self._verdict(difference, parts["near"] or parts["inside"])
        return parts | {
            "verdict": verdict,
            "reason": (self.reason or UNKNOWN) if verdict == MISSED else "",
        }

    def _verdict(self, difference, reproduced):
        if reproduced:
            return REPRODUCED
        gain = {"least": -difference, "largest": difference}.get(self.best, 0.0)
        return BETTER if gain > 0 else MISSED


def _measured(ours):
    """Return the median of one or more numbers, their range, and how many they are."""
    values = np.atleast_1d(np.asarray(ours, float))
    spread = [float(values.min()), float(values.max())]
    return {"ours": float(np.median(values)), "spread": spread, "draws": len(values)}


@dataclass(frozen=True)
class Goal:
    """A number that this project wants to reach, and ours; ``best`` is "least" or "largest"."""

    table: str
    entry: str
    goal: float
    ours: object
    best: str

    def record(self):
        """Return the goal as a dictionary."""
        parts = {
            "table": self.table,
            "entry": self.entry,
            "published": None,
            "tag": "",
            "goal": self.goal,
        }
        parts |= _measured(self.ours)
        sign = {"least": 1, "largest": -1}[self.best]
        reached = sign * (parts["ours"] - self.goal) <= 0
        return parts | {"verdict": REACHED if reached else UNREACHED, "reason": ""}


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
        holds = bool(self.value <= self.limit)
        parts = {
            "table": self.table,
            "entry": self.entry,
            "published": f"at most {self.limit:g}",
            "tag": self.tag,
        }
        parts |= _measured(self.value)
        return parts | {
            "verdict": REPRODUCED if holds else MISSED,
            "reason": "" if holds else self.reason or UNKNOWN,
        }


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
            with plt.style.context(
                [*styles, {"font.size": 9, "axes.titlesize": 9, "savefig.facecolor": "none"}]
            ):
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


def collect(experiment, quick, show=print, **options):
    """Return the results of an experiment as a dictionary; ``skipped`` says which data set is missing, if one is."""
    found = {"texts": [], "entries": [], "pictures": [], "skipped": ""}
    started = time.process_time()
    try:
        for each in experiment(quick, **options):
            kind = (
                "texts"
                if isinstance(each, str)
                else "pictures"
                if isinstance(each, Picture)
                else "entries"
            )
            found[kind].append(each if kind == "texts" else each.record())
            show(line(found[kind][-1]))
    except FileNotFoundError as error:
        found["skipped"] = SKIPPED + str(error)
        show(found["skipped"])
    return found | {"quick": bool(quick), "seconds": time.process_time() - started}


def line(record):
    """Return one line of text for a record."""
    if isinstance(record, str):
        return record
    if "caption" in record:
        return f"picture: {record['caption']}"
    low, high = (number(value) for value in record["spread"])
    spread = f" [{low}, {high}]" if record["draws"] > 1 else ""
    published = (
        f"  goal {number(record['goal'])}" if "goal" in record else f"  {published_number(record)}"
    )
    name = f"{record['table']}, {record['entry']}"
    return f"{name:56}{number(record['ours']):>9}{spread}{published}  {record['verdict']}"


def published_number(record):
    """Return the published number of a record as text with its deviation and tag, or nothing."""
    if record["published"] is None:
        return ""
    deviation = "" if record.get("deviation") is None else f" +- {number(record['deviation'])}"
    return f"{number(record['published'])}{deviation} ({record['tag']})"


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
    own = list(inspect.signature(experiment).parameters.values())[1:]
    for each in own:
        several = isinstance(each.default, tuple)
        kind = type(each.default[0] if several else each.default)
        parser.add_argument(
            f"--{each.name}", type=kind, default=each.default, nargs="+" if several else None
        )
    options = vars(parser.parse_args())
    name = Path(module.__file__).stem
    about = {"name": name, "title": module.__doc__.splitlines()[0].rstrip("."), "source": source}
    about["version"] = version(name)
    chosen = {each.name: options[each.name] for each in own}
    found = collect(experiment, options["quick"], lambda text: print(text, flush=True), **chosen)
    print(f"{found['seconds']:.0f} s of processor time")
    if options["output"]:
        options["output"].mkdir(parents=True, exist_ok=True)
        (options["output"] / f"{name}.json").write_text(json.dumps(about | found, indent=1))
