CREATE OR REPLACE VIEW "campaigns_daily" AS
SELECT * FROM "lake"."ads.e`u"""."campaigns_daily"
WHERE CAST("day" AS DATE) NOT IN (SELECT partition_date FROM "lake"."ads.e`u"""."_reportferry_partitions_campaigns_daily" WHERE table_name = 'campaigns_daily' AND state = 'other meaning');

CREATE OR REPLACE VIEW "campaigns_daily_by_day_network" AS
SELECT
  "day",
  "network",
  SUM("installs") AS "installs",
  SUM("cost") AS "cost",
  SUM("group") AS "group",
  CAST(SUM("cost") AS DOUBLE) / NULLIF(SUM("installs"), 0) AS "ecpi",
  CAST((SUM("cost") * 1000) AS DOUBLE) / NULLIF(ABS(SUM("installs") - SUM("group")), 0) AS "ecpm"
FROM "lake"."ads.e`u"""."campaigns_daily"
GROUP BY "day", "network";

CREATE OR REPLACE VIEW "campaigns_daily_cohorts" AS
SELECT
  "week",
  "network",
  "period_unit",
  "period",
  date_diff('day', CAST(CAST("week" AS DATE) + INTERVAL '7' DAY AS DATE), CAST((now() AT TIME ZONE 'UTC') + INTERVAL '120' MINUTE AS DATE)) >= "days" AS "ripe",
  CASE "cohort" WHEN 'd7' THEN "cohort_size_d7" END AS "cohort_size",
  CASE "cohort" WHEN 'd7' THEN "retained_users_d7" WHEN 'd14' THEN "retained_users_d14" WHEN 'w1' THEN "retained_users_w1" END AS "retained_users",
  CASE "cohort" WHEN 'd7' THEN "retention_rate_d7" END AS "retention_rate",
  CASE "cohort" WHEN 'd14' THEN "roas_d14" END AS "roas",
  CASE "cohort" WHEN 'd14' THEN "all_revenue_total_d14" END AS "all_revenue_total",
  CASE "cohort" WHEN 'd14' THEN "d7_deal_d14_revenue_cohort" END AS "d7_deal_revenue_cohort",
  "cost"
FROM (
SELECT
  "week",
  "network",
  SUM("cost") AS "cost",
  SUM("cohort_size_d7") AS "cohort_size_d7",
  SUM("retained_users_w1") AS "retained_users_w1",
  SUM("retained_users_d7") AS "retained_users_d7",
  SUM("retained_users_d14") AS "retained_users_d14",
  SUM("all_revenue_total_d14") AS "all_revenue_total_d14",
  SUM("d7_deal_d14_revenue_cohort") AS "d7_deal_d14_revenue_cohort",
  CAST(SUM("retained_users_d7") AS DOUBLE) / NULLIF(SUM("cohort_size_d7"), 0) AS "retention_rate_d7",
  CAST(SUM("all_revenue_total_d14") AS DOUBLE) / NULLIF(SUM("cost"), 0) AS "roas_d14"
FROM "lake"."ads.e`u"""."campaigns_daily"
GROUP BY "week", "network"
) AS wide
CROSS JOIN (
SELECT 'd7' AS "cohort", 'day' AS "period_unit", 7 AS "period", 7 AS "days"
UNION ALL SELECT 'd14' AS "cohort", 'day' AS "period_unit", 14 AS "period", 14 AS "days"
UNION ALL SELECT 'w1' AS "cohort", 'week' AS "period_unit", 1 AS "period", 13 AS "days"
) AS keys;

CREATE OR REPLACE VIEW "campaigns_daily_events" AS
SELECT
  "week",
  "network",
  "event",
  CASE "event" WHEN 'purchase' THEN "purchase_events" WHEN 'd7_deal' THEN "d7_deal_events" END AS "events",
  CASE "event" WHEN 'purchase' THEN "purchase_revenue" END AS "revenue",
  CASE "event" WHEN 'purchase' THEN "purchase_events_cost_noncohorted" END AS "events_cost_noncohorted"
FROM (
SELECT
  "week",
  "network",
  SUM("purchase_events") AS "purchase_events",
  SUM("d7_deal_events") AS "d7_deal_events",
  SUM("purchase_revenue") AS "purchase_revenue",
  CAST(SUM("cost") AS DOUBLE) / NULLIF(SUM("purchase_events"), 0) AS "purchase_events_cost_noncohorted"
FROM "lake"."ads.e`u"""."campaigns_daily"
GROUP BY "week", "network"
) AS wide
CROSS JOIN (
SELECT 'purchase' AS "event"
UNION ALL SELECT 'd7_deal' AS "event"
) AS keys;

CREATE OR REPLACE VIEW "_reportferry_partitions" AS
SELECT "month", "table_name", "partition_date", "state", "final_at", "final_columns", "fetched", "since", "row_count", "sums", "reconciled", "differences", "changed_after_final", "reason", "run", "seq", "held_back", "accepted", "fingerprint", "currency", "zone"
FROM "lake"."ads.e`u"""."_reportferry_partitions_campaigns_daily"
UNION ALL
SELECT "month", "table_name", "partition_date", "state", "final_at", "final_columns", "fetched", "since", "row_count", "sums", "reconciled", "differences", "changed_after_final", "reason", "run", "seq", "held_back", "accepted", "fingerprint", "currency", "zone"
FROM "lake"."ads.e`u"""."_reportferry_partitions_countries";

CREATE OR REPLACE VIEW "_reportferry_restatements" AS
SELECT
  CAST(NULL AS DATE) AS "month",
  CAST(NULL AS VARCHAR) AS "table_name",
  CAST(NULL AS DATE) AS "partition_date",
  CAST(NULL AS VARCHAR) AS "metric",
  CAST(NULL AS DOUBLE) AS "before",
  CAST(NULL AS DOUBLE) AS "after",
  CAST(NULL AS DOUBLE) AS "delta",
  CAST(NULL AS TIMESTAMP) AS "fetched_before",
  CAST(NULL AS TIMESTAMP) AS "fetched",
  CAST(NULL AS VARCHAR) AS "state_before",
  CAST(NULL AS VARCHAR) AS "reason",
  CAST(NULL AS VARCHAR) AS "run",
  CAST(NULL AS BIGINT) AS "seq"
WHERE false;

CREATE OR REPLACE VIEW "campaigns_daily_final" AS
SELECT * FROM "lake"."ads.e`u"""."campaigns_daily"
WHERE CAST("day" AS DATE) IN (SELECT partition_date FROM "lake"."ads.e`u"""."_reportferry_partitions_campaigns_daily" WHERE table_name = 'campaigns_daily' AND state = 'final');

CREATE OR REPLACE VIEW "_reportferry_freshness" AS
SELECT
  table_name,
  MAX(CASE WHEN row_count > 0 THEN partition_date END) AS last_period,
  SUM(row_count) AS row_count,
  MAX(fetched) AS last_load,
  date_diff('minute', MAX(fetched), now() AT TIME ZONE 'UTC') AS age_minutes,
  CASE WHEN SUM(row_count) > 0 THEN 'filled' ELSE 'empty' END AS state
FROM "_reportferry_partitions"
GROUP BY table_name;

CREATE OR REPLACE VIEW "campaigns_daily" AS
SELECT 'a' AS "account", *
FROM "campaigns_daily_a"
UNION ALL BY NAME
SELECT 'b' AS "account", *
FROM "campaigns_daily_b";

