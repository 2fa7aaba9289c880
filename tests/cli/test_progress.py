import io

from mercer.cli import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_one_line_that_changes():
    stream = Terminal()
    progress = Progress(stream)
    progress("one")
    progress("two")
    progress.end()
    assert stream.getvalue() == "\r\x1b[2Kone ...\r\x1b[2Ktwo ...\r\x1b[2K"


def test_steps_draw_a_bar_on_a_terminal_and_nothing_elsewhere():
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        progress = Progress(stream)
        progress("one")
        progress.step(6, 12)
        progress.step(13, 12)
    bars = terminal.getvalue().split("\r\x1b[2K")[2:]
    assert bars == [f"one [{'#' * 12}{'.' * 12}] 6 of 12", f"one [{'#' * 24}] 13 of 12"]
    assert file.getvalue() == "one ...\n"
