"""Small fitted models of every kind, for tests of model files."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PowerTransformer, QuantileTransformer, StandardScaler

from mercer import (
    AdditiveMap,
    Calibrated,
    ComplexSketch,
    Composed,
    Compressed,
    Fastfood,
    HadamardSketch,
    Nystrom,
    OrthogonalFourier,
    RandomFourier,
    RandomMaclaurin,
    Stack,
    StructuredFourier,
    TaylorSketch,
    TensorProduct,
    TensorSketch,
    TreeSketch,
)
from mercer.kernels import AdditiveChi2, Exponential, Gaussian, Laplacian, Polynomial
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelNovelty, KernelPCA, KernelRegressor


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).round(3)


def histograms(n=40, d=4, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(d), size=n).round(4)


def sparse_rows(n=50, d=12, seed=0):
    dense = rows(n, d, seed)
    return sp.csr_array(np.where(np.abs(dense) > 1.2, dense, 0.0))


def frame(n=60, seed=0):
    X = rows(n, 3, seed)
    levels = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return pd.DataFrame({"length": X[:, 1], "level": levels, "even": X[:, 2] > 0, "width": 100.0 * X[:, 2]})


def target(X):
    values = X["width"].to_numpy() / 100.0 + X["length"] if isinstance(X, pd.DataFrame) else X[:, 0] - X[:, 1] ** 2
    return np.asarray(values)


def labels(X):
    return np.array(["no", "perhaps", "yes"])[np.digitize(target(X), [-0.8, 0.3])]


@cache
def fitted_maps():
    """Name, fitted map and rows."""
    X, H, S = rows(), histograms(), sparse_rows()
    stack = Stack(Calibrated(OrthogonalFourier(Gaussian("median")), n_rows=40), TensorSketch(), n_components=24)
    squeezed = Compressed(TaylorSketch(Gaussian(0.1)), n_components=6, method="tefm-g", random_state=4)
    composed = Composed(RandomFourier(Gaussian(0.5)), AdditiveMap(AdditiveChi2(), n_components=12), n_components=10)
    product = TensorProduct(TaylorSketch(Gaussian(0.1)), TensorSketch(), n_components=6, factor=1, random_state=10)
    return {
        "fourier": (RandomFourier(Laplacian("median"), n_components=11, random_state=1).fit(X), X),
        "structured": (StructuredFourier(Gaussian(0.2), n_components=20, random_state=2).fit(X), X),
        "stack": (stack.set_params(random_state=3).fit(X), X),
        "tefm": (squeezed.fit(X), X),
        "composed": (composed.set_params(random_state=5).fit(H), H),
        "nystrom": (Nystrom(Gaussian("scale"), n_components=9, landmarks="rpcholesky", random_state=6).fit(X), X),
        "nystrom-sparse": (Nystrom(Polynomial(2, coef0=1.0), n_components=7, random_state=7).fit(S), S),
        "maclaurin": (RandomMaclaurin(Exponential(0.1), n_components=16, exact_terms=True, random_state=8).fit(X), X),
        "craft": (Compressed(ComplexSketch(), n_components=5, factor=3, random_state=11).fit(X), X),
        "fastfood": (Fastfood(Gaussian(0.2), n_components=9, random_state=12).fit(X), X),
        "product": (product.fit(X), X),
        "tree": (TreeSketch(Polynomial(5, coef0=0.5), n_components=6, factor=2, random_state=13).fit(X / 4), X / 4),
        "hadamard": (HadamardSketch(Polynomial(3, coef0=0.5), n_components=12, random_state=9).fit(X), X),
    }


@cache
def fitted_learners():
    """Name, fitted learner and rows."""
    X, F = rows(), frame()
    common = {"n_components": 16, "random_state": 0}
    regressor = KernelRegressor(
        alpha="gcv", keep_statistics=True, scale="standard", **({"kernel": None, "preparation": None} | common)
    )
    classifier = KernelClassifier(
        loss="logistic", scale="minmax", missing="mean", **({"kernel": None, "C": 1.0, "preparation": None} | common)
    )
    nested = KernelRegressor(
        map=Calibrated(RandomFourier(Gaussian(0.2)), n_components=12, random_state=1), scale="unit", alpha=1.0
    )
    second = np.column_stack([target(X), X[:, 2] ** 2])
    return {
        "regressor": (regressor.fit(X, target(X)), X),
        "regressor-targets": (
            KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | common)).fit(X, second),
            X,
        ),
        "regressor-nested": (nested.fit(X, target(X)), X),
        "classifier-frame": (classifier.fit(F, labels(F)), F),
        "classifier-two": (
            KernelClassifier(loss="squared", **({"kernel": None, "C": 1.0, "preparation": None} | common)).fit(
                X, X[:, 0] > 0
            ),
            X,
        ),
        "pca": (KernelPCA(n_directions=3, **common).fit(X), X),
        "cca": (KernelCCA(n_components_y=12, scale="standard", **common).fit(X, second), X),
        "kmeans": (KernelKMeans(n_clusters=3, **common).fit(X), X),
        "novelty": (KernelNovelty(keep_statistics=True, **common).fit(X), X),
    }


@cache
def fitted_pipelines():
    """Name, fitted pipeline and rows."""
    X, F = rows(), frame()

    def features():
        return RandomFourier(Gaussian(0.3), n_components=12, random_state=2)

    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["length", "width"]),
            ("levels", OneHotEncoder(drop="first", sparse_output=False), ["level"]),
        ],
        remainder="passthrough",
    )
    nested = Pipeline([("first", make_pipeline(QuantileTransformer(n_quantiles=7), PCA(3, random_state=0))),
                       ("idle", "passthrough"), ("features", features()), ("last", Ridge())])  # fmt: skip
    return {
        "pipeline": (make_pipeline(PowerTransformer(), features(), LogisticRegression()).fit(X, labels(X)), X),
        "pipeline-columns": (
            make_pipeline(
                columns, KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None)
            ).fit(F, target(F)),
            F,
        ),
        "pipeline-nested": (nested.fit(X, target(X)), X),
        "pipeline-ridge": (make_pipeline(MinMaxScaler(), features(), RidgeClassifier()).fit(X, X[:, 0] > 0), X),
    }


def answers(model, X):
    """The results of a model for rows, as one array of numbers."""
    if isinstance(model, Pipeline):
        return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    if isinstance(model, KernelCCA):
        return np.hstack(model.transform(X, np.column_stack([target(X), X[:, 2] ** 2])))
    if isinstance(model, KernelClassifier | KernelNovelty):
        return model.decision_function(X)
    values = model.predict(X) if isinstance(model, KernelRegressor) else model.transform(X)
    return values.toarray() if sp.issparse(values) else np.asarray(values)
