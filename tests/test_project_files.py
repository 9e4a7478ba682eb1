"""The project's other files agree with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = "https://github.com/mercer-kernels/mercer"
FILES = ["CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "pyproject.toml"]


def test_the_citation_has_the_version_and_the_licence_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for name in ("version", "license"):
        (found,) = re.findall(rf"^{name}: (.*)$", citation, re.MULTILINE)
        assert found == PROJECT["project"][name]


def test_the_package_has_its_version():
    assert mercer.__version__ == PROJECT["project"]["version"]


@pytest.mark.parametrize("name", [*FILES, ".github"])
def test_all_links_name_the_same_repository(name):
    path = ROOT / name
    for file in path.rglob("*") if path.is_dir() else [path]:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        for address in re.findall(r"https://github\.com/[\w-]*mercer[\w-]*[^\s\"')]*", text):
            assert address.startswith(HOME), f"{file.name} names {address}"


@pytest.mark.parametrize("name", ["CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_to_files_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / name).read_text(encoding="utf-8")):
        assert link.startswith("https://") or (ROOT / link).exists(), f"{name} names {link}"


@pytest.mark.parametrize("platform", ["linux", "macos", "windows"])
def test_no_wheel_of_a_release_lacks_the_compiled_core(platform):
    (fallback,) = (entry for entry in PROJECT["tool"]["scikit-build"]["overrides"] if entry["if"].get("failed"))
    assert fallback["if"]["env"] == {"MERCER_REQUIRE_CORE": False}
    settings = PROJECT["tool"]["cibuildwheel"]
    # The environment of a platform replaces the environment of all platforms.
    environment = settings.get(platform, {}).get("environment", settings["environment"])
    assert environment["MERCER_REQUIRE_CORE"] == "1"
    assert settings["test-command"].endswith("wheel_smoke.py installed compiled")
