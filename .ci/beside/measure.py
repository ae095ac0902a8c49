"""Runs the program and scripts of other libraries on the same recorded answers, in turn, all with as many requests at once, and says
what each took: wall time, CPU and peak of memory, as min, median and max, and as a ratio to the program's, and its requests. Before a
workload is measured, every cell that each of them has written is held against the answers, money exactly. It ends with 1 when the
program asks for more than a workload's bound, or takes longer than the fastest of the others. Arguments: the program; the players' and
the emulators' addresses; rounds; and the workloads, or none for all of them."""
import collections
import gzip
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

PROGRAM, EMULATORS, ROUNDS, ONLY = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2].split(",")), int(sys.argv[3]), sys.argv[4:]
AT_ONCE = 3  # requests, as the program begins with
LOAD, NIGHT = 1.15, 2  # the program's requests: so many times the others', and so many more than theirs
broken = []
PEERS = ["polars", "pyarrow", "pandas", "duckdb"]
HERE = os.path.dirname(os.path.abspath(__file__))
WORK = tempfile.mkdtemp(prefix="beside-")
yesterday = datetime.now(timezone.utc).date() - timedelta(1)
MONEY = ["cost", "all_revenue"]
COUNTS = ["installs", "clicks"]
RATIOS = ["ecpi_all"]
KEYS = ["app_token", "country_code", "network", "campaign"]

CONFIG = """
service: {{base_url: "{service}", token: "${{ADJUST_TOKEN}}", rate: 1000, in_flight: {at_once}}}
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
    return urllib.request.urlopen(urllib.request.Request(url, method=method, data=body and json.dumps(body).encode())).read()


def run(command):
    """Seconds of wall time and of CPU, and MiB at the peak."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        pid = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, "ADJUST_TOKEN": "made-up", "AT_ONCE": str(AT_ONCE)})
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
            f.write(CONFIG.format(service=service, dir=self.dir, days=days, at_once=AT_ONCE))

    def load(self, days):
        if self.name == "reportferry":
            return run([PROGRAM, "run", "-q", "--config", f"{self.dir}/t.yml"])
        return run([sys.executable, f"{HERE}/peer.py", self.name, self.service, f"{self.dir}/out/t", str(yesterday - timedelta(days - 1)), str(yesterday)])

    def night(self):
        if self.name == "reportferry":
            return run([PROGRAM, "run", "--now", "-q", "--config", f"{self.dir}/t.yml"])
        return self.load(7)


def answers(service, days, folder):
    """Writes the answers about so many days as files of CSV, by weeks, as all of the tools ask for them."""
    first = yesterday - timedelta(days - 1)
    sunday = first - timedelta((first.weekday() + 1) % 7)

    def write(n):
        begin = sunday + timedelta(7 * n)
        week = f"{max(first, begin)}:{min(yesterday, begin + timedelta(6))}"
        url = f"{service}/reports-service/csv_report?date_period={week}&dimensions=day,{','.join(KEYS)}&metrics={','.join(COUNTS + MONEY + RATIOS)}&currency=USD"
        request = urllib.request.Request(url, headers={"Authorization": "Bearer made-up", "Accept-Encoding": "gzip"})
        for left in range(7, -1, -1):
            try:
                with urllib.request.urlopen(request) as answer:
                    text = gzip.decompress(answer.read())
                break
            except (urllib.error.HTTPError, http.client.IncompleteRead, EOFError):  # some workloads spoil answers
                if not left:
                    raise
        with open(f"{folder}/{begin}.csv", "wb") as file:
            file.write(text)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(write, range((yesterday - sunday).days // 7 + 1)))


def differing(tool, folder):
    """How many rows and cells there are, and how many of them aren't what the answers say. A cell of money is compared as the decimal
    number that its text is; a ratio may be the double that is nearest to its text, or rounded to six decimals."""
    import duckdb
    keys = ["day"] + KEYS
    wrong = " + ".join(
        [f"(h.{c}::BIGINT IS DISTINCT FROM w.{c}::BIGINT)::INT" for c in COUNTS]
        + [f"(h.{c}::VARCHAR::DECIMAL(38, 6) IS DISTINCT FROM w.{c}::DECIMAL(38, 6))::INT" for c in MONEY]
        + [f"(NOT coalesce(h.{c}::DOUBLE = w.{c}::DOUBLE OR abs(h.{c}::DECIMAL(38, 18) - w.{c}::DECIMAL(38, 18)) <= 0.0000005, h.{c} IS NULL AND w.{c} = ''))::INT" for c in RATIOS])
    return duckdb.sql(f"""
        WITH w AS (SELECT * FROM read_csv('{folder}/*.csv', header = true, all_varchar = true)),
             h AS (SELECT * REPLACE (day::DATE::VARCHAR AS day) FROM read_parquet('{tool.dir}/out/t/*/*.parquet', hive_partitioning = false))
        SELECT (SELECT count(*) FROM h), (SELECT count(*) FROM w), coalesce(sum({wrong}), 0)::BIGINT, count(*)::BIGINT * {len(COUNTS + MONEY + RATIOS)},
               (SELECT count(*) FROM w WHERE regexp_matches({" || ' ' || ".join(MONEY)}, '[.][0-9]{{7}}'))
        FROM w LEFT JOIN h USING ({', '.join(keys)})""").fetchall()[0]


def compare(tool):
    """Ends the program when it has written something else. A process of its own does it: the peak of memory of those whom this one
    starts begins at its own."""
    child = os.fork()
    if not child:
        bad = True
        try:
            with tempfile.TemporaryDirectory() as folder:
                answers(tool.service, tool.days, folder)
                rows, want, wrong, cells, finer = differing(tool, folder)
            print(f"{tool.name:12} {rows} of {want} rows, {wrong} of {cells} cells differ", flush=True)
            bad = tool.name == "reportferry" and (rows, wrong) != (want, 0) or finer != 0
        finally:
            os._exit(bad)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{tool.name}'s rows aren't those of the answers")


def asked(service):
    """The queries since the last time, counted by what they are."""
    def what(query):
        path, _, text = query.partition("?")
        kind = path.rsplit("/", 1)[-1]
        return "totals" if kind == "csv_report" and "dimensions=day&" in text + "&" else "rows" if kind == "csv_report" else kind
    return collections.Counter(what(query) for query in json.loads(call("POST", service + "/_asked")))


def table(title, took, queries, most):
    ours = [statistics.median(c) for c in zip(*took["reportferry"])]
    print(f"{'':12} {'wall, s':^22} {'CPU, s':^22} {'MiB':^22}   of ours: wall, CPU, MiB")
    for name, list_ in took.items():
        cells, ratios = "", ""
        for i, column in enumerate(zip(*list_)):
            low, mid, high = min(column), statistics.median(column), max(column)
            cells += f" {low:6.0f} {mid:6.0f} {high:6.0f}  " if i == 2 else f" {low:6.2f} {mid:6.2f} {high:6.2f}  "
            ratios += f" {mid / ours[i]:6.2f}"
        print(f"{name:12}{cells} {ratios}   {queries[name].total()} requests: {dict(queries[name])}", flush=True)
    fastest, least = (min(of(name) for name in PEERS) for of in (lambda name: statistics.median(t[0] for t in took[name]), lambda name: queries[name].total()))
    bound, n = most(least), queries["reportferry"].total()
    if n > bound:
        broken.append(f"{title}: {n} requests, of at most {bound:g}")
    if ours[0] > fastest:
        broken.append(f"{title}: {ours[0]:.2f} s, and the fastest of the others takes {fastest:.2f} s")


def measure(title, service, days, do, most, before=lambda tool: None, keep=False):
    took, tools, all_tools, queries = {}, {}, [], {}
    print(f"\n{title}", flush=True)
    for n in range(ROUNDS + 1):  # the first round records the answers, warms files, and is compared
        for name in ["reportferry"] + PEERS:
            tool = tools.get(name) if keep else None
            if not tool:
                tool = tools[name] = Tool(name, service, days)
                all_tools.append(tool)
                before(tool)
            asked(service)
            result = do(tool)
            queries[name] = asked(service)
            if n:
                took.setdefault(name, []).append(result)
            else:
                compare(tool)
    table(title, took, queries, most)
    for tool in all_tools:  # not before: some file systems are slow to create files beside many that were just removed
        shutil.rmtree(tool.dir)


def wanted(name):
    return not ONLY or name in ONLY


def play(service, latency="0s", faults=False):
    call("PUT", service + "/_play", {"latency": latency, "faults": faults})


def of_a_load(others):
    return max(LOAD * others, others + 2)  # of the shortest, a list of apps and one answer with totals


def of_a_night(others):
    return NIGHT + others


small, big = EMULATORS["small"], EMULATORS["big"]
try:
    if wanted("first"):
        measure("first load of 60 days, 12 apps", small, 60, lambda t: t.load(60), of_a_load)
    if wanted("big"):
        measure("60 days with many rows", big, 60, lambda t: t.load(60), of_a_load)
    if wanted("night"):
        measure("a night where nothing changed, 7 days looked back", small, 60, lambda t: t.night(), of_a_night, before=lambda t: t.load(60), keep=True)
    if wanted("changed"):
        changes = iter(range(1, 1000))

        def changed(tool):
            call("POST", EMULATORS["smallemulator"] + "/_emulator/restatements",
                 [{"day": str(yesterday - timedelta(3)), "metric": "installs", "delta": next(changes)}])
            call("POST", small + "/_forget")
            urllib.request.urlopen(urllib.request.Request(  # so that whoever is first doesn't wait for the emulator
                f"{small}/reports-service/csv_report?date_period={yesterday}:{yesterday}&dimensions=day&metrics=installs", headers={"Authorization": "Bearer made-up"})).read()
            return tool.night()
        measure("a night where one day changed", small, 60, changed, of_a_night, before=lambda t: t.load(60), keep=True)
    if wanted("year"):
        measure("365 days in small partitions", small, 365, lambda t: t.load(365), of_a_load)
    if wanted("latency"):
        play(small, latency="2s")
        measure("365 days, 2 s an answer", small, 365, lambda t: t.load(365), of_a_load)
        play(small)
    if wanted("faults"):
        def faulty(tool):
            play(small, faults=True)
            return tool.load(365)
        measure("365 days, a twelfth of the answers spoilt", small, 365, faulty, of_a_load)
        play(small)
finally:
    shutil.rmtree(WORK)
if broken:
    sys.exit("\nmore than it may be:\n" + "\n".join(broken))
