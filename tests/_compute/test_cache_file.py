import pickle

import pytest

from mercer._compute.cache_file import checked_file

KEYS = [("first", 1), ("second", 2)]


@pytest.fixture
def file(tmp_path):
    return checked_file()(str(tmp_path), "module.function", (1.0, 2))


def test_data_come_back_by_their_key(file, tmp_path):
    for key in KEYS:
        file.save(key, [key])
    again = checked_file()(str(tmp_path), "module.function", (1.0, 2))
    assert [again.load(key) for key in KEYS] == [[key] for key in KEYS]
    assert again.load(("third", 3)) is None
    again.flush()
    assert file.load(KEYS[0]) is None


def test_data_of_another_version_of_the_source_are_not_found(file, tmp_path):
    file.save(KEYS[0], "data")
    assert checked_file()(str(tmp_path), "module.function", (1.0, 3)).load(KEYS[0]) is None


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_every_flipped_bit_and_every_missing_end_is_an_error(file, tmp_path, suffix):
    file.save(KEYS[0], "data")
    (path,) = tmp_path.glob(f"*.{suffix}")
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
        for damaged in (flipped, content[:place]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=f"{suffix} is damaged"):
                file.load(KEYS[0])


def test_code_that_another_process_wrote_for_another_key_is_not_used(file, tmp_path):
    file.save(KEYS[0], "data")
    (path,) = tmp_path.glob("*.nbc")
    theirs = checked_file()(str(tmp_path / "other"), "module.function", (1.0, 2))
    (tmp_path / "other").mkdir()
    theirs.save(KEYS[1], "other data")
    (other,) = (tmp_path / "other").glob("*.nbc")
    path.write_bytes(other.read_bytes())
    assert file.load(KEYS[0]) is None


def test_files_without_a_checksum_are_not_read(file, tmp_path):
    (tmp_path / "module.function.nbi").write_bytes(pickle.dumps("0.0"))
    assert file.load(KEYS[0]) is None
    file.save(KEYS[0], "data")
    assert {path.name for path in tmp_path.iterdir()} == {
        "module.function.nbi",
        "module.function.sha256.nbi",
        "module.function.sha256.1.nbc",
    }
