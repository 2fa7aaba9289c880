import base64
import io
import re

import numpy as np
import pytest
from matplotlib.image import imread

from mercer.cli import pictures
from mercer.plot import ImageGridDisplay


@pytest.fixture
def display():
    return ImageGridDisplay(np.random.default_rng(0).random((1, 2, 3, 3)), titles=["row"])


def _images(display, size):
    return [
        imread(io.BytesIO(base64.b64decode(each.partition(",")[2])))
        for each in pictures.inline(display.plot, size)
    ]


def test_a_picture_has_the_size_asked_for_on_a_transparent_ground(display):
    for image in _images(display, (2.0, 1.0)):
        assert image.shape == (144, 288, 4)
        assert image[0, 0, 3] == 0


def test_letters_are_dark_on_light_pages_and_light_on_dark_ones(display):
    light, dark = (image[:25] for image in _images(display, (2.0, 1.0)))
    letters = (light[:, :, 3] > 0.9) & (dark[:, :, 3] > 0.9)
    assert light[letters, :3].mean() < 0.3 < 0.7 < dark[letters, :3].mean()


def test_a_figure_has_both_pictures_and_a_description(display):
    text = pictures.figure(display.plot, (2.0, 1.0), 'two "images"', "<b>caption</b>")
    assert len(re.findall('data:image/png;base64,([^"]+)', text)) == 2
    assert all(
        base64.b64decode(code)[:4] == b"\x89PNG" for code in re.findall('base64,([^"]+)', text)
    )
    assert 'alt="two &quot;images&quot;"' in text
    assert "<figcaption><b>caption</b></figcaption>" in text
