package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/sharing"
)

// An explaining is what `sharing explain` is asked.
type explaining struct {
	choice, partner, metric string
	more                    []string // partners beside the thirteen
	asJSON                  bool
}

func (s *pushFlags) explain() *cobra.Command {
	var x explaining
	cmd := &cobra.Command{
		Use:   "explain [settings...]",
		Short: "Show which metric reaches which partner, and why",
		Long: `Show which metric reaches which partner when a device's records have said this,
and by which rule. Nothing is sent, and no config is needed. Settings are those
of partner_sharing_settings, as JSON; several are records one after the other; -
reads them from the standard input.

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
			state, partners, err := x.read(s.flags, texts, cmd.InOrStdin())
			if err != nil {
				return &exitError{jobs.ExitUsage, fmt.Errorf("explain: %w", err)}
			}
			return x.write(cmd.OutOrStdout(), state, partners)
		},
	}
	cmd.Flags().StringVar(&x.choice, "sharing", "", "what the last record says of sharing: enable or disable")
	cmd.Flags().StringVar(&x.partner, "partner", "", "only this `partner`")
	cmd.Flags().StringVar(&x.metric, "metric", "", "only this `metric`")
	cmd.Flags().StringSliceVar(&x.more, "partners", nil, "IDs or names of partners beside the service's thirteen, and those of the config if there is one")
	cmd.Flags().BoolVar(&x.asJSON, "json", false, "print one JSON object for each metric and partner")
	return cmd
}

// read makes the state of a device whose records said this, and gives the partners that are asked about.
func (x explaining) read(f *flags, texts []string, in io.Reader) (*sharing.State, []string, error) {
	more := x.more
	if _, err := os.Stat(f.config); err == nil {
		c, err := config.Load(f.config, os.LookupEnv)
		if err != nil {
			return nil, nil, err
		}
		for _, j := range c.Jobs {
			if j.Sharing != nil {
				more = append(more, j.Sharing.Partners...)
			}
		}
	}
	partners := sharing.NewPartners(more)
	state := partners.NewState()
	switch x.choice {
	case "", "enable", "disable":
	default:
		return nil, nil, fmt.Errorf("--sharing %q: want enable or disable", x.choice)
	}
	for i, text := range texts {
		if text == "-" {
			data, err := io.ReadAll(io.LimitReader(in, 1<<20))
			if err != nil {
				return nil, nil, err
			}
			text = strings.TrimSpace(string(data))
		}
		settings, err := partners.ParseSettings(text)
		if err != nil {
			return nil, nil, fmt.Errorf("settings %d: %w", i+1, err)
		}
		state.Apply("", settings)
	}
	state.Apply(x.choice, nil)
	asked := partners.List()
	if x.partner != "" {
		name, ok := partners.Name(x.partner)
		if !ok || !slices.Contains(asked, name) {
			return nil, nil, fmt.Errorf("--partner %q is none of %s", x.partner, strings.Join(asked, ", "))
		}
		asked = []string{name}
	}
	if x.metric != "" && !slices.Contains(sharing.Metrics, x.metric) {
		return nil, nil, fmt.Errorf("--metric %q is none of %s", x.metric, strings.Join(sharing.Metrics, ", "))
	}
	return state, asked, nil
}

func (x explaining) metrics() []string {
	if x.metric != "" {
		return []string{x.metric}
	}
	return sharing.Metrics
}

func (x explaining) write(w io.Writer, state *sharing.State, partners []string) error {
	if x.asJSON {
		enc := json.NewEncoder(w)
		for _, p := range partners {
			for _, m := range x.metrics() {
				if err := enc.Encode(state.Explain(p, m)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	// Partners of whom the same is to be said are shown together.
	var order []string
	tables := map[string][]string{}
	for _, p := range partners {
		text := x.table(state, p)
		if tables[text] == nil {
			order = append(order, text)
		}
		tables[text] = append(tables[text], p)
	}
	for i, text := range order {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, folded(strings.Join(tables[text], ", "), 80))
		fmt.Fprint(w, text)
	}
	return nil
}

func (x explaining) table(state *sharing.State, partner string) string {
	g := grid{heads: []string{"  metric", "shared", "rule", "because"}, right: []bool{false, false, false, false}}
	for _, m := range x.metrics() {
		v := state.Explain(partner, m)
		shared := "no"
		if v.Shared {
			shared = "yes"
		}
		g.rows = append(g.rows, []string{"  " + m, shared, v.Rule, v.Because})
	}
	var b strings.Builder
	g.write(&b)
	return b.String()
}

// folded breaks a text into lines of so many columns.
func folded(text string, width int) string {
	var lines []string
	for len(text) > width {
		at := strings.LastIndex(text[:width+1], " ")
		if at < 0 {
			break
		}
		lines, text = append(lines, text[:at]), text[at+1:]
	}
	return strings.Join(append(lines, text), "\n")
}
