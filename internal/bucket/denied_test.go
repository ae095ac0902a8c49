package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// What a store says of credentials that it doesn't take is a matter of permission, in one line, and
// names what to set.
func TestRefusedCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	s3 := "s3://bkt?region=us-east-1&use_path_style=true&endpoint=http://"
	azure := "azblob://bkt?protocol=http&localemu=true&domain="
	for _, c := range []struct {
		url     string
		status  int
		code    string
		advice  string
		refused bool
	}{
		{s3, 403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY", true},
		{s3, 403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID", true},
		{s3, 403, "AccessDenied", "AWS_ACCESS_KEY_ID", true},
		{s3, 400, "ExpiredToken", "AWS_SESSION_TOKEN", true},
		{s3, 403, "RequestTimeTooSkewed", "", false},
		{s3, 409, "OperationAborted", "", false},
		{azure, 403, "AuthorizationFailure", "AZURE_STORAGE_ACCOUNT", true},
		{azure, 403, "AuthenticationFailed", "AZURE_STORAGE_KEY", true},
		{azure, 401, "NoAuthenticationInformation", "AZURE_STORAGE_KEY", true},
		{azure, 409, "ContainerBeingDeleted", "", false},
	} {
		t.Run(c.code, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/xml")
				w.Header().Set("X-Ms-Error-Code", c.code)
				w.WriteHeader(c.status)
				_, _ = fmt.Fprintf(w,
					"<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>In the words\nof the "+
						"store.</Message></Error>", c.code)
			}))
			t.Cleanup(server.Close)
			rawURL := c.url + strings.TrimPrefix(server.URL, "http://")
			b := buckettest.Open(t, rawURL)
			_, putErr := b.Put(t.Context(), "k", []byte("rows"), bucket.Condition{})
			_, listErr := b.List(t.Context(), "")
			for what, err := range map[string]error{"put": putErr, "list": listErr, "prove": b.Prove(t.Context())} {
				if err == nil {
					t.Fatalf("%s: no error", what)
				}
				if errors.Is(err, fs.ErrPermission) != c.refused {
					t.Errorf("%s: a matter of permission or not: %v", what, err)
				}
				for _, want := range []string{c.code, c.advice, "In the words of the store"} {
					if what != "list" && !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > 0 {
						t.Errorf("%s: want one line with %q: %v", what, want, err)
					}
				}
			}
		})
	}
}

// gocloud takes any error of S3 for a missing object whose text has "301" in it, and so might a
// random ID in an answer, or a port, have it: a ledger would then read a failure as "nothing
// there".
func TestS3FailuresAreNoMissingObjects(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	status, code := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Id-2", "jk641JNidPJmJ2DmTr301vs20")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Words.</Message></Error>", code)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		host, code string
		status     int
		want       gcerrors.ErrorCode
	}{
		{strings.TrimPrefix(server.URL, "http://"), "InvalidArgument", 400, gcerrors.Unknown},
		{strings.TrimPrefix(server.URL, "http://"), "PreconditionFailed", 412, gcerrors.FailedPrecondition},
		{strings.TrimPrefix(server.URL, "http://"), "AccessDenied", 403, gcerrors.PermissionDenied},
		{strings.TrimPrefix(server.URL, "http://"), "NoSuchKey", 404, gcerrors.NotFound},
		{"127.0.0.1:30117", "", 0, gcerrors.Unknown}, // nobody listens there
	} {
		status, code = c.status, c.code
		b := buckettest.Open(t, "s3://bkt?region=us-east-1&use_path_style=true&endpoint=http://"+c.host)
		_, err := b.Blob().ReadAll(t.Context(), "key")
		if got := gcerrors.Code(err); err == nil || got != c.want {
			t.Errorf("%d %s: %v is %v, want %v", c.status, c.code, err, got, c.want)
		}
	}
}

// A 403 of Google's is no missing object, as gocloud has it, and a quota is no refusal.
func TestGCSRefuses(t *testing.T) {
	for reason, refused := range map[string]bool{"forbidden": true, "rateLimitExceeded": false} {
		t.Run(reason, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = fmt.Fprintf(w,
					`{"error": {"code": 403, "message": "In the words\nof the store.", "errors": [{"reason": %q}]}}`,
					reason)
			}))
			t.Cleanup(server.Close)
			t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server.URL, "http://"))
			b := buckettest.Open(t, "gs://bkt/prefix")
			_, putErr := b.PutFile(t.Context(), "k", rows(), bucket.Condition{})
			_, _, readErr := b.Get(t.Context(), "key")
			for what, err := range map[string]error{"put": putErr, "read": readErr, "prove": b.Prove(t.Context())} {
				if err == nil || errors.Is(err, fs.ErrPermission) != refused || refused &&
					gcerrors.Code(err) == gcerrors.NotFound {
					t.Errorf("%s: a matter of permission or not: %v", what, err)
				}
				if refused && (!strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") ||
					strings.Contains(err.Error(), "\n")) {
					t.Errorf("%s: want one line that says what to do: %v", what, err)
				}
			}
		})
	}
}

// Without credentials, or without a region, a bucket says what to set, before anything is sent
// where that can be known.
func TestMissingCredentials(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
		"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "STORAGE_EMULATOR_HOST",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")
	for _, c := range []struct {
		url     string
		refused bool
		says    string
	}{
		{"s3://bkt?region=us-east-1", true, "AWS_ACCESS_KEY_ID"},
		{"s3://bkt", false, "region=eu-central-1"},
		{"azblob://bkt", true, "AZURE_STORAGE_ACCOUNT"},
		{"gs://bkt", true, "GOOGLE_APPLICATION_CREDENTIALS"},
	} {
		b, err := bucket.Open(context.Background(), c.url)
		if err == nil {
			_, err = b.List(t.Context(), "")
			if closeErr := b.Close(); closeErr != nil {
				t.Error(closeErr)
			}
		}
		if err == nil || errors.Is(err, fs.ErrPermission) != c.refused || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want one line with %q: %v", c.url, c.says, err)
		}
	}
}

// The parameters that gocloud reads of an s3 URL are read here, and mean the same.
func TestS3Parameters(t *testing.T) {
	for query, wrong := range map[string]string{
		"region=x&ssetype=AES256&kmskeyid=k&accelerate=false&disable_https=true&insecure=true&s3ForcePathStyle=true": "",
		"region=x&prefix=a/": "", "region=x&ssetype=aws:KMS&use_path_style=": "",
		"region=x&use_path_style=perhaps": "use_path_style: want true or false",
		"region=x&ssetype=none":           "ssetype",
		"region=x&nosuch=1":               "nosuch",
		"profile=nobody-has-it":           "nobody-has-it",
	} {
		b, err := bucket.Open(t.Context(), "s3://bkt?"+query)
		if err == nil {
			err = b.Close()
		}
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", query, err, wrong)
		}
	}
}

func rows() bucket.File {
	return bucket.File{Size: 4, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("rows")),
			nil
	}}
}
