// Reads what the main job left with DuckDB, and the sample of money with DuckDB and Polars: foreign readers that share no
// code with the writer. Arguments: the folder that holds out/, and a folder of sample files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import polars from 'nodejs-polars';

const [root, samples] = process.argv.slice(2);
process.chdir(root);
const db = await (await DuckDBInstance.create(':memory:')).connect();
const rows = async (sql) => (await db.runAndReadAll(sql)).getRowsJson();

// The pages' own queries.
const sql = (page, mark) => readFileSync(page, 'utf8').match(new RegExp('```' + mark + '\\n([\\s\\S]*?)```'))[1];
const query = sql('README.md', 'sql'), history = sql('jobs/README.md', 'sql history');
const answer = await rows(query);
assert(answer.length >= 7, `the README's query gives ${answer.length} rows`);
console.log(`README query: ${answer.length} rows, the first: ${answer[0].join(' | ')}`);

const slugs = await rows(history);
assert(slugs.length > 20 && slugs.every((r) => r.at(-1) === null), 'every slug of the one snapshot is valid still');
// A name that was another for a day, and then the old one again.
await db.run(`COPY (SELECT DATE '2026-01-01' + d::INTEGER AS snapshot_date, 'purchase' AS slug, if(d = 2, 'Buy', 'Purchase') AS name, 'a' AS app_token,
  't' AS event_token FROM range(4) r(d)) TO '${join(samples, 'snapshots.parquet')}' (FORMAT parquet)`);
const renamed = await rows(history.replace('out/event_slugs/*/*.parquet', join(samples, 'snapshots.parquet')));
assert.deepEqual(renamed.map((r) => [r[1], r[4], r[5]]),
  [['Purchase', '2026-01-01', '2026-01-02'], ['Buy', '2026-01-03', '2026-01-03'], ['Purchase', '2026-01-04', null]]);
console.log(`event history: ${slugs.length} meanings, a renamed one in three spans`);

const table = "read_parquet('out/campaigns_daily/*/*.parquet', hive_partitioning=true, union_by_name=true)";
const types = Object.fromEntries((await rows(`DESCRIBE SELECT * FROM ${table}`)).map((r) => [r[0], r[1]]));
console.log(types);
for (const [column, type] of Object.entries({
  day: 'DATE', dt: 'DATE', campaign: 'VARCHAR', installs: 'BIGINT', cost: 'DECIMAL(18,6)', retention_rate_d1: 'DOUBLE',
  purchase_events: 'BIGINT', purchase_revenue: 'DECIMAL(18,6)',
})) assert.equal(types[column], type, column);

const [[files, days, wrong, total]] = await rows(
  `SELECT count(DISTINCT filename), count(DISTINCT dt), count(*) FILTER (day <> dt), count(*)
   FROM read_parquet('out/campaigns_daily/*/*.parquet', hive_partitioning=true, filename=true)`);
assert.equal(files, days, 'one file a day');
assert.equal(Number(wrong), 0, 'rows lie in the partition of their day');
const [[keys]] = await rows(
  `SELECT count(*) FROM (SELECT DISTINCT day, app_token, os_name, country_code, network, campaign FROM ${table})`);
assert.equal(keys, total, 'no row is doubled');
console.log(`${files} files, ${total} rows, none doubled`);

// A filter pushed down to the statistics gives the same rows as one that isn't.
let compared = 0, polarsCompared = 0;
for (const file of [join(samples, 'money.parquet')]) {
  const frame = polars.readParquet(file);
  for (const column of ['money', 'maybe']) {
    for (const [op, of] of [['<', '0'], ['<=', '-0.000001'], ['>', '0'], ['>=', '999999999999.999999'], ['=', '-12.345678'], ['<', '-999999'], ['>', '700000'], ['<=', '-1'], ['=', '-899993']]) {
      const pushed = (await rows(`SELECT count(*) FROM read_parquet('${file}') WHERE ${column} ${op} ${of}::DECIMAL(18,6)`))[0][0];
      const plain = (await rows(
        `SELECT count(*) FROM (SELECT ${column} AS v FROM read_parquet('${file}') LIMIT 100000000) WHERE v + 0 ${op} ${of}::DECIMAL(18,6)`))[0][0];
      assert.equal(pushed, plain, `DuckDB ${column} ${op} ${of}`);
      const compare = { '<': 'lt', '<=': 'ltEq', '>': 'gt', '>=': 'gtEq', '=': 'eq' }[op];
      compared++;
      if (!Number.isInteger(Number(of))) continue; // Polars compares decimals with whole numbers
      const predicate = () => polars.col(column)[compare](polars.lit(Number(of)));
      const lazy = polars.scanParquet(file).filter(predicate()).collectSync();
      const eager = frame.filter(predicate());
      assert.equal(lazy.height, eager.height, `Polars ${column} ${op} ${of}`);
      assert.equal(BigInt(lazy.height), BigInt(pushed), `Polars and DuckDB: ${column} ${op} ${of}`);
      polarsCompared++;
    }
  }
}
console.log(`${compared} filters on money in DuckDB, ${polarsCompared} in Polars: the same rows pushed down and not`);
