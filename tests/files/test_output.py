"""Outputs appear whole or not at all, and leave devices, pipes, links and permissions alone."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kerneton.files.output import replacing, write_text

posix = pytest.mark.skipif(os.name != "posix", reason="needs a Unix")


def write(path):
    with replacing(path) as temporary:
        temporary.write_text("new")


def tell(path):
    write_text(path, "new")


WRITERS = pytest.mark.parametrize("writer", [write, tell], ids=["replacing", "write_text"])


def node(path, minor):
    """A character device like those in /dev, in a folder of our own."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except PermissionError:
        pytest.skip("devices cannot be made here")
    return path


def python(program, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], check=False, timeout=120, **options
    )


# Devices, pipes, links


@WRITERS
def test_a_device_stays_a_device(writer, tmp_path):
    device = node(tmp_path / "null", 3)
    writer(device)
    assert stat.S_ISCHR(device.lstat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["null"]


@WRITERS
def test_a_full_device_says_so_by_its_name(writer, tmp_path):
    device = node(tmp_path / "full", 7)
    with pytest.raises(OSError, match="No space left") as caught:
        writer(device)
    assert caught.value.filename == str(device)
    assert stat.S_ISCHR(device.lstat().st_mode)


@posix
@WRITERS
def test_a_pipe_is_written_to(writer, tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    writer(pipe)
    reader.join(60)
    assert got == ["new"]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@posix
@WRITERS
def test_a_link_stays_and_its_file_is_replaced(writer, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file.txt").write_text("old")
    (tmp_path / "near.txt").symlink_to("real/file.txt")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "far.txt").symlink_to("folder/../near.txt")
    writer(tmp_path / "far.txt")
    assert (tmp_path / "far.txt").is_symlink()
    assert (tmp_path / "near.txt").is_symlink()
    assert (tmp_path / "real" / "file.txt").read_text() == "new"
    assert not (tmp_path / "real" / "file.txt").is_symlink()


@posix
@WRITERS
def test_a_link_to_nothing_leads_to_the_new_file(writer, tmp_path):
    (tmp_path / "link").symlink_to("target")
    writer(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


@posix
@WRITERS
def test_links_in_a_circle(writer, tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught:
        writer(tmp_path / "a")
    assert caught.value.errno == errno.ELOOP
    assert caught.value.filename == str(tmp_path / "a")


TWICE = """
import sys
from kerneton.files.output import replacing, write_text
print("before")
write_text(sys.argv[1], "text\\n")
with replacing("/dev/fd/1") as temporary:
    temporary.write_text("file\\n")
print("after")
"""


@pytest.mark.skipif(not os.path.exists("/dev/fd/1"), reason="needs /dev/fd")
def test_the_standard_output_is_written_to_in_order(tmp_path):
    """Through a link of our own like /dev/stdout: code that replaced it would harm the whole
    machine.
    """
    link, log = tmp_path / "stdout", tmp_path / "log"
    link.symlink_to("/proc/self/fd/1" if os.path.exists("/proc/self/fd/1") else "/dev/fd/1")
    assert python(TWICE, link, capture_output=True).stdout == b"before\ntext\nfile\nafter\n"
    log.write_text("kept\n")
    with log.open("ab") as file:
        assert python(TWICE, link, stdout=file).returncode == 0
    assert log.read_text() == "kept\nbefore\ntext\nfile\nafter\n"
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log", "stdout"]


# Permissions


@posix
def test_new_files_have_the_permissions_that_the_system_gives(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")  # other threads make files while it is changed
            write_text(tmp_path / "new", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@posix
@pytest.mark.parametrize("mode", [0o600, 0o444, 0o664])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(mode)
    with replacing(tmp_path / "old") as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("new")
    assert (tmp_path / "old").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == mode


# Errors


@WRITERS
@pytest.mark.parametrize(
    ("name", "number"),
    [("file/x.txt", errno.ENOTDIR), ("file/deep/x.txt", errno.ENOTDIR), ("folder", errno.EISDIR)]
    + [("x" * 300 + ".txt", errno.ENAMETOOLONG)],
)
def test_errors_name_the_file_that_was_asked_for(writer, tmp_path, name, number):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="Errno") as caught:
        writer(tmp_path / name)
    assert caught.value.errno == number
    assert caught.value.filename == str(tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_errors_about_other_files_keep_their_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "out"):
        (tmp_path / "missing").read_text()
    assert caught.value.filename == str(tmp_path / "missing")


@pytest.mark.parametrize("length", [200, 250, 255])
def test_long_names_that_the_system_allows(tmp_path, length):
    name = "x" * (length - 4) + ".txt"
    write_text(tmp_path / name, "done")
    write_text(tmp_path / ("a." + "y" * (length - 2)), "done")
    assert len(list(tmp_path.iterdir())) == 2


@posix
def test_a_disk_that_is_full_leaves_the_old_file(tmp_path):
    """A limit on the size of files stands for the disk: the system refuses the write half-way."""
    (tmp_path / "out").write_text("old")
    program = "import sys; from kerneton.files.output import write_text; write_text(sys.argv[1], 'x' * 100_000)"
    done = python(
        program,
        tmp_path / "out",
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert done.returncode == 1
    assert f"File too large: '{tmp_path / 'out'}'" in done.stderr
    assert (tmp_path / "out").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_bytes_that_are_no_text(tmp_path):
    write_text(tmp_path / "out", os.fsdecode(b"caf\xe9 \xc3\xa9"))
    assert (tmp_path / "out").read_text(encoding="utf-8") == "caf\\udce9 é"


# Crashes


def test_the_content_is_on_the_disk_before_the_name(tmp_path, monkeypatch):
    events = []

    def recorded(name, function):
        def call(*arguments, **options):
            events.append(name)
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(os, "fsync", recorded("fsync", os.fsync))
    monkeypatch.setattr(Path, "replace", recorded("replace", Path.replace))
    write_text(tmp_path / "out", "done")
    assert events == ["fsync", "replace", "fsync"]


KILLED = """
import os, signal, sys
from kerneton.files.output import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(temporary.name, flush=True)
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


@posix
def test_what_killed_runs_left_is_removed_by_the_next(tmp_path):
    done = python(KILLED, tmp_path / "a.npz", "die", capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    (tmp_path / ".kerneton-notes").write_text("the user's own")
    left = tmp_path / done.stdout.strip()
    assert left.read_text() == "half"
    write_text(tmp_path / "b.txt", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".kerneton-notes", "b.txt"]


@posix
def test_what_others_are_writing_stays(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path / "a.npz", "live"], **pipes
    ) as other:
        other.stdout.readline()
        write_text(tmp_path / "b.txt", "")
        other.stdin.close()
        assert other.wait(60) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npz", "b.txt"]
    assert (tmp_path / "a.npz").read_text() == "half"


def test_many_threads_write_one_file(tmp_path):
    texts = [letter * 10_000 for letter in "abcdefgh"]
    threads = [threading.Thread(target=write_text, args=(tmp_path / "out", text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (tmp_path / "out").read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
