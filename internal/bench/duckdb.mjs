// One conversion by DuckDB, or its version and a part's types. Arguments, as one object in JSON: file, out, columns (a
// DuckDB type by name), or describe. The database's package is found from the folder in NODE_PATH_OF_DUCKDB.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const { DuckDBInstance } = createRequire(`${process.env.NODE_PATH_OF_DUCKDB}/x.js`)('@duckdb/node-api');
const { file, out, columns, threads, describe } = JSON.parse(process.argv.at(-1));
const text = (s) => `'${s.replaceAll("'", "''")}'`;
const db = await (await DuckDBInstance.create(':memory:', { threads: String(threads) })).connect();
if (describe) {
  const rows = (await db.runAndReadAll(`DESCRIBE SELECT * FROM read_parquet(${text(describe)})`)).getRowsJson();
  const version = (await db.runAndReadAll('SELECT version()')).getRowsJson()[0][0];
  console.log(JSON.stringify({ version, types: rows.map((r) => r[1]) }));
} else {
  const list = Object.entries(columns).map(([name, type]) => `${text(name)}: ${text(type)}`).join(', ');
  const cpu = process.cpuUsage(), began = process.hrtime.bigint();
  await db.run(`COPY (SELECT * FROM read_csv(${text(file)}, header=true, columns={${list}}))
    TO ${text(out)} (FORMAT parquet, COMPRESSION zstd)`);
  const wall = Number(process.hrtime.bigint() - began) / 1e9, used = process.cpuUsage(cpu);
  const peak = Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  console.log(JSON.stringify({ wall, cpu: (used.user + used.system) / 1e6, peak, files: [out] }));
}
