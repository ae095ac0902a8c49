"""Has the program write two tables of Apache Iceberg and the same two in Parquet, restate all numbers, and has other people's readers
read them: every cell is that of the Parquet, now and at the snapshot before the restatement, each partition is one file, and a filter
on a day opens one. Spark rewrites all files before it reads, which the program takes for what it had put.

    reportferry emulator ── reportferry run ─┬─ REST catalog, warehouse ── PyIceberg, Spark, DuckDB ─┐
                                             └─ dt=DATE/*.parquet in a folder ───────────────────────┴─ equal

    .ci/catalog "$(.ci/python)" .ci/lake.py REPORTFERRY pyiceberg,duckdb,spark

REPORTFERRY is built with the tag iceberg. Where Spark is among the readers, it also answers for the SQL of the views: .ci/views.py. Exit
code 1 when something differs."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

DAYS = 20
# Job, its date, its other dimensions, its metrics: counts, money, and ratios.
JOBS = [
    ("spend", "day", ["app_token", "country_code", "network", "campaign"],
     ["installs", "clicks", "cost", "all_revenue", "purchase_events", "purchase_revenue", "ecpi_all", "ctr", "retention_rate_d1", "roas_d7"]),
    ("hours", "hour", ["network", "os_name"], ["installs", "clicks", "cost", "ecpi_all", "click_conversion_rate"]),
]
TODAY = datetime.now(timezone.utc).date()
FIRST = TODAY - timedelta(days=DAYS)
program, readers, here = Path(sys.argv[1]).resolve(), sys.argv[2], Path(__file__).resolve().parent
catalog = os.environ["CATALOG_URI"]


def config(base, folder):
    jobs = "\n".join(
        f"  - {{name: {name}, kind: report, guard: 100%, sinks: [\"file://{folder}/out\", \"iceberg://lake/ads?type=rest&uri={catalog}\"], start: {FIRST}, "
        f"currency: USD, dimensions: [{', '.join([on] + dimensions)}], metrics: [{', '.join(metrics)}]}}" for name, on, dimensions, metrics in JOBS)
    return (f"service: {{base_url: {base}, token: \"${{TOKEN}}\", rate: 1000}}\nledger: file://{folder}/ledger\n"
            f"spool_dir: {folder}/spool\njobs:\n{jobs}\n")


def reportferry(*args):
    done = subprocess.run([program, *args], env=os.environ | {"TOKEN": "made-up"}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"reportferry {' '.join(map(str, args))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def snapshots(table):
    """The table's current snapshot, and how many it has."""
    with urllib.request.urlopen(f"{catalog}/v1/namespaces/ads/tables/{table}") as answer:
        metadata = json.load(answer)["metadata"]
    return metadata["current-snapshot-id"], len(metadata["snapshots"])


def serving(seed):
    """An emulator, as a process, and its address."""
    server = subprocess.Popen([program, "emulator", "--addr", "127.0.0.1:0", "--hostile-names", "--days", str(DAYS + 8), "--apps", "3", "--rate", "1000", "--seed", seed],
                              stderr=subprocess.PIPE, text=True)
    return server, re.search(r"serving on (\S+)", next(line for line in server.stderr if "serving on" in line))[1]


def listless(base):
    """Has a service list no apps, so that another account may follow with all other numbers."""
    fault = [{"kind": "status", "status": 404, "path": "filters_data", "every": 1}]
    urllib.request.urlopen(urllib.request.Request(base + "/_emulator/faults", json.dumps(fault).encode(), method="PUT")).read()


def written(folder, servers):
    """Has the program write the tables, and all of them again with other numbers, and gives the reads that are to be made."""
    before = {}
    for seed in ("11", "7"):
        server, base = serving(seed)
        servers.append(server)
        if seed == "11":
            listless(base)
        (folder / "reportferry.yml").write_text(config(base, folder))
        reportferry("run", "--force", "--config", folder / "reportferry.yml")
        if not before:
            shutil.copytree(folder / "out", folder / "before")
            before = {name: snapshots(name)[0] for name, *_ in JOBS}
    reportferry("check", "--config", folder / "reportferry.yml")
    day = str(TODAY - timedelta(days=3))
    for name, on, *_ in JOBS:
        yield {"table": f"ads.{name}", "column": on, "day": day, "truth": f"{folder}/out/{name}"}
        yield {"table": f"ads.{name}", "column": on, "day": day, "truth": f"{folder}/before/{name}", "as_of": before[name]}


def wrong(read, got, files):
    """What a reader has found that isn't so, in sentences."""
    yield from got["differences"]
    days = sorted(got["days"])
    want = sorted(str(FIRST + timedelta(days=i)) for i in range((date.fromisoformat(days[-1]) - FIRST).days + 1)) if days else []
    if days != want or len(days) < DAYS:
        yield f"the partitions are {days}"
    if got["rows"] == 0:
        yield "there are no rows"
    # DuckDB counts what it opens only.
    if got["files"] != {"all": len(days), "day": 1} or len(days) != files:
        yield f"the files that are read are {got['files']} for {len(days)} partitions, of which the folder has {files}"


def read(folder, reads):
    """Has the readers make the reads, Spark after it has rewritten all files, and counts what is wrong."""
    (folder / "reads").write_text("\n".join(map(json.dumps, reads)))
    spark = ["--compact", "--views", folder / "views"] if "spark" in readers else []
    done = subprocess.run([here / "openreaders", readers, "--uri", catalog, "--reads", folder / "reads", *spark], capture_output=True, text=True)
    found, bad = [json.loads(line) for line in done.stdout.splitlines()], 0
    for one, got in zip(reads * len(readers.split(",")), found):
        for text in wrong(one, got, len(list(Path(one["truth"]).glob("dt=*")))):
            bad += 1
            print(f"{got['reader']}, {one['table']}{' before' if 'as_of' in one else ''}: {text}")
    if len(found) != len(reads) * len(readers.split(",")) or done.returncode and not bad:
        sys.exit(f"{len(found)} of {len(reads) * len(readers.split(','))} reads were made: exit code {done.returncode}\n{done.stderr[-3000:]}")
    for reader in readers.split(","):
        its = [got for got in found if got["reader"] == reader]
        print(f"{reader}: {sum(got['cells'] for got in its):,} cells of {len(its)} reads held against Parquet, {sum(got['seconds'] for got in its):.1f} s")
    return bad


def main():
    started, servers = time.monotonic(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            if "spark" in readers:
                sys.dont_write_bytecode = True
                import views
                held = views.held()
                (folder / "views").write_text(json.dumps(next(held)))
            reads = list(written(folder, servers))
            print(f"written and restated in {time.monotonic() - started:.1f} s; commits: {', '.join(f'{name} {snapshots(name)[1]}' for name, *_ in JOBS)}", flush=True)
            bad = read(folder, reads)
            if "spark" in readers:
                try:
                    held.send(json.loads((folder / "views").read_text()))
                except StopIteration as end:
                    bad += end.value
            # What Spark has rewritten is what was put: check reads it back, and a run finds nothing to do.
            after = [snapshots(name) for name, *_ in JOBS]
            reportferry("check", "--config", folder / "reportferry.yml")
            reportferry("run", "--now", "--config", folder / "reportferry.yml")
            if [snapshots(name) for name, *_ in JOBS] != after:
                bad += 1
                print("a run after it made a snapshot")
        finally:
            for server in servers:
                server.kill()
                server.wait()
        print(f"{bad} wrong; {time.monotonic() - started:.1f} s")
    return bad > 0


sys.exit(main())
