"""Sums and products have the values of their parts, each of which gets the points of the user; copies are made once."""

import itertools

import numpy as np
import pandas as pd
import pytest
from tests.reference.inside import points_of

import mercer as mc
from mercer.kernels.algebra import common_form, common_table

LENGTHS = mc.FeatureMap(lambda points: np.array([[float(len(point))] for point in points]))
OVERLAP, MIN_MAX, SPECTRUM = mc.sets.Overlap(), mc.sets.MinMax(), mc.strings.Spectrum(1)
WIDTHS = mc.VariableWidthGaussian(0.5, 1)
ROWS = np.array([[1.0], [2.0], [4.0]])
LISTS = [["a", "b"], ["b"], ["c", "a", "b"]]
GRAPHS = [mc.graphs.Graph([[0, 1], [1, 0]]), mc.graphs.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])]
SERIES = [np.ones((3, 1)), np.zeros((4, 1)), np.array([[1], [2]])]
TABLE = pd.DataFrame({"tags": LISTS, "age": [1.0, 2.0, 5.0]})
FAMILIES = {
    "rows": (
        ROWS,
        [
            WIDTHS,
            mc.Linear(),
            mc.Periodic(np.array([3.0])),
            mc.FunctionKernel(lambda X, Z: X @ Z.T),
        ],
    ),
    "lists": (LISTS, [LENGTHS, OVERLAP, MIN_MAX, SPECTRUM, mc.Normalized(MIN_MAX + 1.0)]),
    "repeated": ([["a", "a", "b"], ["b"]], [LENGTHS, MIN_MAX, SPECTRUM]),
    "graphs": (GRAPHS, [LENGTHS, mc.graphs.WeisfeilerLehman(1), mc.graphs.ShortestPath()]),
    "series": (
        SERIES,
        [LENGTHS, mc.sequences.GlobalAlignment(1.0), mc.sets.MeanMap(mc.Gaussian(1.0))],
    ),
    "tables": (
        TABLE,
        [
            *(mc.on_columns(each, "tags") for each in (LENGTHS, MIN_MAX, SPECTRUM)),
            mc.on_columns(mc.Linear(), "age"),
        ],
    ),
}
PAIRS = [
    (points, left, right)
    for points, parts in FAMILIES.values()
    for left, right in itertools.product(parts, repeat=2)
]


@pytest.mark.parametrize(("points", "left", "right"), PAIRS, ids=range(len(PAIRS)))
def test_sums_and_products_have_the_values_of_their_parts(points, left, right):
    K, L = left(points), right(points)
    for kernel, expected in (
        (left + right, K + L),
        (left * (right + 2.0), K * (L + 2)),
        (2 * left + right, 2 * K + L),
    ):
        np.testing.assert_allclose(kernel(points), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(points), np.diag(expected), rtol=1e-12)
        np.testing.assert_allclose(
            mc.Gram(kernel, points) @ np.ones(len(K)), expected.sum(axis=1), rtol=1e-12
        )
        np.testing.assert_allclose(kernel(points, points[:2]), expected[:, :2], rtol=1e-12)


def test_the_factor_of_a_conformal_kernel_gets_the_points_of_the_user():
    c = ROWS[:, 0]
    for kernel in (
        mc.Rescaled(WIDTHS, lambda X: X.sum(axis=1)),
        mc.Rescaled(WIDTHS, lambda X: X[:, -1]),
    ):
        np.testing.assert_allclose(kernel(ROWS), np.outer(c, c) * WIDTHS(ROWS), rtol=1e-14)
    points = [["a", "a", "b"], ["b"]]
    kernel = mc.Rescaled(MIN_MAX, lambda lists: np.array([len(each) for each in lists]))
    np.testing.assert_allclose(
        kernel(points), np.outer([3, 1], [3, 1]) * MIN_MAX(points), rtol=1e-14
    )


def test_one_form_of_all_parts_is_kept_and_other_points_are_copied_once():
    agreed = (OVERLAP + mc.sets.Tanimoto() + 1.0).admit(LISTS, "X")
    assert agreed == [frozenset(each) for each in LISTS]
    kernel = OVERLAP + SPECTRUM
    kept = kernel.admit(LISTS, "X")
    assert kept == LISTS
    assert kept[0] is not LISTS[0]
    for same in (kept, points_of(kept).take(np.array([2, 0])).container):
        assert kernel.admit(same, "X") is same
    table = (mc.on_columns(OVERLAP, "tags") + mc.on_columns(mc.Linear(), "age")).admit(TABLE, "X")
    assert table.columns[0] == agreed
    both = mc.on_columns(kernel, "tags") + mc.on_columns(LENGTHS, "tags")
    assert common_table(both, both.admit(TABLE, "X"), "X").columns[0] == LISTS


def test_rows_are_not_copied():
    assert common_form(ROWS, [np.eye(3), ROWS]) is ROWS
    assert common_form(ROWS, [ROWS, ROWS]) is ROWS


def test_models_of_points_in_two_forms_do_not_depend_on_later_changes(tmp_path):
    points, asked = [list(each) for each in LISTS * 4], LISTS
    model = mc.SVC(kernel=OVERLAP + SPECTRUM).fit(points, [0, 1, 1] * 4)
    before = model.decision_function(asked)
    for each in points:
        each[:] = ["z"]
    mc.save(model, tmp_path / "model")
    for same in (model, mc.load(tmp_path / "model")):
        np.testing.assert_allclose(same.decision_function(asked), before, rtol=1e-12)


def test_features_of_a_block_serve_its_parts():
    calls = []
    counted = mc.FeatureMap(lambda points: calls.append(len(points)) or np.ones((len(points), 1)))
    kernel = counted + MIN_MAX
    points = points_of(kernel.admit(LISTS, "X"))
    for rows in (slice(0, 2), slice(1, 3)):
        kernel.diagonal(points.take(rows))
    assert calls == [3]
