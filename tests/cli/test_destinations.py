"""No command overwrites its inputs or writes twice to the same place, whatever the names of the files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from mercer import _file_identity
from mercer.cli.destinations import matches
from mercer.persist.checkpoints import Checkpoints

FIT = ("fit", "d.csv", "--target", "price", "--features", "8")
TUNE = ("tune", "d.csv", "--target", "price", "--rounds", "1", "--features", "8")
COMPARE = ("compare", "d.csv", "--target", "price", "--features", "8")


@pytest.fixture
def here(stored, tmp_path, monkeypatch):
    """A folder of rows, a model and links, in which commands run."""
    for name, source in (("d.csv", "houses.csv"), ("m.mercer", "houses.mercer"), ("new.html", "houses.csv")):
        (tmp_path / name).write_bytes((stored / source).read_bytes())
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "one.csv").write_bytes((stored / "houses.csv").read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "d.csv")
    os.link(tmp_path / "d.csv", tmp_path / "hard.csv")
    (tmp_path / "same").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "x.mercer")
    for name in ("c.toml", "c.csv", "c.html"):
        (tmp_path / name).write_text("memory = '1GB'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    "arguments",
    [
        (*FIT, "-o", "d.csv"),
        (*FIT, "-o", "./d.csv"),
        (*FIT, "-o", "d.csv/"),
        (*FIT, "-o", "hard.csv/."),
        (*FIT, "-o", "x.mercer", "--report", "d.csv/"),
        (*FIT, "-o", "x.mercer", "--report", "x.mercer/"),
        (*FIT, "-o", "c.toml/", "--config", "c.toml"),
        (*COMPARE, "--html", "d.csv/"),
        ("predict", "m.mercer", "d.csv", "-o", "d.csv/"),
        ("predict", "m.mercer", "d.csv", "-o", "m.mercer//"),
        ("transform", "m.mercer", "d.csv", "-o", "d.csv/."),
        (*FIT, "-o", "same/many/../d.csv"),
        (*FIT, "-o", "many/../d.csv"),
        (*FIT, "-o", "link.csv"),
        (*FIT, "-o", "hard.csv"),
        (*FIT, "-o", "d.csv", "--dry-run"),
        (*FIT, "-o", "x.mercer", "--report", "hard.csv"),
        (*FIT, "-o", "x.mercer", "--report", "x.mercer"),
        (*FIT, "-o", "x.mercer", "--report", "same/x.mercer"),
        (*FIT, "-o", "x.mercer", "--report", "dangling"),
        (*FIT, "-o", "x.mercer", "--checkpoint", "d.csv"),
        (*FIT, "-o", "x.mercer", "--checkpoint", "x.mercer"),
        (*FIT, "-o", "x.mercer", "--checkpoint", "x.mercer.lock"),
        (*FIT, "-o", "x.mercer", "--report", "x.mercer.checkpoint"),
        (*FIT, "-o", "x.mercer", "--report", "x.mercer.checkpoint.previous"),
        (*FIT, "-o", "x.mercer", "--checkpoint", "c", "--report", "c.lock"),
        (*FIT, "-o", "c.toml", "--config", "c.toml"),
        (*FIT, "-o", "x.mercer", "--report", "c.html", "--config", "same/c.html"),
        ("fit", "many", "--target", "price", "-o", "many/one.csv"),
        ("fit", "many/*.csv", "--target", "price", "-o", "many/one.csv"),
        ("fit", "many", "--target", "price", "-o", "same/many/two.csv"),
        ("fit", "many", "--target", "price", "--format", "csv", "-o", "many/x.mercer"),
        ("fit", "many/*.csv", "--target", "price", "-o", "many/two.csv"),
        ("fit", "**/*.csv", "--target", "price", "-o", "many/two.csv"),
        ("fit", "d.csv", "many/one.csv", "--target", "price", "-o", "many/one.csv"),
        (*TUNE, "-o", "d.csv"),
        (*TUNE, "-o", "x.mercer", "--report", "x.mercer"),
        (*TUNE, "-o", "x.mercer", "--report", "link.csv"),
        ("predict", "m.mercer", "d.csv", "-o", "d.csv"),
        ("predict", "m.mercer", "d.csv", "-o", "hard.csv"),
        ("predict", "d.csv", "many", "-o", "d.csv"),
        ("predict", "m.mercer", "many", "-o", "many/predicted.csv"),
        ("predict", "m.mercer", "d.csv", "-o", "c.csv", "--config", "c.csv"),
        ("transform", "m.mercer", "d.csv", "-o", "link.csv"),
        ("transform", "d.csv", "many", "-o", "d.csv"),
        (*COMPARE, "--html", "d.csv"),
        ("compare", "new.html", "--format", "csv", "--target", "price", "--html", "new.html"),
        (*COMPARE, "--html", "x.svg", "--plot", "x.svg"),
    ],
    ids=" ".join,
)
def test_an_output_that_is_read_or_written_already_is_refused(here, fails, arguments):
    before = content(here)
    message = fails(*arguments, code=2)
    assert content(here) == before
    assert "the same file" in message or "the next run would read it as rows" in message


def test_the_message_names_both(here, fails):
    message = fails(*FIT, "-o", "same/hard.csv", code=2)
    assert "-o 'same/hard.csv' is the same file as the input 'd.csv', which would be lost; nothing was done" in message
    message = fails(*FIT, "-o", "x.mercer", "--report", "x.mercer", code=2)
    assert "-o 'x.mercer' and --report 'x.mercer' are the same file" in message


def test_what_is_another_file_is_written(here, run):
    assert run(*FIT, "-o", "d.mercer").exit_code == 0
    assert run("fit", "many", "--target", "price", "--features", 8, "-o", "many/m.mercer").exit_code == 0
    assert run("predict", "many/m.mercer", "many", "-o", "many/_predicted.csv").exit_code == 0
    assert run("predict", "d.mercer", "d.csv", "-o", "p.csv").exit_code == 0
    assert run("predict", "d.mercer", "d.csv", "-o", "p.csv").exit_code == 0  # again


def test_names_are_compared_as_the_folder_does(here, fails, run, monkeypatch):
    assert not _file_identity.ignores_case(str(here))
    monkeypatch.setattr(_file_identity, "ignores_case", lambda folder: True)
    message = fails(*FIT, "-o", "Modell.mercer", "--report", "same/MODELL.mercer", code=2)
    assert "are the same file" in message


def test_a_pattern_is_matched_folder_by_folder():
    def found(path, pattern):
        return matches(Path(path).parts, Path(pattern).parts)

    assert found("/a/b.csv", "/a/*.csv")
    assert not found("/a/b/c.csv", "/a/*.csv")
    assert found("/a/b/c.csv", "/a/**/*.csv")
    assert found("/a/c.csv", "/a/**/*.csv")
    assert found("/a/b/c", "/a/**")
    assert not found("/a/.c.csv", "/a/*.csv")
    assert not found("/a", "/a/*")


def shell(text):
    """The command line in a shell, which redirects its streams."""
    return subprocess.run(f"{sys.executable} -m mercer {text}", shell=True, capture_output=True, text=True)


@contextmanager
def redirected(number, path):
    """A standard stream of this process, read from or appended to this file, as a shell does it."""
    before = os.dup(number)
    file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND)
    try:
        os.dup2(file, number)
        yield
    finally:
        os.dup2(before, number)
        os.close(before)
        os.close(file)


@pytest.mark.skipif(os.name != "posix", reason="descriptors are those of POSIX")
@pytest.mark.parametrize(("words", "number"), [("predict m.mercer - -o d.csv", 0), ("predict m.mercer d.csv", 1)])
def test_standard_streams_are_compared_with_files(here, fails, words, number):
    before = content(here)
    with redirected(number, "d.csv"):
        assert "is the same file as" in fails(words, code=2)
    assert content(here) == before


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="redirections are those of a POSIX shell")
@pytest.mark.parametrize("text", ["predict m.mercer - -o d.csv < d.csv", "predict m.mercer d.csv >> d.csv"])
def test_redirections_of_a_shell_are_compared_with_files(here, text):
    before = content(here)
    result = shell(text)
    assert result.returncode == 2, result.stderr
    assert "is the same file as" in result.stderr
    assert content(here) == before


@pytest.mark.skipif(os.name != "posix", reason="redirections are those of a POSIX shell")
@pytest.mark.full
def test_standard_output_may_be_a_file_that_is_appended_to(here, run):
    assert run("predict m.mercer d.csv -o p.csv").exit_code == 0
    (here / "all.csv").write_text("before\n")
    assert shell("predict m.mercer d.csv -o /dev/stdout >> all.csv").returncode == 0
    assert (here / "all.csv").read_text() == "before\n" + (here / "p.csv").read_text()


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="pipes are those of a POSIX shell")
@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/fd/1 | cat"])
def test_standard_output_may_be_a_pipe(here, run, output):
    assert run("predict m.mercer d.csv -o p.csv").exit_code == 0
    assert shell(f"predict m.mercer d.csv -o {output}").stdout == (here / "p.csv").read_text()


@pytest.mark.skipif(os.name != "posix", reason="devices are those of POSIX")
def test_devices_and_pipes_stay(here, fails, run):
    os.mkfifo(here / "pipe.csv")
    message = fails(*FIT, "-o", "/dev/null")
    assert "found the pipe or device '/dev/null'" in message
    assert "found the pipe or device 'pipe.csv'" in fails(*FIT, "-o", "pipe.csv")
    assert run(*FIT, "-o", "x.mercer", "--report", "/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()
    assert not Path("/dev/null.lock").exists()


# -- runs that end early -----------------------------------------------------------------------------------------------


SIGNALS = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
UNTIL_A_CHECKPOINT = ("fit", "d.csv", "--target", "price", "--features", "16", "--every", "0", "-o", "x.mercer")


def goes_on_as_it_says(here, run, errors):
    """Check that an interrupted run tells the truth about its checkpoint, from which the same command continues."""
    size = sum(path.stat().st_size for path in here.glob("x.mercer.checkpoint*")) / 1000
    assert f"is kept in the checkpoint '{here}/x.mercer.checkpoint' and the previous one, {size:.3g} kB:" in errors
    assert "the same command with --resume continues from there" in errors
    assert not (here / "x.mercer.lock").exists()
    assert run(*UNTIL_A_CHECKPOINT, "--resume").exit_code == 0
    assert not (here / "x.mercer.checkpoint").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@SIGNALS
def test_an_interrupted_run_says_how_to_continue(here, run, monkeypatch, number, code):
    """The signal comes when the first checkpoint is there."""
    write = Checkpoints.write

    def ended(*given):
        write(*given)
        signal.raise_signal(number)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "write", ended)
        result = run(*UNTIL_A_CHECKPOINT)
    assert result.exit_code == code, result.output
    goes_on_as_it_says(here, run, result.stderr)


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@SIGNALS
def test_an_interrupted_process_says_how_to_continue(here, run, number, code):
    """The signal comes when the first checkpoint is there."""
    ended = (
        "import os, sys\nfrom mercer.persist.checkpoints import Checkpoints\nfrom mercer.cli import main\n"
        "write = Checkpoints.write\n"
        f"Checkpoints.write = lambda *given: (write(*given), os.kill(os.getpid(), {int(number)}))\nmain()"
    )
    command = [sys.executable, "-c", ended, *UNTIL_A_CHECKPOINT]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stderr
    goes_on_as_it_says(here, run, result.stderr)


def test_a_run_interrupted_at_once_says_that_nothing_was_kept(here, run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.learn.KernelRegressor.fit_table", interrupted)
    result = run(*FIT, "-o", "x.mercer")
    assert result.exit_code == 130
    assert "note: No checkpoint was written yet: the same command starts over." in result.stderr
    assert run(*FIT, "-o", "x.mercer", "--quiet").stderr.strip() == "interrupted"


def test_a_full_disk_is_one_sentence_that_names_the_file(here, fails, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mercer.persist.locks.os.write", full)
    message = fails(*FIT, "-o", "x.mercer")
    assert (
        f"Error: {here}/x.mercer.lock: no space left on device; free some space, or choose another location" in message
    )
    assert not (here / "x.mercer.lock").exists()
