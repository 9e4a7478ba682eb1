"""Kernels as parameters of estimators."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from ..kernels import Kernel, KernelSyntaxError, parse


class KernelParameters(BaseEstimator):
    """Base class of estimators that accept ``set_params(kernel__gamma=...)`` although kernels are frozen.

    This also works if the kernel is given as text or left at its default.
    """

    _kernel_names: ClassVar[tuple[str, ...]] = ("kernel",)
    """The names of the parameters that hold kernels."""

    def _kernel_of(self, name: str, params: Mapping[str, Any]) -> Kernel | None:
        """Return the kernel that one of these parameters denotes; None if it has no fields, like a function."""
        value = params.get(name)
        if name in self._kernel_names and isinstance(value, str) and value != "precomputed":
            return parse(value)
        return value if isinstance(value, Kernel) else None

    @property
    def known_kernel(self) -> Kernel | None:
        """The kernel as far as it is known before ``fit``; None if it is not a kernel, which ``fit`` will refuse."""
        with suppress(KernelSyntaxError):
            # Needed in every predict: inspecting signatures, as get_params does, would take too long.
            return self._kernel_of("kernel", vars(self))
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of inner maps and the fields of kernels, such as ``kernel__gamma``, even
            if the kernel is given as text or left at its default.

        Returns
        -------
        dict
            The parameters, exactly as they were given.
        """
        params: dict[str, Any] = super().get_params(deep)
        if deep:
            for name in self._kernel_names:
                with suppress(KernelSyntaxError):  # fit refuses text that is not a kernel
                    kernel = self._kernel_of(name, params)
                    fields = {} if kernel is None else kernel.get_params()
                    params |= {f"{name}__{field}": value for field, value in fields.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            The new values. ``kernel__gamma`` replaces the kernel by one with this gamma, and ``kernel__left__gamma``
            reaches into a sum.

        Returns
        -------
        KernelParameters
            The estimator itself.
        """
        given = self.get_params(deep=False) | {name: value for name, value in params.items() if "__" not in name}
        inner: dict[str, dict[str, Any]] = {}
        own: dict[str, Any] = {}
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if not tail or head not in given or hasattr(given[head], "set_params"):
                own[name] = value
            else:
                inner.setdefault(head, {})[tail] = value
        swapped = {head: self._with_fields(head, given, fields) for head, fields in inner.items()}
        super().set_params(**(own | swapped))
        return self

    def _with_fields(self, name: str, given: Mapping[str, Any], fields: dict[str, Any]) -> Kernel:
        """Return the kernel of this name with some fields replaced."""
        kernel = self._kernel_of(name, given)
        if kernel is None:
            raise ValueError(
                f"{name}__{next(iter(fields))} cannot be set: {name} of {type(self).__name__} is {given[name]!r}, "
                "which has no parameters"
            )
        return kernel.replace(**fields)
