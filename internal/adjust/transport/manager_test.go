package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A stand-in answers all requests and keeps them.
type standIn struct {
	*httptest.Server
	asked []string
}

func newStandIn(t *testing.T, tls bool, line func(*http.Request) string,
	answer func(*http.Request) (int, string)) *standIn {
	s := &standIn{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.Method+" "+r.Host+r.URL.RequestURI()+" "+line(r))
		code, body := answer(r)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "https://elsewhere.test/")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// refused reads a token that there is none of, and holds the error to what it should say.
func refused(t *testing.T, spec string, env map[string]string, want ...string) {
	t.Helper()
	s, err := ParseToken(spec, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Token(t.Context())
	for _, part := range want {
		if token != "" || err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q, %v, want %s", spec, token, err, part)
		}
	}
	if err != nil && (shows(err.Error()) || strings.Contains(err.Error(), "own-token") ||
		strings.Contains(err.Error(), "\n")) {
		t.Errorf("%s: the error shows a secret, or has lines: %v", spec, err)
	}
}

// A token in a Key Vault is read by the identity of the machine, asked for the vault's own domain;
// its new version at the next refresh. The answers of refusals are Microsoft's:
// https://learn.microsoft.com/azure/key-vault/general/rest-error-codes.
func TestTokenInKeyVault(t *testing.T) {
	identity := newStandIn(t, false, func(r *http.Request) string { return r.Header.Get("X-IDENTITY-HEADER") },
		func(r *http.Request) (int, string) {
			if r.Header.Get("X-IDENTITY-HEADER") != "machine" {
				return 401, `{"message":"no"}`
			}
			return 200,
				`{"access_token":"own-token","expires_on":"4102444800","resource":"https://vault.azure.net","token_type":"Bearer"}`
		})
	value := "one"
	vault := newStandIn(t, true, func(r *http.Request) string { return r.Header.Get("Authorization") },
		func(r *http.Request) (int, string) {
			switch {
			case r.Header.Get("Authorization") != "Bearer own-token" || r.URL.Path == "/secrets/other-tenant":
				return 401, `{"error":{"code":"Unauthorized","message":"AKV10032: Invalid issuer."}}`
			case r.URL.RawQuery != "api-version=7.4":
				return 400, `{"error":{"code":"BadParameter","message":"api-version"}}`
			case r.URL.Path == "/secrets/theirs":
				return 403,
					`{"error":{"code":"Forbidden","message":"Caller is not authorized to perform action on resource.\r\nAction: 'Microsoft.KeyVault/vaults/secrets/getSecret/action'","innererror":{"code":"ForbiddenByRbac"}}}`
			case r.URL.Path == "/secrets/broken":
				return 200, `{"value":"` + secretToken
			case r.URL.Path == "/secrets/empty":
				return 200, `{"id":"https://my-vault.vault.azure.net/secrets/empty/0"}`
			case r.URL.Path == "/secrets/moved":
				return 302, ``
			case r.URL.Path == "/secrets/adjust", r.URL.Path == "/secrets/adjust/4387e9f3d6e14c459867679a90fd0f79":
				return 200, `{"value":"` + value +
					`","id":"https://my-vault.vault.azure.net/secrets/adjust/4387e9f3d6e14c459867679a90fd0f79"}`
			}
			return 404,
				`{"error":{"code":"SecretNotFound","message":"A secret with (name/id) none was not found in this key vault."}}`
		})
	through(t, vault)
	for name, value := range map[string]string{"IDENTITY_ENDPOINT": identity.URL, "IDENTITY_HEADER": "stranger",
		"AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential"} {
		t.Setenv(name, value)
	}
	const at = "azurekeyvault://my-vault.vault.azure.net/secrets/"
	refused(t, at+"adjust", nil, "find credentials for Azure: ", "az login")
	if len(vault.asked) > 0 {
		t.Errorf("without credentials the vault was asked %q", vault.asked)
	}
	t.Setenv("IDENTITY_HEADER", "machine")
	identity.asked = nil
	s, err := ParseToken(at+"adjust", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token, err := s.Token(t.Context()); token != "one" || err != nil || shows(fmt.Sprint(s)) {
		t.Errorf("%q, %v", token, err)
	}
	value = "two"
	if token, err := s.Refresh(t.Context()); token != "two" || err != nil {
		t.Errorf("refreshed: %q, %v", token, err)
	}
	host := strings.TrimPrefix(identity.URL, "http://")
	if want := "GET " + host + "/?api-version=2019-08-01&resource=https%3A%2F%2Fvault.azure.net machine"; len(
		identity.asked) == 0 || identity.asked[0] != want {
		t.Errorf("the identity was asked %q, want %s", identity.asked, want)
	}
	if want := "GET my-vault.vault.azure.net/secrets/adjust?api-version=7.4 Bearer own-token"; len(vault.asked) != 2 ||
		vault.asked[0] != want || vault.asked[1] != want {
		t.Errorf("the vault was asked %q, want %s", vault.asked, want)
	}
	if s, err = ParseToken(at+"adjust/4387e9f3d6e14c459867679a90fd0f79", nil); err != nil {
		t.Fatal(err)
	} else if token, err := s.Token(t.Context()); token != "two" || err != nil {
		t.Errorf("a version: %q, %v", token, err)
	}
	refused(t, at+"theirs", nil, "read token from azurekeyvault:// variable: GET "+
		"https://my-vault.vault.azure.net/secrets/theirs: answered 403 Forbidden: ", "not authorized to perform action",
		"Key Vault Secrets User")
	refused(t, at+"none", nil, "answered 404 Not Found: SecretNotFound: A secret with (name/id) none was not found",
		"az keyvault secret list")
	refused(t, at+"other-tenant", nil, "answered 401 Unauthorized: ", "AKV10032", "tenant")
	refused(t, at+"broken", nil, "isn't a secret")
	refused(t, at+"empty", nil, "isn't a secret")
	refused(t, at+"moved", nil, "answered 302 Found")
	before := len(vault.asked)
	for _, bad := range []string{"azurekeyvault://my-vault/secrets/adjust",
		"azurekeyvault://my-vault.vault.azure.net/keys/adjust", at + "a/b/c", at + "a?x=" + secretToken,
		at + "%zz" + secretToken,
		"azurekeyvault://user@my-vault.vault.azure.net/secrets/adjust",
		"azurekeyvault://my-vault.elsewhere.test/secrets/adjust"} {
		refused(t, bad, nil, "want azurekeyvault://VAULT.vault.azure.net/secrets/NAME")
	}
	if len(vault.asked) != before {
		t.Errorf("without an address the vault was asked %q", vault.asked[before:])
	}
}

// through makes every connection of readers of secrets one to the stand-in.
func through(t *testing.T, s *standIn) {
	was := managerHTTP.Transport
	t.Cleanup(func() { managerHTTP.Transport = was })
	client := s.Client().Transport.(*http.Transport).Clone()
	client.TLSClientConfig.ServerName = "example.com" // what the certificate of httptest names
	client.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	}
	managerHTTP.Transport = client
}

// A token in Vault is a field of a secret of the KV engine, version 2. Its own token is
// VAULT_TOKEN, or else what `vault login` has left. The answers of refusals are Vault's:
// https://developer.hashicorp.com/vault/api-docs.
func TestTokenInVault(t *testing.T) {
	value, sealed := "one", false
	vault := newStandIn(t, false, func(r *http.Request) string {
		return strings.Join([]string{r.Header.Get("X-Vault-Token"), r.Header.Get("X-Vault-Namespace"),
			r.Header.Get("X-Vault-Request")}, " ")
	}, func(r *http.Request) (int, string) {
		switch {
		case sealed:
			return 503, `{"errors":["Vault is sealed"]}`
		case r.Header.Get("X-Vault-Token") != "own-token" || r.Header.Get("X-Vault-Namespace") == "theirs/":
			return 403, `{"errors":["permission denied"]}`
		case r.URL.Path == "/v1/kv/team/data/adjust/token", r.URL.Path == "/base/v1/kv/team/data/adjust/token":
			return 200, `{"request_id":"1","data":{"data":{"token":"` + value +
				`","count":7},"metadata":{"version":3,"destroyed":false,"deletion_time":""}}}`
		case r.URL.Path == "/v1/secret/data/deleted":
			return 404,
				`{"data":{"data":null,"metadata":{"version":4,"destroyed":false,"deletion_time":"2026-01-01T00:00:00Z"}}}`
		case r.URL.Path == "/v1/secret/data/standby":
			return 307, ``
		}
		return 404, `{"errors":[]}`
	})
	home := t.TempDir()
	env := map[string]string{"VAULT_ADDR": vault.URL, "VAULT_TOKEN": "own-token", "VAULT_NAMESPACE": "ads/",
		"HOME": home}
	const at = "hashivault://kv/team/data/adjust/token?field=token"
	s, err := ParseToken(at, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if token, err := s.Token(t.Context()); token != "one" || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	value = "two"
	delete(env, "VAULT_TOKEN")
	delete(env, "VAULT_NAMESPACE")
	env["VAULT_ADDR"] = vault.URL + "/base/"
	refused(t, at, env, "VAULT_TOKEN is not set, and ", ".vault-token", "vault login")
	if err := os.WriteFile(filepath.Join(home, ".vault-token"), []byte("own-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := s.Refresh(t.Context()); token != "two" || err != nil {
		t.Errorf("refreshed: %q, %v", token, err)
	}
	host := strings.TrimPrefix(vault.URL, "http://")
	if got, want := strings.Join(vault.asked, "\n"),
		"GET "+host+"/v1/kv/team/data/adjust/token own-token ads/ true\nGET "+host+"/base/v1/kv/team/data/adjust/"+
			"token own-token  true"; got != want {
		t.Errorf("Vault was asked\n%s\nwant\n%s", got, want)
	}
	env["VAULT_ADDR"] = vault.URL
	refused(t, "hashivault://kv/team/data/adjust/token?field=none", env, `has no text in the field "none"`)
	refused(t, "hashivault://kv/team/data/adjust/token?field=count", env, `has no text in the field "count"`)
	refused(t, "hashivault://secret/data/none?field=token", env,
		"read token from hashivault:// variable: GET "+vault.URL+"/v1/secret/data/none: answered 404 Not Found; ",
		"vault kv get")
	refused(t, "hashivault://secret/data/deleted?field=token", env, "answered 404 Not Found; ", "deleted")
	refused(t, "hashivault://secret/data/standby?field=token", env, "answered 307 Temporary Redirect; ", "active node")
	before := len(vault.asked)
	for _, bad := range []string{"hashivault://secret/adjust?field=token", "hashivault://secret/data/adjust",
		"hashivault://secret/data/?field=token", "hashivault://secret/data/a?field=token&x=" + secretToken,
		"hashivault://secret/data/../../sys/x?field=token", "hashivault:///data/a?field=token",
		"hashivault://%zz" + secretToken} {
		refused(t, bad, env, "want hashivault://MOUNT/data/PATH?field=NAME")
	}
	for _, address := range []string{"", "vault:8200", "ftp://vault", "https://"} {
		refused(t, at, map[string]string{"VAULT_ADDR": address, "VAULT_TOKEN": "own-token"}, "VAULT_ADDR")
	}
	refused(t, at, map[string]string{"VAULT_ADDR": vault.URL, "VAULT_TOKEN": "own-token\nx"}, "X-Vault-Token")
	if len(vault.asked) != before {
		t.Errorf("without an address or a token, Vault was asked %q", vault.asked[before:])
	}
	env["VAULT_NAMESPACE"] = "theirs/"
	refused(t, at, env, "answered 403 Forbidden: permission denied; ", `read on "kv/team/data/adjust/token"`,
		"vault login")
	sealed = true
	refused(t, at, env, "answered 503 Service Unavailable: Vault is sealed; ", "unseal")
	vault.Close()
	refused(t, at, env, "GET "+vault.URL+"/v1/kv/team/data/adjust/token: ", "connection refused")
}
