"""A table with heavy tails, on which generalised cross-validation fails, but the rule that commands use does not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mercer

pytestmark = pytest.mark.xdist_group("heavy tails")  # on one worker, so that what they share is made once


@pytest.fixture(scope="module")
def heavy(tmp_path_factory):
    """8 lognormal columns, and 10 rows of 5,000 that lie hundreds to thousands of times as far out."""
    rng = np.random.default_rng(2)
    X = rng.lognormal(sigma=1.25, size=(5000, 8))
    y = np.log(X[:, 0]) + np.sin(np.log(X[:, 1])) + 0.3 * rng.normal(size=5000)
    X[rng.choice(5000, 10, replace=False)] *= 10.0 ** rng.uniform(2.0, 4.0, size=(10, 1))
    path = tmp_path_factory.mktemp("heavy") / "heavy.parquet"
    pd.DataFrame(X, columns=list("abcdefgh")).assign(y=y).to_parquet(path)
    return path


def test_fit_is_accurate_where_generalised_cross_validation_fails(run, heavy, tmp_path):
    def r2(*options):
        words = ["fit", heavy, "--target", "y", "--features", 512, "-o", tmp_path / "m.mercer", "--json", *options]
        result = run(*words)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)["scores"]["R2"]["value"]

    assert r2() > 0.8
    given = "--kernel", "gaussian('median')", "--map", "orthogonal_fourier", "--scale", "standard"
    assert r2(*given) > 0.5
    assert r2(*given, "--alpha", "gcv") < 0.3  # and this only because predictions stay near the targets
    assert mercer.load(tmp_path / "m.mercer").alpha == "gcv"


def test_compare_is_accurate_with_heavy_tails(run, heavy):
    words = ["compare", heavy, "--target", "y", "--maps", "orthogonal_fourier", "--features", 512, "--exact-rows", 500]
    found = json.loads(run(*words, "--json").stdout)["entries"]
    assert [entry["map"] for entry in found] == ["exact kernel", "OrthogonalFourier"]
    assert found[1]["score"] > 0.5


@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.full)])
def test_tune_is_accurate_with_heavy_tails(run, heavy, tmp_path, precision):
    name = tmp_path / "m.mercer"
    options = ["--kernel", "gaussian('median')", "--scale", "standard", "--rounds", 1, "--features", 512]
    result = run("tune", heavy, "--target", "y", *options, "--precision", precision, "-o", name, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["scores"]["R2"]["value"] > 0.5
    assert mercer.load(name).penalty_path_.rule == "loo"
