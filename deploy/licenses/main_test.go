package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicences(t *testing.T) {
	for tags, want := range map[string][]string{
		"disable_grpc_modules": {"\nGo go1.", "\ncloud.google.com/go/storage v", "\ngithub.com/parquet-go/parquet-go v",
			"source: https://proxy.golang.org/github.com/!azure/azure-sdk-for-go/"},
		"iceberg": {"Mozilla Public License", "\ngithub.com/apache/iceberg-go v"},
	} {
		out, err := run([]string{"-tags", tags, "../../cmd/reportferry"})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: %q isn't there, in %d bytes", tags, w, len(out))
			}
		}
	}
}

func TestNoLicence(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n\nrequire other.example/O v1.0.0\n\nreplace other.example/O => ./other\n")
	write("m.go", "package main\n\nimport _ \"other.example/O/inner\"\n\nfunc main() {}\n")
	write("other/go.mod", "module other.example/O\n")
	write("other/inner/o.go", "package inner\n")
	t.Chdir(dir)
	if _, err := run([]string{"."}); err == nil || !strings.Contains(err.Error(),
		"other.example/O v1.0.0 has no licence in ") {
		t.Error(err)
	}
	write("other/inner/COPYING.txt", "do as you like")
	out, err := run([]string{"."})
	if err != nil || !strings.Contains(out, "inner/COPYING.txt\n\ndo as you like\n") {
		t.Error(err, out)
	}
}
