package bqsink

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// tokens stands for the token endpoint of a service account, whose key is the application's default
// credentials. It gives each answer once, and the last one from then on.
func tokens(t *testing.T, answers ...int) (asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := answers[min(int(asked.Add(1)), len(answers))-1]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		body := `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`
		if status == http.StatusOK {
			body = `{"access_token":"secret","token_type":"Bearer","expires_in":3600}`
		}
		_, _ = fmt.Fprintln(w, body)
	}))
	t.Cleanup(server.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "proj", "client_email": "loader@proj.iam.gserviceaccount.com",
		"private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"token_uri": server.URL + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	return asked
}

// openLoggedIn opens a sink on a server that takes nobody without the token.
func openLoggedIn(t *testing.T) (*bqtest.Server, *Sink) {
	t.Helper()
	server := newServer(t, bqtest.Options{Token: "secret"})
	transport, err := login(false, handled{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != userAgent {
			t.Errorf("called as %q", r.UserAgent())
		}
		server.ServeHTTP(w, r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenOver(t.Context(), testURL, transport)
	if err != nil {
		t.Fatal(err)
	}
	return server, s
}

// The default credentials go with every call, uploads among them, and a token endpoint that is busy
// is asked again.
func TestDefaultCredentials(t *testing.T) {
	for _, answers := range [][]int{{200}, {503, 200}} {
		asked := tokens(t, answers...)
		server, s := openLoggedIn(t)
		if n := asked.Load(); n != 0 {
			t.Errorf("opening asked for %d tokens", n)
		}
		mustPut(t, s, testPart("2026-01-31", "run", "a"))
		mustHold(t, server, thePartition, "a")
		if n := int(asked.Load()); n != len(answers) {
			t.Errorf("%d tokens were asked for, want %d", n, len(answers))
		}
	}
}

// Credentials that are turned down are a missing permission, at the first word.
func TestRefusedCredentials(t *testing.T) {
	for _, status := range []int{400, 401, 403} {
		asked := tokens(t, status)
		server, s := openLoggedIn(t)
		_, err := s.Put(t.Context(), testPart("2026-01-31", "run", "a"))
		mustContain(t, err, "look up the dataset: ", fmt.Sprint(status), "invalid_grant",
			"gcloud auth application-default login")
		if !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "tries") {
			t.Errorf("%T %v", err, err)
		}
		if n := asked.Load(); n != 1 || len(server.Requests()) != 0 {
			t.Errorf("%d tokens were asked for, and BigQuery %d times", n, len(server.Requests()))
		}
		if status == http.StatusBadRequest {
			golden(t, "credentials", fmt.Sprint(err))
		}
	}
}

// Open goes by the default credentials where no emulator is named, and asks nobody.
func TestOpenAsksNobody(t *testing.T) {
	asked := tokens(t, http.StatusOK)
	s, err := Open(t.Context(), testURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || asked.Load() != 0 {
		t.Errorf("%d tokens, %v", asked.Load(), err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	_, err = Open(t.Context(), testURL)
	mustContain(t, err, "open sink bigquery://proj/ds: find credentials: ", "none.json", "log in by gcloud auth")
}
