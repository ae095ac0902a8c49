// Command wheel packs the program into a Python wheel, a zip whose only script is the binary, so
// that pip and uvx install it. Without it, a person with Python and no Go would have to unpack an
// archive. Two wheels of the same files are equal, byte by byte.
//
//	go run ./deploy/wheel -version 1.2.3 -os linux -arch amd64 -time 1767225600 -out dist/wheels BINARY LICENCE...
//
// The files are described at
// https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/lazy"
)

func main() {
	var w wheel
	var seconds int64
	flag.StringVar(&w.version, "version", "", "the release's version, without v")
	flag.StringVar(&w.os, "os", "", "GOOS of the binary")
	flag.StringVar(&w.arch, "arch", "", "GOARCH of the binary")
	flag.Int64Var(&seconds, "time", 0, "the time of all files, in seconds since 1970")
	out := flag.String("out", ".", "the folder of the wheel")
	flag.Parse()
	w.time = time.Unix(seconds, 0).UTC()
	if err := write(w, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
}

// A wheel holds what a wheel's name and contents are made from, besides the files.
type wheel struct {
	version, os, arch string
	time              time.Time
}

// platforms are the platform tags of a wheel, which say where pip installs it, by GOOS and GOARCH.
// The binaries are static: they run with any libc on Linux, and on macOS they need the version that
// Go 1.26 needs.
var platforms = map[string]string{
	"linux/amd64":  "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":  "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64",
	"darwin/arm64": "macosx_12_0_arm64",
}

// write packs files, the binary and then its licences, into a wheel in the folder.
func write(w wheel, folder string, files []string) error {
	platform := platforms[w.os+"/"+w.arch]
	if platform == "" || len(files) < 2 {
		return fmt.Errorf("want -os and -arch of %d platforms, a binary and its licences; got %s/%s and %q",
			len(platforms), w.os, w.arch, files)
	}
	version, err := public(w.version)
	if err != nil {
		return err
	}
	name := "reportferry-" + version
	var packed, record bytes.Buffer
	archive := zip.NewWriter(&packed)
	add := func(to string, mode os.FileMode, data []byte) error {
		header := &zip.FileHeader{Name: to, Method: zip.Deflate, Modified: w.time}
		header.SetMode(mode)
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", to, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		in, err := archive.CreateHeader(header)
		if err == nil {
			_, err = in.Write(data)
		}
		return err
	}
	about := "Metadata-Version: 2.4\nName: reportferry\nVersion: " + version +
		"\nSummary: Ferries reports of a mobile-measurement service into partitioned tables\nLicense-Expression: " +
		"Apache-2.0\n" +
		"Project-URL: Source, https://github.com/reportferry/reportferry\nRequires-Python: >=3.8\n"
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		to, mode := name+".data/scripts/reportferry", os.FileMode(0o755)
		if i > 0 {
			licence := filepath.Base(file)
			about += "License-File: " + licence + "\n"
			to, mode = name+".dist-info/licenses/"+licence, 0o644
		}
		if err := add(to, mode, data); err != nil {
			return err
		}
	}
	tags := "Wheel-Version: 1.0\nGenerator: reportferry\nRoot-Is-Purelib: false\n"
	for one := range strings.SplitSeq(platform, ".") {
		tags += "Tag: py3-none-" + one + "\n"
	}
	if err := add(name+".dist-info/METADATA", 0o644, []byte(about)); err != nil {
		return err
	}
	if err := add(name+".dist-info/WHEEL", 0o644, []byte(tags)); err != nil {
		return err
	}
	itself := name + ".dist-info/RECORD"
	if err := add(itself, 0o644, append(bytes.Clone(record.Bytes()), itself+",,\n"...)); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+"-py3-none-"+platform+".whl"), packed.Bytes(), 0o644)
}

// form is the form of the release's version.
var form = lazy.Regexp(`^(\d+\.\d+\.\d+)(?:-rc\.?(\d+)|-([0-9a-z]+))?$`)

// public returns a version as Python writes it: 1.2.3-rc.1 is 1.2.3rc1. A snapshot's version gets a
// local part (1.2.3+commit), which PyPI refuses.
func public(version string) (string, error) {
	m := form().FindStringSubmatch(version)
	switch {
	case m == nil:
		return "", fmt.Errorf("the version %q is none of 1.2.3, 1.2.3-rc.1 and 0.0.0-commit", version)
	case m[2] != "":
		return m[1] + "rc" + m[2], nil
	case m[3] != "":
		return m[1] + "+" + m[3], nil
	}
	return m[1], nil
}
