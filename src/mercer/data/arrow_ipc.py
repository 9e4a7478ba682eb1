"""Arrow IPC files and streams, also known as Feather."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from .frames import arrow_kind
from .sources import FileSource, arrow, recut_frames


class ArrowFile(FileSource):
    """One file of record batches, or one stream of them."""

    format = "Arrow IPC"

    @contextmanager
    def _open(self, names: tuple[str, ...] | None = None) -> Iterator[Any]:
        ipc = arrow(".ipc")
        # Not mapped into memory, because the process would crash if the file was truncated in the meantime.
        with self.reading(), arrow().OSFile(str(self.path)) as file:
            open_with = ipc.open_file if file.read(6) == b"ARROW1" else ipc.open_stream
            file.seek(0)
            with open_with(file) as reader:
                places = None if names is None else [reader.schema.names.index(name) for name in names]
            file.seek(0)
            with open_with(file, options=ipc.IpcReadOptions(included_fields=places or [])) as reader:
                yield reader

    @cached_property
    def schema(self) -> dict[str, str]:
        with self._open() as reader:
            return {field.name: arrow_kind(field.type) for field in reader.schema}

    @cached_property
    def n_rows(self) -> int:
        first = next(iter(self.schema))
        with self._open((first,)) as reader:
            return sum(batch.num_rows for batch in record_batches(reader))

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        with self._open(names) as reader:
            yield from recut_frames(record_batches(reader), start, len(names))


def record_batches(reader: Any) -> Iterator[Any]:
    """Yield all record batches of a file or a stream."""
    if not hasattr(reader, "num_record_batches"):
        yield from reader
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)
