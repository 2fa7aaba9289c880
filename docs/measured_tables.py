"""Tables of the pages of measured results, from the JSON files in docs/measured."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "measured"
_MARK = re.compile(r"^<!-- measured: (\w+) -->$", re.MULTILINE)
KINDS = ("reproduced", "better", "not reproduced", "beyond", "goal reached", "goal missed")
_OUTCOMES = {
    "ok": "right answer, or an error that names argument, value and remedy",
    "unclear": "error without one of these",
    "silent": "wrong answer without an error or a warning",
    "nan": "NaN",
    "crash": "crash",
    "hang": "no answer within {shared:g} s of processor time, {others:g} s in probes of Mercer alone",
}


def fill(text):
    """Return a page with each mark ``<!-- measured: NAME -->`` replaced by the tables of that file."""
    return _MARK.sub(lambda mark: _PAGES[mark[1]](_read(mark[1])), text)


def _read(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def _benchmarks(found):
    return "\n\n".join(
        f"## {each['title']}\n\n{each['text']}\n\n{_table(each['columns'], each['rows'])}\n\n"
        f"*{each['date']}, {each['machine']}, `{each['command']}`*"
        for each in found
    )


def _reproduction(found):
    rows = [
        [
            f"{each['title']}: `{each['name']}`",
            *(each["verdicts"].get(kind, 0) for kind in KINDS),
            _run(each),
        ]
        for each in found
    ]
    total = [sum(row[i] for row in rows) for i in range(1, 1 + len(KINDS))]
    missed = [
        f"- {each['source']}, {miss['table']}, {miss['entry']}: {_number(miss['ours'])} instead of "
        f"{_number(miss['published'])}; {miss['reason']}"
        for each in found
        for miss in each["missed"]
    ]
    table = _table(
        ["experiment", *KINDS, "run"], [*rows, ["**all**", *(f"**{n}**" for n in total), ""]]
    )
    return f"{table}\n\n## Not reproduced\n\n" + "\n".join(missed)


def _run(each):
    return each["date"] + (", quick" if each["quick"] else "")


def _trust(found):
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    same, faults, mutations = found["same_probes"], found["faults"], found["mutations"]
    sides = (found["probes"], same["mercer"], same["sklearn"])
    outcomes = [
        [text.format(**found["limits"]), *(f"{counts[name]:,}" for counts in sides)]
        for name, text in _OUTCOMES.items()
    ]
    survived = [
        [kind, f"{sum(counts.values()):,}", f"{counts['ok']:,}"] for kind, counts in faults.items()
    ]
    parts = [
        f"*{found['date']}, commit {found['commit']}, {found['machine']}, {versions}*",
        "## Bad inputs\n\nEvery argument of every public function gets every bad value of a list. The last two columns "
        "count the same probes: those of estimators that both libraries have.",
        _table(["outcome", "Mercer", "Mercer, same probes", "scikit-learn, same probes"], outcomes),
        "## Faults\n\nMemory that is refused, full disks, signals, threads that cannot start, damaged caches, at "
        "chosen moments of a call. Mercer survives a fault if the error is the right one, no estimator is half fitted, "
        "files are kept, and the next call is right.",
        _table(["fault", "injected", "survived"], survived),
        f"## Damaged model files\n\n{mutations['number']:,} mutated files; {len(mutations['failures']):,} are neither "
        "refused nor read as an independent reader reads them.",
        "## Misses of Mercer\n\n"
        + _list(f"`{name}`: {kind}, {text}" for name, (kind, text) in found["misses"].items()),
        "## Not run\n\n" + _list(found["not_run"]),
    ]
    return "\n\n".join(parts)


def _list(lines):
    return "\n".join(f"- {line}" for line in lines) or "None."


def _table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value):
    return _number(value).replace("|", "\\|")


def _number(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_PAGES = {"benchmarks": _benchmarks, "reproduction": _reproduction, "trust": _trust}
