"""Which files and folders may be written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from readlet.errors import InputError
from readlet.storage.files import write_text
from readlet.storage.overwrite import check_file, check_folder, make_folder, others


def foreign(folder: Path) -> Iterator[Path]:
    return others(folder, {"own.json"})


def test_an_input_is_not_replaced(tmp_path: Path) -> None:
    data, other = tmp_path / "data.json", tmp_path / "other.json"
    data.write_text("{}")
    other.write_text("{}")
    (tmp_path / "soft.json").symlink_to(data)
    (tmp_path / "hard.json").hardlink_to(data)
    for name in ("data.json", "soft.json", "hard.json"):
        with pytest.raises(InputError) as caught:
            check_file(tmp_path / name, [other, data])
        assert caught.value.fault == "is also an input"
    check_file(other, [data, tmp_path / "missing.json"])
    check_file(tmp_path / "new.json", [data])


def test_all_files_of_a_folder_that_is_read_are_inputs(tmp_path: Path) -> None:
    inside = tmp_path / "reader" / "config.json"
    inside.parent.mkdir()
    inside.write_text("{}")
    with pytest.raises(InputError, match="is also an input"):
        check_file(inside, [inside.parent])
    check_file(inside.parent / "predictions.json", [inside.parent])


def test_devices_are_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a regular file"):
        check_file(Path("/dev/null"))
    path = tmp_path / "kept.json"
    path.write_text("{}")
    with pytest.raises(InputError, match="--overwrite"):
        check_file(path, overwrite=False)


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("nul\0.json", "x" * 256):
        for check in (check_file, lambda path: check_folder(path, foreign)):
            with pytest.raises(InputError, match="cannot be written") as caught:
                check(tmp_path / name)
            assert "\0" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_of_a_long_name_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_text(path, "old")
    path.chmod(0o600)
    write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_new_or_empty_folder_may_be_written(tmp_path: Path) -> None:
    check_folder(tmp_path, foreign)
    check_folder(tmp_path / "new" / "deeper", foreign)
    for name in ("own.json", ".own.json.ab12_xyz.readlet", ".own.json"):
        (tmp_path / name).write_text("{}")
    check_folder(tmp_path, foreign)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["mine.txt", ".hidden", ".own.json.of-mine", "own.json.bak"])
def test_a_folder_with_another_file_may_not_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError) as caught:
        check_folder(tmp_path, foreign)
    assert caught.value.source == tmp_path
    assert name in caught.value.fault


def test_a_link_named_like_a_file_of_ours_leads_to_one_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "own.json").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(InputError, match=r"holds own\.json"):
        check_folder(tmp_path / "out", foreign)


def test_inputs_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text("{}")
    with pytest.raises(InputError, match="is also an input"):
        check_folder(tmp_path, foreign, [tmp_path / "missing", tmp_path / "."])
    with pytest.raises(InputError, match=r"holds an input, own\.json"):
        check_folder(tmp_path, foreign, [tmp_path / "own.json"])


def test_a_link_to_a_missing_folder_is_followed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "far" / "real")
    check_folder(link, foreign)
    make_folder(link)
    assert link.is_symlink()
    assert (tmp_path / "far" / "real").is_dir()
