"""A column that had levels in fit and has numbers now is refused, and vice versa, for any kind of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import KernelRegressor, data

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.choice(["u", "v", "w"], 200), "x": RNG.normal(size=200)})
Y = (X["a"] == "u") + X["x"]
MAPS = {
    "StructuredFourier": "gaussian(0.5)",
    "Fastfood": "gaussian(0.5)",
    "TensorSketch": "polynomial(2)",
    "TreeSketch": "polynomial(2)",
    "OrthogonalFourier": "gaussian(0.5)",
}
FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "opened": data.open,
    "blocks": lambda frame: data.Blocks([frame]),
}


def learner(map="OrthogonalFourier", **options):
    return KernelRegressor(
        MAPS[map], map=map, n_components=64, random_state=0, **({"alpha": 1.0, "preparation": None} | options)
    )


@pytest.mark.parametrize("map", MAPS)
@pytest.mark.parametrize("form", FORMS)
def test_levels_that_became_numbers_are_refused(map, form):
    model = learner(map).fit(X, Y)
    with pytest.raises(ValueError, match="column 'a' contained levels in fit, but contains numbers now"):
        model.predict(FORMS[form](X.assign(a=1.0)))
    with pytest.raises(ValueError, match="column 'a' is missing; missing='mean'"):
        model.predict(FORMS[form](X.assign(a=np.nan)))
    with pytest.raises(
        ValueError, match="expected a data frame with the columns of fit, since column 'a' contains levels"
    ):
        model.preparation_(X.assign(a=1.0).to_numpy())


@pytest.mark.parametrize("form", FORMS)
def test_numbers_that_became_levels_are_refused(form):
    for model in (learner().fit(X.assign(a=1.0), Y), learner().fit(data.Blocks([(X.assign(a=1.0), Y)]))):
        for a in (X["a"], True, pd.Categorical(["u", "v"] * 100)):
            with pytest.raises(ValueError, match="column 'a' contained numbers in fit, but contains levels now"):
                model.predict(FORMS[form](X.assign(a=a)))


@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_is_missing_is_filled(form):
    levels, numbers = learner(missing="mean").fit(X, Y), learner(missing="mean").fit(X.assign(a=np.arange(200.0)), Y)
    shares = X["a"].value_counts(normalize=True).sort_index()
    for gap in (np.nan, None):
        given = FORMS[form](X.assign(a=gap))
        np.testing.assert_allclose(numbers.predict(given), numbers.predict(X.assign(a=99.5)), rtol=1e-6)
        assert np.isfinite(levels.predict(given)).all()
    np.testing.assert_allclose(levels.preparation_(X.assign(a=np.nan))[0, :3], shares, rtol=1e-6)


def test_a_csv_whose_column_is_empty(tmp_path):
    model = learner(missing="mean").fit(X, Y)
    X.assign(a=None).to_csv(tmp_path / "a.csv", index=False)
    found = model.predict(data.open(tmp_path / "a.csv"))
    np.testing.assert_allclose(found, model.predict(X.assign(a=None)), rtol=1e-6)


def test_blocks_whose_columns_differ():
    for wrong, message in (
        (X.assign(a=2), "column 'a' has levels in the first block and numbers in a later one"),
        (X[["x"]], "a block has no column 'a'; it has 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            learner().fit(data.Blocks([(X, Y), (wrong, Y)]))
    learner(missing="mean").fit(data.Blocks([(X, Y), (X.assign(a=None), Y)]))


def test_rows_that_are_added_are_of_the_same_kinds():
    model = learner(alpha=1.0).partial_fit(X, Y)
    with pytest.raises(ValueError, match="column 'a' contained levels in fit, but contains numbers now"):
        model.partial_fit(X.assign(a=1.0), Y)


@pytest.mark.parametrize(
    ("entry", "found"),
    [([1, 2], r"\[1, 2\] of type list"), ({1}, r"\{1\} of type set"), (1 + 2j, r"\(1\+2j\) of type complex")],
)
def test_columns_of_what_is_no_level_are_refused_by_name(entry, found):
    X = pd.DataFrame({"x": np.arange(20.0), "odd": pd.Series([entry] * 20)})
    with pytest.raises(TypeError, match=f"column 'odd' has {found}; expected numbers, text, truth values or dates"):
        KernelRegressor("gaussian(1)", n_components=4, alpha=1.0).fit(X, X["x"])
    model = KernelRegressor("gaussian(1)", n_components=4, alpha=1.0).fit(X.assign(odd="text"), X["x"])
    with pytest.raises((TypeError, ValueError), match="column 'odd' has"):
        model.predict(X)
