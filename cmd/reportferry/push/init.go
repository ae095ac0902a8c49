package push

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/guess"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
)

// init makes the command spend init.
func (g *group) init() *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:   "init <file>",
		Short: "Write the config of a job that pushes files such as this one",
		Long: `Look at a partner's file of spend, find out how it is written and which of its
columns are which fields of a record, and write the config of a job that pushes
such files. Nothing is sent.

Columns are found by their names, in English, German and French, and by what
their cells hold. A field that no column fits is said, and stands in the config
as a comment that you fill in: one value for all records, under constants. The
type of the cost is never guessed.

The config goes to standard output, or with -o into a new file; one that is
there is never written over. What was found goes to the other of the two.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if into != "" {
				if _, err := os.Lstat(into); err == nil {
					return exit.Refused(fmt.Errorf("%s is there already, and isn't written over; name a new file with -o", into))
				}
			}
			f, err := guess.Look(cmd.Context(), args[0], os.TempDir())
			if err == nil && f.Duplicate() != "" {
				err = fmt.Errorf("two of its columns are %q; rename one of them", f.Duplicate())
			}
			if err != nil {
				return exit.Refused(fmt.Errorf("look at %s: %w", args[0], err))
			}
			d := sketch{file: f, path: args[0], into: into}
			d.fields, d.currency = f.Columns()
			text := d.config().YAML()
			if _, err := config.Parse(cmp.Or(into, "the config"), text, func(string) (string, bool) { return "x", true }); err != nil {
				return fmt.Errorf("the config that was made of %s isn't right: %w", args[0], err)
			}
			if into == "" {
				d.tell(cmd.ErrOrStderr(), "")
				_, err = terminal.Data(cmd.OutOrStdout()).Write(text)
				return err
			}
			if err := create(into, text); err != nil {
				return err
			}
			d.tell(cmd.OutOrStdout(), into)
			return nil
		},
	}
	cmd.Flags().StringVarP(&into, "output", "o", "", "`file` to write, which mustn't be there yet; default: standard output")
	return cmd
}

// create writes a file that isn't there yet.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exit.Refused(fmt.Errorf("%s is there already, and isn't written over", path))
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	return err
}
