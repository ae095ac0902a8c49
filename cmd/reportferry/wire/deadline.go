package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// stopMargin is how long before its deadline a run is told to end, as by SIGTERM. Giving up,
// recording and releasing what is under way takes less.
const stopMargin = 10 * time.Second

// A Deadline is the --deadline flag of commands that a platform may give a limited time.
type Deadline struct {
	after time.Duration // from the start of the process; 0: there is no deadline
	began time.Time     // start of the process
}

// AddRun adds the flags of every command that does a run, and returns the value of --deadline.
// REPORTFERRY_DEADLINE is read when the command runs, so that a wrong value is an error of this
// command only.
func (p *Program) AddRun(cmd *cobra.Command) *Deadline {
	d := &Deadline{began: p.Began}
	cmd.Flags().BoolVarP(&p.Quiet, "quiet", "q", false, "say nothing but warnings, errors and what is left out")
	cmd.Flags().BoolVar(&p.NoProgress, "no-progress", false,
		"write a line for each unit on a terminal too, in place of bars")
	cmd.Flags().StringVar(&p.Result, "result", "",
		"write what became of the run, partition by partition, into this `file`; - is standard output, and the "+
			"summary then goes to standard error")
	cmd.Flags().StringVar(&p.ResultForm, "result-format", "json",
		"`form` of that: json, or kestra, which is lines that Kestra reads")
	cmd.Flags().Var(d, "deadline", "`time` that the process has from its start, such as 50m: no window is begun "+
		"that would hardly be over by then, and open ones are stopped 10 s before")
	if p.Deadline == "" {
		return d
	}
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("deadline") {
			if err := d.Set(p.Deadline); err != nil {
				return fmt.Errorf("REPORTFERRY_DEADLINE=%q: %w", p.Deadline, err)
			}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
	return d
}

// Set reads the flag's value. With String and Type it makes a Deadline a flag.
func (d *Deadline) Set(text string) error {
	after, err := time.ParseDuration(text)
	if err != nil || after <= 0 {
		return errors.New("want a time such as 50m or 3600s")
	}
	d.after = after
	return nil
}

// String returns the flag's value, empty when there is no deadline.
func (d *Deadline) String() string {
	if d.after == 0 {
		return ""
	}
	return d.after.String()
}

// Type returns the word that help texts show for the value.
func (d *Deadline) Type() string { return "time" }

// Stop returns the time at which a run must begin to end: stopMargin before the deadline, or half
// way to it when the deadline is shorter than twice that. Zero means never.
func (d *Deadline) Stop() time.Time {
	if d.after == 0 {
		return time.Time{}
	}
	return d.began.Add(d.after - min(stopMargin, d.after/2))
}
