"""Every public object has a complete docstring as scikit-learn writes them, by the checks of numpydoc."""

import importlib
import inspect
from functools import cached_property
from types import ModuleType

import pytest
from sklearn.utils.metaestimators import available_if

validate = pytest.importorskip("numpydoc.validate").validate

MODULES = (
    "",
    "bounds",
    "choose",
    "data",
    "export",
    "gpu",
    "kernels",
    "learn",
    "maps",
    "persist",
    "report",
    "scale",
    "stats",
)
DESCRIPTORS = (property, cached_property, type(available_if(bool)(len)))
OPTIONAL = {"ES01": "an extended summary", "SA01": "See Also", "EX01": "Examples"}


def public_objects():
    """Public functions and classes by their full names, and for methods the class that defines them."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"mercer.{name}".rstrip("."))
        for public in module.__all__:
            thing = getattr(module, public)
            if isinstance(thing, ModuleType) or not callable(thing):
                continue
            found[f"{thing.__module__}.{thing.__qualname__}"] = (thing, None)
            for owner in inspect.getmro(thing) if inspect.isclass(thing) else ():
                for attribute, value in vars(owner).items() if owner.__module__.startswith("mercer") else ():
                    member = getattr(value, "__func__", value)
                    documented = inspect.isfunction(member) or isinstance(member, DESCRIPTORS)
                    if documented and not attribute.startswith("_"):
                        found[f"{owner.__module__}.{owner.__qualname__}.{attribute}"] = (member, owner)
    return found


def inherits_docstring(attribute, owner):
    """Whether a method without a docstring overrides one that has it, which help and the reference then show."""
    return any(getattr(vars(base).get(attribute), "__doc__", None) for base in owner.__mro__[1:])


def fields_are_attributes(thing):
    """Whether all fields of a result, which users read and do not make, are documented as attributes."""
    fields = getattr(thing, "_fields", None) or getattr(thing, "__dataclass_fields__", ())
    lines = (inspect.getdoc(thing) or "").partition("Attributes\n----------\n")[2].splitlines()
    return bool(fields) and set(fields) <= {line.partition(" : ")[0] for line in lines if " : " in line}


def findings():
    for name, (thing, owner) in public_objects().items():
        for code, text in validate(name)["errors"]:
            inherited = code == "GL08" and owner is not None and inherits_docstring(name.rpartition(".")[2], owner)
            if code not in OPTIONAL and not inherited and not (code == "PR01" and fields_are_attributes(thing)):
                yield f"{name}: {code} {text}"


def test_docstrings_of_public_objects_are_complete():
    assert len(public_objects()) > 500
    assert sorted(findings()) == []


def test_functions_have_examples():
    functions = [thing for thing, owner in public_objects().values() if owner is None and inspect.isfunction(thing)]
    assert [one.__qualname__ for one in functions if ">>>" not in one.__doc__] == []


def test_main_classes_have_examples():
    classes = [thing for thing, owner in public_objects().values() if owner is None and hasattr(thing, "fit")]
    without = [one.__name__ for one in classes if ">>>" not in one.__doc__]
    assert without == ["FeatureMap"]
