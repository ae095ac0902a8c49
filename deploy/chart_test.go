package deploy

import (
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// rendered is what Helm makes of the chart, by kind.
func rendered(t *testing.T, values ...string) map[string][]byte {
	t.Helper()
	gate := read(t, "../.ci/run")
	if !regexp.MustCompile(
		`(?m)^HELM=\$\(\.ci/program helm\.sh/helm/v3 \S+ /cmd/helm\) go test .*\./deploy -run Chart$`).MatchString(
		gate) {
		t.Error("the gate doesn't render the chart")
	}
	helm := os.Getenv("HELM")
	if helm == "" {
		t.Skip("HELM names no helm; the gate builds one")
	}
	args := []string{"template", "reportferry", "kubernetes/chart", "--kube-version", "1.33.0"}
	out, err := exec.CommandContext(t.Context(), helm, append(args, values...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("helm %q: %v\n%s", values, err, out)
	}
	kinds := map[string][]byte{}
	for text := range strings.SplitSeq(string(out), "\n---\n") {
		if m := regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(text); m != nil {
			kinds[m[1]] = []byte(text)
		}
	}
	return kinds
}

// The chart and the plain manifest are one CronJob: they differ in the chart's labels alone.
func TestChartIsTheCronJob(t *testing.T) {
	plain := strict[batch.CronJob](t, []byte(read(t, "kubernetes/cronjob.yaml")))
	image := "image=" + plain.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image
	kinds := rendered(t, "--set", image, "--set-file", "config=config.yml", "--set",
		`serviceAccount.annotations.iam\.gke\.io/gcp-service-account=a@b`)
	if len(kinds) != 3 {
		t.Errorf("the chart has %d kinds", len(kinds))
	}
	chart := strict[batch.CronJob](t, kinds["CronJob"])
	account := strict[core.ServiceAccount](t, kinds["ServiceAccount"])
	settings := strict[core.ConfigMap](t, kinds["ConfigMap"])
	for what, labels := range map[string]map[string]string{
		"CronJob": chart.Labels, "pod": chart.Spec.JobTemplate.Spec.Template.Labels, "ServiceAccount": account.Labels,
		"ConfigMap": settings.Labels,
	} {
		if labels["app.kubernetes.io/name"] != "reportferry" || labels["app.kubernetes.io/instance"] != "reportferry" ||
			labels["app.kubernetes.io/managed-by"] != "Helm" {
			t.Errorf("%s has the labels %v", what, labels)
		}
	}
	chart.Labels, chart.Spec.JobTemplate.Spec.Template.Labels = nil, nil
	if !reflect.DeepEqual(chart, plain) {
		t.Errorf("the chart has\n%+v\nand cronjob.yaml\n%+v", chart, plain)
	}
	pod := chart.Spec.JobTemplate.Spec.Template.Spec
	if account.Name != pod.ServiceAccountName || account.Annotations["iam.gke.io/gcp-service-account"] != "a@b" {
		t.Errorf("the account is %+v", account.ObjectMeta)
	}
	if settings.Name != pod.Volumes[0].ConfigMap.Name || settings.Data["config.yml"] != read(t, "config.yml") {
		t.Errorf("the config is %+v", settings)
	}
}

// What is said otherwise arrives, and what is there already isn't made.
func TestChartsValues(t *testing.T) {
	kinds := rendered(t, "--set", "image=a@sha256:1,serviceAccount.create=false,tokenSecret=mine,tokenKey=key,"+
		"podLabels.azure=x,env[0].name=HTTPS_PROXY,env[0].value=p", "--set-string", "deadline=5m")
	if len(kinds) != 1 {
		t.Errorf("the chart has %d kinds", len(kinds))
	}
	pod := strict[batch.CronJob](t, kinds["CronJob"]).Spec.JobTemplate.Spec.Template
	c := pod.Spec.Containers[0]
	env := environment(c.Env)
	if ref := c.Env[1].ValueFrom.SecretKeyRef; ref.Name != "mine" || ref.Key != "key" || env["HTTPS_PROXY"] != "p" ||
		env["REPORTFERRY_DEADLINE"] != "5m" || pod.Labels["azure"] != "x" || c.Image != "a@sha256:1" {
		t.Errorf("%+v", pod)
	}
}
