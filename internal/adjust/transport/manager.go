package transport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/reportferry/reportferry/internal/lazy"
)

// managers holds functions that read secrets from stores that gocloud doesn't support, by the
// scheme of the secret's address.
var managers = map[string]func(ctx context.Context, at string, getenv func(string) string) (string, error){
	"azurekeyvault": keyVault,
	"hashivault":    hashiVault,
}

var (
	// A vault's host name ends in a domain of one of Azure's clouds;
	// https://learn.microsoft.com/azure/key-vault/general/about-keys-secrets-certificates.
	keyVaultForm = lazy.Regexp(
		`^azurekeyvault://([0-9A-Za-z-]+\.(vault\.azure\.net|vault\.azure\.cn|vault\.usgovcloudapi\.net)/secrets/[0-9A-Za-z-]+(?:/[0-9A-Za-z]+)?)$`)
	// A path has no escapes, and no segment that begins with a dot, which could lead elsewhere.
	hashiVaultForm = lazy.Regexp(
		`^hashivault://([\w-][\w.-]*(?:/[\w-][\w.-]*)*/data(?:/[\w-][\w.-]*)+)\?field=([\w.-]+)$`)
)

// keyVault reads a secret of Azure Key Vault, with the identity that is also used for Azure's
// buckets. The token is requested for the vault's own domain, so that no other host could use it.
func keyVault(ctx context.Context, at string, _ func(string) string) (string, error) {
	m := keyVaultForm().FindStringSubmatch(at)
	if m == nil {
		return "", errors.New("its address isn't understood, want azurekeyvault://VAULT.vault.azure.net/secrets/NAME")
	}
	identity, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return "", err
	}
	own, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://" + m[2] + "/.default"}})
	if err != nil { // its text has several paragraphs
		return "", fmt.Errorf("find credentials for Azure: %s; log in by az login, or run under a managed identity",
			strings.Join(strings.Fields(err.Error()), " "))
	}
	var secret struct{ Value string }
	err = getSecret(ctx, "https://"+m[1], "?api-version=7.4", http.Header{"Authorization": {"Bearer " + own.Token}},
		&secret, map[int]string{
			http.StatusUnauthorized: "log in to the tenant that the vault is of, by AZURE_TENANT_ID or az login",
			http.StatusForbidden: "give the identity the role Key Vault Secrets User on the secret, and let this " +
				"machine through the vault's firewall",
			http.StatusNotFound: "az keyvault secret list says which there are",
		})
	if err == nil && secret.Value == "" {
		err = errNoSecret
	}
	return secret.Value, err
}

// hashiVault reads a field of a secret from version 2 of Vault's KV engine, configured by the
// environment variables that Vault's own program uses.
func hashiVault(ctx context.Context, at string, getenv func(string) string) (string, error) {
	m := hashiVaultForm().FindStringSubmatch(at)
	if m == nil {
		return "", errors.New("its address isn't understood, want hashivault://MOUNT/data/PATH?field=NAME, the path " +
			"as policies name it")
	}
	server, err := url.Parse(getenv("VAULT_ADDR"))
	if err != nil || server.Host == "" || server.Scheme != "https" && server.Scheme != "http" {
		return "", errors.New("VAULT_ADDR isn't set to the address of a Vault, such as https://vault.example.com:8200")
	}
	own := getenv("VAULT_TOKEN")
	if own == "" {
		kept, err := os.ReadFile(filepath.Join(getenv("HOME"), ".vault-token"))
		if err != nil {
			return "", fmt.Errorf("VAULT_TOKEN is not set, and %w; `vault login` writes that file", err)
		}
		own = string(kept)
	}
	// Vault's agent may require the second header.
	header := http.Header{"X-Vault-Token": {strings.TrimSpace(own)}, "X-Vault-Request": {"true"}}
	if namespace := getenv("VAULT_NAMESPACE"); namespace != "" {
		header.Set("X-Vault-Namespace", namespace)
	}
	var secret struct{ Data struct{ Data map[string]any } }
	err = getSecret(ctx, server.JoinPath("v1", m[1]).Redacted(), "", header, &secret, map[int]string{
		http.StatusForbidden: fmt.Sprintf("its token needs a policy with read on %q, in the namespace of "+
			"VAULT_NAMESPACE; if it has expired, vault login makes another", m[1]),
		http.StatusNotFound: "there is none, or its newest version was deleted, or the engine is of " +
			"version 1: see vault kv get",
		http.StatusServiceUnavailable: "vault status says what it waits for, and vault operator unseal unseals it",
		http.StatusTemporaryRedirect:  "set VAULT_ADDR to the active node",
	})
	value, is := secret.Data.Data[m[2]].(string)
	if err == nil && !is {
		err = fmt.Errorf("the secret has no text in the field %q", m[2])
	}
	return value, err
}

// managerHTTP follows no redirect, because that would carry a token to another address.
var managerHTTP = &http.Client{CheckRedirect: func(*http.Request,
	[]*http.Request) error {
	return http.ErrUseLastResponse
}}

// errNoSecret is the error of a 200 that has no secret in it.
var errNoSecret = errors.New("what came back isn't a secret; something else may answer at that address")

// getSecret asks a store for a secret. advice says, by status, what to do about a refusal. Errors
// contain nothing of an answer except the reasons of a refusal.
func getSecret(ctx context.Context, at, query string, header http.Header, secret any, advice map[int]string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+query, nil)
	if err != nil {
		return err
	}
	req.Header = header
	answer, err := managerHTTP.Do(req)
	if err != nil {
		return fmt.Errorf("GET %s: %w", at, errors.Unwrap(err)) // unwrapped, because it would repeat the address
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20)) // either store's secrets are smaller
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("GET %s: %w", at, err)
	}
	if answer.StatusCode != http.StatusOK {
		var said struct {
			Errors []string                       // Vault's
			Error  struct{ Code, Message string } // Azure's
		}
		_ = json.Unmarshal(body, &said) // a proxy's answer has another form
		why := cmp.Or(strings.Join(said.Errors, ", "), strings.TrimPrefix(said.Error.Code+": "+said.Error.Message,
			": "))
		text := fmt.Sprintf("GET %s: answered %s", at, answer.Status)
		if why != "" {
			text += ": " + strings.Join(strings.Fields(why), " ")
		}
		if what := advice[answer.StatusCode]; what != "" {
			text += "; " + what
		}
		return errors.New(text)
	}
	if json.Unmarshal(body, secret) != nil {
		return errNoSecret
	}
	return nil
}
