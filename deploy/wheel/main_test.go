package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pack makes a wheel of three files in a folder of its own.
func pack(t *testing.T, w wheel) (name string, data []byte, err error) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"reportferry": "the program", "LICENSE": "do as you like",
		"third-party.txt": "as they like"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	if err := write(w, out, []string{filepath.Join(dir, "reportferry"), filepath.Join(dir, "LICENSE"),
		filepath.Join(dir, "third-party.txt")}); err != nil {
		return "", nil, err
	}
	made, err := os.ReadDir(out)
	if err != nil || len(made) != 1 {
		t.Fatalf("%v, %v", made, err)
	}
	data, err = os.ReadFile(filepath.Join(out, made[0].Name()))
	return made[0].Name(), data, err
}

func TestWheel(t *testing.T) {
	w := wheel{version: "1.2.3", os: "linux", arch: "arm64", time: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)}
	name, data, err := pack(t, w)
	if want := "reportferry-1.2.3-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl"; err != nil || name != want {
		t.Fatalf("%s, %v; want %s", name, err, want)
	}
	if _, again, _ := pack(t, w); !bytes.Equal(data, again) {
		t.Error("two wheels of the same files differ")
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	texts, sums := map[string]string{}, ""
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || !f.Modified.Equal(w.time) {
			t.Errorf("%s of %s: %v", f.Name, f.Modified, err)
		}
		texts[f.Name] = string(text)
		if mode := f.Mode().Perm(); (mode == 0o755) != strings.Contains(f.Name, "/scripts/") {
			t.Errorf("%s has the mode %o", f.Name, mode)
		}
		if sum := sha256.Sum256(text); strings.HasSuffix(f.Name, "RECORD") {
			sums += f.Name + ",,\n"
		} else {
			sums += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
		}
	}
	info := "reportferry-1.2.3.dist-info/"
	if got := texts[info+"RECORD"]; got != sums {
		t.Errorf("the record is\n%s\nwant\n%s", got, sums)
	}
	for file, want := range map[string]string{
		"reportferry-1.2.3.data/scripts/reportferry": "the program", info + "licenses/LICENSE": "do as you like",
		info + "licenses/third-party.txt": "as they like",
		info + "WHEEL":                    "Tag: py3-none-musllinux_1_1_aarch64\n",
		info + "METADATA":                 "\nVersion: 1.2.3\n",
	} {
		if !strings.Contains(texts[file], want) {
			t.Errorf("%s: %q; want %q", file, texts[file], want)
		}
	}
	if about := texts[info+"METADATA"]; !strings.Contains(about,
		"License-File: LICENSE\nLicense-File: third-party.txt\n") {
		t.Error(about)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-rc2": "1.2.3rc2",
		"0.0.0-52f1371": "0.0.0+52f1371", "v1.2.3": "", "1.2": "", "": ""} {
		if got, err := public(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", version, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, w := range map[string]wheel{
		"got plan9/amd64":      {version: "1.2.3", os: "plan9", arch: "amd64"},
		`the version "latest"`: {version: "latest", os: "linux", arch: "amd64"},
	} {
		if _, _, err := pack(t, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if err := write(wheel{version: "1.2.3", os: "linux", arch: "amd64"}, t.TempDir(), []string{"reportferry"}); err ==
		nil {
		t.Error("a wheel without licences is made")
	}
}
