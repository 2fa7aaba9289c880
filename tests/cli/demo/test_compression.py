import numpy as np
import pytest

import mercer as mc
from mercer.cli.demo import compression, denoising


@pytest.fixture(scope="module")
def outcome(tiny):
    steps = []
    found = compression.run(tiny, steps.append, sizes=(5, 15))
    assert steps == ["compressing to 15 vectors", "compressing to 5 vectors"]
    return found


def test_rows_go_from_the_peer_to_the_smallest(outcome):
    assert [row.name for row in outcome.rows] == [
        "scikit-learn",
        "Mercer, all vectors",
        "compressed",
        "compressed",
    ]
    assert [row.vectors for row in outcome.rows[2:]] == [15, 5]
    sizes = [row.size for row in outcome.rows[1:]]
    assert sizes == sorted(sizes, reverse=True)


def test_accuracy_is_that_of_the_predictions(outcome, tiny):
    train, test, _, labels = denoising.split(tiny)
    assert (outcome.n_train, outcome.n_test) == (len(train), len(test))
    for row in outcome.rows:
        assert row.accuracy == pytest.approx(np.mean(row.model.predict(test) == labels))
    assert outcome.rows[0].accuracy == outcome.rows[1].accuracy > 0.8


def test_the_chapter_has_a_line_for_each_model_and_two_pictures(outcome):
    heading, text = compression.chapter(outcome)
    assert heading == "Train, compress, ship"
    full, n = outcome.rows[1], outcome.n_test
    error = 100 * (1 - full.accuracy)
    assert f"<td>{error:.1f} ± {np.sqrt(error * (100 - error) / n):.1f}</td>" in text
    assert text.count("<td>compressed</td>") == 2
    assert text.count("<img ") == 2
    assert f"has {outcome.rows[1].vectors} support vectors" in text
    # images of the largest model of at most 20 vectors
    assert "The 15 constructed vectors" in text


def test_images_are_the_vectors_sorted_by_the_digit_with_the_largest_coefficients(outcome):
    model = outcome.rows[2].model
    images = compression._images(model).images.reshape(-1, 64)[:15]
    psi = model.expansion_
    places = [int(np.flatnonzero((psi.points == image).all(axis=1))[0]) for image in images]
    assert sorted(places) == list(range(15))
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    heaviest = [
        np.argmax(
            [
                sum(abs(psi.coef[place, k]) for k, pair in enumerate(pairs) if c in pair)
                for c in range(10)
            ]
        )
        for place in places
    ]
    assert heaviest == sorted(heaviest)


def test_the_lines_of_code_on_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compression.SNIPPET, {})
    assert "20 after" in capsys.readouterr().out
    assert mc.load("digits.mercer").expansion_.shape[0] == 20
    assert "#include <math.h>" in (tmp_path / "digits.c").read_text()
