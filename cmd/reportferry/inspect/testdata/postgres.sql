CREATE OR REPLACE VIEW "warehouse"."campaigns_daily_by_day_network" AS
SELECT
  "day",
  "network",
  SUM("installs") AS "installs",
  SUM("cost") AS "cost",
  SUM("group") AS "group",
  CAST(SUM("cost") AS DOUBLE PRECISION) / NULLIF(SUM("installs"), 0) AS "ecpi",
  CAST((SUM("cost") * 1000) AS DOUBLE PRECISION) / NULLIF(ABS(SUM("installs") - SUM("group")), 0) AS "ecpm"
FROM "warehouse"."campaigns_daily"
WHERE CAST("day" AS DATE) NOT IN (SELECT partition_date FROM "warehouse"."_reportferry_partitions_campaigns_daily" WHERE table_name = 'campaigns_daily' AND state = 'other meaning')
GROUP BY "day", "network";

CREATE OR REPLACE VIEW "warehouse"."_reportferry_partitions" AS
SELECT "month", "table_name", "partition_date", "state", "final_at", "final_columns", "fetched", "since", "row_count", "sums", "reconciled", "differences", "changed_after_final", "reason", "run", "seq", "held_back", "accepted", "fingerprint", "currency", "zone"
FROM "warehouse"."_reportferry_partitions_campaigns_daily"
UNION ALL
SELECT "month", "table_name", "partition_date", "state", "final_at", "final_columns", "fetched", "since", "row_count", "sums", "reconciled", "differences", "changed_after_final", "reason", "run", "seq", "held_back", "accepted", "fingerprint", "currency", "zone"
FROM "warehouse"."_reportferry_partitions_countries";

CREATE OR REPLACE VIEW "warehouse"."_reportferry_restatements" AS
SELECT
  CAST(NULL AS DATE) AS "month",
  CAST(NULL AS TEXT) AS "table_name",
  CAST(NULL AS DATE) AS "partition_date",
  CAST(NULL AS TEXT) AS "metric",
  CAST(NULL AS DOUBLE PRECISION) AS "before",
  CAST(NULL AS DOUBLE PRECISION) AS "after",
  CAST(NULL AS DOUBLE PRECISION) AS "delta",
  CAST(NULL AS TIMESTAMP) AS "fetched_before",
  CAST(NULL AS TIMESTAMP) AS "fetched",
  CAST(NULL AS TEXT) AS "state_before",
  CAST(NULL AS TEXT) AS "reason",
  CAST(NULL AS TEXT) AS "run",
  CAST(NULL AS BIGINT) AS "seq"
WHERE false;

CREATE OR REPLACE VIEW "warehouse"."campaigns_daily_final" AS
SELECT * FROM "warehouse"."campaigns_daily"
WHERE CAST("day" AS DATE) IN (SELECT partition_date FROM "warehouse"."_reportferry_partitions_campaigns_daily" WHERE table_name = 'campaigns_daily' AND state = 'final');

CREATE OR REPLACE VIEW "warehouse"."_reportferry_freshness" AS
SELECT
  table_name,
  MAX(CASE WHEN row_count > 0 THEN partition_date END) AS last_period,
  SUM(row_count) AS row_count,
  MAX(fetched) AS last_load,
  CAST(FLOOR(EXTRACT(EPOCH FROM now() AT TIME ZONE 'UTC' - MAX(fetched)) / 60) AS BIGINT) AS age_minutes,
  CASE WHEN SUM(row_count) > 0 THEN 'filled' ELSE 'empty' END AS state
FROM "warehouse"."_reportferry_partitions"
GROUP BY table_name;

CREATE OR REPLACE VIEW "warehouse"."campaigns_daily" AS
SELECT 'a' AS "account", "day", "network", "cost", "installs", CAST(NULL AS TIMESTAMPTZ) AS "loaded"
FROM "warehouse"."campaigns_daily_a"
WHERE CAST("day" AS DATE) NOT IN (SELECT partition_date FROM "warehouse"."_reportferry_partitions_campaigns_daily" WHERE table_name = 'campaigns_daily_a' AND state = 'other meaning')
UNION ALL
SELECT 'b' AS "account", "day", "network", "cost", CAST(NULL AS BIGINT) AS "installs", "loaded"
FROM "warehouse"."campaigns_daily_b"
WHERE CAST("day" AS DATE) NOT IN (SELECT partition_date FROM "warehouse"."_reportferry_partitions_campaigns_daily" WHERE table_name = 'campaigns_daily_b' AND state = 'other meaning');

