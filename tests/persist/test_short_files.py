"""Short files that request huge models are refused before anything of that size is created."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import AdditiveMap, ComplexSketch, Composed, Fastfood, HadamardSketch, OrthogonalFourier, RandomFourier
from mercer.kernels import AdditiveChi2, Gaussian, Polynomial
from mercer.persist import ModelFileError, describe
from mercer.persist.map_records import ArraySource

from .hostile import Parts, framed
from .models import rows


def test_what_is_left_to_a_seed_has_a_limit(tmp_path):
    path = tmp_path / "model"
    sketch = HadamardSketch(Polynomial(2), n_components=16, random_state=0).fit(rows())
    mercer.save(sketch, path, "seed")
    needed = sum(part.nbytes for part in sketch.parameters_)
    mercer.load(path, memory=needed)
    with pytest.raises(
        ModelFileError, match=f"draw parameters of at least {needed} bytes, but only {needed - 1} are allowed"
    ):
        mercer.load(path, memory=needed - 1)
    parts = Parts(path.read_bytes())
    parts.held["model"]["columns"] = 2**31 - 1
    path.write_bytes(parts.bytes())
    with pytest.raises(
        ModelFileError, match="bytes, but only 1000000000 are allowed; if you trust the file, give load more memory"
    ):
        mercer.load(path, memory="1GB")


def test_widths_are_compared_first(tmp_path):
    path = tmp_path / "model"
    composed = Composed(RandomFourier(Gaussian(0.5)), AdditiveMap(AdditiveChi2(), n_components=12), n_components=10)
    mercer.save(composed.fit(np.abs(rows())), path)
    parts = Parts(path.read_bytes())
    parts.held["model"]["parts"]["inner"]["asked"] = 2**30
    path.write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match=r"the width of Composed\.inner must be"):
        mercer.load(path)


def asked(parts, width, columns):
    """The description of a map with other numbers of features and columns."""
    record = parts.held["model"]["map"] if "map" in parts.held["model"] else parts.held["model"]
    record["arguments"]["n_components"] = record["asked"] = record["width"] = width
    record["columns"] = columns
    return parts


@pytest.mark.parametrize(
    ("map", "width", "columns"),
    [
        (OrthogonalFourier(Gaussian(0.5)), 2**27, 1),  # blocks of one column each
        (Fastfood(Gaussian(0.5)), 2**22, 2),
        (ComplexSketch(Polynomial(2)), 2**22, 3),
        (RandomFourier(Gaussian(0.5)), 2**16, 2**15),  # few blocks of many numbers
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_seed_that_would_draw_for_hours_is_refused(map, width, columns, tmp_path, monkeypatch):
    path = tmp_path / "model"
    mercer.save(map.set_params(n_components=16, random_state=0).fit(rows()), path, "seed")
    path.write_bytes(asked(Parts(path.read_bytes()), width, columns).bytes())
    assert path.stat().st_size < 1000

    def drawn(*_):
        raise ZeroDivisionError("seen")

    monkeypatch.setattr(type(map.construction_), "redrawn", drawn)
    with pytest.raises(ModelFileError, match=rf"would draw \d+ numbers for {columns} columns.*trusted=True"):
        mercer.load(path, memory="64GB")
    with pytest.raises(ModelFileError, match="seen") as caught:
        mercer.load(path, memory="64GB", trusted=True)  # where the drawing begins
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_coefficients_justify_what_a_seed_draws(tmp_path, monkeypatch):
    """A file that holds a coefficient for every feature may ask for all of them."""
    path = tmp_path / "model"
    X = rows(200, 2)
    features = RandomFourier(Gaussian(0.5), n_components=256, random_state=0)
    model = mercer.KernelRegressor(map=features, alpha=1.0, kernel=None, preparation=None).fit(X, X[:, 0])
    mercer.save(model, path, "seed")
    monkeypatch.setattr("mercer.persist.map_records.MOST_BLOCKS", 100)
    monkeypatch.setattr("mercer.persist.map_records.MOST_DRAWN", 200)
    np.testing.assert_array_equal(mercer.load(path).predict(X), model.predict(X))
    with pytest.warns(UserWarning, match="load will require trusted=True; save with parameters='full'"):
        mercer.save(model.map_, path, "seed")
    with pytest.raises(ModelFileError, match="which may take long"):
        mercer.load(path)
    np.testing.assert_array_equal(mercer.load(path, trusted=True).transform(X), model.map_.transform(X))


# -- headers that take long to read ------------------------------------------------------------------------------------

LONG = 2**20

HEADERS = {
    "a string that does not end": (b'{"a":"' + b'\\"' * LONG, "not JSON"),
    "brackets in a string that does not end": (b'{"a":"' + b'\\"{' * LONG, "not JSON"),
    "many strings, the last without an end": (b'{"a":[' + b'"",' * LONG + b'"', "not JSON"),
    "backslashes": (b'{"a":"' + b"\\" * (2 * LONG + 1), "not JSON"),
    "many names": (b"{" + b",".join(b'"%d":0' % k for k in range(LONG // 8)) + b',"7":0}', "'7' is given twice"),
    "one name for all": (b"{" + b'"a":0,' * (LONG // 2) + b'"a":0}', "the name 'a' is given twice"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_long_header_takes_no_longer_than_it_is(name, tmp_path):
    """A search that takes quadratic time would need days for these megabytes."""
    header, reason = HEADERS[name]
    path = tmp_path / "model"
    path.write_bytes(framed(header))
    for read in (mercer.load, describe):
        with pytest.raises(ModelFileError, match=reason):
            read(path)


def test_looking_for_arrays_does_not_go_through_all_of_them():
    class Counted(str):
        seen = 0

        def startswith(self, *given):
            Counted.seen += 1
            return super().startswith(*given)

    source = ArraySource([Counted(f"x{k}.y") for k in range(1000)], lambda name: None, False)
    assert [source.has(name) for name in ("x7", "x7.y", "x", "z", "a", "x999")] == [
        True,
        True,
        False,
        False,
        False,
        True,
    ]
    assert Counted.seen <= 6


def test_columns_chosen_by_truth_values_are_few(tmp_path):
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    mask = ColumnTransformer([("a", "passthrough", [True, False, True, True])])
    mercer.save(make_pipeline(mask, RandomFourier(n_components=8, random_state=0)).fit(rows()), tmp_path / "model")
    parts = Parts((tmp_path / "model").read_bytes())
    parts.held["model"]["steps"][0][1]["columns"] = 2**20
    (tmp_path / "model").write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match="among at most 4096 columns by truth values"):
        mercer.load(tmp_path / "model")
