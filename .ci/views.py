"""Runs the SQL of the views that dashboards read, and of the charts in deploy/bi, on Parquet that the program wrote, and holds
every sum and ratio against the service's own answer for the same grouping. The SQL is BigQuery's; sqlglot turns it into
DuckDB's. Without this nothing here would run it: the fake of BigQuery has no SQL engine.

    reportferry emulator ── reportferry run ── Parquet ── DuckDB ─┐
                        └── csv_report, grouped as the view is ───┴─ equal
    reportferry views ── BigQuery's SQL ── sqlglot ── DuckDB ─────┘

The views of the same tables in an Iceberg catalog are made by Spark and by DuckDB as they are printed, of tables of these names, and
Trino's by way of sqlglot; each must have the numbers of BigQuery's. Those in long form must have each cell of the wide ones. sqlglot parses every statement in its own dialect; Postgres's are
made by a Postgres in TestPostgresViews.

.ci/lake.py calls this, and has Spark, which it starts for its own reads, answer for the views too. Argument: the reportferry program,
built with the tag iceberg. What differs from BigQuery isn't seen here: how it rounds, and INFORMATION_SCHEMA.PARTITIONS, which is played
by a table that is made of the files."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

DAYS = 36
METRICS = ["installs", "clicks", "impressions", "paid_installs", "paid_clicks", "paid_impressions", "organic_installs", "daus", "cost",
           "revenue", "ad_revenue", "all_revenue", "ad_impressions", "rejected_installs", "cohort_size_d1", "retained_users_d1",
           "revenue_total_d7", "ad_revenue_total_d7", "all_revenue_total_d7", "purchase_events", "purchase_revenue",
           "ctr", "click_conversion_rate", "impression_conversion_rate", "installs_per_mile", "ecpi", "ecpi_all", "ecpm", "ecpc", "ad_rpm",
           "gross_profit", "organic_install_rate", "rejected_install_rate", "retention_rate_d1", "roas_d7", "roas_iap_d7"]
# Job, its dimensions, those that its view keeps besides the date, and its metrics.
JOBS = [
    ("campaigns_daily", ["day", "app_token", "country_code", "network", "campaign"], ["network", "app_token"], METRICS),
    ("totals_daily", ["day", "app_token", "network"], [], METRICS),
    ("networks_weekly", ["week", "network", "country_code"], ["network"], [m for m in METRICS if m != "daus"]),
    ("networks_hourly", ["hour", "network", "os_name"], ["network"], ["installs", "clicks", "cost", "ecpi_all", "click_conversion_rate"]),
    ("networks", ["network", "country_code"], ["network"], ["installs", "clicks", "cost", "ecpi_all", "click_conversion_rate"]),
]
LONG = ["--cohorts", "--events"]  # views in long form of the jobs that have such metrics
TODAY = datetime.now(timezone.utc).date()
FIRST = TODAY - timedelta(days=DAYS)
program, here = Path(sys.argv[1]).resolve(), Path(__file__).resolve().parent.parent


def config(base, folder, sink):
    jobs = "\n".join(
        f"  - {{name: {name}, kind: report, guard: 100%, sinks: [\"{sink}\"], start: {FIRST}, currency: USD, dimensions: [{', '.join(dims)}], "
        f"metrics: [{', '.join(metrics)}]}}" for name, dims, _, metrics in JOBS)
    return (f"service: {{base_url: {base}, token: \"${{TOKEN}}\", rate: 1000}}\nledger: file://{folder}/ledger\n"
            f"spool_dir: {folder}/spool\njobs:\n{jobs}\n")


def reportferry(*args, code=0):
    done = subprocess.run([program, *args], env=os.environ | {"TOKEN": "made-up"}, capture_output=True, text=True)
    assert done.returncode == code, f"reportferry {' '.join(map(str, args))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def asked(base, dimensions, metrics, first, last):
    """The service's own rows, by the values of the dimensions."""
    query = urllib.parse.urlencode({"dimensions": ",".join(dimensions), "metrics": ",".join(metrics), "currency": "USD",
                                    "date_period": f"{first}:{last}"}, safe=",:")
    request = urllib.request.Request(f"{base}/reports-service/csv_report?{query}", headers={"Authorization": "Bearer truth"})
    with urllib.request.urlopen(request) as answer:
        rows = list(csv.DictReader(io.TextIOWrapper(answer, "utf-8")))
    return {tuple(row[d] for d in dimensions): row for row in rows}


def keyed(column, value):
    """A value of a dimension as the service writes it. A week is named by its first and last day."""
    if column == "week":
        return f"{value} - {value + timedelta(days=6)}"
    return value.isoformat() if isinstance(value, (date, datetime)) else value


def same(got, want):
    """Counts are equal. Money has six decimals in each row of the table, so that a sum of rows may miss the service's by as many
    halves of the last one. Ratios are computed from such sums, as doubles."""
    if got is None or want == "":
        return (got or 0) == 0 and Decimal(want or 0) == 0
    bound = {int: 0, Decimal: Decimal("0.001"), float: Decimal("0.000001") * max(1, abs(Decimal(want)))}[type(got)]
    return abs(Decimal(str(got)) - Decimal(want)) <= bound


class Warehouse:
    """DuckDB with the tables that BigQuery would have, as project proj, dataset ds."""

    def __init__(self, out):
        self.db = duckdb.connect(config={"threads": 2})
        self.db.execute("SET TimeZone = 'UTC'; ATTACH ':memory:' AS proj; CREATE SCHEMA proj.ds")
        self.db.execute("CREATE TABLE proj.ds.partitions (table_name VARCHAR, partition_id VARCHAR, total_rows BIGINT, last_modified_time TIMESTAMPTZ)")
        self.rows = {}
        for folder in sorted(out.glob("_reportferry_*")):  # each job's own table of the kind, and what the wildcard stands for
            for files, name in [(f"{folder}/*/*/*.parquet", "all"), *((f"{of}/*/*.parquet", of.name.removeprefix("table=")) for of in folder.iterdir())]:
                self.db.execute(f"CREATE TABLE proj.ds.{folder.name}_{name} AS SELECT * FROM read_parquet('{files}', hive_partitioning=false, union_by_name=true)")
        for folder in sorted(folder for folder in out.iterdir() if folder.is_dir() and not folder.name.startswith("_")):
            self.db.execute(f"CREATE TABLE proj.ds.{folder.name} AS SELECT * FROM read_parquet('{folder}/*/*.parquet', hive_partitioning=false, union_by_name=true)")
            self.rows[folder.name] = 0
            for part in sorted(folder.glob("dt=*/*.parquet")):
                n = self.db.execute(f"SELECT count(*) FROM read_parquet('{part}', hive_partitioning=false)").fetchone()[0]
                name = part.parent.name.removeprefix("dt=").replace("-", "")
                modified = datetime.fromtimestamp(part.stat().st_mtime, timezone.utc) - timedelta(minutes=90)
                self.db.execute("INSERT INTO proj.ds.partitions VALUES (?, ?, ?, ?)", [folder.name, None if name == "all" else name, n, modified])
                self.rows[folder.name] += n

    def translated(self, sql):
        for statement in sqlglot.parse(sql, read="bigquery"):
            for table in statement.find_all(exp.Table):
                name = ".".join(part.name for part in table.parts)
                if name.upper().endswith(".INFORMATION_SCHEMA.PARTITIONS"):
                    name = "proj.ds.partitions"
                if name.endswith("_*"):
                    name = name.removesuffix("*") + "all"
                if name.startswith("project.dataset."):
                    name = "proj.ds." + name.removeprefix("project.dataset.")
                renamed = exp.to_table(name, dialect="duckdb")
                for part in ("catalog", "db", "this"):
                    table.set(part, renamed.args[part])
            yield statement.sql(dialect="duckdb")

    def ask(self, sql):
        """Runs BigQuery's SQL and gives the last statement's rows, as dicts."""
        for text in self.translated(sql):
            answer = self.db.execute(text)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row)) for row in answer.fetchall()]


compared = {"sums": 0, "ratios": 0, "native": 0, "in long form": 0, "in catalogs": 0}
wrong = []


def hold(what, rows, keys, metrics, truth):
    """Holds rows against the service's."""
    if len(rows) != len(truth) or not rows:
        wrong.append(f"{what}: {len(rows)} rows, the service has {len(truth)}")
    for row in rows:
        key = tuple(keyed(k, row[k]) for k in keys)
        want = truth.get(key)
        if want is None:
            wrong.append(f"{what}: the service has no {key}")
            continue
        for name, metric in metrics.items():
            compared["ratios" if isinstance(row[name], float) else "sums"] += 1
            if not same(row[name], want[metric]):
                wrong.append(f"{what}: {key}: {name} is {row[name]}, the service says {want[metric]!r}")


def alike(what, rows, keys, columns, got, counted):
    """Another engine's rows, of the keys and the columns, are BigQuery's."""
    got = {tuple(row[:len(keys)]): dict(zip(columns, row[len(keys):])) for row in got}
    for row in rows:
        mine = got.pop(tuple(row[k] for k in keys), None)
        if mine is None or any(not same(mine[c], "" if row[c] is None else str(row[c])) for c in columns):
            wrong.append(f"{what}: {row} in BigQuery's, {mine} in its own")
        compared[counted] += len(columns)
    if got:
        wrong.append(f"{what}: {len(got)} rows more than BigQuery's")


def natively(name, by, view, keys, columns, rows, folder):
    """DuckDB's own views, read from the files, say what those of BigQuery do."""
    own = duckdb.connect(config={"threads": 2})
    own.execute(reportferry("views", name, "--dialect", "duckdb", "--config", folder / "files.yml", *flags(by, next(metrics for job, *_, metrics in JOBS if job == name))))
    quoted = ", ".join('"' + c + '"' for c in keys + columns)
    alike(f"DuckDB's {view}", rows, keys, columns, own.execute(f'SELECT {quoted} FROM "{view}"').fetchall(), "native")
    # A table without periods is never final.
    for kind in ["_reportferry_partitions", "_reportferry_restatements"] + [f"{name}_final"] * (keys[0] in ("day", "week", "hour")):
        if own.execute(f'SELECT count(*) FROM "{kind}"').fetchone()[0] == 0:
            wrong.append(f"DuckDB's {kind} is empty")
    if own.execute("SELECT count(*) FROM _reportferry_freshness WHERE state = 'filled' AND age_minutes BETWEEN 0 AND 30").fetchone()[0] < len(JOBS):
        wrong.append("DuckDB's _reportferry_freshness lacks tables")


def flags(by, metrics):
    """What the command views is asked for."""
    return (["--by", ",".join(by)] if by else []) + (LONG if "cohort_size_d1" in metrics else [])


def lengthened(kind, wide, keys, date_at):
    """The rows that the view in long form has to have, made of the wide ones, cell by cell; those of cohorts with ripe."""
    rows = []
    form = re.compile("(?P<name>.+)_d(?P<key>[0-9]+)" if kind == "cohorts" else "(?P<key>purchase)_(?P<name>events|revenue)")
    cells = [(column, found["key"], found["name"]) for column in wide[0] if (found := form.fullmatch(column))]
    names = dict.fromkeys(name for _, _, name in cells)
    for row in wide:
        for key in dict.fromkeys(key for _, key, _ in cells):
            one = {k: row[k] for k in keys} | ({"period_unit": "day", "period": int(key)} if kind == "cohorts" else {"event": key})
            if kind == "cohorts":
                over = row[date_at] + timedelta(days=7 if date_at == "week" else 1)
                one |= {"ripe": (TODAY - over).days >= int(key), "cost": row["cost"]}
            rows.append(one | dict.fromkeys(names) | {name: row[column] for column, of, name in cells if of == key})
    return rows


def parsed(sql, dialect):
    """Statements, each of which makes a view in the dialect, with nothing in it that sqlglot hands on unread."""
    statements = [s for s in sqlglot.parse(sql, read=dialect) if s is not None]
    for s in statements:
        if not isinstance(s, exp.Create) or s.kind != "VIEW" or s.find(exp.Command):
            wrong.append(f"{dialect}: no view is made by {s.sql(dialect)}")
    return statements


class Catalog:
    """The tables of the warehouse under the names that they have in a namespace of an Iceberg catalog, as Parquet."""

    def __init__(self, warehouse, folder):
        self.folders, self.jobs, self.folder = {}, [], folder
        for (name,) in warehouse.db.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'proj' AND table_name <> 'partitions' AND table_name NOT LIKE '%\\_all' ESCAPE '\\'").fetchall():
            at = folder / "catalog" / name
            at.mkdir(parents=True)
            warehouse.db.execute(f"COPY proj.ds.{name} TO '{at}/part.parquet' (FORMAT parquet)")
            self.folders[name] = str(at)
        for file, sink in [("lake.yml", "iceberg://lake/ads?type=rest&uri=http://127.0.0.1:9"), ("session.yml", "iceberg://spark_catalog/ads?type=rest&uri=http://127.0.0.1:9"),
                           ("postgres.yml", "postgres://nobody@127.0.0.1:9/db/ads?sslmode=disable")]:
            (folder / file).write_text((folder / "warehouse.yml").read_text().replace("bigquery://proj/ds?endpoint=http://127.0.0.1:9", sink))

    def attached(self):
        db = duckdb.connect(config={"threads": 2})
        db.execute("ATTACH ':memory:' AS lake; CREATE SCHEMA lake.ads")
        for name, folder in self.folders.items():
            db.execute(f"CREATE TABLE lake.ads.{name} AS SELECT * FROM read_parquet('{folder}/*.parquet')")
        return db

    def printed(self, dialect):
        """What makes the views of all jobs in a dialect, parsed by it."""
        file = {"spark": "session.yml", "postgres": "postgres.yml"}.get(dialect, "lake.yml")
        texts = [reportferry("views", name, "--dialect", dialect, "--config", self.folder / file, *flags(by, metrics)) for name, _, by, metrics in JOBS]
        for text, (*_, metrics) in zip(texts, JOBS):
            if len(parsed(text, dialect)) != 5 + (dialect == "duckdb") + len(flags([], metrics)):
                wrong.append(f"{dialect}: other views than five, the table itself and those in long form:\n{text}")
        return texts

    def hold(self):
        """Every engine's views hold the same. finals are of what DuckDB has made of the files themselves. It yields what Spark is to be
        asked, and is sent the answers."""
        asked = []
        for _, view, keys, columns, _, _ in self.jobs:
            asked.append((view, keys + columns))
        told = ["_reportferry_partitions", "_reportferry_restatements"] + [f"{name}_final" for name, *_ in JOBS]
        fresh = "SELECT table_name, row_count, CAST(last_period AS {text}) AS last_period FROM {at}_reportferry_freshness WHERE state = 'filled' AND age_minutes BETWEEN 0 AND 30"

        def read(dialect, db, at, made):
            for text in made:
                db.execute(text)
            rows = [db.execute(f"SELECT {', '.join(columns)} FROM {at}{view}").fetchall() for view, columns in asked]
            return rows, [db.execute(f"SELECT count(*) FROM {at}{name}").fetchone()[0] for name in told], sorted(db.execute(fresh.format(text="VARCHAR", at=at)).fetchall(), key=str)

        self.printed("postgres")
        engines = {"DuckDB": read("duckdb", self.attached(), "", self.printed("duckdb"))}
        trino = [s.sql(dialect="duckdb") for text in self.printed("trino") for s in parsed(text, "trino")]
        engines["Trino"] = read("trino", self.attached(), "lake.ads.", trino)
        at = "spark_catalog.ads."
        work = {"tables": self.folders, "sql": self.printed("spark"),
                "ask": [f"SELECT {', '.join(columns)} FROM {at}{view}" for view, columns in asked] + [f"SELECT count(*) FROM {at}{name}" for name in told]
                + [fresh.format(text="STRING", at=at)]}
        answers, rows = (yield work), []
        for (_, _, keys, columns, _, of), answer in zip(self.jobs, answers):
            rows.append([tuple(None if v is None else of[k](v) for k, v in row.items()) for row in answer])
        engines["Spark"] = (rows, [int(answer[0]["count(1)"]) for answer in answers[len(asked):-1]],
                            sorted([(r["table_name"], int(r["row_count"]), r["last_period"]) for r in answers[-1]], key=str))
        for engine, (rows, counts, freshness) in engines.items():
            for (_, view, keys, columns, want, _), got in zip(self.jobs, rows):
                alike(f"{engine}'s {view} in a catalog", want, keys, columns, got, "in catalogs")
            if counts != self.counts or freshness != self.fresh or len(freshness) != len(JOBS):
                wrong.append(f"{engine} in a catalog: rows {dict(zip(told, counts))}, fresh {freshness}; of the files DuckDB has {self.counts}, {self.fresh}")


def typed(rows):
    """How each column's values are read from texts."""
    read = {int: lambda v: int(Decimal(v)), Decimal: Decimal, float: float, str: str, bool: lambda v: v == "True", date: date.fromisoformat, datetime: datetime.fromisoformat}
    return {k: read[next((type(row[k]) for row in rows if row[k] is not None), str)] for k in rows[0]}


def views(warehouse, base, folder, catalog):
    for name, dims, by, metrics in JOBS:
        printed = reportferry("views", name, "--config", folder / "warehouse.yml", *flags(by, metrics))
        made = re.findall(r"CREATE OR REPLACE VIEW `proj\.ds\.(\w+)`", printed)
        forms = [flag.removeprefix("--") for flag in flags([], metrics)]
        assert made[1:] == [f"{name}_{form}" for form in forms] + ["_reportferry_partitions", "_reportferry_restatements", f"{name}_final", "_reportferry_freshness"], made
        parsed(printed, "bigquery")
        warehouse.ask(printed)
        keys = ([dims[0]] if dims[0] in ("day", "week", "hour") else []) + by
        rows = warehouse.ask(f"SELECT * FROM `proj.ds.{made[0]}`")
        columns = [c for c in rows[0] if c not in keys]
        left = sorted(set(metrics) - set(columns))
        first, last = FIRST, TODAY - timedelta(days=1)
        if dims[0] == "week":  # whole weeks only: those that the table has
            weeks = sorted({row["week"] for row in rows})
            first, last = weeks[0], weeks[-1] + timedelta(days=6)
        hold(made[0], rows, keys, {c: c for c in columns}, asked(base, keys, columns, first, last))
        print(f"{made[0]}: {len(rows)} rows, {len(columns)} metrics{'; left out: ' + ', '.join(left) if left else ''}")
        natively(name, by, made[0], keys, columns, rows, folder)
        catalog.jobs.append((name, made[0], keys, columns, rows, typed(rows)))
        for form in forms:
            kept = [dims[0]] + (by or dims[1:])
            wide = rows if by else warehouse.ask(f"SELECT * FROM `proj.ds.{name}`")
            long, view = warehouse.ask(f"SELECT * FROM `proj.ds.{name}_{form}`"), f"{name}_{form}"
            kept += ["period_unit", "period", "ripe"] if form == "cohorts" else ["event"]
            columns = [c for c in long[0] if c not in kept]
            want = lengthened(form, wide, [dims[0]] + (by or dims[1:]), dims[0])
            if sorted(want[0]) != sorted(long[0]) or form == "cohorts" and {row["ripe"] for row in long} != {True, False}:
                wrong.append(f"{view} has {list(long[0])}, want {list(want[0])}, of which some are ripe and some aren't")
            alike(view, want, kept, columns, [[row[c] for c in kept + columns] for row in long], "in long form")
            natively(name, by, view, kept, columns, long, folder)
            catalog.jobs.append((name, view, kept, columns, long, typed(long)))
    fresh = {row["table_name"]: row for row in warehouse.ask("SELECT * EXCEPT (last_load) FROM `proj.ds._reportferry_freshness`")}
    for name, dims, *_ in JOBS:
        row = fresh[name]
        if row["row_count"] != warehouse.rows[name] or row["state"] != "filled" or not 90 <= row["age_minutes"] <= 100 or \
                dims[0] == "day" and row["last_period"] != (TODAY - timedelta(days=1)).strftime("%Y%m%d"):
            wrong.append(f"freshness of {name}: {row}, and it has {warehouse.rows[name]} rows")
    if set(fresh) != set(warehouse.rows):
        wrong.append(f"freshness is told of {sorted(fresh)}")


def cohort(metrics):
    """The days of the longest cohort among metrics, such as 7 of roas_d7."""
    return max(int(found[1]) if (found := re.search("_d([0-9]+)(_|$)", metric)) else 0 for metric in metrics)


def finals(warehouse, base, folder, catalog):
    """The final rows of each table, by BigQuery's view and by DuckDB's: those of periods that are over for a week, or for the days of a
    cohort and a week, because none of the metrics moves for longer. Of a table without periods there are none."""
    for name, dims, _, metrics in JOBS:
        duck = duckdb.connect(config={"threads": 2})
        duck.execute(reportferry("views", name, "--config", folder / "files.yml"))
        all_final, told = duck.execute(f"SELECT count(*) FROM {name}_final").fetchone()[0], duck.execute(
            f"SELECT count(*), count(DISTINCT partition_date) FROM _reportferry_partitions WHERE table_name = '{name}'").fetchone()
        if name == JOBS[0][0]:
            catalog.counts = [duck.execute(f"SELECT count(*) FROM {kind}").fetchone()[0] for kind in ("_reportferry_partitions", "_reportferry_restatements")]
            catalog.fresh = sorted(duck.execute("SELECT table_name, row_count, CAST(last_period AS VARCHAR) FROM _reportferry_freshness").fetchall(), key=str)
        catalog.counts.append(all_final)
        rows = warehouse.ask(f"SELECT * FROM `proj.ds.{name}_final`")
        if len(rows) != all_final or (len(rows) == 0) != (dims[0] == "network"):
            wrong.append(f"{name}_final has {all_final} rows in DuckDB and {len(rows)} in BigQuery")
        if dims[0] == "network":
            continue
        if told[0] != told[1] or told[0] != len(duck.execute(f"SELECT DISTINCT CAST({dims[0]} AS DATE) FROM {name}").fetchall()):
            wrong.append(f"_reportferry_partitions tells {told} partitions of {name}")
        over = timedelta(days=(14 if dims[0] == "week" else 8) + cohort(metrics))  # a week after the period's end, or after the cohort's
        newest = duck.execute(f"SELECT max({dims[0]})::DATE FROM {name} WHERE {dims[0]}::DATE <= '{TODAY - over}'").fetchone()[0]
        answer = duck.execute(f"SELECT {dims[0]}, sum(installs)::BIGINT AS installs, sum(cost) AS cost FROM {name}_final GROUP BY ALL")
        names, rows = [column[0] for column in answer.description], answer.fetchall()
        first, last = FIRST, newest + timedelta(days=6 if dims[0] == "week" else 0)
        if dims[0] == "week":
            first = duck.execute(f"SELECT min(week) FROM {name}").fetchone()[0]
        hold(f"{name}_final", [dict(zip(names, row)) for row in rows], [dims[0]], {"installs": "installs", "cost": "cost"},
             asked(base, [dims[0]], ["installs", "cost"], first, last))


def charts(warehouse, base, before):
    """The charts of deploy/bi whose tables are here."""
    texts = re.findall(r"```sql\n(.*?)```", (here / "deploy/bi/README.md").read_text(), re.S)
    spend, roas, moving, restated = texts
    hold("the chart of spend", [row for row in warehouse.ask(spend) if row["day"] < TODAY], ["day", "network"],
         {"cost": "cost", "installs": "installs", "ecpi": "ecpi_all"},
         asked(base, ["day", "network"], ["cost", "installs", "ecpi_all"], TODAY - timedelta(days=28), TODAY - timedelta(days=1)))
    truth = asked(base, ["campaign"], ["cost", "roas_d7"], TODAY - timedelta(days=35), TODAY - timedelta(days=8))
    top = sorted((key for key in truth if Decimal(truth[key]["cost"]) > 0), key=lambda key: -Decimal(truth[key]["cost"]))[:20]
    hold("the chart of ROAS", warehouse.ask(roas), ["campaign"], {"cost": "cost", "roas_d7": "roas_d7"}, {key: truth[key] for key in top})
    for row in warehouse.ask(moving):
        age = (TODAY - row["day"]).days
        if row["state"] != ("final" if age >= 8 + cohort(JOBS[0][3]) else "restating" if age > 0 else "partial"):
            wrong.append(f"the chart of what may change: {row}")
    hold("the chart of what may change", warehouse.ask(moving), ["day"], {"cost": "cost"}, asked(base, ["day"], ["cost"], TODAY - timedelta(days=28), TODAY - timedelta(days=1)))
    warehouse.db.execute("CREATE MACRO current_datetime() AS now()::TIMESTAMP")  # which sqlglot leaves as it is
    rows = warehouse.ask(restated)
    after, was = (asked(of, ["day"], ["cost"], FIRST, TODAY - timedelta(days=1)) for of in (base, before))
    for row in rows:
        key = (row["partition_date"].isoformat(),)
        if not same(row["after"], after[key]["cost"]) or not same(row["before"], was[key]["cost"]) or abs(row["after"] - row["before"] - row["delta"]) > 1e-6:
            wrong.append(f"the chart of restatements: {row}, the service said {was[key]} and says {after[key]}")
    if len(rows) != 20 or sorted(rows, key=lambda row: -abs(row["delta"])) != rows:
        wrong.append(f"the chart of restatements: {len(rows)} rows, or not the biggest first")


def serving(*args):
    """An emulator, as a process, and its address."""
    server = subprocess.Popen([program, "emulator", "--addr", "127.0.0.1:0", "--hostile-names", "--days", str(DAYS + 8), "--apps", "3", "--rate", "1000", *args],
                              stderr=subprocess.PIPE, text=True)
    return server, re.search(r"serving on (\S+)", next(line for line in server.stderr if "serving on" in line))[1]


def fault(base, *faults):
    """Gives a service these faults, and no others."""
    urllib.request.urlopen(urllib.request.Request(base + "/_emulator/faults", json.dumps(faults).encode(), method="PUT")).read()


def rebaselined(folder):
    """A table of 100 days that stopped after 41 of its rebaseline from euros to dollars: each view of it has the dollars of the 41 alone,
    in DuckDB as in BigQuery, and the files have all days."""
    server, base = serving("--days", "120")
    try:
        first, last = TODAY - timedelta(days=100), TODAY - timedelta(days=60)
        file, warehouse = folder / "two.yml", folder / "two-warehouse.yml"
        for currency, code in [("EUR", 0), ("USD", 3)]:
            file.write_text(f"service: {{base_url: {base}, token: \"${{TOKEN}}\", rate: 1000, attempts: 1}}\nledger: file://{folder}/two/ledger\njobs:\n"
                            f"  - {{name: daily, kind: report, guard: 100%, page: 1d, lookback: 0, sinks: [\"file://{folder}/two/out\"], start: {first}, currency: {currency}, "
                            "dimensions: [day, network], metrics: [installs, cost]}\n")
            reportferry("run", "--now", "--rebaseline", "--config", file, code=code)
            days = [last + timedelta(days=n) for n in range(1, 60)]
            fault(base, *({"kind": "status", "status": 503, "query": f"date_period={day}:{day}", "every": 1} for day in days))
        warehouse.write_text(file.read_text().replace(f"file://{folder}/two/out", "bigquery://proj/ds?endpoint=http://127.0.0.1:9"))
        want = {key[0]: row["cost"] for key, row in asked(base, ["day"], ["cost"], first, last).items()}
        duck, big = duckdb.connect(config={"threads": 2}), Warehouse(folder / "two/out")
        duck.execute(reportferry("views", "daily", "--by", "network", "--config", file))
        big.ask(reportferry("views", "daily", "--by", "network", "--config", warehouse))
        sums = "SELECT day, sum(cost) AS cost FROM {} GROUP BY day"
        found = {f"DuckDB's {view}": duck.execute(sums.format(view)).fetchall() for view in ("daily", "daily_by_day_network", "daily_final")}
        found |= {f"BigQuery's {view}": [tuple(row.values()) for row in big.ask(sums.format(f"`proj.ds.{view}`"))] for view in ("daily_by_day_network", "daily_final")}
        for view, rows in found.items():
            if len(rows) != 41 or any(not same(cost, want[day.isoformat()]) for day, cost in rows):
                wrong.append(f"{view} of two meanings has {len(rows)} days, and {sorted(rows)[:2]}; the service says {list(want.items())[:2]} of 41")
        if (n := duck.execute(f"SELECT count(DISTINCT day) FROM read_parquet('{folder}/two/out/daily/*/*.parquet')").fetchone()[0]) != 100:
            wrong.append(f"the files of two meanings have {n} days")
    finally:
        server.kill()
        server.wait()


def held():
    """Holds all views. It yields once, what Spark is to be asked, is sent the answers, and returns how much was wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, servers = Path(temporary), []
        try:
            # All is fetched from another account first, so that all numbers are restated.
            for seed in ("11", "7"):
                server, base = serving("--seed", seed)
                servers.append((server, base))
                if seed == "11":
                    fault(base, {"kind": "status", "status": 404, "path": "filters_data", "every": 1})  # so that another account may follow with all other numbers
                (folder / "files.yml").write_text(config(base, folder, f"file://{folder}/out"))
                reportferry("run", "--force", "--config", folder / "files.yml")
            # Nobody listens there: printing views asks the service for its events, and the warehouse for nothing.
            (folder / "warehouse.yml").write_text(config(base, folder, "bigquery://proj/ds?endpoint=http://127.0.0.1:9"))
            warehouse = Warehouse(folder / "out")
            catalog = Catalog(warehouse, folder)
            views(warehouse, base, folder, catalog)
            finals(warehouse, base, folder, catalog)
            yield from catalog.hold()
            charts(warehouse, base, servers[0][1])
            rebaselined(folder)
        finally:
            for server, _ in servers:
                server.kill()
                server.wait()
    for text in wrong[:20]:
        print(text)
    print(f"views: {compared['sums']} sums and {compared['ratios']} ratios held against the service's, {compared['in long form']} in long form against the wide, {compared['native']} of DuckDB's own views against them, "
          f"{compared['in catalogs']} of Iceberg catalogs by DuckDB, Spark and Trino's SQL; {len(wrong)} wrong")
    return len(wrong)
