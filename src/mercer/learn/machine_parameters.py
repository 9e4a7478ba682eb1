"""The parameters of kernel machines, whose kernel may be left out and whose map may be a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from ..maps import FeatureMap
from ..maps.kernel_parameters import KernelParameters
from .map_choice import is_open


def map_beside(kernel: str) -> str:
    """The name of the parameter that has the map of this kernel: "map" for "kernel", "map_y" for "kernel_y"."""
    return kernel.replace("kernel", "map")


class MachineParameters(KernelParameters):
    """An estimator with a map beside every kernel."""

    def _kernel_of(self, name: str, params: Mapping[str, Any]) -> Kernel | None:
        left_out = name in self._kernel_names and (params.get(name) is None or is_open(params[name]))
        if left_out:
            return None if isinstance(params.get(map_beside(name)), FeatureMap) else GAUSSIAN  # a map brings its own
        return super()._kernel_of(name, params)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            ``kernel__gamma`` replaces the kernel by one with this gamma, also where it is text or left out, and
            ``kernel__left__gamma`` reaches into a sum. ``map__kernel__gamma`` is for the kernel of a FeatureMap; a map
            that is given by its name has the kernel of the learner, which it then stands for.

        Returns
        -------
        self : the learner
        """
        given = self.get_params(deep=False) | params
        shared = {map_beside(name): name for name in self._kernel_names if isinstance(given[map_beside(name)], str)}

        def own(name: str) -> str:
            head, _, tail = name.partition("__")
            below = head in shared and tail.partition("__")[0] == "kernel"
            return shared[head] + tail.removeprefix("kernel") if below else name

        return super().set_params(**{own(name): value for name, value in params.items()})
