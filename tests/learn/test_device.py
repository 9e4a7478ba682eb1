"""Learners on a device agree with the same learners on the processor."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.data import ArrayTable
from mercer.data import open as open_table
from mercer.gpu.device import Device
from mercer.kernels import Gaussian, Polynomial
from mercer.learn import (
    ConformalClassifier,
    ConformalRegressor,
    KernelCCA,
    KernelClassifier,
    KernelKMeans,
    KernelNovelty,
    KernelPCA,
    KernelRegressor,
)
from mercer.learn.context import FitContext
from mercer.learn.features import device_features
from mercer.learn.features.device_kernel_matrix import DeviceKernelMatrix
from mercer.learn.features.prepared_rows import PreparedRows
from mercer.learn.losses import Bend
from mercer.learn.machine import row_stream
from mercer.learn.passes.checkpoint_state import CheckpointState
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.statistics import device_sums
from mercer.maps import Nystrom, RandomFourier
from tests.gpu.devices import NAMES, torch

on_names = pytest.mark.parametrize("device", NAMES, ids=["torch", "cuda"])
PLAIN = {"preparation": None, "random_state": 0}
KERNEL = Gaussian(0.2)


def problem(n=400, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(dtype)
    return X, np.sin(2.0 * X[:, 0].astype(float)) + 0.5 * X[:, 1].astype(float) ** 2 + 0.3 * rng.normal(size=n)


def labels(f):
    return np.digitize(f, [0.0, 0.8])


REGRESSORS = {
    "sums": {"map": "RandomFourier", "n_components": 64, "alpha": 0.1},
    "leave-one-out": {"map": "RandomFourier", "n_components": 64, "alpha": "loo"},
    "generalised cross-validation": {"map": "RandomFourier", "n_components": 64, "alpha": "gcv"},
    "held out": {"map": "RandomFourier", "n_components": 64, "alpha": "holdout"},
    "landmarks": {"map": "Nystrom", "n_components": 50, "alpha": 0.1, "solver": "landmarks", "tol": 1e-12},
    "whitened landmarks": {"map": "Nystrom", "n_components": 50, "alpha": 0.1},
    "exact": {"map": "exact", "alpha": 0.1},
    "exact, leave-one-out": {"map": "exact", "alpha": [0.01, 0.1, 1.0]},
    "wide": {"map": "RandomFourier", "n_components": 128, "alpha": 0.1, "solver": "wide", "tol": 1e-14},
    "huber": {"map": "RandomFourier", "n_components": 64, "alpha": 0.1, "loss": "huber", "tol": 1e-14},
}
CLASSIFIERS = {
    "landmarks": {"map": "Nystrom", "n_components": 300, "C": 1.0, "solver": "landmarks", "tol": 1e-9},
    "landmarks, logistic": {
        "map": "Nystrom",
        "n_components": 50,
        "C": 1.0,
        "solver": "landmarks",
        "loss": "logistic",
        "tol": 1e-12,
    },
    "newton": {"map": "RandomFourier", "n_components": 64, "C": 1.0, "tol": 1e-12},
    "logistic": {"map": "RandomFourier", "n_components": 64, "C": 1.0, "loss": "logistic", "tol": 1e-12},
    "sums": {"map": "RandomFourier", "n_components": 64, "C": 1.0, "loss": "squared"},
    "exact squares": {"map": "exact", "C": 1.0, "loss": "squared"},
    "exact": {"map": "exact", "C": 1.0, "tol": 1e-9},
    "several C": {"map": "RandomFourier", "n_components": 32, "C": [0.1, 1.0], "tol": 1e-10},
}


def learners():
    for name, arguments in REGRESSORS.items():
        yield pytest.param(KernelRegressor(KERNEL, **arguments, **PLAIN), False, id=f"regressor, {name}")
    for name, arguments in CLASSIFIERS.items():
        yield pytest.param(KernelClassifier(KERNEL, **arguments, **PLAIN), True, id=f"classifier, {name}")


@on_names
@pytest.mark.parametrize(("learner", "classifies"), list(learners()))
@pytest.mark.filterwarnings("ignore:after:sklearn.exceptions.ConvergenceWarning")
def test_float64_agrees_with_the_processor(learner, classifies, device):
    X, f = problem()
    y = labels(f) if classifies else f
    here, there = (clone(learner).set_params(device=name).fit(X, y) for name in (None, device))
    method = "decision_function" if classifies else "predict"
    expected, found = (getattr(model, method)(X[:50]) for model in (here, there))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    for ours, theirs in zip(there.map_.parameters_, here.map_.parameters_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert there.solver_.name == here.solver_.name
    if classifies:
        np.testing.assert_allclose(there.predict_proba(X[:50]), here.predict_proba(X[:50]), atol=1e-5)


@on_names
@pytest.mark.parametrize("name", ["sums", "leave-one-out", "exact"])
def test_what_has_no_steps_agrees_to_rounding(name, device):
    X, f = problem()
    model = KernelRegressor(KERNEL, **REGRESSORS[name], **PLAIN)
    here, there = (clone(model).set_params(device=one).fit(X, f) for one in (None, device))
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-9)
    if name == "leave-one-out":
        np.testing.assert_allclose(there.scores_, here.scores_, rtol=1e-6)
        assert there.alpha_ == pytest.approx(here.alpha_, rel=1e-12)


@on_names
@pytest.mark.parametrize(("learner", "classifies"), list(learners()))
@pytest.mark.filterwarnings("ignore:after:sklearn.exceptions.ConvergenceWarning")
def test_float32_stays_float32(learner, classifies, device):
    X, f = problem(dtype=np.float32)
    y = labels(f) if classifies else f
    here, there = (clone(learner).set_params(device=name).fit(X, y) for name in (None, device))
    if not classifies:
        np.testing.assert_allclose(there.predict(X), here.predict(X), atol=2e-3)
        return
    values, expected = there.decision_function(X), here.decision_function(X)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, expected, atol=2e-2)
    assert (there.predict(X) == here.predict(X)).mean() > 0.99


@on_names
def test_weights_and_intercepts(device):
    X, f = problem()
    weight = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    for intercept in (True, False):
        arguments = {"fit_intercept": intercept, **PLAIN}
        for model, y in (
            (KernelRegressor(KERNEL, **REGRESSORS["leave-one-out"], **arguments), f),
            (KernelRegressor(KERNEL, **REGRESSORS["exact"], **arguments), f),
            (KernelClassifier(KERNEL, **CLASSIFIERS["landmarks"], **arguments), labels(f)),
        ):
            values = [
                clone(model).set_params(device=one).fit(X, y, sample_weight=weight).predict(X) for one in (None, device)
            ]
            np.testing.assert_allclose(values[1], values[0], atol=1e-6)


on_rows_that_stay = pytest.mark.parametrize("share", [0.0, 0.25])
"""Features that are computed in every pass from rows that are sent each time, or that stay on the device."""


@on_names
@on_rows_that_stay
@pytest.mark.parametrize("memory", [1, None])
def test_features_that_are_streamed_or_held(memory, share, device, monkeypatch):
    """Blocks of few rows and tiles of fewer, cut in all ways, and gathered rows or not: the same machine."""
    monkeypatch.setattr("mercer.learn.fitting.placement.ROWS_SHARE", share)
    X, f = problem(700)
    model = KernelClassifier(KERNEL, **CLASSIFIERS["landmarks"], memory=memory, **PLAIN)
    expected = clone(model).set_params(device=device, memory=None).fit(X, labels(f)).decision_function(X)
    monkeypatch.setattr("mercer.gpu.transfers.MOST_ROWS", 256)
    monkeypatch.setattr("mercer.learn.features.device_features.SUMMED_ROWS", 100)
    monkeypatch.setattr("mercer.learn.features.device_features.FEW", 0.0)
    found = clone(model).set_params(device=device).fit(X, labels(f)).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@on_names
def test_kernel_values_of_float32_rows_that_are_stored_or_not(device):
    """On a GPU, products with the values of so few columns are computed without storing them."""
    X, f = problem(700)
    X = X[:, :3].astype(np.float32)
    model = KernelClassifier(KERNEL, **CLASSIFIERS["landmarks"], device=device, **PLAIN)
    model.set_params(tol=1e-4)
    stored, computed = (clone(model).set_params(memory=memory).fit(X, labels(f)) for memory in (None, 1))
    np.testing.assert_allclose(computed.objective_, stored.objective_, rtol=2e-4)


@on_names
@pytest.mark.parametrize("learner", [KernelRegressor(KERNEL, **REGRESSORS["sums"], **PLAIN)])
def test_sums_of_blocks(learner, device, monkeypatch):
    X, f = problem(700)
    expected = clone(learner).fit(X, f).predict(X)
    monkeypatch.setattr("mercer.gpu.transfers.MOST_ROWS", 256)
    monkeypatch.setattr("mercer.learn.statistics.device_sums.TILE_ROWS", 100)
    found = clone(learner).set_params(device=device).fit(X, f).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@on_rows_that_stay
@pytest.mark.parametrize("name", ["sums", "landmarks"])
def test_a_full_device_takes_fewer_rows_at_once(name, share, monkeypatch):
    monkeypatch.setattr("mercer.learn.fitting.placement.ROWS_SHARE", share)
    X, f = problem()
    model = KernelRegressor(KERNEL, **REGRESSORS[name], device="torch:cpu", memory=1, **PLAIN)
    expected = clone(model).fit(X, f).predict(X)
    plain = device_features.tensor_features

    def scarce(*arguments):
        make = plain(*arguments)

        def features(rows, first):
            if len(rows) > 150:
                raise torch.OutOfMemoryError("full")
            return make(rows, first)

        return features

    for module in (device_features, device_sums):
        monkeypatch.setattr(module, "tensor_features", scarce)
    with pytest.warns(UserWarning, match="torch:cpu has too little memory for 400 rows at once"):
        found = clone(model).fit(X, f).predict(X)
    # A step of conjugate gradients more or less moves values by about the root of the gap that is left, 1e-15.
    np.testing.assert_allclose(found, expected, atol=1e-8)


@on_names
def test_partial_fit_and_deviations(device):
    X, f = problem()
    arguments = {"map": "RandomFourier", "n_components": 64, "alpha": 0.1, **PLAIN}
    here, there = (KernelRegressor(KERNEL, device=one, **arguments) for one in (None, device))
    for rows in (slice(0, 150), slice(150, 400)):
        here, there = here.partial_fit(X[rows], f[rows]), there.partial_fit(X[rows], f[rows])
    here, there = here.forget(X[:20], f[:20]), there.forget(X[:20], f[:20])
    for ours, theirs in zip(there.predict(X, return_std=True), here.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@on_names
def test_tables_and_levels(device, tmp_path):
    X, f = problem(300)
    path = tmp_path / "rows.csv"
    kinds = np.where(X[:, 2] > 0.0, "up", "down")
    lines = [f"{a!r},{kind},{y!r}" for a, kind, y in zip(X[:, 0].tolist(), kinds, f.tolist(), strict=True)]
    path.write_text("a,kind,y\n" + "\n".join(lines) + "\n")
    table = open_table(path, target="y")
    model = KernelRegressor(KERNEL, map="RandomFourier", n_components=64, alpha=0.1, random_state=0, scale="standard")
    here, there = (clone(model).set_params(device=one).fit(table) for one in (None, device))
    np.testing.assert_allclose(there.predict(table), here.predict(table), atol=1e-5)


@on_names
def test_sparse_rows(device):
    import scipy.sparse as sp

    X, f = problem(300)
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    for name in ("sums", "exact", "whitened landmarks"):
        model = KernelRegressor(KERNEL, **REGRESSORS[name], **PLAIN)
        here, there = (clone(model).set_params(device=one).fit(rows, f) for one in (None, device))
        np.testing.assert_allclose(there.predict(rows), here.predict(rows), atol=1e-6)


def test_pivots_are_those_of_the_processor():
    X, f = problem()
    rule = {"landmarks": "rpcholesky", "n_components": 40, "random_state": 0}
    models = [
        KernelRegressor(None, map=Nystrom(KERNEL, **rule), alpha=0.1, preparation=None, device=one).fit(X, f)
        for one in (None, "torch:cpu")
    ]
    here, there = (model.map_ for model in models)
    np.testing.assert_array_equal(there.component_indices_, here.component_indices_)
    assert there.residual_trace_.trace == pytest.approx(here.residual_trace_.trace, rel=1e-9)


@on_names
def test_a_kernel_matrix_is_as_before_after_it_was_factored(device):
    X, f = problem(40)
    map = Nystrom(KERNEL, n_components=40, landmarks=X, whiten=False).fit(X)
    gram, expected = DeviceKernelMatrix(Device(device), map), KERNEL(X)
    for added in (0.5, 0.1):
        factor = gram.factor(np.full(40, added))
        solution = np.linalg.solve(expected + added * np.eye(40), f[:, None])
        np.testing.assert_allclose(factor.inverse_times(f[:, None]), solution, atol=1e-10)
        np.testing.assert_allclose(gram.times(f[:, None]), expected @ f[:, None], atol=1e-12)


# -- tensors -----------------------------------------------------------------------------------------------------------


def test_tensors_are_taken_and_given_back():
    X, f = problem()
    rows, targets = torch.tensor(X), torch.tensor(f)
    model = KernelRegressor(KERNEL, **REGRESSORS["sums"], **PLAIN)
    expected = clone(model).fit(X, f)
    found = clone(model).fit(rows, targets, sample_weight=torch.ones(len(X)))
    values = found.predict(rows)
    assert isinstance(values, torch.Tensor)
    assert values.device == rows.device
    np.testing.assert_array_equal(values.numpy(), expected.predict(X))
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.score(rows, targets) == expected.score(X, f)


def test_tensors_of_classifiers():
    X, f = problem()
    rows, classes = torch.tensor(X), torch.tensor(labels(f))
    model = KernelClassifier(KERNEL, **CLASSIFIERS["newton"], **PLAIN).fit(rows, classes)
    assert model.predict(rows).dtype == torch.int64
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        given = getattr(model, method)(rows)
        assert isinstance(given, torch.Tensor)
        np.testing.assert_array_equal(given.numpy(), getattr(model, method)(X))
    assert model.score(rows, classes) == model.score(X, labels(f))
    named = KernelClassifier(KERNEL, **CLASSIFIERS["newton"], **PLAIN).fit(rows, np.array(["a", "b", "c"])[labels(f)])
    assert named.predict(rows).dtype.kind == "U"  # of which torch knows nothing


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_tensors_on_a_gpu_imply_it():
    X, f = problem()
    rows = torch.tensor(X, device="cuda")
    assert Device.of(rows) == Device("cuda:0")
    model = KernelRegressor(KERNEL, **REGRESSORS["sums"], **PLAIN).fit(rows, torch.tensor(f, device="cuda"))
    values = model.predict(rows)
    assert values.is_cuda
    np.testing.assert_allclose(values.cpu().numpy(), model.predict(X), atol=1e-9)


UNSUPERVISED = {
    "components": KernelPCA(Gaussian(0.1), n_directions=3, fit_inverse_transform=True, scale=None, random_state=0),
    "clusters": KernelKMeans(Gaussian(0.1), n_clusters=3, scale=None, random_state=0),
    "novelty": KernelNovelty(Gaussian(0.1), scale=None, random_state=0),
    "two views": KernelCCA(Gaussian(0.1), n_components_y=30, scale=None, random_state=0),
}
METHODS = {
    "components": ["transform"],
    "clusters": ["transform", "predict", "memberships"],
    "novelty": ["score_samples", "decision_function", "predict", "pvalues"],
    "two views": ["transform"],
}


def groups(n=300, dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, 4)) + rng.choice([-3.0, 0.0, 3.0], size=(n, 1))).astype(dtype)


@on_names
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("map", "width"), [("RandomFourier", 40), ("Nystrom", 40), ("Nystrom", 520)])
@pytest.mark.parametrize("name", UNSUPERVISED)
def test_learners_without_targets(name, map, width, dtype, device):
    if width > 500 and name in ("novelty", "two views"):
        pytest.skip("many landmarks are no special case there")
    X = groups(600, dtype)
    model = clone(UNSUPERVISED[name]).set_params(map=map, n_components=width)
    y = X[:, :2] ** 2 if name == "two views" else None
    here, there = (clone(model).set_params(device=one).fit(X, y) for one in (None, device))
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    for method in METHODS[name]:
        expected, found = (getattr(one, method)(X[:70]) for one in (here, there))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    if name == "components":
        components = here.transform(X[:20])
        np.testing.assert_allclose(
            there.inverse_transform(components), here.inverse_transform(components), atol=10.0 * tolerance
        )
    if name == "clusters":
        np.testing.assert_array_equal(there.labels_, here.labels_)


@on_names
def test_weighted_components(device):
    X = groups(200)
    weight = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    model = clone(UNSUPERVISED["components"]).set_params(map="RandomFourier", n_components=40)
    here, there = (clone(model).set_params(device=one).fit(X, sample_weight=weight) for one in (None, device))
    np.testing.assert_allclose(there.preimages_, here.preimages_, atol=1e-9)
    for batch in (slice(0, 80), slice(80, 200)):
        here, there = (one.partial_fit(X[batch], sample_weight=weight[batch]) for one in (here, there))
    np.testing.assert_allclose(there.transform(X), here.transform(X), atol=1e-9)


def test_clusters_of_partitions():
    da = pytest.importorskip("dask.array")
    X = groups(300)
    model = clone(UNSUPERVISED["clusters"]).set_params(map="RandomFourier", n_components=40)
    expected = clone(model).fit(X)
    found = model.set_params(device="torch:cpu").fit(da.from_array(X, chunks=(150, 4)))
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@on_names
@on_rows_that_stay
def test_clusters_of_features_that_are_streamed(share, device, monkeypatch):
    monkeypatch.setattr("mercer.learn.fitting.placement.ROWS_SHARE", share)
    X = groups(700)
    model = clone(UNSUPERVISED["clusters"]).set_params(map="Nystrom", n_components=520, n_init=1, device=device)
    expected = clone(model).fit(X)
    monkeypatch.setattr("mercer.gpu.transfers.MOST_ROWS", 256)
    monkeypatch.setattr("mercer.learn.features.device_features.SUMMED_ROWS", 100)
    found = model.set_params(memory=1).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-9)
    here, there = (clone(model).set_params(batch_rows=100, device=one).fit(X) for one in (None, device))
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_every_learner_returns_tensors():
    X, f = problem(200)
    rows = torch.tensor(X)
    for name, methods in METHODS.items():
        y = rows[:, :2] if name == "two views" else None
        model = clone(UNSUPERVISED[name]).set_params(n_components=40).fit(rows, y)
        for method in methods:
            found = getattr(model, method)(rows)
            assert isinstance(found, torch.Tensor), (name, method)
            np.testing.assert_array_equal(found.numpy(), getattr(model, method)(X))
    assert isinstance(clone(UNSUPERVISED["clusters"]).fit_predict(rows), torch.Tensor)
    components = clone(UNSUPERVISED["components"]).fit(rows)
    assert isinstance(components.inverse_transform(components.transform(rows)), torch.Tensor)
    views = clone(UNSUPERVISED["two views"]).fit(rows, rows[:, 0])
    assert all(isinstance(one, torch.Tensor) for one in views.transform(rows, rows[:, 0]))
    regressor = KernelRegressor(KERNEL, **REGRESSORS["sums"], keep_statistics=True, **PLAIN)
    intervals = ConformalRegressor(regressor, random_state=0).fit(rows, torch.tensor(f)).predict_interval(rows)
    sets = ConformalClassifier(KernelClassifier(KERNEL, **CLASSIFIERS["sums"], **PLAIN), random_state=0)
    assert isinstance(intervals, torch.Tensor)
    assert sets.fit(rows, torch.tensor(labels(f))).predict_set(rows).dtype == torch.bool
    regressor.fit(rows, torch.tensor(f))
    for method in ("gradient", "explain", "sample_y", "extrapolates"):
        assert isinstance(getattr(regressor, method)(rows), torch.Tensor), method


def test_types_of_tensors():
    X, f = problem(60)
    model, rows = KernelRegressor(KERNEL, **REGRESSORS["sums"], **PLAIN), torch.tensor(X)
    half = rows.bfloat16()
    np.testing.assert_array_equal(
        clone(model).fit(half, f).predict(half), clone(model).fit(half.float().numpy(), f).predict(half.float().numpy())
    )
    with pytest.raises(TypeError, match="expected a dense tensor, found one of layout sparse_coo"):
        clone(model).fit(rows.to_sparse(), f)
    with pytest.raises(TypeError, match="expected a dense tensor"):
        RandomFourier(KERNEL).fit(X).transform(rows.to_sparse())
    with pytest.raises(TypeError, match="expected a dense tensor, found one without values"):
        clone(model).fit(rows.to("meta"), f)


def test_a_device_can_be_sent_to_another_process():
    device = Device.named("torch:cpu")
    assert device.place is not None  # which imports torch
    assert pickle.loads(pickle.dumps(device)) == device


# -- what is refused, and what is kept ---------------------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_missing_gpu_is_an_error(device):
    X, f = problem(50)
    with pytest.raises(ValueError, match=f"device='{device}' needs a GPU that torch can use, but torch found none"):
        KernelRegressor(device=device).fit(X, f)
    model = KernelRegressor(KERNEL, **REGRESSORS["sums"], **PLAIN).fit(X, f).set_params(device=device)
    with pytest.raises(ValueError, match="needs a GPU"):
        model.predict(X)
    for learner in (KernelClassifier(), *UNSUPERVISED.values()):
        with pytest.raises(ValueError, match="needs a GPU") as told:
            clone(learner).set_params(device=device).fit(X, labels(f))
    assert str(told.value).endswith("is built for CPUs only") == (torch.version.cuda is None)


@pytest.mark.parametrize("device", ["cpu", "gpu", "cuda:", "cuda:x", 0, ""])
def test_names_of_devices(device):
    X, f = problem(50)
    with pytest.raises(ValueError, match="device must be None, 'cuda', 'cuda:0' and so on, or 'torch:cpu', found"):
        KernelRegressor(device=device).fit(X, f)


def test_torch_is_requested(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cuda' needs torch: install mercer\[gpu\]"):
        Device.named("cuda")


def test_model_files_do_not_hold_the_device(tmp_path):
    X, f = problem()
    model = KernelRegressor(KERNEL, **REGRESSORS["landmarks"], device="torch:cpu", **PLAIN).fit(X, f)
    mercer.save(model, tmp_path / "model.mercer")
    read = mercer.load(tmp_path / "model.mercer")
    assert read.device is None
    np.testing.assert_allclose(read.predict(X), model.predict(X), atol=1e-6)


@pytest.mark.parametrize("name", ["sums", "landmarks"])
def test_a_run_on_a_device_continues_where_it_ended(name):
    X, f = problem(900)

    class Ends(CheckpointState):
        """A callback that ends the fit after this many blocks."""

        left = 3

        def tick(self):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    model = KernelRegressor(KERNEL, **REGRESSORS[name], device="torch:cpu", **PLAIN)
    expected = clone(model).fit(X, f)
    state = Ends()
    for _ in range(200):
        state.left = 40
        state._drawn = 0
        learner = clone(model)
        try:
            found = learner.fit_table(learner.table_to_fit(X, f), FitContext(checkpoint=state))
            break
        except KeyboardInterrupt:
            continue
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_polynomials_and_other_maps():
    X, f = problem(200)
    for model in (
        KernelRegressor(Polynomial(2, coef0=1.0), map="TensorSketch", n_components=64, alpha=0.1, **PLAIN),
        KernelRegressor(None, map=RandomFourier(KERNEL, n_components=64, random_state=1), alpha=0.1, preparation=None),
    ):
        here, there = (clone(model).set_params(device=one).fit(X, f) for one in (None, "torch:cpu"))
        np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-8)


@on_names
@pytest.mark.parametrize("few", [0.0, 1.0])
def test_some_rows_of_held_features(few, device, monkeypatch):
    """Gathered or not, and other rows in the next step: as with the features of NumPy."""
    monkeypatch.setattr("mercer.learn.features.device_features.FEW", few)
    rng, there = np.random.default_rng(0), Device(device)
    Z, W = rng.normal(size=(50, 4)), rng.normal(size=(5, 2))
    passes = Passes(ArrayTable(Z), FitContext())
    held = device_features.DeviceHeld(there, there.sent(Z), np.dtype(np.float64), True, 1, passes)
    for seed in range(3):
        rows = np.sort(np.random.default_rng(seed).choice(50, size=20, replace=False))
        h = np.zeros((50, 2))
        h[rows] = rng.uniform(size=(20, 2))
        ones = np.column_stack([Z, np.ones(50)])
        expected = ones.T @ (h * (ones @ W))
        for _ in range(2):
            np.testing.assert_allclose(held.curved(W, Bend.of(h), "test", rows), expected, atol=1e-12)
        np.testing.assert_allclose(held.products(W, "test", rows), ones[rows] @ W, atol=1e-12)
        np.testing.assert_allclose(held.moments(h[:, 0], True), (ones * h[:, :1]).T @ ones, atol=1e-12)


@on_names
@pytest.mark.parametrize("kind", ["DeviceRecomputed", "DeviceStreamed"])
def test_some_rows_of_recomputed_features(kind, device, monkeypatch):
    monkeypatch.setattr(device_features, "SUMMED_ROWS", 20)
    monkeypatch.setattr("mercer.gpu.transfers.MOST_ROWS", 256)
    X, _ = problem(300)
    passes, map = (
        Passes(ArrayTable(X), FitContext()),
        Nystrom(KERNEL, n_components=7, whiten=False, random_state=0).fit(X),
    )
    rows = PreparedRows(ArrayTable(X), lambda X: X, row_stream(0), passes)
    features = getattr(device_features, kind)(Device(device), rows, map, True, 1)
    Z = np.column_stack([map.transform(X), np.ones(300)])
    rng = np.random.default_rng(0)
    W = rng.normal(size=(8, 2))
    for chosen in (None, np.sort(rng.choice(300, size=50, replace=False))):
        some = slice(None) if chosen is None else chosen
        h = np.zeros((300, 2))
        h[some] = rng.uniform(size=h[some].shape)
        np.testing.assert_allclose(features.products(W, "test", chosen), Z[some] @ W, atol=1e-12)
        np.testing.assert_allclose(features.transposed(h, "test", chosen), Z.T @ h, atol=1e-12)
        np.testing.assert_allclose(features.curved(W, Bend.of(h), "test", chosen), Z.T @ (h * (Z @ W)), atol=1e-12)
        np.testing.assert_allclose(features.moments(h[:, 0], True), (Z * h[:, :1]).T @ Z, atol=1e-12)
        for chunk in features.chunks(chosen):
            np.testing.assert_allclose(chunk.features().values(), Z[chunk.rows, :7], atol=1e-12)
