"""Files are regular, and their content is known to fit into memory before it is read."""

import io
import os
import zipfile

import numpy as np
import pytest

import mercer as mc
from mercer import cli
from mercer.cli.failure import Failure
from mercer.cli.tables import require_arrays, require_file


@pytest.fixture
def model(tmp_path):
    """A model file with three features."""
    path = tmp_path / "svm.mercer"
    mc.save(mc.SVC(kernel=mc.Gaussian(0.5)).fit(np.eye(3), [0, 1, 1]), path)
    return path


def header(shape, dtype="<f8"):
    """Return the header of an array file."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_devices_and_folders_are_refused_and_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, word in ((tmp_path / "pipe", "not a regular file"), (tmp_path, "a folder")):
        with pytest.raises(Failure, match=f"{path}: this is {word}; name it"):
            require_file(path, "it")


def test_files_and_arrays_have_a_limit_that_the_message_shows(tmp_path, limits):
    limits(command_bytes=1000)
    (tmp_path / "fits").write_bytes(bytes(1000))
    require_file(tmp_path / "fits", "it")
    (tmp_path / "large").write_bytes(bytes(1001))
    with pytest.raises(
        Failure, match=r"the file has 1.0 kB, commands read at most 1.0 kB; give fewer rows"
    ):
        require_file(tmp_path / "large", "it")
    zipped(tmp_path / "a.npz", X=header((2, 3)) + bytes(48), other=bytes(5000))
    require_arrays(tmp_path / "a.npz")
    zipped(tmp_path / "b.npz", X=header((10, 30)) + bytes(2400))
    with pytest.raises(Failure, match=r"X.npy has 2.5 kB, commands read at most"):
        require_arrays(tmp_path / "b.npz")


@pytest.mark.parametrize("shape", [(10**9, 9), (10**30, 3), (3, 3)])
def test_arrays_that_state_another_size_than_they_have_are_refused(shape, tmp_path):
    content = header(shape) + bytes(48)
    (tmp_path / "a.npy").write_bytes(content)
    zipped(tmp_path / "a.npz", X=content)
    for name in ("a.npy", "a.npz"):
        with pytest.raises((Failure, ValueError), match="commands read at most|states 72 bytes"):
            require_arrays(tmp_path / name)


HOSTILE = {
    "index.svm": b"1 99999999999:1\n",
    "index31.svm": b"1 2147483648:1\n",
    "negative.svm": b"1 -5:1\n",
    "zero.svm": b"1 0:1\n",
    "binary.svm": bytes(range(256)),
    "compressed.svm.gz": b"\x1f\x8b\x08" + bytes(100),
    "empty.npz": b"",
    "cut.npz": b"PK\x03\x04" + bytes(10),
    "cut.npy": b"\x93NUMPY\x01\x00",
    "wide.npy": header((10**12, 3)),
    "negative.npy": header((-1, 3)),
    "object.npy": header((1, 3), "|O") + b"cos\nsystem\n",
    "date.npy": header((1, 3), "<M8[D]") + bytes(24),
    "latin.csv": b"\xe9,1,2,3\n",
    "zeros.csv": bytes(1000),
    "endless.csv": b"1e999,1,1,0\n",
    "commas.csv": b"," * 100_000,
    "deep.mercer": b"[" * 100_000,
    "svm_type.model": b"svm_type c_svc\nkernel_type rbf\nnr_class 99999999999999999999\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_content_of_a_file_gives_a_traceback(name, model, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    commands = (
        ["info", str(path)],
        ["compress", str(model), "--vectors", "1", "--data", str(path)],
    )
    for command in commands:
        assert cli.main(command) == 1
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith(f"mercer: {path}: ")
        assert "fault of mercer" not in error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_neither_pipes_nor_endless_devices_hang_a_command(model, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        for command in (["info", path], ["compress", str(model), "--vectors", "1", "--data", path]):
            assert cli.main(command) == 1
            assert f"mercer: {path}: this is not a regular file" in capsys.readouterr().err


def test_an_archive_that_inflates_beyond_the_limit_is_refused(model, tmp_path, capsys):
    path = tmp_path / "bomb.npz"
    zipped(path, X=header((10**9 // 3, 3)) + bytes(2**22))
    assert path.stat().st_size < 10_000
    assert cli.main(["compress", str(model), "--vectors", "1", "--data", str(path)]) == 1
    assert "X.npy has 8.0 GB, commands read at most 1.0 GB" in capsys.readouterr().err
