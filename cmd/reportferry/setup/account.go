package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/terminal"
)

// listApps lists the apps that the token may see, sorted by name. The list is nil when the service
// has no such list (status 400 or 404), because its documentation doesn't promise one. A person
// waits for the answer, so only two attempts within 20 seconds are made.
func listApps(cmd *cobra.Command, p *wire.Program, c *config.Config) (apps []adjust.Filter, err error) {
	brief := *c
	brief.Warnings, brief.Service.Attempts, brief.Service.Patience = nil, 2, 20*time.Second
	if err := p.Take(&brief); err != nil {
		return nil, err
	}
	err = p.WithService(cmd, func(ctx context.Context, s *wire.Session) error {
		lists, err := s.Client.FiltersData(ctx, []string{"apps"})
		var answer *adjust.Error
		if errors.As(err, &answer) && (answer.Status == http.StatusBadRequest || answer.Status == http.StatusNotFound) {
			return nil
		}
		apps = lists["apps"]
		return err
	})
	slices.SortFunc(apps, func(a, b adjust.Filter) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.ID, b.ID))
	})
	return apps, err
}

// appTokens returns the tokens of the apps that are given by token or by name. If the list of apps
// is empty, every name is taken for a token, unchecked.
func appTokens(apps []adjust.Filter, names []string) (tokens []string, err error) {
	for _, name := range names {
		token := name
		if len(apps) > 0 {
			if token, err = findApp(apps, name); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(tokens, token) {
			tokens = append(tokens, token)
		}
	}
	return tokens, nil
}

// findApp returns the token of the app with this token or name; upper and lower case count as
// equal.
func findApp(apps []adjust.Filter, name string) (token string, err error) {
	var tokens []string // of the apps that match
	for _, a := range apps {
		if a.ID == name {
			return a.ID, nil
		}
		if strings.EqualFold(a.ID, name) || strings.EqualFold(a.Name, name) {
			tokens = append(tokens, a.ID)
		}
	}
	switch len(tokens) {
	case 0:
	case 1:
		return tokens[0], nil
	default:
		return "", fmt.Errorf("%q is the name of %d apps; want the token of one: %s", name, len(tokens),
			terminal.Line(strings.Join(tokens, ", ")))
	}
	var known []string
	for _, a := range apps[:min(len(apps), 5)] {
		known = append(known, a.ID+" ("+a.Name+")")
	}
	if more := len(apps) - len(known); more > 0 {
		known = append(known, fmt.Sprintf("%d more", more))
	}
	return "", fmt.Errorf("the account has no app %q; its apps are %s", name, terminal.Line(strings.Join(known, ", ")))
}
