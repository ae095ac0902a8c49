package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The forms that every command with an Output has.
const (
	Text = "text"
	JSON = "json"
)

// An Output is the form in which a command prints its answer: text for people, or a form that
// programs read. It is the value of the flag --output.
type Output struct {
	program *Program
	form    string   // that the flag names; empty: the flag wasn't given
	forms   []string // that the command has
	object  string   // what the JSON has, such as "one object a run"
	answer  any      // a value of the type that is written as JSON
	flags   *pflag.FlagSet
}

// AddOutput gives a command the flag --output. object says what the JSON has, such as "one object a
// run". answer is a value of the type that is written as JSON, from which the command schema makes
// a JSON Schema. more lists forms besides text and JSON. --format is another name of the flag, and
// --json stands for --output json.
func (p *Program) AddOutput(cmd *cobra.Command, object string, answer any, more ...string) *Output {
	fs := cmd.Flags()
	o := &Output{program: p, forms: append([]string{Text, JSON}, more...), flags: fs, object: object, answer: answer}
	fs.VarP(o, "output", "o", fmt.Sprintf("`form`: %s; json is %s", o.list(), object))
	fs.Lookup("output").DefValue = Text // whatever the log's form is
	fs.BoolFunc("json", "as --output json", func(string) error { return o.Set(JSON) })
	_ = fs.MarkHidden("json")
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "format" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	return o
}

// list returns the forms for messages, as in "text, json or csv".
func (o *Output) list() string {
	last := len(o.forms) - 1
	return strings.Join(o.forms[:last], ", ") + " or " + o.forms[last]
}

// Given returns the form that the flag asks for, or an empty string when it wasn't given.
func (o *Output) Given() string { return o.form }

// String implements pflag.Value. It returns the form in which the command prints.
func (o *Output) String() string {
	if o.form == "" && o.program != nil && o.program.JSON() { // whoever reads the log as JSON reads all as JSON
		return JSON
	}
	return cmp.Or(o.form, Text)
}

// Set implements pflag.Value.
func (o *Output) Set(form string) error {
	switch form {
	case "table":
		form = Text
	case "jsonl":
		form = JSON
	}
	if !slices.Contains(o.forms, form) {
		if strings.Contains(form, ".") && o.flags.Lookup("out") != nil {
			return fmt.Errorf("want %s; a file is named by --out", o.list())
		}
		return fmt.Errorf("want %s", o.list())
	}
	o.form = form
	return nil
}

// Type implements pflag.Value. Defaults of strings are shown in quotes.
func (o *Output) Type() string { return "string" }

// JSON tells whether the command prints JSON.
func (o *Output) JSON() bool { return o.String() == JSON }

// Form returns what writes an answer in the form that was asked for or, if forms lacks it, in text.
func Form[T any](o *Output, forms map[string]T) T {
	if write, has := forms[o.String()]; has {
		return write
	}
	return forms[Text]
}
