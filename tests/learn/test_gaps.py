"""The message about a missing value names its row and column once, and says what to do, for any kind of rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import KernelClassifier, KernelRegressor, data

RNG = np.random.default_rng(0)
ADVICE = "missing='mean' fills it, and drop=True of mercer.data.open removes such rows"


def rows(n=40):
    X = RNG.normal(size=(n, 3))
    X[[12, 20], [2, 0]] = np.nan
    return X


def frame(**more):
    return pd.DataFrame(rows(), columns=["age", "size", "height"]).assign(**more)


FORMS = {
    "array": (rows, "row 12, column 2"),
    "float32": (lambda: rows().astype(np.float32), "row 12, column 2"),
    "sparse": (lambda: sp.csr_array(rows()), "row 12, column 2"),
    "unsorted": (lambda: sp.coo_array(rows()[::-1]), "row 19, column 0"),
    "pandas": (frame, "row 12, column 'height'"),
    "polars": (lambda: pl.from_pandas(frame()), "row 12, column 'height'"),
    "mixed": (lambda: frame(town=["Oslo", "Rome"] * 20), "row 12, column 'height'"),
    "labelled": (
        lambda: frame().set_axis([f"p{n}" for n in range(40)]),
        "the row with the index 'p12', column 'height'",
    ),
    "mixed and labelled": (
        lambda: frame(town=["Oslo", "Rome"] * 20).set_axis(range(100, 140)),
        "the row with the index 112, column 'height'",
    ),
    "table": (lambda: data.Blocks([(frame(), np.arange(40.0))]), "row 12, column 'height'"),
    "opened": (lambda: data.open(frame(), target=np.arange(40.0)), "row 12 of DataFrame, column 'height'"),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_error_about_a_missing_value_names_row_column_and_advice(form):
    make, place = FORMS[form]
    given = (make(),) if form in ("table", "opened") else (make(), np.arange(40.0))
    with pytest.raises(ValueError, match="NaN") as error:
        KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(*given)
    assert str(error.value) == f"Input X contains NaN: {place} is missing; {ADVICE}"
    X = make()
    model = KernelRegressor(
        n_components=8, missing="mean", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(*given)
    assert np.isfinite(model.predict(X)).all()


def test_a_missing_value_in_a_prediction_is_named():
    model = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        frame().fillna(0.0), np.arange(40.0)
    )
    with pytest.raises(ValueError, match="row 12, column 'height' is missing"):
        model.predict(frame())


def test_infinities_are_named_too():
    X = np.zeros((5, 2))
    X[3, 1] = np.inf
    for given, place in ((X, "row 3, column 1"), (pd.DataFrame(X, columns=["a", "b"]), "row 3, column 'b'")):
        message = f"Input X contains infinity or a value too large for its type: {place} is inf"
        with pytest.raises(ValueError, match=re.escape(message)):
            KernelRegressor(n_components=2, kernel=None, alpha=1.0, preparation=None).fit(given, np.arange(5.0))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_next_to_text_are_named(kind, value):
    columns = {"a": [1.0, 2.0, value, 4.0], "town": ["Oslo", "Rome", "Oslo", None]}
    y, message = np.arange(4.0), f"row 2, column 'a' is {value}"
    sound = kind(columns | {"a": [1.0, 2.0, np.nan, 4.0]})
    for options in ({"scale": "standard"}, {"scale": "minmax", "missing": "mean"}):
        for given in ((kind(columns), y), (data.Blocks([(kind(columns), y)]),)):
            with pytest.raises(ValueError, match=re.escape(message)):
                KernelRegressor(n_components=4, **({"kernel": None, "alpha": 1.0, "preparation": None} | options)).fit(
                    *given
                )
    model = KernelRegressor(
        n_components=4, missing="mean", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(sound, y)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict(kind(columns))


def test_rows_of_weight_0_are_counted():
    X = frame(town=["Oslo", "Rome"] * 20)
    weight = np.r_[np.zeros(5), np.ones(35)]
    with pytest.raises(ValueError, match="row 12, column 'height' is missing"):
        KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(X, np.arange(40.0), weight)


def test_another_error_is_left_as_it_is():
    with pytest.raises(ValueError, match="X has 2 features, but KernelClassifier is expecting 3"):
        KernelClassifier(n_components=4, missing="mean", kernel=None, C=1.0, preparation=None).fit(
            rows(), np.arange(40) % 2
        ).predict(rows()[:, :2])
