package sinks

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	opened := errors.New("opened")
	openers := map[string]Opener{
		"mem": func(_ context.Context, rawURL string) (Sink, error) {
			return nil, errors.Join(opened, errors.New(rawURL))
		},
		"gs": func(context.Context, string) (Sink, error) { return nil, errors.New("the wrong opener") },
	}
	if _, err := Open(context.Background(), "mem://x?key=1", openers); !errors.Is(err, opened) ||
		!strings.Contains(err.Error(), "mem://x?key=1") {
		t.Errorf("got %v, want the mem opener with the whole URL", err)
	}
	for rawURL, want := range map[string]string{
		"./out":                        `open sink "./out": not a URL; want for example file://./out or gs://bucket/prefix`,
		"ftp://me:S3CRET@h/x?p=S3CRET": `open sink ftp://h/x: unknown scheme "ftp"; known: gs, mem`,
	} {
		if _, err := Open(context.Background(), rawURL, openers); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for rawURL, want := range map[string]string{
		"gs://bucket/a/b?private_key_path=S3CRET#S3CRET": "gs://bucket/a/b",
		"https://me:S3CRET@host/x":                       "https://host/x",
		"s3://%zz?S3CRET":                                "s3:...",
		"file://./out":                                   "file://./out",
	} {
		if got := Redact(rawURL); got != want {
			t.Errorf("Redact(%s) = %s, want %s", rawURL, got, want)
		}
	}
}
