"""The type checker of documents keeps lines, and finds errors in blocks with and without prompts."""

import pytest
from tools.type_documents import check, program

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
    assert kept == {i: lines[i].removeprefix(">>> ").removeprefix("... ") for i in (3, 4, 5, 6, 12, 13)}


@pytest.mark.slow
def test_a_wrong_argument_is_found_on_its_line_and_sums_of_kernels_are_right(tmp_path):
    pytest.importorskip("pyright")
    path = tmp_path / "page.md"
    path.write_text(DOCUMENT, encoding="utf-8")
    (found,) = check([path])
    assert f"{path}:13:" in found
    assert "Literal['one']" in found
