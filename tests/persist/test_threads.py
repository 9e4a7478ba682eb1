"""A seed draws the same bits when a file is read as in ``fit``, however many threads BLAS has."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import mercer
from mercer import KernelRegressor, OrthogonalFourier
from mercer.kernels import Matern

from ..tables import first_of_class, obeying


def blas_threads():
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


@pytest.mark.parametrize("row", [one for one in first_of_class(obeying()) if "callable" not in one.id])
def test_parameters_are_drawn_again_on_one_thread(row, tmp_path, monkeypatch):
    X, seen = row.sample(30), []
    map = row(8, random_state=0).fit(X)
    drawn_again = map
    while hasattr(drawn_again, "map_"):
        drawn_again = drawn_again.map_
    construction = drawn_again.construction_
    draw = type(construction).draw

    def watched(self, rng, rows):
        seen.append(blas_threads())
        return draw(self, rng, rows)

    monkeypatch.setattr(type(construction), "draw", watched)
    with threadpool_limits(2, user_api="blas"):
        mercer.save(map, tmp_path / "map", parameters="seed")
        again = mercer.load(tmp_path / "map")
    assert set(seen) <= {1}
    assert seen or construction.draws_from_rows or hasattr(drawn_again, "left_") or hasattr(drawn_again, "outer_")
    np.testing.assert_array_equal(again.transform(X), map.transform(X))


def test_heavy_tails_in_many_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 700))
    with threadpool_limits(2, user_api="blas"):
        model = KernelRegressor(map=OrthogonalFourier(Matern(0.5), n_components=64, random_state=0), alpha=1.0).fit(
            X, X[:, 0]
        )
        mercer.save(model, tmp_path / "model", parameters="seed")
        again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.map_.parameters_.frequencies, model.map_.parameters_.frequencies)
