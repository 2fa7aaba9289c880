import numpy as np
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import ImageGridDisplay


@pytest.fixture
def images():
    return np.random.default_rng(0).normal(size=(2, 3, 4, 5))


def test_a_row_is_one_strip_with_masked_gaps(images):
    display = ImageGridDisplay(images).plot(ax=Figure().subplots())
    strip = display.strips_[1].get_array()
    assert strip.shape == (4, 3 * 5 + 2)
    assert np.array_equal(strip[:, 6:11], images[1, 1])
    assert strip.mask[:, [5, 11]].all()


def test_unsigned_rows_share_the_scale_of_the_first(images):
    display = ImageGridDisplay(images).plot(ax=Figure().subplots())
    assert {strip.get_clim() for strip in display.strips_} == {(images[0].min(), images[0].max())}


def test_signed_images_reach_one_and_zero_is_the_middle(images):
    images[0, 0] = 0.0
    display = ImageGridDisplay(images, signed=True).plot(ax=Figure().subplots())
    strip = display.strips_[0].get_array()
    assert display.strips_[0].get_clim() == (-1, 1)
    assert np.abs(strip[:, 6:11]).max() == 1.0
    assert not strip[:, :5].any()


def test_the_estimator_denoises_what_is_drawn():
    X = np.random.default_rng(0).random((30, 9))
    pca = mc.KernelPCA(5, kernel=mc.Gaussian(0.5)).fit(X)
    display = ImageGridDisplay.from_estimator(
        pca, X + 0.1, clean=X, n_images=4, ax=Figure().subplots()
    )
    assert display.titles == ["clean", "noisy", "denoised"]
    assert np.allclose(display.images[2].reshape(4, 9), pca.denoise(X[:4] + 0.1))


@pytest.mark.parametrize(
    ("shape", "message"), [(None, "not a square number"), ((2, 2), "has 4 pixels")]
)
def test_rows_of_another_shape_are_refused(shape, message):
    X = np.random.default_rng(0).random((10, 6))
    pca = mc.KernelPCA(2, kernel=mc.Gaussian(0.5)).fit(X)
    with pytest.raises(ValueError, match=message):
        ImageGridDisplay.from_estimator(pca, X, shape=shape)


def test_points_of_an_expansion_fill_rows_and_the_rest_of_the_last_row_is_empty():
    X = np.random.default_rng(0).random((5, 6))
    phi = mc.features(mc.Gaussian(0.5), X)
    display = ImageGridDisplay.from_expansion(
        phi, shape=(2, 3), n_columns=3, order=[4, 3, 2, 1, 0], ax=Figure().subplots()
    )
    assert display.images.shape == (2, 3, 2, 3)
    assert np.array_equal(display.images[0, 0].ravel(), X[4])
    assert np.array_equal(display.images[1, 1].ravel(), X[0])
    assert display.strips_[1].get_array().mask[:, 8:].all()
    with pytest.raises(ValueError, match="not a square number"):
        ImageGridDisplay.from_expansion(phi)


def test_titles_are_a_sequence_of_one_text_for_each_row(images):
    display = ImageGridDisplay(images, titles=np.array(["one", "two"])).plot(Figure().subplots(2))
    assert [axes.get_title(loc="left") for axes in display.axes_] == ["one", "two"]
    with pytest.raises(ValueError, match="titles has 1 entries, but there are 2 rows"):
        ImageGridDisplay(images, titles=["one"]).plot(Figure().subplots(2))


def test_clean_images_of_another_number_are_refused():
    X = np.random.default_rng(0).random((12, 9))
    pca = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(X)
    with pytest.raises(
        ValueError, match=r"clean has the shape \(3, 9\) of images to draw, and X has \(4, 9\)"
    ):
        ImageGridDisplay.from_estimator(pca, X[:4], clean=X[:3])


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_images_in_a_table_are_denoised_as_rows_of_their_model():
    X = pytest.importorskip("pandas").DataFrame(
        np.random.default_rng(0).random((12, 9)), columns=list("abcdefghi")
    )
    pca = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(X)
    display = ImageGridDisplay.from_estimator(pca, X, n_images=3)
    np.testing.assert_array_equal(display.images[1].reshape(3, 9), pca.denoise(X[:3]))


def test_images_of_vectors_of_several_widths_have_no_mark():
    X = np.random.default_rng(0).random((12, 9))
    model = mc.KernelRidge(1.0, kernel=mc.Gaussian(0.5)).fit(X, X[:, 0])
    small = mc.compress(model, X, X[:, 0], n_vectors=4, method=mc.reduction.VariableWidths())
    images = ImageGridDisplay.from_expansion(small.expansion_).images
    np.testing.assert_array_equal(images.reshape(-1, 9)[:4], small.expansion_.points[:, :9])
