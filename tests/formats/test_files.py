"""Files are replaced completely or not at all, by every writer of the formats."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer as mc
from mercer.formats import to_c, write_libsvm
from mercer.formats.files import ModelFileError, as_path, replacing

MODEL = mc.SVC(kernel=mc.Gaussian(0.5)).fit(np.array([[0.0], [1.0], [2.0]]), [0, 0, 1])


@pytest.fixture(params=["without a name", "with a name"])
def temporary(request, monkeypatch):
    """Temporary files without a name, where the system has them, and files with a name."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def test_a_file_appears_under_its_name_when_everything_is_written(tmp_path, temporary):
    for content in (b"first", b"second"):
        with replacing(tmp_path / "a") as file:
            file.write(content)
            others = [path.name for path in tmp_path.iterdir() if path.name != "a"]
            assert [name.startswith(".a.") for name in others] == [True] * (
                temporary == "with a name"
            )
        assert (tmp_path / "a").read_bytes() == content
        assert os.listdir(tmp_path) == ["a"]


SAVING = """
import os, sys, signal
from mercer.formats.files import replacing
if sys.argv[2] == "with a name" and hasattr(os, "O_TMPFILE"):
    del os.O_TMPFILE
with replacing(sys.argv[1]) as file:
    file.write(b"new")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(
    not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name, or no locks"
)
def test_a_process_that_is_killed_while_it_saves_leaves_no_file_that_stays(tmp_path, temporary):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / ".a.not-temporary").write_bytes(b"mine")
    subprocess.run([sys.executable, "-c", SAVING, tmp_path / "a", temporary], check=False)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == (3 if temporary == "with a name" else 2)
    with replacing(tmp_path / "a") as file:
        # the file of another writer that is alive stays
        with replacing(tmp_path / "a") as other:
            other.write(b"other")
        file.write(b"last")
    assert (tmp_path / "a").read_bytes() == b"last"
    assert sorted(os.listdir(tmp_path)) == [".a.not-temporary", "a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_keeps_the_old_file_and_leaves_no_other(error, tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def interrupted():
        with replacing(str(tmp_path / "a")) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        interrupted()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_permissions_of_a_replaced_file_are_kept_and_a_new_file_follows_the_mask(tmp_path):
    mask = os.umask(0o027)
    try:
        for name, mode in (("old", 0o604), ("new", 0o640)):
            if name == "old":
                (tmp_path / name).write_bytes(b"")
                (tmp_path / name).chmod(mode & ~0o027)
            with replacing(tmp_path / name) as file:
                file.write(b"content")
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode & ~0o027
    finally:
        os.umask(mask)


@pytest.mark.parametrize("mask", [0, 0o077])
def test_a_new_file_is_readable_and_writable_as_far_as_the_mask_allows(mask, tmp_path):
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "new") as file:
            file.write(b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~mask


def test_a_link_is_replaced_and_its_target_stays(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_written_to_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with replacing(tmp_path / "pipe") as file:
        file.write(b"content")
    assert os.read(end, 100) == b"content"
    os.close(end)
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("write", [mc.save, to_c, write_libsvm])
def test_every_writer_keeps_the_old_file_when_the_disk_is_full(write, tmp_path, failing):
    (tmp_path / "model").write_bytes(b"old")
    with failing("fsync", OSError("disk full")), pytest.raises(OSError, match="disk full"):
        write(MODEL, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]
    write(MODEL, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size > 100
    assert os.listdir(tmp_path) == ["model"]


def test_errors_of_model_files_are_errors_of_values():
    assert issubclass(ModelFileError, ValueError)


@pytest.mark.parametrize("path", [None, 3.5, ["a"], b"a"], ids=repr)
def test_only_text_and_paths_are_paths(path):
    for call in (lambda path: mc.save(mc.Linear(), path), mc.load):
        with pytest.raises(
            TypeError,
            match=f"path must be text or a pathlib.Path, got .* of type {type(path).__name__}",
        ):
            call(path)


@pytest.mark.parametrize("path", ["", "a\0b"], ids=repr)
def test_a_path_is_the_name_of_a_file(path):
    for call in (lambda path: mc.save(mc.Linear(), path), mc.load):
        with pytest.raises(
            ValueError, match="path = .* must be the name of a file, without null bytes"
        ):
            call(path)


@pytest.mark.parametrize(
    "name", ["a", "a" * 4096, Path("a")], ids=["one letter", "the longest", "a path"]
)
def test_names_of_1_to_4096_characters_are_paths(name):
    assert as_path(name) == Path(name)
    with pytest.raises(ValueError, match="of at most 4096 characters"):
        as_path("a" * 4097)
