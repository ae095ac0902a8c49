// Package wire opens what the config names and makes jobs of its entries. Without it, every command
// would open the service, the ledger and the sinks in its own way, and close some of them never.
//
//	Program  what main knows: flags, environment, the lists of kinds and sinks
//	   │ Open
//	Engine   config, ledger, the service's client; opened once, shared by all runs of a process
//	   │ Session
//	Session  one run or one command: its ID, its spool folder, the sinks of its jobs
//	   │ Kinds[entry.Kind]
//	jobs.Job what the runner does
//
// A kind has one file here, which translates its entry of the config into its options, because
// kinds don't know the config.
//
// AddCompletions completes values in a shell: names of dimensions and metrics, of jobs, and the
// days that the ledger has. Without it, each command would do so for its own flags, and forget
// some. Nothing is asked of the service or of a bucket: names come from the catalogue, the config,
// and a ledger in a folder.
//
// IsLoopback tells whether only this machine reaches a server, and KnownHosts has servers refuse
// requests for hosts that aren't theirs. Without it, a page in somebody's browser could have a name
// of its own lead to this machine (DNS rebinding) and read the answers.
package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/notify"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A Program is what package main passes to the commands: what the command line and the environment
// say, the lists of kinds and sinks, and how a run is begun. The exported fields are set before any
// command runs, and don't change then.
type Program struct {
	ConfigFile          string // --config
	BaseURL, TokenEnv   string // --base-url, --token-env, of commands that need no config; empty: not given
	Embedded            bool   // --embedded, of the same commands
	Account             string // --account, of those that send requests to the service
	LogFormat, LogLevel string // --log-format, --log-level
	Attended            bool   // a person watches the output at a terminal
	ManyRuns            bool   // the process does many runs, so each line of the log names its run
	Quiet, NoProgress   bool   // --quiet, --no-progress, of commands that do a run
	Deadline            string // the default of --deadline, as text
	Result, ResultForm  string // --result, --result-format, of commands that do a run
	Task                Task
	Began               time.Time // start of the process, from which --deadline counts
	Version             string
	LookupEnv           func(string) (string, bool)
	// Collected takes all records of the log as well, and sends them to the collector that the
	// environment names. It is nil when there is no collector.
	Collected slog.Handler
	// Hangups makes the process report each SIGHUP on the channel, instead of stopping at it. It is
	// nil in programs that leave SIGHUP alone.
	Hangups func() <-chan struct{}

	Kinds map[string]Maker                    // by the kind's name in the config
	Sinks map[string]sinks.Opener             // by the scheme of the URL
	Run   func(*cobra.Command, Request) error // does one run in the foreground

	givenConfig *config.Config // what Take was given, in place of the file; nil: the file is read
}

// A Maker makes a job from its entry of the config and what the command line asks of it.
type Maker func(context.Context, *Session, config.Job, Ask) (jobs.Job, error)

// A Request says which run a command begins.
type Request struct {
	Trigger string    // schedule, manual, backfill or replay
	Offline bool      // the run asks the service for nothing, and needs no token
	Named   bool      // the jobs were named: the exit code tells if other runs hold all their units
	Stop    time.Time // when the run must begin to end; zero: never
	// Jobs makes the run's jobs.
	Jobs func(context.Context, *Session) ([]jobs.Job, error)
	// Over is called with each job as soon as it is over, from several goroutines. It may be nil.
	Over func(ledger.Result)
}

// JSON tells whether the output is for machines.
func (p *Program) JSON() bool { return p.LogFormat == "json" }

// Check refuses invalid values of the flags.
func (p *Program) Check() error {
	if p.LogFormat != "text" && p.LogFormat != "json" {
		return fmt.Errorf("%s: want text or json", p.origin("--log-format", "REPORTFERRY_LOG_FORMAT", p.LogFormat))
	}
	_, err := p.level()
	return err
}

// level reads --log-level.
func (p *Program) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.LogLevel)); err != nil {
		return level, fmt.Errorf("%s: want debug, info, warn or error", p.origin("--log-level", "REPORTFERRY_LOG_LEVEL",
			p.LogLevel))
	}
	return level, nil
}

// origin names where a flag's value comes from: the command line, or the variable that has its
// default.
func (p *Program) origin(flag, variable, value string) string {
	if value != "" && p.getenv(variable) == value {
		return fmt.Sprintf("the environment variable %s is %q", variable, value)
	}
	return fmt.Sprintf("%s %q", flag, value)
}

// DefaultConfig returns the config file that is read when --config names none.
func (p *Program) DefaultConfig() string {
	return cmp.Or(p.getenv("REPORTFERRY_CONFIG"), "reportferry.yml")
}

// Again returns what to append to a suggested command so that the command uses the same config,
// such as " --config FILE". It is empty for the default config.
func (p *Program) Again() string {
	if p.ConfigFile == "" || p.ConfigFile == p.DefaultConfig() {
		return ""
	}
	return " --config " + p.ConfigFile
}

// getenv returns the value of an environment variable, by LookupEnv; empty when it isn't set.
func (p *Program) getenv(name string) string {
	value, _ := p.LookupEnv(name)
	return value
}

// Secret reads the token that a flag refers to, as the config's keys do. Errors don't repeat what
// may be the token itself.
func (p *Program) Secret(ctx context.Context, reference string) (string, error) {
	if !config.RefersToToken(reference) {
		return "", errors.New("want a reference and never the token itself, which a list of processes would show: " +
			"'${NAME}' of an environment variable, " +
			"in single quotes, because a shell fills in a text without them; '${file:/path}', or a " +
			"gcpsecretmanager://, awssecretsmanager://, azurekeyvault:// or hashivault:// URL")
	}
	source, err := transport.ParseToken(reference, p.getenv)
	if err != nil {
		return "", err
	}
	return source.Token(ctx)
}

// Heartbeat sends the start of a run to the heartbeat address of the config, and returns a
// Listener that sends the end. It returns NoListener if the config has no such address, or can't be
// read; that error is reported by whoever opens the config for the run.
func (p *Program) Heartbeat(ctx context.Context, log *slog.Logger) Listener {
	c, err := p.loadConfig()
	if err != nil || c.Heartbeat == "" {
		return NoListener{}
	}
	w := heartbeat{quiet: !p.Task.First()}
	address, err := p.Address(ctx, c.Heartbeat)
	if err == nil {
		w.beat, err = notify.NewPoster().Heartbeat(address)
	}
	if err == nil && !w.quiet {
		err = w.beat(ctx, "start")
	}
	if err != nil {
		log.Warn("the heartbeat could not be sent; the run itself isn't affected", "error", err)
	}
	return w
}

// A heartbeat is the Listener that sends the end of a run to the heartbeat address.
type heartbeat struct {
	NoListener
	// beat sends what happened to the address: start, an exit code, or an empty text for success.
	// It is nil when the address couldn't be read.
	beat func(ctx context.Context, what string) error
	// quiet means that only failures are sent, because the first of an execution's tasks sends the
	// start and successes.
	quiet bool
}

// Closed sends how the process ends.
func (w heartbeat) Closed(ctx context.Context, code int, _ error) error {
	switch {
	case w.beat == nil || w.quiet && code == 0:
		return nil
	case code == 0:
		return w.beat(ctx, "")
	}
	return w.beat(ctx, strconv.Itoa(code))
}

// SenderOf reads the address of one notification target of the config, and returns the function
// that sends messages there.
func (p *Program) SenderOf(ctx context.Context, n config.Notify) (func(context.Context, notify.Message) error, error) {
	at, err := p.Address(ctx, n.URL)
	if err != nil {
		return nil, err
	}
	return notify.Sender(at)
}

// Address reads the address, which is a secret, that a key of the config refers to.
func (p *Program) Address(ctx context.Context, reference string) (string, error) {
	source, err := transport.ParseAddress(reference, p.getenv)
	if err != nil {
		return "", err
	}
	return source.Token(ctx)
}

// loadConfig reads the config file. Its errors end the process with ExitUsage.
func (p *Program) loadConfig() (*config.Config, error) {
	if p.givenConfig != nil {
		return p.givenConfig, nil
	}
	c, err := config.Load(p.ConfigFile, p.LookupEnv)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, text.UsageError(fmt.Errorf("%w\n"+
			"  `reportferry init` writes one, and --config names %s;\n"+
			"  `reportferry run --to ./out` needs none, and its --help has an example", err, p.otherConfig()))
	case err != nil:
		return nil, text.UsageError(err)
	}
	return c, nil
}

// otherConfig returns words for what --config may name when the config file isn't there: the only
// YAML file in its folder, if there is exactly one.
func (p *Program) otherConfig() string {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(p.ConfigFile), "*.y*ml"))
	if len(names) == 1 {
		return "another, as in --config " + names[0]
	}
	return "one elsewhere"
}

// WithService opens the service, calls do with a session that records nothing, and closes
// everything again. The ledger stays closed. The error has its exit code.
func (p *Program) WithService(cmd *cobra.Command, do func(context.Context, *Session) error) error {
	c, err := p.loadConfig()
	if err != nil {
		return err
	}
	return p.withConfig(cmd, c, do)
}

// withConfig does what WithService does, with a config that has been read.
func (p *Program) withConfig(cmd *cobra.Command, c *config.Config, do func(context.Context, *Session) error) error {
	e, err := p.openService(c, p.Logger(cmd.ErrOrStderr()), true)
	if err != nil {
		return err
	}
	return e.use(cmd.Context(), do)
}

// WithLedger is WithService with the ledger open. Opening asks nothing of the service.
func (p *Program) WithLedger(cmd *cobra.Command, do func(context.Context, *Session) error) error {
	e, err := p.Open(cmd.Context(), p.Logger(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	return e.use(cmd.Context(), do)
}

// use calls do with a session that records nothing, and closes the session and the engine.
func (e *Engine) use(ctx context.Context, do func(context.Context, *Session) error) error {
	s := e.Session("")
	return errors.Join(text.WithExitCode(do(ctx, s)), s.Close(), e.Close())
}

// ShowConfig returns the config as it was understood, with its defaults. When names isn't empty,
// only these jobs are in it. safe removes possible secrets from texts.
func (p *Program) ShowConfig(names []string, safe func(string) string) ([]strict.Shown, error) {
	c, err := p.loadConfig()
	if err != nil {
		return nil, err
	}
	var entries []string // as they stand in the file
	if len(names) > 0 {
		chosen, err := (&Engine{Config: c}).Choose(names)
		if err != nil {
			return nil, err
		}
		for _, job := range chosen {
			entries = append(entries, job.Entry)
		}
	}
	data, err := os.ReadFile(p.ConfigFile)
	if err != nil {
		return nil, text.UsageError(err)
	}
	shown, err := config.Show(p.ConfigFile, data, p.LookupEnv, safe)
	for i, s := range shown {
		if list, are := s.Value.([][]strict.Shown); are && s.Key == "jobs" && len(names) > 0 {
			shown[i].Value = slices.DeleteFunc(list, func(job []strict.Shown) bool {
				return !slices.ContainsFunc(job, func(k strict.Shown) bool {
					name, _ := k.Value.(string)
					return k.Key == "name" && slices.Contains(entries, name)
				})
			})
		}
	}
	return shown, err
}
