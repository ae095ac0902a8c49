"""Reads what the main job left with DuckDB, a reader that shares no code with the writer: the pages' own queries, the types of columns,
one file a day, every row in the partition of its day, and none twice. It is run in the folder that holds out/ and the pages."""
import re
import tempfile
from pathlib import Path

import duckdb


def block(page, mark):
    """The page's first block of code with this mark."""
    return re.search(r"```" + mark + r"\n([\s\S]*?)```", Path(page).read_text())[1].strip().rstrip(";")


def rows(sql):
    return duckdb.sql(sql).fetchall()


def same(what, got, want):
    assert got == want, f"{what}: {got}, want {want}"


answer = rows(block("README.md", "sql"))
assert len(answer) >= 7, f"the README's query gives {len(answer)} rows"
print(f"README query: {len(answer)} rows, the first: {' | '.join(map(str, answer[0]))}")

history = block("jobs/events/README.md", "sql history")
slugs = rows(history)
assert len(slugs) > 20 and all(row[-1] is None for row in slugs), "some slug of the one snapshot isn't valid any more"
with tempfile.TemporaryDirectory() as folder:  # a name that was another for a day, and then the old one again
    duckdb.sql(f"""COPY (SELECT DATE '2026-01-01' + d::INTEGER AS snapshot_date, 'purchase' AS slug, if(d = 2, 'Buy', 'Purchase') AS name,
        'a' AS app_token, 't' AS event_token FROM range(4) r(d)) TO '{folder}/snapshots.parquet' (FORMAT parquet)""")
    renamed = rows(history.replace("out/event_slugs/*/*.parquet", f"{folder}/snapshots.parquet"))
same("the spans of a renamed slug", [(row[1], str(row[4]), row[5] and str(row[5])) for row in renamed],
     [("Purchase", "2026-01-01", "2026-01-02"), ("Buy", "2026-01-03", "2026-01-03"), ("Purchase", "2026-01-04", None)])

table = "read_parquet('out/campaigns_daily/*/*.parquet', hive_partitioning=true, union_by_name=true)"
types = {row[0]: row[1] for row in rows(f"DESCRIBE SELECT * FROM {table}")}
for column, kind in {"day": "DATE", "dt": "DATE", "campaign": "VARCHAR", "installs": "BIGINT", "cost": "DECIMAL(18,6)",
                     "retention_rate_d1": "DOUBLE", "purchase_events": "BIGINT", "purchase_revenue": "DECIMAL(18,6)"}.items():
    same(f"the type of {column}", types[column], kind)
[(files, days, elsewhere, total)] = rows("""SELECT count(DISTINCT filename), count(DISTINCT dt), count(*) FILTER (day <> dt), count(*)
    FROM read_parquet('out/campaigns_daily/*/*.parquet', hive_partitioning=true, filename=true)""")
same("files, one for each day", files, days)
same("rows in the partition of another day", elsewhere, 0)
[(keys,)] = rows(f"SELECT count(*) FROM (SELECT DISTINCT day, app_token, os_name, country_code, network, campaign FROM {table})")
same("keys, as many as rows", keys, total)
print(f"{files} files, {total} rows, none doubled")
