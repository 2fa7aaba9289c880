import os
import subprocess
import sys
from pathlib import Path

import pytest

import mercer
from mercer import cli
from mercer.cli import demo


def test_help_is_given_for_every_command(capsys):
    for arguments in (["--help"], ["demo", "--help"], ["info", "--help"], ["compress", "--help"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 0
        assert arguments[0].strip("-") in capsys.readouterr().out


def test_the_version_is_that_of_the_library(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"mercer {mercer.__version__}\n"


def test_python_m_mercer_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "mercer", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"mercer {mercer.__version__}\n"


def test_without_a_command_the_help_goes_to_stderr_and_the_code_is_2(capsys):
    assert cli.main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: mercer" in captured.err


def test_an_unknown_command_exits_with_2():
    with pytest.raises(SystemExit) as stop:
        cli.main(["no-such-command"])
    assert stop.value.code == 2


@pytest.mark.usefixtures("tiny_demo")
def test_the_demo_ends_with_the_path_and_reports_on_stderr(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{Path('mercer-demo') / 'index.html'}\n"
    assert captured.err == "working ...\n"
    assert (tmp_path / "mercer-demo" / "index.html").is_file()


def test_a_folder_that_cannot_be_created_is_named_and_the_code_is_1(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", str(tmp_path / "file")]) == 1
    error = capsys.readouterr().err
    assert f"mercer: cannot write {tmp_path / 'file'}" in error
    assert "mercer demo FOLDER" in error


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere"
)
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert cli.main(["demo", str(tmp_path / "page")]) == 1
    assert "Permission denied" in capsys.readouterr().err


def test_without_matplotlib_the_error_names_the_package_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["demo", str(tmp_path / "page")]) == 1
    assert 'pip install "mercer[plot]"' in capsys.readouterr().err
    assert not (tmp_path / "page").exists()


@pytest.fixture
def running(monkeypatch):
    """Return a function that lets the command run a function."""
    return lambda run: monkeypatch.setattr(cli, "parse", lambda _: (run, None))


def test_an_interrupt_ends_with_130(running, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    running(interrupted)
    assert cli.main([]) == 130
    assert capsys.readouterr().err == "mercer: stopped\n"


def test_the_installed_command_runs():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from mercer.cli import main; sys.exit(main(['--version']))",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert (done.returncode, done.stdout) == (0, f"mercer {mercer.__version__}\n")


@pytest.fixture
def tiny_demo(monkeypatch):
    def write(folder, callback):
        callback("working")
        folder.mkdir()
        (folder / "index.html").write_text("")
        return folder / "index.html"

    monkeypatch.setattr(demo, "write", write)


def test_a_fault_of_mercer_is_one_line_that_says_so(running, capsys):
    def run(*_):
        raise LookupError("no\nsuch entry")

    running(run)
    assert cli.main([]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "mercer: LookupError: no such entry; this is a fault of mercer, please report it"
    )


def test_names_of_files_that_are_no_text_are_printed_in_escapes(running, capsysbinary):
    running(lambda *_: "model\udcff.mercer")
    assert cli.main([]) == 0
    assert capsysbinary.readouterr().out == b"model\\udcff.mercer\n"
