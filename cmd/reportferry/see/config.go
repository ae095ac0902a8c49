package see

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

// Config makes the command config.
func Config(p *wire.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the config as it is understood"}
	cmd.AddCommand(configShow(p))
	return cmd
}

// configShow makes the command config show.
func configShow(p *wire.Program) *cobra.Command {
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
			shown, err := p.ShowConfig(names, withoutSecrets)
			if err != nil {
				return err
			}
			written := draft.Keys(draftKeys(shown))
			if form.JSON() {
				var b bytes.Buffer
				check := json.NewEncoder(&b)
				check.SetEscapeHTML(false)
				check.SetIndent("", "  ")
				if err := check.Encode(configObject(shown)); err != nil {
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

// draftKeys converts the keys of a config to those that package draft writes.
func draftKeys(shown []strict.Shown) []draft.Key {
	all := make([]draft.Key, len(shown))
	for i, s := range shown {
		all[i] = draft.Key{Name: s.Key, Value: s.Value, Comment: s.Note}
		switch v := s.Value.(type) {
		case []strict.Shown:
			all[i].Value = draftKeys(v)
		case [][]strict.Shown:
			var entries [][]draft.Key
			for _, e := range v {
				entries = append(entries, draftKeys(e))
			}
			all[i].Value = entries
		}
	}
	return all
}

// A configObject is a mapping that becomes JSON with its keys in their order.
type configObject []strict.Shown

// MarshalJSON writes the keys without their notes.
func (o configObject) MarshalJSON() ([]byte, error) {
	var fields []string
	for _, s := range o {
		value := s.Value
		switch v := value.(type) {
		case []strict.Shown:
			value = configObject(v)
		case [][]strict.Shown:
			var entries []configObject
			for _, e := range v {
				entries = append(entries, e)
			}
			value = entries
		case strict.Literal:
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
