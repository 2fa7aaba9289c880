from pathlib import Path

import pytest

from mercer.cli.arguments import parse


def test_defaults_of_compress():
    _, options = parse(["compress", "a.model", "--vectors", "7"])
    assert (options.model, options.vectors, options.max_loss) == (Path("a.model"), 7, None)
    assert (options.data, options.to, options.output, options.dtype, options.seed) == (
        None,
        "mercer",
        None,
        None,
        0,
    )


def test_every_option_of_compress_arrives_in_its_type():
    words = (
        "compress a --data d.csv --max-loss 0.25 --to c -o out.c --dtype float32 --seed 4294967295"
    )
    _, options = parse(words.split())
    assert (options.data, options.max_loss, options.to) == (Path("d.csv"), 0.25, "c")
    assert (options.output, options.dtype, options.seed) == (Path("out.c"), "float32", 2**32 - 1)


def test_commands_have_their_functions(capsys):
    runs = [
        parse(words)[0] for words in (["compress", "a", "--vectors", "1"], ["info", "a"], ["demo"])
    ]
    assert len({*runs}) == 3
    assert all(map(callable, runs))
    assert parse(["demo"])[1].folder == Path("mercer-demo")
    assert parse([])[0] is None
    assert "usage: mercer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--vectors 0", "'0' must be a positive integer"),
        ("--vectors -1", "must be a positive integer"),
        ("--vectors ²", "must be a positive integer"),
        ("--vectors 1 --seed 4294967296", "must be an integer from 0 to 4294967295"),
        ("--vectors 1 --seed 1.5", "must be an integer from 0 to 4294967295"),
        ("--max-loss 1", "must be a number of at least 0 and below 1"),
        ("--max-loss -0.1", "-0.1"),
        ("--max-loss nan", "must be a number of at least 0 and below 1"),
        ("--max-loss x", "must be a number of at least 0 and below 1"),
        ("", "one of --vectors N and --max-loss L is needed"),
    ],
)
def test_numbers_out_of_range_are_refused(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(["compress", "a", *words.split()])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_the_bounds_themselves_are_allowed():
    _, options = parse(["compress", "a", "--vectors", "1", "--max-loss", "0", "--seed", "0"])
    assert (options.vectors, options.max_loss, options.seed) == (1, 0.0, 0)
