"""Errors at a terminal: one sentence, and an exit code that says whether the input or the command line is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mercer.cli import fit
from mercer.cli.command import GROUPS
from mercer.cli.command_group import COMMANDS, Commands
from mercer.cli.output import cell, plain, size


def write(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)


def console(*arguments, **options):
    """The command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "mercer", *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


def test_help_shows_every_option_once_in_groups(run):
    for name in COMMANDS:
        command = Commands().get_command(None, name)
        printed = run(name, "--help").stdout.splitlines()
        first = next(number for number, line in enumerate(printed) if line.rstrip(":") in GROUPS)
        lines = [line.split() for line in printed[first:]]
        for param in command.params:
            long = max(param.opts, key=len)
            shown = [words for words in lines if long in words[:2] and words[0].startswith("-")]
            assert len(shown) == (long.startswith("--")), (name, long)
        assert ["Other", "options:"] not in lines, f"an option of {name} is in no group"
        assert ["Output:"] in lines


# -- wrong input -------------------------------------------------------------------------------------------------------


def test_a_missing_target_is_an_error(folder, fails):
    message = fails("fit houses.csv --target prise -o m.mercer")
    assert message == "Error: houses.csv has no column 'prise'; did you mean 'price'?\n"
    assert "it has 'size', 'rooms', 'town', 'price'" in fails("fit houses.csv --target weather -o m.mercer")


def test_a_target_is_required(folder, fails):
    assert "--target; the columns are 'size', 'rooms'" in fails("fit houses.csv -o m.mercer", code=2)


def test_a_loss_of_the_other_task(folder, fails):
    message = fails("fit houses.csv --target town --loss huber -o m.mercer", code=2)
    assert "--loss huber is not for classification, which was chosen because the target is text" in message
    message = fails("fit houses.csv --target town --task classification --loss huber -o m.mercer", code=2)
    assert message.rstrip().endswith("--loss huber is not for classification")
    assert "is not for regression" in fails("fit houses.csv --target price --loss logistic -o m.mercer", code=2)


def test_missing_and_empty_files_are_errors(folder, fails, tmp_path):
    assert "no files of rows found at none.csv" in fails("fit none.csv --target y -o m.mercer")
    (tmp_path / "empty.csv").write_text("")
    assert "there are no rows in" in fails("fit", tmp_path / "empty.csv", "--target", "y", "-o", "m.mercer")
    (tmp_path / "head.csv").write_text("x,y\n")
    assert "there are no rows in" in fails("fit", tmp_path / "head.csv", "--target", "y", "-o", "m.mercer")
    (tmp_path / "rows.txt").write_text("x,y\n1,2\n")
    assert "give --format" in fails("fit", tmp_path / "rows.txt", "--target", "y", "-o", "m.mercer")
    assert "there are no rows" in fails("fit", "-", "--target", "y", "-o", "m.mercer", text="")


def test_a_single_class_is_an_error(fails, tmp_path):
    write(tmp_path / "one.csv", x=np.arange(50.0), y=["a"] * 50)
    message = fails("fit", tmp_path / "one.csv", "--target", "y", "-o", tmp_path / "m.mercer")
    assert "needs at least 2 classes, found 1 class: 'a'" in message
    assert not (tmp_path / "m.mercer").exists()


def test_too_few_rows_to_hold_some_out(fails, tmp_path):
    write(tmp_path / "few.csv", x=[1.0, 2.0], y=[1.5, 2.5])
    message = fails("fit", tmp_path / "few.csv", "--target", "y", "--holdout", 0.01, "-o", tmp_path / "m.mercer")
    assert "--holdout 0.01 leaves no rows to train on or none to score" in message


def test_errors_about_missing_values_name_the_option(fails, run, tmp_path):
    write(tmp_path / "gaps.csv", x=[1.0, np.nan, *range(38)], y=np.arange(40) / 7.0)
    arguments = ("fit", tmp_path / "gaps.csv", "--target", "y", "--features", 8, "-o", tmp_path / "m.mercer")
    message = fails(*arguments, "--missing", "error")
    assert "line 3 of " in message
    assert "column 'x' is missing" in message
    assert "row" not in message.replace("removes such rows", "")
    assert "--missing mean" in message
    assert run(*arguments, "--missing", "mean").exit_code == 0
    assert run(*arguments).exit_code == 0
    dropped = run(*arguments, "--drop")
    assert dropped.exit_code == 0
    assert "note: 1 of 40 rows have missing or infinite values and are dropped; 39 are kept" in dropped.stderr


def test_rows_are_left_out_for_the_columns_that_are_read(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.save(tmp_path / "rows.npy", X)
    X[3, 2], X[5, 0], X[6, 1] = np.nan, np.nan, np.inf
    np.save(tmp_path / "gaps.npy", X)
    assert run("fit", tmp_path / "rows.npy", "--target", 2, "--features", 8, "-o", tmp_path / "m.mercer").exit_code == 0
    for command, left in ((("predict", "-o", tmp_path / "p.csv"), 2), (("evaluate",), 3)):
        found = run(command[0], tmp_path / "m.mercer", tmp_path / "gaps.npy", "--drop", *command[1:])
        assert found.exit_code == 0
        assert (
            f"note: {left} of 40 rows have missing or infinite values and are dropped; {40 - left} are kept"
            in found.stderr
        )
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 1 + 38


def test_negative_values_for_chi2(folder, fails, tmp_path):
    command = ["fit", "flowers.csv", "--target", "kind", "--kernel", "additive_chi2()", "-o", tmp_path / "m.mercer"]
    message = fails(*command)
    assert "Negative values in data passed to AdditiveChi2(), which takes none" in message
    assert "flowers.csv" in message


def test_places_that_cannot_be_written(folder, fails, tmp_path, monkeypatch):
    assert "there is no folder" in fails(f"fit houses.csv --target price -o {tmp_path}/no/m.mercer")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "no permission to write in" in fails(f"fit houses.csv --target price -o {tmp_path}/m.mercer")


def test_what_the_system_says_is_one_sentence(folder, fails, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "m.mercer")

    monkeypatch.setattr("mercer.persist.training.save", full)
    message = fails(f"fit houses.csv --target price --features 8 -o {tmp_path}/m.mercer")
    assert message == "Error: m.mercer: no space left on device; free some space, or choose another location\n"


def test_an_internal_error_says_that_it_is_ours(folder, fails, run, monkeypatch):
    def broken(*_):
        raise AttributeError("no such thing")

    monkeypatch.setattr(fit, "check_target", broken)
    assert "AttributeError: no such thing; this is a bug in mercer" in fails("fit houses.csv --target price --dry-run")
    assert isinstance(run("fit houses.csv --target price --dry-run --debug").exception, AttributeError)


# -- wrong command lines -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fti houses.csv", "no such command 'fti'; did you mean 'fit'?"),
        ("fit", "Missing argument 'DATA...'"),
        ("fit houses.csv --target price", "name the model file with -o MODEL"),
        ("fit houses.csv --target price --kernel gausian(1) --dry-run", "did you mean 'Gaussian'?"),
        ("fit houses.csv --target price --map nistrom --dry-run", "no map 'nistrom'; did you mean 'Nystrom'?"),
        ("fit houses.csv --target price --map stack --dry-run", "no map 'stack'"),
        (
            "fit houses.csv --target price --alpha x --dry-run",
            "expected a number, several separated by commas, auto, loo",
        ),
        ("fit flowers.csv --target kind --C 1,x --dry-run", "loo, holdout, gcv or evidence, found '1,x'"),
        ("fit houses.csv --target price --holdout 1 --dry-run", "1.0 is not in the range"),
        ("fit - houses.csv --target price --dry-run", "cannot be combined with files"),
    ],
)
def test_wrong_usage_is_explained(folder, fails, arguments, message):
    assert message in fails(arguments, code=2)


# -- notes and the process ---------------------------------------------------------------------------------------------


def test_the_real_command(folder, tmp_path):
    result = console("fit", "houses.csv", "--target", "price", "--features", 16, "-o", tmp_path / "m.mercer")
    assert (result.returncode, result.stderr) == (0, "")
    assert "R2" in result.stdout


@pytest.mark.full
def test_the_real_command_shows_where_it_failed(folder, tmp_path):
    result = console("fit", "houses.csv", "--target", "prise", "-o", tmp_path / "m.mercer", "--debug")
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_ctrl_c_ends_with_130(folder, run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "check_target", interrupted)
    result = run("fit houses.csv --target price --dry-run")
    assert (result.exit_code, result.stdout, result.stderr.strip()) == (130, "", "interrupted")


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from mercer.cli.command_group import COMMANDS, mercer\n"
        "for words in [['--help'], *([name, '--help'] for name in COMMANDS)]:\n"
        "    mercer.main(words, prog_name='mercer', standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'rich', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_command_line_says_what_it_needs():
    code = "import sys; sys.modules['click'] = None; from mercer.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "mercer: the command line needs click: pip install 'mercer[cli]'\n"


def test_values_for_people_and_machines():
    assert [cell(one) for one in (None, float("nan"), 0.123456, 12345, True)] == ["-", "-", "0.1235", "12,345", "True"]
    assert [size(one) for one in (0, 999, 1000, 12_345_678, 5e12)] == ["0 B", "999 B", "1 kB", "12.3 MB", "5,000 GB"]
    assert plain({"a": (np.float64(1.5), float("inf"), np.int64(2))}) == {"a": [1.5, None, 2]}
