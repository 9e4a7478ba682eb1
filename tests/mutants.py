"""Break the code on purpose and check that the tests notice.

Each mutant is one small fault, made in a temporary copy of the package and run against the tests that should catch it:
``python tests/mutants.py [part of a name]``; ``--file learn/`` takes the faults in those files, ``--tests tests/learn``
the ones that those tests should catch, and ``--not-tests`` all others. Only the tests of ``make test`` count: a mutant
that only the long tests notice has survived. ``--json FILE`` writes which were caught, so that two lists can be
compared. Exits 1 when fewer than nine in ten are caught.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent.parent
NEEDED = 0.9
PROCESSES = multiprocessing.get_context("forkserver")
CRASHES = tuple(-code for code in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS))
"""How tests with a memory fault end: emulated kernels stop at an access that a GPU would refuse."""
LOADED = ("pandas", "pyarrow.csv", "pyarrow.parquet", "pytest", "scipy.stats", "sklearn.utils.estimator_checks")
"""Modules loaded once, in the parent of the forked test processes, because loading takes longer than most tests."""


class Mutant(NamedTuple):
    """One fault: in this file, this text becomes that; these tests (a file and a ``-k`` expression) should fail.

    Files are those of the package, or of ``csrc``. The compiled core is left out, since it would do what the broken
    Python should, but where ``compiled`` asks for it or the fault is there.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
    chosen: str = ""
    compiled: bool = False

    @property
    def in_core(self) -> bool:
        """Whether the fault is in the C++."""
        return self.file.startswith("csrc/")

    @property
    def instructions(self) -> str:
        """The value of ``MERCER_ISA``: the best instruction set, or "none" to run without the compiled core."""
        return "" if self.compiled or self.in_core else "none"


def load() -> list[Mutant]:
    """The mutants in the table next to this file."""
    table = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())
    return [Mutant(**entry) for entry in table["mutant"]]


def copy_to(folder: Path) -> None:
    """The package, its compiled library and the tests, without what the tests do not read."""
    import mercer

    shutil.copytree(ROOT / "src" / "mercer", folder / "mercer", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "csrc", folder / "csrc")
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, folder)
    for place in mercer.__path__:
        for library in Path(place).glob("libmercer*"):
            shutil.copy(library, folder / "mercer")


class CoreBuilder:
    """Builds the libraries of copies one after another, and compiles only what differs from the one before."""

    def __init__(self, folder: Path):
        self._folder, self._lock = folder, Lock()

    def build_in(self, copy: Path) -> None:
        """Build the library again from the sources of this copy."""
        with self._lock:
            for path in (copy / "CMakeLists.txt", *(copy / "csrc").iterdir()):
                taken = self._folder / path.relative_to(copy)
                if not taken.exists() or taken.read_bytes() != path.read_bytes():
                    taken.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, taken)
            for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
                result = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
                if result.returncode:
                    raise SystemExit(f"{' '.join(command)} failed\n{result.stdout}{result.stderr}")
            for library in (self._folder / "build").glob("libmercer*"):
                (copy / "mercer" / library.name).unlink(missing_ok=True)
                shutil.copy(library, copy / "mercer")


def run_tests(folder: str, tests: str, chosen: str, instructions: str, output: str) -> NoReturn:
    """Run the tests on the copy in this folder, in a separate process that ends with pytest's exit code."""
    with open(output, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": os.pathsep.join([folder, os.environ["PYTHONPATH"]]), "MERCER_ISA": instructions}
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = False
    import pytest

    choice = ["-m", "not full", *(["-k", chosen] if chosen else [])]
    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", tests, *choice]))


def passes(folder: Path, tests: str, chosen: str, instructions: str, shown: bool = False) -> bool:
    """Whether these tests pass on the copy in this folder; if they fail, their output may be shown."""
    with tempfile.NamedTemporaryFile("r") as output:
        process = PROCESSES.Process(target=run_tests, args=(str(folder), tests, chosen, instructions, output.name))
        process.start()
        process.join()
        if process.exitcode not in (0, 1, *CRASHES):
            raise SystemExit(f"{tests} -k {chosen!r} did not run ({process.exitcode})\n{output.read()}")
        if process.exitcode and shown:
            print(f"{tests} -k {chosen!r} fails without any fault\n{output.read()}", flush=True)
        return process.exitcode == 0


def unsound(sound: Path, mutants: list[Mutant], pool: ThreadPoolExecutor) -> set[tuple[str, str]]:
    """Files of tests that fail without any fault, with their instructions: they would catch anything.

    What is chosen of a file runs at once. The bytecode that this leaves beside the modules goes into every later copy.
    """
    choices: dict[tuple[str, str], set[str]] = {}
    for mutant in mutants:
        choices.setdefault((mutant.tests, mutant.instructions), set()).add(mutant.chosen)

    def fails(run: tuple[str, str]) -> bool:
        chosen = choices[run]
        union = "" if "" in chosen else " or ".join(f"({words})" for words in sorted(chosen))
        return not passes(sound, run[0], union, run[1], shown=True)

    return {run for run, failed in zip(choices, pool.map(fails, choices), strict=True) if failed}


def survives(mutant: Mutant, sound: Path, builder: CoreBuilder) -> bool:
    """Whether the named tests pass with the fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Links to the same files: copying them takes longer than many tests. What is changed is replaced, not written.
        shutil.copytree(sound, folder, dirs_exist_ok=True, copy_function=os.link)
        path = folder / ("" if mutant.in_core else "mercer") / mutant.file
        source = path.read_text()
        if mutant.old not in source:
            raise SystemExit(f"mutant {mutant.name!r}: {mutant.old!r} is no longer in {mutant.file}")
        path.unlink()
        path.write_text(source.replace(mutant.old, mutant.new))
        if mutant.in_core:
            builder.build_in(folder)
        return passes(folder, mutant.tests, mutant.chosen, mutant.instructions)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Break the code on purpose and see that the tests notice.")
    parser.add_argument("words", nargs="*", help="run the mutants with all of these in their name")
    parser.add_argument("--file", action="append", default=[], help="only faults in files with this in their path")
    parser.add_argument("--tests", action="append", default=[], help="only those whose tests have this in their path")
    parser.add_argument("--not-tests", action="append", default=[], help="none whose tests have this in their path")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once")
    parser.add_argument("--json", type=Path, help="write the sorted names of caught and surviving mutants to this file")
    return parser.parse_args()


def chosen_by(options: argparse.Namespace) -> list[Mutant]:
    """The mutants that the command line requests."""
    return [
        mutant
        for mutant in load()
        if all(word in mutant.name for word in options.words)
        and (not options.file or any(part in mutant.file for part in options.file))
        and (not options.tests or any(part in mutant.tests for part in options.tests))
        and not any(part in mutant.tests for part in options.not_tests)
    ]


def main() -> int:
    options = arguments()
    if not sys.flags.no_site:
        # -S hides the editable install, which would come first, from processes that tests start too; the dependencies
        # are then found by path.
        environment = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
        return subprocess.run([sys.executable, "-S", __file__, *sys.argv[1:]], env=environment, check=False).returncode
    os.environ |= {"OMP_NUM_THREADS": "1", "SCIPY_ARRAY_API": "1"}
    PROCESSES.set_forkserver_preload(list(LOADED))
    wanted = chosen_by(options)
    print(f"{len(wanted)} mutants", flush=True)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        sound, builder = Path(name, "sound"), CoreBuilder(Path(name, "core"))
        copy_to(sound)
        useless = unsound(sound, wanted, pool)
        outcomes = pool.map(
            lambda mutant: (mutant.tests, mutant.instructions) in useless or survives(mutant, sound, builder), wanted
        )
        caught, survived = [], []
        for mutant, alive in zip(wanted, outcomes, strict=True):
            print(f"{'SURVIVED' if alive else 'caught':8}  {mutant.name}", flush=True)
            (survived if alive else caught).append(mutant.name)
    print(f"{len(caught)} of {len(wanted)} mutants caught")
    if options.json:
        summary = {"caught": sorted(caught), "survived": sorted(survived)}
        options.json.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    return 0 if len(caught) >= NEEDED * len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
