"""Parquet and Feather files with the columns of a table, as pandas, Polars and Arrow write them.

The columns are those of [csv_table](#csv-table), wide or long. Needs ``kerneton[formats]``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError, import_extra
from kerneton.files.output import replacing
from kerneton.files.readers import csv_table
from kerneton.files.readers._text import shorten
from kerneton.files.readers._values import file_budget, read_bytes

WRITES = (".parquet", ".feather")
NAMES_JOINTS, TAKES = True, ("layout", "columns")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather"}
_WIDEST = 20_000  # columns
_LONGEST = 10_000  # letters of a cell


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file starts as Parquet or Arrow files do."""
    return head.startswith(tuple(_MAGIC))


def read(
    path: Path,
    *,
    layout: Layout | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """The recordings of a table."""
    arrow = import_extra("pyarrow", extra="formats", purpose="reading Parquet and Feather")
    try:
        table = _table(arrow, path)
        rows = _rows(table, path)
        return csv_table.read_rows(rows, path, layout=layout, columns=columns)
    except KernetonError:
        raise
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise FormatError(
            f"{path}: damaged: {shorten(' '.join(str(error).split()), 80)}"
        ) from error


def _table(arrow: Any, path: Path) -> Any:
    content = read_bytes(path)
    budget = file_budget(path)
    if content[:4] == b"PAR1":
        parquet = import_extra("pyarrow.parquet", extra="formats", purpose="reading Parquet")
        file = parquet.ParquetFile(io.BytesIO(content))
        n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
        if n_rows < 0 or n_columns > _WIDEST:
            raise FormatError(f"{path}: {n_rows} rows of {n_columns} columns are not read")
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        parts = [group.column(k) for group in groups for k in range(group.num_columns)]
        unpacked = sum(max(part.total_uncompressed_size, 0) for part in parts)
        budget.take(16 * n_rows * n_columns + unpacked)
        # A long text that is stored once may stand in every row: it is checked before.
        kinds = arrow.types
        texts = [f.name for f in file.schema_arrow if kinds.is_string(f.type)]
        table = parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts).read()
        for name in table.column_names:
            for chunk in table.column(name).chunks if kinds.is_dictionary(table[name].type) else ():
                words = chunk.dictionary.to_pylist()
                if any(word is not None and len(str(word)) > _LONGEST for word in words):
                    where = f"{path}, column {shorten(name)!r}"
                    raise FormatError(f"{where}: a text of more than {_LONGEST} letters")
        return table
    feather = import_extra("pyarrow.feather", extra="formats", purpose="reading Feather")
    table = feather.read_table(io.BytesIO(content))
    table.validate(full=True)
    budget.take(16 * table.num_rows * table.num_columns)
    return table


def _rows(table: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The header and the rows as cells of text."""
    names = [str(name) for name in table.column_names]
    if len(names) > _WIDEST:
        raise FormatError(f"{path}: {len(names)} columns; at most {_WIDEST} are read")
    if names[-1:] == ["__index_level_0__"]:  # of pandas
        names = names[:-1]
    yield 1, names
    line = 1
    for batch in table.to_batches(max_chunksize=1024):
        cells = [batch.column(i).to_pylist() for i in range(len(names))]
        for row in zip(*cells, strict=True):
            line += 1
            yield line, ["" if cell is None else csv_table.cell_text(cell) for cell in row]


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Write recordings as one wide table, with the columns of a ``.csv``."""
    arrow = import_extra("pyarrow", extra="formats", purpose="writing Parquet and Feather")
    header, *rows = csv_table.table_rows(path, sequences)
    columns = {}
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        columns[name] = [None if cell == "" else cell for cell in cells]
    table = arrow.table(columns)
    with replacing(path) as temporary:
        if path.suffix.lower() == ".parquet":
            parquet = import_extra("pyarrow.parquet", extra="formats", purpose="writing Parquet")
            parquet.write_table(table, temporary)
        else:
            feather = import_extra("pyarrow.feather", extra="formats", purpose="writing Feather")
            feather.write_feather(table, str(temporary))
