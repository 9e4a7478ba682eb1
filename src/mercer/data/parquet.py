"""Parquet files: row groups that are not needed are not read, and page checksums are verified."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .frames import arrow_kind
from .sources import FileSource, arrow, recut_frames, rows_at_once


class ParquetFile(FileSource):
    """One Parquet file."""

    format = "Parquet"

    @cached_property
    def _footer(self) -> Any:
        with self.reading():
            return arrow(".parquet").read_metadata(self.path)

    @cached_property
    def schema(self) -> dict[str, str]:
        written = self._written
        return {
            field.name: arrow_kind(written.get(field.name, field.type))
            for field in self._footer.schema.to_arrow_schema()
        }

    @property
    def _written(self) -> dict[str, Any]:
        """Return the original types of categorical columns, since numeric categories are stored as plain numbers."""
        held = (self._footer.metadata or {}).get(b"ARROW:schema")
        if held is None:
            return {}
        with self.reading():
            schema = arrow(".ipc").read_schema(arrow().py_buffer(b64decode(held)))
            return {field.name: field.type for field in schema if arrow(".types").is_dictionary(field.type)}

    @property
    def n_rows(self) -> int:
        return int(self._footer.num_rows)

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        groups = [self._footer.row_group(number).num_rows for number in range(self._footer.num_row_groups)]
        first = 0
        while first < len(groups) and start >= groups[first]:
            start -= groups[first]
            first += 1
        # Not pre-buffered, which would hold all requested row groups, that is, the whole file.
        options = {"page_checksum_verification": True, "pre_buffer": False}
        with self.reading(), arrow(".parquet").ParquetFile(self.path, **options) as file:
            frames = file.iter_batches(
                rows_at_once(len(names)), row_groups=list(range(first, len(groups))), columns=list(names)
            )
            yield from recut_frames(frames, start, len(names))
