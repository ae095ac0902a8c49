package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// An azureJob is what Container Apps reads of a job; a key that isn't here is an error
// (https://learn.microsoft.com/azure/templates/microsoft.app/jobs).
type azureJob struct {
	Location, Name, Type string
	Identity             struct {
		Type string
		User map[string]struct{} `json:"userAssignedIdentities"`
	}
	Properties struct {
		EnvironmentID string `json:"environmentId"`
		Configuration struct {
			TriggerType           string
			ScheduleTriggerConfig *struct {
				CronExpression                      string
				Parallelism, ReplicaCompletionCount int
			}
			ManualTriggerConfig *struct{ Parallelism, ReplicaCompletionCount int }
			ReplicaTimeout      int
			ReplicaRetryLimit   int
			Registries          []struct{ Server, Identity string }
			Secrets             []struct{ Name, KeyVaultURL, Identity string }
		}
		Template struct {
			Containers []struct {
				Name, Image string
				Args        []string
				Env         []struct{ Name, Value, SecretRef string }
				Resources   struct {
					CPU    float64
					Memory string
				}
				VolumeMounts []struct{ VolumeName, MountPath string }
			}
			Volumes []struct {
				Name, StorageType string
				Secrets           []struct{ SecretRef, Path string }
			}
		}
	}
}

func TestContainerAppsJob(t *testing.T) {
	dir := t.TempDir()
	variables := []string{"SUBSCRIPTION=00000000-0000-0000-0000-000000000001", "GROUP=mine", "LOCATION=westeurope",
		"NAME=myreportferry", "IDENTITY=00000000-0000-0000-0000-000000000002"}
	night := []byte(read(t, made(t, "azure/README.md", dir, "job.yaml", variables...)))
	backfill := []byte(read(t, made(t, "azure/README.md", dir, "backfill.yaml")))
	for _, c := range []struct {
		text                []byte
		name, args, trigger string
	}{
		{night, "reportferry", "run", "Schedule"},
		{backfill, "reportferry-backfill", "backfill campaigns_daily --from=2026-01-01 --to=2026-03-31", "Manual"},
	} {
		job := strict[azureJob](t, c.text)
		conf, task := job.Properties.Configuration, job.Properties.Template.Containers[0]
		if job.Name != c.name || job.Type != "Microsoft.App/jobs" || job.Location != "westeurope" ||
			strings.Join(task.Args, " ") != c.args || conf.TriggerType != c.trigger {
			t.Errorf("%+v", job)
		}
		program{dir: dir}.accept(t, append(slices.Clone(task.Args), "--help"))
		if (conf.ScheduleTriggerConfig != nil) != (c.trigger == "Schedule") ||
			(conf.ManualTriggerConfig != nil) != (c.trigger == "Manual") {
			t.Errorf("%s has the trigger of another: %+v", c.name, conf)
		}
		if s := conf.ScheduleTriggerConfig; s != nil && (s.CronExpression != "10 5 * * *" || s.Parallelism != 1 ||
			s.ReplicaCompletionCount != 1) {
			t.Errorf("%+v", s)
		}
		// One identity reads the image and the secrets, and is the program.
		identities := []string{conf.Registries[0].Identity}
		secrets := map[string]string{}
		for _, s := range conf.Secrets {
			identities, secrets[s.Name] = append(identities, s.Identity), s.KeyVaultURL
		}
		for _, id := range identities {
			if _, ok := job.Identity.User[id]; !ok || !strings.HasPrefix(id,
				"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/mine/") ||
				len(job.Identity.User) != 1 {
				t.Errorf("identity %s; the job's are %v", id, job.Identity.User)
			}
		}
		if secrets["token"] != "https://myreportferry.vault.azure.net/secrets/reportferry-token" ||
			secrets["config"] != "https://myreportferry.vault.azure.net/secrets/reportferry-config" {
			t.Errorf("secrets %v", secrets)
		}
		if task.Image != conf.Registries[0].Server+"/reportferry:1" ||
			!strings.HasPrefix(task.Image, "myreportferry.azurecr.io/") {
			t.Errorf("image %s", task.Image)
		}
		values := map[string]string{}
		for _, v := range task.Env {
			values[v.Name] = v.Value + v.SecretRef
		}
		if values["ADJUST_TOKEN"] != "token" || values["AZURE_CLIENT_ID"] != "00000000-0000-0000-0000-000000000002" {
			t.Errorf("environment %v", values)
		}
		deadline(t, values["REPORTFERRY_DEADLINE"], 1+conf.ReplicaRetryLimit,
			time.Duration(conf.ReplicaTimeout)*time.Second)
		v, m := job.Properties.Template.Volumes[0], task.VolumeMounts[0]
		if v.Name != m.VolumeName || v.StorageType != "Secret" || v.Secrets[0].SecretRef != "config" ||
			filepath.Join(m.MountPath, v.Secrets[0].Path) != configPath {
			t.Errorf("%+v is mounted as %+v; the image reads %s", v, m, configPath)
		}
	}
}

func TestConfigOnAzure(t *testing.T) {
	c := configOf(t, "azure/README.md", "NAME=myreportferry")
	if c.Ledger != "azblob://reportferry/ledger?storage_account=myreportferry" || c.Service.Token != "${ADJUST_TOKEN}" {
		t.Errorf("ledger %s, token %s", c.Ledger, c.Service.Token)
	}
	for _, j := range c.Jobs {
		if !slices.Equal(j.Sinks, []string{"azblob://reportferry/adjust?storage_account=myreportferry"}) {
			t.Errorf("job %s: sinks %s", j.Name, j.Sinks)
		}
	}
}

// The identity may do this, on these alone.
func TestRightsOnAzure(t *testing.T) {
	script, got := read(t, "azure/identity.sh"), []string{}
	for _, m := range regexp.MustCompile(
		`(?m)^may "?([^"\n]+?)"? "\$group/providers/Microsoft\.(\S+)"$`).FindAllStringSubmatch(script, -1) {
		got = append(got, m[1]+": "+m[2])
	}
	want := []string{
		"Storage Blob Data Contributor: Storage/storageAccounts/$NAME/blobServices/default/containers/reportferry",
		"Key Vault Secrets User: KeyVault/vaults/$NAME/secrets/reportferry-token",
		"Key Vault Secrets User: KeyVault/vaults/$NAME/secrets/reportferry-config",
		"AcrPull: ContainerRegistry/registries/$NAME",
	}
	if !slices.Equal(got, want) || strings.Count(script, "\nmay ") != len(want) ||
		strings.Count(script, "role assignment create") != 1 {
		t.Errorf("the identity may %q", got)
	}
	if !strings.Contains(read(t, "rights.md"), "`Storage Blob Data Contributor` on the container") {
		t.Error("the page of least rights says something else")
	}
}
