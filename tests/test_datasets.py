"""Data sets: the folders that are searched, the names and files that are refused, and the smoothing of 1999."""

import numpy as np
import pytest
from scipy.signal import convolve2d

import mercer as mc
from mercer import datasets


@pytest.fixture
def folders(tmp_path, monkeypatch):
    given, cache = tmp_path / "given", tmp_path / "cache"
    given.mkdir()
    cache.mkdir()
    monkeypatch.setenv("MERCER_DATA", str(given))
    monkeypatch.setenv("MERCER_CACHE", str(cache))
    return given, cache


def test_arrays_come_back_bit_for_bit_by_key_and_by_attribute(folders):
    X = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    np.savez(folders[0] / "toy.npz", X=X)
    toy = datasets.load("toy")
    assert toy.X.dtype == np.float32
    np.testing.assert_array_equal(toy["X"], X)


def test_the_given_folder_comes_before_the_cache(folders):
    for value, folder in enumerate(folders):
        np.savez(folder / "toy.npz", X=value)
    np.savez(folders[1] / "cached.npz", X=7)
    assert datasets.load("toy").X == 0
    assert datasets.load("cached").X == 7
    assert datasets.available() == ["cached", "toy"]


def test_a_missing_set_is_an_error_that_names_both_folders_and_the_variable(folders):
    with pytest.raises(FileNotFoundError, match="MERCER_DATA") as caught:
        datasets.load("toy")
    assert all(str(folder) in str(caught.value) for folder in folders)
    with pytest.raises(FileNotFoundError, match=r"fetch\('usps'\)"):
        datasets.load("usps")


@pytest.mark.parametrize(
    "name", ["../toy", "a/b", "a\\b", "", ".hidden", "toy.npz", "toy\n", 3, None]
)
def test_a_name_cannot_leave_the_folder(name):
    with pytest.raises(ValueError, match="must be a plain name"):
        datasets.load(name)


def test_a_file_with_objects_is_refused_since_it_could_run_code(folders):
    np.savez(folders[0] / "bad.npz", X=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        datasets.load("bad")


@pytest.mark.usefixtures("folders")
def test_fetch_stores_the_canonical_split_once_and_load_finds_it(monkeypatch):
    pixels = np.linspace(-1, 1, 9298 * 4).reshape(9298, 4)
    labels = np.array([str(1 + i % 10) for i in range(9298)])
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_args, **_kwargs: (pixels, labels))
    fetched = datasets.fetch("usps")
    found = datasets.load("usps")
    assert found.X_train.shape == (7291, 4)
    assert found.y_test.tolist() == [i % 10 for i in range(7291, 9298)]
    np.testing.assert_array_equal(fetched.X_train, pixels[:7291].astype(np.float32))


def test_a_failed_store_leaves_no_half_file(folders, failing):
    with failing("fsync", OSError("disk full")), pytest.raises(OSError, match="disk full"):
        datasets._store(folders[1] / "toy.npz", X=1)
    assert list(folders[1].iterdir()) == []


def test_smoothing_is_convolution_with_a_sampled_gaussian_over_background(global_random_seed):
    image = np.random.default_rng(global_random_seed).uniform(-1, 1, size=(16, 16))
    weights = np.exp(-0.5 * (np.arange(-3, 4) / 0.75) ** 2)
    weights /= weights.sum()
    expected = convolve2d(image, np.outer(weights, weights), mode="same", fillvalue=-1.0)
    smoothed = datasets.smooth(image.reshape(1, 256).astype(np.float64))
    np.testing.assert_allclose(smoothed.reshape(16, 16), expected, atol=1e-12)


def test_smoothing_keeps_float32_turns_integers_to_floats_and_refuses_rows_that_are_not_square():
    assert datasets.smooth(np.zeros((2, 9), np.float32)).dtype == np.float32
    assert datasets.smooth(np.full((1, 9), 5, np.uint8))[0, 4] < 5
    with pytest.raises(ValueError, match=r"shape \(2, 10\)"):
        datasets.smooth(np.zeros((2, 10)))
    with pytest.raises(ValueError, match="width = 0"):
        datasets.smooth(np.zeros((2, 9)), width=0)


def test_graphs_strings_and_texts_are_read_as_objects(folders):
    edges = np.array([[1, 2], [2, 1], [5, 4], [4, 5], [3, 4], [4, 3]])
    arrays = {
        "A": edges,
        "graph_indicator": np.array([1, 1, 2, 2, 2]),
        "graph_labels": np.array([1, -1]),
    }
    np.savez(folders[0] / "plain.npz", **arrays)
    np.savez(folders[0] / "labelled.npz", node_labels=np.array([7, 8, 7, 9, 7]), **arrays)
    edge, path = [[0, 1], [1, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert [mc.graphs.Graph(edge), mc.graphs.Graph(path)] == datasets.load_objects("plain").X
    labelled = datasets.load_objects("labelled")
    assert [mc.graphs.Graph(edge, [7, 8]), mc.graphs.Graph(path, [7, 9, 7])] == labelled.X
    assert labelled.y.tolist() == [1, -1]
    texts = ["naïve", "", "tests"]
    joined = [text.encode() for text in texts]
    np.savez(
        folders[0] / "texts.npz",
        text=np.frombuffer(b"".join(joined), np.uint8),
        offsets=np.cumsum([0, *map(len, joined)]),
        y=np.arange(3),
    )
    assert texts == datasets.load_objects("texts").X
    np.savez(
        folders[0] / "letters.npz",
        X=np.frombuffer(b"acgtta", np.uint8).reshape(2, 3),
        y=np.arange(2),
    )
    assert datasets.load_objects("letters").X == ["acg", "tta"]
    np.savez(folders[0] / "rows.npz", X=np.eye(2), y=np.arange(2))
    with pytest.raises(
        ValueError, match="'rows' holds the arrays X, y, which are neither graphs nor strings"
    ):
        datasets.load_objects("rows")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "first"),
    [("tu_mutag", 188, 17), ("tu_ptc_mr", 344, 2), ("tu_enzymes", 600, 37), ("promoters", 106, 57),
     ("splice_uci", 3190, 60), ("celegans_acc_small", 2200, 82), ("reuters40_text", 40, None)],
)  # fmt: skip
def test_the_sets_of_objects_have_their_published_sizes(data, name, n, first):
    data(name)
    found = datasets.load_objects(name)
    assert len(found.X) == len(found.y) == n
    assert first in (None, len(found.X[0]))


@pytest.mark.data
def test_smoothing_gives_the_published_pixel_variance_of_usps(data):
    usps = data("usps")
    X = usps.X_train.astype(np.float64)
    # The published experiments give 0.25 for their digits.
    assert X.var(axis=0).mean() == pytest.approx(0.472, abs=2e-3)
    assert datasets.smooth(X).var(axis=0).mean() == pytest.approx(0.262, abs=2e-3)


@pytest.mark.parametrize("bad", [np.full((2, 9), np.nan), np.full((2, 9), 1j), "images", None])
def test_images_must_be_finite_real_numbers(bad):
    with pytest.raises((TypeError, ValueError), match="images"):
        datasets.smooth(bad)
    with pytest.raises(ValueError, match="background = inf must be finite"):
        datasets.smooth(np.ones((2, 9)), background=np.inf)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"width": 300.1},
            ValueError,
            "width = 300.1 must be at most 300, a hundred times the side",
        ),
        ({"width": "1"}, TypeError, "width must be a number, got '1'"),
        ({"background": np.nan}, ValueError, "background = nan must be finite"),
        ({"background": None}, TypeError, "background must be a number, got None"),
    ],
)
def test_options_of_smoothing_are_named(options, error, message):
    with pytest.raises(error, match=message):
        datasets.smooth(np.zeros((2, 9)), **options)
    assert datasets.smooth(np.zeros((2, 9)), width=300).shape == (2, 9)
