"""What users of kernel methods have requested, compared with the best available tool: one command per comparison.

``python benchmarks/asks.py null [RUNS]`` counts false alarms of the tests at 5 %, on samples of several kinds without
any difference or dependence; ``few [RUNS]`` does so for random signs with few rows. ``power`` counts how often the
tests at linear cost find a difference or dependence, compared with the same tests on all pairs of as many rows as they
can process in the same time. ``hyppo`` compares p-values and times with hyppo's. ``novelty`` compares
:class:`mercer.learn.KernelNovelty` with scikit-learn's OneClassSVM on handwritten digits, with one digit at a time as
the novel one. ``intervals`` compares jackknife+, CV+, split and sets of classes with those of MAPIE, on the same
learner. ``classes`` counts how often sets contain the true class if there are many classes, a rare one, or groups of
different difficulty. ``gaussian`` compares likelihoods and their derivatives with those of scikit-learn's
GaussianProcessRegressor. ``forgetting`` compares rows that fade in ``partial_fit`` with fits to all rows so far,
weighted by age. ``importances`` compares gradients with permutations of columns, and ``preimages`` pre-images with
those of scikit-learn's KernelPCA. Seconds are of the processor; run them with OMP_NUM_THREADS=1. MAPIE and hyppo are
not among the requirements: ``pip install mapie hyppo``; start hyppo as ``python -P``, because numba would otherwise
import ``coverage.py`` next to this file instead of the package of that name.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from mercer.learn import (
    ConformalClassifier,
    ConformalRegressor,
    KernelClassifier,
    KernelNovelty,
    KernelPCA,
    KernelRegressor,
)
from mercer.stats import HSICTest, MMDTest, hsic_test, mmd_test

LEVEL = 0.05
Sample = Callable[[np.random.Generator, int], np.ndarray]


def normal(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.normal(size=(rows, 3))


def heavy(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.standard_cauchy(size=(rows, 3))


def counts(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.poisson(0.7, size=(rows, 3)).astype(np.float64)


def single(rng: np.random.Generator, rows: int) -> np.ndarray:
    return normal(rng, rows).astype(np.float32)


def at_once(test: Any, sample: Sample, rows: int, others: int | None = None, **given: Any) -> Callable[[int], float]:
    """The p-value of a test, by the seed of its rows."""

    def run(seed: int) -> float:
        rng = np.random.default_rng(seed)
        return test(sample(rng, rows), sample(rng, others or rows), random_state=seed, **given).pvalue

    return run


def merged(test: Any, parts: int = 4, rows: int = 30, batches: int = 2, **given: Any) -> Callable[[int], float]:
    """Return the p-value of merged parts, each of which was given its own batches; the first rows are not tested."""

    def run(seed: int) -> float:
        rng = np.random.default_rng(seed)
        first = test(random_state=seed, **given).prepare(normal(rng, 100), normal(rng, 100))
        others = [first.fresh() for _ in range(parts)]
        for other in others:
            for _ in range(batches):
                other.update(normal(rng, rows // batches), normal(rng, rows // batches))
            first.merge(other)
        return first.result().pvalue

    return run


def scenarios() -> Iterator[tuple[str, Callable[[int], float]]]:
    """Return both tests with defaults, and with fewer landmarks and permutations on rows of other kinds."""
    kinds = (("Cauchy", heavy), ("counts, many ties", counts), ("float32", single))
    fewer: dict[str, Any] = {"n_components": 64, "n_permutations": 199}
    for test in (mmd_test, hsic_test):
        yield f"{test.__name__}, 100 rows, normal", at_once(test, normal, 100)
        for name, sample in kinds:
            yield f"{test.__name__}, 100 rows, {name}", at_once(test, sample, 100, **fewer)
    yield "mmd_test, 40 and 400 rows, normal", at_once(mmd_test, normal, 40, 400, **fewer)
    yield "mmd_test, 40 and 400 rows, Cauchy", at_once(mmd_test, heavy, 40, 400, **fewer)
    yield "MMDTest, 4 parts of 2 batches, merged", merged(MMDTest, **fewer)
    yield "HSICTest, 4 parts of 2 batches, merged", merged(HSICTest, **fewer)
    yield "mmd_test, 200 rows, random signs", at_once(mmd_test, normal, 200, method="wild", **fewer)
    yield "mmd_test, 40 and 2,500 rows (random signs)", at_once(mmd_test, normal, 40, 2500, **fewer)
    yield "hsic_test, 400 rows, random signs", at_once(hsic_test, normal, 400, method="wild", **fewer)


def null(runs: int = 2000) -> None:
    """The share of runs whose p-value is at most the level."""
    print("| test | runs | false alarms at 5 % | standard error | ms a run |\n|---|---|---|---|---|")
    for name, run in scenarios():
        start = time.process_time()
        share = sum(run(seed) <= LEVEL for seed in range(runs)) / runs
        spent = time.process_time() - start
        error = np.sqrt(share * (1.0 - share) / runs)
        print(f"| {name} | {runs} | {100 * share:.2f} % | {100 * error:.2f} % | {1e3 * spent / runs:.1f} |", flush=True)


def few(runs: int = 400) -> None:
    """False alarms of random signs with few rows, and of permutations, on a few random features."""
    from mercer import RandomFourier
    from mercer.kernels import Gaussian

    def flat(rng: np.random.Generator, rows: int) -> np.ndarray:
        return rng.normal(size=(rows, 2))

    def features(count: int) -> Any:
        return RandomFourier(Gaussian(0.3), n_components=count)

    print("| test | rows | method | false alarms at 5 % |\n|---|---|---|---:|")
    given: dict[str, Any] = {"kernel": features(16), "n_permutations": 99}
    both: dict[str, Any] = {"kernel_x": features(12), "kernel_y": features(12), "n_permutations": 99}
    with warnings.catch_warnings(action="ignore"):
        for rows in (2, 4, 8, 16, 31):
            run = at_once(mmd_test, flat, rows, 2100, **given)
            share = np.mean([run(seed) <= LEVEL for seed in range(runs)])
            print(f"| mmd_test | {rows} and 2,100 | random signs | {100 * share:.1f} % |", flush=True)
        for rows in (4, 6, 10, 20, 40, 100):
            for method in ("wild", "permutation"):
                run = at_once(hsic_test, flat, rows, method=method, **both)
                share = np.mean([run(seed) <= LEVEL for seed in range(runs)])
                print(f"| hsic_test | {rows} | {method} | {100 * share:.1f} % |", flush=True)


# -- power at equal time -----------------------------------------------------------------------------------------------


def shifted(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    return normal(rng, rows), normal(rng, rows) + 0.035


def wider(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    return normal(rng, rows), normal(rng, rows) * np.array([1.0, 1.0, 1.08])


def bent(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    x, noise = rng.normal(size=(2, rows))
    return x[:, None], (0.05 * x**2 + noise)[:, None]


def ring(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    angle, noise = rng.uniform(0.0, 2.0 * np.pi, size=rows), 0.9 * rng.normal(size=(2, rows))
    return (np.cos(angle) + noise[0])[:, None], (np.sin(angle) + noise[1])[:, None]


def gaussian_matrix(X: np.ndarray) -> np.ndarray:
    """With the median of the distances as bandwidth, of at most 1,000 rows."""
    few = X[:: -(-len(X) // 1000)]
    distances = squared_distances(few)
    middle = np.median(distances[np.triu_indices(len(few), 1)])
    return np.exp(-squared_distances(X) / (2.0 * middle))


def squared_distances(X: np.ndarray) -> np.ndarray:
    lengths = (X * X).sum(axis=1)
    return np.maximum(lengths[:, None] + lengths - 2.0 * X @ X.T, 0.0)


def all_pairs_mmd(X: np.ndarray, Y: np.ndarray, seed: int, permutations: int = 999) -> float:
    """The p-value of the squared distance of means, by exchanging rows; all permutations in one matrix product."""
    K, n = gaussian_matrix(np.concatenate([X, Y])), len(X)
    orders = np.argsort(np.random.default_rng(seed).random((permutations, len(K))), axis=1)
    orders = np.concatenate([np.arange(len(K))[None], orders])
    contrast = np.full((permutations + 1, len(K)), -1.0 / len(Y))
    np.put_along_axis(contrast, orders[:, :n], 1.0 / n, axis=1)
    found = ((contrast @ K) * contrast).sum(axis=1)
    return float(np.mean(found >= found[0] * (1.0 - 1e-12)))


def all_pairs_hsic(X: np.ndarray, Y: np.ndarray, seed: int, permutations: int = 199) -> float:
    """The p-value of the trace of K H L H, by permuting the rows of Y."""
    K, L, n = gaussian_matrix(X), gaussian_matrix(Y), len(X)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    rng = np.random.default_rng(seed)
    orders = [np.arange(n), *(rng.permutation(n) for _ in range(permutations))]
    found = np.array([np.vdot(K, L[np.ix_(order, order)]) for order in orders])
    return float(np.mean(found >= found[0] * (1.0 - 1e-12)))


def milliseconds(run: Callable[[], Any], times: int = 5) -> float:
    spent = []
    for _ in range(times):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return 1e3 * float(np.median(spent))


def rows_in_time(run: Callable[[int], Any], limit: float) -> int:
    """The largest number of rows, in steps of 5 %, that takes no more than this many milliseconds."""
    rows = 50
    while milliseconds(lambda: run(int(1.05 * rows) + 1)) <= limit:  # noqa: B023 - called at once
        rows = int(1.05 * rows) + 1
    return rows


def power(runs: int = 100) -> None:
    """Print the share of runs in which an existing difference or dependence is found."""
    tests: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "mmd_test": (mmd_test, all_pairs_mmd, {"shift of 0.035": shifted, "one column 8 % wider": wider}),
        "hsic_test": (hsic_test, all_pairs_hsic, {"0.05 x^2 + noise": bent, "noisy circle": ring}),
    }
    print("| test | what is there | rows | ms | found | all pairs: rows in that time | ms | found |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, (test, pairs, kinds) in tests.items():
        for kind, sample in kinds.items():
            for rows in (5000,):
                draw = sample(np.random.default_rng(0), rows)
                spent = milliseconds(lambda: test(*draw, random_state=0))  # noqa: B023
                few = rows_in_time(lambda n: pairs(*sample(np.random.default_rng(0), n), 0), spent)  # noqa: B023
                theirs = milliseconds(lambda: pairs(*sample(np.random.default_rng(0), few), 0))  # noqa: B023
                ours = shares = 0
                for seed in range(runs):
                    ours += test(*sample(np.random.default_rng(seed), rows), random_state=seed).pvalue <= LEVEL
                    shares += pairs(*sample(np.random.default_rng(seed), few), seed) <= LEVEL
                print(
                    f"| {name} | {kind} | {rows:,} | {spent:.0f} | {100 * ours / runs:.0f} % "
                    f"| {few:,} | {theirs:.0f} | {100 * shares / runs:.0f} % |",
                    flush=True,
                )


def hyppo(rows: int = 500, runs: int = 20) -> None:
    """The same samples, statistic and number of permutations for both; seconds are medians, one after the other."""
    from hyppo.independence import Hsic
    from hyppo.ksample import MMD

    from mercer import Nystrom
    from mercer.kernels import Gaussian

    def median_gamma(X: np.ndarray) -> float:
        distances = squared_distances(X)[np.triu_indices(len(X), 1)]
        return float(1.0 / (2.0 * np.median(np.sqrt(distances)) ** 2))

    def theirs_mmd(X: np.ndarray, Y: np.ndarray, seed: int) -> float:
        gamma = median_gamma(np.concatenate([X, Y]))
        test = MMD(compute_kernel="rbf", gamma=gamma)
        return test.test(X, Y, reps=999, auto=False, random_state=seed)[1]

    def ours_mmd(X: np.ndarray, Y: np.ndarray, seed: int, **given: Any) -> float:
        return mmd_test(X, Y, random_state=seed, **given).pvalue

    def theirs_hsic(X: np.ndarray, Y: np.ndarray, seed: int) -> float:
        return Hsic().test(X, Y, reps=199, auto=False, random_state=seed)[1]

    def ours_hsic(X: np.ndarray, Y: np.ndarray, seed: int, **given: Any) -> float:
        return hsic_test(X, Y, random_state=seed, **given).pvalue

    def exact(gamma: float, n_components: int) -> Any:
        return Nystrom(Gaussian(gamma), n_components=n_components)

    print(f"{rows} rows a sample, {runs} pairs of samples\n")
    print("| test | p-values: largest difference | mean difference | hyppo, s | mercer, s | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    pairs: tuple[tuple[str, Any, Any, Any], ...] = (
        ("mmd_test", shifted, theirs_mmd, ours_mmd),
        ("hsic_test", bent, theirs_hsic, ours_hsic),
    )
    for name, sample, theirs, ours in pairs:
        apart, spent = [], []
        theirs(*sample(np.random.default_rng(1), 60), 0)  # compilation in the first call is not counted
        for seed in range(runs):
            X, Y = sample(np.random.default_rng(seed), rows)
            times, found = [], []
            for test in (theirs, ours):
                start = time.process_time()
                found.append(test(X, Y, seed))
                times.append(time.process_time() - start)
            apart.append(abs(found[0] - found[1]))
            spent.append(times)
        their, our = np.median(spent, axis=0)
        print(f"| {name} | {max(apart):.3f} | {np.mean(apart):.3f} | {their:.3f} | {our:.3f} | {their / our:.0f} |")


# -- novelty -----------------------------------------------------------------------------------------------------------


def novelty() -> None:
    """Print means over the ten digits."""
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


# -- intervals ---------------------------------------------------------------------------------------------------------


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def regressor() -> KernelRegressor:
    return KernelRegressor(
        "gaussian(5.0)",
        map="RandomFourier",
        n_components=128,
        alpha=0.01,
        preparation=None,
        extrapolate="free",
        random_state=0,
    )


def classifier() -> KernelClassifier:
    return KernelClassifier("gaussian(0.02)", n_components=256, C=1.0, preparation=None, random_state=0)


def intervals_of_split(seed: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Return, for every method of intervals, the coverage, width and time of MAPIE and Mercer, and their difference."""
    from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
    from sklearn.model_selection import LeaveOneOut, train_test_split

    old, new, known, truth = train_test_split(*load_diabetes(return_X_y=True), test_size=142, random_state=seed)
    kept, aside, kept_y, aside_y = train_test_split(old, known, test_size=0.25, random_state=seed)

    def crossed(folds: Any) -> Any:
        model = CrossConformalRegressor(regressor(), confidence_level=0.9, cv=folds)
        return model.fit_conformalize(old, known).predict_interval(new)[1][:, :, 0]

    def apart() -> Any:
        model = SplitConformalRegressor(regressor(), confidence_level=0.9, prefit=False)
        return model.fit(kept, kept_y).conformalize(aside, aside_y).predict_interval(new)[1][:, :, 0]

    for method, run in (("jackknife+", lambda: crossed(LeaveOneOut())), ("cv+", lambda: crossed(10)), ("split", apart)):
        their, slow = timed(run)
        model = ConformalRegressor(regressor(), method=method, random_state=seed)
        ours, fast = timed(lambda model=model: model.fit(old, known).predict_interval(new))
        inside = [100.0 * float(np.mean((one[:, 0] <= truth) & (truth <= one[:, 1]))) for one in (their, ours)]
        width = [float(np.mean(one[:, 1] - one[:, 0])) for one in (their, ours)]
        yield method, (*inside, *width, float(np.abs(their - ours).max() / np.std(known)), slow, fast)


def sets_of_split(seed: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Return these results for sets of classes: the width is a number of classes, the difference a share of rows."""
    from mapie.classification import SplitConformalClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    old, new, known, truth = train_test_split(X / 16.0, y, test_size=797, random_state=seed)
    kept, aside, kept_y, aside_y = train_test_split(old, known, test_size=0.25, random_state=seed)

    def apart() -> Any:
        model = SplitConformalClassifier(classifier(), confidence_level=0.9, prefit=False)
        return model.fit(kept, kept_y).conformalize(aside, aside_y).predict_set(new)[1][:, :, 0]

    their, slow = timed(apart)
    ours, fast = timed(lambda: ConformalClassifier(classifier(), random_state=seed).fit(old, known).predict_set(new))
    inside = [100.0 * float(np.mean(one[np.arange(len(truth)), truth])) for one in (their, ours)]
    width = [float(one.sum(axis=1).mean()) for one in (their, ours)]
    yield "sets of digits", (*inside, *width, float(np.mean(their != ours)), slow, fast)


def intervals(splits: int = 5) -> None:
    """Compare one machine inside MAPIE with the same machine inside Mercer's conformal predictors."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(splits):
        for method, numbers in (*intervals_of_split(seed), *sets_of_split(seed)):
            found.setdefault(method, []).append(numbers)
    head = "MAPIE covers, %", "mercer covers, %", "MAPIE's width", "mercer's", "largest difference"
    print(f"| method | {' | '.join(head)} | MAPIE, s | mercer, s | ratio |")
    print("|---|" + 8 * "---:|")
    for method, rows in found.items():
        a, b, c, d, apart, slow, fast = np.mean(rows, axis=0)
        ratio = np.median([row[5] / row[6] for row in rows])
        sizes = f"{a:.1f} | {b:.1f} | {c:.4g} | {d:.4g} | {apart:.1e}"
        print(f"| {method} | {sizes} | {slow:.2f} | {fast:.3f} | {ratio:.1f} |", flush=True)


def thirty(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thirty classes that overlap, and one group."""
    centres = 1.6 * np.random.default_rng(99).normal(size=(30, 4))
    y = rng.integers(0, 30, size=rows)
    return centres[y] + rng.normal(size=(rows, 4)), y, np.zeros(rows)


def one_rare(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes, and a third of one row in a hundred, which lies between them."""
    y = np.where(rng.random(rows) < 0.01, 2, rng.random(rows) < 0.5)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.5]])
    X = rng.normal(size=(rows, 4))
    X[:, :2] += centres[y]
    return X, y, np.zeros(rows)


def two_groups(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four classes, which are hard to tell apart in a group of 8 % of the rows."""
    groups = (rng.random(rows) < 0.08).astype(np.float64)
    X = rng.normal(size=(rows, 3))
    noisy = X[:, 0] + np.where(groups > 0.0, 1.5, 0.3) * rng.normal(size=rows)
    return X, (noisy > 0.0) + 2 * (X[:, 1] > 0.5), groups


def classes(splits: int = 100) -> None:
    """Sets of classes from 1,500 rows, of which a quarter is set aside, for 3,000 others."""
    print("| classes | score | covered, % | of the least covered class, % | classes a set | empty, % |")
    print("|---|---|---:|---:|---:|---:|")
    trials: tuple[tuple[str, Any, Any, bool], ...] = (
        ("30", thirty, "probability", False),
        ("30", thirty, "cumulated", False),
        ("3, one of them rare", one_rare, "probability", False),
        ("3, one of them rare", one_rare, "cumulated", False),
        ("4, without groups", two_groups, "probability", False),
        ("4, in two groups", two_groups, "probability", True),
    )
    for name, sample, score, grouped in trials:
        found, each = [], []
        for seed in range(splits):
            rng = np.random.default_rng(seed)
            (X, y, groups), (new, truth, others) = sample(rng, 1500), sample(rng, 3000)
            learner = KernelClassifier("gaussian(0.15)", n_components=64, C=1.0, loss="squared", preparation=None)
            model = ConformalClassifier(learner.set_params(random_state=seed), conformity=score, random_state=seed)
            model.fit(X, y, groups=groups if grouped else None)
            sets = model.predict_set(new, groups=others if grouped else None)
            hit, sizes = sets[np.arange(len(truth)), truth], sets.sum(axis=1)
            parts = others if others.any() else truth
            each.append([np.mean(hit[parts == part]) for part in range(int(parts.max()) + 1)])
            found.append((np.mean(hit), np.mean(sizes), np.mean(sizes == 0)))
        covered, size, empty = np.mean(found, axis=0)
        error = 100.0 * np.std([one[0] for one in found]) / np.sqrt(splits)
        least = 100.0 * np.nanmean(each, axis=0).min()
        print(
            f"| {name} | {score} | {100 * covered:.2f} ± {error:.2f} | {least:.1f} | {size:.2f} | {100 * empty:.1f} |",
            flush=True,
        )


# -- Gaussian processes ------------------------------------------------------------------------------------------------


def gaussian(rows: int = 600, columns: int = 5) -> None:
    """The likelihood, its derivatives in length scales, means and deviations, with the same noise and factor."""
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    from mercer.kernels import Matern

    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(rows, columns)), rng.normal(size=(200, columns))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=rows)
    lengths = np.linspace(1.0, 3.0, columns)

    def ours(width: int) -> Any:
        model = KernelRegressor(
            Matern(1.5, length_scale=tuple(lengths.tolist())),
            map="nystrom",
            n_components=width,
            alpha=0.05,
            fit_intercept=False,
            keep_statistics=True,
            preparation=None,
            extrapolate="free",
            random_state=0,
        ).fit(X, y)
        return model, model.log_marginal_likelihood_gradient(X, y)

    model, slopes = ours(rows)
    gram = Matern(1.5, length_scale=tuple(lengths.tolist()))(X) + 0.05 * np.eye(rows)
    # The most likely noise, for which Mercer states the likelihood.
    noise = 0.05 * float(y @ np.linalg.solve(gram, y)) / rows
    factor = kernels.ConstantKernel(noise / 0.05, "fixed")
    kernel = factor * kernels.Matern(lengths, nu=1.5) + kernels.WhiteKernel(noise, "fixed")
    peer = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    value, their_slopes = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    print(f"likelihood: {model.log_marginal_likelihood_ / value - 1.0:.1e} of {value:.2f}")
    print(f"derivatives: {np.abs(slopes.columns + their_slopes).max() / np.abs(their_slopes).max():.1e} of the largest")
    posterior = float(model.posterior().noise[0])
    same = kernels.ConstantKernel(posterior / 0.05) * kernels.Matern(lengths, nu=1.5) + kernels.WhiteKernel(posterior)
    peer = GaussianProcessRegressor(same, alpha=0.0, optimizer=None).fit(X, y)
    for name, one, other in zip(
        ("means", "deviations"), model.predict(new, return_std=True), peer.predict(new, return_std=True), strict=True
    ):
        print(f"{name}: {np.abs(one - other).max() / np.abs(other).max():.1e} of the largest")
    theirs = milliseconds(lambda: peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True))
    for width in (rows, 256):
        spent = milliseconds(lambda: ours(width))  # noqa: B023
        print(
            f"likelihood with derivatives: {theirs:.0f} ms, {spent:.0f} ms on {width} landmarks, {theirs / spent:.1f}"
        )


# -- forgetting --------------------------------------------------------------------------------------------------------


def forgetting(batches: int = 40, rows: int = 500, width: int = 256) -> None:
    """Batches whose earlier rows fade, compared with scikit-learn's Ridge, fitted each time to all rows so far weighted
    by age."""
    from sklearn.linear_model import Ridge

    decay, rng = 0.9, np.random.default_rng(0)
    model = KernelRegressor(
        "gaussian(0.2)",
        map="RandomFourier",
        n_components=width,
        alpha=1.0,
        preparation=None,
        extrapolate="free",
        random_state=0,
    )
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    ours = theirs = apart = 0.0
    for number in range(batches):
        X = rng.normal(size=(rows, 5))
        y = np.sin(X[:, 0] + 0.1 * number) + 0.1 * rng.normal(size=rows)
        ours += timed(lambda: model.partial_fit(X, y, decay=decay if seen else 1.0))[1]  # noqa: B023 - called at once
        seen.append((model.map_.transform(X), y))
        weight = np.concatenate([np.full(rows, decay**age) for age in reversed(range(len(seen)))])
        Z, targets = np.concatenate([one for one, _ in seen]), np.concatenate([one for _, one in seen])
        peer, spent = timed(lambda: Ridge(1.0).fit(Z, targets, weight))  # noqa: B023
        theirs += spent
        apart = max(apart, float(np.abs(peer.coef_ - model.coef_).max() / np.abs(peer.coef_).max()))
    print(f"coefficients differ by {apart:.1e} of the largest; {batches} batches: Ridge on all rows {theirs:.2f} s,")
    print(f"partial_fit with decay {ours:.2f} s, features included: {theirs / ours:.1f}; a batch does not get slower")


# -- columns and pre-images --------------------------------------------------------------------------------------------


def importances(rows: int = 2000, columns: int = 20) -> None:
    """Compare gradients with permutations of columns on Friedman's function, for which five columns matter."""
    from scipy.stats import spearmanr
    from sklearn.datasets import make_friedman1
    from sklearn.inspection import permutation_importance

    X, y = make_friedman1(rows, columns, noise=0.5, random_state=0)
    model = KernelRegressor(map="nystrom", n_components=512, random_state=0).fit(X, y)
    theirs, slow = timed(lambda: permutation_importance(model, X, y, n_repeats=5, random_state=0).importances_mean)
    ours, fast = timed(lambda: model.importances(X))
    agree = spearmanr(theirs[:5], ours[:5]).statistic
    print(
        f"permutation_importance {slow:.2f} s, importances {fast:.2f} s, ratio {slow / fast:.1f}; rank correlation of"
    )
    print(f"the five columns that matter {agree:.2f}; their shares {theirs[:5] / theirs.sum()} and {ours[:5]};")
    print(f"of all others {theirs[5:].sum() / theirs.sum():.4f} and {ours[5:].sum():.4f}")


def preimages(rows: int = 1000, parts: int = 32) -> None:
    """Compare pre-images of noisy digits with the digits without noise."""
    from sklearn.decomposition import KernelPCA as Peer

    X, _ = load_digits(return_X_y=True)
    X = X / 16.0
    rng = np.random.default_rng(0)
    old, new = X[:rows], X[rows:]
    noisy, also = (one + 0.25 * rng.normal(size=one.shape) for one in (old, new))
    print("| who | mean squared error of pre-images | fit and both ways, s |\n|---|---:|---:|")
    given: dict[str, Any] = {
        "scikit-learn": Peer(parts, kernel="rbf", gamma=0.01, fit_inverse_transform=True, alpha=0.1, random_state=0),
        "mercer": KernelPCA(
            "gaussian(0.01)",
            n_directions=parts,
            n_components=512,
            map="nystrom",
            fit_inverse_transform=True,
            alpha=0.1,
            scale=None,
            random_state=0,
        ),
    }
    for name, model in given.items():
        run = lambda: model.fit(noisy).inverse_transform(model.transform(also))  # noqa: B023, E731
        found, spent = run(), milliseconds(run) / 1e3
        print(f"| {name} | {np.mean((found - new) ** 2):.4f} | {spent:.2f} |")
    print(f"| as given | {np.mean((also - new) ** 2):.4f} | |")


COMMANDS: dict[str, Callable[..., None]] = {
    one.__name__: one
    for one in (
        *(null, few, power, hyppo, novelty, intervals, classes),
        *(gaussian, forgetting, importances, preimages),
    )
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
