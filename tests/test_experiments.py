"""The experiments continue after an interruption, read only the files they expect, and can all be drawn and written."""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

import cells
import chen
import chen_figure1
import datasets
import experiment
import kar
import machines
import maclaurin
import papers
import pictures
from claims import Claim
from sklearn.svm import SVC

from mercer.kernels import Exponential, Polynomial

# -- the runner --------------------------------------------------------------------------------------------------------


def toy(calls, fails_at=None):
    """Two methods at two widths, three seeds for the random one."""

    def work(name, seed, found):
        if (name, seed) == fails_at:
            raise KeyboardInterrupt
        calls.append((name, seed))
        return {"score": 10.0 * seed + len(name)}

    def listed(full):
        for name in ("exact", "map, D = 1", "map, D = 2"):
            yield cells.Cell(name, lambda seed, found, name=name: work(name, seed, found), 3 if "map" in name else 1)

    def picture(found):
        figure, axes = pictures.panels(1, 1)
        pictures.curve(axes[0, 0], found, [(1, "map, D = 1"), (2, "map, D = 2"), (3, "absent")], "score", "Mercer")
        pictures.level(axes[0, 0], found, "exact", "score")
        pictures.legend(figure, axes)
        return figure

    def claims(found):
        score = cells.median(found, "map, D = 2", "score")
        return [Claim("it is large", None if np.isnan(score) else bool(score > 15), f"{score:.0f}")]

    def table(found):
        return cells.markdown(("cell", "score"), ((name, cell["score"]) for (name, _), cell in found.items()))

    return experiment.Experiment("toy", "Toy", "A toy.", listed, table, picture, claims)


def test_an_interrupted_run_continues(tmp_path, capsys):
    first, second = [], []
    with pytest.raises(KeyboardInterrupt):
        experiment.main(toy(first, fails_at=("map, D = 2", 1)), ["--full", "--results", str(tmp_path)])
    experiment.main(toy(second), ["--full", "--results", str(tmp_path)])
    assert first == [("exact", 0), ("map, D = 1", 0), ("map, D = 2", 0), ("map, D = 1", 1)]
    assert second == [("map, D = 2", 1), ("map, D = 1", 2), ("map, D = 2", 2)]
    assert "3/3, about 0 min left: toy: map, D = 2, seed 2" in capsys.readouterr().err
    with (tmp_path / "full" / "toy.csv").open(newline="") as file:
        rows = {row["cell"]: row for row in csv.DictReader(file)}
    assert rows["map, D = 2"] == {
        "cell": "map, D = 2", "quantity": "score", "runs": "3", "mean": "20", "deviation": "10", "median": "20",
    }  # fmt: skip
    assert rows["exact"]["deviation"] == ""
    assert "**holds**: it is large (20)" in (tmp_path / "full" / "toy.md").read_text()
    assert (tmp_path / "full" / "toy.png").stat().st_size > 1000
    assert not (tmp_path / "quick").exists()


def test_cells_are_measured_again_or_in_part(tmp_path):
    calls = []
    experiment.main(toy(calls), ["--results", str(tmp_path), "--only", "D = 1", "--runs", "2"])
    assert calls == [("map, D = 1", 0), ("map, D = 1", 1)]
    experiment.main(toy(calls), ["--results", str(tmp_path), "--only", "D = 1"])
    assert calls == [("map, D = 1", seed) for seed in range(3)]
    assert "not measured yet" in (tmp_path / "quick" / "toy.md").read_text()
    experiment.main(toy(calls), ["--results", str(tmp_path), "--only", "exact", "D = 1", "--again", "D = 1"])
    assert calls[3:] == [("exact", 0), *[("map, D = 1", seed) for seed in range(3)]]
    assert len(cells.Record(tmp_path / "quick" / "cells" / "toy.csv").found("toy")) == 4
    experiment.main(toy(calls), ["--results", str(tmp_path), "--seconds", "-1"])
    assert len(calls) == 7


def test_the_page_counts_the_papers_claims_and_not_ours(tmp_path, monkeypatch):
    claims = [Claim("so", holds, "3", ours=ours) for holds in (True, (1, 2), False) for ours in (False, True)]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "pham_figure1.md").write_text("".join(f"- {claim}\n" for claim in claims))
    monkeypatch.setattr(papers, "RESULTS", tmp_path)
    page = papers.verdicts()
    assert "(#pham--pagh-2013-figure-1-error-of-the-estimate)|1|1|1|\n|all|1|1|1|\n" in page
    assert page.count("*ours*") == 3


def test_a_failing_cell_says_which(tmp_path):
    def work(seed, found):
        raise ValueError("no")

    broken = experiment.Experiment("broken", "", "", lambda full: [cells.Cell("one", work)], str, str)
    with pytest.raises(ValueError, match="no") as caught:
        experiment.main(broken, ["--results", str(tmp_path)])
    assert caught.value.__notes__ == ["in the cell broken: one, seed 0"]


def test_exact_machines_are_forecast_beyond_the_limit():
    split = datasets.made_up(2)

    class Slow:
        def fit(self, X, y):
            self.rows = len(X)
            end = machines.timed(lambda: np.linalg.svd(np.ones((len(X), 60))))
            assert end["processor"] >= 0
            return self

        def score(self, X, y):
            return 0.5

    assert machines.exact(Slow, split, limit=1e9)["score"] == 50.0
    beyond = machines.exact(Slow, split, limit=1e-9)
    assert set(beyond) == {"predicted", "rows", "score of part"}
    assert (beyond["rows"], beyond["score of part"]) == (len(split.X) // 8, 50.0)
    assert beyond["predicted"] >= 1e-3


def test_a_power_is_that_of_the_points_that_are_there():
    points = [(x, 3.0 * x**-0.5) for x in (1.0, 4.0, 9.0)]
    assert cells.slope([*points, (16.0, float("nan"))]) == pytest.approx(-0.5)
    assert np.isnan(cells.slope(points[:2]))


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_sets(tmp_path, monkeypatch):
    """Archives of the published form with few rows."""
    rng = np.random.default_rng(0)
    for name, published in list(datasets.SETS.items()):
        X = rng.integers(0, 2, size=(120, published.shape[1])).astype(np.float32)
        y = rng.integers(1, 3, size=120) if name not in ("cpu", "blog_feedback", "uji_indoor_loc") else X @ X[0]
        parts = {"n_train": 80} if "n_train" in published.origin else {}
        archived(tmp_path, monkeypatch, name, X.shape, X=X, y=y, **parts)


@pytest.mark.parametrize("name", papers.EXPERIMENTS)
def test_the_cells_of_every_experiment(name):
    one = papers.experiment_of(name)
    listed = list(one.cells(False))
    assert len({cell.name for cell in listed}) == len(listed)
    assert {cell.name for cell in listed} <= {cell.name for cell in one.cells(True)}
    assert one.name == name


def some_at_once():
    """Every experiment, all but two of the quickest for ``make test-full`` only."""
    quick = ("pham_figure1", "beyond_time")
    return [pytest.param(name, marks=() if name in quick else pytest.mark.full) for name in papers.EXPERIMENTS]


@pytest.mark.usefixtures("small_sets")
@pytest.mark.parametrize("name", some_at_once())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:n_components > n_samples")
def test_every_experiment_on_few_rows(name, tmp_path):
    one = papers.experiment_of(name)
    listed = list(one.cells(False))
    wanted = [listed[0].name, listed[-1].name]
    experiment.main(one, ["--results", str(tmp_path), "--runs", "1", "--only", *wanted])
    found = cells.Record(tmp_path / "quick" / "cells" / f"{one.record or name}.csv").found(one.record or name)
    assert set(wanted) <= {cell for cell, _ in found}
    assert all(np.isfinite(list(numbers.values())).all() for numbers in found.values())
    assert (tmp_path / "quick" / f"{name}.md").read_text().startswith("|")
    assert (tmp_path / "quick" / f"{name}.png").stat().st_size > 1000


def test_the_page_is_that_of_the_results():
    assert papers.PAGE.read_text() == papers.page()


# -- sets --------------------------------------------------------------------------------------------------------------


def archived(folder, monkeypatch, name, shape, checksum=None, **arrays):
    np.savez(folder / f"{name}.npz", **arrays)
    found = hashlib.sha256((folder / f"{name}.npz").read_bytes()).hexdigest()
    monkeypatch.setitem(datasets.SETS, name, datasets.Published(checksum or found, shape, "made up"))
    monkeypatch.setenv("MERCER_DATA", str(folder))


def test_archives_are_verified(tmp_path, monkeypatch):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    archived(tmp_path, monkeypatch, "cpu", (10, 2), X=X, y=y)
    split = datasets.real_set("cpu")
    assert [len(part) for part in split] == [8, 8, 2, 2]
    assert np.array_equal(np.sort(np.concatenate([split.y, split.y_test])), y)
    assert np.array_equal(split.X[:, 0], 2 * split.y)
    archived(tmp_path, monkeypatch, "cpu", (10, 2), checksum="0" * 64, X=X, y=y)
    with pytest.raises(datasets.DataError, match=r"cpu\.npz has the SHA-256 [0-9a-f]{64}, expected 0{64}"):
        datasets.archive("cpu")


def test_a_missing_folder_is_explained(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    with pytest.raises(datasets.DataError, match=r"set the environment variable MERCER_DATA.* nursery\.npz.*12960 x 8"):
        datasets.archive("nursery")
    monkeypatch.setenv("MERCER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(datasets.DataError, match=r"which is no folder.*DELVE"):
        datasets.archive("cpu")
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(datasets.DataError, match=r"mnist\.npz is missing.*70000 x 784"):
        datasets.archive("mnist")


def test_what_scikit_learn_fetches(monkeypatch):
    class Found:
        data, target = np.zeros((4, 2)), np.array(["1", "-1", "1", "-1"])

    def offline():
        raise OSError("no route")

    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setitem(datasets.SETS, "adult", datasets.Published("", (4, 2), "made up"))
    monkeypatch.setitem(datasets.FETCHED, "adult", (Found, 3))
    fetched = datasets.archive("adult")
    assert fetched["y"].tolist() == [1, -1, 1, -1]
    assert fetched["n_train"] == 3
    monkeypatch.setitem(datasets.SETS, "adult", datasets.Published("", (5, 2), "made up"))
    with pytest.raises(datasets.DataError, match=r"shape \(4, 2\), expected \(5, 2\)"):
        datasets.archive("adult")
    monkeypatch.setitem(datasets.FETCHED, "adult", (offline, 3))
    with pytest.raises(datasets.DataError, match=r"could not fetch adult \(no route\).*adult\.npz: made up"):
        datasets.archive("adult")


def test_gisette_in_its_published_form(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(datasets.DataError, match=r"gisette_train\.data is missing; .*https://"):
        datasets.gisette()
    place = tmp_path / "gisette"
    place.mkdir()
    (place / "gisette_train.data").write_text("550 0 495 \n0 983 0 \n991 0 0 \n")
    (place / "gisette_train.labels").write_text("1\n-1\n1\n")
    (place / "gisette_valid.data").write_text("0 0 999 \n")
    (place / "gisette_valid.labels").write_text("-1\n")
    split = datasets.gisette()
    assert split.X.tolist() == [[550, 0, 495], [0, 983, 0], [991, 0, 0]]
    assert split.y.tolist() == [1, -1, 1]
    assert (split.X_test.tolist(), split.y_test.tolist()) == ([[0, 0, 999]], [-1])
    (place / "gisette_train.labels").write_text("1\n-1\n")
    with pytest.raises(datasets.DataError, match="gisette_train: 3 rows and 2 labels"):
        datasets.gisette()


def test_slice_localization_in_its_published_form(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    path = tmp_path / "slice_localization_data.csv"
    with pytest.raises(datasets.DataError, match=r"slice_localization_data\.csv is missing; .*https://"):
        datasets.slice_localization()
    path.write_text("patientId,value0,value1,reference\n0,0.0,-0.25,21.803851\n7,0.5,1.0,94.4\n")
    found = datasets.slice_localization()
    assert found["X"].tolist() == [[0.0, -0.25], [0.5, 1.0]]
    assert found["y"].tolist() == [21.803851, 94.4]
    assert found["patient"].tolist() == [0, 7]
    path.write_text("value0,value1,reference\n0.0,-0.25,21.8\n")
    with pytest.raises(datasets.DataError, match="header is to be patientId"):
        datasets.slice_localization()


def test_scales():
    split = datasets.made_up(3)
    between = datasets.from_zero_to_one(split)
    assert (between.X.min(), between.X.max()) == (0.0, 1.0)
    assert np.allclose(np.linalg.norm(datasets.unit_rows(split).X_test, axis=1), 1.0, atol=1e-6)
    assert np.abs(datasets.standardised(split).X.mean(axis=0)).max() < 1e-6


# -- the papers' Maclaurin ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "share"),
    [
        (Polynomial(3, coef0=1.0), 15 / 16),
        pytest.param(Polynomial(2), 1 / 8, marks=pytest.mark.full),
        pytest.param(Exponential(0.5), 1.0, marks=pytest.mark.full),
    ],
)
def test_the_papers_maclaurin_is_unbiased_with_zeros(kernel, share):
    X = np.random.default_rng(0).normal(size=(3, 4))
    maps = [maclaurin.PapersMaclaurin(kernel, 64, seed).fit(X) for seed in range(400)]
    estimates = np.array([Z @ Z.T for Z in (one.transform(X) for one in maps)])
    error = np.abs(estimates.mean(axis=0) - kernel(X)) / (estimates.std(axis=0) / np.sqrt(400))
    assert error.max() < 4.5
    assert np.mean([one.n_kept_ for one in maps]) == pytest.approx(64 * share, abs=0.5)


# -- Kar and Karnick's machines ----------------------------------------------------------------------------------------


def test_the_exact_machine_predicts_by_its_support():
    split, kernel = datasets.made_up(2), Exponential(0.3)
    machine = kar.ExactMachine(kernel).fit(split.X, split.y)
    plain = SVC(kernel=kernel).fit(split.X, split.y)
    assert len(machine.support_vectors_) < len(split.X)
    assert np.array_equal(machine.predict(split.X_test), plain.predict(split.X_test))
    assert machine.score(split.X_test, split.y_test) == plain.score(split.X_test, split.y_test) > 0.8


@pytest.mark.usefixtures("small_sets")
def test_splits_lie_in_the_unit_ball():
    first, second = kar.rows("nursery", 0), kar.rows("nursery", 1)
    assert [len(part) for part in first] == [72, 72, 48, 48]
    assert np.linalg.norm(first.X, axis=1).max() == pytest.approx(1.0, abs=1e-6)
    assert not np.array_equal(first.X, second.X)
    assert set(first.y) == {0, 1}
    assert kar.kernel_on(np.eye(3), kar.EXPONENTIAL).gamma == pytest.approx(0.5)


def test_h01_has_exact_degrees_next_to_the_random_features():
    X = np.random.default_rng(0).normal(size=(5, 3))
    sketch = kar.MAPS["H0/1"](Exponential(0.5), 7, 3, 0).fit(X)
    assert sketch.exact_degrees_ == (0, 1)
    assert sketch.transform(X).shape == (5, 3 + 1 + 7)


# -- training-efficient feature maps -----------------------------------------------------------------------------------


def test_the_spectral_norm_of_products():
    M = np.random.default_rng(0).normal(size=(60, 60))
    M = M + M.T - 5.0 * np.eye(60)  # the largest eigenvalue is below 0
    found = chen_figure1.spectral_norm(lambda v: M.astype(np.float32) @ v, 60)
    assert found == pytest.approx(np.linalg.norm(M, 2), rel=1e-3)


def test_ridge_regression_in_closed_form():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    w = chen.ridge(Z, y, 0.5)
    assert np.allclose(Z.T @ (Z @ w - y) + 0.5 * w, 0.0, atol=1e-12)
    assert chen.relative(y, np.zeros(40)) == 1.0


def test_where_a_curve_comes_down_to_an_error():
    points = [(64, 0.8), (128, float("nan")), (256, 0.2), (1024, 0.3), (4096, 0.1)]
    assert chen.reached(points, 0.4) == pytest.approx(128)
    assert chen.reached(points, 0.2) == pytest.approx(256)
    assert chen.reached(points, 0.9) == 64
    assert chen.reached(points, 0.05) == np.inf
    assert np.isnan(chen.reached([*points, (8192, float("nan"))], 0.05))
    assert np.isnan(chen.reached(points[1:2], 0.4))
    assert np.isnan(chen.reached(points, float("nan")))
