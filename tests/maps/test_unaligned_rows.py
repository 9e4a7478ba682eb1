"""Rows whose numbers begin between two words of memory, as in a structured array or a buffer with a header."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer import Compressed, KernelClassifier, KernelRegressor, OrthogonalFourier, data
from mercer._array import dense

from ..tables import every_value, first_of_class, obeying


def from_buffer(X):
    return np.frombuffer(b"x" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)


def from_records(X):
    records = np.zeros(len(X), dtype=[("kind", "i1"), ("row", X.dtype, (X.shape[1],))])
    records["row"] = X
    return records["row"]


def sparse(X):
    rows = sp.csr_array(X)
    moved = sp.csr_array(X)
    moved.data, moved.indices = from_buffer(rows.data), from_buffer(rows.indices)
    return moved


FORMS = [from_buffer, from_records]


@every_value(row=first_of_class(obeying()), form=[*FORMS, sparse], dtype=[np.float32, np.float64])
def test_maps_accept_unaligned_rows(row, form, dtype):
    X = row.sample(30).astype(dtype)
    rows = form(X)
    assert not (rows.data if sp.issparse(rows) else rows).flags.aligned
    map = row(16, random_state=0).fit(X)
    aligned = sp.csr_array(X) if sp.issparse(rows) else X
    np.testing.assert_array_equal(dense(map.transform(rows)), dense(map.transform(aligned)))
    again = row(16, random_state=0).fit(rows)
    expected = row(16, random_state=0).fit(aligned)
    np.testing.assert_array_equal(dense(again.transform(aligned)), dense(expected.transform(aligned)))


@every_value(scale=[None, "standard", "unit", "minmax"], form=FORMS)
def test_learners_accept_unaligned_rows(form, scale):
    X = np.random.default_rng(0).uniform(size=(300, 4))
    y = X[:, 0]
    for learner, target in ((KernelRegressor, y), (KernelClassifier, y > 0.5)):
        for map in ("auto", "nystrom"):
            model = learner(n_components=16, map=map, scale=scale, random_state=0)
            expected = model.fit(X, target).predict(X)
            np.testing.assert_array_equal(model.fit(form(X), target).predict(form(X)), expected)
    model = KernelRegressor(n_components=16, scale=scale, random_state=0, kernel=None, alpha=1.0, preparation=None)
    expected = model.fit(X, y).predict(X)
    for table in (data.open(form(X), target=y), data.Blocks(lambda: iter([(form(X), y)]))):
        np.testing.assert_array_equal(model.fit(table).predict(form(X)), expected)


def test_a_learned_projection_accepts_unaligned_rows():
    X = np.random.default_rng(0).normal(size=(300, 4))
    map = Compressed(OrthogonalFourier(), n_components=8, method="tefm-g", random_state=0)
    np.testing.assert_array_equal(map.fit(from_buffer(X)).transform(X), map.fit(X).transform(X))
