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

