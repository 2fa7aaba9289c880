"""Count the words that the vocabulary rejects (CONTRIBUTING.md, glossary), by folder, or show where one of them stands.

    python -m tools.count_words [project]
    python -m tools.count_words --show "way to" [project]

Letters alone make a word: `price` is found in `upper_price` and in "prices", not in "enterprise".
"""

import argparse
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AREAS = {
    "src": ["src"],
    "tests": ["tests"],
    "docs": ["docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    "other": ["examples", "experiments", "benchmarks", "tools", "Makefile", "pyproject.toml"],
}
SUFFIXES = {".py", ".md", ".rst", ".toml", ""}
UNREAD = {"_build", "generated", "gallery", "__pycache__"}
# This list and its test name the words, and the glossary says what to write in their place.
LISTS = {"tools/count_words.py", "tests/tools/test_count_words.py", "CONTRIBUTING.md"}

# What is counted, and how to find it: the first column of the vocabulary's "not".
WORDS = {
    "price": r"prices?|priced",
    "slack": r"slack",
    "machine": r"(?<!support vector )(?<!kernel )(?<!vector_)machines?(?![ _](?:code|precision|learning|epsilon))",
    "what is fitted": r"what (?:is|was) fitted",
    "way to": r"ways? (?:to|of|back|out|in)|ways",
    "say": r"said|says?|saying",
    "report (a callback)": r"report(?==report|=None| : callable| is (?:not )?None)",
    "means": r"\*\*means",
    "crew": r"crews?",
    "threshold": r"thresholds?",
    "scores (PCA has them)": r"scores",
    "chosen (a function)": r"(?<!_)(?:chosen|extended|within|(?<!\.)at)(?=\()",
    "magnified": r"manifold\.magnified|magnified(?=\()|_magnified",
    "programme": r"(?<!quadratic )programmes?",
    "polish": r"polish(?:ed|es|ing)?",
    "hull": r"hulls?",
    "side": r"sides?",
    "is no": r"(?:is|are|was|were) no",
    "one's own": r"of (?:one's|its|their|your|ours|my) own",
    "as good as": r"as good as",
    "What as a subject": r"(?:(?<=^)|(?<=\. )|(?<=\"\"\")|(?<=# ))What(?= (?!is |are |if )\w)",
}  # fmt: skip
# Files that had their names from a rejected word.
FILES = (
    "polish", "divide", "box", "nu", "tube", "hulls", "programme", "reading", "gibbs", "nested", "left_out", "known",
    "values", "agreement", "histogram", "inputs", "fitted",
)  # fmt: skip


def pattern(expression):
    """Return the pattern of a word between anything but letters."""
    return re.compile(rf"(?<![A-Za-z])(?:{expression})(?![A-Za-z])", re.IGNORECASE | re.MULTILINE)


def texts(root, area):
    """Yield the path and the text of each file of an area."""
    for place in (Path(root) / name for name in AREAS[area]):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            inside = path.relative_to(root)
            if (
                path.is_file()
                and path.suffix in SUFFIXES
                and not UNREAD & {*inside.parts}
                and str(inside) not in LISTS
            ):
                yield path, path.read_text(encoding="utf-8", errors="ignore")


def count(root):
    """Return {word: Counter of areas}, file names included."""
    patterns = {word: pattern(expression) for word, expression in WORDS.items()}
    found = {word: Counter() for word in [*WORDS, "names of files"]}
    for area in AREAS:
        for path, text in texts(root, area):
            for word, wanted in patterns.items():
                found[word][area] += len(wanted.findall(text))
            if path.suffix == ".py":
                found["names of files"][area] += path.stem.strip("_").removeprefix("test_") in FILES
    return found


def show(root, word):
    """Yield each line with a word."""
    wanted = pattern(WORDS[word])
    for area in AREAS:
        for path, text in texts(root, area):
            for number, line in enumerate(text.splitlines(), 1):
                if wanted.search(line):
                    yield f"{path.relative_to(root)}:{number}: {line.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--show", choices=WORDS, help="print the lines with this word")
    options = parser.parse_args()
    if options.show:
        print(*show(options.root, options.show), sep="\n")
        return
    print(f"{'':24}" + "".join(f"{name:>8}" for name in [*AREAS, "all"]))
    total = Counter()
    for word, counted in count(options.root).items():
        total += counted
        print(
            f"{word:24}" + "".join(f"{counted[area]:8}" for area in AREAS) + f"{counted.total():8}"
        )
    print(f"{'all':24}" + "".join(f"{total[area]:8}" for area in AREAS) + f"{total.total():8}")


if __name__ == "__main__":
    main()
