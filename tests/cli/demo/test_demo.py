import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from mercer.cli import demo
from mercer.cli.demo import denoising
from mercer.cli.failure import Failure

VOID = {"meta", "img", "source", "br", "link"}


class Page(HTMLParser):
    """Tags with attributes, tables as rows of cells; closing tags must match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


@pytest.fixture(scope="module")
def text(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    steps = []
    path = demo.write(folder, steps.append, tiny, sizes=(12, 6))
    assert path == folder / "index.html"
    assert [file.name for file in folder.iterdir()] == ["index.html"]
    assert len(steps) > 5
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_well_formed(page):
    assert page.open == []
    assert page.tags[0][0] == "html"


def test_every_picture_is_inline_and_has_a_description(page):
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    sources = [attributes["srcset"] for tag, attributes in page.tags if tag == "source"]
    assert len(images) == len(sources) == 3
    for image in images:
        assert len(image["alt"]) > 20
    for uri in sources + [image["src"] for image in images]:
        assert base64.b64decode(uri.removeprefix("data:image/png;base64,"))[:4] == b"\x89PNG"


def test_the_page_needs_nothing_from_elsewhere(page, text):
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.tags}
    assert re.search(r"https?://|url\(", text) is None


def test_the_numbers_come_from_the_run(page, tiny):
    data = denoising.load(tiny)
    row = page.cells.index("linear PCA")
    n = int(page.cells[row + 3].removeprefix("components "))
    pca = PCA(n).fit(data.train)
    denoised = np.clip(pca.inverse_transform(pca.transform(data.test_noisy)), 0.0, 1.0)
    assert float(page.cells[row + 1]) == pytest.approx(
        np.sum((denoised - data.test) ** 2) / len(data.test), abs=6e-4
    )


def test_compression_comes_first_and_what_is_next_last(text):
    headings = re.findall("<h2>(.*?)</h2>", text)
    assert headings[0] == "Train, compress, ship"
    assert headings[-1] == "Next"


def test_the_five_lines_on_the_page_run(text):
    from mercer.cli.demo import denoising

    names = {}
    exec(denoising.SNIPPET, names)
    clean = load_digits().data[1000:] / 16
    assert denoising.error(names["clean"], clean) < 0.4 * denoising.error(names["noisy"], clean)
    assert "load_digits().data / 16" in text


def test_a_file_in_place_of_the_folder_is_refused_before_any_work(tmp_path, tiny):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        Failure, match=r"cannot write .*index.html: File exists; name another folder"
    ):
        demo.write(tmp_path / "file", pytest.fail, tiny)
