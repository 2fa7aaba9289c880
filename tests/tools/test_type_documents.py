"""The type checker of documents keeps lines, and finds errors in blocks with and without prompts."""

import pytest
from tools.type_documents import alone, check, program

DOCUMENT = """Text.

```python
>>> import mercer as mc
>>> def twice(x: int) -> int:
...     return 2 * x
>>> twice(1)
2

```

```python
value = twice("one")
kernel = 0.5 * mc.Gaussian(0.2) + mc.Linear()
```
"""


def test_the_program_of_a_document_has_its_code_on_its_lines():
    lines, code = DOCUMENT.splitlines(), program(DOCUMENT).splitlines()
    kept = {i: line for i, line in enumerate(code) if line}
    assert kept == {
        i: lines[i].removeprefix(">>> ").removeprefix("... ") for i in (3, 4, 5, 6, 12, 13)
    }


def test_other_libraries_are_replaced_on_their_lines():
    code = (
        "import numpy as np, mercer as mc\nfrom sklearn.svm import (\n    SVC,\n)\n"
        "from mercer import capacity\nx = 1"
    )
    lines = alone(code).splitlines()
    assert lines[0].endswith("; import mercer as mc")
    assert lines[2:] == ["", "", "from mercer import capacity", "x = 1"]
    assert [line.split(" = ")[0] for line in lines[:2]] == ["np", "SVC"]


@pytest.mark.slow
def test_attributes_of_mercer_without_types_are_found_and_those_of_scikit_learn_have_types(
    tmp_path,
):
    pytest.importorskip("pyright")
    path = tmp_path / "page.md"
    code = """import mercer as mc
from sklearn.svm import SVC
X, y = [[0.0], [1.0]], [0, 1]
SVC().fit(X, y).score(X, y)
mc.SVC().set_params(C=2.0).fit(X, y).score(X, y)
mc.KernelPCA().set_output(transform="pandas").fit_transform(X)
mc.SVC().no_attribute
"""
    path.write_text(f"```python\n{code}```\n", encoding="utf-8")
    (found,) = check([path], strict=True)
    assert f"{path}:8:" in found
    assert "no_attribute" in found


@pytest.mark.slow
def test_a_wrong_argument_is_found_on_its_line_and_sums_of_kernels_are_right(tmp_path):
    pytest.importorskip("pyright")
    path = tmp_path / "page.md"
    path.write_text(DOCUMENT, encoding="utf-8")
    (found,) = check([path])
    assert f"{path}:13:" in found
    assert "Literal['one']" in found
