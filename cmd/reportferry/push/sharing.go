package push

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/sharing"
)

// Sharing makes the command sharing and those below it.
func Sharing(p *wire.Program) *cobra.Command {
	g := &group{Program: p, kind: "sharing", conflict: "of devices that a file of a later day has choices of"}
	cmd := g.command("Push devices' choices on third-party sharing",
		`Push files of devices' choices on third-party sharing to the service. Records of
one device are sent in the order of the file, one at a time, and files by their
days. A record that isn't settled holds up the later ones of its own device, and
no others: an opt-out and the opt-in after it never change places.

No device's ID is in a log, an error or the ledger. Rejects files have them.`)
	for _, c := range cmd.Commands() {
		if c.Name() == "push" {
			c.Flags().BoolVar(&g.showIDs, "show-ids", false, "log the devices whose records weren't taken")
		}
	}
	cmd.AddCommand(g.explain())
	return cmd
}

// An explainFlags holds the flags of sharing explain.
type explainFlags struct {
	choice, partner, metric string
	more                    []string // partners that the service knows besides its thirteen
	form                    *wire.Output
}

// explain makes the command sharing explain, which needs neither the service nor a ledger.
func (g *group) explain() *cobra.Command {
	var x explainFlags
	cmd := &cobra.Command{
		Use:   "explain [settings...]",
		Short: "Show which metric reaches which partner, and why",
		Long: `Show which metric reaches which partner when a device's records have said this,
and by which rule. Nothing is sent, and no config is needed. Settings are those
of partner_sharing_settings, as JSON: an object, or form objects. Several are
records one after the other; - reads them from the standard input. A partner is
named by its name, its ID, or as "name (ID)", in upper or lower case. What isn't
known here is a partner of its own, unless --partners says whose name or ID it
is.

  reportferry sharing explain '{"all":{"all":false},"google":{"install":true}}'

Rules:
  own      the metric's own setting
  1        off with its group
  2        on in a group that is off, with all that is in it
  3        on with its group; or off in one that is on, with all that is in it
  4        metric all, or partner all
  sharing  sharing is disable: nothing is shared, whatever settings say
  default  nothing was said: it is shared
`,
		RunE: func(cmd *cobra.Command, texts []string) error {
			state, partners, strange, err := x.read(g.Program, texts, cmd.InOrStdin())
			if err != nil {
				return text.UsageError(fmt.Errorf("explain: %w", err))
			}
			if len(strange) > 0 {
				g.Note(cmd.ErrOrStderr(),
					text.Fold(fmt.Sprintf("Not known here, and taken for partners of their own: %s. Push sends "+
						"them as they are named, "+
						"and the service judges.%s", terminal.Line(strings.Join(strange, ", ")),
						suggestPartners(strange, partners)),
						80))
			}
			return x.write(cmd.OutOrStdout(), state, partners)
		},
	}
	cmd.Flags().StringVar(&x.choice, "sharing", "", "what the last record says of sharing: enable or disable")
	cmd.Flags().StringVar(&x.partner, "partner", "", "only this `partner`")
	cmd.Flags().StringVar(&x.metric, "metric", "", "only this `metric`")
	cmd.Flags().StringSliceVar(&x.more, "partners", nil,
		"names or IDs of partners, or both as \"name (ID)\", beside the service's thirteen and those of the config")
	x.form = g.AddOutput(cmd, "one object for each metric and partner", sharing.Decision{})
	return cmd
}

// read computes the sharing state of a device after records with these settings. asked has the
// partners to show it for. strange has the partners that are named in the settings or by --partner
// and aren't known.
func (x explainFlags) read(p *wire.Program, texts []string, in io.Reader) (state *sharing.State,
	asked, strange []string, err error) {
	partners, err := x.partners(p)
	if err != nil {
		return nil, nil, nil, err
	}
	switch x.choice {
	case "", "enable", "disable":
	default:
		return nil, nil, nil, fmt.Errorf("--sharing %q: want enable or disable", x.choice)
	}
	// The settings, and the partners that they name.
	var records []sharing.Settings
	var named []string
	for i, text := range texts {
		if text == "-" {
			data, err := io.ReadAll(io.LimitReader(in, 1<<20))
			if err != nil {
				return nil, nil, nil, err
			}
			text = strings.TrimSpace(string(data))
		}
		settings, _, err := partners.ParseSettings(text)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("settings %d: %w", i+1, err)
		}
		records, named = append(records, settings), append(named, settings.Names()...)
	}
	if x.partner != "" {
		named = append(named, x.partner)
	}
	for _, name := range named {
		if _, known := partners.Name(name); !known && !slices.Contains(strange, name) {
			strange = append(strange, name)
		}
	}
	// The state after all records.
	partners = partners.With(named)
	state = partners.NewState()
	for _, settings := range records {
		state.Apply("", settings)
	}
	state.Apply(x.choice, nil)
	// What is asked about it.
	asked = partners.List()
	if x.partner != "" {
		name, _ := partners.Name(x.partner)
		if !slices.Contains(asked, name) {
			return nil, nil, nil, fmt.Errorf("--partner %q is none of %s", x.partner, strings.Join(asked, ", "))
		}
		asked = []string{name}
	}
	if x.metric != "" && !slices.Contains(sharing.Metrics, x.metric) {
		return nil, nil, nil, fmt.Errorf("--metric %q is none of %s", x.metric, strings.Join(sharing.Metrics, ", "))
	}
	return state, asked, strange, nil
}

// suggestPartners suggests the known partners that the strange names may be misspellings of.
func suggestPartners(strange, partners []string) string {
	known := slices.DeleteFunc(slices.Concat(partners, sharing.NewPartners(nil).List()),
		func(p string) bool { return slices.Contains(strange, p) })
	slices.Sort(known)
	known = slices.Compact(known)
	var text string
	for _, s := range strange {
		if near := catalog.Nearest(s, known); len(near) > 0 {
			text += fmt.Sprintf(" Did you mean %s by %s?", strings.Join(near, " or "), terminal.Line(s))
		}
	}
	return text
}

// partners returns the partners of the service, of --partners, and of the config if there is one.
func (x explainFlags) partners(p *wire.Program) (sharing.Partners, error) {
	more := x.more
	if _, err := os.Stat(p.ConfigFile); err == nil {
		c, err := config.Load(p.ConfigFile, p.LookupEnv)
		if err != nil {
			return sharing.Partners{}, err
		}
		for _, j := range c.Jobs {
			if j.Sharing != nil {
				more = append(more, j.Sharing.Partners...)
			}
		}
	}
	return sharing.NewPartners(more), nil
}

// metrics returns the metrics to explain: the one of --metric, or all.
func (x explainFlags) metrics() []string {
	if x.metric != "" {
		return []string{x.metric}
	}
	return sharing.Metrics
}

// write writes a table for each group of partners with equal rules, or JSON lines.
func (x explainFlags) write(w io.Writer, state *sharing.State, partners []string) error {
	if x.form.JSON() {
		var all []any
		for _, p := range partners {
			for _, m := range x.metrics() {
				all = append(all, state.Explain(p, m))
			}
		}
		return text.JSONLines(w, all)
	}
	// Partners with equal tables share one.
	var order []string
	tables := map[string][]string{}
	for _, p := range partners {
		text := x.table(state, p)
		if tables[text] == nil {
			order = append(order, text)
		}
		tables[text] = append(tables[text], p)
	}
	for i, reasons := range order {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, text.Fold(strings.Join(tables[reasons], ", "), 80))
		fmt.Fprint(w, reasons)
	}
	return nil
}

// table lists each metric, whether it reaches the partner, and the rule that decides.
func (x explainFlags) table(state *sharing.State, partner string) string {
	g := text.Grid{Heads: []string{"  metric", "shared", "rule", "because"}}
	for _, m := range x.metrics() {
		v := state.Explain(partner, m)
		shared := "no"
		if v.Shared {
			shared = "yes"
		}
		g.Rows = append(g.Rows, []string{"  " + m, shared, v.Rule, v.Because})
	}
	var b strings.Builder
	g.Write(&b)
	return b.String()
}
