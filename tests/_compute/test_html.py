"""HTML of objects: well-formed, escaped, and pictures hold the numbers."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import mercer as mc
from mercer.kernels.base import Kernel

X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.sign(X[:, 0] * X[:, 1])
PSI = mc.features(mc.Gaussian(0.5), X) @ np.ones((40, 1))
OBJECTS = {
    "Kernel": 0.5 * mc.Gaussian("scale") + mc.Linear(),
    "Gram": mc.Gram(mc.Gaussian(0.5), X),
    "Gram of texts": mc.Gram(mc.strings.Spectrum(2), ["<b>", "abc"]),
    "Expansion": PSI,
    "Certificate": mc.SVC().fit(X, Y).certificate_,
    "Residuals": mc.certify(mc.KernelRidge().fit(X, Y), X, Y),
    "PreImage": mc.preimage(PSI),
    "Reduction": mc.reduce(PSI, 3),
    "CompressionReport": mc.compress(mc.SVC().fit(X, Y), X, Y, n_vectors=4, random_state=0).report_,
}


class Reader(HTMLParser):
    """Collects the texts, and fails for tags that are not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", OBJECTS)
def test_the_table_of_an_object_is_well_formed_and_says_what_it_is(name):
    texts = Reader(OBJECTS[name]._repr_html_()).texts
    assert len(texts) > 4
    assert not any("<" in text for text in texts if name != "Gram of texts")


def test_the_numbers_of_a_table_are_those_of_the_object():
    certificate, found = OBJECTS["Certificate"], OBJECTS["PreImage"]
    assert f"{certificate.gap:.6g}" in Reader(certificate._repr_html_()).texts
    assert f"{found.sqdist.max():.4g}" in " ".join(Reader(found._repr_html_()).texts)


def test_text_of_users_is_escaped():
    class Odd(Kernel):
        def __repr__(self):
            return "<script>alert(1)</script>" + "<q>" * 200

        def evaluate(self, tile):
            return tile.products

        def diagonal(self, points):
            return np.sum(points.container**2, axis=1)

    pages = [
        one._repr_html_() for one in (Odd(), mc.Gram(Odd(), X), mc.Expansion(Odd(), X, np.ones(40)))
    ]
    for page in pages:
        assert "<script" not in page
        assert "<q" not in page
    # cut to 200 characters: the 25 of the script, 57 others and one that is cut
    assert pages[-1].count("&lt;") == 2 + 57 + 1


def test_a_heat_map_has_the_strength_and_the_sign_of_each_value():
    K = np.array([[2.0, -1.0], [0.0, 1.0]])
    picture = mc.Gram(mc.Linear(), np.eye(2), K.T)._repr_html_()
    cells = re.findall(r'x="(\d+)" y="(\d+)".*?fill="(#\w+)" fill-opacity="([\d.]+)"', picture)
    assert [(x, y, strength) for x, y, _, strength in cells] == [
        ("0", "0", "1"),
        ("5", "0", "0.5"),
        ("5", "5", "0.5"),
    ]
    assert cells[0][2] == cells[2][2] != cells[1][2]


def test_a_curve_goes_through_its_points():
    run = replace(
        OBJECTS["Reduction"], sizes=np.array([1, 3, 5]), history=np.array([4.0, 1.0, 0.0])
    )
    found = re.search(r'points="([^"]*)"', run._repr_html_())[1]
    assert found == "0.0,0.0 75.0,37.5 150.0,50.0"


def test_the_table_of_a_gram_computes_at_most_900_kernel_values():
    seen = []

    def products(A, B):
        seen.append(len(A) * len(B))
        return A @ B.T

    gram = mc.Gram(mc.FunctionKernel(products), np.random.default_rng(0).normal(size=(100_000, 1)))
    seen.clear()
    assert "<svg" in gram._repr_html_()
    assert sum(seen) == 900
