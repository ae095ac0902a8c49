package rooted

import "testing"

func TestURL(t *testing.T) {
	for raw, want := range map[string]string{
		"file://./out": "file:///a%20b/./out", "file://../out": "file:///a%20b/./../out",
		"file://.": "file:///a%20b/./", "file://..": "file:///a%20b/./..",
		"file://./out?key={table}/./{date}": "file:///a%20b/./out?key={table}/./{date}",
		"file://./%7Bx%7D":                  "file:///a%20b/./%7Bx%7D",
		"file:///out":                       "file:///out", "file:///x/./out": "file:///x/out",
		"file://localhost/out": "file://localhost/out",
		"file://.hidden":       "file://.hidden", // no folder at all, which whoever opens it says
		"gs://b/./p":           "gs://b/./p", "": "", "./out": "./out",
		"postgres://u:p%40@h/d?sslmode=verify-full&sslrootcert=ca.pem": "postgres://u:p%40@h/d?sslmode=verify-full" +
			"&sslrootcert=%2Fa+b%2Fca.pem",
		"postgres://h/d?sslrootcert=system&sslkey=/k": "postgres://h/d?sslrootcert=system&sslkey=/k",
		"iceberg://c/n?uri=sqlite:///c.db&warehouse=file://w": "iceberg://c/" +
			"n?uri=sqlite%3A%2F%2F%2F%2Fa+b%2F.%2Fc.db&warehouse=file%3A%2F%2F%2Fa+b%2Fw",
		"iceberg://c/n?uri=sqlite:////c.db&warehouse=s3://b/w": "iceberg://c/n?uri=sqlite:////c.db" +
			"&warehouse=s3://b/w",
		"iceberg://c/n?uri=https://h/x&credential=a%2Bb:%2F&sslkey=x": "iceberg://c/n?uri=https://h/x" +
			"&credential=a%2Bb:%2F&sslkey=x",
	} {
		if got := URL("/a b", raw); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
}

func TestWritten(t *testing.T) {
	for _, raw := range []string{"file://./out", "file://../out", "file://..", "file://./a/b?key=x/./y", "file:///out",
		"gs://b/./p", "file:///out?key=x/./y"} {
		if got := Written(URL("/root", raw)); got != raw {
			t.Errorf("%s was written, and is given back as %s", raw, got)
		}
	}
	for raw, want := range map[string]string{"file:///root/./a%20b?key=x": "/root/a b", "file:///root/./../out": "/out",
		"file://./out": "out", "file://../out": "../out", "gs://b/p": ""} {
		if got := Folder(raw); got != want {
			t.Errorf("the folder of %s is %q, want %q", raw, got, want)
		}
	}
}

func TestReference(t *testing.T) {
	for text, want := range map[string]string{
		"${file:token}": "${file:/root/token}", "${file:../t}": "${file:/t}", "${file:/run/t}": "${file:/run/t}",
		"${TOKEN}": "${TOKEN}", "": "", "gcpsecretmanager://p": "gcpsecretmanager://p",
	} {
		if got := Reference("/root", text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
