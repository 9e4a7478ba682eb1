"""The examples in the README and the demo work and print what is shown."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import maps

pytestmark = pytest.mark.xdist_group("examples")  # on one worker, so that what they share is made once

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextmanager
def example(name):
    """A file of examples as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_example", ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def demo():
    with example("digits") as module:
        yield module


@pytest.fixture(scope="module")
def few(demo):
    whole = demo.digits()
    return demo.Split(whole.X_train[:300], whole.y_train[:300], whole.X_test[:100], whole.y_test[:100])


@pytest.fixture(scope="module")
def growth(demo, few):
    # The first two sizes are always run; nothing is within a budget of no time.
    return demo.grow(few, (60, 120, 240), width=32, budget=0.0)


def test_the_readme_prints_what_it_says(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    assert all(">>>" in block[1] for block in blocks)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        test = parser.get_doctest(block[1], names, "README.md", "README.md", line)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.tries > 15
    assert runner.failures == 0, "the README shows other output, see above"


def test_the_first_screen_of_the_readme():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    screen = lines[: lines.index("## Ten lines")]
    commands = [line.split("#")[0].strip() for line in screen if line.startswith("    make")]
    assert commands == ["make demo", "make test"]
    begins = ["**Mercer", "![", "    make demo", "    make test", "## Install", "    pip wheel"]
    places = [next(place for place, line in enumerate(screen) if line.startswith(begin)) for begin in begins]
    assert places == sorted(places)  # what it is, a picture, the two commands, how to install it
    assert len(screen) < 35


def test_every_link_in_the_pages_leads_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page} points at {target}"


def test_the_demo_compares_every_map(demo, few):
    results = demo.compare(few, width=128, seeds=(0, 1))
    assert set(results) == {demo.EXACT, demo.PLAIN, *demo.MAPS}
    for name, found in results.items():
        assert len(found) == 2
        assert all(0.5 < one.accuracy <= 1 and one.train > 0 and one.predict > 0 for one in found), name
    assert [one.error for one in results[demo.EXACT]] == [0, 0]
    assert results["TaylorSketch"][0].error < results["RandomMaclaurin"][0].error
    lines = demo.comparison_table(results).splitlines()
    assert len(lines) == 2 + len(results)
    assert len({len(line) for line in lines}) == 1


def test_the_demo_stops_the_exact_machine_in_time(demo, growth):
    exact, mapped = growth
    assert [np.isnan(one.accuracy) for one in exact] == [False, False, True]
    assert exact[2].train == pytest.approx(exact[1].train ** 2 / exact[0].train)
    assert not any(np.isnan(one.accuracy) for one in mapped)
    printed = demo.growth_table((60, 120, 240), exact, mapped).splitlines()
    assert "not run" in printed[-1]
    assert len({len(line) for line in printed}) == 1


def test_enlarged_digits_are_seeded_and_have_wrong_labels(demo, few):
    X, odd = demo.enlarge(few.X_train, few.y_train, 2000, seed=0, wrong=0.0)
    again, noisy = demo.enlarge(few.X_train, few.y_train, 2000, seed=0, wrong=0.2)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert np.mean(odd != noisy) == pytest.approx(0.2, abs=0.04)


def test_the_demo_draws_a_picture(demo, few, growth, tmp_path, capsys):
    path = tmp_path / "folder" / "digits.png"
    demo.show(path, few, (60, 120, 240), growth, widths=(80, 160), n_seeds=1)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in capsys.readouterr().out


def test_the_demo_says_how_to_get_a_picture(demo, few, growth, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    demo.show(tmp_path / "digits.png", few, (60, 120, 240), growth, widths=(80,), n_seeds=1)
    assert "pip install matplotlib" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_the_demo_does_not_import_matplotlib_to_compute():
    code = "import sys, digits; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT / "examples", check=False).returncode == 0


def test_the_command_line_demo_runs_and_leaves_pages(tmp_path, capsys, monkeypatch):
    with example("demo") as module:
        smaller = [line.replace("1024", "64").replace("64,256,64", "16") for line in module.COMMANDS]
        monkeypatch.setattr(module, "COMMANDS", [line.replace("--C 100", "--C 1") for line in smaller])
        monkeypatch.setattr(module, "load_digits", lambda **given: [part[:600] for part in load_digits(**given)])
        before = Path.cwd()
        module.main(tmp_path)
        assert Path.cwd() == before
    printed = capsys.readouterr().out
    assert [line.split()[2] for line in printed.splitlines() if line.startswith("$ mercer")] == [
        "fit",
        "evaluate",
        "predict",
        "compare",
    ]
    for name in ("maps.png", "maps.html", "report.html"):
        assert str(tmp_path / name) in printed
        assert (tmp_path / name).stat().st_size > 10_000
    assert len((tmp_path / "predicted.csv").read_text(encoding="utf-8").splitlines()) == 151


def test_the_demos_go_where_git_does_not_look(demo):
    folders = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    with example("demo") as module:
        for place in (demo.PICTURE, module.FOLDER / "maps.png"):
            assert f"/{place.relative_to(ROOT).parts[0]}/" in folders


def test_the_drift_example_finds_the_batches_that_have_changed(capsys):
    with example("drift") as module:
        found = module.main()
        changed = [pvalue <= module.LEVEL for pvalue in found]
        assert changed == [number >= module.DRIFT_BEGINS for number in range(module.BATCHES)]
    assert capsys.readouterr().out.count("drift") == sum(changed)


def test_the_novelty_example_finds_digits_that_were_never_seen(capsys):
    with example("novelty") as module:
        known, unknown, _ = module.main()
    assert known < 0.12
    assert unknown > 0.6
    assert len(capsys.readouterr().out.splitlines()) == 11


def test_the_forgetting_example_follows_a_truth_that_drifts(capsys):
    with example("forgetting") as module:
        last = {name: np.mean(errors[-10:]) for name, errors in module.main().items()}
    assert max(last["decay"], last["window"]) < 0.5 * last["all rows"]
    assert len(capsys.readouterr().out.splitlines()) == 4


def row_of(map):
    """The row of a map in the guide's table: its name with the maps it takes, and its description."""
    inside = ", ".join("map" for _ in map.construction.parts)
    description = map.description
    name = f"`{map.__name__}({inside})`" if inside else f"`{map.__name__}`"
    return f"| {name} | {description.kernels} | {description.when} | {description.cost} | {description.variance} |"


def test_the_guide_lists_the_maps_as_they_describe_themselves():
    page = ROOT / "docs" / "guide" / "maps.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    start = lines.index("| map | kernels | when to use it | cost per row | variance |") + 2
    end = lines.index("", start)
    rows = [row_of(map) for map in maps.MAPS]
    if os.environ.get("MERCER_WRITE_GOLDEN"):
        page.write_text("\n".join([*lines[:start], *rows, *lines[end:]]) + "\n", encoding="utf-8")
        return
    assert lines[start:end] == rows


def test_the_example_of_intervals_covers_every_region(capsys):
    with example("intervals") as module:
        found = module.main(1500)
    assert found["coast"][0] < 0.85 < 0.95 < found["city"][0]
    assert all(0.83 < by_region < 0.97 for _, by_region in found.values())
    assert "jackknife+: from a single fit" in capsys.readouterr().out


def test_the_example_of_importances_finds_what_matters(capsys):
    with example("importances") as module:
        importances, effects = module.main(800)
    assert importances["noise"] < 0.02 < 0.1 < min(importances[name] for name in ("area", "age", "region"))
    assert effects[0, 1] > 0.8 > 0.2 > effects[1, 1]  # a house of 10 years compared with one of 60
    assert effects[0, 2] > effects[1, 2] > effects[2, 2]  # coast, city, country
    assert "what another ten years would do: -" in capsys.readouterr().out


def test_the_example_of_uncertainty_shows_where_the_model_is_uncertain(capsys):
    with example("uncertainty") as module:
        found = module.main(4000)
    assert found["noise"] == pytest.approx(2.0, abs=0.1)
    assert found["gap"] > 5.0
    assert found["best"] == 1.0
    assert "in the gap, at 0.625" in capsys.readouterr().out
