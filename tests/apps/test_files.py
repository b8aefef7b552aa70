"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from foldline.apps.cli.files import check_targets, write_files
from foldline.errors import ExternalError, UsageError


def test_all_files_are_written(tmp_path: Path) -> None:
    """New files come into being with the usual mode, and no draft stays."""
    write_files({str(tmp_path / "a"): b"one", str(tmp_path / "b"): b"two"})

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a": b"one",
        "b": b"two",
    }
    (tmp_path / "c").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "c").stat().st_mode


def test_one_bad_name_leaves_the_others_alone(tmp_path: Path) -> None:
    """Where one file cannot be written, those before it keep what they hold."""
    (tmp_path / "a").write_bytes(b"old")

    with pytest.raises(UsageError, match="cannot write"):
        write_files({str(tmp_path / "a"): b"new", str(tmp_path / "no" / "b"): b"two"})

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What a link points to is written; the link itself stays."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")

    write_files({str(tmp_path / "link"): b"new"})

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A device is written to, not replaced."""
    write_files({os.devnull: b"gone"})

    assert not Path(os.devnull).is_file()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_not_the_callers_fault() -> None:
    """A device without room is a failure of the outside."""
    full = "/dev/full"
    if not Path(full).exists():
        pytest.skip("this system has no /dev/full to fail on")

    with pytest.raises(ExternalError, match="cannot write /dev/full: No space left"):
        write_files({full: b"too much"})


@pytest.mark.parametrize("name", ["", "folder", "missing/file", "absent/"])
def test_a_target_is_checked_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A folder and a missing folder are refused as a file to write."""
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match="cannot write"):
        check_targets({"--output": name})


def test_two_options_never_name_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file for two outputs is refused, there or not, and through links; a device is not one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "dangling").symlink_to("new")

    for one, other in (("new", "./new"), ("there", "link"), ("new", "dangling")):
        with pytest.raises(UsageError, match="--state and --output name the same file"):
            check_targets({"--state": one, "--output": other})
    check_targets({"--state": os.devnull, "--output": os.devnull})
    check_targets({"--state": "there", "--output": "new", "--html": None})


def test_what_is_read_is_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the conversation nor a configuration is a file to write, through a link neither."""
    monkeypatch.chdir(tmp_path)
    for name in ("log", "config"):
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / f"{name}.link").symlink_to(name)

    with pytest.raises(UsageError, match="this command reads it"):
        check_targets({"--output": "log.link"}, reads=["log"])
    with pytest.raises(UsageError, match="this command reads it"):
        check_targets({"--state": "config"}, reads=["-", "config.link"])
