"""Imports the dashboards of deploy/bi/superset into a real Superset, over Parquet that the program wrote, and holds what they show
against DuckDB's own answers. Without it nobody would know whether the bundle can be imported, or whether a chart is right.

    reportferry emulator ── reportferry run ── Parquet ──┬── DuckDB ─────────────────────────┐
    reportferry views ── DuckDB's views ─────────────────┴── Superset ─┬─ its interface ─────┴─ equal
    deploy/bi/superset ── superset import-dashboards ──────────────────┴─ Chromium: every chart is drawn

Arguments: a folder with the program in it, and a folder for pictures. Exit code 1 when something is wrong."""
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import json
import zipfile
from pathlib import Path

import duckdb
import sqlglot
import yaml
from playwright.sync_api import sync_playwright

work, here = Path(sys.argv[1]).resolve(), Path(__file__).resolve().parent.parent
pictures = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
bundle = here / "deploy/bi/superset"
program, python = work / "reportferry", Path(sys.executable).parent
wrong, compared = [], 0


def serving(seed):
    """An emulator, as a process, and its address."""
    server = subprocess.Popen([program, "emulator", "--addr", "127.0.0.1:0", "--hostile-names", "--days", "75", "--apps", "2", "--rate", "1000", "--seed", seed],
                              stderr=subprocess.PIPE, text=True)
    return server, re.search(r"serving on (\S+)", next(line for line in server.stderr if "serving on" in line))[1]


def listless(base):
    """Has a service list no apps, so that another account may follow with all other numbers."""
    fault = [{"kind": "status", "status": 404, "path": "filters_data", "every": 1}]
    urllib.request.urlopen(urllib.request.Request(base + "/_emulator/faults", json.dumps(fault).encode(), method="PUT")).read()


def reportferry(*args):
    done = subprocess.run([program, *args, *([] if args[0] == "init" else ["--config", "rf.yml"])], cwd=work, env=os.environ | {"TOKEN": "made-up"},
                          capture_output=True, text=True)
    assert done.returncode == 0, f"reportferry {' '.join(args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def filled():
    """A folder of Parquet of the preset's tables, whose last ten days are restated, and the views on it in a DuckDB file."""
    reportferry("init", "rf.yml", "--embedded", "--preset", "cohorts", "--to", "./out")
    config = re.sub(r"start: -\d+d", "start: -70d", (work / "rf.yml").read_text()).replace("kind: report", "kind: report\n    guard: 100%")
    for seed, command in (("11", ["run"]), ("7", ["backfill", "cohorts_daily", "--from", "-10d", "--to", "yesterday", "--force"])):
        server, base = serving(seed)
        try:
            if seed == "11":
                listless(base)
            (work / "rf.yml").write_text(config.replace("service: embedded", f'service: {{base_url: {base}, token: "${{TOKEN}}", rate: 1000}} #'))
            reportferry(*command)
            views = reportferry("views", "cohorts_daily", "--dialect", "duckdb")
        finally:
            server.kill()
            server.wait()
    database = work / "reportferry.duckdb"
    with duckdb.connect(str(database)) as d:
        d.execute(views)
    return database


def imported(database):
    """A Superset with the bundle, and its environment."""
    home = work / "superset"
    home.mkdir()
    (home / "superset_config.py").write_text(
        f"SECRET_KEY = 'of this proof alone'\nSQLALCHEMY_DATABASE_URI = 'sqlite:///{home}/superset.db'\nWTF_CSRF_ENABLED = False\nTALISMAN_ENABLED = False\n")
    env = os.environ | {"SUPERSET_CONFIG_PATH": str(home / "superset_config.py"), "SUPERSET_HOME": str(home), "FLASK_APP": "superset"}
    with zipfile.ZipFile(home / "bundle.zip", "w") as z:
        for path in sorted(bundle.rglob("*.yaml")):
            text = path.read_text().replace("duckdb:////data/reportferry.duckdb", f"duckdb:///{database}")
            z.writestr(f"reportferry/{path.relative_to(bundle)}", text)
    for args in (["db", "upgrade"], ["fab", "create-admin", "--username", "admin", "--password", "admin", "--firstname", "A", "--lastname", "B", "--email", "a@example.com"],
                 ["init"], ["import-dashboards", "-p", str(home / "bundle.zip"), "-u", "admin"]):
        done = subprocess.run([python / "superset", *args], env=env, capture_output=True, text=True, cwd=home)
        assert done.returncode == 0, f"superset {args[0]}: exit code {done.returncode}\n{done.stderr[-4000:]}"
    return env


def call(base, path, body=None, token=""):
    request = urllib.request.Request(base + path, None if body is None else json.dumps(body).encode(),
                                     {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + token} if token else {}))
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def same(what, got, want):
    global compared
    compared += 1
    if got is None or want is None:
        right = got is want
    elif isinstance(want, str):
        right = str(got)[:len(want)] == want
    else:
        right = abs(float(got) - float(want)) <= 1e-9 * max(1, abs(float(want)))
    if not right:
        wrong.append(f"{what}: Superset says {got}, DuckDB says {want}")


# What each metric of the datasets is, in words of its own.
TRUTH = {
    "reportferry_performance": ("network", """
        WITH rows AS (SELECT r.*, coalesce(p.state = 'final' OR list_contains(string_split(p.final_columns, ','), 'all_revenue_total_d7'), false) AS ripe7,
                             coalesce(p.state = 'final' OR list_contains(string_split(p.final_columns, ','), 'all_revenue_total_d30'), false) AS ripe30
                      FROM read_parquet('out/cohorts_daily/dt=*/part-0.parquet') r
                      LEFT JOIN read_parquet('out/_reportferry_partitions/table=cohorts_daily/dt=*/part-0.parquet', hive_partitioning=false) p ON p.partition_date = r.day)
        SELECT network, sum(cost) AS spend, sum(installs) AS installs, sum(cost) / nullif(sum(installs), 0) AS ecpi,
               sum(all_revenue_total_d0) / nullif(sum(cost), 0) AS roas_d0,
               sum(all_revenue_total_d7) FILTER (ripe7) / nullif(sum(cost) FILTER (ripe7), 0) AS roas_d7,
               sum(all_revenue_total_d30) FILTER (ripe30) / nullif(sum(cost) FILTER (ripe30), 0) AS roas_d30
        FROM rows GROUP BY network"""),
    "reportferry_cohorts": ("period", """
        SELECT * FROM (SELECT 'D7' AS period, sum(all_revenue_total_d7) / nullif(sum(cost), 0) AS roas, sum(all_revenue_total_d7) AS revenue, sum(retained_users_d7) / nullif(sum(cohort_size_d7), 0) AS retention
          FROM read_parquet('out/cohorts_daily/dt=*/part-0.parquet')
        UNION ALL SELECT 'D30', sum(all_revenue_total_d30) / nullif(sum(cost), 0), sum(all_revenue_total_d30), sum(retained_users_d30) / nullif(sum(cohort_size_d30), 0)
          FROM read_parquet('out/cohorts_daily/dt=*/part-0.parquet'))"""),
    "reportferry_partitions": ("table_name", """
        SELECT table_name, count(*) AS partitions, count(*) FILTER (state <> 'final') AS not_final, count(*) FILTER (reconciled = 'unreconciled') AS unreconciled,
               count(*) FILTER (changed_after_final > 0) AS changed_after_final, sum(row_count) AS rows
        FROM read_parquet('out/_reportferry_partitions/table=*/dt=*/part-0.parquet', hive_partitioning=false) GROUP BY table_name"""),
    "reportferry_restatements": ("metric", """
        SELECT metric, count(*) AS restated, sum(delta) AS delta
        FROM read_parquet('out/_reportferry_restatements/table=*/dt=*/part-0.parquet', hive_partitioning=false) GROUP BY metric"""),
}


def asked(base, token):
    """Every metric of every dataset, grouped, by Superset's interface and by DuckDB."""
    ids = {d["table_name"]: d["id"] for d in call(base, "/api/v1/dataset/?q=(page_size:100)", token=token)["result"]}
    os.chdir(work)
    for name, (by, truth) in TRUTH.items():
        metrics = [m["metric_name"] for m in yaml.safe_load((bundle / f"datasets/reportferry/{name}.yaml").read_text())["metrics"]]
        answer = call(base, "/api/v1/chart/data", {"datasource": {"id": ids[name], "type": "table"}, "force": True, "result_format": "json", "result_type": "full",
                                                   "queries": [{"columns": [by], "metrics": metrics, "row_limit": 10000}]}, token)["result"][0]
        rows = {row[by]: row for row in answer["data"]}
        want = duckdb.sql(truth)
        for values in want.fetchall():
            expected = dict(zip(want.columns, values))
            for metric in metrics:
                if metric in expected:
                    same(f"{name}.{metric} of {expected[by]}", rows.get(expected[by], {}).get(metric), expected[metric])
        missing = set(metrics) - set(want.columns) - {"newest", "last_fetch"}
        if missing:
            wrong.append(f"{name}: nothing is held against {missing}")


def opened(base):
    """Both dashboards in Chromium: each chart gets its data, and none shows an error."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "Chromium isn't installed"
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        page = browser.new_context(viewport={"width": 1280, "height": 2000}).new_page()
        answers, complaints = [], []
        page.on("response", lambda r: answers.append(r.status) if "/api/v1/chart/data" in r.url else None)
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(base + "/login/")
        page.fill("#username", "admin")
        page.fill("#password", "admin")
        page.click('button[type="submit"]')
        page.wait_for_timeout(3000)
        for path in sorted((bundle / "dashboards").glob("*.yaml")):
            dashboard = yaml.safe_load(path.read_text())
            charts = [v["meta"]["sliceName"] for k, v in dashboard["position"].items() if k.startswith("CHART-")]
            answers.clear()
            complaints.clear()
            page.goto(f"{base}/superset/dashboard/{dashboard['slug']}/?standalone=1")
            for _ in range(60):
                page.wait_for_timeout(1000)
                if len(answers) >= len(charts):
                    break
            page.wait_for_timeout(3000)
            text = page.inner_text("body")
            if len(answers) < len(charts) or set(answers) != {200}:
                wrong.append(f"{path.name}: {len(charts)} charts, and answers {answers}")
            wrong.extend(f"{path.name}: the chart {c} isn't there" for c in charts if c not in text)
            wrong.extend(f"{path.name}: it says {t!r}" for t in ("Unexpected error", "Error:", "Data error", "Missing dataset") if t in text)
            wrong.extend(f"{path.name}: the browser says {c}" for c in complaints)
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=str(pictures / f"{path.stem}.png"))
        browser.close()


def main():
    # BigQuery isn't here: that its dialect has every statement is all that can be seen.
    for path in sorted((bundle / "datasets").rglob("*.yaml")):
        for dialect in ("bigquery", "duckdb"):
            sqlglot.parse_one(yaml.safe_load(path.read_text())["sql"], read=dialect)
    env = imported(filled())
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    log = open(work / "superset.log", "w")
    server = subprocess.Popen([python / "gunicorn", "-w", "1", "--threads", "8", "--timeout", "120", "-b", f"127.0.0.1:{port}", "superset.app:create_app()"],
                              env=env, stdout=log, stderr=log, cwd=work)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(base + "/health", timeout=2)
                break
            except OSError:
                time.sleep(1)
        token = call(base, "/api/v1/security/login", {"username": "admin", "password": "admin", "provider": "db", "refresh": False})["access_token"]
        asked(base, token)
        opened(base)
    finally:
        server.terminate()
        server.wait()
    for text in wrong[:20]:
        print(text)
    print(f"superset: {compared} numbers held against DuckDB's; {len(wrong)} wrong")
    return len(wrong) > 0


sys.exit(main())
