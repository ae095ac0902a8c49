"""Reads Iceberg tables through their REST catalog with readers that share no code with the writer: PyIceberg, Spark, and DuckDB with
its own extension. Prints a JSON object of what each has read, and holds every cell against Parquet files when it is given some.

    .ci/openreaders pyiceberg,spark,duckdb --uri http://127.0.0.1:8181 --table ns.spend --day 2026-03-01 --truth out/spend

A read is a line of JSON with --reads FILE, or else the flags of the same names: table; column, of the date or time that partitions
are made by; as_of, a snapshot's id; day, for which the data files are counted that a filter on it leaves to be read; truth, a folder
with dt=DATE/*.parquet. Spark also writes, as others do beside us: --append DAY, --compact, --expire. Exit code 1 when a cell
differs."""
import argparse
import hashlib
import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

KINDS = [(pa.types.is_date, "date"), (pa.types.is_large_string, "string"), (pa.types.is_string, "string"), (pa.types.is_int64, "long"),
         (pa.types.is_int32, "int"), (pa.types.is_float64, "double"), (pa.types.is_float32, "float"), (pa.types.is_boolean, "boolean"),
         (pa.types.is_binary, "binary"), (pa.types.is_large_binary, "binary")]


def kind(t):
    """The name that Iceberg has for a type of Arrow's."""
    if pa.types.is_decimal(t):
        return f"decimal({t.precision},{t.scale})"
    if pa.types.is_timestamp(t):
        return "timestamptz" if t.tz else "timestamp"
    return next((name for test, name in KINDS if test(t)), str(t))


def cell(v):
    """A value's one text, which two readers give for the same value only; NULL stays None."""
    if v is None or isinstance(v, str):
        return v
    if isinstance(v, datetime):
        return (v.astimezone(timezone.utc).replace(tzinfo=None) if v.tzinfo else v).isoformat(timespec="microseconds")
    if isinstance(v, date):
        return v.isoformat()
    if isinstance(v, Decimal):
        whole, _, fraction = f"{v:f}".partition(".")
        return f"{whole}.{fraction:0<6}"
    if isinstance(v, (bytes, bytearray)):
        return v.hex()
    return repr(v)


@dataclass
class Read:
    table: str
    column: str = "day"
    as_of: int | None = None
    day: str | None = None
    truth: str | None = None

    def of_day(self, of, literal):
        """The condition that the column, of a kind, is in the day; literal gives the text of a time of that kind."""
        first = date.fromisoformat(self.day)
        return f"{self.column} >= {literal(of, first)} AND {self.column} < {literal(of, first + timedelta(1))}"


def sql_literal(of, day):
    return {"date": f"DATE '{day}'", "timestamp": f"TIMESTAMP '{day} 00:00:00'", "timestamptz": f"TIMESTAMPTZ '{day} 00:00:00+00'"}[of]


class Cells:
    """The rows of a table by day, each a list of texts."""

    def __init__(self, columns, rows, by):
        self.columns, self.days = columns, {}
        names = [name for name, _ in columns]
        at = names.index(by) if by in names else None
        for row in rows:
            self.days.setdefault("" if at is None else row[at] and row[at][:10], []).append(row)

    def kind_of(self, column):
        return dict(self.columns)[column]

    @classmethod
    def of_arrow(cls, table, by):
        columns = [(f.name, kind(f.type)) for f in table.schema]
        return cls(columns, zip(*([cell(v) for v in c.to_pylist()] for c in table.columns)), by)

    def report(self):
        digest = lambda rows: hashlib.sha256("\n".join(sorted(map(json.dumps, rows))).encode()).hexdigest()
        days = {str(day): {"rows": len(rows), "digest": digest(rows)} for day, rows in self.days.items()}
        return {"columns": self.columns, "rows": sum(map(len, self.days.values())), "days": dict(sorted(days.items()))}

    def spoiled(self):
        """The same cells but for one, which is NULL where it wasn't, or '' where it was NULL."""
        other = Cells(self.columns, [], None)
        day, (first, *rest) = next(iter(self.days.items()), ("", [[None] * len(self.columns)]))
        other.days = self.days | {day: [[*first[:-1], "" if first[-1] is None else None], *rest]}
        return other

    def differences(self, want):
        """What is another than in the truth, in sentences; columns may be in another order."""
        have, wanted = dict(self.columns), dict(want.columns)
        if have != wanted:
            return [f"the columns are {sorted(have.items() - wanted.items())}, want {sorted(wanted.items() - have.items())}"]
        order = [[name for name, _ in want.columns].index(name) for name, _ in self.columns]
        found = []
        for day in sorted(self.days.keys() | want.days.keys(), key=str):
            got = Counter(map(tuple, self.days.get(day, [])))
            right = Counter(tuple(row[i] for i in order) for row in want.days.get(day, []))
            if more := list((got - right).elements()):
                found.append(f"{day}: {len(more)} rows that the truth hasn't, as {min(more, key=str)}")
            if less := list((right - got).elements()):
                found.append(f"{day}: {len(less)} rows of the truth aren't there, as {min(less, key=str)}")
        return found


def truth(folder, by):
    """The cells of the program's own Parquet files, of which the folder's name has the day when no column has it."""
    tables = []
    for path in sorted(Path(folder).glob("dt=*/*.parquet")):
        table = pq.ParquetFile(path).read()
        if by not in table.column_names and path.parent.name != "dt=all":
            day = date.fromisoformat(path.parent.name.removeprefix("dt="))
            table = table.append_column(by, pa.array([day] * len(table), pa.date32()))
        tables.append(table)
    if not tables:
        sys.exit(f"{folder} has no dt=DATE/*.parquet: give the folder of a table that the program wrote")
    return Cells.of_arrow(pa.concat_tables(tables, promote_options="default"), by)  # a column that came later is NULL before


class PyIceberg:
    def __init__(self, args):
        from pyiceberg.catalog import load_catalog
        self.catalog = load_catalog("rest", uri=args.uri, **({"warehouse": args.warehouse} if args.warehouse else {}))

    def read(self, r):
        return Cells.of_arrow(self.catalog.load_table(r.table).scan(snapshot_id=r.as_of).to_arrow(), r.column)

    def files(self, r, of):
        table = self.catalog.load_table(r.table)
        ends = {"date": "", "timestamp": "T00:00:00", "timestamptz": "T00:00:00+00:00"}
        some = r.of_day(of, lambda of, day: f"'{day}{ends[of]}'")
        return {what: len(list(table.scan(row_filter=f, snapshot_id=r.as_of).plan_files())) for what, f in [("all", "True"), ("day", some)]}


class DuckDB:
    def __init__(self, args):
        import duckdb
        import importlib.util
        self.db = duckdb.connect(config={"autoinstall_known_extensions": "false"})
        for name in ["httpfs", "avro", "iceberg"]:
            module = importlib.util.find_spec(f"duckdb_extension_{name}")
            self.db.load_extension(str(next(Path(module.origin).parent.glob(f"extensions/v{duckdb.__version__}/*.duckdb_extension"))))
        self.db.sql("SET TimeZone = 'UTC'")
        self.db.sql(f"ATTACH '{args.warehouse or ''}' AS lake (TYPE iceberg, ENDPOINT '{args.uri}', AUTHORIZATION_TYPE 'none')")

    def of(self, r):
        return f"lake.{r.table}" + (f" AT (VERSION => {r.as_of})" if r.as_of else "")

    def read(self, r):
        return Cells.of_arrow(self.db.sql(f"FROM {self.of(r)}").to_arrow_table(), r.column)

    def files(self, r, of):
        """As the plan says after it was carried out."""
        counts = {}
        for what, condition in [("all", "true"), ("day", r.of_day(of, sql_literal))]:
            plan = self.db.sql(f"EXPLAIN ANALYZE SELECT * FROM {self.of(r)} WHERE {condition}").fetchall()[0][1]
            counts[what] = next((int(n) for n in re.findall(r"Total Files Read:\s*(\d+)", plan)), None)
        return counts


class Spark:
    def __init__(self, args):
        import os
        import tempfile
        os.environ |= {"TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}
        time.tzset()
        from pyspark.sql import SparkSession
        conf = {
            "spark.master": "local[2]", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.jars": os.environ["ICEBERG_SPARK_JAR"] + "," + os.environ["ICEBERG_AWS_JAR"],
            "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", "spark.sql.warehouse.dir": tempfile.mkdtemp(),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions", "spark.log.level": "ERROR",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "rest",
            "spark.sql.catalog.lake.uri": args.uri, "spark.sql.catalog.lake.cache-enabled": "false",
        } | ({"spark.sql.catalog.lake.warehouse": args.warehouse} if args.warehouse else {})
        builder = SparkSession.builder
        for key, value in conf.items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()

    def of(self, r):
        return self.spark.sql(f"SELECT * FROM lake.{r.table}" + (f" VERSION AS OF {r.as_of}" if r.as_of else ""))

    def read(self, r):
        frame = self.of(r)
        names = {"bigint": "long", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
        columns = [(f.name, names.get(f.dataType.simpleString(), f.dataType.simpleString())) for f in frame.schema]
        return Cells(columns, ([cell(v) for v in row] for row in frame.collect()), r.column)

    def files(self, r, of):
        """As the plan says after it was carried out."""
        counts = {}
        names = {"timestamp": "timestamp_ntz", "timestamptz": "timestamp"}  # Spark's, of which a session has the zone UTC
        for what, condition in [("all", "true"), ("day", r.of_day(of, lambda of, day: f"{names.get(of, of)} '{day}'"))]:
            frame = self.of(r).where(condition)
            frame.collect()
            plan, metrics = frame._jdf.queryExecution().executedPlan(), None
            leaves = plan.collectLeaves()
            for i in range(leaves.size()):
                found = leaves.apply(i).metrics().get("resultDataFiles")
                if found.isDefined():
                    metrics = (metrics or 0) + found.get().value()
            counts[what] = metrics
        return counts

    def write(self, r, how, day):
        """Writes as another program does; returns the snapshot that is then the table's newest."""
        from pyspark.sql import types
        if how == "append":
            schema = self.of(Read(r.table)).schema
            value = lambda f: date.fromisoformat(day) if f.name == r.column else {
                types.StringType: "foreign", types.LongType: 1, types.IntegerType: 1, types.DoubleType: 1.5, types.BooleanType: True,
                types.DateType: date(2026, 1, 1), types.DecimalType: Decimal("1.5"), types.TimestampType: datetime(2026, 1, 1)}[type(f.dataType)]
            self.spark.createDataFrame([tuple(map(value, schema))], schema).writeTo(f"lake.{r.table}").append()
        elif how == "compact":
            options = "map('min-input-files', '1', 'rewrite-all', 'true')"
            self.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{r.table}', options => {options})")
        else:
            now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
            self.spark.sql(f"CALL lake.system.expire_snapshots(table => '{r.table}', older_than => TIMESTAMP '{now}', retain_last => 1)")
        return self.spark.sql(f"SELECT snapshot_id FROM lake.{r.table}.refs WHERE name = 'main'").collect()[0][0]

    def views(self, file):
        """Makes views and replaces the file by what they hold. It is JSON: tables, which are folders of Parquet by their names; sql, the
        statements as the program has printed them; ask, queries. Then it has the rows of each query, every value as a text."""
        asked, spark = json.loads(Path(file).read_text()), self.spark.newSession()
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")  # not UTC, in which moments are
        spark.sql("CREATE DATABASE ads")
        for name, folder in asked["tables"].items():
            spark.sql(f"CREATE TABLE spark_catalog.ads.`{name}` USING parquet LOCATION '{folder}'")
        for statements in asked["sql"]:
            for statement in filter(str.strip, statements.split(";\n")):
                spark.sql(statement)
        answers = [[{k: None if v is None else str(v) for k, v in row.asDict().items()} for row in spark.sql(query).collect()] for query in asked["ask"]]
        Path(file).write_text(json.dumps(answers))


READERS = {"pyiceberg": PyIceberg, "spark": Spark, "duckdb": DuckDB}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("readers", help="of pyiceberg, spark and duckdb, with commas")
    p.add_argument("--uri", required=True, help="the catalog's address")
    p.add_argument("--warehouse", help="what the catalog calls the warehouse, where it has several")
    p.add_argument("--reads", help="a file with a read on each line")
    flags = ["table", "column", "as_of", "day", "truth"]
    for name in flags:
        p.add_argument("--" + name.replace("_", "-"), type=int if name == "as_of" else str)
    p.add_argument("--append", metavar="DAY", help="Spark first adds a row")
    p.add_argument("--compact", action="store_true", help="Spark first rewrites all data files")
    p.add_argument("--expire", action="store_true", help="Spark first forgets all snapshots but the newest")
    p.add_argument("--views", metavar="FILE", help="Spark also makes the views of this file, which then has what they hold")
    args = p.parse_args()
    lines = [{name: getattr(args, name) for name in flags if getattr(args, name) is not None}]
    if args.reads:
        lines = [json.loads(line) for line in Path(args.reads).read_text().splitlines() if line]
    elif not args.table:
        p.error("give --table, or --reads")
    wrong = 0
    for name in args.readers.split(","):
        began = time.monotonic()
        reader = READERS[name](args)
        for line in lines:
            r, out = Read(**line), {"reader": name, **line}
            for how in ["append", "compact", "expire"]:
                if getattr(args, how) and name == "spark" and not r.as_of: # once a table
                    out[how] = reader.write(r, how, args.append)
            cells = reader.read(r)
            out |= cells.report()
            if r.day:
                out["files"] = reader.files(r, cells.kind_of(r.column))
            if r.truth:
                want = truth(r.truth, r.column)
                out["cells"], out["differences"] = out["rows"] * len(cells.columns), cells.differences(want)
                if cells.differences(want.spoiled()) == out["differences"]:
                    out["differences"].append("a cell of the truth was made wrong, and the comparison didn't notice")
                wrong += len(out["differences"])
            out["seconds"], began = round(time.monotonic() - began, 1), time.monotonic()
            print(json.dumps(out), flush=True)
        if args.views and name == "spark":
            reader.views(args.views)
    sys.exit(1 if wrong else 0)


main()
