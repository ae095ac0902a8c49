package apps

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// list makes the command apps list.
func (g *group) list() *cobra.Command {
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the apps that were made or updated through app automation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				list, err := apps.List(ctx, client)
				if err != nil {
					return err
				}
				slices.SortFunc(list, func(x, y adjust.AppDetails) int {
					return cmp.Or(cmp.Compare(x.Platform, y.Platform), cmp.Compare(x.StoreID, y.StoreID))
				})
				if form.JSON() {
					all := []any{}
					for _, app := range list {
						all = append(all, wholeApp(app))
					}
					return writeMasked(cmd.OutOrStdout(), all)
				}
				g := text.Grid{Heads: []string{"TOKEN", "PLATFORM", "STORE ID", "NAME"}, Most: []int{14, 8, 32, 20}}
				for _, app := range list {
					g.Rows = append(g.Rows, []string{app.AppToken, app.Platform, app.StoreID, app.Name})
				}
				g.Write(cmd.OutOrStdout())
				fmt.Fprintln(cmd.OutOrStdout(), text.Plural(len(list), "app"))
				return nil
			})
		},
	}
	form = g.AddOutput(cmd, "all fields, without secrets", []map[string]any{})
	return cmd
}

// writeMasked writes an answer of the service as JSON, with everything that may be a credential
// masked.
func writeMasked(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil {
		return err
	}
	return text.JSON(w, apps.Mask(plain))
}

// wholeApp returns an app as the service describes it, including fields that this version doesn't
// know.
func wholeApp(d adjust.AppDetails) map[string]any {
	info := map[string]any{"overrides": d.AdditionalInfo.Overrides}
	for key, raw := range d.AdditionalInfo.Unknown {
		info[key] = raw
	}
	whole := map[string]any{
		"name": d.Name, "store_id": d.StoreID, "platform": d.Platform, "adjust_app_token": d.AppToken,
		"additional_info": info, "channel_setup": d.ChannelSetup,
	}
	if d.BundleID != "" {
		whole["bundle_id"] = d.BundleID
	}
	for key, raw := range d.Unknown {
		whole[key] = raw
	}
	return whole
}

// get makes the command apps get.
func (g *group) get() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "get <app>",
		Short: "Show an app: details, overrides, channel setup without secrets",
		Example: `  reportferry apps get android/com.example.game
  reportferry apps get android/com.example.game --store huawei`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			platform, id, named := byStore(args[0])
			if store != "" {
				if err := checkToken(store, "a store type, such as huawei"); err != nil || !named {
					return text.WithExitCode(cmp.Or(err,
						fmt.Errorf("%w: --store goes with an app such as android/com.example.game", ledger.ErrRefused)))
				}
			}
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				if store != "" {
					app, err := client.AppByStore(ctx, id, platform, store)
					if err != nil {
						return err
					}
					return writeMasked(cmd.OutOrStdout(), wholeApp(app))
				}
				token, err := appToken(ctx, client, args[0])
				if err != nil {
					return err
				}
				app, err := client.App(ctx, token)
				if err != nil {
					return err
				}
				return writeMasked(cmd.OutOrStdout(), wholeApp(app))
			})
		},
	}
	cmd.Flags().StringVar(&store, "store", "",
		"look it up in this Android `store` too, such as huawei; the service says whether the ID is the default "+
			"store's")
	return cmd
}

// settings makes the command apps settings.
func (g *group) settings() *cobra.Command {
	var sections []string
	cmd := &cobra.Command{
		Use:   "settings <app>",
		Short: "Show the settings of any app, by section, without secrets",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSections(sections); err != nil {
				return text.WithExitCode(err)
			}
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				token, err := appToken(ctx, client, args[0])
				if err != nil {
					return err
				}
				all, err := client.Settings(ctx, token, sections...)
				if err != nil {
					return err
				}
				return writeMasked(cmd.OutOrStdout(), all)
			})
		},
	}
	cmd.Flags().StringSliceVar(&sections, "section", nil, "only these `sections`; all by default")
	return cmd
}

// export makes the command apps export.
func (g *group) export() *cobra.Command {
	var tokens, sections []string
	var path string
	var raw bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the settings of apps as CSV, without secrets",
		Long: `Write the settings of the account's apps as CSV, whole or not at all, without
what may be a credential, whatever its columns are: by the names of columns and
settings, and by what values look like. --raw writes it as it is.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkSections(sections); err != nil {
				return text.WithExitCode(err)
			}
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				for i, arg := range tokens {
					token, err := appToken(ctx, client, arg)
					if err != nil {
						return err
					}
					tokens[i] = token
				}
				var whole, masked bytes.Buffer
				if err := client.SettingsCSV(ctx, &whole, tokens, sections); err != nil {
					return err
				}
				out := &whole
				if !raw {
					out = &masked
					if err := apps.MaskCSV(out, &whole); err != nil {
						return fmt.Errorf("%w; --raw writes it as it is, credentials included", err)
					}
				}
				if path == "" {
					_, err := out.WriteTo(terminal.Data(cmd.OutOrStdout()))
					return err
				}
				return writePrivately(path, out.Bytes())
			})
		},
	}
	cmd.Flags().StringSliceVar(&tokens, "app", nil, "only these `apps`; all by default")
	cmd.Flags().StringSliceVar(&sections, "section", nil, "only these `sections`; all by default")
	cmd.Flags().StringVar(&path, "out", "", "write to this `file`, for its owner alone, instead of standard output")
	cmd.Flags().BoolVar(&raw, "raw", false, "as the service writes it, credentials included")
	return cmd
}

// writePrivately writes a file that only its owner may read: whole or not at all.
func writePrivately(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // CreateTemp gives it mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// status makes the command apps status, which shows what the ledger says about the declared apps,
// or what the service says about one ticket.
func (g *group) status() *cobra.Command {
	var form *wire.Output
	var wait bool
	cmd := &cobra.Command{
		Use:   "status [ticket]",
		Short: "Show how far the declared apps are, or how a migration goes",
		Long: `Without a ticket, show what the ledger says of the job's apps; nothing is asked
of the service. With one, ask how that migration goes. The exit code is 3 when
it has failed, or a section has failures.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return g.ticket(cmd, args[0], wait, form.JSON())
			}
			return g.withDeclared(cmd, nil, func(ctx context.Context, k *apps.Kind) error {
				known, err := k.Known(ctx)
				if err != nil {
					return err
				}
				if form.JSON() {
					return text.JSONLines(cmd.OutOrStdout(), known)
				}
				if len(known) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "no app was applied yet")
					return nil
				}
				g := text.Grid{Heads: []string{"APP", "STATE", "TOKEN", "SINCE"}, Most: []int{36, 0, 14, 0}}
				for _, r := range known {
					g.Rows = append(g.Rows, []string{r.App, string(r.State), r.Token, text.Ago(time.Now(), r.At)})
				}
				g.Write(cmd.OutOrStdout())
				return nil
			})
		},
	}
	g.addJob(cmd)
	form = g.AddOutput(cmd, "one object an app, or the ticket", wire.OneOf{apps.Known{}, migration{}})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the migration is over, half an hour at most")
	return cmd
}

// A migration is what a ticket says, as JSON.
type migration struct {
	Status   string         `json:"status"`
	Kind     string         `json:"kind"`
	Sections []apps.Section `json:"sections"`
}

// ticket shows how the migration of a ticket goes, and waits for its end if asked to.
func (g *group) ticket(cmd *cobra.Command, ticket string, wait, asJSON bool) error {
	if err := checkToken(ticket, "a ticket"); err != nil {
		return text.WithExitCode(err)
	}
	return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
		ask := client.Ticket
		if wait {
			ask = func(ctx context.Context, ticket string) (adjust.Ticket, error) {
				return client.WaitTicket(ctx, ticket, adjust.Wait{})
			}
		}
		t, err := ask(ctx, ticket)
		if err != nil && !errors.Is(err, adjust.ErrTicketFailed) {
			return err
		}
		if asJSON {
			err = writeMasked(cmd.OutOrStdout(), migration{t.Status, t.Kind, apps.SectionsOf(t)})
		} else {
			fmt.Fprintln(cmd.OutOrStdout(), terminal.Line(t.Kind+" "+t.Status))
			writeResultOfSections(cmd.OutOrStdout(), apps.SectionsOf(t))
			err = nil
		}
		if err == nil && (t.Failed() || len(t.Problems()) > 0) {
			return text.SilentExit(jobs.ExitSome)
		}
		return err
	})
}
