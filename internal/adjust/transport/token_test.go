package transport

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	env := map[string]string{"TOKEN": secretToken, "SPACED": " " + secretToken + "\n", "BAD": "two words",
		"LINE": "a\r\nX-Evil: b"}
	if err := os.WriteFile(file, []byte(secretToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"${TOKEN}", "${SPACED}", "${file:" + file + "}",
		"constant://?val=s3cr3t-T0ken/with%2Bsigns==&decoder=string",
		"constant://?val=s3cr3t-T0ken/with%2Bsigns==", "file://" + file + "?decoder=string"} {
		s, err := ParseToken(spec, func(k string) string { return env[k] })
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		for _, read := range []func() (string, error){
			func() (string, error) { return s.Token(t.Context()) },
			func() (string, error) { return s.Refresh(t.Context()) }} {
			if got, err := read(); got != secretToken || err != nil {
				t.Errorf("%s: %q, %v", spec, got, err)
			}
		}
		if text := fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s); shows(text) {
			t.Errorf("%s prints the token: %s", spec, text)
		}
	}
	for spec, want := range map[string]string{
		"${MISSING}":              "read token from environment variable MISSING: it is not set",
		"${BAD}":                  "read token from environment variable BAD: what is there isn't a bearer token",
		"${LINE}":                 "isn't a bearer token",
		"${file:" + file + ".no}": "no such file",
		"constant://?val=" + secretToken + "&bad=1": "read token from constant:// variable: its address isn't " +
			"understood",
		"constant://?val=%7B%7D&decoder=jsonmap":     "use decoder=string",
		"constant://?err=" + "gone":                  "gone",
		"file://" + file + ".none?decoder=string":    "no such file",
		"gcpsecretmanager://nonsense/" + secretToken: "its address isn't understood",
	} {
		s, err := ParseToken(spec, func(k string) string { return env[k] })
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got, err := s.Token(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || got != "" || shows(err.Error()) ||
			strings.Contains(err.Error(), "two words") {
			t.Errorf("%s: %q, %v, want %s", spec, got, err, want)
		}
	}
	for _, spec := range []string{"", secretToken, "Bearer " + secretToken, "$TOKEN", "${TOKEN", "${TO KEN}",
		"x${TOKEN}", "${file:}", "https://a.test/" + secretToken, "${vault:" + secretToken + "}"} {
		s, err := ParseToken(spec, func(string) string { return secretToken })
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), "token: want ${ENV}") || shows(err.Error()) {
			t.Errorf("%q: %v, %v", spec, s, err)
		}
	}
}

// A token in Secrets Manager is found by its friendly name, and its new version at the next
// refresh. A missing one, and a missing right, are errors that say so.
func TestTokenInSecretsManager(t *testing.T) {
	secrets := map[string]string{"adjust/token": "one"}
	var asked []string
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ SecretId string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		asked = append(asked, strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "secretsmanager.")+" "+in.SecretId)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/secretsmanager/") {
			t.Errorf("signed as %s", r.Header.Get("Authorization"))
		}
		answer := map[string]any{"__type": "ResourceNotFoundException",
			"Message": "Secrets Manager can't find the specified secret."}
		if value, there := secrets[in.SecretId]; there { // of both calls
			answer = map[string]any{"VersionId": value,
				"VersionIdsToStages": map[string][]string{value: {"AWSCURRENT"}}, "LastChangedDate": 1.7e9,
				"SecretString": value}
		} else if w.WriteHeader(http.StatusBadRequest); in.SecretId == "theirs" {
			answer = map[string]any{"__type": "AccessDeniedException",
				"Message": "not authorized to perform: secretsmanager:DescribeSecret"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer manager.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_SECRETS_MANAGER": manager.URL,
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	read := func(name string) (TokenSource, string, error) {
		s, err := ParseToken("awssecretsmanager://"+name+"?region=eu-central-1", nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := s.Token(t.Context())
		return s, token, err
	}
	s, token, err := read("adjust/token")
	if token != "one" || err != nil || strings.Join(asked, ", ") !=
		"GetSecretValue adjust/token, DescribeSecret adjust/token" {
		t.Errorf("%q, %v, after %q", token, err, asked)
	}
	secrets["adjust/token"] = "two"
	if token, err := s.Refresh(t.Context()); token != "two" || err != nil {
		t.Errorf("refreshed: %q, %v", token, err)
	}
	for name, want := range map[string]string{"none": "can't find the specified secret",
		"theirs": "not authorized to perform"} {
		if _, token, err := read(name); token != "" || err == nil ||
			!strings.Contains(err.Error(), "read token from awssecretsmanager:// variable: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}

// The token is kept in memory until a refresh.
func TestTokenIsKept(t *testing.T) {
	now := "one"
	s, err := ParseToken("${T}", func(string) string { return now })
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ env, want string }{{"one", "one"}, {"two", "one"}} {
		now = step.env
		if got, err := s.Token(t.Context()); got != step.want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got, err := s.Refresh(t.Context()); got != "two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Token(t.Context()); got != "two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

const secretToken = "s3cr3t-T0ken/with+signs=="

// shows tells whether text holds the token, or half of it, in any spelling.
func shows(text string) bool {
	for _, s := range []string{secretToken, url.QueryEscape(secretToken), strings.ReplaceAll(secretToken, "/", `\/`),
		secretToken[:8], secretToken[len(secretToken)-8:]} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
