"""The parameters of kernel machines, whose kernel is optional and whose map may be a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from ..maps import FeatureMap
from ..maps.kernel_parameters import KernelParameters
from .map_choice import is_open


def map_beside(kernel: str) -> str:
    """Return the name of the parameter with the map of this kernel: "map" for "kernel", "map_y" for "kernel_y"."""
    return kernel.replace("kernel", "map")


class MachineParameters(KernelParameters):
    """An estimator with a map for every kernel."""

    def _kernel_of(self, name: str, params: Mapping[str, Any]) -> Kernel | None:
        left_out = name in self._kernel_names and (params.get(name) is None or is_open(params[name]))
        if left_out:
            return None if isinstance(params.get(map_beside(name)), FeatureMap) else GAUSSIAN  # a map has its own
        return super()._kernel_of(name, params)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : object
            ``kernel__gamma`` replaces the kernel by one with this gamma, even if the kernel is text or not given, and
            ``kernel__left__gamma`` reaches into a sum. ``map__kernel__gamma`` sets the kernel of a FeatureMap; a map
            that is given by its name has the kernel of the learner, to which this then refers.

        Returns
        -------
        MachineParameters
            The learner itself.
        """
        given = self.get_params(deep=False) | params
        shared = {map_beside(name): name for name in self._kernel_names if isinstance(given[map_beside(name)], str)}

        def own(name: str) -> str:
            head, _, tail = name.partition("__")
            below = head in shared and tail.partition("__")[0] == "kernel"
            return shared[head] + tail.removeprefix("kernel") if below else name

        return super().set_params(**{own(name): value for name, value in params.items()})
