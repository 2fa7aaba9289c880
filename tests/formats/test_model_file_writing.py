"""A model file is written completely or not at all: after any interruption the old file is there.

F7 and F10 are rows of the catalogue of failures that other formats had.
"""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.formats.golden import make

import mercer as mc

GOLDEN = Path(__file__).parent / "golden"
MODELS = make.models()


def test_f7_a_link_is_replaced_and_what_it_points_to_stays(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "model").symlink_to(tmp_path / "victim")
    mc.save(MODELS["SVC"], tmp_path / "model")
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (tmp_path / "model").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "victim"]


def test_f7_folders_pipes_and_missing_files_are_refused(tmp_path):
    with pytest.raises(mc.ModelFileError, match="path = .* must be a regular file"):
        mc.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(mc.ModelFileError, match="path = .* must be a regular file"):
        mc.load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        mc.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()], ids=["disk full", "Ctrl-C"]
)
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_f10_a_write_that_fails_leaves_the_old_file_and_no_other(saved, failing, call, error):
    with failing(call, error), pytest.raises(type(error)):
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
    done = subprocess.run(
        [sys.executable, "-c", code, saved.path, other], capture_output=True, text=True, timeout=60
    )
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
