"""Builds the project that `reportferry dbt` writes by a real dbt, on Parquet and in a Postgres that the program has filled. Without it
nobody would know whether dbt takes the files, whether a test fails when a table is broken, and whether a metric is right.

    reportferry emulator ── reportferry run ──┬── Parquet ─────────── dbt build, dbt source freshness, MetricFlow ─┬─ equal
                                              │      └─ DuckDB's own sums, and broken copies ──────────────────────┘
                                              └── Postgres ────────── dbt build

Argument: a folder with the program in it. Exit code 1 when something is wrong."""
import csv
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import duckdb
from dbt_semantic_interfaces.implementations.semantic_manifest import PydanticSemanticManifest
from dbt_semantic_interfaces.validations.semantic_manifest_validator import SemanticManifestValidator

work, bin = Path(sys.argv[1]).resolve(), Path(sys.executable).parent
wrong, held = [], {"models": 0, "tests": 0, "metrics": 0}

JOBS = """
  - {name: cohorts_daily, kind: report, schedule: "0 6 * * *", guard: 100%, start: -40d, currency: USD, sinks: [SINK], dimensions: [day, app, network],
     metrics: [installs, clicks, impressions, cost, all_revenue, daus, kpi_daus, ecpi_all, ctr, ecpm, paid_impressions, arpdau, all_revenue_total_d7, roas_d7, retained_users_d7,
       cohort_size_d7, retention_rate_d7], events: [{name: Purchase, metrics: [events, revenue], as: purchase}]}
  - {name: weekly, kind: report, schedule: "0 6 * * 1", guard: 100%, start: -40d, currency: EUR, sinks: [SINK], dimensions: [week, country_code], metrics: [installs, cost]}
  - {name: hourly, kind: report, guard: 100%, start: -4d, currency: EUR, sinks: [SINK], dimensions: [hour, network], metrics: [installs, cost, ecpi_all]}
  - {name: totals, kind: report, guard: 100%, start: -4d, currency: EUR, sinks: [SINK], dimensions: [network], metrics: [installs, cost]}
  - {name: events, kind: events, sinks: [SINK]}
"""


def check(what, right):
    if not right:
        wrong.append(what)


def serving(seed):
    """An emulator, as a process, and its address. The first one lists no apps, so that another account may follow with all other numbers."""
    server = subprocess.Popen([work / "reportferry", "emulator", "--addr", "127.0.0.1:0", "--hostile-names", "--days", "50", "--apps", "2", "--rate", "1000", "--seed", seed],
                              stderr=subprocess.PIPE, text=True)
    base = re.search(r"serving on (\S+)", next(line for line in server.stderr if "serving on" in line))[1]
    fault = [] if seed != "11" else [{"kind": "status", "status": 404, "path": "filters_data", "every": 1}]
    urllib.request.urlopen(urllib.request.Request(base + "/_emulator/faults", json.dumps(fault).encode(), method="PUT")).read()
    return server, base


def reportferry(base, sink, *args, ledger="ledger"):
    config = work / "rf.yml"
    config.write_text(f'service: {{base_url: {base}, token: "${{TOKEN}}", rate: 1000}}\nledger: file://{work}/{ledger}\njobs:' + JOBS.replace("SINK", json.dumps(sink)))
    done = subprocess.run([work / "reportferry", *args, "--config", config], cwd=work, env=os.environ | {"TOKEN": "made-up"}, capture_output=True, text=True)
    assert done.returncode == 0, f"reportferry {' '.join(args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def dbt(project, *args, code=0, env={}):
    """A command of dbt in a project. Gives what its results say, by the names of nodes."""
    done = subprocess.run([bin / "dbt", *args], cwd=project, env=os.environ | env, capture_output=True, text=True)
    assert done.returncode == code, f"dbt {' '.join(args)}: exit code {done.returncode}, want {code}\n{done.stdout[-6000:]}{done.stderr}"
    check(f"dbt {args[0]} speaks of a deprecation:\n{done.stdout}", "eprecat" not in done.stdout)
    results = project / "target" / ("sources.json" if args[0] == "source" else "run_results.json")
    return {r["unique_id"].split(".")[-1 if args[0] == "source" else 2]: r["status"] for r in json.loads(results.read_text())["results"]} if results.exists() else {}


def files(project):
    return {str(p.relative_to(project)): p.read_text() for p in sorted(project.rglob("*")) if p.is_file() and "target" not in p.parts and p.suffix in (".yml", ".sql")}


def valid(project):
    """The semantic manifest of a parsed project, without a warning."""
    manifest = PydanticSemanticManifest.parse_raw((project / "target/semantic_manifest.json").read_text())
    issues = SemanticManifestValidator[PydanticSemanticManifest]().validate_semantic_manifest(manifest).all_issues
    wrong.extend(f"{project.name}: {i.as_readable_str()}" for i in issues)
    return manifest


def broken(name, **queries):
    """A copy of the files in which each file of a table has the rows of a query on it, and its address as dbt's variable."""
    shutil.copytree(work / "out", work / name)
    for table, query in queries.items():
        for at in sorted(glob.glob(str(work / name / table.replace("partitions_of_", "_reportferry_partitions/table=") / "dt=*/part-0.parquet"))):
            duckdb.sql(f"""COPY ({query.replace('ROWS', f"read_parquet('{at}', hive_partitioning=false)")}) TO '{at}.new' (FORMAT parquet)""")
            os.replace(f"{at}.new", at)
    return "--vars", json.dumps({"reportferry_files": str(work / name)})


def only(what, results, wanted):
    """Nothing but these has such a status, and everything else is right, but for what was skipped behind it."""
    for status in ("warn", "fail", "error"):
        found = {name for name, s in results.items() if s == status}
        check(f"{what}: {status} are {sorted(found)}, want {wanted.get(status, [])}", found == set(wanted.get(status, [])))
    check(f"{what}: {results}", set(results.values()) <= {"pass", "success", "no-op", "skipped", *wanted})


CHANGED = "reportferry_changed_after_final"


def same(a, b):
    """Whether two cells, or their texts, are the same: numbers but for the last digits that MetricFlow prints, moments by their minute,
    and midnight as its day."""
    try:
        return abs(float(a) - float(b)) <= 1e-5 * max(1, abs(float(b)))
    except (ValueError, TypeError):
        a, b = (re.sub(r"^([0-9-]{10})[T ]([0-9]{2}:[0-9]{2}).*", r"\1 \2", str(cell)).removesuffix(" 00:00") for cell in (a, b))
        return a == b


ROWS = "read_parquet('{0}/out/{1}/dt=*/part-0.parquet', union_by_name=true)"


def asked(project, truth, *args):
    """Metrics by MetricFlow, held against a query of DuckDB's with the same columns."""
    out = work / "asked.csv"
    done = subprocess.run([bin / "mf", "query", "--csv", out, "--decimals", "6", *args], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, f"mf query {' '.join(args)}:\n{done.stdout[-6000:]}{done.stderr}"
    columns = next(csv.reader(out.open()))
    got = sorted(([row[c] for c in columns] for row in csv.DictReader(out.open())))
    with duckdb.connect() as d:
        want = sorted(["" if cell is None else str(cell) for cell in row] for row in d.execute(truth).fetchall())
    check(f"mf query {' '.join(args)}: {len(got)} rows, and DuckDB {len(want)}", len(got) == len(want) > 0)
    for mine, theirs in zip(got, want):
        for column, a, b in zip(columns, mine, theirs):
            held["metrics"] += 1
            check(f"{' '.join(args)}: {column} is {a}, and DuckDB's is {b}", same(a, b))


def on_parquet(project):
    """Everything passes on what the program has written, and each test notices what it is for."""
    results = dbt(project, "build")
    only("on Parquet", results, {"warn": [CHANGED]})
    held["models"] += sum(s == "success" for s in results.values())
    held["tests"] += sum(s == "pass" for s in results.values())
    db = duckdb.connect(str(project / "reportferry.duckdb"), read_only=True)
    rows, partitions = ROWS.format(work, "cohorts_daily"), ROWS.format(work, "_reportferry_partitions/table=*")
    for model, query in {
        "SELECT day, network, sum(installs), sum(cost), max(ecpi_all), max(arpdau) FROM cohorts_daily_by_day_network":
            f"SELECT day, network, sum(installs), sum(cost), sum(cost)::DOUBLE / nullif(sum(installs), 0), sum(all_revenue)::DOUBLE / nullif(sum(kpi_daus), 0) FROM {rows}",
        "SELECT min(day), count(*), sum(cost) FROM cohorts_daily_final":
            f"SELECT min(day), count(*), sum(cost) FROM {rows} WHERE day IN (SELECT partition_date FROM {partitions} WHERE table_name = 'cohorts_daily' AND state = 'final')",
        "SELECT table_name, count(*), max(fetched) FROM _reportferry_partitions": f"SELECT table_name, count(*), max(fetched) FROM {partitions}",
        "SELECT count(*) > 0 FROM _reportferry_restatements": "SELECT true",
        "SELECT table_name, last_period FROM _reportferry_freshness": f"SELECT table_name, max(partition_date) FROM {partitions}",
    }.items():
        got, want = (db.execute(q + " GROUP BY ALL ORDER BY ALL").fetchall() for q in (model, query))
        check(f"{model}: {len(got)} rows, want {len(want)}", len(got) == len(want) > 0)
        for mine, theirs in zip(got, want):
            check(f"{model}: {mine}, want {theirs}", all(map(same, mine, theirs)))
    db.close()

    manifest = valid(project)
    check(f"metrics: {len(manifest.metrics)}", len(manifest.metrics) > 20)
    cohorts = (f"SELECT network, sum(cost), sum(cost)::DOUBLE / nullif(sum(installs), 0), sum(cost)::DOUBLE / nullif(sum(paid_impressions), 0) * 1000, "
               f"sum(all_revenue_total_d7)::DOUBLE / nullif(sum(cost), 0) FROM {rows} GROUP BY 1")
    prefix = "cohorts_daily_"
    asked(project, cohorts, "--metrics", ",".join(prefix + m for m in ("cost", "ecpi_all", "ecpm", "roas_d7")), "--group-by", "cohorts_daily__network")
    asked(project, f"SELECT day, sum(installs), sum(purchase_events) FROM {rows} GROUP BY 1", "--metrics", prefix + "installs," + prefix + "purchase_events", "--group-by", "metric_time__day")
    asked(project, f"SELECT sum(daus) FROM {rows} WHERE day = (SELECT max(day) FROM {rows})", "--metrics", prefix + "daus")  # of the last day alone
    asked(project, f"SELECT date_trunc('hour', hour), sum(cost) FROM {ROWS.format(work, 'hourly')} GROUP BY 1", "--metrics", "hourly_cost", "--group-by", "metric_time__hour")

    fresh = dbt(project, "source", "freshness")
    check(f"freshness of five tables: {fresh}", len(fresh) == 5 and set(fresh.values()) == {"pass"})
    old = broken("old", partitions_of_cohorts_daily="SELECT * REPLACE (fetched - INTERVAL 27 HOUR AS fetched) FROM ROWS")
    only("a table that is 27 hours old", dbt(project, "source", "freshness", *old), {"warn": ["_reportferry_partitions_cohorts_daily"]})
    spoiled = broken("spoiled", cohorts_daily="SELECT * FROM ROWS UNION ALL (SELECT * FROM ROWS LIMIT 1)", weekly="SELECT * REPLACE (NULL AS country_code) FROM ROWS LIMIT 1",
                     partitions_of_hourly="SELECT * REPLACE ('unreconciled' AS reconciled) FROM ROWS")
    only("a row twice, a dimension that is NULL, and rows that differ from totals", dbt(project, "build", *spoiled, code=1), {
        "fail": ["source_reportferry_unique_reportferry_cohorts_daily_day__app__network", "source_not_null_reportferry_weekly_country_code"],
        "warn": [CHANGED, "reportferry_unreconciled"]})


def as_package(package):
    """Another project takes the folder as a local package, has days of its own, and takes a test more seriously."""
    root = work / "root"
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text("name: mine\nprofile: reportferry\nconfig-version: 2\nmodels: {reportferry: {semantic: {+enabled: false}}}\n"
                                          "data_tests: {reportferry: {reportferry_changed_after_final: {+severity: error}}}\n")
    (root / "models/hours.yml").write_text("models: [{name: hours, time_spine: {standard_granularity_column: at}, columns: [{name: at, granularity: hour}]},\n"
                                           "  {name: dates, time_spine: {standard_granularity_column: at}, columns: [{name: at, granularity: day}]}]\n")
    for name, unit in (("hours", "HOUR"), ("dates", "DAY")):
        (root / f"models/{name}.sql").write_text(f"SELECT range AS at FROM range(TIMESTAMP '2026-01-01', TIMESTAMP '2027-01-01', INTERVAL 1 {unit})\n")
    (root / "packages.yml").write_text(f"packages: [{{local: {package}}}]\n")
    (root / "models/spend.sql").write_text("SELECT network, SUM(cost) AS cost FROM {{ ref('cohorts_daily_final') }} GROUP BY network\n")
    shutil.copy(package / "profiles.yml", root)
    dbt(root, "deps")
    dbt(root, "run")
    only("as a package", dbt(root, "test", code=1), {"fail": [CHANGED]})
    valid(root)
    check("the model on the package's has no rows", duckdb.connect(str(root / "reportferry.duckdb"), read_only=True).execute("SELECT count(*) FROM spend").fetchone()[0] > 0)


def in_postgres(base):
    """The same project in a Postgres of its own."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    data = work / "postgres"
    data.mkdir()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    who = {}
    if os.getuid() == 0:
        shutil.chown(data, "postgres", "postgres")
        who = {"user": "postgres", "group": "postgres", "extra_groups": []}
    subprocess.run([f"{found}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=data, **who)
    server = subprocess.Popen([f"{found}/postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", data, "-F"], stderr=subprocess.DEVNULL, cwd=data, **who)
    try:
        for _ in range(100):
            if subprocess.run([f"{found}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode == 0:
                break
            time.sleep(0.1)
        sink = f"postgres://tester@127.0.0.1:{port}/postgres/ads?sslmode=disable"
        reportferry(base, sink, "run", "--now", ledger="ledger-postgres")
        reportferry(base, sink, "dbt", "--out", str(work / "pg"), ledger="ledger-postgres")
        results = dbt(work / "pg", "build")
        only("in Postgres", results, {})
        held["models"] += sum(s == "success" for s in results.values())
        held["tests"] += sum(s == "pass" for s in results.values())
        fresh = dbt(work / "pg", "source", "freshness")
        check(f"freshness in Postgres: {fresh}", len(fresh) == 5 and set(fresh.values()) == {"pass"})
        valid(work / "pg")
        asked(work / "pg", f"SELECT network, sum(cost) FROM {ROWS.format(work, 'cohorts_daily')} GROUP BY 1", "--metrics", "cohorts_daily_cost", "--group-by", "cohorts_daily__network")
    finally:
        server.terminate()
        server.wait()


def main():
    servers = []
    try:
        for seed in ("11", "7"):  # all that the first account says is restated by the second one
            server, base = serving(seed)
            servers.append(server)
            reportferry(base, f"file://{work}/out", "run", "--now", "--force")
        project = work / "project"
        reportferry(base, f"file://{work}/out", "dbt", "--by", "network", "--out", str(project))
        first = files(project)
        on_parquet(project)
        said = reportferry(base, f"file://{work}/out", "dbt", "--by", "network", "--out", str(project))
        check(f"written again, the project has other files: {said}", files(project) == first)
        as_package(project)
        reportferry(base, "bigquery://proj/ds?endpoint=http://127.0.0.1:9", "dbt", "--out", str(work / "bq"))
        dbt(work / "bq", "parse")
        valid(work / "bq")
        in_postgres(base)
    finally:
        for server in servers:
            server.kill()
            server.wait()
    for text in wrong[:20]:
        print(text)
    print(f"dbt: {held['models']} models made and {held['tests']} tests passed in DuckDB and Postgres, {held['metrics']} cells of MetricFlow held against DuckDB's; {len(wrong)} wrong")
    return len(wrong) > 0


sys.exit(main())
