"""mercer info: describe a model file."""

import argparse

from mercer._common import shortened
from mercer._compute.memory import human_bytes
from mercer.cli import models, tables
from mercer.formats import model_card
from mercer.progress_bar import Progress


def run(options: argparse.Namespace, progress: Progress) -> str:
    """Return the facts about the model file that the options name, one per line."""
    progress(f"reading {options.model}")
    found = models.read(options.model)
    card = model_card(found.model)
    last = found.last
    facts = {
        "file": f"{found.path}, {human_bytes(found.size)}, {found.kind}",
        "model": card["model"],
    }
    if hasattr(found.model, "steps"):
        facts["pipeline"] = " > ".join(type(step).__name__ for _, step in found.model.steps)
    # on one line, cut if it is long, such as a kernel with a matrix
    facts["kernel"] = card["kernel"] and shortened(card["kernel"])
    if found.classes is not None:
        facts["classes"] = f"{len(found.classes)}: {tables.listed(found.classes)}"
    features = card["features"]
    facts["features"] = f"{features} at least" if found.kind == models.TEXT_MODEL else features
    facts["vectors"] = card["rows_stored"] or None
    if hasattr(last, "intercept_"):
        facts["outputs"] = getattr(last.intercept_, "size", 1)
    facts["numbers"] = f"{card['values']}, {human_bytes(card['bytes'])}"
    lines = [f"{name:<12}{fact}" for name, fact in facts.items() if fact is not None]
    report = getattr(last, "report_", None)
    if report is not None:
        first, *rest = str(report).splitlines()
        lines += [f"{'compressed':<12}{first}", *(" " * 12 + line for line in rest)]
    return "\n".join(lines)
