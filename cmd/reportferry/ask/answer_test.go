package ask

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
)

func checkAsk(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fileAnswer(t *testing.T, text string) answer {
	t.Helper()
	a := answer{dir: t.TempDir(), path: filepath.Join(t.TempDir(), "answer.csv")}
	checkAsk(t, os.WriteFile(a.path, []byte(text), 0o600))
	var err error
	a.header, err = readHeader(a.path)
	checkAsk(t, err)
	return a
}

const someAnswer = "\ufeffcampaign,day,installs,cost,roas_d7,installs_pop,purchase_events\n" +
	"\"a, \"\"b\"\"\nc\",2026-01-02,12,1.50,0.25,11,3\n夏のセール,2026-01-02,-3,,1e-07,0,4\n"

func TestAnswerFormats(t *testing.T) {
	a := fileAnswer(t, someAnswer)
	for format, want := range map[string]string{
		"csv": someAnswer,
		"json": `{"campaign":"a, \"b\"\nc","day":"2026-01-02","installs":12,"cost":1.50,"roas_d7":0.25,"installs_pop":11,"purchase_events":3}` + "\n" +
			`{"campaign":"夏のセール","day":"2026-01-02","installs":-3,"cost":null,"roas_d7":1e-07,"installs_pop":0,"purchase_events":4}` + "\n",
		"text": "campaign    day         installs  cost  roas_d7  installs_pop  purchase_events\n" +
			"a, \"b\"⏎c    2026-01-02        12  1.50     0.25            11                3\n" +
			"夏のセール  2026-01-02        -3          1e-07             0                4\n",
	} {
		var out bytes.Buffer
		checkAsk(t, a.writeTo(t.Context(), format, "", &out))
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant:\n%s", format, &out, want)
		}
		for line := range strings.Lines(out.String()) {
			if format == "json" && !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %s", line)
			}
		}
	}
}

// The types of the columns are those that a job would give them.
func TestAnswerParquet(t *testing.T) {
	for what, a := range map[string]answer{
		"two rows": fileAnswer(t, strings.TrimPrefix(someAnswer, "\ufeff")),
		"none": {dir: t.TempDir(), header: []string{"campaign", "day", "installs", "cost", "roas_d7",
			"installs_pop", "level-up! now_events"}},
	} {
		path := filepath.Join(t.TempDir(), "x.parquet")
		checkAsk(t, a.writeTo(t.Context(), "parquet", path, nil))
		f, err := os.Open(path)
		checkAsk(t, err)
		info, err := f.Stat()
		checkAsk(t, err)
		var columns []table.Column
		for i, typ := range []catalog.Type{catalog.String, catalog.Day, catalog.Int64, catalog.Decimal, catalog.Double,
			catalog.Int64, catalog.Int64} {
			columns = append(columns, table.Column{Name: catalog.ColumnName(a.header[i]), Type: typ})
		}
		rows, _, err := table.Measure(t.Context(), f, info.Size(), columns)
		checkAsk(t, err)
		if want := map[string]int64{"two rows": 2}[what]; rows != want {
			t.Errorf("%s: %d rows", what, rows)
		}
		checkAsk(t, f.Close())
	}
}

// A file is whole or not there, and what was there before stays until then.
func TestAnswerFileIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.parquet")
	checkAsk(t, os.WriteFile(path, []byte("old"), 0o600))
	a := fileAnswer(t, "day,installs\n2026-01-02,many\n")
	if err := a.writeTo(t.Context(), "parquet", path, nil); err == nil ||
		!strings.Contains(err.Error(), `"many" is not a plain number`) {
		t.Errorf("a cell that is no number: %v", err)
	}
	data, err := os.ReadFile(path)
	checkAsk(t, err)
	left, err := os.ReadDir(dir)
	checkAsk(t, err)
	if string(data) != "old" || len(left) != 1 {
		t.Errorf("%q, and %d files", data, len(left))
	}
	a = fileAnswer(t, "day,installs\n2026-01-02,1\n")
	checkAsk(t, a.writeTo(t.Context(), "csv", path, nil))
	if data, err = os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), "day,") {
		t.Errorf("%q %v", data, err)
	}
}

// A link stays a link, and a pipe stays a pipe: renaming a file over /dev/stdout would take it from
// the machine.
func TestAnswerToWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	a := fileAnswer(t, "day,installs\n2026-01-02,1\n")
	file, link, pipe := filepath.Join(dir, "file.csv"), filepath.Join(dir, "link.csv"), filepath.Join(dir, "pipe.csv")
	checkAsk(t, os.WriteFile(file, []byte("old"), 0o600))
	checkAsk(t, os.Symlink(file, link))
	checkAsk(t, syscall.Mkfifo(pipe, 0o600))
	checkAsk(t, a.writeTo(t.Context(), "csv", link, nil))
	if data, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(data), "day,") {
		t.Errorf("behind the link: %q %v", data, err)
	}
	read := make(chan string)
	go func() {
		data, err := os.ReadFile(pipe)
		if err != nil {
			data = []byte(err.Error())
		}
		read <- string(data)
	}()
	checkAsk(t, a.writeTo(t.Context(), "csv", pipe, nil))
	if got := <-read; !strings.HasPrefix(got, "day,") {
		t.Errorf("through the pipe: %q", got)
	}
	for path, want := range map[string]os.FileMode{link: os.ModeSymlink, pipe: os.ModeNamedPipe} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != want {
			t.Errorf("%s is %v now (%v)", path, info.Mode(), err)
		}
	}
}

// A report that is asked for dates for people goes into no file of typed dates, and is shown as it
// came in the others.
func TestFormatDates(t *testing.T) {
	for format, wrong := range map[string]string{"parquet": "--format-dates: Parquet columns hold dates", "csv": "",
		"json": "", "text": ""} {
		cmd := &cobra.Command{}
		r := &reportFlags{}
		r.form = (&wire.Program{}).AddOutput(cmd, "", nil, "csv", "parquet")
		checkAsk(t, r.form.Set(format))
		r.Query.Dimensions, r.Query.Metrics, r.Query.FormatDates = []string{"day"}, []string{"installs"}, true
		if err := r.complete(cmd); (err == nil) != (wrong == "") || err != nil &&
			!strings.HasPrefix(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", format, err, wrong)
		}
	}
	a := fileAnswer(t, "\ufeff\"day\",\"installs\"\r\n\"Mar 14, 2026\",\"1\"\r\n")
	for format, want := range map[string]string{
		"json": `{"day":"Mar 14, 2026","installs":1}` + "\n",
		"text": "day           installs\nMar 14, 2026         1\n",
	} {
		var out bytes.Buffer
		checkAsk(t, a.writeTo(t.Context(), format, "", &out))
		if out.String() != want {
			t.Errorf("%s: %q, want %q", format, &out, want)
		}
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := a.writeTo(t.Context(), "parquet", path, nil); err == nil ||
		!strings.Contains(err.Error(), `"Mar 14, 2026" is not a valid day`) {
		t.Errorf("a service that formats dates without being asked to: %v", err)
	}
}

func TestHeaderAsAsked(t *testing.T) {
	asked := []string{"day", "installs"}
	for header, want := range map[string]string{"DAY,Installs": "day,installs", "installs,Day": "installs,day",
		"Day,day": "Day,day", "x,INSTALLS": "x,installs"} {
		if got := strings.Join(spelledAsAsked(strings.Split(header, ","), asked), ","); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
}

func TestDefaultFormat(t *testing.T) {
	for path, want := range map[string]string{"": "csv", "a.parquet": "parquet", "b.jsonl": "json", "c.txt": "",
		"none": "", "d.table": ""} {
		if got := defaultFormat(path, &bytes.Buffer{}); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}
