"""HTML of the demo page: one file that loads nothing from elsewhere."""

import html
from collections.abc import Iterable
from typing import TypeAlias

# A heading, and the HTML below it.
Chapter: TypeAlias = tuple[str, str]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c6168; --paper: #fdfdfb; --line: #dcdcd6; --code: #f1f1ec;
  --mark: #eaf1f8 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e3; --soft: #a2a6ab; --paper: #17181a; --line: #3a3c40; --code: #222427; --mark: #1f2c39 }
}
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 44rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0 }
h2 { font-size: 1.2rem; margin: 2.8rem 0 0.5rem }
p { margin: 0.6rem 0 }
sup { line-height: 0 }
figure { margin: 1.2rem 0 }
img { display: block; width: 100%; height: auto }
figcaption, footer { color: var(--soft); font-size: 0.88rem; margin-top: 0.5rem }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 0.8rem }
.wide { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; width: 100% }
th, td { text-align: right; padding: 0.35rem 0.5rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; color: var(--soft) }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
tr.best td { background: var(--mark) }
pre { background: var(--code); padding: 0.8rem 1rem; border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere;
  font-size: 0.85rem }
@media (max-width: 36rem) { table { font-size: 0.72rem } th, td { padding: 0.3rem 0.2rem } }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
"""


def document(title: str, lead: str, chapters: Iterable[Chapter], foot: str) -> str:
    """Return the page; lead and foot are HTML, chapters are pairs of a heading and HTML."""
    body = "\n".join(
        f"<section><h2>{html.escape(heading)}</h2>\n{content}</section>"
        for heading, content in chapters
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n<p>{lead}</p>\n{body}\n<footer>{foot}</footer>\n</body>\n</html>\n"
    )


def table(header: Iterable[str], rows: Iterable[Iterable[str]], best: int | None = None) -> str:
    """Return a table of text cells as HTML; the row number ``best`` is marked."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
    lines = []
    for i, row in enumerate(rows):
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        lines.append(f'<tr class="best">{cells}</tr>' if i == best else f"<tr>{cells}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def code(text: str) -> str:
    """Return source code as HTML."""
    return f"<pre><code>{html.escape(text.strip())}</code></pre>"
