"""mercer compress: the files that it writes predict as reported, and wrong input is refused in one sentence."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer import cli
from mercer.cli import compress
from mercer.formats import to_c, to_onnx, write_libsvm

DIGITS = load_digits()
X, y = DIGITS.data[:200] / 16, DIGITS.target[:200] % 3
REST = DIGITS.data[200:] / 16


@pytest.fixture(scope="module")
def model():
    return mc.SVC(C=10, kernel=mc.Gaussian(0.2)).fit(X, y)


@pytest.fixture
def folder(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mc.save(model, "svm.mercer")
    write_libsvm(model, "svm.model")
    np.savez("data.npz", X=X, y=y)
    return tmp_path


def run(*words, capsys):
    code = cli.main(["compress", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("source", ["svm.mercer", "svm.model"])
def test_the_report_and_the_model_are_those_of_the_library(source, folder, capsys):
    code, out, _ = run(
        source, "--data", "data.npz", "--vectors", "15", "--seed", "3", capsys=capsys
    )
    assert code == 0
    small = mc.compress(
        folder / source if source.endswith("model") else mc.load(source),
        X,
        y,
        n_vectors=15,
        random_state=3,
    )
    lines = out.splitlines()
    expected = str(small.report_).replace("holdout=0.3", "--holdout 0.3").splitlines()
    assert lines[: len(expected)] == expected
    assert re.fullmatch(r"size of the file: \S+ kB before, \S+ kB after", lines[-2])
    assert lines[-1] == "svm-compressed.mercer"
    assert np.array_equal(mc.load(lines[-1]).predict(REST), small.predict(REST))


@pytest.mark.usefixtures("folder")
def test_rows_may_be_held_out_for_the_score(capsys):
    words = "svm.mercer", "--data", "data.npz", "--vectors", "15", "--seed", "3"
    report = run(*words, capsys=capsys)[1]
    assert "on 200 rows of the fit (difference" in report.splitlines()[0]
    assert "score on the 200 rows of the fit (give --holdout 0.3 for rows outside it)" in report
    _, out, _ = run(*words, "--holdout", "0.3", "-o", "held_out", capsys=capsys)
    assert "score on the 60 rows held out" in out
    small = mc.compress(mc.load("svm.mercer"), X, y, n_vectors=15, holdout=0.3, random_state=3)
    assert np.array_equal(mc.load("held_out").predict(REST), small.predict(REST))


@pytest.mark.usefixtures("folder")
def test_a_model_that_keeps_all_vectors_is_no_smaller_and_the_report_says_so(capsys):
    _, out, _ = run("svm.mercer", "--vectors", "1000", capsys=capsys)
    assert (
        "; the model keeps all its vectors, give fewer --vectors for a smaller file"
        in out.splitlines()[-2]
    )


@pytest.mark.usefixtures("folder")
def test_every_kind_of_data_gives_the_same_model(capsys):
    np.savetxt("data.csv", np.column_stack([X, y]), delimiter=",", fmt="%g")
    dump_svmlight_file(X, y, "data.svm", zero_based=False)
    answers = []
    for name in ("data.npz", "data.csv", "data.svm"):
        assert (
            run("svm.mercer", "--data", name, "--vectors", "8", "-o", "out", capsys=capsys)[0] == 0
        )
        answers.append(mc.load("out").decision_function(REST))
    assert np.allclose(answers[1], answers[0], atol=1e-8)
    assert np.allclose(answers[2], answers[0], atol=1e-8)


def test_libsvm_files_and_pipelines(folder, capsys):
    code, out, _ = run(
        "svm.model", "--data", "data.npz", "--vectors", "8", "--to", "libsvm", capsys=capsys
    )
    assert (code, out.splitlines()[-1]) == (0, "svm-compressed.model")
    assert "svm_type c_svc" in (folder / "svm-compressed.model").read_text()
    mc.save(make_pipeline(StandardScaler(), mc.SVC()).fit(X, y), "pipe")
    assert run("pipe", "--data", "data.npz", "--vectors", "8", capsys=capsys)[0] == 0
    assert mc.load("pipe-compressed.mercer").predict(REST).shape == (len(REST),)
    code, _, err = run(
        "pipe", "--data", "data.npz", "--vectors", "8", "--to", "libsvm", capsys=capsys
    )
    assert code == 1
    assert "this is a pipeline (StandardScaler, SVC)" in err


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.usefixtures("folder")
def test_a_model_with_probabilities_keeps_them(scaled, capsys):
    onnx = pytest.importorskip("onnx", reason='onnx is not installed: pip install "mercer[onnx]"')
    model = mc.SVCCV(Cs=[1.0], cv=3, calibration="sigmoid")
    model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, y)
    mc.save(model, "svm")
    assert run("svm", "--data", "data.npz", "--vectors", "60", capsys=capsys)[0] == 0
    found = mc.load("svm-compressed.mercer").predict_proba(REST)
    assert np.mean(abs(found - model.predict_proba(REST))) < 0.05
    assert run("svm", "--data", "data.npz", "--vectors", "8", "--to", "onnx", capsys=capsys)[0] == 0
    assert "probabilities" in [each.name for each in onnx.load("svm-compressed.onnx").graph.output]
    code, _, err = run(
        "svm", "--data", "data.npz", "--vectors", "8", "--to", "libsvm", capsys=capsys
    )
    assert code == 1
    assert (
        "this is a pipeline"
        if scaled
        else "calibrated probabilities, which a libsvm file cannot hold"
    ) in err
    code, out, _ = run("svm", "--vectors", "8", "-o", "out", capsys=capsys)
    assert code == 0
    assert "has no predict_proba, which the model has; give --data FILE with labels, for an" in out
    assert out.splitlines()[-1] == "out"


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_max_loss_finds_the_size(capsys):
    code, out, _ = run(
        "svm.model", "--data", "data.npz", "--max-loss", "0.2", "--vectors", "12", capsys=capsys
    )
    assert code == 0
    assert "the fewest that lose at most 0.2 of the score" in out


@pytest.mark.usefixtures("folder")
def test_models_without_labels_need_none(capsys):
    mc.save(mc.OneClassSVM(kernel=mc.Gaussian(0.1)).fit(X), "one")
    np.savez("strange.npz", X=X, y=np.full(len(X), "any"))
    assert run("one", "--data", "strange.npz", "--vectors", "5", capsys=capsys)[0] == 0
    assert run("svm.mercer", "--vectors", "150", capsys=capsys)[0] == 0


@pytest.mark.parametrize("form", ["mercer", "onnx", "c"])
def test_a_model_of_a_table_gets_fewer_vectors(form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(60, 2))
    np.savez("rows.npz", X=rows, y=rows[:, 0] > 0)
    for each in (mc.TableRegressor(), mc.TableClassifier()):
        mc.save(each.fit(rows, rows[:, 0] > 0), "table.mercer")
        code, out, err = run(
            "table.mercer",
            "--data",
            "rows.npz",
            "--vectors",
            "20",
            "--to",
            form,
            "-o",
            "small",
            capsys=capsys,
        )
        assert code == 0, err
        assert "20 after" in out
    if form == "mercer":
        assert mc.load("small").predict(rows).dtype == bool


@pytest.mark.usefixtures("folder")
def test_an_onnx_file_predicts_the_same(capsys):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    words = ("svm.mercer", "--data", "data.npz", "--vectors", "8", "--dtype", "float64")
    assert run(*words[:-2], "-o", "ours", capsys=capsys)[0] == 0
    assert run(*words, "--to", "onnx", "-o", "a.onnx", capsys=capsys)[0] == 0
    label, *_ = onnxruntime.InferenceSession("a.onnx").run(None, {"X": REST})
    assert np.array_equal(label, mc.load("ours").predict(REST))


@pytest.mark.usefixtures("folder")
def test_files_of_few_bits_are_those_of_the_library(capsys):
    words = ("svm.mercer", "--data", "data.npz", "--vectors", "8", "--dtype", "int8")
    assert run(*words[:-2], "-o", "ours", capsys=capsys)[0] == 0
    assert run(*words, "--to", "c", "-o", "a.c", capsys=capsys)[0] == 0
    assert run(*words, "--to", "onnx", "-o", "a.onnx", capsys=capsys)[0] == 0
    to_c(mc.load("ours"), "b.c", "int8", X=X)
    assert Path("a.c").read_text() == Path("b.c").read_text()
    assert Path("a.onnx").read_bytes() == to_onnx(mc.load("ours"), "int8", X).SerializeToString()


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_a_c_file_gives_the_same_outputs(folder, capsys):
    words = ("svm.mercer", "--data", "data.npz", "--vectors", "8")
    assert run(*words, "-o", "ours", capsys=capsys)[0] == 0
    assert run(*words, "--to", "c", capsys=capsys)[0] == 0
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-shared", "-fPIC", "svm-compressed.c", "-o", "m.so", "-lm"],
        check=True,
    )
    library, expected = ctypes.CDLL(str(folder / "m.so")), mc.load("ours").expansion_(REST[:5])
    out, number = np.empty(expected.shape[1]), ctypes.POINTER(ctypes.c_double)
    for x, row in zip(REST[:5], expected + mc.load("ours").intercept_, strict=True):
        library.model_scores(x.ctypes.data_as(number), out.ctypes.data_as(number))
        assert np.allclose(out, row, rtol=0, atol=1e-11)


def _no_labels_of_the_model():
    np.savez("wrong.npz", X=X, y=y + 1)


def _few_columns():
    np.savez("wrong.npz", X=X[:, :5], y=y)


def _words_as_labels():
    names = np.array([f"digit {i}" for i in range(10)])
    mc.save(mc.SVC(kernel=mc.Gaussian(0.2)).fit(X, names[y]), "named")


@pytest.mark.usefixtures("folder")
def test_points_of_a_model_of_a_given_matrix_are_selected(capsys):
    K = X @ X.T
    mc.save(mc.SVC(kernel="precomputed").fit(K, y), "matrix")
    assert run("matrix", "--vectors", "5", capsys=capsys)[0] == 0
    small = mc.load("matrix-compressed.mercer")
    assert len(small.support_vectors_) == 5
    assert small.decision_function(K).shape == mc.load("matrix").decision_function(K).shape


def _strings():
    model = mc.SVC(kernel=mc.strings.Spectrum(2)).fit(
        ["abab", "abba", "bbbb", "aaaa"], [0, 0, 1, 1]
    )
    mc.save(model, "strings")


def _existing():
    with open("svm-compressed.mercer", "w"):
        pass


def _no_compressible():
    mc.save(mc.Gaussian(0.2), "kernel")
    mc.save(mc.Nystroem(mc.Gaussian(0.2), n_components=5).fit(X), "nystroem")


def _huge_rows():
    np.savez("huge.npz", X=1e300 * X)


@pytest.mark.parametrize(
    ("make", "words", "message"),
    [
        (None, "none.model --vectors 5", "none.model: No such file or directory"),
        (None, ". --vectors 5", ".: this is a folder"),
        (
            None,
            "data.npz --vectors 5",
            "data.npz: this is neither a Mercer model file nor a LIBSVM text model",
        ),
        (None, "svm.mercer --data none.csv --vectors 5", "none.csv: No such file or directory"),
        (None, "svm.mercer --data svm.model --vectors 5", "svm.model: .*label index:value"),
        (None, "svm.mercer --max-loss 0.01", "--max-loss needs data .*--data FILE"),
        (
            None,
            "svm.mercer --vectors 5 --holdout 0.3",
            "--holdout is a share of the rows of data; give --data FILE",
        ),
        (
            None,
            "svm.mercer --vectors 5 -o no/such/out",
            "no/such: No such file or directory; .*-o FILE",
        ),
        (
            None,
            "svm.mercer --vectors 5 -o svm.mercer",
            "svm.mercer: this file is an input; name another file",
        ),
        (
            None,
            "svm.mercer --vectors 5 --dtype float32",
            "--dtype float32 is for --to onnx and --to c",
        ),
        (None, "svm.mercer --vectors 5 --to c --dtype int8", "--dtype int8 .* give --data FILE"),
        (
            _no_labels_of_the_model,
            "svm.mercer --data wrong.npz --vectors 5",
            "wrong.npz: the label '3' must be",
        ),
        (
            _few_columns,
            "svm.mercer --data wrong.npz --vectors 5",
            "wrong.npz: rows have 5 features, the model has 64",
        ),
        (
            _huge_rows,
            "svm.mercer --data huge.npz --vectors 5",
            "svm.mercer with huge.npz: .*overflow.*; scale X .StandardScaler",
        ),
        (
            _words_as_labels,
            "named --vectors 5 --to libsvm",
            "named: .*label.*--to mercer takes every model",
        ),
        (
            _strings,
            "strings --vectors 2 --data data.npz",
            "strings: the points of this model are objects, .*--data",
        ),
        (
            _existing,
            "svm.mercer --vectors 5",
            "svm-compressed.mercer: this file exists already; .*-o",
        ),
        (
            _no_compressible,
            "kernel --vectors 5",
            "kernel: .*Gaussian cannot be written with other vectors",
        ),
        (
            _no_compressible,
            "nystroem --vectors 5",
            "nystroem: .*Nystroem cannot be written with other vectors",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_input_is_refused_in_one_sentence(make, words, message, capsys, tmp_path):
    if make is not None:
        make()
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, err = run(*words.split(), capsys=capsys)
    assert (code, out) == (1, "")
    last = err.splitlines()[-1]
    assert re.match(f"mercer: {message}", last), last
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "one of --vectors N and --max-loss L is needed"),
        ("--vectors 0", "'0' must be a positive integer"),
        ("--vectors ten", "'ten' must be a positive integer"),
        ("--vectors 5 --max-loss 1", "'1' must be a number of at least 0 and below 1"),
        (
            "--vectors 5 --data data.npz --holdout 0",
            "'0' must be a number above 0 and below 1, for example 0.3",
        ),
        (
            "--vectors 5 --data data.npz --holdout 1",
            "'1' must be a number above 0 and below 1, for example 0.3",
        ),
        ("--vectors 5 --to json", "invalid choice: 'json'"),
        ("--vectors 5 --seed -1", "seed"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_options_exit_with_2(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        run("svm.mercer", *words.split(), capsys=capsys)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_an_interrupt_leaves_no_file_and_ends_with_130(folder, capsys, monkeypatch):
    before = sorted(folder.iterdir())

    def interrupted(*_, **options):
        options["callback"](1, 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(compress, "compress", interrupted)
    code, out, err = run("svm.mercer", "--data", "data.npz", "--vectors", "5", capsys=capsys)
    assert (code, out) == (130, "")
    assert err.endswith("mercer: stopped\n")
    assert sorted(folder.iterdir()) == before
