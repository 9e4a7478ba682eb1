"""``mercer export``: a model for other runtimes."""

from __future__ import annotations

import click

from .command import Command
from .destinations import check_destinations
from .model_argument import loaded, model_argument
from .output import check_writable, for_machines, show_json, size


@click.command("export", cls=Command, short_help="Write a model as ONNX, for other runtimes.")
@model_argument
@click.option(
    "--dtype", type=click.Choice(["float32", "float64"]), default="float32", show_default=True,
    help="The precision of the rows that the exported model takes.",
)  # fmt: skip
@click.option("-o", "--output", required=True, help="The file to write, whose name usually ends in .onnx.")
def command(model, dtype, output):
    """Write MODEL as an ONNX file, which onnxruntime and others run without Mercer.

    Its input X has the columns of fit, all of them numbers, in their order. mercer inspect names them.

    \b
    Example:
      mercer export flowers.mercer -o flowers.onnx
    """
    from ..export import onnx
    from ..persist import atomic_write

    check_destinations({"-o": output}, model=model)
    check_writable(output)
    exported = onnx(loaded(model), dtype=dtype)
    content = exported.SerializeToString()
    with atomic_write(output) as file:
        file.write(content)
    inputs, outputs = ([value.name for value in values] for values in (exported.graph.input, exported.graph.output))
    if for_machines():
        show_json({"model": model, "output": output, "bytes": len(content), "inputs": inputs, "outputs": outputs})
    else:
        click.echo(f"{output}: {size(len(content))}, outputs {', '.join(outputs)}")
