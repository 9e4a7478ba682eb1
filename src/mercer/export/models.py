"""A fitted model as one ONNX graph."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._checks import check_choice
from . import namespace as xp
from .learners import Answers, answers
from .pipelines import columns_of
from .symbol import Tracing
from .tracing import new_tracing

DTYPES = ("float32", "float64")


def onnx(model: BaseEstimator, *, dtype: Literal["float32", "float64"] = "float32") -> Any:
    """Return a fitted model as an ONNX model, which runs without Mercer and without Python.

    Preparation of columns of numbers, features and the linear part become standard operators (opset 18) that
    onnxruntime has in either precision. The graph has one input, ``X``, and these outputs:

    ==================================== ===============================================================================
    model                                outputs
    ==================================== ===============================================================================
    a feature map                        ``features``
    :class:`mercer.KernelRegressor`      ``prediction``, float64 as from ``predict``
    :class:`mercer.KernelClassifier`     ``label``, ``decision_values`` and, if available, ``probabilities``;
                                         of several tasks each with ``_0``, ``_1``, ...
    :class:`mercer.learn.KernelPCA`      ``components``
    :class:`mercer.learn.KernelCCA`      ``variates`` of the first view
    :class:`mercer.learn.KernelKMeans`   ``label`` and ``distances``
    :class:`mercer.learn.KernelNovelty`  ``label`` and ``scores``
    a pipeline of scikit-learn           those of its last step; also of scikit-learn's linear models
    ==================================== ===============================================================================

    Pipelines may contain Mercer's maps and learners, scikit-learn's linear models and its common steps for columns of
    numbers, column transformers and other pipelines; the message about any other step lists them.

    For a row that Mercer refuses (outside the kernel's domain, or with a missing value if these are errors), all
    floating-point outputs are NaN, because a graph cannot raise errors; ignore the label of such a row.

    Parameters
    ----------
    model : FeatureMap, learner or Pipeline
        The model, fitted.
    dtype : {"float32", "float64"}, default="float32"
        The precision of the rows that the graph accepts.

    Returns
    -------
    onnx.ModelProto
        The model; ``SerializeToString()`` gives the content of a file. Its properties name the class of the model, the
        version of Mercer and, as JSON, the columns that ``fit`` has seen.

    Raises
    ------
    NotExportedError
        If standard operators cannot represent a part of the model; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = mercer.KernelRegressor("gaussian(0.5)", alpha=0.1, n_components=32, random_state=0).fit(X, X[:, 0])
    >>> graph = mercer.export.onnx(model).graph
    >>> [value.name for value in graph.input], [value.name for value in graph.output]
    (['X'], ['prediction'])
    """
    check_choice("dtype", dtype, DTYPES)
    if find_spec("onnx") is None:
        raise ImportError("export needs the package onnx: pip install 'mercer[onnx]'")
    check_is_fitted(model)
    tracing = new_tracing()
    X = tracing.begin(columns_of(model), np.dtype(dtype))
    refuse_rows(tracing, found := dict(answers(model, X)))
    for name, symbol in found.items():
        shape = ("rows", *symbol.shape[1:])
        tracing.graph.add_output(name, symbol.name, symbol.dtype, shape)
    facts = {"mercer": __version__, "model": type(model).__name__}
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        facts["columns"] = json.dumps([str(name) for name in names])
    return tracing.graph.model(type(model).__name__, facts)


def refuse_rows(tracing: Tracing, found: Answers) -> None:
    """Replace the outputs by NaN for rows that the library would refuse."""
    conditions = []
    for one in tracing.refused:
        flags = one.astype(np.float32)
        conditions.append(flags if one.ndim == 1 else xp.max(flags, axis=1))
    for name, symbol in found.items():
        for flags in conditions:
            refused = flags.reshape(-1, *(1,) * (symbol.ndim - 1)) > 0.5
            if symbol.dtype.kind == "f":
                symbol = found[name] = xp.where(refused, symbol.dtype.type(np.nan), symbol)
