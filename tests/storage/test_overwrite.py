"""Which files and folders may be written."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from readlet.errors import ReadletError
from readlet.storage.overwrite import check_file, check_folder, make_folder, others


def foreign(folder: Path) -> Iterator[Path]:
    return others(folder, {"own.json"})


def test_an_input_is_no_place_for_a_file(tmp_path: Path) -> None:
    data, other = tmp_path / "data.json", tmp_path / "other.json"
    data.write_text("{}")
    other.write_text("{}")
    (tmp_path / "soft.json").symlink_to(data)
    (tmp_path / "hard.json").hardlink_to(data)
    for name in ("data.json", "soft.json", "hard.json"):
        with pytest.raises(ReadletError, match=f"{name}: is also an input; give another file"):
            check_file(tmp_path / name, [other, data])
    check_file(other, [data, tmp_path / "missing.json"])
    check_file(tmp_path / "new.json", [data])


def test_all_files_of_a_folder_that_is_read_are_inputs(tmp_path: Path) -> None:
    inside = tmp_path / "reader" / "config.json"
    inside.parent.mkdir()
    inside.write_text("{}")
    with pytest.raises(ReadletError, match="is also an input"):
        check_file(inside, [inside.parent])
    check_file(inside.parent / "predictions.json", [inside.parent])


def test_devices_and_read_only_files_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ReadletError, match="/dev/null: is not a regular file; name a file"):
        check_file(Path("/dev/null"))
    path = tmp_path / "kept.json"
    path.write_text("{}")
    access = os.access
    monkeypatch.setattr(os, "access", lambda found, mode: found != path and access(found, mode))
    with pytest.raises(ReadletError, match=r"kept\.json: is read-only; give another file"):
        check_file(path)


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("nul\0.json", "x" * 256):
        with pytest.raises(ReadletError, match=r"cannot be written \(.*; give another") as caught:
            check_file(tmp_path / name)
        assert "\0" not in str(caught.value)
        with pytest.raises(ReadletError, match=r"cannot be written \(.*; give another"):
            check_folder(tmp_path / name, foreign)
    deep = tmp_path.joinpath(*["x" * 150] * 25)
    deep /= "y" * (4060 - len(str(deep)))  # only the files inside would have too long a path
    with pytest.raises(ReadletError, match=r"cannot be written \(File name too long\)"):
        check_folder(deep, foreign)
    assert list(tmp_path.iterdir()) == []


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    from readlet.storage.files import write_text

    path = tmp_path / ("x" * 255)
    check_file(path)
    write_text(path, "text")
    assert path.read_text() == "text"


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    from readlet.storage.files import write_text

    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o600)
    write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_new_or_empty_folder_may_be_written(tmp_path: Path) -> None:
    check_folder(tmp_path, foreign)
    check_folder(tmp_path / "new" / "deeper", foreign)
    (tmp_path / "own.json").write_text("{}")
    for temporary in (".own.json.ab12_xyz.readlet", ".own.json", ".DS_Store"):
        (tmp_path / temporary).write_text("{}")
    check_folder(tmp_path, foreign)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["mine.txt", ".hidden", ".own.json.of-mine", "own.json.bak"])
def test_a_folder_with_another_file_may_not_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    remedy = "give another folder, or move it away"
    with pytest.raises(ReadletError) as caught:
        check_folder(tmp_path, foreign)
    assert str(caught.value) == f"{tmp_path}: holds {name}, which Readlet did not make; {remedy}"


def test_the_program_makes_no_links(tmp_path: Path) -> None:
    """A link named like a file of ours leads to a file of the user."""
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "own.json").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(ReadletError, match=r"holds own\.json, which"):
        check_folder(tmp_path / "out", foreign)


def test_inputs_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text("{}")
    with pytest.raises(ReadletError, match="is also an input; give another folder"):
        check_folder(tmp_path, foreign, [tmp_path / "missing", tmp_path / "."])
    with pytest.raises(ReadletError, match=r"holds an input, own\.json; give another folder"):
        check_folder(tmp_path, foreign, [tmp_path / "own.json"])


def test_a_link_to_a_missing_folder_is_followed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "far" / "real")
    check_folder(link, foreign)
    make_folder(link)
    assert link.is_symlink()
    assert (tmp_path / "far" / "real").is_dir()
