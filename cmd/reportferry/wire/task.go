package wire

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A Task is what the platform says about this process: which one it is of the tasks that do one
// execution together. The zero Task stands for a process that no platform started.
type Task struct {
	platform  string // cloudRun, kubernetes or empty
	execution string // name of the execution; empty: the platform doesn't say
	project   string // of Google Cloud; may be empty
	index     int    // of the task, from 0
	count     int    // of the execution's tasks
	attempt   int    // of the task, from 0
	job       string // the name that all executions share; empty: the platform doesn't say
}

// The platforms.
const (
	cloudRun   = "Cloud Run"
	kubernetes = "Kubernetes"
)

// TaskOf reads what Cloud Run (https://cloud.google.com/run/docs/container-contract#jobs-env-vars)
// or Kubernetes (https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode)
// sets. Kubernetes doesn't say how many tasks there are, so the manifest has to.
func TaskOf(getenv func(string) string) (t Task, err error) {
	var index, count string
	switch {
	case getenv("CLOUD_RUN_EXECUTION") != "" || getenv("CLOUD_RUN_TASK_INDEX") != "":
		t.platform, t.job, t.execution, t.project = cloudRun, getenv("CLOUD_RUN_JOB"), getenv("CLOUD_RUN_EXECUTION"),
			getenv("GOOGLE_CLOUD_PROJECT")
		index, count = "CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT"
	case getenv("JOB_COMPLETION_INDEX") != "":
		t.platform, t.execution = kubernetes, getenv("REPORTFERRY_EXECUTION")
		index, count = "JOB_COMPLETION_INDEX", "REPORTFERRY_TASK_COUNT"
		if getenv(count) == "" {
			return Task{}, fmt.Errorf("%s is set and %s isn't: set it to the Job's completions, so that the rate is "+
				"divided", index, count)
		}
	default:
		return Task{}, nil
	}
	for name, n := range map[string]*int{index: &t.index, count: &t.count, "CLOUD_RUN_TASK_ATTEMPT": &t.attempt} {
		if getenv(name) == "" {
			continue
		}
		if *n, err = strconv.Atoi(getenv(name)); err != nil || *n < 0 {
			return Task{}, fmt.Errorf("%s=%q: want a number", name, getenv(name))
		}
	}
	if t.count = max(t.count, 1); t.index >= t.count {
		return Task{}, fmt.Errorf("%s=%d and %s=%d: there is no such task", index, t.index, count, t.count)
	}
	return t, nil
}

// Alone tells whether the execution has no other task.
func (t Task) Alone() bool { return t.count <= 1 }

// First tells whether this is the task that does what only one task of an execution may do.
func (t Task) First() bool { return t.index == 0 }

// share returns the task's part of the rate limit.
func (t Task) share() transport.Share {
	if t.Alone() {
		return transport.Share{}
	}
	return transport.Share{Index: t.index, Count: t.count}
}

// name returns a name that is the same for all attempts of the task. It is empty when the platform
// doesn't say which execution this is.
func (t Task) name() string {
	if t.execution == "" {
		return ""
	}
	return t.execution + "/" + strconv.Itoa(t.index)
}

// Part returns the task's part of the work.
func (t Task) Part() jobs.Share { return jobs.Share{Index: t.index, Count: t.count} }

// checkLasting refuses a place that is gone when the task ends: the file system of Cloud Run is
// memory (https://cloud.google.com/run/docs/container-contract#filesystem).
func (t Task) checkLasting(rawURL string) error {
	if t.platform != cloudRun || !strings.HasPrefix(rawURL, "file:") {
		return nil
	}
	return fmt.Errorf("%s: %w: files of a Cloud Run task are gone when it ends; name a bucket, such as "+
		"gs://bucket/prefix", sinks.Redact(rawURL), ledger.ErrRefused)
}

// Process returns what the platform says about this process, under OpenTelemetry's names
// (https://opentelemetry.io/docs/specs/semconv/resource/cloud-provider/gcp/cloud-run/).
func (t Task) Process() (about []attribute.KeyValue) {
	switch t.platform {
	case cloudRun:
		about = append(about, attribute.String("cloud.provider", "gcp"),
			attribute.String("cloud.platform", "gcp_cloud_run"),
			attribute.String("faas.name", t.job), attribute.String("gcp.cloud_run.job.execution", t.execution),
			attribute.Int("gcp.cloud_run.job.task_index", t.index))
		if t.project != "" {
			about = append(about, attribute.String("cloud.account.id", t.project))
		}
	case kubernetes:
		about = append(about, attribute.String("k8s.job.name", t.execution),
			attribute.Int("reportferry.task.index", t.index))
	}
	return about
}

// Trace returns the ID of the one trace that all tasks of an execution share. It is zero when
// nothing says which execution this is.
func (t Task) Trace() (id trace.TraceID) {
	if t.execution != "" {
		sum := sha256.Sum256([]byte(t.execution))
		copy(id[:], sum[:])
	}
	return id
}

// logAttrs returns the fields that Cloud Logging expects on every line: labels, and one trace for
// all lines of an execution
// (https://cloud.google.com/logging/docs/agent/logging/configuration#special-fields).
func (t Task) logAttrs() (attrs []slog.Attr) {
	if t.platform == "" {
		return nil
	}
	labels := []any{slog.String("task", strconv.Itoa(t.index)), slog.String("attempt", strconv.Itoa(t.attempt))}
	if t.execution != "" {
		labels = append(labels, slog.String("execution", t.execution))
	}
	attrs = append(attrs, slog.Group("logging.googleapis.com/labels", labels...))
	if t.project != "" && t.execution != "" {
		attrs = append(attrs, slog.String("logging.googleapis.com/trace",
			fmt.Sprintf("projects/%s/traces/%s", t.project, t.Trace())))
	}
	return attrs
}
