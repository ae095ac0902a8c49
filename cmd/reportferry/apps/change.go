package apps

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// checkSections refuses names of sections that the service doesn't have, and suggests similar ones.
func checkSections(names []string) error {
	known := []string{"app_info"}
	for _, s := range catalog.Sections() {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		hint := "; sections: " + strings.Join(known, ", ")
		if near := catalog.Nearest(name, known); len(name) < 100 && len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return fmt.Errorf("%w: no such section%s", ledger.ErrRefused, hint)
	}
	return nil
}

// events makes the command apps events, which shows events or, with --add, creates them.
func (g *group) events() *cobra.Command {
	var list, unique []string
	cmd := &cobra.Command{
		Use:   "events <app>...",
		Short: "Show the events of apps, or create or update some in each",
		Example: `  reportferry apps events android/com.example.game
  reportferry apps events abc123 def456 --add purchase --add-unique registration`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var add []adjust.EventSpec
			for _, name := range list {
				add = append(add, adjust.EventSpec{Name: name})
			}
			for _, name := range unique {
				add = append(add, adjust.EventSpec{Name: name, Unique: true})
			}
			if err := checkEvents(add); err != nil {
				return text.WithExitCode(err)
			}
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				var tokens []string
				for _, arg := range args {
					token, err := appToken(ctx, client, arg)
					if err != nil {
						return err
					}
					tokens = append(tokens, token)
				}
				if add == nil {
					return showEvents(ctx, cmd.OutOrStdout(), client, tokens)
				}
				return addEvents(ctx, cmd.OutOrStdout(), client, tokens, add)
			})
		},
	}
	cmd.Flags().StringArrayVar(&list, "add", nil,
		"create the event of this `name`, or make it count every time; may be repeated")
	cmd.Flags().StringArrayVar(&unique, "add-unique", nil,
		"create the event of this `name`, or make it count once a user; may be repeated")
	return cmd
}

// checkEvents refuses names that the service would refuse after it has taken others.
func checkEvents(add []adjust.EventSpec) error {
	names := map[string]bool{}
	for _, e := range add {
		if e.Name == "" || len(e.Name) > 255 || hasControls(e.Name) || names[e.Name] {
			return fmt.Errorf("%w: a name of an event is empty, too long, given twice, or holds a control character",
				ledger.ErrRefused)
		}
		names[e.Name] = true
	}
	return nil
}

// showEvents lists the events of apps.
func showEvents(ctx context.Context, w io.Writer, client *adjust.Client, tokens []string) error {
	g := text.Grid{Heads: []string{"APP", "TOKEN", "UNIQUE", "NAME"}, Most: []int{14, 8, 0, 44}}
	for _, token := range tokens {
		events, err := apps.Events(ctx, client, token)
		if err != nil {
			return err
		}
		for _, e := range events {
			g.Rows = append(g.Rows, []string{token, e.Token, fmt.Sprint(e.Unique), e.Name})
		}
	}
	g.Write(w)
	fmt.Fprintln(w, text.Plural(len(g.Rows), "event"))
	return nil
}

// addEvents creates or updates the events in all the apps by one request. When some failed, the
// error that it returns only sets the exit code, because the failures have been printed.
func addEvents(ctx context.Context, w io.Writer, client *adjust.Client, tokens []string, add []adjust.EventSpec) error {
	done, err := client.SubmitEvents(ctx, tokens, add)
	if err != nil {
		return err
	}
	for _, s := range done.Successes {
		fmt.Fprintln(w, terminal.Line(fmt.Sprintf("%s: %s is there, token %s", s.AppToken, s.Event.Name,
			s.Event.Token)))
	}
	for _, f := range done.Failures {
		fmt.Fprintln(w, terminal.Line(fmt.Sprintf("%s: %s: error: %s", f.AppToken, f.Name,
			cmp.Or(string(f.Details), "the service doesn't say why"))))
	}
	switch {
	case len(done.Failures)+len(done.Successes) == 0:
		fmt.Fprintln(w, "the service took them, and its answer tells no event")
	case len(done.Failures) > 0 && len(done.Successes) > 0:
		return text.SilentExit(jobs.ExitSome)
	case len(done.Failures) > 0:
		return text.SilentExit(jobs.ExitFailed)
	}
	return nil
}

// signature makes the command apps signature, which shows the settings or, with flags, changes
// them.
func (g *group) signature() *cobra.Command {
	var enforce bool
	var fingerprints []string
	cmd := &cobra.Command{
		Use:   "signature <app>",
		Short: "Show the SDK signature settings of an app, or change them",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change adjust.SignatureSettings
			if cmd.Flags().Changed("enforce") {
				change.EnforceInstallSigning = &enforce
			}
			for _, f := range fingerprints {
				if !isFingerprint().MatchString(f) {
					return text.WithExitCode(fmt.Errorf("%w: --fingerprint: want 20 bytes as hex digits with colons "+
						"between", ledger.ErrRefused))
				}
			}
			change.AndroidFingerprints = fingerprints
			return g.withClient(cmd, func(ctx context.Context, client *adjust.Client) error {
				token, err := appToken(ctx, client, args[0])
				if err != nil {
					return err
				}
				if change.EnforceInstallSigning == nil && change.AndroidFingerprints == nil {
					all, err := client.Settings(ctx, token, "signature")
					if err != nil {
						return err
					}
					return writeMasked(cmd.OutOrStdout(), all["signature"])
				}
				now, err := client.UpdateSignature(ctx, token, change)
				if err != nil {
					return err
				}
				if now.Empty() {
					fmt.Fprintln(cmd.OutOrStdout(),
						"the service took it, and its answer tells no settings; see apps signature "+args[0])
					return nil
				}
				return writeMasked(cmd.OutOrStdout(), now)
			})
		},
	}
	cmd.Flags().BoolVar(&enforce, "enforce", false, "reject installs without a good signature; --enforce=false: don't")
	cmd.Flags().StringSliceVar(&fingerprints, "fingerprint", nil,
		"SHA-1 `fingerprint` of an Android certificate; may be repeated, and replaces those that are there")
	return cmd
}
