import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.estimators import _svm


def test_pairs_see_their_two_classes_and_packed_coefficients_unpack():
    codes = np.array([0, 0, 1, 2, 2, 2])
    machines = _svm.machines(codes, 3, "ovo")
    assert [list(machine.rows) for machine in machines] == [[0, 1, 2], [0, 1, 3, 4, 5], [2, 3, 4, 5]]
    assert [list(codes[machine.rows[machine.sign > 0]]) for machine in machines] == [[0, 0], [0, 0], [1]]
    coefs = [np.arange(1.0, 1 + len(machine.rows)) + 10 * k for k, machine in enumerate(machines)]
    full = np.zeros((6, 3))
    for k, machine in enumerate(machines):
        full[machine.rows, k] = coefs[k]
    packed = _svm.pack(coefs, codes, 3, paired=True)
    assert packed.shape == (6, 2)
    assert (_svm.unpack(packed, codes, 3) == full).all()


def test_two_classes_make_one_machine_whichever_way():
    codes = np.array([0, 0, 1])
    for multi_class in ("ovo", "ovr"):
        (machine,) = _svm.machines(codes, 2, multi_class)
        assert list(machine.sign) == [-1, -1, 1]


def test_votes_count_pairs_won():
    scores = np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 0.0]])
    assert (_svm.votes(scores, 3) == [[2, 0, 1], [0, 1, 2]]).all()


def test_balanced_weights_count_samples_by_their_weights():
    factors = _svm.class_weights("balanced", np.array([0, 1]), np.array([0, 1, 1]), np.array([2.0, 1.0, 3.0]))
    np.testing.assert_allclose(factors, [6 / 4, 6 / 8])
    with pytest.raises(ValueError, match="class_weight of 1 is -1.0"):
        _svm.class_weights({0: 1.0, 1: -1.0}, np.array([0, 1]), np.array([0, 1, 1]), np.ones(3))


def test_one_answer_stops_all_machines():
    answers, heard = iter([False, True, False]), []

    def step(i, violation):
        heard.append((i, violation))
        return next(answers)

    report = _svm.Report(step)
    assert [report(violation) for violation in (3.0, 2.0, 1.0)] == [False, True, True]
    assert heard == [(0, 3.0), (1, 2.0), (2, 1.0)]


@pytest.mark.parametrize("model", [mc.SVC, mc.SVR], ids=lambda model: model.__name__)
def test_a_solver_that_stops_on_unscaled_features_blames_them(model):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = (X[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(40) > 0).astype(int)
    cubic = mc.Polynomial(3, 1.0, 0.0)
    with pytest.warns(ConvergenceWarning, match=r"k\(x, x\) is up to \de\+\d+.*: scale the features .* raise max_iter"):
        model(kernel=cubic, max_iter=200).fit(100 * X, y)
    with pytest.warns(ConvergenceWarning, match=r"; scale the features .*smaller C.* raise max_iter"):
        model(kernel=cubic, max_iter=5, tol=1e-9).fit(X / 3, y)


FAR = {
    "SVC": mc.SVC(kernel="linear"),
    "NuSVC": mc.NuSVC(0.6, kernel="linear"),
    "SVR": mc.SVR(kernel="linear"),
    "NuSVR": mc.NuSVR(kernel="linear"),
    "SVCCV": mc.SVCCV("linear", Cs=[1.0], cv=2),
    "OneClassSVM": mc.OneClassSVM(kernel="linear"),
    "SVDD": mc.SVDD(kernel="linear"),
}


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("offset", [1e8, 1e9])
def test_machines_far_from_the_origin_say_that_rounding_has_the_word(name, offset, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(float)
    model = FAR[name]
    # at the origin there is nothing to say, and any warning is an error
    model.fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X + offset, y)
    assert any(
        re.search("far from the origin.* subtract their mean|violation of .*StandardScaler", str(each.message))
        for each in caught
    )


def test_no_machine_is_wrong_in_silence(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(float)
    near = mc.SVC(kernel="linear", tol=1e-3).fit(X, y)
    for offset in 10.0 ** np.arange(1, 10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            far = mc.SVC(kernel="linear", tol=1e-3).fit(X + offset, y)
        error = np.abs(far.decision_function(X + offset) - near.decision_function(X)).max()
        assert error < 10 * far.tol or caught, (offset, error)
