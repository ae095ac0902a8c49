package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/run/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/reportferry/reportferry/config"
)

// strict decodes a manifest into Google's or Kubernetes' own type: a key that the type doesn't
// have, or that stands there twice, is an error.
func strict[T any](t *testing.T, data []byte) *T {
	t.Helper()
	decoded := new(T)
	check(t, decodeStrictly(data, decoded))
	return decoded
}

func decodeStrictly(data []byte, into any) error {
	text, err := yaml.YAMLToJSONStrict(data) // doubled keys
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func environment(vars []core.EnvVar) map[string]string {
	m := map[string]string{}
	for _, v := range vars {
		m[v.Name] = v.Value
	}
	return m
}

// deadline wants REPORTFERRY_DEADLINE to end so many tries at least three minutes before the
// platform does.
func deadline(t *testing.T, value string, tries int, killed time.Duration) {
	t.Helper()
	d, err := time.ParseDuration(value)
	check(t, err)
	if d <= 0 || time.Duration(tries)*d+3*time.Minute > killed {
		t.Errorf("REPORTFERRY_DEADLINE %s, %d tries, and the platform ends them after %s", value, tries, killed)
	}
}

func TestCloudRunJob(t *testing.T) {
	job := strict[run.Job](t, []byte(read(t, "cloudrun/job.yaml")))
	if job.ApiVersion != "run.googleapis.com/v1" || job.Kind != "Job" || job.Metadata.Name != "reportferry" {
		t.Errorf("%s %s %s", job.ApiVersion, job.Kind, job.Metadata.Name)
	}
	task := job.Spec.Template.Spec.Template.Spec
	if task.MaxRetries != 1 || len(task.Containers) != 1 || !strings.HasPrefix(task.ServiceAccountName,
		"reportferry@") {
		t.Errorf("retries %d, %d containers, account %s", task.MaxRetries, len(task.Containers),
			task.ServiceAccountName)
	}
	c := task.Containers[0]
	if len(c.Command) != 0 || !slices.Equal(c.Args, []string{"run"}) {
		t.Errorf("command %q, args %q; the image's entry point is the program", c.Command, c.Args)
	}
	env, secrets := map[string]string{}, map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			secrets[v.Name] = v.ValueFrom.SecretKeyRef.Name
		}
	}
	deadline(t, env["REPORTFERRY_DEADLINE"], 1, time.Duration(task.TimeoutSeconds)*time.Second)
	if secrets["ADJUST_TOKEN"] != "reportferry-token" {
		t.Errorf("ADJUST_TOKEN is of secret %q", secrets["ADJUST_TOKEN"])
	}
	v, m := task.Volumes[0], c.VolumeMounts[0]
	if v.Name != m.Name || filepath.Join(m.MountPath, v.Secret.Items[0].Path) != configPath ||
		v.Secret.SecretName != "reportferry-config" {
		t.Errorf("secret %s is mounted as %s/%s; the image reads %s", v.Secret.SecretName, m.MountPath,
			v.Secret.Items[0].Path, configPath)
	}
}

// configPath is REPORTFERRY_CONFIG of the image.
const configPath = "/etc/reportferry/config.yml"

func TestKubernetesCronJob(t *testing.T) {
	cron := strict[batch.CronJob](t, []byte(read(t, "kubernetes/cronjob.yaml")))
	if cron.APIVersion != "batch/v1" || cron.Kind != "CronJob" ||
		cron.Spec.ConcurrencyPolicy != batch.ForbidConcurrent {
		t.Errorf("%s %s %s", cron.APIVersion, cron.Kind, cron.Spec.ConcurrencyPolicy)
	}
	job := cron.Spec.JobTemplate.Spec
	if *job.BackoffLimit != 1 {
		t.Errorf("backoffLimit %d", *job.BackoffLimit)
	}
	c := checkPod(t, job)
	if !slices.Equal(c.Args, []string{"run"}) {
		t.Errorf("args %q", c.Args)
	}
	deadline(t, environment(c.Env)["REPORTFERRY_DEADLINE"], 2, time.Duration(*job.ActiveDeadlineSeconds)*time.Second)
}

func TestKubernetesBackfill(t *testing.T) {
	backfill := strict[batch.Job](t, []byte(read(t, "kubernetes/backfill.yaml")))
	job := backfill.Spec
	if backfill.APIVersion != "batch/v1" || backfill.Kind != "Job" || *job.CompletionMode != batch.IndexedCompletion ||
		*job.BackoffLimitPerIndex != 1 {
		t.Errorf("%s %s %s, %d retries", backfill.APIVersion, backfill.Kind, *job.CompletionMode,
			*job.BackoffLimitPerIndex)
	}
	c := checkPod(t, job)
	env := environment(c.Env)
	if count := env["REPORTFERRY_TASK_COUNT"]; *job.Completions != *job.Parallelism || count != "6" ||
		*job.Completions != 6 {
		t.Errorf("%d completions, %d at once, and the program is told of %s", *job.Completions, *job.Parallelism, count)
	}
	deadline(t, env["REPORTFERRY_DEADLINE"], 2, time.Duration(*job.ActiveDeadlineSeconds)*time.Second)
}

// checkPod wants what both Jobs have in common: a program that may do nothing but write to /spool.
func checkPod(t *testing.T, job batch.JobSpec) core.Container {
	t.Helper()
	rules := job.PodFailurePolicy.Rules
	if len(rules) != 1 || rules[0].Action != batch.PodFailurePolicyActionFailJob ||
		rules[0].OnExitCodes.Operator != batch.PodFailurePolicyOnExitCodesOpIn ||
		!slices.Equal(rules[0].OnExitCodes.Values, []int32{2, 5}) {
		t.Errorf("podFailurePolicy: %+v", rules)
	}
	pod := job.Template.Spec
	if pod.RestartPolicy != core.RestartPolicyNever { // podFailurePolicy needs it
		t.Errorf("restartPolicy %s", pod.RestartPolicy)
	}
	if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser != 65532 || *s.FSGroup != 65532 ||
		s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("securityContext of the pod: %+v", s)
	}
	if len(pod.Containers) != 1 || *rules[0].OnExitCodes.ContainerName != pod.Containers[0].Name {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	c := pod.Containers[0]
	s := c.SecurityContext
	if !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation ||
		!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) != 0 {
		t.Errorf("securityContext of the container: %+v", s)
	}
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("resources: %+v", c.Resources)
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	for _, v := range pod.Volumes {
		if v.Name == mounts["/spool"] && v.EmptyDir == nil || v.Name == mounts["/etc/reportferry"] &&
			v.ConfigMap == nil {
			t.Errorf("volume %s: %+v", v.Name, v.VolumeSource)
		}
	}
	if len(mounts) != 2 || mounts["/spool"] == "" || mounts["/etc/reportferry"] == "" {
		t.Errorf("mounts: %v", mounts)
	}
	return c
}

// What the strict decoding is for.
func TestStrictDecodingRefuses(t *testing.T) {
	job, cron := read(t, "cloudrun/job.yaml"), read(t, "kubernetes/cronjob.yaml")
	for _, bad := range []struct {
		text, before, after string
		into                any
	}{
		{job, "maxRetries:", "maxRetry:", new(run.Job)},
		{job, "maxRetries: 1", "maxRetries: one", new(run.Job)},
		{job, "maxRetries: 1", "maxRetries: 1\n          maxRetries: 3", new(run.Job)},
		{cron, "backoffLimit: 1", "backOffLimits: 1", new(batch.CronJob)},
		{cron, "drop: [ALL]", "dropped: [ALL]", new(batch.CronJob)},
	} {
		changed := strings.Replace(bad.text, bad.before, bad.after, 1)
		if changed == bad.text {
			t.Fatalf("nothing to change: %q", bad.before)
		}
		if decodeStrictly([]byte(changed), bad.into) == nil {
			t.Errorf("%q instead of %q is let through", bad.after, bad.before)
		}
	}
}

func TestConfigIsOurs(t *testing.T) {
	c, err := config.Load("config.yml", os.LookupEnv)
	check(t, err)
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	if !strings.HasPrefix(c.Ledger, "gs://") || c.Service.Token != "${ADJUST_TOKEN}" {
		t.Errorf("ledger %s, token %s", c.Ledger, c.Service.Token)
	}
	for _, j := range c.Jobs {
		for _, s := range j.Sinks {
			if !strings.HasPrefix(s, "bigquery://my-project/reportferry?") {
				t.Errorf("job %s: sink %s", j.Name, s)
			}
		}
	}
}
