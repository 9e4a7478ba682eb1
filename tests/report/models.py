"""Models of rows whose names are hostile, and the pages about them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mercer import data, report
from mercer.choose import learner_for

from .pages import HOSTILE

GIVEN = {"kernel": "gaussian('median')", "map": "OrthogonalFourier", "scale": "standard", "C": 1.0, "alpha": "loo"}
"""What the tests of pages take for granted."""

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
FRAME = pd.DataFrame({"a": X[:, 0], HOSTILE: X[:, 1], "town": RNG.choice(["oslo", HOSTILE], 600)})
SUMMED = (np.sin(2.0 * X[:, 0]) + (FRAME["town"] == "oslo")).to_numpy()
KINDS = np.where(SUMMED > 1.0, HOSTILE, np.where(SUMMED > 0.3, "middle", "low"))
LETTERS = np.array([f"{chr(65 + n)}{' of a long name, and longer' * int(n % 5 == 0)}" for n in np.arange(600) % 26])


def made(y, **options):
    table = data.open(FRAME.assign(y=y), target="y")
    train, test = table.split(0.4, seed=0)
    task = "classification" if np.asarray(y).dtype.kind in "Ub" else "regression"
    model = learner_for(task, n_components=64, random_state=0, **(GIVEN | options)).fit(train)
    scores = report.evaluate(model, test, resamples=10)
    studied = report.study(model, train, test)
    usage = report.Usage(1.5, 0.02, 300.0, 2_000_000, None)
    origin = report.Origin(f"mercer fit '{HOSTILE}'", {"--target": HOSTILE, "--weight": None}, {"mercer": "1"})
    given = {"scores": scores, "studied": studied, "usage": usage, "origin": origin}
    return report.training_page(HOSTILE, model, train, test, **given), model, train, test, studied
