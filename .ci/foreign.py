"""Reads drawn Parquet files with readers that share no code with the writer: pyarrow, Polars, DuckDB and DataFusion, which
also skips pages by their index. Every cell must be as the Arrow file beside says, and a filter that is pushed down to the
statistics must keep the rows that it keeps there. Argument: the folder that .ci/parquet has filled."""
import random
import re
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import datafusion
import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

EPOCH, DAY0 = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
OPS = {"=": pc.equal, "<": pc.less, ">": pc.greater, "<=": pc.less_equal, ">=": pc.greater_equal}
METHODS = {"=": "eq", "<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
counted = {"pyarrow": 0, "Polars": 0, "DuckDB": 0, "DataFusion": 0}


def same(what, got, truth):
    """Holds a table against the truth, cell by cell."""
    assert got.column_names == truth.column_names, (what, got.column_names)
    for name in truth.column_names:
        want = truth[name].combine_chunks()
        have = got[name].cast(want.type).combine_chunks()
        if not have.equals(want):
            at = [i for i in range(len(want)) if i >= len(have) or have[i] != want[i]]
            raise AssertionError(f"{what}, column {name} {want.type}: {len(have)} of {len(want)}; {len(at)} differ, the first in row {at[:1]}: "
                                 f"{have[at[0]] if at else ''!r:.80}, want {want[at[0]] if at else ''!r:.80}")


def outside(value, kind):
    """Values beside one: the ones that a wrong bound would lose."""
    if pa.types.is_string(kind):
        return [value + "\0", value[:-1], ""]
    if pa.types.is_date(kind):
        return [date.fromordinal(min(max(value.toordinal() + n, 1), 3652059)) for n in (-1, 1)]
    if pa.types.is_timestamp(kind):
        return [value + timedelta(microseconds=n) for n in (-1, 1) if datetime.min < value < datetime(9999, 1, 1)]
    if pa.types.is_decimal(kind):
        return [value + n * Decimal("0.000001") for n in (-1, 1) if abs(value) < 10**11]
    if pa.types.is_integer(kind):
        return [n for n in (value - 1, value + 1) if -(2**63) <= n < 2**63]
    return [value * 0.5, value + 1, -0.0, 0.0]


def literal(value, kind):
    """A value in SQL; None for a text that SQL can't spell."""
    if pa.types.is_string(kind):
        return None if "\0" in value or len(value) > 1000 else "'" + value.replace("'", "''") + "'"
    if pa.types.is_date(kind):
        return f"DATE '{value.isoformat()}'"
    if pa.types.is_timestamp(kind):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if pa.types.is_decimal(kind):
        return f"CAST('{value:f}' AS DECIMAL(18,6))"
    return f"CAST('{value!r}' AS {'BIGINT' if pa.types.is_integer(kind) else 'DOUBLE'})"


def filters(column, rng):
    """Draws filters on a column: as (text, SQL, an expression of pyarrow, one of Polars)."""
    name, kind = column
    values = kind.drop_null()
    field, col = pc.field(name), polars.col(name)
    yield "IS NULL", f"{name} IS NULL", field.is_null(), col.is_null()
    yield "IS NOT NULL", f"{name} IS NOT NULL", field.is_valid(), col.is_not_null()
    if not len(values):
        return
    ends = pc.min_max(values)
    drawn = [ends["min"].as_py(), ends["max"].as_py(), values[rng.randrange(len(values))].as_py()]
    for value in drawn[:]:
        drawn += outside(value, kind.type)
    for value in drawn:
        op = rng.choice(list(OPS))
        sql, scalar = literal(value, kind.type), pa.scalar(value, kind.type)
        expression = polars.lit(value, dtype=polars.Decimal(18, 6)) if isinstance(value, Decimal) else polars.lit(value)
        yield (f"{op} {value!r:.60}", sql and f"{name} {op} {sql}", OPS[op](field, scalar), getattr(col, METHODS[op])(expression))
    low, high = sorted(rng.sample(drawn, 2))
    ends = [literal(low, kind.type), literal(high, kind.type)]
    yield (f"BETWEEN {low!r:.60} AND {high!r:.60}", all(ends) and f"{name} BETWEEN {ends[0]} AND {ends[1]}",
           (field >= pa.scalar(low, kind.type)) & (field <= pa.scalar(high, kind.type)), col.is_between(
               *(polars.lit(v, dtype=polars.Decimal(18, 6)) if isinstance(v, Decimal) else polars.lit(v) for v in (low, high))))


def check(path, rng, duck, fusion):
    arrow = path.with_suffix(".arrow")
    whole = pq.ParquetFile(path).read()
    truth = pa.ipc.open_file(arrow).read_all() if arrow.exists() else whole  # of others the test itself has held every cell
    same("pyarrow", whole, truth)
    same("Polars", polars.read_parquet(path).to_arrow(), truth)
    same("DuckDB", pa.table(duck.sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table()), truth)
    fusion.register_parquet("t", str(path))
    same("DataFusion", fusion.sql("SELECT * FROM t").to_arrow_table(), truth)
    for name in truth.column_names:
        for text, sql, expression, predicate in filters((name, truth[name].combine_chunks()), rng):
            want = truth.filter(expression).num_rows
            got = {"pyarrow": pq.read_table(path, filters=expression, columns=[name]).num_rows,
                   "Polars": polars.scan_parquet(path).filter(predicate).select(polars.len()).collect().item()}
            if sql:
                got["DuckDB"] = duck.execute(f"SELECT count(*) FROM read_parquet('{path}') WHERE {sql}").fetchall()[0][0]
                sql = re.sub(r"TIMESTAMP ('[^']*')", r"arrow_cast(\1, 'Timestamp(Microsecond, None)')", sql)  # its own has fewer years
                got["DataFusion"] = fusion.sql(f"SELECT count(*) FROM t WHERE {sql}").collect()[0][0][0].as_py()
            for reader, n in got.items():
                counted[reader] += 1
                if n != want:
                    print(f"{path}: {reader}: {name} {truth[name].type} {text}: {n} rows, want {want}", flush=True)
                    check.wrong += 1
    fusion.deregister_table("t")


check.wrong = 0
paths = sorted(Path(sys.argv[1]).glob("*.parquet"))
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
duck = duckdb.connect(config={"threads": 1})
fusion = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1).set(
    "datafusion.execution.parquet.pushdown_filters", "true").set("datafusion.execution.parquet.enable_page_index", "true"))
for path in paths:
    try:
        check(path, random.Random(f"{seed} {path.stem}"), duck, fusion)
    except Exception as error:
        print(f"{path}: {type(error).__name__} {str(error)[:600]}", flush=True)
        check.wrong += 1
        fusion.deregister_table("t")
print(f"{len(paths)} files, every cell; filters: {', '.join(f'{n} in {reader}' for reader, n in counted.items())}; {check.wrong} wrong")
sys.exit(check.wrong > 0 or len(paths) == 0)
