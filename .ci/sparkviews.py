"""Makes views in Spark and prints what they hold. Standard input is JSON: tables, which are folders of Parquet by their names; sql, the
statements as the program has printed them; ask, queries. Standard output is JSON: the rows of each query, every value as a text.
.ci/views.py starts it, with a Python that has PySpark."""
import json
import sys
import tempfile

from pyspark.sql import SparkSession

asked = json.load(sys.stdin)
with tempfile.TemporaryDirectory() as temporary:
    spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.catalogImplementation", "in-memory").config("spark.driver.memory", "1g")
             .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "America/New_York") # not UTC, in which moments are
             .config("spark.sql.warehouse.dir", temporary).config("spark.log.level", "ERROR").getOrCreate())
    spark.sql("CREATE DATABASE ads")
    for name, folder in asked["tables"].items():
        spark.sql(f"CREATE TABLE spark_catalog.ads.`{name}` USING parquet LOCATION '{folder}'")
    for statements in asked["sql"]:
        for statement in filter(str.strip, statements.split(";\n")):
            spark.sql(statement)
    answers = []
    for query in asked["ask"]:
        answers.append([{k: None if v is None else str(v) for k, v in row.asDict().items()} for row in spark.sql(query).collect()])
    json.dump(answers, sys.stdout)
    spark.stop()
