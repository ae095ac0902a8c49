"""Runs the program and scripts of other libraries on the same recorded answers, in turn, and says what each took: wall time, CPU and
peak of memory, as min, median and max, and as a ratio to the program's. Of the first load it holds every cell of money that they
wrote against the answers. Arguments: the program; the players' and the emulators' addresses; rounds; and the workloads, or none for
all of them."""
import csv
import gzip
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

PROGRAM, EMULATORS, ROUNDS, ONLY = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2].split(",")), int(sys.argv[3]), sys.argv[4:]
PEERS = ["polars", "pyarrow", "pandas", "duckdb"]
HERE = os.path.dirname(os.path.abspath(__file__))
WORK = tempfile.mkdtemp(prefix="beside-")
yesterday = datetime.now(timezone.utc).date() - timedelta(1)
MONEY = ["cost", "all_revenue"]
KEYS = ["app_token", "country_code", "network", "campaign"]

CONFIG = """
service: {{base_url: "{service}", token: "${{ADJUST_TOKEN}}", rate: 1000}}
ledger: file://{dir}/ledger
jobs:
  - name: t
    kind: report
    schedule: "0 0 * * *"
    sinks: [file://{dir}/out]
    start: -{days}d
    lookback: 7
    currency: USD
    dimensions: [day, app_token, country_code, network, campaign]
    metrics: [installs, clicks, cost, all_revenue, ecpi_all]
"""


def call(method, url, body=None):
    urllib.request.urlopen(urllib.request.Request(url, method=method, data=body and json.dumps(body).encode())).read()


def run(command, **env):
    """Seconds of wall time and of CPU, and MiB at the peak."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        pid = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, "ADJUST_TOKEN": "made-up", **env})
        _, status, used = os.wait4(pid.pid, 0)
        took = time.monotonic() - began
        pid.returncode = os.waitstatus_to_exitcode(status)
        if pid.returncode:
            said.seek(0)
            sys.exit(f"{command} ended with {pid.returncode}:\n{said.read().decode()[-3000:]}")
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


class Tool:
    def __init__(self, name, service, days):
        self.name, self.service, self.days = name, service, days
        self.dir = f"{WORK}/{name}-{days}-{time.monotonic_ns()}"
        os.makedirs(self.dir)
        with open(f"{self.dir}/t.yml", "w") as f:
            f.write(CONFIG.format(service=service, dir=self.dir, days=days))

    def load(self, days, **env):
        if self.name == "reportferry":
            return run([PROGRAM, "run", "-q", "--config", f"{self.dir}/t.yml"], **env)
        return run([sys.executable, f"{HERE}/peer.py", self.name, self.service, f"{self.dir}/out/t", str(yesterday - timedelta(days - 1)), str(yesterday)], **env)

    def night(self):
        if self.name == "reportferry":
            return run([PROGRAM, "run", "--now", "-q", "--config", f"{self.dir}/t.yml"])
        return self.load(7)

    def differing(self, truth):
        """How many rows there are, and how many cells of money aren't what the answers say."""
        import duckdb
        rows = duckdb.sql(f"SELECT day::VARCHAR, {', '.join(KEYS)}, {', '.join(f'{m}::VARCHAR' for m in MONEY)} FROM read_parquet('{self.dir}/out/t/*/*.parquet', hive_partitioning = false)").fetchall()
        wrong = sum(Decimal(have) != want for row in rows for have, want in zip(row[5:], truth[(row[0][:10],) + row[1:5]], strict=True))
        return len(rows), wrong


def truth_of(service, days):
    out, first = {}, yesterday - timedelta(days - 1)
    sunday = first - timedelta((first.weekday() + 1) % 7)
    while sunday <= yesterday:
        week = f"{max(first, sunday)}:{min(yesterday, sunday + timedelta(6))}"
        url = f"{service}/reports-service/csv_report?date_period={week}&dimensions=day,{','.join(KEYS)}&metrics=installs,clicks,{','.join(MONEY)},ecpi_all&currency=USD"
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": "Bearer made-up", "Accept-Encoding": "gzip"})) as a:
            for r in csv.DictReader(io.StringIO(gzip.decompress(a.read()).decode())):
                out[(r["day"],) + tuple(r[k] for k in KEYS)] = [Decimal(r[m]) for m in MONEY]
        sunday += timedelta(7)
    return out


def compare(tools, truth):
    bad = 0
    for name, tool in tools.items():
        rows, wrong = tool.differing(truth)
        print(f"{name:12} {rows} of {len(truth)} rows, {wrong} of {len(truth) * len(MONEY)} cells of money differ", flush=True)
        bad |= name == "reportferry" and (rows, wrong) != (len(truth), 0)
    return bad


def table(title, took):
    ours = [statistics.median(c) for c in zip(*took["reportferry"])]
    print(f"\n{title}\n{'':12} {'wall, s':^22} {'CPU, s':^22} {'MiB':^22}   of ours: wall, CPU, MiB")
    for name, list_ in took.items():
        cells, ratios = "", ""
        for i, column in enumerate(zip(*list_)):
            low, mid, high = min(column), statistics.median(column), max(column)
            cells += f" {low:6.0f} {mid:6.0f} {high:6.0f}  " if i == 2 else f" {low:6.2f} {mid:6.2f} {high:6.2f}  "
            ratios += f" {mid / ours[i]:6.2f}"
        print(f"{name:12}{cells} {ratios}", flush=True)


def measure(title, service, days, do, before=lambda tool: None, keep=False):
    took, tools = {}, {}
    for n in range(ROUNDS + 1):  # the first round records the answers and warms files
        for name in ["reportferry"] + PEERS:
            tool = tools.get(name) if keep else None
            if not tool:
                tool = tools[name] = Tool(name, service, days)
                before(tool)
            result = do(tool)
            if n:
                took.setdefault(name, []).append(result)
            if not keep and n < ROUNDS:
                shutil.rmtree(tool.dir)
    table(title, took)
    return tools


def wanted(name):
    return not ONLY or name in ONLY


def play(service, latency="0s", faults=False):
    call("PUT", service + "/_play", {"latency": latency, "faults": faults})


small, big = EMULATORS["small"], EMULATORS["big"]
try:
    if wanted("first"):
        tools = measure("first load of 60 days, 12 apps", small, 60, lambda t: t.load(60))
        if not (child := os.fork()):  # the peak of memory of whom this process starts begins at its own
            os._exit(compare(tools, truth_of(small, 60)))
        if os.waitpid(child, 0)[1]:
            sys.exit("reportferry's rows aren't those of the answers")
    if wanted("big"):
        measure("60 days with many rows", big, 60, lambda t: t.load(60))
    if wanted("night"):
        measure("a night where nothing changed, 7 days looked back", small, 60, lambda t: t.night(), before=lambda t: t.load(60), keep=True)
    if wanted("changed"):
        changes = iter(range(1, 1000))

        def changed(tool):
            call("POST", EMULATORS["smallemulator"] + "/_emulator/restatements",
                 [{"day": str(yesterday - timedelta(3)), "metric": "installs", "delta": next(changes)}])
            call("POST", small + "/_forget")
            urllib.request.urlopen(urllib.request.Request(  # so that whoever is first doesn't wait for the emulator
                f"{small}/reports-service/csv_report?date_period={yesterday}:{yesterday}&dimensions=day&metrics=installs", headers={"Authorization": "Bearer made-up"})).read()
            return tool.night()
        measure("a night where one day changed", small, 60, changed, before=lambda t: t.load(60), keep=True)
    if wanted("year"):
        measure("365 days in small partitions", small, 365, lambda t: t.load(365))
    if wanted("latency"):
        play(small, latency="2s")
        measure("365 days, 2 s an answer", small, 365, lambda t: t.load(365, AT_ONCE="50"))
        play(small)
    if wanted("faults"):
        def faulty(tool):
            play(small, faults=True)
            return tool.load(365)
        measure("365 days, a twelfth of the answers spoilt", small, 365, faulty)
        play(small)
finally:
    shutil.rmtree(WORK)
