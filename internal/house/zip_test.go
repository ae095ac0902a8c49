package house

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

var install = flag.Bool("install", false,
	"install the program from a module proxy that serves this tree, which compiles it anew")

// TestModuleZip holds the tree to what a module proxy takes. A file whose name Windows reserves,
// such as nul.txt, once made every `go install` of a version fail.
func TestModuleZip(t *testing.T) {
	files, err := zip.CheckDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Err(); err != nil {
		t.Error(err)
	}
	if len(files.Valid) < 1000 {
		t.Errorf("%d files, want the whole tree", len(files.Valid))
	}
	if !*install {
		return
	}
	const version = "v0.0.1"
	path := "github.com/reportferry/reportferry"
	proxy, bin := t.TempDir(), t.TempDir()
	served := filepath.Join(proxy, path, "@v")
	if err := os.MkdirAll(served, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(served, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(archive, module.Version{Path: path, Version: version}, root); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{version + ".mod": text(t, root+"/go.mod"),
		version + ".info": `{"Version": "` + version + `"}`, "list": version + "\n"} {
		if err := os.WriteFile(filepath.Join(served, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "install", "-modcacherw", path+"/cmd/reportferry@"+version)
	cmd.Dir = t.TempDir()
	cached, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	// For this tree's version must not stay in the usual one.
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GONOSUMDB=*", "GOMODCACHE="+t.TempDir(),
		"GOPROXY=file://"+proxy+",file://"+strings.TrimSpace(string(cached))+"/cache/download")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "reportferry"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "reportferry "+version) {
		t.Errorf("version: %v: %s", err, out)
	}
	t.Logf("%s", out)
}
