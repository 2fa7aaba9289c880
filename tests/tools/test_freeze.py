"""Records of fits: which numbers are kept, which changes fail, and which are information."""

import numpy as np
import pytest
from tools.freeze import Comparison, compare, load, numbers, save, solution
from tools.freeze_cases import COARSE, EQUAL, LOOSE, SOLVED, Case, cases, counted, data, fine

import mercer as mc


def solved(model, X, y=None, **options):
    """Return the record of a fit."""
    case = Case("name", model, X, y, X[:20] + 0.01, **options)
    return solution(case.fit(), case) | {"kind": np.array(case.kind)}


def changed(before, **arrays):
    """Return a comparison of a record with one that has some other arrays."""
    return Comparison(before, before | arrays)


@pytest.fixture(scope="module")
def classifier():
    X, y, *_ = data()
    return solved(fine(mc.SVC, 3.0, kernel=mc.Laplacian(1.0)), X, y)


@pytest.fixture(scope="module")
def one_class():
    return solved(fine(mc.OneClassSVM, 0.2, kernel=mc.Laplacian(1.0)), data()[0])


def test_more_than_two_hundred_fits_have_names_of_their_own():
    names = [case.name for case in cases()]
    assert len(names) == len(set(names)) > 200
    assert not [name for name in names if "|" in name]


def test_a_solution_has_coefficients_by_training_row_certificates_steps_and_outputs(classifier):
    assert classifier["coefficients"].shape[1] == 1
    assert len(classifier["coefficients"]) <= 160
    assert np.count_nonzero(classifier["coefficients"]) == classifier["n_support"]
    assert classifier["certified"][2] < 1e-9
    assert classifier["decision_function"].shape == classifier["predict"].shape == (20,)
    assert classifier["n_iter"] > 0
    assert classifier["smallest_eigenvalue"] > 0


def test_kernel_values_are_counted():
    X, y, *_ = data()
    counts = []
    found = solved(fine(mc.SVC, kernel=counted(counts)), X, y, counter=counts)
    assert found["kernel_values"] == sum(counts) >= 160


def test_outputs_that_need_values_of_new_points_are_left_out_for_a_given_matrix():
    X, *_ = data()
    # k(x, x) of new points is not known: that of the training points is not constant
    kernel = mc.Polynomial(2, 0.5, 1.0)
    found = numbers(mc.KernelPCA(2, kernel="precomputed").fit(kernel(X)), kernel(X[:3] + 0.1, X))
    assert found["transform"].shape == (3, 2)
    assert "score_samples" not in found


def test_records_are_read_as_they_were_written(tmp_path, classifier):
    save(tmp_path / "a.npz", {"SVC-0.5": classifier})
    found = load(tmp_path / "a.npz")["SVC-0.5"]
    assert found.keys() == classifier.keys()
    assert all(np.array_equal(found[name], value) for name, value in classifier.items())
    assert changed(classifier, **found).failures == []


def test_other_steps_to_the_same_answer_are_information(classifier):
    found = changed(
        classifier,
        n_iter=classifier["n_iter"] + 5,
        coefficients=classifier["coefficients"] * (1 + 1e-9),
    )
    assert found.failures == []
    assert len(found.notes) == 1
    assert found.notes[0].startswith("n_iter")


def test_a_solution_by_another_route_is_the_same():
    X, y, *_ = data()
    kernel = mc.Gaussian(2.0)
    before = solved(fine(mc.SVC, 3.0, kernel=kernel), X, y)
    after = solved(fine(mc.SVC, 3.0, kernel=lambda A, B: kernel(A, B), tol=1e-10), X, y)
    assert Comparison(before, after).failures == []


def test_another_regularisation_parameter_gives_another_solution(classifier):
    X, y, *_ = data()
    after = solved(fine(mc.SVC, 3.0001, kernel=mc.Laplacian(1.0)), X, y)
    found = {
        failure.split(":")[0].split(" moved")[0]
        for failure in Comparison(classifier, after).failures
    }
    assert {"certified", "coefficients", "decision_function"} <= found


@pytest.mark.parametrize(
    ("place", "change", "fails"),
    [
        (2, 1e-10, False),
        (2, 1e-8, True),
        (0, 1e-10, False),
        (0, 1e-6, True),
        (1, -1e-10, False),
        (1, -1e-6, True),
    ],
)
def test_a_certificate_must_not_get_worse(classifier, place, change, fails):
    certified = classifier["certified"].copy()
    certified[place] += change * (certified[0] if place < 2 else 1)
    assert bool(changed(classifier, certified=certified).failures) is fails


def test_objectives_that_cannot_hold_the_same_optimum_fail(classifier):
    certified = classifier["certified"] * [1 + 1e-7, 1 + 1e-7, 1]
    assert "objectives" in changed(classifier, certified=certified).failures[0]


def test_coefficients_are_compared_where_they_are_unique(classifier):
    other = classifier["coefficients"] + 1e-4
    assert changed(classifier, coefficients=other).failures
    singular = classifier | {"smallest_eigenvalue": np.array(-1e-15)}
    assert changed(singular, coefficients=other).failures == []


def test_rows_that_are_support_vectors_in_one_record_only_count_as_zero_in_the_other(classifier):
    for last, fails in ((1e-9, False), (1e-3, True)):
        longer = np.vstack([classifier["coefficients"], [[last]]])
        assert bool(changed(classifier, coefficients=longer).failures) is fails


def test_decision_values_may_move_with_the_violation(classifier):
    other = classifier["decision_function"] + 1e-4
    assert changed(classifier, decision_function=other).failures
    coarse = classifier | {"certified": classifier["certified"] + [0, 0, 1e-6]}
    assert changed(coarse, decision_function=other).failures == []


def test_labels_may_change_on_the_boundary_alone(classifier):
    labels = classifier["predict"].copy()
    labels[3] = 1 - labels[3]
    assert changed(classifier, predict=labels).failures == ["predict: values differ"]
    values = classifier["decision_function"].copy()
    values[3] = 1e-8
    found = changed(classifier | {"decision_function": values}, predict=labels)
    assert found.failures == []
    assert found.notes == ["1 labels on the boundary changed"]


@pytest.mark.parametrize("share", [3e-4, -3e-4])
def test_offsets_of_one_class_models_move_within_their_margin(one_class, share):
    shift = share * one_class["offset_"]
    moved = one_class | {
        "offset_": one_class["offset_"] + shift,
        "decision_function": one_class["decision_function"] - shift,
    }
    assert Comparison(one_class, moved, margin=4e-4).failures == []
    assert len(Comparison(one_class, moved, margin=2e-4).failures) == 2
    assert changed(one_class, score_samples=one_class["score_samples"] * (1 + 3e-4)).failures


def test_arrays_of_another_form_and_missing_ones_fail(classifier):
    narrow = classifier["decision_function"].astype(np.float32)
    assert "became float32" in changed(classifier, decision_function=narrow).failures[0]
    missing = {
        name: value for name, value in classifier.items() if name not in ("intercept_", "n_iter")
    }
    assert Comparison(classifier, missing).failures == ["intercept_ is missing"]


def test_coarse_fits_are_compared_by_certificates_alone(classifier):
    coarse = classifier | {"kind": np.array(COARSE)}
    assert changed(coarse, decision_function=classifier["decision_function"] + 1).failures == []
    assert changed(coarse, certified=classifier["certified"] + [0, 0, 1e-3]).failures


@pytest.mark.parametrize(("kind", "limit"), [(EQUAL, 1e-12), (LOOSE, 1e-4)])
def test_other_numbers_are_equal_up_to_rounding_or_to_what_magnifies_them(kind, limit):
    before = {"a": np.array([1.0, 2.0]), "b": np.array([1, 2]), "kind": np.array(kind)}
    assert changed(before, a=before["a"] + limit).failures == []
    assert len(changed(before, a=before["a"] + 3 * limit, b=np.array([1, 3])).failures) == 2


def test_failures_are_counted_and_shown_apart_from_information(classifier):
    shown = []
    before = {"a": classifier, "b": classifier, "c": classifier, "d": classifier}
    steps = classifier | {"n_iter": classifier["n_iter"] * 2}
    after = {
        "a": classifier,
        "b": steps,
        "c": classifier | {"intercept_": classifier["intercept_"] + 1},
    }
    assert compare(before, after, show=shown.append) == 2
    assert [line.split(":")[0] for line in shown[:3]] == ["       b", "FAILED c", "FAILED d"]
    assert shown[3] == "4 fits, 2 failed, 1 took other steps"


def test_every_kind_of_comparison_has_a_fit():
    assert {case.kind for case in cases()} == {EQUAL, SOLVED, COARSE, LOOSE}
