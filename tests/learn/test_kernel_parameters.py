"""Fields of a learner's kernel as parameters, however the kernel is given: as an object, as text, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import Compressed, Nystrom, OrthogonalFourier
from mercer.kernels import Gaussian, KernelSyntaxError, Laplacian, Linear
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelPCA, KernelRegressor

GAMMAS = [1e-3, 0.5, 50.0]


def problem():
    X = np.random.default_rng(0).normal(size=(120, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (
            KernelRegressor("gaussian('scale')", n_components=50, random_state=0, alpha=1.0, preparation=None),
            "kernel__gamma",
        ),
        (KernelRegressor("rbf", n_components=50, random_state=0, alpha=1.0, preparation=None), "kernel__gamma"),
        (KernelRegressor(n_components=50, random_state=0, kernel=None, alpha=1.0, preparation=None), "kernel__gamma"),
        (
            KernelRegressor("gaussian(0.1) + linear()", n_components=50, random_state=0, alpha=1.0),
            "kernel__left__gamma",
        ),
        (
            KernelRegressor(
                map=OrthogonalFourier("gaussian", n_components=50, random_state=0), alpha=1.0, preparation=None
            ),
            "map__kernel__gamma",
        ),
        (
            KernelRegressor(map=OrthogonalFourier(n_components=50, random_state=0), alpha=1.0, preparation=None),
            "map__kernel__gamma",
        ),
        (
            KernelRegressor(map=Compressed(OrthogonalFourier("rbf"), n_components=50), alpha=1.0, preparation=None),
            "map__map__kernel__gamma",
        ),
        (
            KernelRegressor("gaussian", map="nystrom", n_components=50, random_state=0, alpha=1.0, preparation=None),
            "map__kernel__gamma",
        ),
        (
            KernelRegressor(map="nystrom", n_components=50, random_state=0, kernel=None, alpha=1.0, preparation=None),
            "map__kernel__gamma",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_a_grid_reaches_the_kernel(learner, name):
    X, y = problem()
    search = GridSearchCV(learner, {name: GAMMAS}, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 6))) == 3
    assert search.best_params_[name] == GAMMAS[int(np.argmax(scores))]
    kernel = search.best_estimator_.map_.kernel_
    kernel = kernel.left if "left" in name else kernel
    assert kernel.gamma == search.best_params_[name]


def test_a_grid_over_text():
    X, y = problem()
    grid = {"kernel": ["gaussian(50)", "gaussian", Laplacian(0.5), None]}
    search = GridSearchCV(
        KernelClassifier(n_components=50, random_state=0, kernel=None, C=1.0, preparation=None), grid, cv=3
    ).fit(X, y > 0)
    assert len(set(search.cv_results_["mean_test_score"])) > 1


@pytest.mark.parametrize("learner", [KernelClassifier, KernelRegressor, KernelPCA, KernelCCA, KernelKMeans])
@pytest.mark.parametrize("kernel", ["gaussian('scale')", "gaussian", None, Gaussian("scale")])
def test_what_is_given_is_kept_and_its_fields_are_listed(learner, kernel):
    model = learner(kernel)
    for copy in (model, clone(model)):
        assert copy.get_params()["kernel"] is kernel
        assert copy.get_params()["kernel__gamma"] == "scale"
        assert "kernel__gamma" not in copy.get_params(deep=False)
    changed = clone(model).set_params(kernel__gamma=0.25)
    assert changed.kernel == Gaussian(0.25)
    assert model.kernel is kernel
    assert clone(changed).kernel == Gaussian(0.25)


def test_both_views_of_cca_have_kernels():
    model = KernelCCA("gaussian + linear", kernel_y=None)
    assert model.get_params()["kernel__left__gamma"] == model.get_params()["kernel_y__gamma"] == "scale"
    model.set_params(kernel__left__gamma=2.0, kernel_y__gamma=3.0)
    assert (model.kernel, model.kernel_y) == (Gaussian(2.0) + Linear(), Gaussian(3.0))
    model = KernelCCA(map_y="nystrom").set_params(map_y__kernel__gamma=4.0)
    assert (model.kernel, model.kernel_y) == (None, Gaussian(4.0))


@pytest.mark.parametrize("kernel", ["gaussian(0.1)", "rbf", None, Gaussian(0.1)])
def test_an_unknown_field_is_refused_with_those_that_there_are(kernel):
    with pytest.raises(ValueError, match=r"Gaussian has no parameter 'gama'; it has \['gamma'\]"):
        KernelRegressor(kernel, alpha=1.0, preparation=None).set_params(kernel__gama=1.0)
    with pytest.raises(ValueError, match=r"no parameter 'left__gamma'"):
        KernelRegressor(kernel, alpha=1.0, preparation=None).set_params(kernel__left__gamma=1.0)


def test_a_kernel_without_fields_says_so():
    with pytest.raises(ValueError, match=r"kernel__gamma cannot be set: kernel .* is 'precomputed', which has no"):
        KernelRegressor("precomputed", alpha=1.0).set_params(kernel__gamma=1.0)
    with pytest.raises(ValueError, match=r"kernel__gamma cannot be set: kernel .* is <ufunc|<function"):
        KernelRegressor(np.dot, alpha=1.0, preparation=None).set_params(kernel__gamma=1.0)
    for kernel in (None, "auto"):  # the map brings its own
        with pytest.raises(ValueError, match=rf"kernel__gamma cannot be set: kernel .* is {kernel!r}"):
            KernelRegressor(kernel, map=OrthogonalFourier(), alpha=1.0).set_params(kernel__gamma=1.0)
    with pytest.raises(ValueError, match=r"map__landmarks cannot be set: map .* is 'nystrom'"):
        KernelRegressor(map="nystrom", kernel=None, alpha=1.0, preparation=None).set_params(map__landmarks="kmeans")
    assert "kernel__gamma" not in KernelRegressor(map=OrthogonalFourier(), alpha=1.0, preparation=None).get_params()


def test_text_that_is_not_a_kernel_is_refused_where_it_is_used():
    X, y = problem()
    model = KernelRegressor("gausian", alpha=1.0, preparation=None)
    assert "gausian" in repr(model)
    assert model.get_params()["kernel"] == clone(model).kernel == "gausian"
    with pytest.raises(KernelSyntaxError, match="did you mean 'Gaussian'"):
        model.set_params(kernel__gamma=1.0)
    with pytest.raises(KernelSyntaxError, match="did you mean 'Gaussian'"):
        model.fit(X, y)


def test_names_and_fields_set_together():
    model = KernelRegressor("linear", alpha=1.0, preparation=None).set_params(kernel="gaussian", kernel__gamma=2.0)
    assert model.kernel == Gaussian(2.0)
    model.set_params(map=Nystrom("laplacian"), kernel=None, map__kernel__gamma=3.0)
    assert model.map.kernel == Laplacian(3.0)


def test_text_and_objects_give_the_same_tags():
    for kernel in ("additive_chi2", "chi2", "gaussian + intersection()"):
        assert KernelRegressor(kernel, alpha=1.0, preparation=None).__sklearn_tags__().input_tags.positive_only
        assert Nystrom(kernel).__sklearn_tags__().input_tags.positive_only
    assert not KernelRegressor("gaussian", alpha=1.0, preparation=None).__sklearn_tags__().input_tags.positive_only
