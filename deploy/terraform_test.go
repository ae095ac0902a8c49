package deploy

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// A module is Terraform's files of one folder: what they declare, and what they refer to.
type module struct {
	declared map[string]hcl.Range // by address: var.x, local.x, output.x, data.t.x, t.x
	used     map[string]hcl.Range // the first place that refers to it
	findings []string
}

func (m *module) find(at hcl.Range, format string, args ...any) {
	m.findings = append(m.findings, fmt.Sprintf("%s:%d: ", filepath.Base(at.Filename),
		at.Start.Line)+fmt.Sprintf(format, args...))
}

// parseModule reads files by name, and finds what Terraform would refuse before it asks a provider,
// and a little more.
func parseModule(files map[string]string) *module {
	m := &module{declared: map[string]hcl.Range{}, used: map[string]hcl.Range{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, diags := hclsyntax.ParseConfig([]byte(files[name]), name, hcl.InitialPos)
		if diags.HasErrors() {
			m.findings = append(m.findings, diags.Error())
			continue
		}
		if !bytes.Equal(hclwrite.Format([]byte(files[name])), []byte(files[name])) {
			m.findings = append(m.findings, name+":1: is not formatted; terraform fmt does it")
		}
		for _, block := range file.Body.(*hclsyntax.Body).Blocks {
			m.declare(block)
			m.refer(block.Body, nil)
		}
	}
	m.resolve()
	slices.Sort(m.findings)
	return m
}

func (m *module) declare(b *hclsyntax.Block) {
	add := func(address string) {
		if first, twice := m.declared[address]; twice {
			m.find(b.DefRange(), "%s is already declared in %s", address, filepath.Base(first.Filename))
		}
		m.declared[address] = b.DefRange()
	}
	switch b.Type {
	case "terraform", "provider":
	case "locals":
		for name := range b.Body.Attributes {
			add("local." + name)
		}
	case "variable":
		add("var." + b.Labels[0])
		m.want(b, "description", "type")
	case "output":
		add("output." + b.Labels[0])
		m.want(b, "description", "value")
	case "resource":
		add(strings.Join(b.Labels, "."))
	case "data":
		add("data." + strings.Join(b.Labels, "."))
	case "module":
		add("module." + b.Labels[0])
	default:
		m.find(b.DefRange(), "a block %s, which this test doesn't know", b.Type)
	}
}

func (m *module) want(b *hclsyntax.Block, names ...string) {
	for _, name := range names {
		if b.Body.Attributes[name] == nil {
			m.find(b.DefRange(), "%s %s has no %s", b.Type, b.Labels[0], name)
		}
	}
}

// refer notes every reference of a body; iterators are names of the dynamic blocks around it.
func (m *module) refer(body *hclsyntax.Body, iterators []string) {
	for _, a := range body.Attributes {
		for _, v := range a.Expr.Variables() {
			if address := target(v); address != "" && !slices.Contains(iterators, v.RootName()) {
				if _, before := m.used[address]; !before {
					m.used[address] = v.SourceRange()
				}
			}
		}
	}
	for _, b := range body.Blocks {
		inner := iterators
		if b.Type == "dynamic" {
			inner = append(slices.Clone(iterators), b.Labels[0])
		}
		m.refer(b.Body, inner)
	}
}

// target is the address that a reference such as google_service_account.runner.email is to; empty
// for each.value and others that stand for no declaration.
func target(v hcl.Traversal) string {
	parts := []string{v.RootName()}
	for _, step := range v[1:] {
		if attr, ok := step.(hcl.TraverseAttr); ok {
			parts = append(parts, attr.Name)
		}
	}
	parts = append(parts, "", "")
	switch parts[0] {
	case "each", "count", "self", "path", "terraform":
		return ""
	case "data":
		return strings.Join(parts[:3], ".")
	}
	return strings.Join(parts[:2], ".")
}

// typeWords are what a variable's type is written with; the syntax tree takes them for references.
var typeWords = []string{"string.", "number.", "bool.", "any.", "list.", "map.", "set.", "object.", "tuple."}

func (m *module) resolve() {
	for address, at := range m.used {
		if _, ok := m.declared[address]; !ok && !slices.Contains(typeWords, address) {
			m.find(at, "%s is not declared", address)
		}
	}
	for address, at := range m.declared {
		root, _, _ := strings.Cut(address, ".")
		if _, ok := m.used[address]; !ok && (root == "var" || root == "local" || root == "data") {
			m.find(at, "%s is not used", address)
		}
	}
}

func moduleFiles(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("terraform/*.tf")
	check(t, err)
	files := map[string]string{}
	for _, name := range names {
		files[name] = read(t, name)
	}
	return files
}

func TestTerraformResolves(t *testing.T) {
	m := parseModule(moduleFiles(t))
	for _, finding := range m.findings {
		t.Error(finding)
	}
	for _, address := range []string{
		"google_cloud_run_v2_job.night", "google_cloud_scheduler_job.morning", "google_service_account.runner",
		"google_service_account.scheduler",
		"google_secret_manager_secret.token", "google_secret_manager_secret.config", "google_storage_bucket.ledger",
		"google_bigquery_dataset.tables",
		"google_monitoring_alert_policy.failed", "google_monitoring_alert_policy.stale", "output.job", "var.project",
	} {
		if _, ok := m.declared[address]; !ok {
			t.Errorf("%s is gone", address)
		}
	}
}

// attribute is the text of a block's attribute, without its quotes; empty when it has none.
func attribute(text []byte, b *hclsyntax.Block, name string) string {
	if a := b.Body.Attributes[name]; a != nil {
		return strings.Trim(string(a.Expr.Range().SliceBytes(text)), `"`)
	}
	return ""
}

// The module's page has every input and output, as the module describes it.
func TestTerraformPage(t *testing.T) {
	var want strings.Builder
	for _, table := range [][3]string{{"variables.tf", "variable", "\n| input | default | |\n|---|---|---|\n"},
		{"outputs.tf", "output", "\n| output | |\n|---|---|\n"}} {
		text := []byte(read(t, "terraform/"+table[0]))
		file, diags := hclsyntax.ParseConfig(text, table[0], hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		want.WriteString(table[2])
		for _, b := range file.Body.(*hclsyntax.Body).Blocks {
			cells := []string{"`" + b.Labels[0] + "`"}
			switch value := attribute(text, b, "default"); {
			case b.Type != "variable" || value == "null":
			case b.Body.Attributes["default"] == nil:
				cells = append(cells, "required")
			default:
				cells = append(cells, "`"+value+"`")
			}
			if b.Type == "variable" && len(cells) == 1 {
				cells = append(cells, "")
			}
			fmt.Fprintf(&want, "| %s |\n", strings.Join(append(cells, attribute(text, b, "description")), " | "))
		}
	}
	if page := read(t, "terraform/README.md"); !strings.HasSuffix(page, want.String()) {
		t.Errorf("the page doesn't end with\n%s", want.String())
	}
}

// The example says what the module must be told, nothing that it doesn't know, and asks for what it
// gives.
func TestTerraformExample(t *testing.T) {
	text := read(t, "terraform/example/main.tf")
	for _, finding := range parseModule(map[string]string{"main.tf": text}).findings {
		t.Error(finding)
	}
	outer := parseModule(moduleFiles(t))
	file, _ := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "module" {
			continue
		}
		if source := attribute([]byte(text), b, "source"); filepath.Clean(filepath.Join("terraform/example", source)) !=
			"terraform" {
			t.Errorf("the example's source is %s", source)
		}
		for name := range b.Body.Attributes {
			if _, known := outer.declared["var."+name]; !known && name != "source" {
				t.Errorf("the module has no input %s", name)
			}
		}
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| required \\|").FindAllStringSubmatch(read(t,
			"terraform/README.md"), -1) {
			if b.Body.Attributes[m[1]] == nil {
				t.Errorf("the example lacks %s", m[1])
			}
		}
	}
	given := regexp.MustCompile(`module\.reportferry\.(\w+)`).FindAllStringSubmatch(text, -1)
	for _, m := range given {
		if _, known := outer.declared["output."+m[1]]; !known {
			t.Errorf("the module has no output %s", m[1])
		}
	}
	if len(given) == 0 {
		t.Error("the example uses no output")
	}
}

func TestTerraformCheckFinds(t *testing.T) {
	m := parseModule(map[string]string{
		"a.tf": "variable \"used\" {\n  description = \"\"\n  type        = list(string)\n}\nvariable \"unused\" " +
			"{\n  type = string\n}\nlocals {\n  one = var.used[0]\n}\n",
		"b.tf": "resource \"t\" \"r\" {\n  a = var.gone\n  b = \"${local.gone}-${t.gone.id}\"\n  c = " +
			"data.d.gone.id\n  e = each.value\n}\nresource \"t\" \"r\" {}\noutput \"o\" {\n  value = " +
			"module.gone.x\n}\n",
		"c.tf": "x   = {\n",
		"d.tf": "locals {\n  two    = t.r.id\n}\nunknown {}\n",
	})
	want := []string{
		"a.tf:5: var.unused is not used", "a.tf:5: variable unused has no description", "a.tf:8: local.one is not used",
		"b.tf:2: var.gone is not declared", "b.tf:3: local.gone is not declared", "b.tf:3: t.gone is not declared",
		"b.tf:4: data.d.gone is not declared", "b.tf:7: t.r is already declared in b.tf",
		"b.tf:8: output o has no description",
		"b.tf:9: module.gone is not declared", "c.tf:", "d.tf:1: is not formatted; terraform fmt does it",
		"d.tf:1: local.two is not used",
		"d.tf:4: a block unknown, which this test doesn't know",
	}
	if !slices.EqualFunc(m.findings, want, strings.HasPrefix) {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(m.findings, "\n"), strings.Join(want, "\n"))
	}
}

// grant is a role of an account on one kind of resource.
var grant = regexp.MustCompile(`resource "(google_\w+_iam_member)" "(\w+)" \{[^}]*?role\s+= "(roles/[\w.]+)"`)

// The rights are exactly these, in the module and in the script.
func TestRights(t *testing.T) {
	got := map[string]string{}
	for _, text := range moduleFiles(t) {
		text = regexp.MustCompile(`(?s)for_each = \{.*?\}\n`).ReplaceAllString(text, "")
		for _, g := range grant.FindAllStringSubmatch(text, -1) {
			got[g[1]+"."+g[2]] = g[3]
		}
	}
	want := map[string]string{
		"google_storage_bucket_iam_member.runner":        "roles/storage.objectUser",
		"google_storage_bucket_iam_member.staging":       "roles/storage.legacyBucketReader",
		"google_project_iam_member.runner":               "roles/bigquery.jobUser",
		"google_bigquery_dataset_iam_member.runner":      "roles/bigquery.dataEditor",
		"google_secret_manager_secret_iam_member.runner": "roles/secretmanager.secretAccessor",
		"google_cloud_run_v2_job_iam_member.scheduler":   "roles/run.invoker",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the module grants %v, want %v", got, want)
	}
	iam, err := os.ReadFile("terraform/iam.tf")
	check(t, err)
	if n := len(regexp.MustCompile(`_iam_(member|binding|policy)" "`).FindAll(iam, -1)); n != len(want) {
		t.Errorf("iam.tf has %d grants, want %d", n, len(want))
	}

	roles := regexp.MustCompile(`roles/[\w.]+`)
	script := roles.FindAllString(read(t, "cloudrun/accounts.sh")+read(t, "cloudrun/schedule.sh"), -1)
	delete(want, "google_storage_bucket_iam_member.staging")
	if slices.Sort(script); !slices.Equal(script, slices.Sorted(maps.Values(want))) {
		t.Errorf("the scripts grant %v, want %v", script, slices.Sorted(maps.Values(want)))
	}
}
