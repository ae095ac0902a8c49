"""deploy/airflow in a real Airflow: its DAGs run by `airflow dags test`, and what Airflow's own database says of them.

Arguments: a folder to work in, the program, and Airflow's command. The emulator is the program's own, in a process of its own.
"""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import urllib.request

work, program, airflow = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
dags = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy" / "airflow"
DAY = "2026-11-03"

emulator = subprocess.Popen([program, "emulator", "--addr", "127.0.0.1:0", "--seed", "7", "--rate", "-1"], stderr=subprocess.PIPE, text=True)
base = emulator.stderr.readline().split("serving on ")[1].strip()


def faults(script):
    request = urllib.request.Request(base + "/_emulator/faults", json.dumps(script).encode(), method="PUT")
    urllib.request.urlopen(request).read()


def check(what, got, want):
    if got != want:
        raise SystemExit(f"airflow: {what}: {got}, want {want}")


def place(name, kind="report"):
    """A folder with a config and an Airflow of its own."""
    at = work / name
    at.mkdir()
    if name != "first":
        shutil.copytree(work / "first" / "airflow", at / "airflow")
    (at / "reportferry.yml").write_text(f"""
service: {{base_url: {base}, token: "${{TOKEN}}", rate: 1000, attempts: 1}}
ledger: file://{at}/ledger
jobs:
  - name: {name}
    kind: {kind}
    sinks: [file://{at}/out]
    start: {DAY}
    page: 1d
    currency: USD
    dimensions: [day, network]
    metrics: [installs, cost]
""")
    return at


def run(at, *command, **env):
    everything = {
        **os.environ, "AIRFLOW_HOME": str(at / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": str(dags), "TOKEN": "token-of-the-proof",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{at}/airflow/airflow.db", "RF_PROGRAM": program, "RF_JOB": at.name,
        "REPORTFERRY_CONFIG": str(at / "reportferry.yml"), "RF_RETRY_SECONDS": "1", **env,
    }
    done = subprocess.run([airflow, *command], cwd=at, env=everything, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (at / "log").write_text(done.stdout)
    return done


def instance(at):
    """What Airflow's database says of the only task that ran: its state, which try it was, and what it pushed."""
    with sqlite3.connect(at / "airflow" / "airflow.db") as db:
        (state, tries), = db.execute("select state, try_number from task_instance").fetchall()
        pushed = [json.loads(v) for (v,) in db.execute("select value from xcom where key = 'return_value'")]
    return state, tries, [json.loads(p) if isinstance(p, str) else p for p in pushed]


try:
    first = place("first")
    done = run(first, "db", "migrate")
    if done.returncode != 0:
        raise SystemExit(f"airflow: db migrate ended with {done.returncode}:\n{done.stdout[-3000:]}")
    others = [place("nights"), place("wrong", kind="repot")]

    # The day of the logical date, and its result in XCom.
    run(first, "dags", "test", "reportferry_day", DAY)
    state, tries, pushed = instance(first)
    check("a good day", (state, tries), ("success", 1))
    (told,) = pushed
    check("a good day's partitions", [(p["partition"], p["state"]) for p in told["jobs"][0]["partitions"]], [(DAY, "written")])
    check("a good day's files", [f.parent.name for f in (first / "out" / "first").glob("*/*.parquet")], [f"dt={DAY}"])

    # A night that is stopped (130) at its totals, then fails for the rows of a day (3), and then does what is left: three tries.
    nights = others[0]
    faults([
        {"kind": "slow", "delay": "60s", "path": "csv_report", "nth": 1},
        {"kind": "status", "status": 400, "path": "csv_report", "query": f"date_period={DAY}", "nth": 3},
    ])
    run(nights, "dags", "test", "reportferry_nightly", REPORTFERRY_DEADLINE="6s")
    state, tries, pushed = instance(nights)
    log = (nights / "log").read_text()
    check("the exit codes of a bad night", [c for c in (130, 3) if f"reportferry ended with {c}" in log], [130, 3])
    check("a bad night", (state, tries), ("success", 3))
    faults([])

    # A wrong config isn't tried again.
    wrong = others[1]
    run(wrong, "dags", "test", "reportferry_nightly")
    check("a wrong config", instance(wrong), ("failed", 1, []))
    if "repot" not in (wrong / "log").read_text():
        raise SystemExit("airflow: the log of a wrong config doesn't say what is wrong")
    print("airflow: a good day, a night of three tries, a wrong config: its database says what became of them")
finally:
    emulator.terminate()
    emulator.wait()
