package apps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// isFingerprint matches a SHA-1 fingerprint: 20 bytes in hexadecimal, separated by colons.
var isFingerprint = lazy.Regexp(`^([0-9A-Fa-f]{2}:){19}[0-9A-Fa-f]{2}$`)

// hasControls tells whether a text has control characters, or isn't UTF-8.
func hasControls(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

// secrets makes the command apps secrets and those below it. None prints a secret.
func (g *group) secrets() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Revoke SDK secrets of an app, or make one active again",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(g.revokeOutdated(), g.revoke(), g.reactivate())
	return cmd
}

// onSecrets calls change for the app that the command line names, and lists the secrets that the
// app has afterwards.
func (g *group) onSecrets(cmd *cobra.Command, app string, change func(ctx context.Context, client *adjust.Client,
	token string) (adjust.Secrets, error)) error {
	return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
		token, err := appToken(ctx, client, app)
		if err != nil {
			return err
		}
		now, err := change(ctx, client, token)
		if err != nil {
			return err
		}
		if len(now.Combined.Secrets) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "the service took it, and its answer tells no secrets")
			return nil
		}
		g := text.Grid{Heads: []string{"ID", "VERSION", "ACTIVE", "SCOPE", "PLATFORM", "NAME"},
			Most: []int{0, 0, 0, 14, 8, 24}}
		for _, s := range now.Combined.Secrets {
			g.Rows = append(g.Rows, []string{string(s.ID), fmt.Sprint(s.Version), fmt.Sprint(s.Active),
				cmp.Or(s.Scope, "-"), cmp.Or(s.Platform, "-"), cmp.Or(s.Label, s.Name, "-")})
		}
		g.Write(cmd.OutOrStdout())
		return nil
	})
}

// revokeOutdated makes the command apps secrets revoke-outdated.
func (g *group) revokeOutdated() *cobra.Command {
	var o adjust.Outdated
	cmd := &cobra.Command{
		Use:   "revoke-outdated <app>",
		Short: "Revoke the SDK secrets of old versions",
		Long: `Revoke the SDK secrets of old versions. The service refuses to revoke all that
are active, unless --force is given: installs that they sign are rejected then.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onSecrets(cmd, args[0], func(ctx context.Context, client *adjust.Client,
				token string) (adjust.Secrets, error) {
				now, err := client.RevokeOutdatedSecrets(ctx, token, o)
				if n, isNumber := strconv.Atoi(string(now.Revoked)); err == nil && isNumber == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s revoked\n", text.Plural(n, "secret"))
				}
				return now, err
			})
		},
	}
	cmd.Flags().IntVar(&o.MinActiveVersion, "min-active-version", 3, "lowest `version` that stays active")
	cmd.Flags().BoolVar(&o.Force, "force", false, "also when none would stay active")
	return cmd
}

// revoke makes the command apps secrets revoke.
func (g *group) revoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke <app> <secret-id>",
		Short: "Revoke one SDK secret: installs that it signs are rejected",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkToken(args[1], "the ID of a secret"); err != nil {
				return text.WithExitCode(err)
			}
			return g.onSecrets(cmd, args[0], func(ctx context.Context, client *adjust.Client,
				token string) (adjust.Secrets, error) {
				return client.RevokeSecret(ctx, token, args[1])
			})
		},
	}
}

// reactivate makes the command apps secrets reactivate.
func (g *group) reactivate() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "reactivate <app> <secret-id>",
		Short: "Make sure that an SDK secret is active, or change its scope",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkToken(args[1], "the ID of a secret"); err != nil {
				return text.WithExitCode(err)
			}
			if scope != "" {
				if err := checkToken(scope, "a scope, such as all-traffic"); err != nil {
					return text.WithExitCode(err)
				}
			}
			return g.onSecrets(cmd, args[0], func(ctx context.Context, client *adjust.Client,
				token string) (adjust.Secrets, error) {
				return client.ReactivateSecret(ctx, token, args[1], scope)
			})
		},
	}
	cmd.Flags().StringVar(&scope, "scope", "", "its `scope`, such as all-traffic; only of version 3")
	return cmd
}

// vault makes the command apps vault and those below it. The service never shows the data that it
// was given for its vault.
func (g *group) vault() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vault",
		Short: "List or store the credentials that migrations use",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(g.vaultList(), g.vaultPut())
	return cmd
}

// vaultList makes the command apps vault list.
func (g *group) vaultList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the vault's records, without their data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				list, err := client.Vault(ctx)
				if err != nil {
					return err
				}
				writeVault(cmd.OutOrStdout(), list)
				return nil
			})
		},
	}
}

// writeVault lists records of the vault without their data.
func writeVault(w io.Writer, list []adjust.VaultRecord) {
	g := text.Grid{Heads: []string{"SECTION", "STORE", "UPDATED"}, Most: []int{32, 16, 25}}
	for _, r := range list {
		g.Rows = append(g.Rows, []string{r.Section, cmp.Or(string(r.Store), "-"), cmp.Or(r.UpdatedAt, "-")})
	}
	g.Write(w)
	fmt.Fprintln(w, text.Plural(len(list), "record"))
}

// vaultLimit bounds the data of a record, in bytes. A service account's key has about 2,500.
const vaultLimit = 256 << 10

// vaultPut makes the command apps vault put.
func (g *group) vaultPut() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "put <section> <file|->",
		Short: "Store credentials, read from a file or standard input",
		Long: `Store credentials that migrations use: of csv_upload_settings a bucket's, as
JSON, and of purchase_verification a store's key. What was stored for the same
section and store is replaced. The data is read from a file, or from standard
input for -, and never from the command line, where others could see it.`,
		Example: `  reportferry apps vault put csv_upload_settings bucket.json
  pass show play |
      reportferry apps vault put purchase_verification --store google -`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			section := args[0]
			if err := checkSections([]string{section}); err != nil {
				return text.WithExitCode(err)
			}
			if section == "app_info" || section == "signature" {
				return text.WithExitCode(fmt.Errorf("%w: the vault takes nothing for %s", ledger.ErrRefused, section))
			}
			if store != "" {
				if err := checkToken(store, "a store, such as google"); err != nil {
					return text.WithExitCode(err)
				}
			}
			data, err := vaultData(cmd.InOrStdin(), section, args[1])
			if err != nil {
				return text.WithExitCode(fmt.Errorf("%w: %w", ledger.ErrRefused, err))
			}
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				r, err := client.PutVault(ctx, section, store, data)
				if err != nil {
					return err
				}
				if r.Section == "" {
					fmt.Fprintln(cmd.OutOrStdout(),
						"the service took it, and its answer tells no record; see apps vault list")
					return nil
				}
				writeVault(cmd.OutOrStdout(), []adjust.VaultRecord{r})
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "`store` that the credentials are of, such as google")
	return cmd
}

// vaultData reads and checks the data. Errors repeat neither the data nor the name of the file,
// because somebody may have written the data in place of the name.
func vaultData(stdin io.Reader, section, name string) (string, error) {
	in, place := stdin, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		var path *fs.PathError
		if errors.As(err, &path) {
			return "", fmt.Errorf("the file that is named can't be read: %w; the data itself doesn't belong on the "+
				"command line", path.Err)
		} else if err != nil {
			return "", errors.New("the file that is named can't be read")
		}
		defer f.Close() //nolint:errcheck // it was only read
		in, place = f, "the file"
	}
	data, err := wire.ReadLimited(in, place, vaultLimit)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New(place + " is empty")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errors.New(place + " isn't text in UTF-8")
	case section == "csv_upload_settings":
		return text, checkBucketKey(text)
	}
	return text, nil
}

// checkBucketKey checks that a bucket's credentials have the fields that their type needs.
func checkBucketKey(text string) error {
	var key struct {
		Type, Bucket, Key string
		Secret            json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &key); err != nil {
		// Err may repeat the data.
		return errors.New("the data is not a JSON object of texts; want type, bucket, key and secret")
	}
	need := func(fields ...string) error {
		for _, f := range fields {
			if f == "" {
				return fmt.Errorf("the data lacks a field that %s needs; S3: bucket, key, secret; GCS: bucket, secret",
					key.Type)
			}
		}
		return nil
	}
	switch key.Type {
	case "S3":
		return need(key.Bucket, key.Key, strings.Trim(string(key.Secret), `"`))
	case "GCS":
		if !strings.HasPrefix(string(key.Secret), "{") {
			return errors.New("the data: secret of type GCS is a service account's key, a JSON object")
		}
		return need(key.Bucket)
	}
	return errors.New("the data: type is neither S3 nor GCS")
}
