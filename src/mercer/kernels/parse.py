"""Kernels written as text, for configuration files and the command line."""

from __future__ import annotations

import difflib
import inspect
import operator
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from .._defaults import BANDWIDTH
from . import algebra, composition
from .additive import AdditiveChi2
from .bandwidth import LearnedBandwidth
from .base import Kernel, operation
from .gaussian import Gaussian
from .polynomial import Polynomial

MAX_LENGTH = 100_000
MAX_DEPTH = 50
MAX_OPERATIONS = 100  # a chain of sums is a tree as deep as the chain is long, and every method recurses through it
SHOWN = 60

_TOKEN = re.compile(
    r"""(?P<number> -? (?: (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? | (?i: inf\b ) ) )
      | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
      | (?P<string> '[^']*' | "[^"]*" )
      | (?P<symbol> [+*.,=()\[\]] )
      | (?P<stray> \S )""",
    re.VERBOSE,
)


SKLEARN_REFUSED = {
    "sigmoid": "tanh(gamma <x, y> + coef0) is not positive definite, so it is not the inner product of any features; "
    "did you mean 'polynomial' or 'gaussian'?",
    "cosine": "cosine is <x, y> between rows of norm 1; did you mean 'linear' with scale='unit' of a learner, or after "
    "a Normalizer?",
    "precomputed": "'precomputed' cannot be part of an expression: give it alone, to Nystrom or to a learner with that "
    "map",
}
"""Kernel names of scikit-learn that have no meaning here, with advice on what to use instead."""


def chi2(gamma: float = 1.0) -> Kernel:
    """Return exp(-gamma sum (x_i - y_i)^2 / (x_i + y_i)), which scikit-learn calls chi2."""
    return Gaussian(gamma).of_distance(AdditiveChi2())


class KernelSyntaxError(ValueError):
    """Raised for text that does not describe a kernel; the message points at the mistake."""


class _Part(NamedTuple):
    """A piece of the text with its meaning: the token itself or, once it is understood, a kernel or a number."""

    value: Any
    start: int
    stop: int
    kind: str = ""


def parse(text: str) -> Kernel:
    """Read the kernel that a text describes, without evaluating any Python.

    This is the inverse of ``repr``. Operators, ``.of(...)`` and ``.of_distance(...)`` bind as in Python, arguments are
    those of the constructors, and kernel names may be written in lower case with underscores.

    Parameters
    ----------
    text : str
        The description of a kernel, such as ``"0.7 * gaussian(0.5) + linear"``.

    Returns
    -------
    Kernel
        The kernel.

    Raises
    ------
    KernelSyntaxError
        If the text does not describe a kernel. The message points at the mistake.

    Notes
    -----
    A name with parentheses calls the constructor: ``"gaussian()"`` is ``Gaussian()``, with its default gamma of 1. A
    bare name leaves the bandwidth to be learned from the rows: ``"gaussian"`` is ``Gaussian("scale")``.

    The names that scikit-learn uses have the same meaning here: ``"rbf"`` and ``"poly"`` (also ``"polynomial"``) are
    the kernels of ``SVC`` with its defaults, ``Gaussian("scale")`` and ``Polynomial(3, gamma="scale")``; ``"chi2"`` is
    ``Gaussian(1.0).of_distance(AdditiveChi2())``; ``"additive_chi2"`` is the kernel that ``AdditiveChi2Sampler``
    approximates. There is no ``"sigmoid"``, which is not positive definite, and no ``"cosine"``, which is ``"linear"``
    between rows of norm 1.

    Text from an untrusted source is safe to read: its length and nesting are limited, and only kernels are created
    from it. A kernel of very high degree may still be expensive to map.

    Examples
    --------
    >>> parse("0.7*gaussian(0.5) + polynomial(2, coef0=1).of(vovk_real(3))")
    0.7 * Gaussian(gamma=0.5) + Polynomial(degree=2, gamma=1.0, coef0=1).of(VovkReal(degree=3))
    >>> parse("rbf + 0.1 * linear")
    Gaussian(gamma='scale') + 0.1 * Linear()
    """
    if not isinstance(text, str):
        raise TypeError(f"a kernel is read from a string, found {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise _error(text, _Part("", MAX_LENGTH, MAX_LENGTH), f"a kernel has at most {MAX_LENGTH} characters")
    return _Parser(text).whole()


@operation
def as_kernel(kernel: object, name: str = "kernel") -> Kernel:
    """Return a kernel unchanged, or parse its description; ``name`` is the argument's name, for messages."""
    if isinstance(kernel, str):
        return parse(kernel)
    if not isinstance(kernel, Kernel):
        hint = f"; write {kernel.__name__}()" if isinstance(kernel, type) else ""
        raise TypeError(
            f"{name} must be a kernel of mercer.kernels, or text that describes one, found {kernel!r}{hint}"
        )
    return kernel


def _error(text: str, part: _Part, reason: str) -> KernelSyntaxError:
    """Make an error that shows the text around the mistake, with carets below the mistake itself."""
    first, last = max(0, part.start - SHOWN), min(len(text), part.start + 2 * SHOWN)
    before, after = "..." if first > 0 else "", "..." if last < len(text) else ""
    shown = "".join(character if character.isprintable() else " " for character in text[first:last])
    carets = " " * (len(before) + part.start - first) + "^" * max(1, min(part.stop, last) - part.start)
    return KernelSyntaxError(f"{reason}\n  {before}{shown}{after}\n  {carets}")


def _key(name: str) -> str:
    return name.replace("_", "").lower()


def _leaves() -> dict[str, Callable[..., Kernel]]:
    """Return what can be called by name: the exported kernels, except those written as operators.

    The names that scikit-learn uses for some of them are included.
    """
    package = sys.modules[__package__]
    exported = [getattr(package, name) for name in package.__all__]
    kernels = [cls for cls in exported if inspect.isclass(cls) and issubclass(cls, Kernel)]
    operators = (algebra.__name__, composition.__name__)
    leaves = [cls for cls in kernels if not inspect.isabstract(cls) and cls.__module__ not in operators]
    return {_key(cls.__name__): cls for cls in leaves} | {"rbf": Gaussian, "poly": Polynomial, "chi2": chi2}


def _with_learned_bandwidth(make: Callable[..., Kernel]) -> Kernel:
    """Return the kernel that a name without parentheses denotes."""
    if make is Polynomial:
        return Polynomial(3, gamma=BANDWIDTH)  # as in SVC
    fields: dict[str, Any] = {}
    if isinstance(make, type) and issubclass(make, LearnedBandwidth):
        fields[make.bandwidth_field] = BANDWIDTH
    return make(**fields)


class _Parser:
    """A recursive-descent parser with one method per rule, each of which consumes the tokens it understands.

    expression := term ("+" term)*
    term       := factor ("*" factor)*
    factor     := atom ((".of(" | ".of_distance(") expression ")")*
    atom       := number | "(" expression ")" | name | name "(" arguments ")"
    arguments  := value, ..., name "=" value, ...
    value      := number | string | "(" number, ... ")" | "[" number, ... "]"
    """

    def __init__(self, text: str):
        self._text = text
        self._tokens = [_Part(match.group(), *match.span(), str(match.lastgroup)) for match in _TOKEN.finditer(text)]
        self._tokens.append(_Part("", len(text.rstrip()), len(text.rstrip()), "end"))
        self._place = self._depth = self._operations = 0
        self._kernels = _leaves()

    @property
    def _next(self) -> _Part:
        return self._tokens[self._place]

    def _until_here(self, start: int, value: Any = None) -> _Part:
        return _Part(value, start, self._tokens[self._place - 1].stop)

    def _accept(self, text: str) -> bool:
        found = self._next.value == text
        self._place += found
        return found

    def _expect(self, text: str, expected: str) -> None:
        self._accept(text) or self._fail(expected)

    def _fail(self, expected: str) -> NoReturn:
        found = repr(self._next.value[:SHOWN]) if self._next.value else "the end"
        hints = {"<": "; a kernel made of a Python function cannot be read back, give its coefficients as a tuple"}
        hints |= dict.fromkeys("'\"", ", a string without its closing quote")
        raise _error(self._text, self._next, f"expected {expected}, found {found}{hints.get(self._next.value, '')}")

    def _unknown(self, name: _Part, what: str, known: list[str]) -> NoReturn:
        near = difflib.get_close_matches(_key(name.value), [_key(candidate) for candidate in known], n=1)
        hints = [f"did you mean {candidate!r}?" for candidate in known if _key(candidate) in near]
        hints.append(f"expected one of {', '.join(known)}" if known else "it takes none")
        raise _error(self._text, name, f"{what} {name.value[:SHOWN]!r}; {hints[0]}")

    def _make(self, part: _Part, make: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> _Part:
        """Call ``make``; if it raises, make the error point at this part of the text."""
        try:
            return part._replace(value=make(*arguments, **keywords))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise _error(self._text, part, str(error)) from error

    def _kernel(self, piece: _Part) -> Kernel:
        if isinstance(piece.value, Kernel):
            return piece.value
        raise _error(self._text, piece, "expected a kernel, found a number")

    def _operation(self, text: str) -> bool:
        """Consume this operator if it comes next."""
        self._operations += self._next.value == text
        if self._operations > MAX_OPERATIONS:
            raise _error(self._text, self._next, f"a kernel is made with at most {MAX_OPERATIONS} operations")
        return self._accept(text)

    def whole(self) -> Kernel:
        piece = self._expression()
        if self._next.kind != "end":
            self._fail("'+', '*' or the end")
        return self._kernel(piece)

    def _expression(self) -> _Part:
        left = self._term()
        while self._operation("+"):
            right = self._term()
            left = self._until_here(left.start, self._kernel(left) + self._kernel(right))
        return left

    def _term(self) -> _Part:
        left = self._factor()
        while self._operation("*"):
            right = self._factor()
            number = left if isinstance(right.value, Kernel) else right  # the part at fault in a multiple
            left = self._until_here(left.start, self._make(number, operator.mul, left.value, right.value).value)
        return left

    def _factor(self) -> _Part:
        piece = self._atom()
        while self._operation("."):
            outer = self._kernel(piece)
            method = next((name for name in ("of", "of_distance") if self._accept(name)), None)
            method or self._fail("'of(kernel)' or 'of_distance(kernel)' after '.'")
            self._expect("(", f"'(' after {method!r}")
            inner = self._kernel(self._nested())
            piece = self._make(self._until_here(piece.start), getattr(outer, str(method)), inner)
        return piece

    def _nested(self) -> _Part:
        """Read an expression and its closing parenthesis."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _error(self._text, self._tokens[self._place - 1], f"kernels are nested at most {MAX_DEPTH} deep")
        inner = self._expression()
        self._expect(")", "'+', '*' or ')'")
        self._depth -= 1
        return inner

    def _atom(self) -> _Part:
        token = self._next
        if self._accept("("):
            return self._until_here(token.start, self._nested().value)
        if token.kind == "number":
            return self._number()
        return self._call() if token.kind == "name" else self._fail("a kernel, a number or '('")

    def _call(self) -> _Part:
        name = self._next
        make = self._kernels.get(_key(name.value))
        if make is None:
            self._refuse(name)
        self._place += 1
        signature, positional, keywords = inspect.signature(make), list[Any](), dict[str, Any]()
        if not self._accept("("):
            needed = [one for one in signature.parameters.values() if one.default is one.empty]
            if needed:
                raise _error(self._text, name, f"{name.value} needs arguments: {name.value}({needed[0].name}=...)")
            return self._make(name, _with_learned_bandwidth, make)
        self._items(")", lambda: self._argument(make.__name__, list(signature.parameters), positional, keywords))
        call = self._until_here(name.start)
        self._make(call, signature.bind, *positional, **keywords)  # its message about wrong arguments is clearer
        return self._make(call, make, *positional, **keywords)

    def _refuse(self, name: _Part) -> NoReturn:
        """Raise an error saying that no kernel has this name, with a reason if scikit-learn has one."""
        reason = SKLEARN_REFUSED.get(_key(name.value))
        if reason is not None:
            raise _error(self._text, name, reason)
        named = self._kernels.items()
        known = [make.__name__ if _key(make.__name__) == key else key for key, make in named]
        self._unknown(name, "unknown kernel", known)

    def _items(self, closing: str, read: Callable[[], None]) -> bool:
        """Read items separated by commas up to the closing bracket; return whether there was a comma."""
        start = self._place
        while not self._accept(closing):
            read()
            if self._next.value != closing:
                self._expect(",", f"',' or '{closing}'")
        return any(token.value == "," for token in self._tokens[start : self._place])

    def _argument(self, owner: str, known: list[str], positional: list[Any], keywords: dict[str, Any]) -> None:
        name = self._next
        if name.kind == "name" and self._tokens[self._place + 1].value == "=":
            if name.value not in known:
                self._unknown(name, f"{owner} has no parameter", known)
            if name.value in keywords:
                raise _error(self._text, name, f"{name.value} is given twice")
            self._place += 2
            keywords[name.value] = self._value()
        elif keywords:
            self._fail("name=value, since positional arguments come first")
        else:
            positional.append(self._value())

    def _value(self) -> Any:
        token = self._next
        if token.kind == "string":
            self._place += 1
            return token.value[1:-1]
        if self._accept("(") or self._accept("["):
            values: list[int | float] = []
            comma = self._items(")" if token.value == "(" else "]", lambda: values.append(self._number().value))
            # Without a trailing comma, a single number in parentheses is a number, as in Python.
            return values[0] if token.value == "(" and values and not comma else tuple(values)
        return self._number("a number, a string or a tuple of numbers").value

    def _number(self, expected: str = "a number") -> _Part:
        token = self._next
        if token.kind != "number":
            self._fail(expected)
        self._place += 1
        return self._make(token, int if token.value.lstrip("-").isdecimal() else float, token.value)
