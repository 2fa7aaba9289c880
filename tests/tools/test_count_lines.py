"""Lines of code, comments and docstrings, counted by tokens."""

from tools.count_lines import count, public

import mercer

SOURCE = '''\
"""First line.

Third line.
"""

# A comment.
import os  # a comment beside code counts as code


class Thing:
    """A thing."""

    def name(self):
        """Return its name."""
        # another comment
        return (
            "two "
            "lines"
        )
'''


def test_code_comments_docstrings_and_functions_are_told_apart(tmp_path):
    path = tmp_path / "thing.py"
    path.write_text(SOURCE, encoding="utf-8")
    counted = count(path)
    assert counted.code == 7
    assert counted.comments == 2
    assert counted.docstrings == {"": 4, "Thing": 1, "Thing.name": 1}
    assert counted.functions == {"Thing.name": 5}


def test_public_names_are_those_of_the_library_and_their_methods():
    found = public()
    assert (mercer.Gaussian.__module__, "Gaussian") in found
    assert (mercer.svd.__module__, "svd") in found
    assert (mercer.Expansion.__module__, "Expansion.norms") in found
    assert not {name for _, name in found if name.rpartition(".")[2].startswith("_")}
