// Package run has what belongs to a run besides its jobs: the commands that begin runs by
// themselves or decide what they publish, and listeners that report it to others.
// Without it, every team would write the loop that starts runs, and an orchestrator would know only
// an exit code.
//
// Serve implements the command serve, which stays and runs jobs when their schedules fire. Without
// it, every team would write the probes, the reload and the watchdog around the loop, too.
//
//	            SIGHUP ─ reload ──────────┐ replaces
//	                                      ▼
//	clock, every 15 s ─ servedJob ───▶ generation: what was opened for one reading of the config
//	           │ tick                     │ each run and reader holds it; the last one closes it
//	           ▼                          ▼
//	watchdog, /readyz               pages, /metrics
//
// Replay and Diff read the raw answers that runs have kept. Without them, those answers would be
// bytes in a bucket, and a lost table, a wrong type or a new sink would cost as many requests as
// the table has windows, whose answers may by then say something else.
//
//	replay  raw answers ──▶ sinks, ledger    partitions are made again
//	diff    raw answers ──▶ people           which rows a number moved in
//
// Accept lets runs publish answers that the guard holds back. Without it, a person who knows that
// the missing rows may go would have to wait for three days, or lower the guard for all tables.
//
// A Result says what became of a run, partition by partition, in a form that programs read. Without
// it, an orchestrator would have to parse the log to learn which days have arrived.
//
//	plan, results, ledger ─ resultOf ─▶ Result ─┬─ --result, a file or standard output
//	                                            ├─ Kestra's outputs and metrics
//	                                            └─ whoever else reports partitions
//
// DagsterPipes speak Dagster Pipes, the protocol between an orchestrator's step and the process
// that it starts. Without them, Dagster would know that a process ended well, but not which table's
// days are there, and with what content.
//
//	DAGSTER_PIPES_CONTEXT ─ OpenDagster ─▶ DagsterPipes ─┬─ Range: which days the step asks for
//	    DAGSTER_PIPES_MESSAGES ◀──── ListenForDagster ───┘  materialization, checks, the result
//
// ListenForLineage sends OpenLineage events, which tell a data catalogue which job fills which
// table, and when. Without it, the catalogue's graph wouldn't show where the tables of a warehouse
// come from.
//
//	a run begins ─ START ───────────────────┐
//	a run ends ─── COMPLETE, ABORT or FAIL ─┴─▶ OPENLINEAGE_URL, one event a job
//
// SendNotices sends messages to people about a run that left something wrong, and Notify tests
// whether such messages arrive. Without it, a table that is late would be found by whoever opens a
// dashboard.
//
//	config, environment ─ receivers ─┐
//	ledger, the run's errors ─ news ─┴─▶ internal/notify ─▶ one message each, once
//
// ObserveOnce and ObserveLedger let traces, metrics and logs of a run be collected. Without them,
// each command that executes runs would have its own way to start and end the collection, and a
// short process would end before anything was sent.
//
//	environment ─ internal/telemetry ─┬─ steps of runs, by the context
//	ledger ─ internal/console ────────┴─ gauges ─┬─ OTLP
//	                                             └─ GET /metrics of serve
package run
