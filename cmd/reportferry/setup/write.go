package setup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see/inspect"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/disk"
	"github.com/reportferry/reportferry/sinks"
)

// A writer writes the config of some answers.
type writer struct {
	cmd     *cobra.Command
	program *wire.Program
	answers
	force bool // replace an existing file
	// ask asks for the answers; it is nil when the flags have given them.
	ask func(*cobra.Command, *wire.Program, answers) (answers, error)
}

// write gets the answers, writes the file, and then does what the command check does.
func (w *writer) write() (err error) {
	// Nothing may be in the way.
	path := w.program.ConfigFile
	if _, err := os.Lstat(path); err == nil && !w.force {
		return text.UsageError(fmt.Errorf("%s is there already, and stays as it is: name another file, such as "+
			"reportferry init other.yml, or replace it with --force", path))
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return text.UsageError(fmt.Errorf("%s can't be written: %w", path, err))
	}
	// The answers, and the config that they make.
	if w.ask != nil {
		w.answers, err = w.ask(w.cmd, w.program, w.answers)
	} else {
		err = w.checkFlags()
	}
	if err != nil {
		return err
	}
	written, err := w.text(w.program)
	if err != nil {
		return text.UsageError(err)
	}
	c, err := config.Parse(path, written, w.program.LookupEnv)
	if err != nil {
		return text.UsageError(err)
	}
	// The files.
	if err := save(path, written, w.force); err != nil {
		return text.WithExitCode(fmt.Errorf("write the config: %w", err))
	}
	schema, err := config.Schema()
	if err == nil {
		err = saveSchema(filepath.Join(filepath.Dir(path), schemaFile), w.program.Identified("config", schema))
	}
	if err != nil {
		return text.WithExitCode(fmt.Errorf("write the schema beside the config: %w", err))
	}
	// What was written, and whether it works.
	w.printSummary(c)
	if name := missingToken(w.program); name != "" {
		fmt.Fprintf(w.cmd.OutOrStdout(),
			"\nThe token is still missing. Put it into the environment, then try the config:\n  export %s=...\n  "+
				"reportferry check%s\n", name, w.program.Again())
		return nil
	}
	fmt.Fprintln(w.cmd.OutOrStdout())
	if err := w.program.Take(c); err != nil {
		return err
	}
	err = inspect.Config(w.cmd, w.program) // it also says which command to run next
	if err != nil {
		fmt.Fprintf(w.cmd.OutOrStdout(),
			"\n%s stays as it is written. When what failed is mended: reportferry check%s\n", path, w.program.Again())
	}
	return err
}

// checkFlags checks the answers that the flags gave.
func (w *writer) checkFlags() error {
	switch {
	case len(w.presets)+len(w.dimensions)+len(w.metrics) == 0:
		return text.UsageError(fmt.Errorf("--preset: want one of %s, which init --preset list explains; or "+
			"--dimensions and --metrics for a table of your own", strings.Join(presetNames(), ", ")))
	case len(w.metrics) > 0 && len(w.dimensions) == 0:
		return text.UsageError(errors.New("--dimensions: the table of your own needs one at least, such as day"))
	case len(w.dimensions) > 0 && len(w.metrics) == 0:
		return text.UsageError(errors.New("--metrics: the table of your own needs one at least, such as installs"))
	case w.name != "" && len(w.dimensions) == 0:
		return text.UsageError(errors.New("--name: of a table of your own, which needs --dimensions and --metrics; a " +
			"preset's tables have names"))
	}
	c, err := w.parsedConfig(w.program)
	if err != nil {
		return text.UsageError(want.InFlags(w.cmd.Flags(), err))
	}
	if len(w.apps) == 0 || missingToken(w.program) != "" {
		return nil
	}
	apps, err := listApps(w.cmd, w.program, c)
	if err != nil {
		return err
	}
	if w.apps, err = appTokens(apps, w.apps); err != nil {
		return text.UsageError(fmt.Errorf("--app: %w", err))
	}
	return nil
}

// printSummary says what was written.
func (w *writer) printSummary(c *config.Config) {
	out := w.cmd.OutOrStdout()
	var tables []string
	for _, j := range c.Jobs {
		tables = append(tables, j.Name)
	}
	apps := "all of the account"
	if len(w.apps) > 0 {
		apps = strings.Join(w.apps, ", ")
	}
	fmt.Fprintf(out, "wrote %s:\n", w.program.ConfigFile)
	text.Labeled(out, "editors", "check it by "+schemaFile+" beside it")
	text.Labeled(out, "tables", text.Fold(strings.Join(tables, ", "), 64))
	text.Labeled(out, "apps", text.Fold(apps, 64))
	text.Labeled(out, "money in", w.currency)
	text.Labeled(out, "into", sinks.Redact(c.Jobs[0].Sinks[0]))
}

// schemaFile is the name of the schema file to which the config refers, for editors.
const schemaFile = "schema.json"

// saveSchema writes the schema. A file of that name that isn't a schema of some version of this
// program is left alone.
func saveSchema(path string, text []byte) error {
	there, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(there, []byte(wire.SchemaIDs)) {
		return nil
	}
	return save(path, text, err == nil)
}

// save writes a file. Without replace, a file that has appeared in the meantime is left alone.
func save(path string, text []byte, replace bool) error {
	create := disk.CreateBeside
	if !replace {
		create = func(path string) (*os.File, error) {
			return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		}
	}
	f, err := create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
