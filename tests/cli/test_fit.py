"""``mercer fit``: from files to models."""

from __future__ import annotations

import json
from contextlib import contextmanager

import numpy as np
import pytest

import mercer
from mercer import KernelClassifier, KernelRegressor, data
from mercer.cli import fit
from mercer.persist.locks import locked

from ..report.pages import checked


def fitted(run, *arguments, text=None):
    result = run("fit", *arguments, "--json", text=text)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert result.stderr == "".join(f"WARNING: {one}\n" for one in found["warnings"])
    return found


def test_the_model_is_the_librarys(folder, run, tmp_path):
    name = tmp_path / "houses.mercer"
    found = fitted(run, "houses.csv", "--target", "price", "--features", 64, "--seed", 3, "-o", name)
    train, test = data.open("houses.csv", target="price").split(test=0.2, seed=3)
    alone = KernelRegressor(n_components=64, random_state=3).fit(train)
    np.testing.assert_array_equal(mercer.load(name).predict(test), alone.predict(test))
    assert found["scores"]["R2"]["value"] == pytest.approx(alone.score(test))
    assert found["scores"]["R2"]["low"] < found["scores"]["R2"]["value"] < found["scores"]["R2"]["high"]
    assert (found["rows"], found["held_out"]) == (train.n_rows, test.n_rows)
    assert found["task"] == "regression"
    assert found["alpha"] == alone.alpha_


def test_a_classifier_and_all_its_options(folder, run, tmp_path):
    name = tmp_path / "flowers.mercer"
    options = ["--kernel", "matern(1.5)", "--map", "RandomFourier", "--features", 48, "--scale", "minmax"]
    options += ["--loss", "squared", "--C", 3, "--holdout", 0, "--threads", 1]
    found = fitted(run, "flowers.csv", "--target", "kind", *options, "-o", name)
    model = mercer.load(name)
    assert isinstance(model, KernelClassifier)
    assert (model.loss, model.C, model.scale, model.map, model.n_jobs) == (
        "squared",
        3.0,
        "minmax",
        "RandomFourier",
        None,
    )
    assert (found["scores"], found["held_out"], found["features"]) == ({}, 0, 48)


@pytest.mark.parametrize(
    ("options", "penalty"),
    [
        (["flowers.csv", "--target", "kind", "--C", "0.1,10"], [0.1, 10.0]),
        (["flowers.csv", "--target", "kind", "--C", "holdout"], "holdout"),
        (["houses.csv", "--target", "price", "--loss", "huber", "--alpha", "loo"], "loo"),
        (["houses.csv", "--target", "price", "--loss", "huber", "--alpha", "1"], 1.0),
        (["houses.csv", "--target", "price", "--alpha", "0.1,10"], [0.1, 10.0]),
    ],
)
def test_penalties_are_numbers_or_a_rule(folder, run, tmp_path, options, penalty):
    found = fitted(run, *options, "--features", 24, "-o", tmp_path / "model.mercer")
    model, name = mercer.load(tmp_path / "model.mercer"), "C" if options[0] == "flowers.csv" else "alpha"
    assert getattr(model, name) == penalty
    assert found[name] == getattr(model, f"{name}_")
    assert hasattr(model, "penalty_path_") == (penalty != 1.0)


@pytest.mark.parametrize("source", ["folder", "pattern", "two", "stdin", "format"])
def test_rows_come_from_everywhere(folder, run, tmp_path, frames, source):
    frame = frames["flowers"]
    for name, part in (("1", frame[:150]), ("2", frame[150:])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    frame.to_csv(tmp_path.parent / f"{tmp_path.name}.txt", index=False)
    given, text = {
        "folder": ([tmp_path], None),
        "pattern": ([tmp_path / "*.csv"], None),
        "two": ([tmp_path / "1.csv", tmp_path / "2.csv"], None),
        "stdin": (["-"], frame.to_csv(index=False)),
        "format": ([tmp_path.parent / f"{tmp_path.name}.txt", "--format", "csv"], None),
    }[source]
    output = tmp_path / "model.mercer"
    fitted(run, *given, "--target", "kind", "--features", 64, "--loss", "logistic", "-o", output, text=text)
    assert output.read_bytes() == (folder / "flowers.mercer").read_bytes()


def test_libsvm_and_numpy_files(run, tmp_path, frames):
    X, y = frames["flowers"][["a", "b"]].to_numpy(), (frames["flowers"]["kind"] == "in").to_numpy() * 2 - 1
    data.write_libsvm(tmp_path / "rows.libsvm", X, y)
    np.save(tmp_path / "rows.npy", np.column_stack([X, y]))
    np.savez(tmp_path / "rows.npz", X=X, label=y)
    kernel = ("--kernel", "gaussian('scale')", "--C", 1)
    common = (*kernel, "--features", 32, "--scale", "none", "-o", tmp_path / "model.mercer")
    scores = [
        fitted(run, tmp_path / name, *target, *common)["scores"]["accuracy"]
        for name, target in (("rows.libsvm", ()), ("rows.npy", ("--target", "-1")), ("rows.npz", ("--target", "label")))
    ]
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.parametrize(
    ("column", "task"),
    [("town", "classification"), ("rooms", "classification"), ("size", "regression"), ("number", "regression")],
)
def test_the_task_goes_by_the_target(run, tmp_path, frames, column, task):
    frame = frames["houses"].assign(number=range(400))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    result = run("fit", tmp_path / "rows.csv", "--target", column, "--dry-run", "--json")
    found = json.loads(result.stdout)
    assert found["task"] == task
    assert found["rows"] == data.open(frame).split(0.2, seed=0)[0].n_rows
    asked = run("fit", tmp_path / "rows.csv", "--target", column, "--dry-run", "--json", "--task", "regression")
    if column == "town":
        assert "regression needs a target of numbers, found text" in asked.stderr
    else:
        assert json.loads(asked.stdout)["learner"] == "KernelRegressor"


def test_a_dry_run_writes_nothing(folder, run):
    before = sorted(folder.iterdir())
    result = run("fit houses.csv --target price --dry-run --map nystrom --features 100 --threads 1")
    assert result.exit_code == 0
    for text in ("regression: the target has fractions", "Nystrom, 100 features", "town", "at least 3.44 MB"):
        assert text in result.stdout
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "learner"),
    [
        ("houses.csv --target price --alpha 0.1", KernelRegressor),
        ("flowers.csv --target kind", KernelClassifier),
        ("flowers.csv --target kind --loss squared", KernelClassifier),
    ],
)
def test_exact_machines_from_the_command_line(folder, run, tmp_path, words, learner):
    name = tmp_path / "exact.mercer"
    found = fitted(run, *words.split(), "--map", "exact", "--kernel", "gaussian(0.3)", "-o", name)
    model = mercer.load(name)
    assert isinstance(model, learner)
    assert (model.map, found["map"], found["features"]) == ("exact", "exact", model.map_.n_components_)
    assert found["scores"]["R2" if learner is KernelRegressor else "accuracy"]["value"] > 0.9
    rows = data.open(words.split()[0], target=words.split()[2])
    train = rows.split(test=0.2, seed=0)[0]
    assert 0 < model.map_.n_components_ <= train.n_rows
    for command in ("evaluate", "predict"):
        result = run(command, name, words.split()[0])
        assert result.exit_code == 0, result.output
    inspected = run("inspect", name)
    assert f"{model.map_.n_components_:,} features" in inspected.stdout
    printed = run(*f"fit {words} --map exact --kernel gaussian(0.3) --report {tmp_path}/e.html".split(), "-o", name)
    assert "rows with a coefficient" in printed.stdout
    checked((tmp_path / "e.html").read_text())


def test_the_memory_of_an_exact_machine_is_reported_and_refused(folder, run):
    told = run("fit houses.csv --target price --dry-run --map exact --threads 1")
    planned = json.loads(run("fit houses.csv --target price --dry-run --map exact --threads 1 --json").stdout)
    assert planned["held"] > 8 * planned["rows"] ** 2
    assert f"exact, up to {planned['rows']} rows with a coefficient" in told.stdout
    refused = run("fit houses.csv --target price --map exact --loss huber -o nothing.mercer")
    assert refused.exit_code != 0
    assert "loss='huber'" in refused.stderr
    assert run("tune houses.csv --target price --map exact -o nothing.mercer").exit_code != 0


def test_a_table_for_people(folder, run, tmp_path):
    result = run(f"fit flowers.csv --target kind --features 32 -o {tmp_path}/f.mercer")
    assert "held-out rows" in result.stdout
    for name in ("accuracy", "balanced accuracy", "AUC", "95 % interval"):
        assert name in result.stdout
    assert result.stderr == ""


def test_options_from_a_file(folder, run, tmp_path):
    config = tmp_path / "options.toml"
    config.write_text(
        'target = "price"\n[fit]\nfeatures = 48\nkernel = "laplacian(0.5)"\nscale = "unit"\ndry-run = true\n'
    )
    result = run(f"fit houses.csv --config {config} --features 24 --json")
    found = json.loads(result.stdout)
    assert (found["kernel"], found["width"]) == ("Laplacian(gamma=0.5)", 24)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fetures = 3", "unknown option 'fetures'; did you mean 'features'?"),
        ("features = ", "is not TOML"),
        ("features = 0", "0 is not in the range"),
        ("fit = 3", "fit must be a table"),
    ],
)
def test_a_wrong_file_of_options(folder, fails, tmp_path, text, message):
    (tmp_path / "options.toml").write_text(text)
    assert message in fails(f"fit houses.csv --target price --dry-run --config {tmp_path}/options.toml", code=2)


def test_a_missing_file_of_options_is_an_error(folder, fails):
    assert "none.toml: no such file" in fails("fit houses.csv --config none.toml --dry-run", code=2)


def test_a_run_that_continues_ends_in_the_same_model(folder, run, tmp_path, monkeypatch):
    seen = []

    @contextmanager
    def stopping():
        def told(one):
            seen.append(one)
            if one.what == "conjugate gradients":
                raise KeyboardInterrupt

        yield told

    checkpoint = tmp_path / "here.checkpoint"
    command = (
        f"fit flowers.csv --target kind --features 64 --loss logistic -o {tmp_path}/m.mercer --checkpoint {checkpoint}"
    )
    with monkeypatch.context() as patched:
        patched.setattr(fit, "progress", stopping)
        assert run(f"{command} --every 0").exit_code == 130
    assert len(seen) > 3
    assert [path.name for path in tmp_path.iterdir() if path.name == "m.mercer"] == []
    assert checkpoint.exists()
    assert run(f"{command} --resume").exit_code == 0
    assert (tmp_path / "m.mercer").read_bytes() == (folder / "flowers.mercer").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["m.mercer"]


def test_two_runs_do_not_share_an_output(folder, fails, tmp_path):
    with locked(tmp_path / "m.mercer.lock"):
        message = fails(f"fit flowers.csv --target kind --features 8 -o {tmp_path}/m.mercer")
    assert message.startswith("Error: another run is writing to this output")


def test_a_page_about_the_model(folder, run, tmp_path):
    for name, target in (("houses", "price"), ("flowers", "kind")):
        words = f"fit {name}.csv --target {target} --features 64 -o {tmp_path}/m --report {tmp_path}/{name}.html"
        result = run(words)
        assert result.exit_code == 0, result.output
        page = checked((tmp_path / f"{name}.html").read_text(encoding="utf-8"))
        for heading in (
            "Scores on held-out rows",
            "Errors on held-out rows",
            "Data",
            "Kernel and map",
            "How to reproduce this model",
        ):
            assert heading in page.words
        assert f"mercer {words}" in page.words
        assert "peak memory" in page.words
        assert "--kernelauto" in page.words.lower()


def test_scores_stand_next_to_those_of_other_models(folder, run, tmp_path):
    command = f"fit flowers.csv --target kind --features 64 -o {tmp_path}/m"
    found = json.loads(run(f"{command} --json").stdout)
    _, test = data.open("flowers.csv", target="kind").split(test=0.2, seed=0)
    y = np.concatenate([block.y for block in test.blocks()])
    share = np.mean(y == "in")
    assert list(found["baselines"]) == ["majority class"]
    assert found["baselines"]["majority class"]["accuracy"]["value"] == pytest.approx(share)
    assert found["warnings"] == []
    result = run(command)
    assert "majority class" in result.stdout
    assert f"{share:.4g}" in result.stdout
    result = run(f"{command} --report {tmp_path}/r.html --json")
    assert list(json.loads(result.stdout)["baselines"]) == ["majority class", "linear model", "boosted trees"]
    page = checked((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "Compared with other models" in page.words
    assert "logistic regression" in page.words


def test_a_model_that_is_worse_than_expected_gets_a_prominent_warning(run, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_t(1.2, size=(2000, 2))
    rows = np.column_stack([X, np.sign(X[:, 1]) * np.abs(X[:, 1]) ** 1.5 + X[:, 0]])
    np.save(tmp_path / "heavy.npy", rows)
    command = f"fit {tmp_path}/heavy.npy --target 2 --alpha gcv --features 128 --map orthogonal_fourier "
    command += f"--kernel gaussian('median') --scale standard -o {tmp_path}/m.mercer"
    result = run(f"{command} --json --report {tmp_path}/r.html")
    told = json.loads(result.stdout)["warnings"]
    assert any("that generalised cross-validation expected" in one and "% of the squared error" in one for one in told)
    doubt, *others = result.stderr.splitlines()
    assert doubt.startswith("note: alpha='gcv' is unreliable on these rows")
    assert others == [f"WARNING: {one}" for one in told]
    page = checked((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert all(one in page.words for one in told)
    assert run(f"{command} --json -q").stderr == ""
    again = run(f"evaluate {tmp_path}/m.mercer {tmp_path}/heavy.npy --target 2 --json")
    assert "WARNING: RMSE is" in again.stderr
    assert json.loads(again.stdout)["warnings"] != []


def test_a_page_needs_matplotlib_before_the_fit(folder, fails, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = fails(f"fit flowers.csv --target kind -o {tmp_path}/m --report {tmp_path}/r.html")
    assert "r.html needs matplotlib, which is not installed: pip install 'mercer[plot]'" in message
    assert list(tmp_path.iterdir()) == []


def test_a_model_from_a_device_is_the_one_of_the_processor(folder, run, tmp_path):
    pytest.importorskip("torch")
    given = ["--kernel", "gaussian(gamma=0.1)", "--features", 32, "--alpha", 0.1, "--map", "RandomFourier"]
    models = []
    for device in ([], ["--device", "torch:cpu"]):
        name = tmp_path / f"houses{len(device)}.mercer"
        fitted(run, "houses.csv", "--target", "price", *given, *device, "-o", name)
        models.append(mercer.load(name))
    here, there = models
    assert there.device is None
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-8 * np.abs(here.coef_).max())


def test_a_name_that_is_not_a_device(folder, run, tmp_path):
    done = run("fit", "houses.csv", "--target", "price", "--device", "tpu", "-o", tmp_path / "houses.mercer")
    assert done.exit_code != 0
    assert "device must be None, 'cuda'" in done.stderr
