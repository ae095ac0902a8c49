package main

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/apps"
	"github.com/reportferry/reportferry/cmd/reportferry/ask"
	"github.com/reportferry/reportferry/cmd/reportferry/emulate"
	"github.com/reportferry/reportferry/cmd/reportferry/push"
	"github.com/reportferry/reportferry/cmd/reportferry/run"
	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/see/console"
	"github.com/reportferry/reportferry/cmd/reportferry/see/dbt"
	"github.com/reportferry/reportferry/cmd/reportferry/see/inspect"
	"github.com/reportferry/reportferry/cmd/reportferry/setup"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
	"github.com/reportferry/reportferry/sinks/bqsink"
	"github.com/reportferry/reportferry/sinks/pgsink"
)

// kinds lists every kind of job by its name in the config. Each has a folder under jobs/ and a file
// in wire/. A test walks the folders, so that no kind can be forgotten here.
var kinds = map[string]wire.Maker{
	"report":  wire.Report,
	"events":  wire.Events,
	"spend":   wire.PushJobOfRun,
	"sharing": wire.PushJobOfRun,
	"apps":    wire.Apps,
}

// openers lists every sink by the schemes of its URLs. Each has a folder under sinks/. mem:// is
// missing on purpose: its content is gone when the process ends, while the ledger says that it is
// there.
var openers = map[string]sinks.Opener{
	"file":   blobsink.Open,
	"gs":     blobsink.Open,
	"s3":     blobsink.Open,
	"azblob": blobsink.Open,

	"bigquery": bqsink.Open,
	"postgres": pgsink.Open,
	"iceberg":  openIceberg, // a build tag decides which one
}

// processStart is when the process started. The deadlines of platforms count from there.
var processStart = time.Now()

// newProgram returns the Program that every command is given. The flags fill in the rest.
func newProgram() *wire.Program {
	p := &wire.Program{
		Deadline: os.Getenv("REPORTFERRY_DEADLINE"), Began: processStart, Version: version(), LookupEnv: lookupEnv,
		Hangups: hangups.take,
		Kinds:   kinds, Sinks: openers,
	}
	p.Run = func(cmd *cobra.Command, r wire.Request) error { return runJobs(cmd, p, r) }
	return p
}

// lookupEnv does what os.LookupEnv does. Where ADJUST_TOKEN isn't set, it returns ADJUST_API_TOKEN,
// which is the name in the service's own clients.
func lookupEnv(name string) (value string, set bool) {
	if value, set = os.LookupEnv(name); value == "" && name == config.DefaultTokenEnv {
		if other, has := os.LookupEnv("ADJUST_API_TOKEN"); has {
			return other, true
		}
	}
	return value, set
}

// newRoot makes the command line: the flags of all commands, and every command.
func newRoot(p *wire.Program) *cobra.Command {
	root := &cobra.Command{
		Use:     "reportferry",
		Short:   "Ferry measurement reports into partitioned tables",
		Version: thisBuild().String(),
		Long: `reportferry fetches reports from a mobile-measurement service and keeps them as
typed Parquet partitions in any bucket: complete, restated when the service
restates them, never doubled, never silently missing.

The schedule only says when to look; the ledger says what is missing; a
partition is replaced whole or not at all; doing it twice equals doing it once.

REPORTFERRY_CONFIG, REPORTFERRY_LOG_FORMAT, REPORTFERRY_LOG_LEVEL and
REPORTFERRY_DEADLINE are the defaults of the flags of these names.
REPORTFERRY_ROOT is the folder to which the config's relative paths are
relative, in place of the config's own folder.

` + text.ExitHelp(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			p.Attended = terminal.Is(cmd.ErrOrStderr())
			if err := p.Check(); err != nil {
				return err
			}
			wire.Standard(p.Logger(cmd.ErrOrStderr())) // execute restores the logger
			p.Task, err = wire.TaskOf(os.Getenv)
			return err
		},
	}
	addFlags(p, root)
	// Cobra's own template doesn't wrap the flags for a terminal of 80 columns.
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped 80", "{{if .Runnable}}", "{{if and .Runnable (not .Annotations.group)}}",
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		`"{{.CommandPath}} [command] --help" says more about a command.`,
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(setup.New(p), newRun(p), newBackfill(p), run.Replay(p), run.Diff(p), run.Accept(p), newPlan(p),
		inspect.Status(p), see.Runs(p), see.Ledger(p), see.History(p), see.Changes(p),
		inspect.Check(p), inspect.Views(p),
		dbt.New(p),
		run.Serve(p, runScheduled), run.Notify(p), console.New(p, freeHeap), ask.Events(p), ask.Report(p),
		ask.Fields(p), push.Spend(p), push.Sharing(p), apps.New(p), newSchema(p), see.Config(p),
		emulate.New(p, freeHeap),
		newMan(), newVersion(p))
	wire.AddCompletions(p, root)
	text.ExplainUsage(root)
	return root
}

// addFlags adds the flags that every command has. Their defaults come from the environment, because
// an execution of a Cloud Run job can override arguments and environment only, and overrides all
// arguments at once.
func addFlags(p *wire.Program, root *cobra.Command) {
	set := root.PersistentFlags()
	set.StringVar(&p.ConfigFile, "config", p.DefaultConfig(), "config `file`")
	set.StringVar(&p.LogFormat, "log-format", cmp.Or(os.Getenv("REPORTFERRY_LOG_FORMAT"), "text"),
		"`format`: text or json")
	set.StringVar(&p.LogLevel, "log-level", cmp.Or(os.Getenv("REPORTFERRY_LOG_LEVEL"), "info"),
		"`level`: debug, info, warn or error")
}
