"""Tests of two samples and of independence under the null, and novelty beside a one-class SVM.

``python benchmarks/asks.py null [RUNS]`` counts false alarms at 5 % where nothing is to be found, ``novelty`` compares
the area under the curve and the processor time of :class:`mercer.learn.KernelNovelty` with scikit-learn's OneClassSVM
on handwritten digits, one digit at a time being the novel one.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from mercer.learn import KernelNovelty
from mercer.stats import hsic_test, mmd_test

LEVEL = 0.05


def null(runs: int = 2000, rows: int = 100) -> None:
    """The share of runs whose p-value is at most the level."""
    print("| test | runs | false alarms at 5 % | standard error | ms a run |\n|---|---|---|---|---|")
    for name, test in (("mmd_test", mmd_test), ("hsic_test", hsic_test)):
        start, alarms = time.process_time(), 0
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            X, Y = rng.normal(size=(rows, 3)), rng.normal(size=(rows, 3))
            alarms += test(X, Y, random_state=seed).pvalue <= LEVEL
        spent, share = time.process_time() - start, alarms / runs
        error = np.sqrt(share * (1.0 - share) / runs)
        print(f"| {name} | {runs} | {100 * share:.2f} % | {100 * error:.2f} % | {1e3 * spent / runs:.1f} |", flush=True)


def novelty() -> None:
    """Means over the ten digits."""
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    gamma = 1.0 / (X.shape[1] * X.var())
    makers = {
        "KernelNovelty": lambda: KernelNovelty(f"gaussian({gamma})", n_components=512, random_state=0),
        "OneClassSVM, nu 0.05": lambda: OneClassSVM(gamma=gamma, nu=0.05),
        "OneClassSVM, nu 0.5": lambda: OneClassSVM(gamma=gamma, nu=0.5),
    }
    print("| detector | area under the curve | fit and score, s |\n|---|---|---|")
    for name, make in makers.items():
        areas, spent = [], 0.0
        for digit in range(10):
            known = np.flatnonzero(y != digit)
            kept = np.random.default_rng(digit).permutation(known)
            learned, others = X[kept[: len(kept) // 2]], kept[len(kept) // 2 :]
            start = time.process_time()
            scores = make().fit(learned).score_samples(X)
            spent += time.process_time() - start
            rest = np.concatenate([others, np.flatnonzero(y == digit)])
            areas.append(roc_auc_score(y[rest] == digit, -scores[rest]))
        print(f"| {name} | {np.mean(areas):.3f} | {spent / 10:.2f} |", flush=True)


if __name__ == "__main__":
    {"null": null, "novelty": novelty}[sys.argv[1]](*map(int, sys.argv[2:]))
