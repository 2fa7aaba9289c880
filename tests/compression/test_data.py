"""Rows of a compression: outputs, signs and units of the models, and rows taken with all that belongs to them."""

import numpy as np
import pytest

import mercer as mc
from mercer.compression.data import answers, read_data
from mercer.compression.families import class_signs, read

KERNEL = mc.Gaussian(0.5)


def _rows(seed=0, n=60):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.digitize((X**2).sum(axis=1), [0.8, 2.2])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_signs_are_those_of_the_predicted_classes_and_of_the_labels(multi_class):
    X, y = _rows()
    model = read(mc.SVC(kernel=KERNEL, multi_class=multi_class).fit(X, y))
    data = read_data(model, X, y, [X + 0.1])
    table = class_signs(model)
    np.testing.assert_array_equal(data.own, table[model.predict(X)])
    np.testing.assert_array_equal(data.signs, table[y])
    np.testing.assert_allclose(data.outputs[1], model.expansion_(X + 0.1) + model.intercept_)
    assert read_data(model, X, None, []).signs is not None
    np.testing.assert_array_equal(read_data(model, X, None, []).signs, data.own)


def test_rows_are_taken_with_their_copies_outputs_and_targets():
    X, y = _rows()
    model = read(mc.SVC(kernel=KERNEL).fit(X, y))
    data, places = read_data(model, X, y, [X + 0.1]), np.array([3, 1, 50])
    some = data.take(places)
    assert len(some) == 3
    for name in ("y", "signs", "own"):
        np.testing.assert_array_equal(getattr(some, name), getattr(data, name)[places])
    for blocks, all_blocks in ((some.blocks, data.blocks), (some.outputs, data.outputs)):
        for block, whole in zip(blocks, all_blocks, strict=True):
            np.testing.assert_array_equal(block, whole[places])
    rows = some.rows(model)
    assert rows.copies == 2
    np.testing.assert_array_equal(rows.X, np.concatenate(some.blocks))
    np.testing.assert_array_equal(rows.labels, np.concatenate([some.signs, some.signs]))


@pytest.mark.parametrize(
    "model",
    [mc.SVC(kernel=KERNEL), mc.KernelRidge(kernel=KERNEL), mc.KernelPCA(2, kernel=KERNEL)],
    ids=repr,
)
def test_outputs_are_in_units_of_targets_of_all_coordinates_or_of_the_margin(model):
    X, y = _rows()
    model = read(
        model.fit(
            X, y if hasattr(model, "classes_") or isinstance(model, mc.SVC) else X * [1.0, 5.0]
        )
    )
    F = answers(model, model.expansion_, X)[0]
    scale = read_data(model, X, None, []).rows(model).scale
    if isinstance(model, mc.SVC):
        np.testing.assert_array_equal(scale, 1.0)
    elif isinstance(model, mc.KernelPCA):
        np.testing.assert_allclose(scale, F.std())
    else:
        np.testing.assert_allclose(scale, F.std(axis=0))


def test_rows_of_another_width_or_far_from_the_model_are_refused():
    X, y = _rows()
    model = read(mc.SVC(kernel=KERNEL).fit(X, y))
    with pytest.raises(ValueError, match="X has 1 features, but the model has 2"):
        read_data(model, X[:, :1], y, [])
    with pytest.raises(ValueError, match="its expansion is 0 on X"):
        read_data(model, X + 1e4, y, [])
