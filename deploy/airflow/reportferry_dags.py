"""Runs of reportferry as DAGs of Airflow 3. Copy this file into the folder of DAGs, and set where the program finds its config:

    RF_PROGRAM           the program; default: reportferry
    REPORTFERRY_CONFIG   its config, to whose folder its relative paths are relative; default: reportferry.yml in the worker's folder
    RF_JOB               the job that reportferry_day fetches; default: the first DAG alone

reportferry_nightly does what is due, of all jobs. reportferry_day fetches the day of its logical date, so that
`airflow backfill create --dag-id reportferry_day --from-date ... --to-date ...` fills a range, a day a run.
"""

import json
import os
import pathlib
import subprocess
import tempfile

import pendulum
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import dag, get_current_context, task

PROGRAM = os.environ.get("RF_PROGRAM", "reportferry")
JOB = os.environ.get("RF_JOB")
RETRY = {
    "retries": int(os.environ.get("RF_RETRIES", "3")),
    "retry_delay": pendulum.duration(seconds=int(os.environ.get("RF_RETRY_SECONDS", "600"))),
}


def reportferry(*arguments):
    """Runs the program, and gives what became of the run, which goes into XCom."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "result.json")
        # A crash is told by a signal (-6) then, even before the program has begun, and not by 2.
        environment = {**os.environ, "GOTRACEBACK": "crash"}
        code = subprocess.run([PROGRAM, *arguments, "--result", str(file)], env=environment).returncode
        result = json.loads(file.read_text()) if file.exists() else {"exit": code, "jobs": []}
    failures = [result.get("error", "")] + [f"{j['job']} {f['unit']}: {f['error']}" for j in result["jobs"] for f in j["failures"]]
    said = f"reportferry ended with {code}: " + "; ".join(f for f in failures if f)
    match code:
        case 0:
            return result
        case 4:  # others hold every unit
            raise AirflowSkipException(said)
        case 2 | 5:  # the config or the credentials: another try would end the same
            raise AirflowFailException(said)
        case _ if not result.get("retry", True):  # answers are held back: a person or another day ends that
            raise AirflowFailException(said)
        case _:  # 3: the rest is published; 130: it was stopped; 1: all failed. Another try does what is left
            raise AirflowException(said)


@dag(schedule="0 6 * * *", start_date=pendulum.datetime(2026, 1, 1), catchup=False, max_active_runs=1, tags=["reportferry"])
def reportferry_nightly():
    @task(**RETRY)
    def run():
        return reportferry("run")

    run()


@dag(schedule="@daily", start_date=pendulum.datetime(2026, 1, 1), catchup=False, tags=["reportferry"])
def reportferry_day():
    @task(**RETRY)
    def backfill():
        day = get_current_context()["logical_date"].date().isoformat()
        return reportferry("backfill", JOB, "--from", day, "--to", day)

    backfill()


reportferry_nightly()
if JOB:
    reportferry_day()
