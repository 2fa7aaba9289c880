"""The source of an exported model: its head, its names, its comments and its labels."""

import re

import numpy as np
import pytest
from tests.reference.exported import X, Y, fitted

import mercer as mc
from mercer.formats import to_c


@pytest.fixture
def source(tmp_path):
    """Return a function that gives the text that `to_c` writes."""

    def text(model, *options, **named):
        to_c(model, tmp_path / "written.c", *options, **named)
        return (tmp_path / "written.c").read_text()

    return text


def test_the_head_states_the_functions_and_the_file_defines_no_other_names(source):
    text = source(fitted("three classes by name"), "float32", "iris")
    head = text[: text.index("*/")]
    assert "void iris_scores(const float *x, float *out);" in head
    assert "4 numbers" in head
    assert "3 scores" in head
    assert "extern const char *const iris_labels[3];" in head
    body = text[text.index("*/") :]
    assert all(
        name.startswith("iris_")
        for name in re.findall(r"^[a-z][a-z *]*?(\w+)[\[(]", body, re.MULTILINE)
    )
    assert not re.search(r"\d\.\d+(e[+-]\d+)?[^f\d.e]", body), "a constant of type double"
    assert "alloc" not in body


def test_a_title_cannot_end_its_comment(source):
    model = mc.SVR(kernel="linear").fit(X, Y)
    model.__class__ = type("*/ int x; /*", (mc.SVR,), {})
    assert source(model).count("*/") == 1


def test_labels_are_written_in_printable_characters(source):
    text = source(
        mc.SVC(kernel="linear").fit(X[Y < 2], np.array([" ~", "\x1f\x7f\u00e9\n"])[Y[Y < 2]])
    )
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert '" ~",' in text
    assert '"\\037\\177\\303\\251\\012",' in text


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_every_name_starts_with_the_prefix(dtype, source):
    text = source(fitted("mapped"), dtype, "iris", X=X)
    code = text[text.index("*/") :]
    names = re.findall(
        r"^(?:static |extern |const |iris_table )*[a-z0-9_]+ \*?(\w+)[\[(]", code, re.MULTILINE
    )
    assert len(names) > 5
    assert all(name.startswith("iris_") for name in names)
