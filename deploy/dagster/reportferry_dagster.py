"""Tables that reportferry fills, as assets of Dagster. Copy this file beside your definitions.

A step starts the program with the partitions that Dagster asks for, and tells Dagster of each partition by itself: the version
of its content, its rows, sums, finality and place. Of a range in which some days fail, the others are materialized all the same,
and the step fails.
"""

import os
import subprocess
from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg

STATES = {"written", "unchanged", "empty", "cleared", "kept", "others", "there"}  # the table holds what the service said last
CHECKS = ["reconciled", "fresh"]


def table(job, partitions, command=("reportferry", "run"), **asset):
    """An asset of one job of the config. partitions: a definition by time, or None for a table that is one partition. command:
    how the program is started; the job's name comes after it. More arguments are those of dagster.asset."""
    name = asset.pop("name", job)

    @dg.asset(
        name=name,
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        check_specs=[dg.AssetCheckSpec(check, asset=name) for check in CHECKS],
        kinds={"reportferry"},
        **asset,
    )
    def fill(context: dg.AssetExecutionContext):
        extras = {"reportferry_checks": CHECKS}
        if partitions is not None:  # Dagster's own context leaves out the range of a backfill that is one run
            window = context.partition_time_window
            extras["reportferry_window"] = {"start": window.start.isoformat(), "end": window.end.isoformat()}
        with dg.open_pipes_session(
            context, dg.PipesTempFileContextInjector(), dg.PipesTempFileMessageReader(), extras=extras
        ) as session:
            code = subprocess.run([*command, job], env={**os.environ, "GOTRACEBACK": "crash", **session.get_bootstrap_env_vars()}).returncode
        told = [j for m in session.get_custom_messages() for j in m["reportferry"]["jobs"] if j["job"] == job]
        failures = [f["error"] for j in told for f in j["failures"]]
        # Of a range, Dagster notes the step's own result for each partition. What is known of a partition by itself follows it, and holds.
        whole = [r for r in session.get_results() if isinstance(r, dg.MaterializeResult)]
        if code == 0:
            yield from whole
        if code != 0 or context.has_partition_key_range and len(context.partition_keys) > 1:
            for done in told:
                materialized(context, done, partitions)
        yield from (r for r in session.get_results() if isinstance(r, dg.AssetCheckResult))
        if code != 0:  # what is left is done by another try, unless only a person can end it: a wrong config, refused credentials, rows held back
            retry = code not in (2, 5) and all(m["reportferry"].get("retry", True) for m in session.get_custom_messages())
            raise dg.Failure(f"reportferry ended with {code}", metadata={"failures": failures}, allow_retries=retry)

    return fill


def materialized(context, done, partitions):
    """Tells Dagster of each partition that is there."""
    by_key = {}
    for p in done["partitions"]:
        by_key.setdefault(key(p["partition"], partitions), []).append(p)
    for k, group in by_key.items():
        if any(p["state"] not in STATES for p in group):
            continue
        last = group[-1]
        context.log_event(
            dg.AssetMaterialization(
                asset_key=context.asset_key,
                partition=k,
                metadata={
                    "dagster/partition_row_count" if k else "dagster/row_count": sum(p["rows"] for p in group),
                    "state": ", ".join(sorted({p["state"] for p in group})),
                    "finality": ", ".join(sorted({p.get("finality", "") for p in group})),
                    "reconciled": ", ".join(sorted({p.get("reconciled", "") for p in group})),
                    "sums": dg.MetadataValue.json({p["partition"]: p.get("sums", {}) for p in group}),
                    "sinks": dg.MetadataValue.json([s for p in group for s in p.get("sinks", [])]),
                    **({"fetched": last["fetched"]} if "fetched" in last else {}),
                },
                tags={"dagster/data_version": "-".join(p.get("hash") or "empty" for p in group)[:255]},
            )
        )


def key(day, partitions):
    """The key of the partition that a day is in."""
    if partitions is None:
        return None
    at = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(partitions.timezone))
    return partitions.get_partition_key_for_timestamp(at.timestamp())
