package emulate

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/internal/emulator"
)

// automation is what the command line says of app automation.
type automation struct {
	roles map[string]string
	fail  []string
}

func (a *automation) flags(cmd *cobra.Command, o *emulator.Options) {
	cmd.Flags().StringToStringVar(&a.roles, "role", nil, "`token=role` of a user: Admin, Editor or Reader; others are let in no more")
	cmd.Flags().BoolVar(&o.NoAutomation, "no-automation", false, "app automation isn't enabled: 403")
	cmd.Flags().BoolVar(&o.NoTemplate, "no-template", false, "the account has no template app")
	cmd.Flags().DurationVar(&o.TicketStep, "ticket-step", 0, "what each step of a job takes; negative: POST /_emulator/tickets")
	cmd.Flags().StringSliceVar(&a.fail, "fail-job", nil, "`section` that fails in jobs, or section@app of one token or store ID")
}

func (a *automation) apply(o *emulator.Options) {
	for token, role := range a.roles {
		if o.Tokens == nil {
			o.Tokens = map[string]emulator.Role{}
		}
		o.Tokens[token] = emulator.Role(role)
	}
	for _, f := range a.fail {
		section, app, _ := strings.Cut(f, "@")
		o.JobFaults = append(o.JobFaults, emulator.JobFault{Section: section, App: app})
	}
}
