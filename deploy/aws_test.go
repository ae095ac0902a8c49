package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config"
)

// A task is what ECS reads of a definition; a key that isn't here is an error
// (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html).
type ecsTask struct {
	Family     string                  `json:"family"`
	Requires   []string                `json:"requiresCompatibilities"`
	Network    string                  `json:"networkMode"`
	CPU        string                  `json:"cpu"`
	Memory     string                  `json:"memory"`
	TaskRole   string                  `json:"taskRoleArn"`
	Execution  string                  `json:"executionRoleArn"`
	Containers []ecsContainer          `json:"containerDefinitions"`
	Volumes    []struct{ Name string } `json:"volumes"`
}

type ecsContainer struct {
	Name      string   `json:"name"`
	Image     string   `json:"image"`
	Command   []string `json:"command"`
	Essential bool     `json:"essential"`
	ReadOnly  bool     `json:"readonlyRootFilesystem"`
	Linux     struct {
		Init bool `json:"initProcessEnabled"`
	} `json:"linuxParameters"`
	Stop      int                            `json:"stopTimeout"`
	Variables []struct{ Name, Value string } `json:"environment"`
	Mounts    []struct {
		Volume string `json:"sourceVolume"`
		Path   string `json:"containerPath"`
	} `json:"mountPoints"`
	Log struct {
		Driver  string            `json:"logDriver"`
		Options map[string]string `json:"options"`
	} `json:"logConfiguration"`
}

// An ecsSchedule is what EventBridge Scheduler reads
// (https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html).
type ecsSchedule struct {
	Name, Description, ScheduleExpression, ScheduleExpressionTimezone string
	FlexibleTimeWindow                                                struct{ Mode string }
	Target                                                            struct {
		Arn, RoleArn  string
		EcsParameters struct {
			TaskDefinitionArn, LaunchType string
			NetworkConfiguration          struct {
				Awsvpc struct {
					Subnets        []string
					AssignPublicIp string
				} `json:"awsvpcConfiguration"`
			}
		}
		RetryPolicy struct{ MaximumRetryAttempts, MaximumEventAgeInSeconds int }
	}
}

// A policy of IAM; actions, resources and values are a text or several.
type policy struct {
	Version   string
	Statement []struct {
		Effect           string
		Action, Resource any
		Principal        map[string]string         `json:",omitempty"`
		Condition        map[string]map[string]any `json:",omitempty"`
	}
}

func (p *policy) actions() (found []string) {
	for _, s := range p.Statement {
		found = append(found, texts(s.Action)...)
	}
	return found
}

func texts(v any) (found []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			found = append(found, one.(string))
		}
	}
	return found
}

func TestFargateTask(t *testing.T) {
	task := strict[ecsTask](t, []byte(read(t, "aws/task.json")))
	if len(task.Containers) != 1 || !slices.Equal(task.Requires, []string{"FARGATE"}) || task.Network != "awsvpc" {
		t.Fatalf("%+v", task)
	}
	c := task.Containers[0]
	// Without a process of its own before it, a crash would end with 2, as a wrong config does.
	// SIGTERM ends a run within 10 s.
	if !c.ReadOnly || !c.Linux.Init || c.Stop < 12 || !c.Essential {
		t.Errorf("%+v", c)
	}
	if len(c.Mounts) != 1 || c.Mounts[0].Path != "/spool" || len(task.Volumes) != 1 ||
		task.Volumes[0].Name != c.Mounts[0].Volume ||
		!strings.Contains(read(t, "../Dockerfile"), "\nVOLUME /spool\n") {
		t.Errorf("mounts %+v of volumes %+v; the image's user owns the folder that its VOLUME is", c.Mounts,
			task.Volumes)
	}
	program{dir: t.TempDir()}.accept(t, append(slices.Clone(c.Command), "--help"))
	s := strict[ecsSchedule](t, []byte(read(t, "aws/schedule.json")))
	hours := regexp.MustCompile(`^cron\(10 (\d+),(\d+) \* \* \? \*\)$`).FindStringSubmatch(s.ScheduleExpression)
	if hours == nil || s.ScheduleExpressionTimezone != "Europe/Berlin" {
		t.Fatalf("%s %s", s.ScheduleExpression, s.ScheduleExpressionTimezone)
	}
	for _, v := range c.Variables {
		if v.Name == "REPORTFERRY_DEADLINE" { // the first run has ended when the second begins
			deadline(t, v.Value, 1, time.Hour)
		}
	}

	// What one file names, the others make or may use.
	script, page, passed := read(t, "aws/roles.sh"), read(t, "aws/README.md"), read(t, "aws/scheduler-policy.json")
	for _, role := range []string{task.TaskRole, task.Execution, s.Target.RoleArn} {
		name := strings.TrimPrefix(role, "arn:aws:iam::ACCOUNT:role/")
		if !strings.Contains(script, "\nrole "+name+" ") || role != s.Target.RoleArn &&
			!strings.Contains(passed, `"`+role+`"`) {
			t.Errorf("no role %s is made, or the scheduler may not pass it on", name)
		}
	}
	if s.Target.EcsParameters.TaskDefinitionArn != "arn:aws:ecs:REGION:ACCOUNT:task-definition/"+task.Family ||
		c.Name != "reportferry" ||
		!strings.Contains(passed, `"`+s.Target.EcsParameters.TaskDefinitionArn+`:*"`) ||
		!strings.Contains(passed, `"`+s.Target.Arn+`"`) {
		t.Errorf("the schedule starts %+v", s.Target)
	}
	for _, want := range []string{
		"aws ecs create-cluster --cluster-name " + strings.TrimPrefix(s.Target.Arn,
			"arn:aws:ecs:REGION:ACCOUNT:cluster/") + "\n",
		"aws logs create-log-group --log-group-name " + c.Log.Options["awslogs-group"] + " ",
		`IMAGE="` + strings.NewReplacer("ACCOUNT", "$ACCOUNT", "REGION", "$REGION").Replace(c.Image) + `"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// The roles may do what the page of least rights says, and nothing else.
func TestRightsOnAWS(t *testing.T) {
	rights := read(t, "rights.md")
	_, told, _ := strings.Cut(rights, "```json\n")
	told, _, _ = strings.Cut(told, "```")
	told = strings.ReplaceAll(told, "my-bucket", "reportferry-ACCOUNT")
	run := strict[policy](t, []byte(read(t, "aws/run-policy.json")))
	token := run.Statement[len(run.Statement)-1]
	run.Statement = run.Statement[:len(run.Statement)-1]
	text := func(p *policy) string {
		data, err := json.Marshal(p)
		check(t, err)
		return string(data)
	}
	if got, want := text(run), text(strict[policy](t, []byte(told))); got != want {
		t.Errorf("the program may\n%s\nand the page says\n%s", got, want)
	}
	if actions := texts(token.Action); !strings.Contains(rights,
		"`"+strings.Join(actions, "` and `")+"` on the secret") ||
		token.Resource != "arn:aws:secretsmanager:REGION:ACCOUNT:secret:reportferry-token-??????" {
		t.Errorf("the program may %v on %v", actions, token.Resource)
	}
	for name, want := range map[string][]string{
		"execution": {"ecr:GetAuthorizationToken", "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage",
			"ecr:GetDownloadUrlForLayer", "logs:CreateLogStream", "logs:PutLogEvents"},
		"scheduler": {"ecs:RunTask", "iam:PassRole"},
	} {
		p := strict[policy](t, []byte(read(t, "aws/"+name+"-policy.json")))
		if got := p.actions(); !slices.Equal(got, want) {
			t.Errorf("%s may %v", name, got)
		}
		for _, s := range p.Statement {
			// Which takes no other.
			if s.Resource == "*" && !slices.Equal(texts(s.Action), []string{"ecr:GetAuthorizationToken"}) {
				t.Errorf("%s may %v on everything", name, s.Action)
			}
		}
	}
	trust := strict[policy](t, []byte(read(t, "aws/trust.json"))).Statement[0]
	if !maps.Equal(trust.Principal, map[string]string{"Service": "SERVICE"}) ||
		trust.Condition["StringEquals"]["aws:SourceAccount"] != "ACCOUNT" {
		t.Errorf("a role is trusted with %+v", trust)
	}
	if strict[struct {
		Rules []struct {
			ID, Status                     string
			Filter                         struct{ Prefix string }
			NoncurrentVersionExpiration    struct{ NoncurrentDays int }
			AbortIncompleteMultipartUpload struct{ DaysAfterInitiation int }
		}
	}](t, []byte(read(t, "aws/lifecycle.json"))).Rules[0].NoncurrentVersionExpiration.NoncurrentDays != 30 {
		t.Error("old versions of the ledger don't end after 30 days")
	}
}

// made is the file that a page's line with sed makes in a folder, of those of this one or of what
// such a line has made before.
func made(t *testing.T, page, dir, file string, env ...string) string {
	t.Helper()
	here, err := filepath.Abs(".")
	check(t, err)
	if err := os.Symlink(here, filepath.Join(dir, "deploy")); !os.IsExist(err) {
		check(t, err)
	}
	for _, s := range steps(read(t, page)) {
		if line, _, _ := strings.Cut(s.line, " && "); strings.HasPrefix(line, "sed ") &&
			strings.HasSuffix(line, " > "+file) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", line, err, out)
			}
			return filepath.Join(dir, file)
		}
	}
	t.Fatalf("%s makes no %s", page, file)
	return ""
}

// configOf is the config that a page makes of the cloud's, read as the program reads it.
func configOf(t *testing.T, page string, env ...string) *config.Config {
	t.Helper()
	c, err := config.Load(made(t, page, t.TempDir(), "my.yml", env...), os.LookupEnv)
	check(t, err)
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	return c
}

func TestConfigOnAWS(t *testing.T) {
	c := configOf(t, "aws/README.md", "ACCOUNT=123456789012", "REGION=eu-central-1")
	if c.Ledger != "s3://reportferry-123456789012/ledger?region=eu-central-1" ||
		c.Service.Token != "awssecretsmanager://reportferry-token?region=eu-central-1" {
		t.Errorf("ledger %s, token %s", c.Ledger, c.Service.Token)
	}
	for _, j := range c.Jobs {
		if !slices.Equal(j.Sinks, []string{"s3://reportferry-123456789012/adjust?region=eu-central-1"}) {
			t.Errorf("job %s: sinks %s", j.Name, j.Sinks)
		}
	}
}

// The script hands over its arguments as they are.
func TestStartOnAWS(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "aws"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o700))
	for args, want := range map[string]string{
		"":                             `["run"]`,
		"backfill a --from=2026-01-01": `["backfill","a","--from=2026-01-01"]`,
	} {
		cmd := exec.CommandContext(t.Context(), "aws/start.sh", strings.Fields(args)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SUBNET=subnet-1")
		out, err := cmd.CombinedOutput()
		check(t, err)
		if want = `{"containerOverrides":[{"name":"reportferry","command":` + want +
			`}]}`; !strings.Contains(string(out), want+"\n") {
			t.Errorf("start.sh %s: %s", args, out)
		}
	}
}
