"""Nystrom with functions and matrices that are not kernels, and with kernels that look so because of rounding."""

import math
import warnings

import numpy as np
import pytest

from mercer import Nystrom, kernel_error
from mercer.kernels import Gaussian, Linear, Polynomial

from ..tables import ROWS, every_value, quick_and_full

RULES = ["uniform", "kmeans", "leverage", "rpcholesky"]
X = np.random.default_rng(0).normal(size=(200, 3))
DISTANCES = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def fitted(*arguments, rows, **options):
    """The fitted map, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nystrom = Nystrom(*arguments, random_state=0, **options).fit(rows)
    return nystrom, [str(warning.message) for warning in caught]


NO_KERNELS = {
    "tanh": (lambda x, y: math.tanh(x @ y), X),
    "shifted tanh": (lambda x, y: math.tanh(2.0 * (x @ y) + 1.0), X),
    "shifted cube": (Polynomial(3, coef0=-1.0), X),
    "exp(-r^3)": ("precomputed", np.exp(-(DISTANCES**3))),
    "exp(-r^3) of float32": ("precomputed", np.exp(-(DISTANCES**3)).astype(np.float32)),
    "distances": ("precomputed", DISTANCES),
    "negative distances": ("precomputed", -DISTANCES),
    "lengths": (lambda a, b: abs(len(a) - len(b)) + 0.1, ["x" * length for length in range(80)]),
}


APPLICABLE = [
    (name, rule)
    for name, (kernel, _) in NO_KERNELS.items()
    for rule in RULES
    if rule != "kmeans" or (name != "lengths" and kernel != "precomputed")  # centres are rows of numbers
]


@every_value(case=[pytest.param(case, id="-".join(case)) for case in APPLICABLE], n_components=[5, 20, 60])
def test_an_indefinite_function_warns_once_and_has_no_trace_bound(case, n_components):
    name, rule = case
    kernel, rows = NO_KERNELS[name]
    nystrom, messages = fitted(kernel, rows=rows, n_components=n_components, landmarks=rule)
    assert len(messages) == 1
    assert "the kernel matrix is not positive semi-definite: on some rows it has the eigenvalue -" in messages[0]
    # The features do err, however little of the diagonal is left.
    assert kernel_error(nystrom, rows).relative > 0.01
    trace, relative, count = nystrom.residual_trace_
    assert math.isnan(trace)
    assert math.isnan(relative)
    assert count == len(rows)
    assert np.isfinite(nystrom.transform(rows)).all()


def test_one_row_is_enough():
    # One that is nearer to another than Cauchy and Schwarz allow.
    K = np.eye(3000)
    K[1234, 2345] = K[2345, 1234] = 1.5
    nystrom, messages = fitted("precomputed", rows=K, landmarks=[1234])
    assert len(messages) == 1
    assert "it has the eigenvalue -0.5, where the mean of k(x, x) is 1;" in messages[0]
    assert math.isnan(nystrom.residual_trace_.trace)


def test_some_indefinite_functions_have_an_unsuspicious_diagonal():
    # What the landmark leaves has a positive diagonal, and most of it no negative eigenvalue.
    K = np.eye(300)
    K[40:, 40:] = np.where(np.eye(260), 2.0, 2.5)
    _, messages = fitted("precomputed", rows=K, landmarks=[0])
    assert len(messages) == 1
    assert "has the eigenvalue -0.5" in messages[0]


KERNELS = list({row.id.split("(", 1)[1]: row for row in ROWS}.values())


# In ``make test`` every kernel with one rule, in full with all.
@pytest.mark.parametrize("every", quick_and_full(len(RULES), 1))
@pytest.mark.parametrize("n_components", quick_and_full(60, 10))
@pytest.mark.parametrize("rule", RULES)
def test_rounding_is_no_reason_to_warn(rule, n_components, every):
    assert len(KERNELS) > 50
    for row in KERNELS[RULES.index(rule) % every :: every]:
        rows = row.sample(120, 2)
        options = {"n_components": n_components, "landmarks": rule}
        nystrom, messages = fitted(row.kernel, rows=rows, **options)
        assert (row.id, messages) == (row.id, [])
        assert nystrom.residual_trace_.trace >= 0.0
        if rule == "kmeans":
            continue
        for dtype in (np.float64, np.float32):
            gram = nystrom.kernel_(rows).astype(dtype)
            assert (row.id, fitted("precomputed", rows=gram, **options)[1]) == (row.id, [])


def test_nearly_singular_landmarks_are_no_reason_to_warn():
    # Of the second landmark all but the last digits are those of the first, and only it knows the second column.
    rng = np.random.default_rng(0)
    worst = 0.0
    for seed in range(20):
        landmarks = np.array([[1.0, 0.0], [1.0, 1e-7 * (1.0 + 0.1 * seed)]])
        rows = np.concatenate([landmarks, rng.normal(size=(30, 2))])
        nystrom, messages = fitted(Linear(), rows=rows, landmarks=[0, 1])
        assert messages == []
        Z = nystrom.transform(rows)
        residual = np.diag(Linear()(rows)) - (Z * Z).sum(axis=1)
        worst = min(worst, float(residual.min()))
        # It does not claim an error that it cannot bound.
        assert nystrom.residual_trace_.trace == pytest.approx(np.abs(residual).sum(), rel=1e-6)
    assert worst < -1e-3


def test_rows_far_from_the_origin_are_no_reason_to_warn():
    for rule in RULES:
        for kernel in (Gaussian(0.01), Polynomial(3, coef0=1.0)):
            _, messages = fitted(kernel, rows=1e4 + X, n_components=60, landmarks=rule)
            assert messages == []
