"""The page and the JSON of a run: figures by kind beside scikit-learn's, every miss, and what was not run."""

import html
import json
import platform
import subprocess
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.trust.causes import grouped

KINDS = ("ok", "silent", "nan", "crash", "hang", "unclear")
MEANING = {
    "ok": "a clear error before any heavy work, or a right and finite result",
    "silent": "a bad value is used, or an answer is wrong, without an error or a warning",
    "nan": "NaN or infinity in a result",
    "crash": "the process ends",
    "hang": "no answer within {shared:g} s of processor time in probes that both libraries have, {others:g} s in "
    "others; longer only where machine code is compiled again",
    "unclear": "an error of the wrong type, without name, value or remedy, after heavy work, or of a valid value",
}
STYLE = """
:root { color-scheme: light dark; --line: #8886; --bad: #b3261e; --good: #1b7f3b }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7bd88f } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem }
h1 { line-height: 1.2 } h2 { margin-top: 2rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
td.bad { color: var(--bad); font-weight: 600 } .good { color: var(--good) }
code { overflow-wrap: anywhere; font-size: .85em } details { border-bottom: 1px solid var(--line); padding: .3rem 0 }
summary { cursor: pointer; overflow-wrap: anywhere } li { overflow-wrap: anywhere }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; padding: 0 }
.figures li { list-style: none; border: 1px solid var(--line); border-radius: .5rem; padding: .7rem }
.figures b { display: block; font-size: 1.6rem }
@media (max-width: 34rem) { th, td { padding: .25rem .15rem; font-size: .68rem } }
"""


def counts(outcomes):
    """Return the number of outcomes of each kind."""
    found = Counter(kind for kind, _ in outcomes.values())
    return {kind: found[kind] for kind in KINDS}


def by(outcomes, key):
    """Return outcomes in parts, by a function of their names."""
    parts = {}
    for name, outcome in outcomes.items():
        parts.setdefault(key(name), {})[name] = outcome
    return parts


def summary(outcomes, areas, faults, mutations, limits, not_run):
    """Return the content of the JSON file; `limits` are processor seconds that a probe may take."""
    sides = by(outcomes, lambda name: name.partition(":")[0])
    ours, theirs = sides.get("mercer", {}), sides.get("sklearn", {})
    shared = {name.replace("sklearn:", "mercer:", 1) for name in theirs}
    same = {name: outcome for name, outcome in ours.items() if name in shared}
    matched = {
        name: out for name, out in theirs.items() if name.replace("sklearn:", "mercer:", 1) in same
    }
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "probes": counts(ours),
        "same_probes": {"mercer": counts(same), "sklearn": counts(matched)},
        "areas": {
            area: {"mercer": counts(part), "sklearn": counts(by(theirs, areas.get).get(area, {}))}
            for area, part in sorted(by(ours, areas.get).items())
        },
        "faults": {
            kind: counts(part)
            for kind, part in sorted(by(faults, lambda n: n.split(":")[1]).items())
        },
        "mutations": {"number": mutations[0], "failures": mutations[1]},
        "limits": limits,
        "not_run": not_run,
        "misses": {
            name: outcome for name, outcome in {**ours, **faults}.items() if outcome[0] != "ok"
        },
        "sklearn_misses": {name: outcome for name, outcome in theirs.items() if outcome[0] != "ok"},
    }


def commit():
    """Return the commit of the working tree, marked if files differ from it."""
    git = ["git", "-C", str(Path(__file__).parent)]
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True).stdout
    return (found.stdout.strip() or "unknown") + (" with changes" if changed else "")


def table(rows, first):
    """Return a table of counts; rows are pairs of a label and counts by kind."""
    head = "".join(f"<th>{name}</th>" for name in (first, "probes", *KINDS))
    lines = []
    for label, numbers in rows:
        cells = [sum(numbers.values()), *(numbers[kind] for kind in KINDS)]
        marks = ["", ""] + ["" if number == 0 else " class=bad" for number in cells[2:]]
        body = "".join(
            f"<td{mark}>{number:,}</td>" for mark, number in zip(marks, cells, strict=True)
        )
        lines.append(f"<tr><td>{html.escape(label)}</td>{body}</tr>")
    return f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def miss_list(outcomes):
    """Return the misses, one block for each cause, with a command that repeats the first."""
    blocks = []
    for kind, cause, names in grouped(outcomes):
        items = "".join(
            f"<li><code>{html.escape(name)}</code><br>{html.escape(outcomes[name][1][:300])}</li>"
            for name in names
        )
        blocks.append(
            f"<details><summary><b>{kind}</b>, {len(names)}: {html.escape(cause)}</summary>"
            f"<p><code>python -m tests.trust --only '{html.escape(names[0])}'</code></p><ul>{items}</ul></details>"
        )
    return "".join(blocks) or "<p class=good>None.</p>"


def _mutated(found):
    if not found["number"]:
        return "None was tried."
    refused = "Each is" if not found["failures"] else f"All but {len(found['failures']):,} are"
    return f"{refused} refused, or read as an independent reader reads it."


def page(found):
    """Return the page of a summary."""
    same = found["same_probes"]
    total, faults = (
        sum(found["probes"].values()),
        sum(sum(part.values()) for part in found["faults"].values()),
    )
    misses = total - found["probes"]["ok"]
    lost = faults - sum(part["ok"] for part in found["faults"].values())
    figures = {
        "bad and extreme inputs": f"{total:,}",
        "misses among them": f"{misses:,}",
        "injected faults": f"{faults:,}",
        "not survived": f"{lost:,}",
        "mutated model files": f"{found['mutations']['number']:,}",
        "read wrongly": f"{len(found['mutations']['failures']):,}",
    }
    areas = [(area, part["mercer"]) for area, part in found["areas"].items()]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    parts = [
        "<h1>Mercer: what bad input, faults and damaged files do</h1>",
        f"<p>{found['date']}, commit {html.escape(found['commit'])}; {html.escape(found['machine'])}; {versions}. "
        "Written by <code>make trust</code>.</p>",
        "<ul class=figures>"
        + "".join(f"<li><b>{n}</b>{label}</li>" for label, n in figures.items())
        + "</ul>",
        "<h2>The same probes, Mercer and scikit-learn</h2><p>Probes of SVC, NuSVC, SVR, NuSVR, OneClassSVM, "
        "KernelPCA, KernelRidge and Nystroem whose call and argument both libraries have.</p>",
        table([("Mercer", same["mercer"]), ("scikit-learn", same["sklearn"])], "library"),
        "<h2>All probes of Mercer</h2>",
        table([*areas, ("all", found["probes"])], "area"),
        "<ul>"
        + "".join(
            f"<li><b>{kind}</b>: {text.format(**found['limits'])}</li>"
            for kind, text in MEANING.items()
        )
        + "</ul>",
        "<h2>Injected faults</h2><p>After each: the error is the right one, no estimator is half fitted, the earlier "
        "file is there, no temporary file is left, and the next call gives the earlier answer.</p>",
        table(list(found["faults"].items()), "fault"),
        f"<h2>Mutated model files</h2><p>{_mutated(found['mutations'])}</p>",
        "<ul>"
        + "".join(f"<li>{html.escape(each)}</li>" for each in found["mutations"]["failures"])
        + "</ul>",
        "<h2>Not run</h2><ul>"
        + "".join(f"<li>{html.escape(each)}</li>" for each in found["not_run"])
        + "</ul>",
        "<h2>Misses of Mercer</h2>",
        miss_list(found["misses"]),
        "<h2>Misses of scikit-learn</h2>",
        miss_list(found["sklearn_misses"]),
    ]
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Mercer: trust</title>"
        f"<meta name=viewport content='width=device-width, initial-scale=1'><style>{STYLE}</style></head><body><main>"
        + "".join(parts)
        + "</main></body></html>\n"
    )


def write(folder, found):
    """Write index.html and results.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(page(found), encoding="utf-8")
