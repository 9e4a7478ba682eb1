"""AutoMap: the choice, the target it meets, its budgets, files, and scikit-learn's contract."""

import json
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer
from mercer import AutoMap, Compressed, KernelRegressor, Nystrom, kernel_error, maps
from mercer._random import Stream
from mercer._rows import ArrayRows
from mercer.choose import TargetNotMetError
from mercer.choose.auto_map import FEWEST_ROWS, MOST_FOLDS
from mercer.choose.gram_errors import Estimate
from mercer.choose.held_out_rows import RowsWithout
from mercer.choose.map_costs import fit_operations, operations_in, row_operations, work_operations
from mercer.choose.map_pilot import Budget, Candidate, Pilot, candidates_for
from mercer.kernels import AdditiveChi2, ArcCosine, Cauchy, Gaussian, Laplacian, Linear, Polynomial, SkewedChi2
from mercer.learn.estimates.time_forecast import SPEED

GAUSSIAN = Gaussian(0.1)


def some_rows(n=900, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.fixture(scope="module")
def met():
    """A map for a target, and rows that it has not seen."""
    X = some_rows(2400)
    return AutoMap("gaussian('median')", target_error=0.05, random_state=0).fit(X[:1200]), X[1200:]


# -- the target --------------------------------------------------------------------------------------------------------


def test_the_error_on_new_rows_is_below_the_target(met):
    auto, new = met
    assert kernel_error(auto, new).relative < 0.05
    assert auto.error_.low < kernel_error(auto, new).relative < auto.error_.high <= 0.05
    assert auto.pilot_.target == 0.05
    assert auto.pilot_.chosen.verified
    assert auto.pilot_.chosen.n_components == auto.n_components_ == auto.map_.n_components_
    assert auto.pilot_.fresh_rows == 400


def test_a_map_of_two_thirds_of_the_width_misses_the_target(met):
    auto, new = met
    less = clone(auto.map_).set_params(n_components=int(auto.n_components_ / 1.5)).fit(some_rows(2400)[:1200])
    assert kernel_error(less, new).relative > 0.05


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        (ArcCosine(), 0.05),
        pytest.param(Gaussian(0.1), 0.02, marks=pytest.mark.full),
        pytest.param(Laplacian(0.1), 0.05, marks=pytest.mark.full),
        pytest.param(Polynomial(2, gamma=0.1, coef0=1.0), 0.03, marks=pytest.mark.full),
    ],
)
def test_targets_are_met_with_most_seeds(kernel, target):
    """Each run misses with a probability of at most 0.05, so 5 misses of 12 happen once in 5,000 times."""
    X = some_rows(12 * 500 + 1000)
    new = X[-1000:]
    missed = 0
    for seed in range(12):
        auto = AutoMap(kernel, target_error=target, random_state=seed).fit(X[500 * seed : 500 * (seed + 1)])
        missed += kernel_error(auto, new).relative > target
    assert missed < 5


def test_a_few_rows_far_out_in_the_pilot_do_not_make_the_map_wide():
    """Fresh rows decide: by the upper limits of the pilot, there would be 847 features."""
    X = np.random.default_rng(1).standard_t(1.5, size=(900, 4))
    auto = AutoMap(Cauchy(0.3), target_error=0.05, random_state=1).fit(X)
    assert auto.n_components_ < 200
    assert auto.error_.high <= 0.05


def test_the_widest_map_that_is_allowed_is_tried_before_a_refusal():
    """The step from 23 features, which are not enough, leads to 27."""
    auto = AutoMap(GAUSSIAN, n_components=26, target_error=0.03, random_state=3).fit(some_rows(600, seed=3))
    assert [one.n_components for one in auto.pilot_.trials if one.verified] == [23, 26]
    assert auto.n_components_ == 26


def test_the_largest_error_can_be_the_target():
    X = some_rows(1500)
    auto = AutoMap(GAUSSIAN, target_error=0.1, error="max", random_state=0).fit(X[:900])
    assert kernel_error(auto, X[900:1200]).maximum < 0.1
    assert auto.pilot_.error == "max"
    assert auto.error_.value <= auto.error_.high <= 0.1


def test_an_exact_map_meets_any_target():
    auto = AutoMap(Linear(), target_error=1e-9, random_state=0).fit(some_rows(200))
    assert auto.n_components_ <= 8
    assert auto.error_.high < 1e-9


def test_what_cannot_be_met_is_refused_with_the_best_that_was_found():
    X = np.random.default_rng(0).normal(size=(300, 30))
    with pytest.raises(
        TargetNotMetError, match=r"target_error=0.01 was requested, and the best is \w+.* with"
    ) as found:
        AutoMap(Laplacian(0.5), n_components=64, target_error=0.01, random_state=0).fit(X)
    best = min(found.value.pilot.trials, key=lambda one: one.high)
    assert best.n_components <= 64
    assert f"{best.error:.3g}" in str(found.value)
    with pytest.raises(ValueError, match="no map fits in the budget"):
        AutoMap(GAUSSIAN, time_budget=1e-9).fit(X)


def test_fresh_rows_have_no_part_in_choice_or_fit(monkeypatch):
    """No landmark is among the rows that verify the map."""
    seen = []
    taken = RowsWithout.__init__

    def watched(self, rows, left_out, rng):
        seen.append(np.asarray(left_out))
        taken(self, rows, left_out, rng)

    monkeypatch.setattr(RowsWithout, "__init__", watched)
    X = some_rows(600)
    auto = AutoMap(GAUSSIAN, target_error=0.02, random_state=0).fit(X)
    both, fresh = seen
    assert set(fresh) < set(both)
    assert len(fresh) == 200
    assert len(both) == 350
    assert isinstance(auto.map_, Nystrom)
    chosen = auto.map_.component_indices_
    assert not set(chosen) & set(fresh)
    np.testing.assert_array_equal(auto.map_.parameters_.landmarks, X[chosen])


# -- a width, a budget, or nothing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(0.02), pytest.param(Laplacian(0.2), marks=pytest.mark.full)])
def test_at_a_given_width_the_choice_is_about_the_best(kernel):
    X = some_rows(1600, 6)
    auto = AutoMap(kernel, n_components=48, random_state=0).fit(X[:1000])
    assert auto.n_components_ == 48
    errors = {
        one.name: np.mean(
            [kernel_error(one.at(48).set_params(random_state=draw).fit(X[:1000]), X[1000:]).relative for draw in (0, 1)]
        )
        for one in candidates_for(kernel)
    }
    assert errors[auto.pilot_.chosen.map] <= 1.1 * min(errors.values())
    assert {one.map for one in auto.pilot_.trials} == set(errors)


def test_finalists_are_compared_in_folds(monkeypatch):
    X = some_rows(600, 6)
    auto = AutoMap(Gaussian(0.02), n_components=48, random_state=0).fit(X)
    taken = [one for one in auto.pilot_.trials if one.map == auto.pilot_.chosen.map and one.n_components == 48]
    assert len(taken) == 2 + MOST_FOLDS
    assert len({one.error for one in taken}) == len(taken)
    others = {"Nystrom", "Nystrom(rpcholesky)"} - {auto.pilot_.chosen.map}
    monkeypatch.setattr(Pilot, "try_in", lambda self, fold, one, width: 1e-6 if one.name in others else 1.0)
    assert {AutoMap(Gaussian(0.02), n_components=48, random_state=0).fit(X).pilot_.chosen.map} == others


def test_a_fold_has_rows_of_its_own_and_judges_by_none_of_them():
    X = some_rows(400)
    rows = ArrayRows(X, Stream(0, "rows"))
    budget = Budget(math.inf, math.inf, math.inf)
    given = {"size": 500, "most_landmarks": 400, "error": "relative_frobenius", "budget": budget}
    pilot = Pilot(GAUSSIAN, rows, some_rows(90, seed=1), seed=0, n_jobs=None, **given)
    folds = [pilot.fold(number, 32) for number in (0, 1)]
    for fold in folds:
        learned = np.vstack([block for block, _ in fold.rows.weighted_blocks()])
        assert (len(fold.judged), len(learned)) == (90, 310)
        assert len(np.unique(np.vstack([fold.judged, learned]), axis=0)) == 400
        np.testing.assert_array_equal(fold.kernel, GAUSSIAN(fold.judged))
    assert not np.array_equal(folds[0].judged, folds[1].judged)
    assert folds[0].seed != folds[1].seed
    candidate = next(one for one in pilot.candidates if one.name == "Nystrom")
    assert pilot.try_in(folds[0], candidate, 32) == pilot.try_in(pilot.fold(0, 32), candidate, 32)
    assert pilot.try_in(folds[0], candidate, 32) != pilot.try_in(folds[1], candidate, 32)


def test_without_arguments_the_width_is_the_default():
    assert AutoMap(ArcCosine(), random_state=0).fit(some_rows(400)).n_components_ == 256


def test_budgets_bound_the_width():
    X = some_rows(600)
    by_time = AutoMap(ArcCosine(), time_budget=1e-4, random_state=0).fit(X)
    assert work_operations(by_time.map_, 600, 4, by_time.n_components_) <= operations_in(1e-4)
    by_memory = AutoMap(ArcCosine(), memory_budget="100kB", random_state=0).fit(X)
    assert 8 * 600 * by_memory.n_components_ <= 100_000
    assert by_memory.n_components_ > 8


def test_few_rows_follow_the_rules():
    X = some_rows(FEWEST_ROWS - 1)
    auto = AutoMap(GAUSSIAN, n_components=16, random_state=0).fit(X)
    assert type(auto.map_) is type(mercer.feature_map(GAUSSIAN))
    assert auto.pilot_.trials == ()
    assert auto.error_ is None
    with pytest.raises(ValueError, match="there is nothing to plot"):
        auto.plot()
    with pytest.raises(ValueError, match="at least 32 rows, found n_samples=31"):
        AutoMap(GAUSSIAN, target_error=0.1).fit(X)


# -- the same choice, the same bits ------------------------------------------------------------------------------------


def test_a_seed_makes_the_same_choice_on_any_number_of_threads():
    X = some_rows(700)
    one, two = (AutoMap(GAUSSIAN, target_error=0.02, random_state=3, n_jobs=jobs).fit(X) for jobs in (1, 2))
    assert one.pilot_ == two.pilot_
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    np.testing.assert_array_equal(clone(one.map_).fit(X).seed_, one.seed_)


def test_precision_and_sparse_rows():
    X = some_rows(500)
    X[X < 0.0] = 0.0
    dense = AutoMap(GAUSSIAN, n_components=8, random_state=0).fit(X)
    sparse = AutoMap(GAUSSIAN, n_components=8, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X), rtol=1e-6, atol=1e-8)
    single = X.astype(np.float32)
    assert AutoMap(GAUSSIAN, target_error=0.1, random_state=0).fit(single).transform(single).dtype == np.float32
    histograms = AutoMap(AdditiveChi2(), n_components=64, random_state=0).fit(np.abs(X))
    assert sp.issparse(histograms.transform(sp.csr_array(X))) == histograms.fitted_.keeps_sparse


def test_tables_are_taken_as_matrices_are():
    X = some_rows(600)
    of_matrix = AutoMap(GAUSSIAN, target_error=0.05, random_state=0).fit(X)
    of_table = AutoMap(GAUSSIAN, target_error=0.05, random_state=0).fit(mercer.data.open(X))
    assert of_table.pilot_.chosen.map == of_matrix.pilot_.chosen.map
    np.testing.assert_array_equal(of_table.transform(X), of_matrix.transform(X))


def test_torch_rows_are_accepted():
    torch = pytest.importorskip("torch")
    X = some_rows(100)
    auto = AutoMap(ArcCosine(), n_components=8, random_state=0).fit(X)
    Z = auto.transform(torch.asarray(X))
    np.testing.assert_allclose(Z.numpy(), auto.transform(X), rtol=1e-9, atol=1e-12)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", ["full", "seed"])
def test_files_contain_the_map_and_the_pilot(met, tmp_path, parameters):
    auto, new = met
    mercer.save(auto, tmp_path / "auto.mercer", parameters=parameters)
    again = mercer.load(tmp_path / "auto.mercer")
    assert isinstance(again, AutoMap)
    assert again.pilot_ == auto.pilot_
    assert again.get_params() == auto.get_params()
    np.testing.assert_array_equal(again.transform(new), auto.transform(new))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(auto)).transform(new), auto.transform(new))


def test_a_learner_takes_it_and_is_saved_with_it(tmp_path):
    X = some_rows(500)
    model = KernelRegressor(map=AutoMap(GAUSSIAN, target_error=0.05, random_state=0), alpha=1.0, preparation=None).fit(
        X, np.sin(X[:, 0])
    )
    assert model.map_.error_.high <= 0.05
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.map_.pilot_ == model.map_.pilot_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(chosen=dict(record)), "must have chosen a map of another class"),
        (
            lambda record: record["pilot"]["trials"].append(record["pilot"]["trials"][0] | {"chosen": True}),
            "exactly one chosen trial",
        ),
        (lambda record: record["pilot"].pop("rows"), "must have the entries"),
        (lambda record: record.update(width=3), "unknown|width"),
    ],
    ids=["inside itself", "two choices", "no rows", "another entry"],
)
def test_damaged_files_are_refused(met, change, message):
    from mercer.persist.map_records import ArraySink, ArraySource, read_map, write_map
    from mercer.persist.validation import ModelFileError

    target = ArraySink(False)
    record = json.loads(json.dumps(write_map(met[0], target)))
    change(record)
    with pytest.raises(ModelFileError, match=message):
        read_map(record, ArraySource(target.arrays, target.arrays.__getitem__, False))


# -- scikit-learn ------------------------------------------------------------------------------------------------------


def checks():
    """All checks with a kernel that two maps support; in ``make test-full``, also with one that many maps support."""
    for kernel, marks in ((ArcCosine(), ()), (Gaussian("scale"), pytest.mark.full)):
        for estimator, check in estimator_checks_generator(AutoMap(kernel, n_components=8)):
            yield pytest.param(estimator, check, id=f"{type(kernel).__name__}-{check.func.__name__}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_estimator_checks(estimator, check):
    check(estimator)


def test_pipelines_names_and_parameters():
    X = some_rows(200)
    pipeline = make_pipeline(AutoMap(ArcCosine(), n_components=8, random_state=0))
    assert list(pipeline.fit(X).get_feature_names_out())[:2] == ["automap0", "automap1"]
    assert AutoMap(GAUSSIAN).set_params(kernel__gamma=0.5).kernel == Gaussian(0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 0}, "n_components must be"),
        ({"target_error": 0.0}, "target_error must be a positive finite number or None"),
        ({"time_budget": -1.0}, "time_budget must be"),
        ({"memory_budget": "lots"}, "memory must be"),
        ({"error": "frobenius"}, "error must be one of"),
    ],
)
def test_impossible_arguments_are_named(arguments, message):
    auto = AutoMap(GAUSSIAN, **arguments)
    with pytest.raises(ValueError, match=message):
        auto.fit(some_rows(100))
    with pytest.raises(NotFittedError):
        auto.transform(some_rows(100))


def test_kernels_without_a_choice_are_refused():
    X = some_rows(100)
    with pytest.raises(TypeError, match="use Nystrom"):
        AutoMap("precomputed").fit(X @ X.T)
    with pytest.raises(TypeError, match="use Nystrom"):
        AutoMap(lambda a, b: float(a @ b)).fit(X)
    with pytest.raises(TypeError, match="use its map_ instead"):
        Compressed(AutoMap(GAUSSIAN)).fit(X)
    with pytest.raises(ValueError, match="skewedness"):
        AutoMap(SkewedChi2(0.1)).fit(X)


def test_the_picture_has_a_panel_for_widths_and_one_for_costs(met):
    pytest.importorskip("matplotlib")
    figure = met[0].plot()
    assert [axes.get_xlabel() for axes in figure.axes] == ["features", "operations"]
    assert any("chosen" in text.get_text() for text in figure.axes[1].get_legend().get_texts())


def test_the_table_reads_as_one(met):
    lines = str(met[0].pilot_).splitlines()
    assert lines[0].split() == ["map", "D", "error", "95", "%", "interval", "operations"]
    assert sum(line.endswith("chosen") for line in lines) == 1


# -- the parts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("OrthogonalFourier", 64 * 34.0),
        ("QuasiFourier", 64 * 34.0),
        ("RandomFourier", 64 * 34.0),
        ("StructuredFourier", 40.0 * 64),
        ("Fastfood", 40.0 * 64),
        ("Nystrom", 64 * 58.0 + 64.0**2),
        ("AdditiveMap", 40.0 * 64),
        ("TensorSketch", 3 * 1760.0),
        ("HadamardSketch", 3 * 1760.0),
        ("ComplexSketch", 3 * 1760.0),
        ("TreeSketch", 3 * 9120.0),
        ("TaylorSketch", 3 * 1760.0),
        ("RandomMaclaurin", 64 * 27.0),
        ("RandomRelu", 64 * 58.0),
    ],
)
def test_what_a_row_of_eight_columns_costs_at_64_features(name, operations):
    assert getattr(maps, name).construction.row_operations(8, 64, 3) == operations


def test_costs_grow_with_rows_columns_and_features():
    for kernel in (GAUSSIAN, Polynomial(3), Gaussian(0.1) + Linear()):
        for one in candidates_for(kernel):
            assert row_operations(one.map, 8, 64) < row_operations(one.map, 8, 128)
            assert row_operations(one.map, 8, 64) <= row_operations(one.map, 4096, 64)
            assert work_operations(one.map, 100, 8, 64) < work_operations(one.map, 200, 8, 64)
    landmarks = Nystrom(GAUSSIAN)
    assert fit_operations(landmarks, 1000, 8, 512) > 8 * 0.9 * fit_operations(landmarks, 100, 8, 256)
    assert operations_in(2.0) == 2.0 * SPEED


def test_the_model_of_an_error_is_a_power_law_beyond_what_was_measured():
    candidate = Candidate("law", Nystrom(GAUSSIAN))
    for width in (16, 32, 64):
        candidate.learn(width, 3.0 / width)
    assert candidate.error_at(256) == pytest.approx(3.0 / 256)
    assert candidate.error_at(45) == pytest.approx(3.0 / 45)
    assert candidate.width_for(3.0 / 500) == pytest.approx(500)
    assert candidate.width_for(3.0 / 24) == pytest.approx(24)
    assert candidate.width_for(1.0) == 16
    candidate.learn(128, 0.0)
    assert candidate.width_for(1e-9) == 128


def test_rows_without_some_keep_their_numbers():
    X = np.arange(20_000.0).reshape(-1, 2)
    rows = RowsWithout(ArrayRows(X, Stream(0)), np.arange(0, 10_000, 3), Stream(1))
    assert rows.n_rows == 10_000 - 3334
    assert rows.n_features == 2
    chosen = rows.choose(50)
    assert (chosen % 3 > 0).all()
    assert len(np.unique(chosen)) == 50
    np.testing.assert_array_equal(rows.take(chosen), X[chosen])
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks())), X[np.arange(10_000) % 3 > 0])
    assert set(rows.choose(20)) <= set(chosen)


def test_estimates_read_as_a_value_and_its_interval():
    assert str(Estimate(0.1, 0.05, 0.2)) == "0.1 (0.05 to 0.2)"
