package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/preset"
	"github.com/reportferry/reportferry/internal/slow"
)

// The first line of a config that init has written names a schema that is there, and that is this
// version's; another's file of that name stays.
func TestInitLeavesTheSchemaThatItNames(t *testing.T) {
	t.Setenv("ADJUST_TOKEN", "")
	t.Chdir(t.TempDir())
	check(t, os.Mkdir("mine", 0o700))
	_, want, _ := inProcess(t, "schema")
	for _, x := range []struct{ there, want string }{{"", want}, {`{"$id": "` + wire.SchemaIDs + `v0.0.1/config.json"}`,
		want}, {`{"title": "not ours"}`, `{"title": "not ours"}`}} {
		if x.there != "" {
			check(t, os.WriteFile("mine/schema.json", []byte(x.there), 0o600))
		}
		if code, out, errs := inProcess(t, "init mine/some.yml --preset spend --force"); code != 0 ||
			!strings.Contains(out, "check it by schema.json") {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
		text, err := os.ReadFile("mine/some.yml")
		check(t, err)
		line, _, _ := strings.Cut(string(text), "\n")
		name, is := strings.CutPrefix(line, "# yaml-language-server: $schema=")
		got, err := os.ReadFile(filepath.Join("mine", name))
		if err != nil || !is || string(got) != x.want {
			t.Errorf("%q, and %q there before: %v, %.300s", line, x.there, err, got)
		}
	}
}

// What init prints, and which files it leaves, in one folder.
func TestInitText(t *testing.T) {
	slow.Test(t)
	t.Setenv("ADJUST_TOKEN", "")
	t.Setenv("TMPDIR", "/tmp")
	t.Chdir(t.TempDir())
	for _, s := range []struct {
		name, args string
		code       int
		wants      []string // of the error
		file       string   // that is there afterwards; empty: reportferry.yml alone
	}{
		{"list", "init --preset list", 0, nil, ""},
		{"embedded", "init --embedded --preset spend,events --app btpo7qnfyn23", 0, nil, "reportferry.yml"},
		{"there", "init --embedded --preset cohorts", 2,
			[]string{"reportferry.yml is there already, and stays as it is", "init other.yml", "--force"}, ""},
		{"nothing", "init no.yml", 2, []string{"--preset: want one of spend, cohorts, events, ad_revenue",
			"--dimensions and --metrics"}, ""},
		{"unknown", "init no.yml --preset spend,cohort", 2, []string{`--preset: no preset "cohort"; want`}, ""},
		{"half", "init no.yml --dimensions day", 2, []string{"--metrics: "}, ""},
		{"other-half", "init no.yml --metrics installs", 2, []string{"--dimensions: "}, ""},
		{"nameless", "init no.yml --preset spend --name mine", 2, []string{"--name: "}, ""},
		{"no-app", "init no.yml --embedded --preset spend --app Chess", 2,
			[]string{`--app: the account has no app "Chess"; its apps are`, "btpo7qnfyn23 (Chess Club 2)"}, ""},
		{"mistakes", "init no.yml --preset spend --currency EURO --schedule daily --zone Berlin --start x", 2, []string{
			"--schedule: want a cron", "\n--zone: want a zone", "\n--start: want a date",
			"\n--currency: want a currency",
		}, ""},
		{"twice", "init no.yml --config other.yml --preset spend", 2, []string{"--config names the file too"}, ""},
		{"token-itself", "init no.yml --token-env Xy12abc-_34 --preset spend", 2,
			[]string{"--token-env: want the name of"}, ""},
		{"token-like-a-name", "init no.yml --token-env Xy12abc34 --preset spend", 2,
			[]string{"--token-env: want the name of"}, ""},
		{"nowhere", "init none/no.yml --preset spend", 2, []string{"none/no.yml can't be written: "}, ""},
		{"bucket", "init real.yml --preset cohorts --currency EUR --to gs://bucket/adjust --timezone-id " +
			"Europe/Berlin --token-env PARTNER_TOKEN", 0, nil, "real.yml"},
		{"refused", "init own.yml --embedded --dimensions day,os_name --metrics instals --name mine", 2,
			[]string{"did you mean installs"}, "own.yml"},
		{"forced", "init own.yml --embedded --dimensions day,os_name --metrics installs --name mine --to there " +
			"--start -3d --force", 0, nil, "own.yml"},
	} {
		before, err := filepath.Glob("*.yml*")
		check(t, err)
		code, out, errs := inProcess(t, s.args)
		if code != s.code {
			t.Errorf("%s: exit code %d, want %d: %s", s.name, code, s.code, errs)
		}
		for _, want := range s.wants {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: %s\nhas no %q", s.name, errs, want)
			}
		}
		if strings.Contains(out+errs, "Xy12abc") {
			t.Errorf("%s prints what may be a token: %s%s", s.name, out, errs)
		}
		if s.file != "" && !slices.Contains(before, s.file) {
			before = append(before, s.file)
		}
		slices.Sort(before)
		if after, err := filepath.Glob("*.yml*"); err != nil || !slices.Equal(after, before) {
			t.Errorf("%s leaves %v, want %v, %v", s.name, after, before, err)
		}
		if out != "" && s.name != "refused" {
			golden(t, "init-"+s.name, "$ reportferry "+wrapped(s.args)+steady(out))
		}
	}
	for _, name := range []string{"reportferry", "real", "own"} {
		data, err := os.ReadFile(name + ".yml")
		check(t, err)
		golden(t, "init-"+name+"-yml", string(data))
	}
}

// Each preset, and all of them in one config, fill every table of theirs with rows from the made-up
// account.
func TestInitPresets(t *testing.T) {
	slow.Test(t)
	var all []string
	for _, p := range preset.All() {
		all = append(all, p.Name)
	}
	for _, names := range append(slices.Collect(slices.Chunk(all, 1)), all) {
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "presets.yml")
			for _, args := range []string{
				"init " + file + " --embedded --start -9d --to " + dir + "/out --preset " + strings.Join(names, ","),
				"run --config " + file, "gaps --config " + file,
			} {
				if code, out, errs := inProcess(t, args); code != 0 {
					t.Fatalf("%s: exit code %d: %s%s", args, code, out, errs)
				}
			}
			c, err := config.Load(file, os.LookupEnv)
			if err != nil || len(c.Warnings) > 0 {
				t.Fatal(c, err)
			}
			for _, j := range c.Jobs {
				parts, err := filepath.Glob(filepath.Join(dir, "out", j.Table, "*", "*.parquet"))
				check(t, err)
				if len(parts) == 0 {
					t.Errorf("%s has no files", j.Table)
				}
				for _, part := range parts {
					f, err := os.Open(part)
					check(t, err)
					if rows := parquet.NewReader(f).NumRows(); rows == 0 {
						t.Errorf("%s has no rows", part)
					}
					check(t, f.Close())
				}
			}
		})
	}
}

// Over a pipe nothing is asked, even when nothing is said.
func TestInitWithoutTerminal(t *testing.T) {
	dir := t.TempDir()
	p := &place{t: t, dir: dir}
	cmd, out := p.command(t.Context(), "init")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	check(t, err)
	_, err = io.WriteString(in, "example\n")
	check(t, err)
	err = cmd.Run()
	if err == nil || !strings.Contains(out.String(), "--preset: want one of") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "reportferry.yml")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was written")
	}
}
