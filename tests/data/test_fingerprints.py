"""Fingerprints differ if files or their rows differ."""

from __future__ import annotations

import numpy as np

from mercer.data.fingerprints import END, _between, sampled


def test_a_large_file_is_recognised_by_samples_of_its_content(tmp_path):
    """Its ends are hashed in full, and samples from its middle, which another file of that size hardly shares."""
    path = tmp_path / "rows.npy"
    np.save(path, np.zeros((100_000, 4)))
    size, before, content = path.stat().st_size, sampled(path), path.read_bytes()
    assert sampled(path) == before
    for place in (200, END - 1, size - END, size - 1):
        path.write_bytes(content[:place] + b"1" + content[place + 1 :])
        assert sampled(path) != before, place
    path.write_bytes(content[:END] + b"1" * (size - 2 * END) + content[-END:])
    assert sampled(path) != before
    places = [place for place, _ in _between(size)]
    assert len(set(places)) == len(places) > 16
    assert all(place >= END and place + length <= size - END for place, length in _between(size))
    assert max(places) - min(places) > size // 2


def test_a_small_file_is_recognised_by_every_byte(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(bytes(100_000))
    before = sampled(path)
    for place in range(0, 100_000, 9_999):
        path.write_bytes(bytes(place) + b"1" + bytes(99_999 - place))
        assert sampled(path) != before
