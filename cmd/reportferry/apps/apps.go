// Package apps makes the commands that show and change apps. Without it, a person could declare
// apps in a file and have them applied by a schedule, but neither see the differences first nor
// look after what no file declares: SDK secrets, signatures, the vault.
//
//	plan, apply, status      the apps that a job's file declares, through jobs/apps
//	list, get, settings,     what the service has, asked directly
//	export, events, signature, secrets, vault
package apps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A group makes the commands, and holds the value of the flag --job that several of them have.
type group struct {
	*wire.Program
	job string
}

// New makes the command apps and those below it.
func New(p *wire.Program) *cobra.Command {
	g := &group{Program: p}
	cmd := &cobra.Command{
		Use:   "apps",
		Short: "Keep apps as a file declares them, and look after them",
		Long: `Keep the account's apps as a file declares them: plan shows what differs from
the service, apply sends it. The other commands read one app or many, or change
what isn't declared. An app is named by its token, or by its platform and its
store ID, such as android/com.example.game or ios/1234567890.

plan and apply need a job in the config. The others need none, and no config:
without one they ask --base-url, with the token that the variable of --token-env
holds.

No secret is printed: neither channel setup, nor SDK secrets, nor the vault.`,
		Example: `  reportferry apps plan
  ADJUST_TOKEN=... reportferry apps list`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(g.plan(), g.apply())
	for _, sub := range []*cobra.Command{g.status(), g.list(), g.get(), g.settings(), g.export(), g.events(),
		g.signature(), g.secrets(), g.vault()} {
		g.AddAsking(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// addJob adds the flag --job to a command.
func (g *group) addJob(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.job, "job", "", "`job` of the config; not needed when it has one of kind apps")
}

// withDeclared opens the ledger, reads the apps that the job's file declares, and calls do with
// them: with those that ids names, or with all when ids is empty.
func (g *group) withDeclared(cmd *cobra.Command, ids []string, do func(ctx context.Context, k *apps.Kind) error) error {
	return g.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
		c, err := wire.ChooseJob(s.Config, "apps", g.job)
		if err != nil {
			return err
		}
		k, err := wire.DeclaredApps(s, c, wire.AppsAsk{Now: true, Only: ids})
		if err != nil {
			return err
		}
		return do(ctx, k)
	})
}

// withClient calls do with the service's client, for commands that need neither ledger, nor job,
// nor config.
func (g *group) withClient(cmd *cobra.Command, do func(ctx context.Context, client *adjust.Client) error) error {
	return g.Asking(cmd, func(ctx context.Context, s *wire.Session) error { return do(ctx, s.Client) })
}

// cleanToken matches what can be a token, a ticket or an ID of the service.
var cleanToken = lazy.Regexp(`^[A-Za-z0-9-]+$`)

// appToken resolves the name of an app on the command line: platform/store-ID is looked up,
// anything else must be a token.
func appToken(ctx context.Context, client *adjust.Client, arg string) (string, error) {
	if platform, id, ok := byStore(arg); ok {
		return apps.Find(ctx, client, platform, id)
	}
	return arg, checkToken(arg, "an app's token, nor such as android/com.example.game")
}

// byStore splits a name such as android/com.example.game into platform and store ID. ok is false
// when the argument has another form.
func byStore(arg string) (platform, id string, ok bool) {
	platform, id, _ = strings.Cut(arg, "/")
	return platform, id, (platform == "android" || platform == "ios") && len(id) <= 255 && cleanID().MatchString(id)
}

// cleanID matches what can be an app's ID in a store.
var cleanID = lazy.Regexp(`^[A-Za-z0-9._-]+$`)

// checkToken refuses a text that would lead to another path of the service's interface. The error
// doesn't repeat the text, which may be a secret that was pasted in the wrong place.
func checkToken(arg, what string) error {
	if len(arg) > 64 || !cleanToken().MatchString(arg) {
		return fmt.Errorf("%w: the argument is not %s", ledger.ErrRefused, what)
	}
	return nil
}

// A comparedApp is one app in the JSON that plan prints: how it differs from the service, or the
// error that kept it from being compared.
type comparedApp struct {
	apps.Report
	Error string `json:"error,omitempty"`
}

// plan makes the command apps plan. It compares the declared apps with the service and changes
// nothing.
func (g *group) plan() *cobra.Command {
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "plan [app...]",
		Short: "Show what differs between the declared apps and the service",
		Long: `Compare the declared apps with the service, field by field, and send nothing.
What the service never shows, such as the sections to migrate, is compared with
what was sent before. Values of secrets aren't printed.`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			return g.withDeclared(cmd, ids, func(ctx context.Context, k *apps.Kind) error {
				reports, err := k.Diff(ctx)
				if err != nil {
					return err
				}
				if form.JSON() {
					var all []comparedApp
					for _, r := range reports {
						one := comparedApp{Report: r}
						if r.Err != nil {
							one.Error = r.Err.Error()
						}
						all = append(all, one)
					}
					err = text.JSONLines(cmd.OutOrStdout(), all)
				} else {
					writeAppsPlan(cmd.OutOrStdout(), reports)
				}
				return errors.Join(err, failedApps(reports))
			})
		},
	}
	g.addJob(cmd)
	form = g.AddOutput(cmd, "one object an app", comparedApp{})
	return cmd
}

// failedApps returns the error that sets the exit code when apps couldn't be compared, nil when all
// were. Each app's own error has been printed by then.
func failedApps(reports []apps.Report) error {
	failed := 0
	for _, r := range reports {
		if errors.Is(r.Err, adjust.ErrAuth) {
			return r.Err
		}
		if r.Err != nil {
			failed++
		}
	}
	switch failed {
	case 0:
		return nil
	case len(reports):
		return text.SilentExit(jobs.ExitFailed)
	}
	return text.SilentExit(jobs.ExitSome)
}

// writeAppsPlan writes what differs of each app, and counts them at the end.
func writeAppsPlan(w io.Writer, reports []apps.Report) {
	counts := map[apps.Result]int{}
	failed := 0
	for _, r := range reports {
		if r.Err != nil {
			failed++
			fmt.Fprintf(w, "%s\n", r.ID)
			text.Labeled(w, "error", text.Fold(r.Err.Error(), 66))
			continue
		}
		counts[r.Result]++
		switch {
		case r.Result == apps.Created:
			fmt.Fprintf(w, "%s: to be created\n", r.ID)
		case r.Unfinished && len(r.Changes) == 0:
			fmt.Fprintf(w, "%s: an earlier run didn't finish it\n", r.ID)
		case r.Result == apps.Changed:
			fmt.Fprintf(w, "%s: to be changed\n", r.ID)
		case len(r.Otherwise) > 0:
			fmt.Fprintf(w, "%s: was applied; the service shows values of its own\n", r.ID)
		case len(r.Seen) > 0:
			fmt.Fprintf(w, "%s: as declared\n", r.ID)
		}
		writeSeen(w, r)
		for _, c := range slices.Concat(r.Changes, r.Otherwise) {
			writeChange(w, c, r.Result == apps.Created)
		}
	}
	fmt.Fprintf(w, "%s: %d to be created, %d to be changed, %d as declared", text.Plural(len(reports), "app"),
		counts[apps.Created], counts[apps.Changed], counts[apps.Unchanged])
	if failed > 0 {
		fmt.Fprintf(w, ", %d not compared", failed)
	}
	fmt.Fprintln(w)
}

// writeChange writes a change on one line, or on three when that would be wider than 80 columns. Of
// an app that is fresh, which the service doesn't have yet, it writes the new value alone.
func writeChange(w io.Writer, c apps.Change, fresh bool) {
	const width = 80
	c.Path, c.Have, c.Want = terminal.Line(c.Path), terminal.Line(c.Have), terminal.Line(c.Want)
	if fresh {
		fmt.Fprintln(w, runewidth.Truncate("  "+c.Path+": "+c.Want, width, "…"))
		return
	}
	if line := "  " + c.String(); runewidth.StringWidth(line) <= width {
		fmt.Fprintln(w, line)
		return
	}
	fmt.Fprintln(w, runewidth.Truncate("  "+c.Path, width, "…"))
	fmt.Fprintln(w, runewidth.Truncate("    - "+c.Have, width, "…"))
	fmt.Fprintln(w, runewidth.Truncate("    + "+c.Want, width, "…"))
}

// apply makes the command apps apply: a run of the job with the apps that are named.
func (g *group) apply() *cobra.Command {
	var deadline *wire.Deadline
	var migrate bool
	var anew []string // IDs of apps to send at once, by --new-ticket
	cmd := &cobra.Command{
		Use:   "apply [app...]",
		Short: "Make the service's apps as they are declared",
		Long: `Send what apps plan shows, wait for the migrations, and say what came of each
section. Apps that are as declared are left alone; one that fails stops no
other, and the next run tries it again. A run that was killed goes on where it
was. An app is named as apps plan shows it, such as android/com.example.puzzle;
without a name, all are meant.

A migration that isn't over after the job's ticket_wait is left alone: the next
run compares the app again, and sends a new one when it still differs. What the
service answered instead of a plain answer is said with the app.

` + text.ExitHelp(),
		RunE: func(cmd *cobra.Command, ids []string) error {
			var reports []apps.Report
			for _, id := range anew {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			err := g.Run(cmd, wire.Request{Trigger: "manual", Named: true, Stop: deadline.Stop(),
				Jobs: func(_ context.Context, s *wire.Session) ([]jobs.Job, error) {
					c, err := wire.ChooseJob(s.Config, "apps", g.job)
					if err != nil {
						return nil, err
					}
					k, err := wire.DeclaredApps(s, c, wire.AppsAsk{Now: true, Only: ids, Migrate: migrate,
						NewTicket: anew,
						Tell: func(r apps.Report) {
							reports = append(reports, r)
							if !g.JSON() && (r.Err != nil || r.Result != apps.Unchanged) {
								fmt.Fprintf(s.Progress, "%s: %s\n", r.ID, resultOf(r))
							}
						}})
					return []jobs.Job{wire.AppsJob(c, k)}, err
				}})
			if !g.JSON() {
				writeSections(cmd.OutOrStdout(), reports)
			}
			return err
		},
	}
	g.addJob(cmd)
	cmd.Flags().BoolVar(&migrate, "migrate", false,
		"copy the template to the apps again, though nothing differs: after the template has changed")
	cmd.Flags().StringArrayVar(&anew, "new-ticket", nil,
		"apply this `app`, and send it at once though an earlier migration isn't over; may be repeated")
	deadline = g.AddRun(cmd)
	return cmd
}

// resultOf returns the word for what became of an app.
func resultOf(r apps.Report) string {
	switch {
	case errors.Is(r.Err, context.Canceled):
		return "stopped"
	case r.Err != nil:
		return "failed"
	}
	return string(r.Result)
}

// writeSections writes, for each app that wasn't as declared, what became of each section.
func writeSections(w io.Writer, reports []apps.Report) {
	slices.SortFunc(reports, func(x, y apps.Report) int { return strings.Compare(x.ID, y.ID) })
	for _, r := range reports {
		if r.Err == nil && r.Result == apps.Unchanged && len(r.Seen) == 0 {
			continue
		}
		fmt.Fprintln(w, strings.TrimSpace(terminal.Line(r.ID+": "+resultOf(r)+" "+r.Token)))
		writeSeen(w, r)
		writeResultOfSections(w, r.Sections)
		if len(r.Otherwise) > 0 {
			fmt.Fprintln(w, "  the service took these, and shows values of its own:")
			for _, c := range r.Otherwise {
				writeChange(w, c, false)
			}
		}
	}
}

// writeSeen writes the warning about an app, if there is one, and the unusual answers that the
// service gave for it.
func writeSeen(w io.Writer, r apps.Report) {
	if r.Warning != "" {
		text.Labeled(w, "warning", text.Fold(r.Warning, 66))
	}
	for _, seen := range r.Seen {
		text.Labeled(w, "seen", text.Fold(terminal.Line(seen), 66))
	}
}

// writeResultOfSections writes what a migration applied and what failed, section by section.
func writeResultOfSections(w io.Writer, sections []apps.Section) {
	for _, s := range sections {
		done := fmt.Sprintf("%d applied", len(s.Successes))
		if len(s.Successes) > 0 {
			done += ": " + strings.Join(s.Successes, ", ")
		}
		if len(s.Successes) > 0 || len(s.Failures) == 0 {
			fmt.Fprintln(w, runewidth.Truncate(terminal.Line(fmt.Sprintf("  %-25s  %s", s.Name, done)), 80, "…"))
		}
		for _, f := range s.Failures {
			fmt.Fprintln(w, terminal.Line(fmt.Sprintf("  %-25s  error: %s", s.Name, f)))
		}
	}
}
