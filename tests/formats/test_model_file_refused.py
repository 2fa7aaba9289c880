"""Model files that are damaged or forged are refused, before anything is allocated, imported or run.

F1 to F13 are the rows of the catalogue of failures that other formats had.
"""

import ast
import json
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.formats.forging import START, sealed, with_header
from tests.formats.golden import make

import mercer as mc
from mercer.formats import model_file

FOLDER = Path(__file__).parent / "golden" / "version1"

FORMATS = Path(model_file.__file__).parent
MODELS = make.models()


def refuses(load, content, match=None):
    with pytest.raises(mc.ModelFileError, match=match):
        load(content)


def test_f1_f13_no_source_of_the_formats_imports_pickle_or_runs_text():
    for path in FORMATS.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {
            "pickle",
            "joblib",
            "marshal",
            "shelve",
            "dill",
            "cloudpickle",
            "yaml",
        }, path.name
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"eval", "exec", "compile", "__import__"}, path.name


def test_f1_nothing_is_unpickled_when_a_model_is_loaded(saved, monkeypatch):
    def never(*_args, **_kwargs):
        raise AssertionError("unpickled")

    places = (np, "load"), *((pickle, name) for name in ("load", "loads", "Unpickler"))
    for place, name in places:
        monkeypatch.setattr(place, name, never)
    assert mc.load(saved.path).predict(make.NEW).shape == (4,)


def nodes_of(tree, path=()):
    """Yield the path of every value of a JSON tree."""
    yield path
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, item in items:
        yield from nodes_of(item, (*path, key))


def changed(tree, path, value):
    """Return a copy of a JSON tree with one value replaced, or deleted where it is ``...``."""
    tree = json.loads(json.dumps(tree))
    at = tree
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return tree


BAD = [
    ...,
    None,
    True,
    -1,
    0,
    1,
    2**63,
    1e308,
    "",
    "SVC",
    "<U1",
    [],
    {},
    {"float": "nan"},
    {"array": 0},
    {"array": 99},
]
LARGE = ["KernelPerceptron", "pipeline"]


@pytest.mark.parametrize(
    "name",
    [
        "SVC-sparse",
        "KernelRidge-landmarks",
        *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE),
    ],
)
def test_f2_every_field_of_a_forged_header_is_checked(name, tmp_path):
    mc.save(MODELS[name], tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    length = int.from_bytes(content[40:48], "little")
    header, new = json.loads(content[START : START + length]), make.new_points(name)
    refused = 0
    paths = [path for path in nodes_of(header) if path]
    for path in paths:
        for bad in BAD:
            forged = with_header(
                content, lambda _, path=path, bad=bad: json.dumps(changed(header, path, bad))
            )
            try:
                model = model_file.parse(np.frombuffer(forged, np.uint8))
            except mc.ModelFileError:
                refused += 1
            else:
                # an attribute that no prediction uses, or another valid value: the model must work
                answers = make.answers(model, new)
                assert answers
                assert all(len(values) == 4 for values in answers.values())
    assert refused > len(paths) * len(BAD) / 2


@pytest.mark.parametrize(
    "name", ["SVC", "SVC-sparse", "KernelPCA", "KernelPerceptron", "KernelMap", "Kernelized"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, "shorter", "longer", "other dtype", "flat"])
def test_f2_forged_arrays_that_predictions_are_made_of_are_refused(name, value, tmp_path):
    names = (
        "support_vectors_",
        "dual_coef_",
        "intercept_",
        "n_support_",
        "classes_",
        "components_",
        "expansion_",
        "coef_",
    )
    forge = {
        "shorter": lambda a: a[:-1],
        "longer": lambda a: np.concatenate([a, a[-1:]]),
        "other dtype": lambda a: a.astype("<U8"),
        "flat": lambda a: a[None],
    }.get(value, lambda a: np.full_like(a, value))
    mc.save(MODELS[name], tmp_path / "model")
    tried = 0
    for attribute in names:
        model = mc.load(tmp_path / "model")
        array = vars(getattr(model, "estimator_", model)).get(attribute)
        if not isinstance(array, np.ndarray) or (
            isinstance(value, float) and array.dtype.kind != "f"
        ):
            continue
        # labels may be anything, and linear models keep one target as a vector or as a row
        if (attribute, value) == ("classes_", "other dtype") or (name, value) == (
            "Kernelized",
            "flat",
        ):
            continue
        vars(getattr(model, "estimator_", model))[attribute] = forge(array)
        # save checks the file that it writes, like load
        with pytest.raises((ValueError, TypeError, IndexError, AttributeError)):
            mc.save(model, tmp_path / "forged")
        tried += 1
    assert tried or (name, value) == ("Kernelized", "flat")


def test_f3_f4_a_small_file_that_announces_terabytes_allocates_nothing(saved):
    def announce(header):
        header["arrays"][0][1] = [2**37]

    huge_header = saved.content[:40] + (2**40).to_bytes(8, "little") + saved.content[48:]
    forged = [with_header(saved.content, announce), sealed(huge_header)]
    for content in forged:
        saved.path.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(mc.ModelFileError, match="end at byte [0-9]{13}|claims 1099511627776"):
            mc.load(saved.path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
        tracemalloc.stop()


def test_f4_a_file_beyond_the_budget_is_refused_before_it_is_read(saved):
    size = rf"{saved.path.stat().st_size / 1000:.1f} kB"
    with pytest.raises(
        MemoryError,
        match=rf"svc.mercer needs {size}, the memory budget is 1.0 kB; use load\(path, memory=\"{size}\"\)",
    ):
        mc.load(saved.path, memory="1kB")
    with open(saved.path, "ab") as file:
        # a hole takes no space on the disk
        file.truncate(2 * 10**9)
    with pytest.raises(MemoryError, match="needs 2.0 GB, the memory budget is 1.0 GB"):
        mc.load(saved.path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        pickle.dumps(MODELS["SVC"]),
        b"PK\x03\x04" + bytes(60),
        b"{}",
        b"svm_type c_svc\n",
    ],
)
def test_f5_other_files_are_refused_by_their_first_bytes_whatever_they_are_called(saved, content):
    refuses(saved, content, "not a Mercer model file: it starts with")


def test_f5_a_pickle_is_named_as_such(saved):
    refuses(
        saved,
        pickle.dumps(MODELS["SVC"]),
        "pickle, which Mercer never loads: joblib or pickle reads it",
    )


@pytest.mark.parametrize(
    ("content", "remedy"), [(b"svm_type c_svc\n", "mercer.as_expansion"), (b"", "mercer.save")]
)
def test_f5_the_remedy_for_another_file_is_the_function_that_reads_or_writes_it(
    saved, content, remedy
):
    refuses(saved, content, remedy)


@pytest.mark.parametrize(
    "name",
    ["os.system", "Pipeline", "BaseEstimator", "sklearn.svm.SVC", "FeatureMap", "DecisionTreeClassifier", "svc_path",
     "__class__", "SVC ", ""],
)  # fmt: skip
def test_f6_a_file_that_names_any_other_class_is_refused(saved, name):
    def rename(header):
        header["model"]["estimator"][0] = name

    refuses(saved, with_header(saved.content, rename), "is not an estimator")
    for kernel in ("FunctionKernel", "FeatureMap", "Kernel", "Radial", name):

        def rename_kernel(header, kernel=kernel):
            header["model"]["estimator"][2]["kernel_"]["record"][0] = kernel

        refuses(saved, with_header(saved.content, rename_kernel), "is not a record of Mercer")


@pytest.mark.parametrize(
    "name",
    ["predict", "__class__", "fit", "_values", "_packed", "expansion_", "C", "x.y", "_repr_html_"],
)
def test_f6_a_file_sets_no_attribute_that_a_class_defines(saved, name):
    def add(header):
        header["model"]["estimator"][2][name] = 1

    refuses(saved, with_header(saved.content, add), f"no attribute {name!r} that a file may set")


@pytest.mark.parametrize(
    "dtype",
    ["|O", "|S8", "|V8", "<M8[s]", "<c16", "<f2", ">f8", "<f16", "<U9999999", "O", "float64", 8],
)
def test_f8_other_types_of_arrays_are_refused(saved, dtype):
    def retype(header):
        header["arrays"][0][0] = dtype

    refuses(saved, with_header(saved.content, retype), "an array has dtype")


def test_f8_objects_in_arrays_are_strings_and_numbers(saved):
    def put(header):
        header["model"]["estimator"][2]["classes_"] = {"objects": [[1], [{"tuple": []}]]}

    refuses(saved, with_header(saved.content, put), "strings or numbers")


def test_f8_texts_hold_characters_that_exist(saved):
    at = saved.content.index("ash".encode("utf-32-le"))
    refuses(
        saved,
        sealed(saved.content[:at] + b"\xff\xff\xff\x7f" + saved.content[at + 4 :]),
        "characters",
    )


@pytest.mark.parametrize("version", [0, 2, -1, True, 1.0, "1", None])
def test_f9_another_version_is_refused_with_what_to_do(saved, version):
    refuses(
        saved,
        with_header(saved.content, lambda header: header.update(version=version)),
        "install a newer one",
    )


def test_f11_every_flipped_bit_and_every_truncation_is_refused(saved):
    for i in range(len(saved.content)):
        flipped = bytearray(saved.content)
        flipped[i] ^= 1 << (i % 8)
        with pytest.raises(mc.ModelFileError):
            model_file.parse(np.frombuffer(flipped, np.uint8))
        with pytest.raises(mc.ModelFileError):
            model_file.parse(np.frombuffer(saved.content, np.uint8)[:i])
    refuses(saved, saved.content + b"\0", "checksum does not match")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100000,
        '{"a":' * 100000,
        "9" * 100000,
        '{"format": NaN}',
        '{"format": 1e999}',
        '{"format": 1, "format": 1}',
        "{} {}",
        "",
        "\\ud800",
        '{"format": "mercer model", "version": 1}',
        '{"format": "mercer model", "version": 1, "version": 1}',
    ],
    ids=range(11),
)
def test_headers_that_are_not_plain_json_are_refused(saved, text):
    refuses(saved, with_header(saved.content, lambda _: text))


def test_the_padding_between_arrays_is_zero(saved, tmp_path):
    # a file whose header does not end where its arrays begin
    for model in MODELS.values():
        mc.save(model, tmp_path / "padded")
        content = bytearray((tmp_path / "padded").read_bytes())
        length = int.from_bytes(content[40:48], "little")
        if (START + length) % 64:
            break
    content[START + length] = 1
    refuses(saved, sealed(bytes(content)), "is not zero")


def deep(levels):
    kernel = make.K
    for _ in range(levels):
        kernel = mc.Normalized(kernel)
    return kernel


def test_values_nested_too_deep_are_refused_by_save_and_load(saved):
    mc.save(deep(60), saved.path)
    assert mc.load(saved.path) == deep(60)
    with pytest.raises(TypeError, match="nested more than 100 deep"):
        mc.save(deep(120), saved.path)

    def nest(header):
        return json.dumps(header | {"model": "here"}).replace(
            '"here"', '{"tuple":[' * 150 + "1" + "]}" * 150
        )

    refuses(saved, with_header(saved.content, nest), "nested more than 100 deep")


@pytest.mark.parametrize(
    ("name", "attribute", "node"),
    [
        ("KernelPCA", "n_components_", None),
        ("KernelPCA", "n_components_", 2),
        ("KernelPCA", "n_components_", "absent"),
        ("KernelPCA", "n_samples_", "absent"),
        ("KernelPCA", "n_samples_", True),
        ("KernelPCA", "mean_", None),
        ("KernelMap", "coordinates_", 1),
        ("Kernelized", "map_", {"record": ["Gaussian", {"gamma": 1.0}]}),
        ("SVC", "certificate_", {"array": 0}),
        ("SVDD", "radius_", [1.0]),
        ("KernelRidge", "_asked", {"tuple": []}),
        ("KernelRidge", "_asked", {"tuple": ["x", "1GB", None, None]}),
        ("KernelRidge", "posterior_", {"array": 0}),
    ],
)
def test_an_attribute_of_another_kind_or_an_absent_one_is_refused_when_the_file_is_read(
    name, attribute, node
):
    def change(header):
        state = header["model"]["estimator"][2]
        state[attribute] = node
        if node == "absent":
            del state[attribute]

    content = with_header((FOLDER / f"{name}.mercer").read_bytes(), change)
    with pytest.raises(mc.ModelFileError):
        model_file.parse(np.frombuffer(content, np.uint8))


@pytest.mark.parametrize(("field", "value"), [("kkt", "x"), ("primal", None), ("dual", True)])
def test_records_have_fields_of_the_types_of_their_class(field, value):
    def change(header):
        header["model"]["estimator"][2]["certificate_"]["record"][1][field] = value

    content = with_header((FOLDER / "SVC.mercer").read_bytes(), change)
    with pytest.raises(mc.ModelFileError, match=f"{field} of Certificate"):
        model_file.parse(np.frombuffer(content, np.uint8))


def test_an_older_file_of_a_model_over_landmarks_has_no_leave_one_out_residuals():
    model = mc.load(FOLDER / "KernelRidge-landmarks.mercer")
    with pytest.raises(AttributeError, match="landmarks=None"):
        _ = model.loo_residuals_
    with pytest.raises(AttributeError, match="over landmarks"):
        model.predict_interval(np.zeros((1, 3)))
