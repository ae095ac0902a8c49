// Package draft writes the configs that init and run --to make of answers and flags. Without it,
// each of these commands would put YAML together in its own way, and a name with a colon in it
// would break one of them.
//
//	answers, flags ── Config ── YAML ── text ── config.Parse
//
// A draft says only what its author chose: whatever it leaves out has the config's own default, so
// that there is one place for defaults. The comments are for the person who opens the file next.
package draft

import (
	"bytes"
	"strings"

	"github.com/reportferry/reportferry/config"
)

// A Config is a config file before it is written.
type Config struct {
	Comment []string // lines at the top of the file
	Service Service
	Ledger  string // URL; empty: the config's default
	Jobs    []Job
}

// A Service says whom to ask: the made-up account when Embedded is true, otherwise a host with the
// token that an environment variable holds.
type Service struct {
	Embedded bool
	BaseURL  string // empty: the service's usual host
	TokenEnv string // empty: the usual variable
	More     []Key  // any other keys, which follow those above
}

// A Job is an entry under jobs. What is empty isn't written.
type Job struct {
	Comment  []string // lines above the entry
	Name     string
	Kind     string // empty: report
	Schedule string
	Zone     string
	Sinks    []string
	Start    string
	Currency string

	Dimensions []string
	Metrics    []string
	More       []Key // any other keys, which follow those above
}

// A Key is one key of a mapping with its value: a text, a number, a bool, a list of texts, a
// mapping as []Key, or a list of mappings as [][]Key.
type Key struct {
	Name    string
	Value   any
	Comment string // goes behind the value; where that is a mapping or the line gets too long, above the key
}

// Off is a value that a person has to check first: its key is written as a comment, and counts once
// the mark of the comment is removed.
type Off struct{ Value any }

// YAML returns the config as text. ${NAME} in a text isn't escaped: as in every config, it stands
// for the value of an environment variable.
func (c Config) YAML() []byte {
	w := &writer{}
	w.comment(0, c.Comment)
	w.keys(0, c.Service.keys())
	if c.Ledger != "" {
		w.keys(0, []Key{{"ledger", c.Ledger, "records what is done"}})
	}
	w.line(0, "jobs:")
	for i, j := range c.Jobs {
		if i > 0 {
			w.line(0, "")
		}
		w.comment(1, j.Comment)
		w.entry(1, j.keys())
	}
	return w.Bytes()
}

// Keys returns a mapping as text.
func Keys(keys []Key) []byte {
	w := &writer{}
	w.keys(0, keys)
	return w.Bytes()
}

// keys returns the key service, with the defaults filled in.
func (s Service) keys() []Key {
	if s.Embedded {
		return []Key{{"service", "embedded", "the made-up account, in this process"}}
	}
	host, variable := s.BaseURL, s.TokenEnv
	if host == "" {
		host = config.DefaultBaseURL
	}
	if variable == "" {
		variable = config.DefaultTokenEnv
	}
	return []Key{{"service", append([]Key{
		{"base_url", host, ""}, {"token", config.TokenOf(variable), "a reference, never the token itself"},
	}, s.More...), ""}}
}

// keys returns the keys of the job that aren't empty, in the order of the file.
func (j Job) keys() []Key {
	kind := j.Kind
	if kind == "" {
		kind = "report"
	}
	all := []Key{
		{"name", j.Name, "also the name of the table"}, {"kind", kind, ""},
		{"schedule", j.Schedule, "says only when to look"},
		{"zone", j.Zone, "of the schedule"}, {"sinks", j.Sinks, ""}, {"start", j.Start, "the first day wanted"},
		{"currency", j.Currency, ""},
		{"dimensions", j.Dimensions, ""}, {"metrics", j.Metrics, ""},
	}
	var said []Key
	for _, k := range all {
		switch v := k.Value.(type) {
		case string:
			if v == "" {
				continue
			}
		case []string:
			if len(v) == 0 {
				continue
			}
		}
		said = append(said, k)
	}
	return append(said, j.More...)
}

// A writer writes lines of YAML. A depth is how many levels a line is indented.
type writer struct{ bytes.Buffer }

func indent(depth int) string { return strings.Repeat("  ", depth) }

func (w *writer) line(depth int, text string) { w.WriteString(indent(depth) + text + "\n") }

func (w *writer) comment(depth int, lines []string) {
	for _, text := range lines {
		w.line(depth, strings.TrimSpace("# "+text))
	}
}
