package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// What a newcomer sees who has no config: every message, one after the other in one folder.
func TestNoFileText(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ADJUST_TOKEN", "")
	t.Setenv("REPORTFERRY_CONFIG", "")
	const table = "--to ./out --embedded --currency USD --dimensions day,network --start -9d --metrics installs,cost"
	for _, s := range []struct {
		name, args string
		code       int
	}{
		{"missing", "run", 2},
		{"run", "run " + table, 0},
		{"again", "run " + table, 0},
		{"metric", "run " + table + ",clicks", 0},
		{"filter", "run " + table + " --filter os_name__in=ios", 2},
		{"print", "run " + table + " --print-config", 0},
		{"print-all", "run --to s3://bucket/a?region=eu-west-1 --currency EUR --dimensions week,app --metrics " +
			"installs --name weeks --start 2026-01-01" +
			" --filter app__in=a,b --filter installs__gt=10 --filter app__contains=${x} --utc-offset -03:30 " +
			"--attribution-types click --sandbox --os-names ios" +
			" --ad-spend-mode network --token-env MINE --base-url https://example.com --print-config", 0},
		{"print-report", "report --currency USD --dimensions day --metrics installs --timezone-id Europe/Berlin " +
			"--date-period -5d:-1d --print-config", 0},
		{"print-warehouse", "run --to bigquery://project/set --embedded --currency USD --dimensions app --metrics " +
			"installs --print-config", 0},
		{"token", "run --to out --currency USD --dimensions day --metrics installs", 2},
		{"config", "run --to out --config my.yml", 2},
		{"job", "run countries --to out", 2},
		{"flag", "run --metrics installs", 2},
		{"nothing", "run --to out", 2},
		{"metrics", "run --to out --dimensions day", 2},
		{"dimensions", "run --to out --metrics installs", 2},
		{"currency", "run --to out --dimensions day --metrics installs", 2},
		{"keys", "run --to out --embedded --currency usd --dimensions day,dya --metrics installs --start now --name " +
			"By-Day --reattributed maybe --filter day__in=x", 2},
		{"both", "run --to out --embedded --base-url https://example.com --currency USD --dimensions day --metrics " +
			"installs", 2},
		{"gcs", "run --to gcs://bucket --embedded --currency USD --dimensions day --metrics installs", 2},
		{"twice", "run --to out --embedded --currency USD --dimensions day,day --metrics installs", 2},
		{"scheme", "run --to ftp://host/x --embedded --currency USD --dimensions day --metrics installs", 2},
		{"report-sort", "report --embedded --currency USD --dimensions day --metrics installs --sort day " +
			"--print-config", 2},
		{"report-period", "report --embedded --currency USD --dimensions day --metrics installs --date-period " +
			"this_week --print-config", 2},
	} {
		t.Run(s.name, func(t *testing.T) {
			code, out, errs := inProcess(t, s.args)
			if code != s.code {
				t.Errorf("exit code %d, want %d: %s%s", code, s.code, out, errs)
			}
			if code != 0 {
				// A message may be wide.
				errs = strings.ReplaceAll("error: "+strings.TrimPrefix(errs, "reportferry: "), "\n--", "\nerror: --")
			}
			golden(t, "nofile-"+s.name, "$ reportferry "+wrapped(s.args)+undated(steady(errs+out)))
		})
	}
}

// undated takes out what differs from day to day. The compression of these tables keeps them from
// running in a bubble, whose clock would be the same each time.
func undated(text string) string {
	for of, as := range map[*regexp.Regexp]string{
		regexp.MustCompile(`20\d\d-\d\d-\d\d`): "2026-01-31", regexp.MustCompile(`\([\d.]+m?s\)`): "(20ms)",
		regexp.MustCompile(`CSV in .*`): "CSV in 4.1 kB, Parquet out 10.4 kB", waitsRow: "",
		regexp.MustCompile(`(windows +)\d`): "${1}3", regexp.MustCompile(`(requests +)\d`): "${1}6",
	} {
		text = of.ReplaceAllString(text, as)
	}
	return text
}

// A report of the made-up account needs nothing at all.
func TestEmbeddedReport(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("REPORTFERRY_CONFIG", "")
	for _, args := range []string{"report --dimensions network --metrics installs,cost --date-period yesterday",
		"events --search level"} {
		if code, out, errs := inProcess(t, args+" --embedded"); code != 0 || strings.Count(out, "\n") < 3 {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errs)
		}
	}
	check(t, os.WriteFile("reportferry.yml", []byte("service: nobody's\n"), 0o600))
	if code, out, errs := inProcess(t, "report --embedded --dimensions app --metrics installs"); code != 0 {
		t.Errorf("beside a wrong config: exit code %d: %s%s", code, out, errs)
	}
	left, err := os.ReadDir(".")
	check(t, err)
	if len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}
}

// The config that is printed runs to the same table: nothing is fetched again, and nothing is
// planned. Without --to, the flags that it gives a meaning are refused.
func TestPrintedConfigIsTheTable(t *testing.T) {
	slow.Test(t)
	const token = "token-of-the-newcomer"
	base, stop := serveEmulator(t, "--apps", "3", "--days", "20", "--token", token, "--rate", "-1")
	defer stop()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("REPORTFERRY_CONFIG", "")
	t.Setenv("MINE", token)
	args := "run --to ./out --token-env MINE --base-url " + base +
		" --currency USD --dimensions day,network --metrics installs,cost --start -12d --filter network__not_in=Organic"
	code, out, errs := inProcess(t, args)
	if code != 0 || !strings.Contains(out, "written 12,") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	left, err := os.ReadDir(".")
	check(t, err)
	if len(left) != 1 || left[0].Name() != "out" {
		t.Errorf("the folder has %v", left)
	}
	before := digestOf(t, "out/day_network")
	code, text, errs := inProcess(t, args+" --print-config")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	check(t, os.WriteFile("reportferry.yml", []byte(text), 0o600))
	for _, c := range []struct{ args, says string }{
		{"run", "day_network: all is up to date, nothing was requested"},
		{args, "day_network: all is up to date, nothing was requested"}, {"plan", "nothing is due"},
		{"check", "12 parts, as recorded"}, {"status", "no gaps"},
	} {
		if code, out, errs := inProcess(t, c.args); code != 0 || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit code %d: %s%s", c.args, code, out, errs)
		}
	}
	if after := digestOf(t, "out/day_network"); after != before {
		t.Errorf("the table's files have changed:\n%s\n%s", before, after)
	}
	code, out, errs = inProcess(t, strings.Replace(args, "installs,cost", "installs,cost,clicks", 1))
	if code != 0 || !strings.Contains(out, "written 12,") || !strings.Contains(out, "--print-config >day_network.yml") {
		t.Errorf("an added metric: exit code %d: %s%s", code, out, errs)
	}
	check(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := os.ReadFile(path)
			check(t, err)
			if bytes.Contains(data, []byte(token)) {
				t.Errorf("%s has the token", path)
			}
		}
		return err
	}))
	if strings.Contains(out+errs+text, token) {
		t.Error("the token was printed")
	}
}

// What reads a table's folder, or all folders of tables, finds no file of the ledger: it holds no
// Parquet, and readers leave out names that begin with a dot.
func TestTheLedgerBesideIsNoTable(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, out, errs := inProcess(t, "run --to tables --embedded --currency USD --dimensions day --metrics installs "+
		"--start -5d"); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	b, err := bucket.Open(t.Context(), "file://./tables/.reportferry")
	check(t, err)
	table, err := ledger.Open(ledger.Options{Store: b}).Table(context.Background(), "day")
	check(t, err)
	if n := len(table.Records()); n != 5 {
		t.Errorf("the ledger has %d records", n)
	}
	parts := 0
	check(t, filepath.WalkDir("tables", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			if strings.Contains(path, ".reportferry") {
				t.Errorf("a reader finds %s", path)
			}
			if strings.HasPrefix(path, "tables/day/") {
				parts++
			}
		} else if strings.HasPrefix(path, "tables/day/") && !d.IsDir() {
			t.Errorf("beside the parts: %s", path)
		}
		return err
	}))
	if parts != 5 {
		t.Errorf("%d parts", parts)
	}
}

// digestOf is every file below a folder, with its size and time.
func digestOf(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := d.Info()
			check(t, err)
			b.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return err
	}))
	return b.String()
}

var tokenLine = regexp.MustCompile(`token: "\$\{[A-Z_]+\}"`)

// No text of a config that is printed holds a token, only where it is kept, and every one of them
// is read again.
func TestPrintedConfigIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{
		"report --currency USD --dimensions day --metrics installs",
		"report --currency USD --dimensions hour,campaign --metrics cost --filter campaign__contains=#x:y " +
			"--ad-revenue-sources AdMob",
		"run --to ../a&b --currency USD --dimensions app --metrics roas_d7 --cohort-maturity mature",
		"run --to gs://bucket --currency USD --dimensions month --metrics roas_d7 --reattributed false",
	} {
		code, out, errs := inProcess(t, args+" --print-config")
		if code != 0 || !tokenLine.MatchString(out) {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errs)
		}
		if _, err := config.Parse("c.yml", []byte(out), os.LookupEnv); err != nil {
			t.Errorf("%s: %v:\n%s", args, err, out)
		}
	}
}
