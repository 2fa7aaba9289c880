"""How Sphinx builds the documentation; the page of names is made from the modules, so that nothing is listed twice."""

import html
import importlib
import importlib.util
import inspect
import math
import os
import re
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

import mercer

HERE = Path(__file__).parent

# --- the page of names: groups of modules, in the order of the layers; what is not there yet is left out -------------

GROUPS = {
    "Kernels": ("kernels",),
    "Matrices and vectors": ("gram", "expansion"),
    "Factorisations, least squares, projections": ("factor", "least_squares", "projection", "landmarks"),
    "Back to input space": ("preimages",),
    "Fewer vectors": ("reduction", "compression"),
    "Coordinates and geometry": ("maps", "manifold"),
    "Is it a kernel?": ("definiteness", "regularisation"),
    "Capacity": ("capacity",),
    "Estimators": ("estimators", "solvers"),
    "Model files": ("formats",),
    "Testing": ("testing",),
    "Pictures": ("plot",),
    "Data sets": ("datasets",),
}

# Modules whose own names are public beside those of mercer; further ones are those that mercer.__all__ names.
OPEN = {"kernels", "preimages", "reduction", "compression", "definiteness", "formats", "testing", "plot", "datasets"}
OPEN |= set(mercer.__all__)


def public_names(module):
    """Return the public names made in mercer.<module>, as one types them after ``mercer.``."""
    found = importlib.import_module(f"mercer.{module}")
    short = [name for name in mercer.__all__ if _is_made_in(getattr(mercer, name), found)]
    own = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    long = [name for name in own if module in OPEN and name not in short and _is_made_in(getattr(found, name), found)]
    return sorted([*short, *(f"{module}.{name}" for name in long)], key=_classes_first)


def _is_made_in(thing, module):
    made = getattr(thing, "__module__", "") or ""
    is_one = inspect.isclass(thing) or inspect.isroutine(thing)
    return is_one and (made == module.__name__ or made.startswith(f"{module.__name__}."))


def _classes_first(name):
    last = name.rpartition(".")[2]
    return last[0].islower(), last.lower()


TABLE = """\
## {title}

```{{eval-rst}}
.. currentmodule:: mercer

.. autosummary::
   :toctree: generated
   :nosignatures:

   {rows}
```
"""


def groups():
    """Return the names of every group that has some, and last those that belong to none."""
    there = {
        title: [
            name for module in modules if importlib.util.find_spec(f"mercer.{module}") for name in public_names(module)
        ]
        for title, modules in GROUPS.items()
    }
    listed = {name for names in there.values() for name in names}
    rest = [name for name in mercer.__all__ if name not in listed and not inspect.ismodule(getattr(mercer, name))]
    return {title: names for title, names in {**there, "More": rest}.items() if names}


def write_tables(folder):
    """Write the tables of all groups as Markdown, remove pages of names that are gone, and return the path."""
    there = groups()
    path = folder / "names.md"
    text = "\n".join(TABLE.format(title=title, rows="\n   ".join(names)) for title, names in there.items())
    path.write_text(text, encoding="utf-8")
    pages = {f"mercer.{name}.rst" for names in there.values() for name in names}
    for page in (folder / "generated").glob("*.rst"):
        if page.name not in pages:
            page.unlink()
    return path


# --- Sphinx ----------------------------------------------------------------------------------------------------------

project = "Mercer"
author = copyright = "the Mercer developers"
version = release = mercer.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "api/names.md"]
templates_path = ["_templates"]
default_role = "code"
toc_object_entries_show_parents = "hide"

autosummary_generate = [str(write_tables(HERE / "api"))]
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
}

html_math_renderer = "mathml"
html_static_path = ["_static"]
html_theme = "pydata_sphinx_theme"
html_title = f"Mercer {version}"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {
    page: [] for page in ("index", "guide", "design", "extending", "troubleshooting", "api/index", "gallery/*")
}

# --- docstrings write |x| and eigenvalues_, which reStructuredText takes for substitutions and links ------------------

CODE = re.compile(r"(``.*?``|`.*?`)")
MARKUP = re.compile(r"\||(?<=\w)_(?!\w)")


def escape(_app, _what, _name, _obj, _options, lines):
    """Escape | and a last _ in prose; code, examples and displayed formulas stay as they are."""
    paragraphs, formula = "\n".join(lines).split("\n\n"), math.inf
    for i, text in enumerate(paragraphs):
        indent = len(text) - len(text.lstrip())
        if ".. math::" in text:
            formula = indent
        elif indent <= formula:
            formula = math.inf
            if ">>> " not in text:
                parts = CODE.split(text)
                paragraphs[i] = "".join(part if k % 2 else MARKUP.sub(r"\\\g<0>", part) for k, part in enumerate(parts))
    lines[:] = "\n\n".join(paragraphs).split("\n")


# --- formulas as MathML: no script, no network -----------------------------------------------------------------------

# \tfrac12 is a half; docutils takes both digits for the numerator, and what follows for the denominator
DIGITS = re.compile(r"(\\t?frac) *(\d)(\d)")


def visit_formula(self, node):
    block = node.tagname == "math_block"
    text = DIGITS.sub(r"\1{\2}{\3}", node.astext()).replace(r"\dots", r"\ldots")
    try:
        formula = latex2mathml.tex2mathml(text, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("a formula that MathML has no words for: %s", error, location=node)
        formula = f"<code>{html.escape(node.astext())}</code>"
    self.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


# --- pages: the blank line that ends a doctest in a fence is not shown -----------------------------------------------

FENCE = re.compile(r"^(```\w+\n.*?\n)\n+```$", re.MULTILINE | re.DOTALL)


def trim(_app, _docname, source):
    source[0] = FENCE.sub(r"\1```", source[0])


def setup(app):
    """Escape what numpydoc, at priority 500, leaves."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("source-read", trim)
    app.add_html_math_renderer("mathml", (visit_formula, None), (visit_formula, None))
    app.add_css_file("mercer.css")


# Docstrings that scikit-learn writes for set_fit_request and its like refer to labels and terms of its own manual.
suppress_warnings = ["ref.ref", "ref.term"]
