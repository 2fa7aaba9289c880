"""The page of all experiments: one HTML file that loads nothing from elsewhere."""

import html
from types import NoneType

import numpy as np

from experiments._report import (
    BETTER,
    MISSED,
    REACHED,
    REPRODUCED,
    UNREACHED,
    number,
    published_number,
)

# Tags of numbers that were read in a source, or are remembered without doubt.
COUNTED = ("S", "S2", "M-hi")

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c6168; --paper: #fdfdfb; --line: #dcdcd6; --good: #1a7f37;
  --bad: #b3261e; --link: #0b57d0 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e3; --soft: #a2a6ab; --paper: #17181a; --line: #3a3c40; --good: #6fdd8b; --bad: #ff8a80;
    --link: #8ab4f8 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem 1rem 4rem; max-width: 46rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0 }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 3rem 0 0.5rem; scroll-margin-top: 1rem }
a { color: var(--link) }
nav ol { padding-left: 1.4rem; columns: 18rem; column-gap: 2rem; font-size: 0.92rem }
figure { margin: 1rem 0 }
img { display: block; width: 100%; max-width: 40rem; height: auto }
figcaption, .soft { color: var(--soft); font-size: 0.9rem }
details { margin: 0.8rem 0 }
summary { cursor: pointer; color: var(--link) }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; width: 100%;
  overflow-wrap: normal }
th, td { text-align: right; padding: 0.25rem 0.4rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; color: var(--soft) }
th:first-child, td:first-child { text-align: left; padding-left: 0; min-width: 8rem }
td:last-child { text-align: left }
.good { color: var(--good) } .bad { color: var(--bad) }
pre { overflow-x: auto; font-size: 0.78rem; line-height: 1.4; overflow-wrap: normal }
"""


def shares(records):
    """Return for each published table the counted numbers, and how many of them are reproduced or better.

    Statements are not counted: their limits are ours.
    """
    tables = {}
    for record in records:
        if not isinstance(record["published"], (str, NoneType)) and record["tag"] in COUNTED:
            empty = {"entries": 0, "near": 0, "inside": 0, REPRODUCED: 0, BETTER: 0}
            row = tables.setdefault((record["source"], record["table"]), empty)
            row["entries"] += 1
            row["near"] += bool(record["near"])
            row["inside"] += bool(record["inside"])
            if record["verdict"] in row:
                row[record["verdict"]] += 1
    return tables


def document(experiments, records):
    """Return the page of experiments; ``records`` are the entries of all."""
    links = "".join(
        f'<li><a href="#{each["name"]}">{_escape(each["title"])}</a></li>' for each in experiments
    )
    body = "\n".join(_section(each) for each in experiments)
    quick = (
        "This is a quick run with fewer draws and points. "
        if any(each["quick"] and each["entries"] for each in experiments)
        else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Published experiments and Mercer</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        '<h1 id="top">Published experiments and Mercer</h1>\n'
        f"<p>Published numbers beside those of Mercer. {quick}<b>Reproduced</b> means that our median is within a "
        "tenth of the published number, or inside its published standard deviation.</p>\n"
        f"{_summary(records)}\n<nav><h2>Experiments</h2><ol>{links}</ol></nav>\n{body}\n</body>\n</html>\n"
    )


def _summary(records):
    tables = shares(records)
    if not tables:
        return ""
    rows = []
    for (source, table), row in tables.items():
        name = f"{_escape(table)}<br><span class=soft>{_escape(source)}</span>"
        rows.append([name, *row.values()])
    mean = [
        np.mean([100 * row[kind] / row["entries"] for row in tables.values()])
        for kind in (REPRODUCED, BETTER)
    ]
    rows.append(
        [
            "<b>mean over tables, per cent</b>",
            "",
            "",
            "",
            f"<b>{mean[0]:.0f}</b>",
            f"<b>{mean[1]:.0f}</b>",
        ]
    )
    statements = [record for record in records if isinstance(record["published"], str)]
    hold = sum(record["verdict"] == REPRODUCED for record in statements)
    missed = [record for record in records if record["verdict"] == MISSED]
    lines = "".join(
        f"<li>{_escape(record['table'])}, {_escape(record['entry'])}: {number(record['ours'])} instead of "
        f"{_escape(number(record['published']))} ({record['tag']}); {_escape(record['reason'])}</li>"
        for record in missed
    )
    columns = [
        "published",
        "entries",
        "within a tenth",
        "inside the published deviation",
        "reproduced",
        "better",
    ]
    table = _table(columns, rows)
    note = "Published numbers that were read in a source or are remembered without doubt (tags S, S2, M-hi)."
    return (
        f"<p>Of these numbers, each table weighted equally, {mean[0]:.0f} % are reproduced and another {mean[1]:.0f} % "
        f"are better; {hold} of {len(statements)} published statements hold.</p>{_goals(records)}"
        f"<details><summary>Tables</summary><p class=soft>{note}</p>{table}</details>"
        f"<details><summary>{len(missed)} numbers that are not reproduced, and why</summary><ul>{lines}</ul></details>"
    )


def _goals(records):
    """Return a list of the goals of this project, which nobody published."""
    goals = [record for record in records if "goal" in record]
    if not goals:
        return ""
    lines = "".join(
        f"<li>{_escape(record['table'])}, {_escape(record['entry'])}: {number(record['ours'])}, "
        f"{_colour(record['verdict'])} ({number(record['goal'])})</li>"
        for record in goals
    )
    reached = sum(record["verdict"] == REACHED for record in goals)
    summary = (
        f"{reached} of {len(goals)} goals of this project, which are not published, are reached"
    )
    return f"<details><summary>{summary}</summary><ul>{lines}</ul></details>"


def _section(found):
    pictures = [_figure(picture, found["title"]) for picture in found["pictures"]]
    texts = [_escape(text) for text in found["texts"]]
    sentence = texts[0] if texts else ""
    first = pictures[0] if pictures else ""
    notes = "".join(f"<p>{text}</p>" for text in texts[1:])
    warnings = [
        found["skipped"],
        "These results were made with other code than that of today." if found["old"] else "",
    ]
    first += "".join(f"<p class=bad>{_escape(text)}</p>" for text in warnings if text)
    output = f"<pre>{_escape(found['output'])}</pre>" if found.get("output") else ""
    about = f"<p class=soft>{_escape(found['source'])}. <code>python -m experiments.{found['name']}</code>, "
    about += f"{found['seconds']:.0f} s of processor time{', quick' if found['quick'] else ''}.</p>"
    details = f"{_entries(found['entries'])}{''.join(pictures[1:])}{notes}{output}{about}"
    return (
        f'<section><h2 id="{found["name"]}">{_escape(found["title"])}</h2>\n{first}<p>{sentence}</p>\n'
        f"<details><summary>Numbers and details</summary>{details}</details>"
        '<p class=soft><a href="#top">Contents</a></p></section>'
    )


def _figure(picture, title):
    alternative = _escape(picture["caption"] or title)
    return (
        '<figure><picture><source media="(prefers-color-scheme: dark)" '
        f'srcset="data:image/png;base64,{picture["dark"]}"><img src="data:image/png;base64,{picture["light"]}" '
        f'alt="{alternative}"></picture><figcaption>{_escape(picture["caption"])}</figcaption></figure>'
    )


def _entries(records):
    if not records:
        return ""
    rows = []
    for record in records:
        low, high = (number(value) for value in record["spread"])
        spread = f"{low} to {high}" if record["draws"] > 1 else ""
        published = (
            f"goal {number(record['goal'])}" if "goal" in record else published_number(record)
        )
        verdict = f"{_colour(record['verdict'])} {_escape(record['reason'])}"
        name = _escape(f"{record['table']}: {record['entry']}")
        rows.append([name, _escape(published), number(record["ours"]), spread, verdict])
    return _table(["entry", "published (tag)", "ours", "range", "verdict"], rows)


def _colour(verdict):
    good = {REPRODUCED, BETTER, REACHED}
    colour = "good" if verdict in good else "bad" if verdict in (MISSED, UNREACHED) else "soft"
    return f"<span class={colour}>{verdict}</span>"


def _table(header, rows):
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _escape(text):
    return html.escape(str(text))
