"""Rows that were held out may have levels that were not learned: they are scored, and counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor, data
from mercer.report import compare, evaluate, study, training_page, unknown_levels

pytestmark = pytest.mark.xdist_group("unknown levels")  # on one worker, so that what they share is made once

RNG = np.random.default_rng(0)


def rare(n=400, strange=3):
    """Rows of which the last have a level, and one of them two, that no other has."""
    X = pd.DataFrame({"x": RNG.normal(size=n), "zip": RNG.choice(["z1", "z2"], n), "town": "Oslo"})
    X["y"] = np.sin(X["x"]) + (X["zip"] == "z1")
    for row in range(n - strange, n):
        X.loc[row, "zip"] = f"z{row}"
    X.loc[n - 1, "town"] = "Lima"
    X.loc[n - 10, "zip"] = None  # a gap is no level
    return X


def parts(**options):
    X = rare()
    return tuple(data.open(part, target="y", **options) for part in (X[:300].reset_index(drop=True), X[300:]))


@pytest.fixture(scope="module")
def fitted():
    train, test = parts()
    return (
        KernelRegressor(n_components=32, missing="mean", random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
            train
        ),
        train,
        test,
    )


def test_unknown_levels_are_counted(fitted):
    model, train, test = fitted
    found = unknown_levels(model, test)
    assert found == (3, 100, {"zip": 3, "town": 1})
    assert found.sentence == (
        "3 of 100 rows have levels that were not in the training rows (column 'zip': 3, column 'town': 1); such a "
        "level counts as no level at all, or as rare if rare levels share a column"
    )
    assert unknown_levels(model, train) == (0, 300, {})
    assert unknown_levels(model, train).sentence == ""
    plain = KernelRegressor(n_components=4, kernel=None, alpha=1.0, preparation=None).fit(np.eye(3), np.ones(3))
    assert unknown_levels(plain, data.open(np.eye(3))) == (0, 3, {})
    with pytest.raises(TypeError, match="expected a learner"):
        unknown_levels(object(), test)


def test_scores_with_unknown_levels(fitted):
    model, train, test = fitted
    lenient = KernelRegressor(
        n_components=32, missing="mean", unknown="ignore", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(train)
    assert evaluate(model, test, unknown="ignore") == evaluate(lenient, test)
    for refused in ({}, {"unknown": "error"}):
        with pytest.raises(ValueError, match="column 'zip' has the unknown level 'z397'"):
            evaluate(model, test, **refused)
    with pytest.raises(ValueError, match="column 'zip' has the unknown level 'z397'"):
        evaluate(lenient, test, unknown="error")
    with pytest.raises(ValueError, match="unknown must be one of"):
        evaluate(model, test, unknown="drop")
    with pytest.raises(ValueError, match="column 'zip' has the unknown level 'z397'"):  # the model is as it was
        model.predict(test)


def test_pages_and_studies_accept_unknown_levels(fitted):
    model, train, test = fitted
    studied = study(model, train, test)
    assert all(np.isfinite(one.score.value) for one in studied.widths)
    assert "3 of 100 rows have levels" in training_page("m", model, train, test, studied=studied)
    classes, rest = (data.open(part.assign(y=part["y"] > 0.5), target="y") for part in (rare()[:300], rare()[300:]))
    classifier = KernelClassifier(
        n_components=16, missing="mean", random_state=0, kernel=None, C=1.0, preparation=None
    ).fit(classes)
    assert study(classifier, classes, rest).path
    assert "3 of 100 rows have levels" in training_page("m", classifier, classes, rest)


def test_comparisons_accept_unknown_levels():
    X = rare(300, strange=30)
    with pytest.warns(UserWarning, match="rows have levels that were not in the training rows"):
        found = compare(
            data.open(X, target="y"), "regression", maps=["OrthogonalFourier"], features=[16], missing="mean",
            rows=200, test_rows=100,
        )  # fmt: skip
    assert 0 < found.unknown_rows < 30
    assert all(np.isfinite(entry.score) for entry in found.entries)
