"""The page about one model."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import data, report
from mercer.choose import learner_for
from mercer.report.training import confusion

from .test_comparison import Tags

X = np.random.default_rng(0).normal(size=(400, 2))


def made(task, y):
    train, test = data.open(X, target=y).split(0.5, seed=0)
    learner = learner_for(task, n_components=32, random_state=0)
    found = report.plan(learner, train)
    model = learner.fit(train)
    scores = report.evaluate(model, test, resamples=10)
    return report.training_page("a <b>", model, found, scores, test), model, test


def checked(text):
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.links == []
    return text


def test_of_numbers():
    text, model, test = made("regression", np.sin(X[:, 0]))
    assert "a &lt;b&gt;" in checked(text)
    for part in ("<svg", "R2", f"{test.n_rows:,} rows", repr(model.map_.kernel_), "observed"):
        assert part in text


def test_of_classes():
    text, model, test = made("classification", np.where(X[:, 0] > 0, "<i>", "low"))
    assert "&lt;i&gt;" in checked(text)
    y = np.concatenate([block.y for block in test.blocks()])
    counts = confusion(y, model.predict(test), None, model.classes_.tolist())
    assert sum(map(sum, counts)) == test.n_rows
    assert counts[0][0] == np.sum((y == "<i>") & (model.predict(test) == "<i>"))
    assert f'<td class="number">{counts[0][1]}</td>' in text


def test_weights_count():
    y, told, weight = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.5, 2.0, 3.0])
    assert confusion(y, told, weight, [0, 1]) == [[0.5, 2], [0, 3]]


def test_maps_have_no_page():
    with pytest.raises(TypeError, match="which predicts no target"):
        report.training_page("", object(), None, [])
