package bucket_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// A directory is found as people write it, and the bucket leaves nothing but the object in it.
func TestFileURLs(t *testing.T) {
	base := t.TempDir()
	work := filepath.Join(base, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	for rawURL, dir := range map[string]string{
		"file://./out":                                "work/out",
		"file://./out/":                               "work/out",
		"file://./.reportferry":                       "work/.reportferry",
		"file://./a/b c/d":                            "work/a/b c/d",
		"file://./pct%20x":                            "work/pct x",
		"file://.":                                    "work",
		"file://../up":                                "up",
		"file://./x/../y":                             "work/y",
		"file://" + base + "/abs":                     "abs",
		"file://localhost" + base + "/host":           "host",
		"file://./opts?metadata=&no_tmp_dir=":         "work/opts",
		"file://./param?create_dir=true&no_tmp_dir=1": "work/param",
		"file://./mine?shared=true":                   "work/mine",
	} {
		b := buckettest.Open(t, rawURL).Blob()
		if err := b.WriteAll(context.Background(), "k/v", []byte(rawURL), nil); err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(base, dir, "k/v"))
		if err != nil || string(got) != rawURL {
			t.Errorf("%s: %q, %v", rawURL, got, err)
		}
		files, err := os.ReadDir(filepath.Join(base, dir, "k"))
		if err != nil || len(files) != 1 {
			t.Errorf("%s: %v beside the object, %v", rawURL, files, err)
		}
	}
}

func TestPrefix(t *testing.T) {
	buckettest.GCS(t, nil)
	whole := buckettest.Open(t, "gs://bkt").Blob()
	for rawURL, key := range map[string]string{
		"gs://bkt/":                     "k",
		"gs://bkt/exports/adjust":       "exports/adjust/k",
		"gs://bkt/slash/":               "slash/k",
		"gs://bkt/with%20space":         "with space/k",
		"gs://bkt/path?prefix=param%2F": "param/path/k",
	} {
		if err := buckettest.Open(t, rawURL).Blob().WriteAll(context.Background(), "k", []byte(rawURL),
			nil); err != nil {
			t.Errorf("%s: %v", rawURL, err)
		}
		if got, err := whole.ReadAll(context.Background(), key); err != nil || string(got) != rawURL {
			t.Errorf("%s: at %s: %q, %v", rawURL, key, got, err)
		}
	}
}

// A wrong URL is refused, and what its query or user part says is not repeated.
func TestOpenRefuses(t *testing.T) {
	for rawURL, want := range map[string]string{
		"file://out": "open bucket file://out: a relative directory is written file://./dir, an " +
			"absolute one file:///dir",
		"file:out": "open bucket file:out: the directory is missing; want file://./dir or " +
			"file:///dir",
		"file://./out?secret=S3CRET": `open bucket file://./out: open bucket file:///`,
		"file://./out?shared=S3CRET": "parameter shared: want true or false",
		"file://./out?prefix=S3CRET": "write the directory into the path, not as prefix=",
		"file://./out?key=S3CRET":    "write the directory into the path, not as key=",
		"mem://?other=S3CRET":        "invalid query parameter",
		"gs://bkt?secret=S3CRET":     "open bucket gs://bkt: ",
		"ftp://me:S3CRET@host/x":     `no driver registered for "ftp"`,
		"s3://%zz:S3CRET":            "open bucket s3:...: not a URL",
	} {
		s, err := bucket.Open(context.Background(), rawURL)
		if err == nil {
			t.Errorf("%s is opened as %v", rawURL, s)
			continue
		}
		if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "S3CRET") {
			t.Errorf("%s: got  %v\nwant %s", rawURL, got, want)
		}
	}
}

// Plain HTTP goes to this machine alone, however the store is named, unless the URL says
// insecure=true.
func TestPlainHTTPIsRefused(t *testing.T) {
	const here, there = "127.0.0.1:9000", "minio.example:9000"
	for _, c := range []struct {
		url string // with HOST
		env []string
	}{
		{url: "s3://bkt?region=x&anonymous=true&endpoint=http://HOST"},
		{url: "s3://bkt/under?region=x&anonymous=true&disable_https=true&endpoint=https://HOST"},
		{url: "s3://bkt?region=x&anonymous=true", env: []string{"AWS_ENDPOINT_URL_S3", "http://HOST"}},
		{url: "gs://bkt?anonymous=true", env: []string{"STORAGE_EMULATOR_HOST", "HOST"}},
		{url: "gs://bkt?anonymous=true", env: []string{"STORAGE_EMULATOR_HOST", "http://HOST"}},
		{url: "azblob://bkt?protocol=http&domain=HOST&localemu=true", env: []string{"AZURE_STORAGE_ACCOUNT", "me",
			"AZURE_STORAGE_KEY", "c2VjcmV0"}},
		{url: "azblob://bkt", env: []string{"AZURE_STORAGE_ACCOUNT", "me", "AZURE_STORAGE_KEY", "",
			"AZURE_STORAGE_CONNECTION_STRING",
			"DefaultEndpointsProtocol=http;BlobEndpoint=http://HOST/me;AccountName=me;AccountKey=c2VjcmV0"}},
	} {
		t.Run(c.url, func(t *testing.T) {
			open := func(host, more string) error {
				for i := 0; i+1 < len(c.env); i += 2 {
					t.Setenv(c.env[i], strings.ReplaceAll(c.env[i+1], "HOST", host))
				}
				rawURL := strings.ReplaceAll(c.url, "HOST", host)
				if more != "" && !strings.Contains(rawURL, "?") {
					more = "?" + more[1:]
				}
				b, err := bucket.Open(t.Context(), rawURL+more)
				if err == nil {
					err = b.Close()
				}
				return err
			}
			if err := open(here, ""); err != nil {
				t.Errorf("on this machine: %v", err)
			}
			for _, more := range []string{"", "&insecure=false"} {
				if err := open(there, more); err == nil || !strings.Contains(err.Error(),
					"http:// would send rows or secrets unencrypted") {
					t.Errorf("on another machine, with %q: %v", more, err)
				}
			}
			if err := open(there, "&insecure=true"); err != nil {
				t.Errorf("with leave: %v", err)
			}
			if err := open(there, "&insecure=yes"); err == nil ||
				!strings.Contains(err.Error(), "insecure: want true or false") {
				t.Errorf("with another word: %v", err)
			}
		})
	}
	for _, good := range []string{"s3://bkt?region=x&anonymous=true",
		"s3://bkt?region=x&anonymous=true&endpoint=https://" + there} {
		if b, err := bucket.Open(t.Context(), good); err != nil || b.Close() != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if b, err := bucket.Open(t.Context(), "s3://bkt?region=x&anonymous=true&disable_https=true"); err == nil {
		t.Errorf("Amazon itself without TLS is opened as %v", b)
	}
}
