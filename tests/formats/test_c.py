"""Models as C: the compiled code gives Mercer's scores and labels."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from tests.reference.exported import (
    PROBABLE,
    TARGET,
    X,
    Y,
    expected_values,
    fitted,
    many_classes,
    of_a_table,
    with_each,
    with_probabilities,
)

import mercer as mc
from mercer.formats import to_c, write_libsvm

COMPILER = next((found for name in ("gcc", "cc", "clang") if (found := shutil.which(name))), None)
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler (gcc, cc or clang) is on the PATH"
)


@pytest.fixture
def source(tmp_path):
    """Return a function that gives the text that `to_c` writes."""

    def text(model, *options):
        to_c(model, tmp_path / "written.c", *options)
        return (tmp_path / "written.c").read_text()

    return text


class Compiled:
    """A model that a C compiler made from what `to_c` wrote.

    Parameters
    ----------
    model : estimator
    dtype : str
    folder : Path
    prefix : str
    """

    def __init__(self, model, dtype, folder, prefix="model", X=None):
        written, library = folder / f"{prefix}.c", folder / f"{prefix}.so"
        to_c(model, written, dtype, prefix, X)
        subprocess.run(
            [COMPILER, *WARNINGS, "-shared", "-fPIC", "-o", library, written, "-lm"],
            check=True,
            timeout=60,
        )
        self._load(library, dtype, prefix)

    @classmethod
    def of(cls, library, dtype, prefix="model"):
        """Return the model in a library."""
        found = cls.__new__(cls)
        found._load(library, dtype, prefix)
        return found

    def _load(self, library, dtype, prefix):
        self.library, self.prefix = ctypes.CDLL(str(library)), prefix
        self.dtype = np.dtype(np.float64 if dtype == "float64" else np.float32)
        getattr(self.library, f"{prefix}_scores").restype = None

    def scores(self, points, m, name="scores"):
        out = np.empty((len(points), m), self.dtype)
        self._call(name, points, out)
        return out

    def places(self, points):
        return np.array(self._call("predict", points))

    def labels(self, kind, n):
        return list((kind * n).in_dll(self.library, f"{self.prefix}_labels"))

    def _call(self, name, *arrays):
        arrays = [
            np.ascontiguousarray(each, self.dtype) if i == 0 else each
            for i, each in enumerate(arrays)
        ]
        function = getattr(self.library, f"{self.prefix}_{name}")
        function.argtypes = [ctypes.c_void_p] * len(arrays)
        starts = [(each.ctypes.data, each.strides[0]) for each in arrays]
        return [
            function(*(start + i * step for start, step in starts)) for i in range(len(arrays[0]))
        ]


@needs_compiler
@pytest.mark.parametrize(("case", "dtype"), with_each("float32", "float64"))
def test_a_compiled_model_gives_the_scores_and_labels_of_python(
    case, dtype, tmp_path, global_random_seed
):
    model = fitted(case)
    expected = expected_values(model, dtype, global_random_seed)
    compiled = Compiled(model, dtype, tmp_path)
    expected.assert_agrees(compiled.scores(expected.points, expected.values.shape[1]))
    if hasattr(model, "classes_") or hasattr(model, "offset_"):
        labels = getattr(model, "classes_", np.array([-1, 1]))
        if labels.dtype.kind == "U":
            assert [
                text.decode() for text in compiled.labels(ctypes.c_char_p, len(labels))
            ] == labels.tolist()
        else:
            assert compiled.labels(ctypes.c_longlong, len(labels)) == labels.tolist()
        expected.assert_same_labels(labels[compiled.places(expected.points)])
    else:
        assert not hasattr(compiled.library, "model_predict")


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("case", PROBABLE)
def test_a_compiled_model_gives_the_probabilities_of_python(
    case, n_classes, dtype, tmp_path, global_random_seed
):
    expected = with_probabilities(case, n_classes, global_random_seed)
    compiled = Compiled(expected.model, dtype, tmp_path)
    labels = expected.model.classes_[compiled.places(expected.points)]
    expected.assert_agrees(compiled.scores(expected.points, n_classes, "probabilities"), labels)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.1), mc.Linear()], ids=repr)
def test_many_classes_take_the_room_of_packed_coefficients(
    kernel, dtype, tmp_path, global_random_seed
):
    model, points, scores = many_classes(global_random_seed, kernel)
    bytes_of = {"float64": 8, "float32": 4}.get(dtype, 2)
    found = to_c(model, tmp_path / "model.c", dtype, X=points)
    n, width = model.dual_coef_.shape
    # vectors, coefficients, an intercept and a scale for each pair, and labels
    assert found.flash <= bytes_of * n * (4 + width) + 8 * (2 * scores.shape[1] + width + 32)
    compiled = Compiled(model, dtype, tmp_path, X=points)
    tolerance = {"float64": 1e-12, "float32": 1e-5}.get(dtype, 0.01) * abs(scores).max()
    assert abs(compiled.scores(points, scores.shape[1]) - scores).max() <= tolerance
    clear = (abs(scores) > tolerance).all(axis=1)
    np.testing.assert_array_equal(compiled.places(points)[clear], model.predict(points)[clear])
    if dtype in ("float64", "float32"):
        assert clear.mean() > 0.5
        decision = compiled.scores(points, width + 1, "decision")
        assert abs(decision - model.decision_function(points))[clear].max() <= 2 * tolerance + 1e-5


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", ["Gaussian", "scikit-learn's SVC by classes"])
def test_pairs_give_the_values_of_decision_function(case, dtype, tmp_path, global_random_seed):
    model = fitted(case)
    expected = expected_values(model, dtype, global_random_seed, n=2000)
    compiled = Compiled(model, dtype, tmp_path)
    values = model.decision_function(expected.points.astype(np.float64))
    found = compiled.scores(expected.points, 3, "decision")
    # a vote turns where the score of a pair is 0
    assert abs(found - values)[expected.clear].max() <= 2 * expected.tolerance
    assert expected.clear.mean() > 0.99
    assert set(np.round(values.sum(axis=1))) == {3.0}


@needs_compiler
@pytest.mark.parametrize(
    "case", ["one against the rest", "two classes", "scikit-learn's SVC", "SVR"]
)
def test_other_models_have_no_second_decision_values(case, tmp_path):
    assert not hasattr(Compiled(fitted(case), "float64", tmp_path).library, "model_decision")


@needs_compiler
def test_two_models_link_into_one_program_and_scores_may_overwrite_the_point(tmp_path):
    first, second = fitted("Gaussian"), fitted("ridge of two targets")
    to_c(first, tmp_path / "a.c", prefix="first")
    to_c(second, tmp_path / "b.c", prefix="second_1")
    sources = [tmp_path / "a.c", tmp_path / "b.c"]
    library = tmp_path / "both.so"
    subprocess.run(
        [COMPILER, *WARNINGS, "-shared", "-fPIC", "-o", library, *sources, "-lm"],
        check=True,
        timeout=60,
    )
    both, point = ctypes.CDLL(str(library)), X[0].copy()
    for name, model in (("first", first), ("second_1", second)):
        values = point.copy()
        call = getattr(both, f"{name}_scores")
        call.argtypes, call.restype = [ctypes.c_void_p] * 2, None
        call(values.ctypes.data, values.ctypes.data)
        expected = mc.as_expansion(model)(point[None])[0]
        np.testing.assert_allclose(values[: len(expected)], expected, rtol=1e-11)


@needs_compiler
def test_extreme_numbers_and_labels_survive(tmp_path):
    coef = np.array([[5e-324, 1.7976931348623157e308], [-0.1, 1 / 3]])
    psi = mc.Expansion(mc.Polynomial(1, 1.0, 0.0), np.array([[1.0, 0.0], [0.0, -1e-300]]), coef)
    compiled = Compiled(mc.formats.FittedExpansion(psi, np.zeros(2)), "float64", tmp_path)
    points = np.array([[1.0, 0.0], [0.0, -1e300]])
    np.testing.assert_array_equal(compiled.scores(points, 2), coef)
    labels = np.array([-(2**63), 2**63 - 1])
    compiled = Compiled(
        mc.SVC(kernel="linear").fit(X[Y < 2], labels[Y[Y < 2]]), "float64", tmp_path, "P_2"
    )
    assert compiled.labels(ctypes.c_longlong, 2) == labels.tolist()


def test_a_text_model_of_libsvm_gives_the_same_vectors(tmp_path, source):
    model = fitted("Gaussian")
    write_libsvm(model, tmp_path / "model")
    text = source(tmp_path / "model")
    assert f"model_coef[{2 * len(model.support_)}]" in text
    assert "model_labels[3]" in text


@pytest.mark.parametrize("prefix", ["", "2x", "a-b", "_model", "é", "int x", "a" * 65, 3], ids=str)
def test_a_prefix_that_is_not_an_identifier_is_refused(prefix, tmp_path):
    with pytest.raises(ValueError, match="prefix = .* must be a letter"):
        to_c(fitted("SVR"), tmp_path / "model.c", prefix=prefix)
    assert not list(tmp_path.iterdir())


def test_labels_kernels_and_dtypes_that_c_cannot_hold_are_refused(tmp_path, source):
    with pytest.raises(ValueError, match="character 0"):
        source(mc.SVC().fit(X[Y < 2], np.array(["a\0b", "c"])[Y[Y < 2]]))
    with pytest.raises(TypeError, match="Intersection cannot be exported"):
        to_c(mc.SVC(kernel=mc.Intersection()).fit(abs(X), Y), tmp_path / "model.c")
    with pytest.raises(TypeError, match="Laplacian needs; use dtype=.float16"):
        to_c(mc.SVC(kernel=mc.Laplacian(1.0)).fit(X, Y), tmp_path / "model.c", "int8", X=X)
    with pytest.raises(ValueError, match="dtype = 'half' must be one of"):
        to_c(fitted("SVR"), tmp_path / "model.c", "half")
    with pytest.raises(ValueError, match="dtype = array.* must be one of"):
        to_c(fitted("SVR"), tmp_path / "model.c", np.ones(2))


@needs_compiler
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-3)])
@pytest.mark.parametrize("target", ["reals", "two classes", "three classes"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_compiled_model_of_a_table_takes_its_rows(target, dtype, tolerance, tmp_path):
    model, points = of_a_table(target)
    compiled = Compiled(model, dtype, tmp_path)
    expected = getattr(model, "decision_function", model.predict)(points).reshape(len(points), -1)
    found = compiled.scores(points, expected.shape[1])
    assert abs(found - expected).max() <= tolerance * abs(expected).max()
    if target != "reals":
        clear = (
            abs(np.diff(np.sort(np.column_stack([0 * expected[:, 0], expected]))[:, -2:])[:, 0])
            > 1e-3
        )
        np.testing.assert_array_equal(compiled.places(points)[clear], model.predict(points)[clear])


@needs_compiler
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5), ("float16", 1e-2)]
)
def test_distances_of_sizes_of_differences_are_compiled(dtype, tolerance, tmp_path):
    model = mc.KernelRidge(kernel=mc.Laplacian(0.3) + mc.Gaussian(0.2)).fit(X, TARGET)
    found = Compiled(model, dtype, tmp_path, X=X).scores(X[::3] + 0.1, 1)[:, 0]
    expected = model.predict(X[::3] + 0.1)
    assert abs(found - expected).max() <= tolerance * abs(expected).max()


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_flash_is_the_size_of_the_tables_in_the_object_file(dtype, tmp_path):
    written = tmp_path / "model.c"
    found = to_c(fitted("one against the rest"), written, dtype, X=X)
    subprocess.run(
        [COMPILER, "-c", "-Os", "-o", tmp_path / "model.o", written], check=True, timeout=60
    )
    listed = subprocess.run(
        ["size", "-A", tmp_path / "model.o"], check=True, capture_output=True, text=True
    ).stdout
    sections = [
        line.split() for line in listed.splitlines() if line.startswith((".rodata", ".data"))
    ]
    tables = sum(int(size) for name, size, _ in sections if not name.startswith(".rodata.cst"))
    # alignment of each table
    assert found.flash <= tables <= found.flash + 160


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_record_has_the_error_at_given_points_and_none_without(dtype, tmp_path):
    model = fitted("one against the rest")
    assert to_c(model, tmp_path / "model.c", dtype).max_error is None
    found = to_c(model, tmp_path / "model.c", dtype, X=X)
    assert found.max_error <= {"float32": 1e-4, "float64": 1e-12}[dtype]
    assert (found.max_error > 0) == (dtype == "float32")
    assert found.label_agreement == 1
    assert to_c(fitted("SVR"), tmp_path / "model.c", dtype, X=X).label_agreement is None


def test_smaller_numbers_take_less_flash(tmp_path):
    sizes = [
        to_c(fitted("Gaussian"), tmp_path / "m.c", dtype, X=X).flash
        for dtype in ("float64", "float32", "float16")
    ]
    # the table of powers of 2 for the exponential has 64 bytes
    assert sizes[0] > 1.9 * sizes[1] > 3.4 * (sizes[2] - 64)
    assert sizes[2] > to_c(fitted("Gaussian"), tmp_path / "m.c", "int8", X=X).flash - 4 * len(X)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_coded_models_ask_for_points_of_the_right_width(dtype, tmp_path):
    with pytest.raises(ValueError, match=f'X = None must be rows for dtype="{dtype}"'):
        to_c(fitted("Gaussian"), tmp_path / "model.c", dtype)
    with pytest.raises(ValueError, match="X has 3 features, but the model has 4"):
        to_c(fitted("Gaussian"), tmp_path / "model.c", dtype, X=X[:, :3])
    assert not list(tmp_path.iterdir())


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("kernel", "scale", "digits"),
    [
        (mc.Polynomial(2, gamma=1.0, coef0=0.0), 5.0, 0),
        (mc.Matern(1.6, nu=0.5), [0.02, 46.0, 0.02, 2.4], 3),
    ],
    ids=["rounded coefficients", "a kink"],
)
def test_the_reported_error_has_the_size_of_the_compiled_one(
    dtype, kernel, scale, digits, tmp_path
):
    points = np.round(np.random.default_rng(0).normal(size=(40, 4)) * scale, digits)
    model = mc.SVR(kernel=kernel).fit(points, points[:, 1])
    exported = to_c(model, tmp_path / "reported.c", dtype, X=points)
    found = Compiled(model, dtype, tmp_path, X=points).scores(points, 1)[:, 0]
    error = abs(found - model.predict(points)).max()
    assert exported.max_error / 3 <= error <= 3 * exported.max_error
