"""Misses, grouped by what they have in common, so that one line stands for one cause."""

import re
from collections import defaultdict

ORDER = ("crash", "hang", "silent", "nan", "unclear")


def cause(name, kind, evidence):
    """Return a text that misses with the same cause share."""
    parts = name.split(":")
    last = ", ".join(parts[1:3]) if parts[0] == "fault" else parts[-1]
    if kind != "unclear":
        return (
            last
            if kind != "silent" or len(parts) == 4 or parts[0] == "fault"
            else f"relation {last}"
        )
    reason, _, text = evidence.partition("; ")
    reason = (
        "the argument is not named" if "is not named" in reason else re.sub(r"\d+", "#", reason)
    )
    text = re.sub(r"\d[\d.e+-]*", "#", re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", text))
    return f"{reason}: {text[:70]}"


def grouped(outcomes):
    """Return a list of (kind, cause, names), the worst kinds and the largest groups first."""
    groups = defaultdict(list)
    for name, (kind, evidence) in outcomes.items():
        if kind != "ok":
            groups[kind, cause(name, kind, evidence)].append(name)
    rows = [(kind, text, sorted(names)) for (kind, text), names in groups.items()]
    return sorted(rows, key=lambda row: (ORDER.index(row[0]), -len(row[2]), row[1]))
