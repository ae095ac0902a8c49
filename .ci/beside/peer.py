"""A script as a data engineer would write it with one of the libraries: asks for a row of days by weeks, AT_ONCE of them at a time,
tries again what fails, and writes a Parquet file for each day, beside its place and renamed. It keeps no ledger, asks for no totals
and syncs nothing. Arguments: the library, the service, the folder, the first day and the last."""
import gzip
import http.client
import io
import os
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

LIBRARY, SERVICE, OUT, FIRST, LAST = sys.argv[1:]
AT_ONCE = int(os.environ["AT_ONCE"])
TEXTS, COUNTS, MONEY, RATIOS = ["app_token", "country_code", "network", "campaign"], ["installs", "clicks"], ["cost", "all_revenue"], ["ecpi_all"]
QUERY = "&dimensions=day," + ",".join(TEXTS) + "&metrics=" + ",".join(COUNTS + MONEY + RATIOS) + "&currency=USD"


def fetch(first, last):
    request = urllib.request.Request(f"{SERVICE}/reports-service/csv_report?date_period={first}:{last}{QUERY}",
                                     headers={"Authorization": "Bearer made-up", "Accept-Encoding": "gzip"})
    for left in range(7, -1, -1):
        try:
            with urllib.request.urlopen(request) as answer:
                return gzip.decompress(answer.read())
        except (urllib.error.HTTPError, http.client.IncompleteRead, EOFError):
            if not left:
                raise
            time.sleep(1)


def place(day):
    folder = f"{OUT}/dt={day}"
    os.makedirs(folder, exist_ok=True)
    return f"{folder}/part-0.parquet"


def with_pandas(text):
    import pandas
    frame = pandas.read_csv(io.BytesIO(text), dtype={**dict.fromkeys(TEXTS, "string"), **dict.fromkeys(COUNTS, "int64"), **dict.fromkeys(MONEY + RATIOS, "float64")},
                            parse_dates=["day"], keep_default_na=False)
    for day, rows in frame.groupby("day"):
        to = place(day.date())
        rows.to_parquet(to + ".tmp", compression="zstd", index=False)
        os.replace(to + ".tmp", to)


def with_pyarrow(text):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq
    types = {"day": pa.date32(), **dict.fromkeys(TEXTS, pa.string()), **dict.fromkeys(COUNTS, pa.int64()), **dict.fromkeys(MONEY, pa.decimal128(38, 6)), **dict.fromkeys(RATIOS, pa.float64())}
    rows = pyarrow.csv.read_csv(io.BytesIO(text), parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True), convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    for day in pc.unique(rows["day"]):
        to = place(day.as_py())
        pq.write_table(rows.filter(pc.equal(rows["day"], day)), to + ".tmp", compression="zstd")
        os.replace(to + ".tmp", to)


def with_polars(text):
    import polars as pl
    types = {"day": pl.Date, **dict.fromkeys(TEXTS, pl.String), **dict.fromkeys(COUNTS, pl.Int64), **dict.fromkeys(MONEY, pl.Decimal(38, 6)), **dict.fromkeys(RATIOS, pl.Float64)}
    for (day,), rows in pl.read_csv(io.BytesIO(text), schema=types).group_by("day", maintain_order=True):
        to = place(day)
        rows.write_parquet(to + ".tmp", compression="zstd")
        os.replace(to + ".tmp", to)


def with_duckdb(text):
    import tempfile

    import duckdb
    types = {"day": "DATE", **dict.fromkeys(TEXTS, "VARCHAR"), **dict.fromkeys(COUNTS, "BIGINT"), **dict.fromkeys(MONEY, "DECIMAL(38, 6)"), **dict.fromkeys(RATIOS, "DOUBLE")}
    with tempfile.NamedTemporaryFile(suffix=".csv") as file, duckdb.connect() as db:
        file.write(text)
        file.flush()
        db.execute("SET threads = 2")
        db.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{file.name}', header = true, columns = {types})")
        for (day,) in db.execute("SELECT DISTINCT day FROM t").fetchall():
            to = place(day)
            db.execute(f"COPY (SELECT * FROM t WHERE day = '{day}') TO '{to}.tmp' (FORMAT parquet, COMPRESSION zstd)")
            os.replace(to + ".tmp", to)


first, last = date.fromisoformat(FIRST), date.fromisoformat(LAST)
monday = first - timedelta((first.weekday() + 1) % 7)  # weeks as reportferry cuts them, so that the answers are the same ones
weeks = [(max(first, w), min(last, w + timedelta(6))) for w in (monday + timedelta(7 * n) for n in range(600)) if w <= last]
convert = globals()["with_" + LIBRARY]
with ThreadPoolExecutor(AT_ONCE) as pool:
    for text in pool.map(lambda week: fetch(*week), weeks):
        convert(text)
