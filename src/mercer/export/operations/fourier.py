"""Fourier transforms of real rows, in float64: runtimes lose digits of float32 if the length is not a power of two."""

from __future__ import annotations

import numpy as np

from .. import namespace as xp
from ..complex_symbol import ComplexSymbol
from ..symbol import ROWS, Symbol


def rfft(X: Symbol) -> ComplexSymbol:
    """Return the half spectrum of real rows."""
    half = X.shape[1] // 2 + 1
    found = X.astype(np.float64)[:, :, None].node("DFT", shape=(ROWS, half, 2), axis=1, onesided=1)
    return ComplexSymbol(found[:, :, 0].astype(X.dtype), found[:, :, 1].astype(X.dtype))


def irfft(spectrum: ComplexSymbol, width: int) -> Symbol:
    """Return the real rows with this half spectrum, whose other half is its mirror image.

    They are the real part of a forward transform of the conjugate: if the length is not a power of two, onnxruntime
    computes inverse transforms in single precision only.
    """
    mirrored = np.arange((width - 1) // 2, 0, -1)
    parts = []
    for part, sign in ((spectrum.real, 1.0), (spectrum.imaginary, -1.0)):
        precise = part.astype(np.float64)
        whole = xp.concat([precise, sign * xp.take(precise, mirrored, axis=1)], axis=1)
        parts.append((sign * whole)[:, :, None])
    # The imaginary parts of entry 0 and of the middle, which are 0 up to rounding, do not affect the real result.
    found = xp.concat(parts, axis=2).node("DFT", shape=(ROWS, width, 2), axis=1)
    return (found[:, :, 0] / float(width)).astype(spectrum.dtype)
