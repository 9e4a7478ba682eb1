"""A diagnosis finds the defects that were put into the rows, and no others."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer import diagnose
from mercer.choose import diagnose_table
from mercer.kernels import AdditiveChi2, Gaussian


def some_rows(n=400, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def concerns(*arguments, **options):
    return [finding.name for finding in diagnose(*arguments, **options).concerns]


def test_plain_rows_raise_no_concern():
    found = diagnose("gaussian('median')", some_rows())
    assert found.concerns == ()
    assert [finding.name for finding in found.findings] == [
        "effective dimension",
        "bandwidth",
        "scales",
        "duplicate rows",
        "tails",
    ]


def test_the_effective_dimension_is_its_definition():
    X = some_rows(100)
    K = Gaussian(0.1)(X)
    expected = np.trace(K @ np.linalg.inv(K + 1e-3 * 100 * np.eye(100)))
    assert diagnose(Gaussian(0.1), X).effective_dimension == pytest.approx(expected)
    assert diagnose(Gaussian(0.1), X).median_similarity == pytest.approx(np.median(K[np.triu_indices(100, 1)]))


def test_a_bandwidth_that_is_too_narrow_or_too_wide():
    X = some_rows()
    assert "widen" in next(one for one in diagnose(Gaussian(1e3), X).concerns if one.name == "bandwidth").advice
    assert "effective dimension" in concerns(Gaussian(1e3), X)
    assert "narrow" in next(one for one in diagnose(Gaussian(1e-6), X).concerns if one.name == "bandwidth").advice


@pytest.mark.parametrize(("gamma", "change"), [(30.0, "divide gamma"), (1e-3, "multiply gamma"), (0.125, "")])
def test_with_a_target_the_error_decides(gamma, change):
    X = some_rows(400, 2)
    found = diagnose(Gaussian(gamma), X, np.sin(2.0 * X[:, 0]) * X[:, 1])
    advice = next(one.advice for one in found.findings if one.name == "bandwidth")
    assert advice.startswith(change) if change else advice == ""


def test_classes_are_targets_too():
    X = some_rows()
    found = diagnose("gaussian('median')", X, np.where(X[:, 0] > 0.0, "right", "left"))
    assert "explains" in str(found)


def test_columns_of_different_scales_and_constants():
    X = some_rows() * [1.0, 1.0, 1.0, 1e4]
    assert concerns("gaussian('median')", X) == ["scales", "scales"]
    X = some_rows()
    X[:, 2] = 3.0
    found = diagnose("gaussian('median')", pd.DataFrame(X, columns=list("abcd")))
    assert [(one.name, one.words) for one in found.concerns] == [("constant columns", "'c' is the same in every row")]


def test_duplicates_of_rows_and_columns():
    X = some_rows()
    assert concerns("gaussian('median')", np.vstack([X, X[:100]])) == ["duplicate rows"]
    assert "20.0 %" in str(diagnose("gaussian('median')", np.vstack([X, X[:100]])))
    assert concerns("gaussian('median')", np.column_stack([X, X[:, 1]])) == ["duplicate columns"]


def test_heavy_tails():
    X = some_rows()
    X[7, 1] = 400.0
    found = diagnose(Gaussian(0.1), X, names=list("abcd")).concerns
    assert "'b'" in next(one.words for one in found if one.name == "tails")


def test_sparse_rows_and_histograms():
    X = np.abs(some_rows())
    found = diagnose(AdditiveChi2(), sp.csr_array(X))
    assert found.effective_dimension == pytest.approx(diagnose(AdditiveChi2(), X).effective_dimension)


def test_tables_are_prepared_as_learners_prepare_them():
    frame = pd.DataFrame(some_rows() * [1.0, 1.0, 1.0, 1e4], columns=list("abcd"))
    frame["town"] = np.where(frame["a"] > 0.0, "oslo", "rome")
    table = mercer.data.open(frame, target="b")
    assert diagnose_table("gaussian('median')", table).concerns == ()
    raw = diagnose_table("gaussian('median')", table, scale=None)
    assert "scales" in [one.name for one in raw.concerns]
    assert (raw.n_rows, raw.n_columns) == (400, 5)


def test_prepared_columns_are_called_by_their_names():
    frame = pd.DataFrame(some_rows() * [1.0, 1.0, 1.0, 1e4], columns=list("abcd"))
    frame["town"] = np.where(frame["a"] > 0.0, "oslo", "rome")
    frame.loc[:40, "c"] = np.nan
    frame.loc[0, "town"] = "bergen"
    found = diagnose_table("gaussian(0.1)", mercer.data.open(frame, target="b"), scale=None)
    words = next(one.words for one in found.findings if one.name == "scales")
    assert words == "the largest standard deviation of a column ('d') is 2e+05 times the smallest ('town=bergen')"
    arrays = diagnose_table("gaussian(0.1)", mercer.data.open(frame[list("abcd")].to_numpy(), target=1), scale=None)
    assert "(column 2)" in next(one.words for one in arrays.findings if one.name == "scales")


def test_a_diagnosis_is_plain_data():
    found = diagnose("gaussian('median')", some_rows())
    assert json.loads(found.to_json()) == found.to_dict()
    assert str(found).splitlines()[0].endswith("on 400 rows and 4 columns")
    assert found == diagnose("gaussian('median')", some_rows())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": some_rows(5)}, "at least 16 rows, found n_samples=5"),
        ({"y": [1.0, 2.0]}, "one entry per row"),
        ({"names": ["a"]}, "names must contain 4 names"),
        ({"X": np.full((30, 4), np.nan)}, "NaN"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        diagnose("gaussian('median')", **({"X": some_rows()} | arguments))
