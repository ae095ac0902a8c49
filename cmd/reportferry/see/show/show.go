// Package show has the command config show, which writes the config as it was understood. Without
// it, what a default, a merge key or a variable comes to would be known only by what a run then
// does.
//
//	file ── config.Show ──> keys with values ──┬─ draft.Keys ──> YAML, which is a config itself
//	                                           └─ object ──────> JSON
package show

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/config/strict"
)

// New makes the command config.
func New(p *wire.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the config as it is understood"}
	cmd.AddCommand(newShow(p))
	return cmd
}

// newShow makes the command config show.
func newShow(p *wire.Program) *cobra.Command {
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "show [job...]",
		Short: "Print the config with its defaults filled in, without secrets",
		Long: `Print the config as it is understood, or some of its jobs: defaults filled in,
variables and merge keys replaced by what they stand for, and behind lookback
and relative paths what they come to. What is printed is a config that means the
same.

References to secrets stay references. Of URLs, what may be a secret is left
out, and a comment says so. The file is read and nothing else: no service, no
ledger, no sink.`,
		Example: `  reportferry config show
  reportferry config show campaigns_daily --output json`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			shown, err := p.ShowConfig(names, safe)
			if err != nil {
				return err
			}
			written := draft.Keys(keys(shown))
			if form.JSON() {
				var b bytes.Buffer
				check := json.NewEncoder(&b)
				check.SetEscapeHTML(false)
				check.SetIndent("", "  ")
				if err := check.Encode(object(shown)); err != nil {
					return text.WithExitCode(err)
				}
				written = b.Bytes()
			}
			_, err = cmd.OutOrStdout().Write(written)
			return text.WithExitCode(err)
		},
	}
	form = p.AddOutput(cmd, "one object", config.Schema)
	return cmd
}

// keys converts the keys of a config to those that package draft writes.
func keys(shown []strict.Shown) []draft.Key {
	all := make([]draft.Key, len(shown))
	for i, s := range shown {
		all[i] = draft.Key{Name: s.Key, Value: s.Value, Comment: s.Note}
		switch v := s.Value.(type) {
		case []strict.Shown:
			all[i].Value = keys(v)
		case [][]strict.Shown:
			var entries [][]draft.Key
			for _, e := range v {
				entries = append(entries, keys(e))
			}
			all[i].Value = entries
		}
	}
	return all
}

// An object is a mapping that becomes JSON with its keys in their order.
type object []strict.Shown

// MarshalJSON writes the keys without their notes.
func (o object) MarshalJSON() ([]byte, error) {
	var fields []string
	for _, s := range o {
		value := s.Value
		switch v := value.(type) {
		case []strict.Shown:
			value = object(v)
		case [][]strict.Shown:
			var entries []object
			for _, e := range v {
				entries = append(entries, e)
			}
			value = entries
		case strict.Spelled:
			if json.Valid([]byte(v)) { // 0042 isn't a number in JSON
				value = json.RawMessage(v)
			}
		}
		name, _ := json.Marshal(s.Key)
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields = append(fields, string(name)+":"+string(text))
	}
	return []byte("{" + strings.Join(fields, ",") + "}"), nil
}
