package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Values of filters that the service doesn't have are named by check and by the first run. A first
// run without any row ends with 3 and says what to look at; the next one has nothing new to say.
func TestFilterValuesAreHeldAgainstTheService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(filters string) {
		t.Helper()
		check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"),
			[]byte("service: embedded\nledger: file://"+dir+"/ledger\njobs:\n"+
				"  - {name: daily, kind: report, sinks: [\"file://"+dir+"/out\"], start: -3d, currency: USD, "+
				"dimensions: [day, network], metrics: [installs], filters: "+filters+"}\n"), 0o600))
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		if code := execute(t.Context(), append(args, "--config", filepath.Join(dir, "reportferry.yml")), &out,
			&out); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, &out)
		}
		return out.String()
	}
	write(`{os_name__in: [androd], country_code__in: [US, usa], campaign__not_in: [x]}`)
	for _, out := range []string{run(0, "check"), run(3, "run", "--now")} {
		for _, remark := range []string{
			`filters: os_name__in: the service has no os_name "androd"; did you mean android?`,
			`country_code__in: the service has no country_code "usa"`,
			`campaign__not_in: the service lists no values of it, so that nothing tells whether they are right`,
		} {
			if strings.Count(unfolded(out), remark) != 1 {
				t.Errorf("%q isn't said once: %s", remark, out)
			}
		}
		if strings.Contains(out, `"US"`) {
			t.Errorf("US is one: %s", out)
		}
	}
	if out := run(0, "run"); strings.Contains(out, "filters:") || strings.Contains(out, "no row at all") {
		t.Errorf("the second run says %s", out)
	}
	check(t, os.RemoveAll(filepath.Join(dir, "ledger")))
	write(`{os_name__in: [android], country_code__in: [us]}`)
	if out := run(0, "run", "--now"); strings.Contains(out, "filters:") {
		t.Errorf("all values are right: %s", out)
	}
}
