"""deploy/dagster in a real Dagster: assets are materialized, and its event log is held against the ledger.

Arguments: a folder to work in, and the program. The emulator is the program's own, in a process of its own.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import dagster as dg

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "deploy" / "dagster"))
import reportferry_dagster as rf  # noqa: E402

work, program = pathlib.Path(sys.argv[1]), sys.argv[2]
FIRST, LAST = "2026-11-02", "2026-11-06"

emulator = subprocess.Popen([program, "emulator", "--addr", "127.0.0.1:0", "--seed", "7", "--rate", "-1"], stderr=subprocess.PIPE, text=True)
base = emulator.stderr.readline().split("serving on ")[1].strip()


def faults(list):
    request = urllib.request.Request(base + "/_emulator/faults", json.dumps(list).encode(), method="PUT")
    urllib.request.urlopen(request).read()


def check(what, got, want):
    if got != want:
        raise SystemExit(f"dagster: {what}: {got}, want {want}")


try:
    config = work / "reportferry.yml"
    config.write_text(f"""
service: {{base_url: {base}, token: "${{TOKEN}}", rate: 1000, attempts: 2}}
ledger: file://{work}/ledger
jobs:
  - name: campaigns
    kind: report
    sinks: [file://{work}/out]
    start: {FIRST}
    page: 1d
    currency: USD
    dimensions: [day, network]
    metrics: [installs, cost]
""")
    os.environ["TOKEN"] = "token-of-the-proof"
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "yes"
    days = dg.DailyPartitionsDefinition(start_date=FIRST)
    asset = rf.table("campaigns", days, command=(program, "run", "--config", str(config)))
    instance = dg.DagsterInstance.local_temp(str(work))

    def materialize(first, last=None, fails=False):
        tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last} if last else {}
        done = dg.materialize([asset], instance=instance, partition_key=None if last else first, tags=tags, raise_on_error=False)
        check(f"{first} to {last} succeeds", done.success, not fails)
        events = {e.materialization.partition: e.materialization for e in done.get_asset_materialization_events()}
        checks = {e.check_name: e for e in done.get_asset_check_evaluations()}
        return events, checks, done

    def ledger():
        out = subprocess.run([program, "status", "--output", "json", "--records", "--config", str(config)], capture_output=True, text=True).stdout  # it ends with 3 while days are missing
        return {r["partition"]: r for r in json.loads(out)["tables"][0]["records"]}

    def held(events, *partitions):
        records = ledger()
        check("partitions of the event log", sorted(events), sorted(partitions))
        for key, m in events.items():
            r = records[key]
            check(key + ": version", m.tags["dagster/data_version"], r["hash"])
            check(key + ": rows", m.metadata["dagster/partition_row_count"].value, r["rows"])
            sums = m.metadata["sums"].value
            check(key + ": sums", sums.get(key, sums), r["sums"])
            if not list((work / "out" / "campaigns" / f"dt={key}").glob("*.parquet")):
                raise SystemExit(f"dagster: {key} has no file")

    # One partition, and once more when nothing is due.
    for _ in range(2):
        events, checks, _done = materialize(FIRST)
        held(events, FIRST)
        check("reconciled", checks["reconciled"].passed, True)
        check("fresh, with days missing", checks["fresh"].passed, False)

    # A backfill is one run over its range; a day that fails is not materialized, and the others are.
    faults([{"kind": "status", "status": 400, "path": "csv_report", "query": "date_period=2026-11-05", "every": 1}])
    events, _checks, _done = materialize(FIRST, LAST, fails=True)
    held(events, "2026-11-02", "2026-11-03", "2026-11-04", "2026-11-06")
    faults([])
    events, checks, _done = materialize(FIRST, LAST)
    held(events, "2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05", "2026-11-06")

    # Rows that differ from the service's totals fail the check.
    faults([{"kind": "halve", "path": "csv_report", "column": "installs", "every": 1}])
    events, checks, _done = materialize("2026-11-07", fails=True)
    check("reconciled, with rows that are wrong", checks["reconciled"].passed, False)
    faults([])

    # The event log knows which partitions of the asset there are.
    known = instance.get_materialized_partitions(asset.key)
    check("materialized partitions", known, {f"2026-11-0{n}" for n in range(2, 8)})
    print("dagster: 7 steps, their event log as the ledger says")
finally:
    emulator.terminate()
    emulator.wait()
