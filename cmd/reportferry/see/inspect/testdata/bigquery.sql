CREATE OR REPLACE VIEW `project.dataset.campaigns_daily_by_day_network` AS
SELECT
  `day`,
  `network`,
  SUM(`installs`) AS `installs`,
  SUM(`cost`) AS `cost`,
  SUM(`group`) AS `group`,
  SAFE_DIVIDE(CAST(SUM(`cost`) AS FLOAT64), SUM(`installs`)) AS `ecpi`,
  SAFE_DIVIDE(CAST((SUM(`cost`) * 1000) AS FLOAT64), ABS(SUM(`installs`) - SUM(`group`))) AS `ecpm`
FROM `project.dataset.campaigns_daily`
WHERE CAST(`day` AS DATE) NOT IN (SELECT partition_date FROM `project.dataset._reportferry_partitions_campaigns_daily` WHERE table_name = 'campaigns_daily' AND state = 'other meaning')
GROUP BY `day`, `network`;

CREATE OR REPLACE VIEW `project.dataset.campaigns_daily_cohorts` AS
SELECT
  `week`,
  `network`,
  `period_unit`,
  `period`,
  DATE_DIFF(DATE(TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 120 MINUTE), 'UTC'), DATE_ADD(CAST(`week` AS DATE), INTERVAL 7 DAY), DAY) >= `days` AS `ripe`,
  CASE `cohort` WHEN 'd7' THEN `cohort_size_d7` END AS `cohort_size`,
  CASE `cohort` WHEN 'd7' THEN `retained_users_d7` WHEN 'd14' THEN `retained_users_d14` WHEN 'w1' THEN `retained_users_w1` END AS `retained_users`,
  CASE `cohort` WHEN 'd7' THEN `retention_rate_d7` END AS `retention_rate`,
  CASE `cohort` WHEN 'd14' THEN `roas_d14` END AS `roas`,
  CASE `cohort` WHEN 'd14' THEN `all_revenue_total_d14` END AS `all_revenue_total`,
  CASE `cohort` WHEN 'd14' THEN `d7_deal_d14_revenue_cohort` END AS `d7_deal_revenue_cohort`,
  `cost`
FROM (
SELECT
  `week`,
  `network`,
  SUM(`cost`) AS `cost`,
  SUM(`cohort_size_d7`) AS `cohort_size_d7`,
  SUM(`retained_users_w1`) AS `retained_users_w1`,
  SUM(`retained_users_d7`) AS `retained_users_d7`,
  SUM(`retained_users_d14`) AS `retained_users_d14`,
  SUM(`all_revenue_total_d14`) AS `all_revenue_total_d14`,
  SUM(`d7_deal_d14_revenue_cohort`) AS `d7_deal_d14_revenue_cohort`,
  SAFE_DIVIDE(CAST(SUM(`retained_users_d7`) AS FLOAT64), SUM(`cohort_size_d7`)) AS `retention_rate_d7`,
  SAFE_DIVIDE(CAST(SUM(`all_revenue_total_d14`) AS FLOAT64), SUM(`cost`)) AS `roas_d14`
FROM `project.dataset.campaigns_daily`
WHERE CAST(`day` AS DATE) NOT IN (SELECT partition_date FROM `project.dataset._reportferry_partitions_campaigns_daily` WHERE table_name = 'campaigns_daily' AND state = 'other meaning')
GROUP BY `week`, `network`
) AS wide
CROSS JOIN (
SELECT 'd7' AS `cohort`, 'day' AS `period_unit`, 7 AS `period`, 7 AS `days`
UNION ALL SELECT 'd14' AS `cohort`, 'day' AS `period_unit`, 14 AS `period`, 14 AS `days`
UNION ALL SELECT 'w1' AS `cohort`, 'week' AS `period_unit`, 1 AS `period`, 13 AS `days`
) AS keys;

CREATE OR REPLACE VIEW `project.dataset.campaigns_daily_events` AS
SELECT
  `week`,
  `network`,
  `event`,
  CASE `event` WHEN 'purchase' THEN `purchase_events` WHEN 'd7_deal' THEN `d7_deal_events` END AS `events`,
  CASE `event` WHEN 'purchase' THEN `purchase_revenue` END AS `revenue`,
  CASE `event` WHEN 'purchase' THEN `purchase_events_cost_noncohorted` END AS `events_cost_noncohorted`
FROM (
SELECT
  `week`,
  `network`,
  SUM(`purchase_events`) AS `purchase_events`,
  SUM(`d7_deal_events`) AS `d7_deal_events`,
  SUM(`purchase_revenue`) AS `purchase_revenue`,
  SAFE_DIVIDE(CAST(SUM(`cost`) AS FLOAT64), SUM(`purchase_events`)) AS `purchase_events_cost_noncohorted`
FROM `project.dataset.campaigns_daily`
WHERE CAST(`day` AS DATE) NOT IN (SELECT partition_date FROM `project.dataset._reportferry_partitions_campaigns_daily` WHERE table_name = 'campaigns_daily' AND state = 'other meaning')
GROUP BY `week`, `network`
) AS wide
CROSS JOIN (
SELECT 'purchase' AS `event`
UNION ALL SELECT 'd7_deal' AS `event`
) AS keys;

CREATE OR REPLACE VIEW `project.dataset._reportferry_partitions` AS
SELECT `month`, `table_name`, `partition_date`, `state`, `final_at`, `final_columns`, `fetched`, `since`, `row_count`, `sums`, `reconciled`, `differences`, `changed_after_final`, `reason`, `run`, `seq`, `held_back`, `accepted`, `fingerprint`, `currency`, `zone`
FROM `project.dataset._reportferry_partitions_*`;

CREATE OR REPLACE VIEW `project.dataset.campaigns_daily_final` AS
SELECT * FROM `project.dataset.campaigns_daily`
WHERE CAST(`day` AS DATE) IN (SELECT partition_date FROM `project.dataset._reportferry_partitions_campaigns_daily` WHERE table_name = 'campaigns_daily' AND state = 'final');

CREATE OR REPLACE VIEW `project.dataset._reportferry_freshness` AS
SELECT
  table_name,
  MAX(IF(total_rows > 0, partition_id, NULL)) AS last_period,
  SUM(total_rows) AS row_count,
  MAX(last_modified_time) AS last_load,
  TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), MAX(last_modified_time), MINUTE) AS age_minutes,
  IF(SUM(total_rows) > 0, 'filled', 'empty') AS state
FROM `project.dataset.INFORMATION_SCHEMA.PARTITIONS`
WHERE SUBSTR(table_name, 1, 1) != '_'
GROUP BY table_name;

CREATE OR REPLACE VIEW `project.dataset.campaigns_daily` AS
SELECT 'a' AS `account`, `day`, `network`, `cost`, `installs`, CAST(NULL AS TIMESTAMP) AS `loaded`
FROM `project.dataset.campaigns_daily_a`
WHERE CAST(`day` AS DATE) NOT IN (SELECT partition_date FROM `project.dataset._reportferry_partitions_campaigns_daily` WHERE table_name = 'campaigns_daily_a' AND state = 'other meaning')
UNION ALL
SELECT 'b' AS `account`, `day`, `network`, `cost`, CAST(NULL AS INT64) AS `installs`, `loaded`
FROM `project.dataset.campaigns_daily_b`
WHERE CAST(`day` AS DATE) NOT IN (SELECT partition_date FROM `project.dataset._reportferry_partitions_campaigns_daily` WHERE table_name = 'campaigns_daily_b' AND state = 'other meaning');

