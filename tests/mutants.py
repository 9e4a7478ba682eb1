"""Break the code on purpose and see that the tests notice.

Each mutant is one small fault, made in a temporary copy of the package and run against the tests that should catch it:
``python tests/mutants.py [part of a name]``. Exits 1 when fewer than nine in ten are caught.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LAWS, EXACT, PRECISION = "tests/maps/test_laws.py", "tests/maps/test_exactness.py", "tests/maps/test_precision.py"
BAD_INPUT, SKLEARN, SPECTRAL = (
    "tests/maps/test_bad_input.py",
    "tests/maps/test_sklearn.py",
    "tests/kernels/test_spectral.py",
)
GOLDEN, RANDOM = "tests/maps/test_golden.py", "tests/test_random.py"
NEEDED = 0.9


class Mutant(NamedTuple):
    """One fault: in this file, this text becomes that; these tests (a file and a ``-k`` expression) should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str
    chosen: str = ""


MUTANTS = [
    Mutant(
        "spectrum 1 % too large",
        "maps/tensor_sketch.py",
        "/ math.sqrt(width)",
        "/ math.sqrt(width) * 1.01",
        EXACT,
        "one_hot and TensorSketch",
    ),
    Mutant(
        "spectrum without root two", "maps/tensor_sketch.py", "width) * math.sqrt(2.0)", "width)", EXACT, "both_outputs"
    ),
    Mutant(
        "one sign vector for all degrees",
        "maps/tensor_sketch.py",
        'rng.child("signs").signs(shape)',
        'np.repeat(rng.child("signs").signs((1, n_features)), degree, axis=0)',
        LAWS,
        "mean and TensorSketch",
    ),
    Mutant(
        "one bucket vector for all degrees",
        "maps/tensor_sketch.py",
        'rng.child("buckets").buckets(self.n_components_, shape)',
        'np.repeat(rng.child("buckets").buckets(self.n_components_, (1, n_features)), degree, axis=0)',
        LAWS,
        "formula and TensorSketch",
    ),
    Mutant(
        "variance forgets the real spectral lines",
        "maps/tensor_sketch.py",
        "e * R - (2 * D - e)",
        "e * A - (2 * D - e)",
        EXACT,
        "enumeration and TensorSketch",
    ),
    Mutant(
        "real in place of complex signs",
        "maps/hadamard_sketch.py",
        'rng.child("turns").quarter_turns(shape)',
        '(1 - rng.child("turns").signs(shape))',
        LAWS,
        "mean and HadamardSketch",
    ),
    Mutant(
        "low hash bits not first",
        "_random.py",
        "(words & np.uint64((1 << bits) - 1))",
        "(words >> np.uint64(64 - bits) if bits else words * np.uint64(0))",
        PRECISION,
        "starts_with and HadamardSketch",
    ),
    Mutant(
        "complex features off by one in D",
        "maps/_complex.py",
        "math.sqrt(2.0 / width)",
        "math.sqrt(2.0 / (width + 1))",
        EXACT,
        "one_hot and ComplexSketch",
    ),
    Mutant(
        "complex product with a wrong sign",
        "maps/_complex.py",
        "a * c - b * d",
        "a * c + b * d",
        LAWS,
        "mean and ComplexSketch",
    ),
    Mutant(
        "odd width counted as even",
        "maps/_complex.py",
        "(moments.B**p + moments.c**p) / 2.0",
        "moments.B**p",
        EXACT,
        "enumeration and Hadamard",
    ),
    Mutant(
        "one permutation for all degrees",
        "maps/complex_sketch.py",
        'rng.child("outputs", block, s)',
        'rng.child("outputs", block, 0)',
        LAWS,
        "formula and ComplexSketch",
    ),
    Mutant(
        "one sign vector for all blocks",
        "maps/complex_sketch.py",
        'rng.child("turns", block)',
        'rng.child("turns", 0)',
        LAWS,
        "formula and ComplexSketch",
    ),
    Mutant(
        "odd last part left out of its pairs",
        "maps/complex_sketch.py",
        "+ 2 * odd * rest",
        "",
        EXACT,
        "enumeration and srht",
    ),
    Mutant(
        "correlation of a block off by one",
        "maps/complex_sketch.py",
        "padded_width(n_features) - 1, 1)",
        "padded_width(n_features), 1)",
        EXACT,
        "enumeration and srht",
    ),
    Mutant(
        "fourth moment of real signs",
        "maps/_moments.py",
        "- 2.0 * self.c",
        "- self.c",
        EXACT,
        "enumeration and (TensorSketch or Maclaurin)",
    ),
    Mutant(
        "offset without its root",
        "maps/_polynomial.py",
        "math.sqrt(kernel.coef0)",
        "kernel.coef0",
        LAWS,
        "mean and TensorSketch",
    ),
    Mutant(
        "gamma without its root",
        "maps/_polynomial.py",
        "math.sqrt(float(kernel.gamma))",
        "float(kernel.gamma)",
        LAWS,
        "mean and ComplexSketch",
    ),
    Mutant(
        "weight without its root",
        "maps/_polynomial.py",
        "math.sqrt(form.weight)",
        "form.weight",
        LAWS,
        "mean and TensorSketch",
    ),
    Mutant(
        "the paper's law at another base",
        "maps/_products.py",
        "return law / law.sum() if law.any() else law",
        "return law / base",
        LAWS,
        "mean and RandomMaclaurin and base",
    ),
    Mutant(
        "a missing coefficient",
        "maps/_products.py",
        "np.sqrt(series[degrees] / law[degrees])",
        "np.sqrt((series[degrees] > 0) / law[degrees])",
        LAWS,
        "mean and RandomMaclaurin",
    ),
    Mutant(
        "fixed counts not divided by",
        "maps/_products.py",
        "series[degrees] / counts[degrees]",
        "series[degrees]",
        LAWS,
        "mean and max_degree",
    ),
    Mutant(
        "the same signs for every factor",
        "maps/_products.py",
        "factor(starts[owners] + place)",
        "factor(starts[owners])",
        LAWS,
        "mean and RandomMaclaurin",
    ),
    Mutant(
        "exact terms without their root",
        "maps/random_maclaurin.py",
        "math.sqrt(series[degree])",
        "series[degree]",
        EXACT,
        "exact_terms",
    ),
    Mutant(
        "exact terms drawn again",
        "maps/random_maclaurin.py",
        "series[list(self.exact_degrees_)] = 0.0",
        "pass",
        LAWS,
        "mean and exact_terms",
    ),
    Mutant("odd Fourier width without its offset", "maps/_fourier.py", " + params.offset", "", LAWS, "mean and Matern"),
    Mutant(
        "composition without its amplitude",
        "maps/random_maclaurin.py",
        "math.sqrt(self._fourier_kernel().amplitude)",
        "1.0",
        LAWS,
        "mean and Gaussian",
    ),
    Mutant(
        "power of the mean's coordinate",
        "maps/_splits.py",
        "** (self.form.degree - degree)",
        "** self.form.degree",
        EXACT,
        "taylor",
    ),
    Mutant(
        "missing factor 2 of the Gaussian",
        "maps/_splits.py",
        "2.0 if self.gaussian else 1.0",
        "1.0",
        LAWS,
        "unbiased or (mean and TaylorSketch and Gaussian)",
    ),
    Mutant(
        "half of the centre's norm",
        "maps/_splits.py",
        "xp.sum(vector * vector) / 2.0",
        "xp.sum(vector * vector)",
        "tests/maps/test_compositions.py",
        "expected_error",
    ),
    Mutant(
        "Taylor variance without the square",
        "maps/taylor_sketch.py",
        "terms.weight(n) ** 2",
        "terms.weight(n)",
        LAWS,
        "formula and TaylorSketch",
    ),
    Mutant(
        "allotment ignores what it omits",
        "maps/_allotment.py",
        "error = float(best[units]) + omitted(count)",
        "error = float(best[units])",
        "tests/maps/test_compositions.py",
        "",
    ),
    Mutant(
        "projection 1 % too large",
        "maps/compressed.py",
        "axis=1) / math.sqrt(self.n_components_)",
        "axis=1) / math.sqrt(self.n_components_) * 1.01",
        EXACT,
        "full_width",
    ),
    Mutant(
        "projection with replacement",
        "maps/compressed.py",
        "permutation(padded_width(width))[: self.n_components_]",
        "buckets(padded_width(width), (self.n_components_,))",
        EXACT,
        "full_width",
    ),
    Mutant("fold forgets the signs", "maps/compressed.py", "* params.signs / math", "/ math", EXACT, "fold"),
    Mutant(
        "every node with the same hashes",
        "maps/tree_sketch.py",
        'rng.child("node", len(nodes))',
        'rng.child("node", 0)',
        LAWS,
        "mean and TreeSketch",
    ),
    Mutant(
        "count sketch without signs",
        "_array.py",
        "(signs.astype(X.dtype), buckets",
        "(np.ones(len(signs), dtype=X.dtype), buckets",
        EXACT,
        "definition",
    ),
    Mutant(
        "reference transform with a wrong sign",
        "_array.py",
        "upper - lower",
        "lower - upper",
        PRECISION,
        "reference_transform",
    ),
    Mutant(
        "two complex signs in place of four",
        "_random.py",
        "bits[0::2] + 2 * bits[1::2]",
        "3 * bits[0::2]",
        RANDOM,
        "complex_signs",
    ),
    Mutant("other key derivation", "_random.py", 'digest(), "little"', 'digest(), "big"', GOLDEN, ""),
    Mutant("uniforms on half the interval", "_random.py", "2.0**-52", "2.0**-53", RANDOM, "laws"),
    Mutant(
        "float32 becomes float64",
        "maps/_base.py",
        "self.n_components_), dtype=X.dtype)",
        "self.n_components_))",
        PRECISION,
        "float32 and TensorSketch",
    ),
    Mutant(
        "domain not checked in transform",
        "maps/_base.py",
        "self.kernel_.check_rows(X)\n        params",
        "params",
        BAD_INPUT,
        "radius",
    ),
    Mutant(
        "overflow goes unnoticed", "maps/_base.py", "if not bool(finite.all()):", "if False:", BAD_INPUT, "overflow"
    ),
    Mutant("kernel parameters dropped in silence", "maps/_base.py", ".replace(**fields) for", " for", SKLEARN, "grid"),
    Mutant(
        "BLAS threads not restored",
        "_tiles.py",
        "if self._inside == 0 and",
        "if self._inside < 0 and",
        "tests/test_tiles.py",
        "pinned or error_in",
    ),
    Mutant(
        "frequencies without factor 2",
        "kernels/gaussian.py",
        "np.sqrt(2.0 * float(self.gamma))",
        "np.sqrt(float(self.gamma))",
        SPECTRAL,
        "",
    ),
    Mutant(
        "mixture of equal parts", "kernels/algebra.py", "< self.left.amplitude / self.amplitude", "< 0.5", SPECTRAL, ""
    ),
    Mutant(
        "median without factor 2",
        "kernels/gaussian.py",
        "0.5 / median_squared_distance",
        "1.0 / median_squared_distance",
        "tests/kernels/test_bandwidth.py",
        "",
    ),
]


def copy_to(folder: Path) -> None:
    """The package, its compiled library and the tests, without what the tests do not read."""
    import mercer

    shutil.copytree(ROOT / "src" / "mercer", folder / "mercer", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for place in mercer.__path__:
        for library in Path(place).glob("libmercer*"):
            shutil.copy(library, folder / "mercer")


def survives(mutant: Mutant) -> bool:
    """Whether the tests still pass with the fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        path = folder / "mercer" / mutant.file
        source = path.read_text()
        if mutant.old not in source:
            raise SystemExit(f"mutant {mutant.name!r}: {mutant.old!r} is no longer in {mutant.file}")
        path.write_text(source.replace(mutant.old, mutant.new))
        # -S hides the editable install, which would come first; the dependencies are then found by path.
        paths = os.pathsep.join([name, sysconfig.get_path("purelib")])
        environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "SCIPY_ARRAY_API": "1"}
        command = [sys.executable, "-S", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", mutant.tests]
        command += ["-m", "not full", *(["-k", mutant.chosen] if mutant.chosen else [])]
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if result.returncode not in (0, 1):
            raise SystemExit(f"mutant {mutant.name!r}: the tests did not run\n{result.stdout}{result.stderr}")
        return result.returncode == 0


def main() -> int:
    wanted = [mutant for mutant in MUTANTS if all(word in mutant.name for word in sys.argv[1:])]
    print(f"{len(wanted)} mutants", flush=True)
    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(survives, wanted)
        survivors = []
        for mutant, alive in zip(wanted, outcomes, strict=True):
            print(f"{'SURVIVED' if alive else 'caught':8}  {mutant.name}", flush=True)
            survivors += [mutant.name] if alive else []
    caught = len(wanted) - len(survivors)
    print(f"{caught} of {len(wanted)} mutants caught")
    return 0 if caught >= NEEDED * len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
