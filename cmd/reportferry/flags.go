package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// flags are those that every command has. Their defaults come from the environment, because an execution of a Cloud Run
// job can override arguments and environment only, and overrides all arguments at once.
type flags struct {
	config, logFormat, logLevel string
	task                        task
}

func (f *flags) add(cmd *cobra.Command) {
	set := cmd.PersistentFlags()
	set.StringVar(&f.config, "config", cmp.Or(os.Getenv("REPORTFERRY_CONFIG"), "reportferry.yml"), "config `file`")
	set.StringVar(&f.logFormat, "log-format", cmp.Or(os.Getenv("REPORTFERRY_LOG_FORMAT"), "text"), "`format`: text or json")
	set.StringVar(&f.logLevel, "log-level", cmp.Or(os.Getenv("REPORTFERRY_LOG_LEVEL"), "info"), "`level`: debug, info, warn or error")
}

func (f *flags) check() (err error) {
	if f.logFormat != "text" && f.logFormat != "json" {
		return fmt.Errorf("--log-format %q: want text or json", f.logFormat)
	}
	if _, err := f.level(); err != nil {
		return err
	}
	f.task, err = taskOf(os.Getenv)
	return err
}

func (f *flags) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return level, fmt.Errorf("--log-level %q: want debug, info, warn or error", f.logLevel)
	}
	return level, nil
}

// began is the start of the process: a platform counts a task's time from there.
var began = time.Now()

// ending is how long before its deadline a run is stopped, as by SIGTERM: what is under way is given up, recorded and
// released in less.
const ending = 10 * time.Second

// deadlineFlag is the flag of commands that may be given a limited time.
type deadlineFlag struct{ after time.Duration }

func (d *deadlineFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(d, "deadline", "`time` that the process has from its start, such as 50m: no window is begun that would hardly be over by then, and open ones are stopped 10 s before")
	if text := os.Getenv("REPORTFERRY_DEADLINE"); text != "" {
		before := cmd.PreRunE
		cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("deadline") {
				if err := d.Set(text); err != nil {
					return fmt.Errorf("REPORTFERRY_DEADLINE=%q: %w", text, err)
				}
			}
			if before != nil {
				return before(cmd, args)
			}
			return nil
		}
	}
}

// Set, String and Type make it a flag's value.
func (d *deadlineFlag) Set(text string) error {
	after, err := time.ParseDuration(text)
	if err != nil || after <= 0 {
		return fmt.Errorf("want a time such as 50m or 3600s")
	}
	d.after = after
	return nil
}

func (d *deadlineFlag) String() string {
	if d.after == 0 {
		return ""
	}
	return d.after.String()
}

// Type is a word for help texts.
func (d *deadlineFlag) Type() string { return "time" }

// stop is when a run must begin to end; zero: never.
func (d *deadlineFlag) stop() time.Time {
	if d.after == 0 {
		return time.Time{}
	}
	return began.Add(d.after - min(ending, d.after/2))
}
