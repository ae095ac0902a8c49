package run

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

// packedContext is what Dagster puts into a variable: base64(zlib(JSON)).
func packedContext(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err = z.Write(text)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func lookupIn(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, set := vars[name]; return value, set }
}

type dagsterContext = map[string]any

// The days of a step are those of its partition, its range or its window, whose end is not in it.
func TestDagsterRange(t *testing.T) {
	for _, c := range []struct {
		name        string
		step        dagsterContext
		first, last string // both empty: none asked for
		err         string
	}{
		{"no partitions", dagsterContext{"partition_key": nil}, "", "", ""},
		{"a day", dagsterContext{"partition_key": "2026-01-31"}, "2026-01-31", "2026-01-31", ""},
		{"an hour", dagsterContext{"partition_key": "2026-01-31-13:00"}, "2026-01-31", "2026-01-31", ""},
		{"a range of keys", dagsterContext{"partition_key_range": dagsterContext{"start": "2026-01-30",
			"end": "2026-02-02"}}, "2026-01-30", "2026-02-02", ""},
		{"a month", dagsterContext{"partition_key": "2026-02-01",
			"partition_time_window": dagsterContext{"start": "2026-02-01T00:00:00+00:00",
				"end": "2026-03-01T00:00:00+00:00"}},
			"2026-02-01", "2026-02-28", ""},
		{"a day elsewhere", dagsterContext{"partition_time_window": dagsterContext{"start": "2026-02-01T00:00:00-08:00",
			"end": "2026-02-02T00:00:00-08:00"}}, "2026-02-01", "2026-02-01", ""},
		{"a range in one run", dagsterContext{"extras": dagsterContext{
			"reportferry_window": dagsterContext{"start": "2026-02-01T00:00:00+09:00",
				"end": "2026-02-04T00:00:00+09:00"}}}, "2026-02-01", "2026-02-03", ""},
		{"two dimensions", dagsterContext{"partition_key": "2026-01-31|eu"}, "", "", "several dimensions"},
		{"no day", dagsterContext{"partition_key": "blue"}, "", "", `"blue" doesn't begin with a date`},
	} {
		p, err := OpenDagster(lookupIn(map[string]string{DagsterVariable: packedContext(t,
			dagsterContext{"data": c.step}),
			dagsterMessages: packedContext(t, dagsterContext{"stdio": "stderr"})}), nil, &bytes.Buffer{})
		if err != nil {
			t.Fatal(c.name, err)
		}
		first, last, asked, err := p.Range()
		if first != c.first || last != c.last || asked != (c.first != "") || (err == nil) != (c.err == "") ||
			err != nil && (!strings.Contains(err.Error(), c.err) || text.ExitCode(err) != 2) {
			t.Errorf("%s: %s to %s, %v, %v", c.name, first, last, asked, err)
		}
	}
}

// The context comes in a file or in the variable, messages go to a file or a stream; what isn't
// known is refused.
func TestOpenDagster(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "context")
	if err := os.WriteFile(file, []byte(`{"asset_keys": ["a"], "partition_key": "2026-01-31"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ListenForDagster(lookupIn(nil), nil, nil); l != (wire.NoListener{}) || err != nil {
		t.Error("without Dagster", l, err)
	}
	to := filepath.Join(dir, "messages")
	for _, way := range []dagsterContext{{"path": to}, {"stdio": "stdout"}, {"buffered_stdio": "stdout"}} {
		var out bytes.Buffer
		l, err := ListenForDagster(lookupIn(map[string]string{DagsterVariable: packedContext(t,
			dagsterContext{"path": file}), dagsterMessages: packedContext(t, way)}), &out, nil)
		if err != nil {
			t.Fatal(way, err)
		}
		failed := &text.ExitError{Code: 2, Err: errors.New("wrong")}
		if err := errors.Join(l.(*DagsterPipes).message("log", dagsterContext{"message": "hi"}),
			l.Closed(t.Context(), 2, failed)); err != nil {
			t.Error(err)
		}
		said, _ := os.ReadFile(to)
		text := out.String() + string(said)
		_ = os.Remove(to)
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			var m struct {
				Version string `json:"__dagster_pipes_version"`
				Method  string
				Params  map[string]any
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "0.1" ||
				m.Method != []string{"opened", "log", "closed"}[i] {
				t.Errorf("%v: line %d: %v %s", way, i, err, line)
			}
			if m.Method == "closed" && !strings.Contains(fmt.Sprint(m.Params), "wrong") {
				t.Errorf("the end is %v", m.Params)
			}
		}
	}
	for what, vars := range map[string]map[string]string{
		"no context": {DagsterVariable: "x"},
		"another way in": {DagsterVariable: packedContext(t, dagsterContext{"s3": "x"}),
			dagsterMessages: packedContext(t, dagsterContext{"path": to})},
		"another way out": {DagsterVariable: packedContext(t, dagsterContext{"path": file}),
			dagsterMessages: packedContext(t, dagsterContext{"s3": "x"})},
		"no way out": {DagsterVariable: packedContext(t, dagsterContext{"path": file})},
		"no file": {DagsterVariable: packedContext(t, dagsterContext{"path": file + "x"}),
			dagsterMessages: packedContext(t, dagsterContext{"path": to})},
	} {
		if p, err := OpenDagster(lookupIn(vars), nil, nil); err == nil || p != nil || text.ExitCode(err) != 2 {
			t.Errorf("%s: %v %v", what, p, err)
		}
	}
}
