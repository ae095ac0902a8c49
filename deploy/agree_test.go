package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/run/v1"
	batch "k8s.io/api/batch/v1"
)

// defaultOf gives what a variable of the module is unless somebody says otherwise.
func defaultOf(t *testing.T, variable string) string {
	t.Helper()
	m := regexp.MustCompile(`variable "` + variable + `" \{[^}]*?default\s+= "([^"]*)"`).FindStringSubmatch(read(t,
		"terraform/variables.tf"))
	if m == nil {
		t.Fatalf("variables.tf has no default of %s", variable)
	}
	return m[1]
}

// block gives the text of a resource of the module.
func block(t *testing.T, address string) string {
	t.Helper()
	kind, name, _ := strings.Cut(address, ".")
	for _, text := range moduleFiles(t) {
		if _, rest, found := strings.Cut(text, `resource "`+kind+`" "`+name+`" {`); found {
			rest, _, _ = strings.Cut(rest, "\n}\n")
			return rest
		}
	}
	t.Fatalf("the module has no %s", address)
	return ""
}

// The module, the guide, the scripts and the manifests call the secrets the same.
func TestSecretsHaveOneName(t *testing.T) {
	name := map[string]string{}
	for _, which := range []string{"token", "config"} {
		m := regexp.MustCompile(`secret_id = "([^"]+)"`).FindStringSubmatch(block(t,
			"google_secret_manager_secret."+which))
		name[which] = strings.ReplaceAll(m[1], "${var.name}", defaultOf(t, "name"))
	}
	job := strict[run.Job](t, []byte(read(t, "cloudrun/job.yaml"))).Spec.Template.Spec.Template.Spec
	for _, v := range job.Containers[0].Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef.Name != name["token"] {
			t.Errorf("job.yaml: %s is of the secret %s; the module's is %s", v.Name, v.ValueFrom.SecretKeyRef.Name,
				name["token"])
		}
	}
	if got := job.Volumes[0].Secret.SecretName; got != name["config"] {
		t.Errorf("job.yaml: the config is the secret %s; the module's is %s", got, name["config"])
	}
	cron := strict[batch.CronJob](t, []byte(read(t, "kubernetes/cronjob.yaml"))).Spec.JobTemplate.Spec.Template.Spec
	backfill := strict[batch.Job](t, []byte(read(t, "kubernetes/backfill.yaml"))).Spec.Template.Spec
	for _, v := range slices.Concat(cron.Containers[0].Env, backfill.Containers[0].Env) {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef.Name != name["token"] {
			t.Errorf("kubernetes: %s is of the secret %s; the module's is %s", v.Name, v.ValueFrom.SecretKeyRef.Name,
				name["token"])
		}
	}
	for _, v := range slices.Concat(cron.Volumes, backfill.Volumes) {
		if v.ConfigMap != nil && v.ConfigMap.Name != name["config"] {
			t.Errorf("kubernetes: the config is %s; the module's is %s", v.ConfigMap.Name, name["config"])
		}
	}
	named := regexp.MustCompile(
		`(?:gcloud secrets (?:create|versions (?:add|list|disable))|kubectl create (?:secret generic|configmap)) ([\w-]+)|the secret ` + "`([\\w-]+)`")
	found := map[string]int{}
	for _, m := range named.FindAllStringSubmatch(guide(t), -1) {
		found[m[1]+m[2]]++
	}
	if len(found) != 2 || found[name["token"]] < 4 || found[name["config"]] < 4 {
		t.Errorf("the guide names the secrets %v; the module's are %v", found, name)
	}
	if script := read(t, "cloudrun/accounts.sh"); !strings.Contains(script,
		"for secret in "+name["token"]+" "+name["config"]+"; do") {
		t.Errorf("accounts.sh doesn't grant %v", name)
	}
}

// "The next run takes it", the guide says of a new version of a secret. So nothing that runs names
// one.
func TestTheNextRunTakesTheNewestVersion(t *testing.T) {
	job := strict[run.Job](t, []byte(read(t, "cloudrun/job.yaml"))).Spec.Template.Spec.Template.Spec
	versions := []string{job.Volumes[0].Secret.Items[0].Key}
	for _, v := range job.Containers[0].Env {
		if v.ValueFrom != nil {
			versions = append(versions, v.ValueFrom.SecretKeyRef.Key)
		}
	}
	module := block(t, "google_cloud_run_v2_job.night")
	for _, m := range regexp.MustCompile(`version\s+= (\S+)`).FindAllStringSubmatch(module, -1) {
		versions = append(versions, strings.Trim(m[1], `"`))
	}
	if !slices.Equal(versions, []string{"latest", "latest", "latest", "latest"}) {
		t.Errorf("job.yaml and the module take the versions %q", versions)
	}
	for _, which := range []string{"token", "config"} {
		address := "google_secret_manager_secret_version." + which
		if !strings.Contains(module, address) {
			t.Errorf("the module makes the job before %s: it has no version to take then", address)
		}
		if !strings.Contains(block(t, address), "create_before_destroy = true") {
			t.Errorf("%s: the old version is gone before the new one is there, and a run in between has none", address)
		}
	}
}

// How the token is rotated and the config changed is said of each place that a run can be in.
func TestRotationIsExplained(t *testing.T) {
	commands := map[string][]string{}
	for _, s := range steps(guide(t)) {
		commands[s.heading] = append(commands[s.heading], s.line)
	}
	all := strings.Join(commands["Another token, another config"], "\n")
	for _, want := range []string{
		`(?m)^printf %s "\$ADJUST_TOKEN" \| gcloud secrets versions add reportferry-token --data-file=-$`,
		`(?m)^gcloud secrets versions add reportferry-config --data-file=my.yml$`,
		`(?m)^TF_VAR_token="\$ADJUST_TOKEN" terraform -chdir=deploy/terraform apply .*-var=token_version=2\b`,
		`(?m)^printf %s "\$ADJUST_TOKEN" \| kubectl create secret generic reportferry-token --from-file=token=/dev/stdin --dry-run=client -o yaml \| kubectl apply -f -$`,
		`(?m)^kubectl create configmap reportferry-config --from-file=config.yml=my.yml --dry-run=client -o yaml \| kubectl apply -f -$`,
	} {
		if !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("the guide has no command like %s under its heading; it has\n%s", want, all)
		}
	}
	if !strings.Contains(read(t, "terraform/variables.tf"), `variable "token_version"`) {
		t.Error("the module has no token_version any more")
	}
}

// A ledger's object that was lost or damaged can be had again for 30 days, by the module and by the
// guide alike.
func TestLedgerKeepsOldVersions(t *testing.T) {
	bucket := block(t, "google_storage_bucket.ledger")
	for _, want := range []string{`versioning \{\s+enabled = true\s+\}`,
		`condition \{\s+days_since_noncurrent_time = 30\s+\}\s+action \{\s+type = "Delete"\s+\}`} {
		if !regexp.MustCompile(want).MatchString(bucket) {
			t.Errorf("storage.tf: the ledger's bucket has no %s", want)
		}
	}
	rule := regexp.MustCompile(`(?s)"action": \{"type": "Delete"\}.*"condition": \{"daysSinceNoncurrentTime": 30\}`)
	if !rule.MatchString(read(t, "cloudrun/lifecycle.json")) {
		t.Error("lifecycle.json doesn't end old versions after 30 days")
	}
	want := `gcloud storage buckets update "gs://$PROJECT-reportferry" --versioning --lifecycle-file=deploy/cloudrun/lifecycle.json`
	if !slices.ContainsFunc(steps(guide(t)), func(s step) bool { return strings.Contains(s.line, want) }) {
		t.Errorf("the guide has no %s", want)
	}
}

// What others can change under the same name is named by its content: the bases of the image, the
// actions of the workflow.
func TestOthersAreNamedByDigest(t *testing.T) {
	bases := regexp.MustCompile(`(?m)^ARG (BUILDER|RUNTIME)=(.*)$`).FindAllStringSubmatch(read(t, "../Dockerfile"), -1)
	for _, m := range bases {
		if !regexp.MustCompile(`^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`).MatchString(m[2]) {
			t.Errorf("Dockerfile: %s is %s; want name:tag@sha256:digest", m[1], m[2])
		}
	}
	if len(bases) != 2 || strings.Count(read(t, "../Dockerfile"), "\nFROM ${") != 2 {
		t.Errorf("Dockerfile: bases %q", bases)
	}
	// The image of a release differs in where its files are from, and in nothing else.
	settings := func(name string) string {
		text := read(t, name)
		return regexp.MustCompile(`(?m)^ARG RUNTIME=.*\n`).FindString(text) + text[strings.Index(text,
			"# The only folder that is written"):]
	}
	if made, released := settings("../Dockerfile"), settings("release.Dockerfile"); made != released {
		t.Errorf("the image of a release is set to\n%s\nand that of a clone to\n%s", released, made)
	}
	workflows, err := filepath.Glob("../.github/workflows/*.yml")
	check(t, err)
	used := 0
	for _, name := range append(workflows, "github/nightly.yml") {
		for _, m := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(read(t, name), -1) {
			if used++; !regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(m[1]) {
				t.Errorf("%s: uses %s; want action@commit # version", name, m[1])
			}
		}
	}
	if used < 5 {
		t.Errorf("%d actions found", used)
	}
}

// The gate fails by a vulnerability that is found, says so when it couldn't look, and doesn't take
// another error for that. The tool is played by a stub that says what govulncheck 1.9.0 says.
func TestVulnerabilitiesStopTheGate(t *testing.T) {
	for _, c := range []struct {
		name, says string
		code, want int
		wanted     string
	}{
		{"none", "No vulnerabilities found.", 0, 0, "No vulnerabilities found."},
		{"one", "Vulnerability #1: GO-2026-9999", 3, 1, "GO-2026-9999"},
		{"no database",
			`govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": dial tcp: lookup vuln.go.dev: no such host`, 1, 0, "not run: "},
		{"another error", "govulncheck: loading packages: there are errors", 1, 1, "loading packages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.WriteFile(filepath.Join(dir, "govulncheck"),
				[]byte("#!/bin/sh\ncat <<'SAYS'\n"+c.says+"\nSAYS\nexit "+string(rune('0'+c.code))+"\n"), 0o700))
			cmd := exec.CommandContext(t.Context(), "bash", "../.ci/vulnerabilities")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.want || !strings.Contains(string(out), c.wanted) {
				t.Errorf("exit code %d, want %d: %s", code, c.want, out)
			}
		})
	}
	gate := read(t, "../.ci/run")
	if !regexp.MustCompile(`golang.org/x/vuln v\d+\.\d+\.\d+ /cmd/govulncheck\)`).MatchString(gate) ||
		!strings.Contains(gate, ".ci/vulnerabilities") {
		t.Error("the gate doesn't look for vulnerabilities by an exact version of the tool")
	}
}

// Tools that scripts and workflows build are of one version each.
func TestToolsHaveOneVersion(t *testing.T) {
	versions := map[string]string{}
	for _, pattern := range []string{"../.ci/*", "../.github/workflows/*.yml"} {
		names, err := filepath.Glob(pattern)
		check(t, err)
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			for _, m := range regexp.MustCompile(`program"? ([a-z][\w./-]+) (v\d+\.\d+\.\d+)`).FindAllStringSubmatch(
				read(t, name), -1) {
				if was := versions[m[1]]; was != "" && was != m[2] {
					t.Errorf("%s: %s in %s; elsewhere it is in %s", name, m[1], m[2], was)
				}
				versions[m[1]] = m[2]
			}
		}
	}
	for tool, want := range map[string]string{
		"github.com/goreleaser/goreleaser/v2": `(?m)^# (v\S+) and syft`,
		"github.com/anchore/syft":             ` syft (v\S+) on the PATH`,
	} {
		if m := regexp.MustCompile(want).FindStringSubmatch(read(t, "../.goreleaser.yml")); m == nil ||
			m[1] != versions[tool] {
			t.Errorf(".goreleaser.yml says %q of %s, which is in %s", m, tool, versions[tool])
		}
	}
}
