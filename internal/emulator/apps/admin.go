package apps

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Managed is an app that was made or updated through app automation.
type Managed struct {
	Token    string   `json:"token"`
	Name     string   `json:"name"`
	BundleID string   `json:"bundle_id"`
	StoreID  string   `json:"store_id"`
	Platform string   `json:"platform"`
	Editors  []string `json:"editors"`
	Tickets  []string `json:"tickets"` // oldest first
}

// ManagedApps lists the apps that app automation knows, oldest first.
func (s *Service) ManagedApps() (out []Managed, err error) {
	out = []Managed{}
	err = s.store.Change(context.Background(), func(tx *sql.Tx) error {
		apps, err := (&call{service: s, tx: tx}).apps(true)
		if err != nil {
			return err
		}
		for _, a := range apps {
			m := Managed{a.Token, a.Name, a.BundleID, a.StoreID, a.Platform, append([]string{}, a.Editors...),
				[]string{}}
			tickets, err := readTickets(tx, "app=?", a.Token)
			if err != nil {
				return err
			}
			for _, t := range tickets {
				m.Tickets = append(m.Tickets, t.Token)
			}
			out = append(out, m)
		}
		return nil
	})
	return out, err
}

// Admin answers the admin calls about app automation; known is false for other calls.
func (s *Service) Admin(r *http.Request, call string) (answer any, known bool, err error) {
	switch call {
	case "GET apps":
		answer, err = s.ManagedApps()
		return answer, true, err
	case "PUT job-faults":
		var list []Fault
		err := wire.DecodeStrict(r, &list)
		if err == nil {
			err = s.SetFaults(list)
		}
		if err != nil {
			return nil, true, fmt.Errorf("set job faults: %w", err)
		}
		return map[string]int{"faults": len(list)}, true, nil
	case "POST tickets":
		body := struct {
			Steps  int    `json:"steps"`
			Ticket string `json:"ticket"`
		}{Steps: 1}
		if err := wire.DecodeStrict(r, &body); err != nil {
			return nil, true, fmt.Errorf("advance tickets: %w", err)
		}
		open, err := s.AdvanceTickets(body.Steps, body.Ticket)
		return map[string]int{"open": open}, true, err
	default:
		return nil, false, nil
	}
}
