"""A graph of ONNX operators while it is built."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

OPSET = 18
"""The version of the operators: the first whose maxima and minima take their axes as an input."""
IR_VERSION = 9
"""The version of the file, which runtimes since the middle of 2023 read."""


class Graph:
    """Nodes and constants, in the order in which they were requested.

    Equal nodes of equal inputs are the same node, and equal constants the same constant.
    """

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._tensors: list[Any] = []
        self._known: dict[tuple[Any, ...], str] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def add_input(self, name: str, dtype: DTypeLike, shape: tuple[Any, ...]) -> None:
        """Declare an input; text stands for a size that is not fixed."""
        self._inputs.append(_value(name, dtype, shape))

    def add_output(self, name: str, source: str, dtype: DTypeLike, shape: tuple[Any, ...]) -> None:
        """Declare an output that has the value of a node."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [source], [name]))
        self._outputs.append(_value(name, dtype, shape))

    def constant(self, values: NDArray[Any]) -> str:
        """Return the name of a constant."""
        from onnx import numpy_helper

        values = np.ascontiguousarray(values) if values.ndim else values
        content = tuple(values.ravel().tolist()) if values.dtype == object else values.tobytes()
        key = values.dtype.str, values.shape, content
        if key not in self._constants:
            name = self._constants[key] = f"c{len(self._constants)}"
            self._tensors.append(numpy_helper.from_array(values, name))
        return self._constants[key]

    def node(self, operator: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> str:
        """Return the name of an operator's output for these inputs, or of the first of several outputs."""
        from onnx import helper

        key = operator, inputs, tuple(sorted(attributes.items()))
        if key not in self._known:
            name = self._known[key] = f"n{len(self._known)}"
            names = [name, *(f"{name}_{place}" for place in range(1, n_outputs))]
            self._nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return self._known[key]

    def _needed(self) -> list[Any]:
        """Return the nodes on which the outputs depend."""
        wanted, kept = {output.name for output in self._outputs}, []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        return kept[::-1]

    def model(self, name: str, facts: dict[str, str]) -> Any:
        """Return the complete ONNX model, which is checked; ``facts`` become its metadata."""
        from onnx import checker, helper

        nodes = self._needed()
        used = {source for node in nodes for source in node.input}
        tensors = [tensor for tensor in self._tensors if tensor.name in used]
        graph = helper.make_graph(nodes, name, self._inputs, self._outputs, tensors)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="mercer"
        )
        helper.set_model_props(made, facts)
        checker.check_model(made)
        return made


def _value(name: str, dtype: DTypeLike, shape: tuple[Any, ...]) -> Any:
    from onnx import TensorProto, helper

    dtype = np.dtype(dtype)
    kind = TensorProto.STRING if dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(dtype)
    return helper.make_tensor_value_info(name, kind, shape)
