import pytest

import mercer as mc
from mercer.cli.failure import Failure, naming


@pytest.mark.parametrize(
    "error", [ValueError("wrong."), TypeError("wrong"), MemoryError("wrong"), OSError("wrong")]
)
def test_the_sentence_names_the_place_the_reason_and_the_remedy(error):
    with pytest.raises(Failure) as caught, naming("a.csv", "do this"):
        raise error
    assert str(caught.value) == "a.csv: wrong; do this"


def test_errors_of_the_system_have_no_number(tmp_path):
    with pytest.raises(Failure, match=r"^file: No such file or directory$"), naming("file"):
        (tmp_path / "none").read_text()


def test_a_failure_and_an_interrupt_pass_as_they_are():
    with pytest.raises(Failure, match="^first$"), naming("second"):
        raise Failure("first")
    with pytest.raises(KeyboardInterrupt), naming("second"):
        raise KeyboardInterrupt


def test_an_error_without_text_is_named_by_its_class():
    with pytest.raises(Failure, match="^a: MemoryError$"), naming("a"):
        raise MemoryError


def test_a_long_text_of_another_library_is_cut():
    with pytest.raises(Failure, match=r"^a: x{120} \.\.\.; do this$"), naming("a", "do this"):
        raise ValueError(121 * "x")
    with pytest.raises(Failure, match="^a: x{120}$"), naming("a"):
        raise ValueError(120 * "x")


def test_a_long_message_of_mercer_keeps_its_remedy():
    inner = mc.DirectSum(mc.Linear(), mc.Gaussian(1.0), n_features=3)
    with pytest.raises(Failure, match="leave out its n_features") as found, naming("model.json"):
        mc.DirectSum(inner, mc.Linear())
    assert len(str(found.value)) > 140
