"""Model files: what is loaded predicts what was saved, and whatever is damaged, forged or half written is refused.

F1 to F12 are the rows of the catalogue of failures that other formats had.
"""

import ast
import errno
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from tests.formats.golden import make

import mercer as mc
from mercer.formats import model_card, model_file

GOLDEN = Path(__file__).parent / "golden"
FORMATS = Path(model_file.__file__).parent
MODELS = make.models()
X, NEW, TARGET, THREE = make.X, make.NEW, make.TARGET, make.THREE
START = 48


def sealed(content):
    """Return the bytes of a file with the checksum that belongs to them, as a forger would write them."""
    return content[:8] + hashlib.sha256(content[40:]).digest() + content[40:]


def with_header(content, change):
    """Return a file whose header was changed by a function, padded and sealed anew."""
    length = int.from_bytes(content[40:48], "little")
    header = json.loads(content[START : START + length])
    text = change(header)
    text = (json.dumps(header) if text is None else text).encode("ascii")
    arrays = content[START + length + -(START + length) % 64 :]
    head = content[:40] + len(text).to_bytes(8, "little") + text
    return sealed(head + bytes(-len(head) % 64) + arrays)


@pytest.fixture
def saved(tmp_path):
    """Give a file of a small model, its bytes, and a function that writes other bytes over it and loads them."""
    path = tmp_path / "svc.mercer"
    mc.save(MODELS["SVC"], path)

    def load(content):
        path.write_bytes(content)
        return mc.load(path)

    load.path, load.content = path, path.read_bytes()
    return load


def refuses(load, content, match=None):
    with pytest.raises(mc.ModelFileError, match=match):
        load(content)


# --- what is loaded is what was saved --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_says_the_same_to_the_last_bit_and_is_saved_to_the_same_bytes(name, tmp_path):
    model = MODELS[name]
    mc.save(model, tmp_path / "first")
    loaded = mc.load(tmp_path / "first")
    assert type(loaded) is type(model)
    assert make.answers(loaded, make.new_points(name)) == make.answers(model, make.new_points(name))
    mc.save(loaded, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()


@pytest.mark.parametrize("name", [name for name in MODELS if hasattr(MODELS[name], "set_params")])
def test_a_loaded_estimator_has_the_parameters_and_fitted_attributes_and_can_be_cloned(name, tmp_path):
    model = MODELS[name]
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    assert repr(loaded) == repr(model)
    assert repr(clone(loaded)) == repr(clone(model))
    if name != "pipeline":
        assert vars(loaded).keys() == vars(model).keys() - {"scorer_"}
        for attribute, value in vars(loaded).items():
            if isinstance(value, np.ndarray):
                own = getattr(model, attribute)
                assert (value.dtype, value.shape) == (own.dtype, own.shape)
                np.testing.assert_array_equal(value, own)


@pytest.mark.parametrize("name", MODELS)
def test_files_of_every_version_are_read_to_what_their_models_said(name):
    folders = sorted(GOLDEN.glob("version*"))
    assert [folder.name for folder in folders] == [f"version{i}" for i in range(1, model_file.VERSION + 1)]
    for folder in folders:
        stated = json.loads((folder / "answers.json").read_text())[name]
        model = mc.load(folder / f"{name}.mercer")
        said = make.answers(model, np.array(stated["new"]))
        assert said.keys() == stated["says"].keys()
        for method, values in stated["says"].items():
            if np.asarray(values).dtype.kind == "U":
                assert said[method] == values
            else:
                np.testing.assert_allclose(said[method], values, rtol=1e-12, atol=1e-6 if "float32" in name else 1e-12)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("version*/*.libsvm")), ids=lambda path: path.stem)
def test_text_models_of_every_version_are_read_to_what_their_models_said(path):
    stated = json.loads((path.parent / "answers.json").read_text())[path.stem]
    values = stated["says"].get("decision_function", stated["says"]["predict"])
    np.testing.assert_allclose(mc.as_expansion(path)(np.array(stated["new"]))[:, 0], values, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ways_of_an_estimator_beyond_prediction_survive(dtype, tmp_path):
    points = X.astype(dtype)
    pca, ridge = mc.KernelPCA(3, kernel=make.K).fit(points), mc.KernelRidge(0.1, kernel=make.K).fit(points, TARGET)
    for model in (pca, ridge):
        mc.save(model, tmp_path / type(model).__name__)
    again, other = mc.load(tmp_path / "KernelPCA"), mc.load(tmp_path / "KernelRidge")
    np.testing.assert_array_equal(again.denoise(points[:2]), pca.denoise(points[:2]))
    np.testing.assert_array_equal(other.variance(points), ridge.variance(points))
    np.testing.assert_array_equal(other.loo_residuals_, ridge.loo_residuals_)
    assert other.fit(points, TARGET).predict(points).dtype == dtype


@pytest.mark.parametrize(
    "labels",
    [THREE, THREE.astype(object), make.TWO.astype(bool), make.TWO * 2.5, (make.TWO + 2**40).astype(np.uint64)],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, tmp_path):
    if labels.dtype == float:
        labels = labels * 2
    model = mc.SVC(kernel=make.K).fit(X, labels)
    mc.save(model, tmp_path / "model")
    predicted = mc.load(tmp_path / "model").predict(NEW)
    assert predicted.dtype == model.classes_.dtype
    np.testing.assert_array_equal(predicted, model.predict(NEW))


def test_tables_keep_the_names_of_their_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["height", "width", "\N{GREEK SMALL LETTER DELTA}"])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), mc.SVC(kernel=make.K)).fit(table, THREE)
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(table), model.decision_function(table))
    assert list(loaded[-1].feature_names_in_) == list(table.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table[table.columns[::-1]])


@pytest.mark.parametrize(
    "scaler", [MinMaxScaler(), RobustScaler(with_centering=False), StandardScaler(with_mean=False)]
)
@pytest.mark.parametrize("last", [mc.SVR(), mc.Kernelized(LogisticRegression(C=10.0), make.K, landmarks=6)], ids=repr)
def test_pipelines_of_scalers_and_models_are_read_back(scaler, last, tmp_path):
    model = make_pipeline(scaler, last).fit(X, make.TWO)
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(NEW), model.predict(NEW))


def test_numbers_that_are_not_finite_are_kept_where_a_fit_leaves_them(tmp_path):
    model = mc.KernelPerceptron(kernel=make.K).fit(X, make.TWO)
    model.mistake_bound_ = np.array([np.nan, np.inf, -np.inf])
    model.note_ = (float("nan"), -np.inf, np.float32("inf"), -0.0, 5e-324, 2**64 - 1)
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.mistake_bound_, model.mistake_bound_)
    assert repr(loaded.note_) == repr(model.note_)


def test_orders_in_memory_and_shared_arrays_stay_as_they_are(tmp_path):
    coef = np.asfortranarray(np.cos(np.outer(np.arange(14.0), np.arange(5))))
    psi = mc.Expansion(make.K, X, coef)
    mc.save(psi, tmp_path / "expansion")
    assert mc.load(tmp_path / "expansion").coef.flags.f_contiguous
    pca = mc.KernelPCA(2, kernel=make.K).fit(X)
    mc.save(pca, tmp_path / "pca")
    loaded = mc.load(tmp_path / "pca")
    assert np.shares_memory(loaded.mean_.points, loaded.expansion_.points)


def test_scores_of_models_from_elsewhere_are_saved_as_they_are_read(tmp_path):
    sk = pytest.importorskip("sklearn.svm")
    scores = mc.as_expansion(sk.SVC().fit(X, THREE))
    mc.save(scores, tmp_path / "scores")
    np.testing.assert_array_equal(mc.load(tmp_path / "scores")(NEW), scores(NEW))


# --- what is not saved -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (mc.SVR(kernel=lambda A, B: A @ B.T), r"SVR.kernel: .*Python function, which is code"),
        (mc.SVR(kernel=mc.FeatureMap(np.abs)), r"SVR.kernel: FeatureMap.*code"),
        (mc.SVR(kernel=mc.Conformal(mc.Linear(), lambda A: A[:, 0])), r"SVR.kernel.c: .*code"),
        (mc.KernelRidge(landmarks=3, random_state=np.random.RandomState(0)), r"KernelRidge.random_state: .*State"),
    ],
    ids=["function", "FeatureMap", "Conformal", "RandomState"],
)  # fmt: skip
def test_code_is_refused_by_the_name_of_its_attribute_and_leaves_no_file(model, where, tmp_path):
    model.fit(X, TARGET)
    with pytest.raises(TypeError, match=where):
        mc.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_fitted_model_is_refused(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    class Mine(mc.SVC):
        pass

    with pytest.raises(NotFittedError):
        mc.save(mc.SVC(), tmp_path / "model")
    with pytest.raises(NotFittedError):
        mc.save(make_pipeline(StandardScaler(), mc.SVC()), tmp_path / "model")
    for thing in (X, {"a": 1}, "text", None):
        with pytest.raises(TypeError, match=f"got {type(thing).__name__}"):
            mc.save(thing, tmp_path / "model")
    for foreign in (DecisionTreeClassifier(), Mine()):
        with pytest.raises(TypeError, match=rf"{type(foreign).__name__} is none of .*SVC.*StandardScaler"):
            mc.save(foreign.fit(X, THREE), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# --- F1 to F13 -------------------------------------------------------------------------------------------------------


def test_f1_f13_no_source_of_the_formats_imports_pickle_or_runs_text():
    for path in FORMATS.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {"pickle", "joblib", "marshal", "shelve", "dill", "cloudpickle", "yaml"}, path.name
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"eval", "exec", "compile", "__import__"}, path.name


def test_f1_nothing_is_unpickled_when_a_model_is_loaded(saved, monkeypatch):
    def never(*_args, **_kwargs):
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, never)
    monkeypatch.setattr(np, "load", never)
    assert mc.load(saved.path).predict(NEW).shape == (4,)


def nodes_of(tree, path=()):
    """Yield the path of every value of a JSON tree."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
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


BAD = [..., None, True, -1, 0, 1, 2**63, 1e308, "", "SVC", "<U1", [], {}, {"float": "nan"}, {"array": 0}, {"array": 99}]


@pytest.mark.parametrize("name", ["SVC-sparse", "KernelRidge-landmarks", "KernelPerceptron", "pipeline"])
def test_f2_every_field_of_a_forged_header_is_checked(name, tmp_path):
    mc.save(MODELS[name], tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    length = int.from_bytes(content[40:48], "little")
    header, new = json.loads(content[START : START + length]), make.new_points(name)
    refused = 0
    paths = [path for path in nodes_of(header) if path]
    for path in paths:
        for bad in BAD:
            forged = with_header(content, lambda _, path=path, bad=bad: json.dumps(changed(header, path, bad)))
            try:
                model = model_file.parse(np.frombuffer(forged, np.uint8))
            except mc.ModelFileError:
                refused += 1
            else:
                # a number that no prediction needs, another good one, or a part of the model: whatever it is, it works
                answers = make.answers(model, new)
                assert answers
                assert all(len(values) == 4 for values in answers.values())
    assert refused > len(paths) * len(BAD) / 2


@pytest.mark.parametrize("name", ["SVC", "SVC-sparse", "KernelPCA", "KernelPerceptron", "KernelMap", "Kernelized"])
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
        if not isinstance(array, np.ndarray) or (isinstance(value, float) and array.dtype.kind != "f"):
            continue
        # labels may be anything, and linear models keep one target as a vector or as a row
        if (attribute, value) == ("classes_", "other dtype") or (name, value) == ("Kernelized", "flat"):
            continue
        vars(getattr(model, "estimator_", model))[attribute] = forge(array)
        # save looks at what it writes as load does
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
        with pytest.raises(mc.ModelFileError, match="end at byte [0-9]{13}|said to have 1099511627776"):
            mc.load(saved.path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
        tracemalloc.stop()


def test_f4_a_file_beyond_the_budget_is_refused_before_it_is_read(saved):
    with pytest.raises(MemoryError, match=r"svc.mercer needs 2.0 kB, the budget is 1.0 kB; use load\(path, memory="):
        mc.load(saved.path, memory="1kB")
    with open(saved.path, "ab") as file:
        # a hole takes no room on the disk
        file.truncate(2 * 10**9)
    with pytest.raises(MemoryError, match="needs 2.0 GB, the budget is 1.0 GB"):
        mc.load(saved.path)


@pytest.mark.parametrize(
    "content", [b"", b"\x80", pickle.dumps(MODELS["SVC"]), b"PK\x03\x04" + bytes(60), b"{}", b"svm_type c_svc\n"]
)
def test_f5_other_files_are_refused_by_their_first_bytes_whatever_they_are_called(saved, content):
    refuses(saved, content, "no model file of Mercer: it starts with")


def test_f5_a_pickle_is_named_as_such(saved):
    refuses(saved, pickle.dumps(MODELS["SVC"]), "pickle, which Mercer never loads")


@pytest.mark.parametrize(
    "name",
    ["os.system", "Pipeline", "BaseEstimator", "sklearn.svm.SVC", "FeatureMap", "DecisionTreeClassifier", "svc_path",
     "__class__", "SVC ", ""],
)  # fmt: skip
def test_f6_a_file_that_names_any_other_class_is_refused(saved, name):
    def rename(header):
        header["model"]["estimator"][0] = name

    refuses(saved, with_header(saved.content, rename), "none of the estimators")
    for kernel in ("FunctionKernel", "FeatureMap", "Kernel", "Radial", name):

        def rename_kernel(header, kernel=kernel):
            header["model"]["estimator"][2]["kernel_"]["record"][0] = kernel

        refuses(saved, with_header(saved.content, rename_kernel), "no record of Mercer")


@pytest.mark.parametrize(
    "name", ["predict", "__class__", "fit", "_scores", "_paired", "expansion_", "C", "x.y", "_repr_html_"]
)
def test_f6_a_file_sets_no_attribute_that_a_class_defines(saved, name):
    def add(header):
        header["model"]["estimator"][2][name] = 1

    refuses(saved, with_header(saved.content, add), f"no attribute {name!r} that a file may set")


def test_f7_a_link_is_replaced_and_what_it_points_to_stays(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "model").symlink_to(tmp_path / "victim")
    mc.save(MODELS["SVC"], tmp_path / "model")
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (tmp_path / "model").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "victim"]


def test_f7_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(mc.ModelFileError, match="no regular file"):
        mc.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(mc.ModelFileError, match="no regular file"):
        mc.load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        mc.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    "dtype", ["|O", "|S8", "|V8", "<M8[s]", "<c16", "<f2", ">f8", "<f16", "<U9999999", "O", "float64", 8]
)
def test_f8_other_types_of_arrays_are_refused(saved, dtype):
    def retype(header):
        header["arrays"][0][0] = dtype

    refuses(saved, with_header(saved.content, retype), "is said to have dtype")


def test_f8_objects_in_arrays_are_strings_and_numbers(saved):
    def put(header):
        header["model"]["estimator"][2]["classes_"] = {"objects": [[1], [{"tuple": []}]]}

    refuses(saved, with_header(saved.content, put), "strings or numbers")


def test_f8_texts_hold_characters_that_exist(saved):
    at = saved.content.index("ash".encode("utf-32-le"))
    refuses(saved, sealed(saved.content[:at] + b"\xff\xff\xff\x7f" + saved.content[at + 4 :]), "characters")


@pytest.mark.parametrize("version", [0, 2, -1, True, 1.0, "1", None])
def test_f9_another_version_is_refused_with_what_to_do(saved, version):
    refuses(saved, with_header(saved.content, lambda header: header.update(version=version)), "install a newer one")


def failing(monkeypatch, name, at, error):
    """Make the call of number ``at`` of a function of os fail; return how many calls there were."""
    real, calls = getattr(os, name), []

    def call(*args, **kwargs):
        calls.append(args)
        if len(calls) == at + 1:
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(os, name, call)
    return calls


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()], ids=["disk full", "Ctrl-C"]
)
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_f10_a_write_that_fails_leaves_the_old_file_and_no_other(saved, monkeypatch, call, error):
    with monkeypatch.context() as patch:
        failing(patch, call, 0, error)
        with pytest.raises(type(error)):
            mc.save(MODELS["KernelPCA"], saved.path)
    assert saved.path.read_bytes() == saved.content
    assert [path.name for path in saved.path.parent.iterdir()] == ["svc.mercer"]


def test_f10_a_disk_that_is_full_after_any_number_of_bytes_leaves_the_old_file(saved):
    resource = pytest.importorskip("resource")
    code = (
        "import resource, signal, sys, os, mercer as mc\n"
        "model, path = mc.load(sys.argv[2]), sys.argv[1]\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sizes = [0, 8, 40, 48, 1000, os.path.getsize(sys.argv[2]) - 1]\n"
        "for size in sizes:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        mc.save(model, path)\n"
        "    except OSError as error:\n"
        "        print(error.errno)\n"
    )
    assert resource
    other = GOLDEN / "version1" / "KernelPCA.mercer"
    done = subprocess.run([sys.executable, "-c", code, saved.path, other], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [str(errno.EFBIG)] * 6, done.stderr
    assert saved.path.read_bytes() == saved.content
    assert [path.name for path in saved.path.parent.iterdir()] == ["svc.mercer"]


def test_f10_a_process_that_is_killed_while_it_writes_leaves_the_old_file(saved):
    code = (
        "import os, sys, mercer as mc\n"
        "os.replace = lambda *args: os.kill(os.getpid(), 9)\n"
        "mc.save(mc.Gaussian(1.0), sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, saved.path], capture_output=True, timeout=60)
    assert done.returncode == -9
    assert saved.path.read_bytes() == saved.content


def test_f10_a_file_that_is_replaced_keeps_who_may_read_it(saved):
    saved.path.chmod(0o600)
    mc.save(MODELS["KernelPCA"], saved.path)
    assert saved.path.stat().st_mode & 0o777 == 0o600


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
def test_headers_that_are_no_plain_json_are_refused(saved, text):
    refuses(saved, with_header(saved.content, lambda _: text))


def test_nothing_fits_between_the_arrays(saved):
    length = int.from_bytes(saved.content[40:48], "little")
    content = bytearray(saved.content)
    content[START + length] = 1
    refuses(saved, sealed(bytes(content)), "there is something")


def deep(levels):
    kernel = make.K
    for _ in range(levels):
        kernel = kernel + 1
    return kernel


def test_what_is_nested_too_deep_is_refused_on_both_ways(saved):
    mc.save(deep(60), saved.path)
    assert mc.load(saved.path) == deep(60)
    with pytest.raises(TypeError, match="nested more than 100 deep"):
        mc.save(deep(120), saved.path)

    def nest(header):
        return json.dumps(header | {"model": "here"}).replace('"here"', '{"tuple":[' * 150 + "1" + "]}" * 150)

    refuses(saved, with_header(saved.content, nest), "nested more than 100 deep")


@pytest.mark.parametrize("name", MODELS)
def test_f12_the_card_counts_the_training_rows_that_a_file_gives_away(name, tmp_path):
    mc.save(MODELS[name], tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    card = model_card(MODELS[name])
    # rows as they are, wherever in the file they lie; scalers, transposes and float32 would hide them
    plain = name not in ("pipeline", "SVC-one-vs-rest-float32", "SVC-sparse", "SVC-precomputed")
    inside = sum(row.tobytes() in content for row in X) if plain else 0
    assert card["rows_stored"] >= inside
    assert card["bytes"] < len(content)
    if name in ("KernelRidge", "KernelPCA", "KernelFisher", "Expansion", "kernel"):
        assert card["rows_stored"] == 14 == inside
    if name == "PCAL1":
        assert (card["rows_stored"], inside) == (0, 0)


def test_f12_the_card_says_what_the_model_is():
    card = model_card(MODELS["pipeline"])
    assert (card["model"], card["features"]) == ("SVC", 3)
    assert card["kernel"] == "Laplacian(gamma=0.2)"
    sparse = MODELS["SVC-sparse"]
    assert sp.issparse(sparse.support_vectors_)
    assert model_card(sparse)["rows_stored"] == len(sparse.support_)


def test_f14_messages_hold_no_rows(saved):
    digits = re.compile(r"-?\d\.\d{4,}")
    broken = mc.load(saved.path)
    broken.support_vectors_ = np.full((3, 3), 1.234567)
    with pytest.raises(ValueError, match=".") as caught:
        mc.save(broken, saved.path)
    assert not digits.search(str(caught.value))
