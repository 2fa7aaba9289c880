"""mercer info: what a model file holds."""

from mercer._compute.memory import human_bytes as human
from mercer.cli import models, tables
from mercer.formats import model_card


def run(options, progress):
    """Say what a model consists of.

    Parameters
    ----------
    options : Namespace
        ``model``.
    progress : Progress

    Returns
    -------
    str
        A line for each fact.

    Raises
    ------
    Failure
    """
    progress(f"reading {options.model}")
    return describe(models.opened(options.model))


def describe(found):
    """Return what is known of a model, a line for each fact.

    Parameters
    ----------
    found : Opened

    Returns
    -------
    str
    """
    card, last = model_card(found.model), found.last
    facts = {"file": f"{found.path}, {human(found.size)}, {found.kind}", "model": card["model"]}
    if hasattr(found.model, "steps"):
        facts["pipeline"] = " > ".join(type(step).__name__ for _, step in found.model.steps)
    facts["kernel"] = card["kernel"] and _short(card["kernel"])
    if found.classes is not None:
        facts["classes"] = f"{len(found.classes)}: {tables.listed(found.classes)}"
    features = card["features"]
    facts["features"] = f"{features} at least" if found.kind == models.TEXT_MODEL else features
    facts["vectors"] = card["rows_stored"] or None
    if hasattr(last, "intercept_"):
        facts["scores"] = getattr(last.intercept_, "size", 1)
    facts["numbers"] = f"{card['values']}, {human(card['bytes'])}"
    lines = [f"{name:<12}{fact}" for name, fact in facts.items() if fact is not None]
    report = getattr(last, "report_", None)
    if report is not None:
        first, *rest = str(report).splitlines()
        lines += [f"{'compressed':<12}{first}", *(" " * 12 + line for line in rest)]
    return "\n".join(lines)


def _short(text, most=200):
    """Return a text on one line: a given kernel matrix shows its numbers."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]} ..."
