"""Exported models in onnxruntime, compared with the original models."""

from __future__ import annotations

import numpy as np

from mercer import export


def run(model, X, dtype="float32"):
    """Return the outputs of onnxruntime for rows, by name."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        export.onnx(model, dtype=dtype).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(X, dtype=dtype)}), strict=True))


TOLERANCES = {"float32": 1e-5, "float64": 1e-11}
"""How far apart answers may be, as a share of the largest."""


def assert_agree(found, expected, dtype):
    """Check that shapes and types are equal, numbers equal up to rounding, and other entries exactly equal."""
    assert found.shape == expected.shape
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    assert found.dtype == expected.dtype
    assert np.isfinite(expected).all()
    assert np.abs(found - expected).max() <= TOLERANCES[dtype] * np.abs(expected).max()
