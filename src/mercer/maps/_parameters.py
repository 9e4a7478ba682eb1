"""Kernels as parameters of estimators."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from ..kernels import Kernel


class KernelParameters(BaseEstimator):
    """An estimator whose kernel parameters answer to ``set_params(kernel__gamma=...)`` although kernels are frozen."""

    def set_params(self, **params: Any) -> Self:
        current = self.get_params(deep=False)
        inner: dict[str, dict[str, Any]] = {}
        own: dict[str, Any] = {}
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if tail and isinstance(params.get(head, current.get(head)), Kernel):
                inner.setdefault(head, {})[tail] = value
            else:
                own[name] = value
        swapped = {head: params.get(head, current[head]).replace(**fields) for head, fields in inner.items()}
        super().set_params(**(own | swapped))
        return self
