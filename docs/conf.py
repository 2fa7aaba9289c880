"""Configuration of Sphinx. The page of public names is generated from the modules."""

import html
import importlib
import importlib.util
import inspect
import math
import os
import re
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
# sphinx-gallery imports gallery_style by name
sys.path.insert(0, str(Path(__file__).parent))

import measured_tables
from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

import mercer

HERE = Path(__file__).parent

# --- the page of names: groups of modules, what most users look for first --------------------------------------------

GROUPS = {
    "Estimators": ("estimators", "solvers"),
    "Compressed models": ("compression",),
    "Model files": ("formats",),
    "Kernels": ("kernels",),
    "Kernels on objects": (
        "kernels.strings",
        "kernels.sets",
        "kernels.graphs",
        "kernels.sequences",
    ),
    "Matrices and vectors": ("gram", "expansion"),
    "Factorisations, least squares, projections": (
        "factor",
        "least_squares",
        "projection",
        "landmarks",
    ),
    "Two samples and two variables": ("permutation_tests",),
    "Pre-images": ("preimages",),
    "Reduced sets": ("reduction",),
    "Coordinates and geometry": ("maps", "manifold"),
    "Invariance": ("invariance",),
    "Is it a kernel?": ("definiteness", "regularisation"),
    "Capacity": ("capacity",),
    "Learned kernels": ("learning",),
    "Progress": ("progress_bar",),
    "Testing": ("testing",),
    "Pictures": ("plot",),
    "Data sets": ("datasets",),
}

# Modules whose names are public too.
OPEN = {
    "kernels",
    "permutation_tests",
    "preimages",
    "reduction",
    "compression",
    "definiteness",
    "formats",
    "testing",
    "plot",
    "datasets",
    "capacity",
    "invariance",
    "learning",
    "manifold",
    "maps",
    "regularisation",
}
OPEN |= {*GROUPS["Kernels on objects"]}


def public_names(module):
    """Return the public names defined in mercer.<module>, as a user types them after ``mercer.``."""
    found = importlib.import_module(f"mercer.{module}")
    short = [name for name in mercer.__all__ if _is_defined_in(getattr(mercer, name), found)]
    own = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    long = [
        name
        for name in own
        if module in OPEN and name not in short and _is_defined_in(getattr(found, name), found)
    ]
    # users find mercer.kernels.strings as mercer.strings
    prefix = module.removeprefix("kernels.")
    return sorted([*short, *(f"{prefix}.{name}" for name in long)], key=_classes_first)


def _is_defined_in(thing, module):
    defined_in = f"{getattr(thing, '__module__', '')}."
    return (inspect.isclass(thing) or inspect.isroutine(thing)) and defined_in.startswith(
        f"{module.__name__}."
    )


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
    """Return the names of each group that is not empty; the last group has the remaining names."""
    found = {
        title: [
            name
            for module in modules
            if importlib.util.find_spec(f"mercer.{module}")
            for name in public_names(module)
        ]
        for title, modules in GROUPS.items()
    }
    listed = {name for names in found.values() for name in names}
    rest = [
        name
        for name in mercer.__all__
        if name not in listed and not inspect.ismodule(getattr(mercer, name))
    ]
    return {title: names for title, names in {**found, "More": rest}.items() if names}


def write_tables(folder):
    """Write the tables of all groups as Markdown, delete pages of removed names, and return the path of the tables."""
    found = groups()
    path = folder / "names.md"
    text = "\n".join(
        TABLE.format(title=title, rows="\n   ".join(names)) for title, names in found.items()
    )
    path.write_text(text, encoding="utf-8")
    pages = {f"mercer.{name}.rst" for names in found.values() for name in names}
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
    "sphinx.ext.viewcode",
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
    "within_subsection_order": "gallery_style.in_order",
    "reset_modules": ("gallery_style.apply",),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("mercer",),
    # twice the pixels for screens that have them
    "image_srcset": ["2x"],
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
    page: []
    for page in (
        "index",
        "coming_from",
        "benchmarks",
        "reproduction",
        "trust",
        "theory",
        "explore",
        "design",
        "extending",
        "troubleshooting",
        "api/index",
        "gallery/*",
    )
}

# --- reStructuredText reads |x| as a substitution and eigenvalues_ as a link; docstrings mean neither ----------------

CODE = re.compile(r"(``.*?``|`.*?`)")
MARKUP = re.compile(r"\||(?<=\w)_(?!\w)")


def escape(_app, _what, _name, _obj, _options, lines):
    """Escape | and trailing _ in prose, not in code, examples and displayed formulas."""
    paragraphs, formula = "\n".join(lines).split("\n\n"), math.inf
    for i, text in enumerate(paragraphs):
        indent = len(text) - len(text.lstrip())
        if ".. math::" in text:
            formula = indent
        elif indent <= formula:
            formula = math.inf
            if ">>> " not in text:
                parts = CODE.split(text)
                paragraphs[i] = "".join(
                    part if k % 2 else MARKUP.sub(r"\\\g<0>", part) for k, part in enumerate(parts)
                )
    lines[:] = "\n\n".join(paragraphs).split("\n")


# --- Sphinx would show the arguments of the metaclass, which refuses names of scikit-learn ---------------------------


def signature(_app, what, _name, thing, _options, arguments, _result):
    """Return the signature of a class without annotations; None keeps that of Sphinx."""
    if what != "class" or not arguments:
        return None
    found = inspect.signature(thing)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty)), None


# --- formulas as MathML, which needs no script and no network --------------------------------------------------------

# \tfrac12 is a half; docutils reads 12 as the numerator
DIGITS = re.compile(r"(\\t?frac) *(\d)(\d)")
# docutils knows \Bigl and \Bigr, but not \Big
SIZES = re.compile(r"\\[bB]igg?(?![a-zA-Z])")


def visit_formula(self, node):
    block = node.tagname == "math_block"
    text = SIZES.sub("", DIGITS.sub(r"\1{\2}{\3}", node.astext())).replace(r"\dots", r"\ldots")
    try:
        formula = latex2mathml.tex2mathml(text, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning(
            "cannot convert a formula to MathML: %s", error, location=node
        )
        formula = f"<code>{html.escape(node.astext())}</code>"
    self.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


# --- pages do not show the blank line at the end of a doctest; measured results stand in JSON ------------------------

FENCE = re.compile(r"^(```\w+\n.*?\n)\n+```$", re.MULTILINE | re.DOTALL)


def prepare(_app, _docname, source):
    source[0] = measured_tables.fill(FENCE.sub(r"\1```", source[0]))


def setup(app):
    """Connect the functions above; `escape` runs after numpydoc (priority 500)."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("autodoc-process-signature", signature)
    app.connect("source-read", prepare)
    app.add_html_math_renderer("mathml", (visit_formula, None), (visit_formula, None))
    app.add_css_file("mercer.css")


# Docstrings of scikit-learn, such as that of set_fit_request, refer to labels of the scikit-learn manual.
suppress_warnings = ["ref.ref", "ref.term"]
