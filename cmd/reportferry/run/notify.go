package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see/console"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/notify"
	"github.com/reportferry/reportferry/jobs"
)

// Notify returns the command "notify".
func Notify(p *wire.Program) *cobra.Command {
	var test bool
	cmd := &cobra.Command{
		Use:   "notify --test",
		Short: "Send a test message to all whom the config has told of trouble",
		Long: `Send a test message to all under notify in the config, and say how each of them
took it. Addresses are shown as the config refers to them, and never in full.

Runs send such messages by themselves: one when something is wrong, for each row
of days and each reason, one when it is over, and reminders where remind asks
for them. What can't be sent doesn't change a run, and is sent by the next one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error { return sendTest(ctx, cmd, s) })
		},
	}
	cmd.Flags().BoolVar(&test, "test", false, "send one message to each")
	if err := cmd.MarkFlagRequired("test"); err != nil {
		panic(err) // can't be: the flag is defined in the line above
	}
	return cmd
}

// sendTest sends a test message to each receiver of the config, and prints how that went.
func sendTest(ctx context.Context, cmd *cobra.Command, s *wire.Session) error {
	if len(s.Config.Notify) == 0 {
		return text.UsageError(errors.New("the config has nobody under notify; config/README.md says how to name them"))
	}
	m := notify.Message{
		Title: "reportferry: a test", Lines: []string{"Messages arrive here."}, Link: s.Config.Console,
		Items: []notify.Item{{Problem: notify.Problem{Job: "none", Reason: notify.Failed, What: "This is a test."},
			Kind: "resolved", ID: "reportferry/test"}},
	}
	failed := 0
	for i, c := range s.Config.Notify {
		send, err := s.SenderOf(ctx, c)
		if err == nil {
			ctx, cancel := context.WithTimeout(ctx, notify.SendTime)
			err = send(ctx, m)
			cancel()
		}
		if err != nil {
			failed++
			fmt.Fprintf(cmd.OutOrStdout(), "notify[%d] %s: failed: %v\n", i, c.URL, err)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "notify[%d] %s: sent\n", i, c.URL)
	}
	if failed > 0 {
		return text.SilentExit(jobs.ExitFailed)
	}
	return nil
}

// SendNotices sends the config's receivers the problems that are there after a run, those that are
// over, and those that only the run's errors show. It doesn't change the run's result: the error is
// for a warning, and the next run sends what this one couldn't.
func SendNotices(ctx context.Context, s *wire.RunInfo) error {
	if len(s.Config.Notify) == 0 {
		return nil
	}
	c, err := console.Of(s.Session)
	if err != nil {
		return err
	}
	names := make([]string, len(s.List))
	for i, j := range s.List {
		names[i] = j.Name
	}
	n := newsOf(c.See(ctx, 0), s.Record, names, s.Again())
	n.Ledger, n.Link, n.Now = s.Ledger, s.Config.Console, time.Now()
	var errs []error
	for _, c := range s.Config.Notify {
		send, err := s.SenderOf(ctx, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.URL, err))
			continue
		}
		n.Receivers = append(n.Receivers, notify.Receiver{Name: c.URL, On: c.On, Jobs: c.Jobs, Remind: c.Remind,
			Send: send})
	}
	return errors.Join(append(errs, notify.Send(ctx, n))...)
}
