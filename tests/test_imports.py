"""`import mercer` is cheap: it loads no heavy module, writes no file and prints nothing."""

import os
import subprocess
import sys

import pytest

import mercer

HEAVY = ("numba", "torch", "dask", "matplotlib", "onnx", "mercer.cli", "sklearn.datasets")


def _python(code, *options, **environment):
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_import_loads_nothing_heavy():
    code = (
        "import sys, time; import sklearn; start = time.perf_counter(); import mercer; "
        f"print(time.perf_counter() - start); print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    seconds, loaded = _python(code).stdout.splitlines()
    print(f"import mercer, after scikit-learn: {float(seconds):.3f} s")
    assert loaded == "[]"


def test_import_prints_nothing_and_raises_no_warning():
    done = _python("import mercer", "-W", "error")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has folders without permissions")
def test_import_needs_no_folder_to_write_to(tmp_path):
    nowhere = str(tmp_path / "missing" / "folder")
    _python("import mercer", "-B", HOME=nowhere, XDG_CACHE_HOME=nowhere, NUMBA_CACHE_DIR=nowhere)
    assert list(tmp_path.iterdir()) == []


def test_packages_are_imported_at_first_use_of_their_names():
    code = (
        "import sys, mercer; names = ('capacity', 'datasets', 'formats', 'plot', 'reduction', 'testing'); "
        "assert {*names} <= {*dir(mercer)}; assert not [n for n in names if 'mercer.' + n in sys.modules]; "
        "mercer.testing.check_kernel_implementation, mercer.plot.SpectrumDisplay, mercer.datasets; "
        "assert mercer.save is mercer.formats.save; assert 'save' in vars(mercer); assert 'compress' in dir(mercer); "
        "assert not hasattr(mercer, 'nothing')"
    )
    _python(code)


def test_dir_lists_public_names_and_packages_alone():
    names = {name for name in dir(mercer) if not name.startswith("__")}
    assert names >= {*mercer.__all__}
    assert not [name for name in names if name.startswith("_") or not hasattr(mercer, name)]
    assert not names & {"Any", "TYPE_CHECKING", "linalg", "solvers"}
