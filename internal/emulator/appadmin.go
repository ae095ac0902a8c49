package emulator

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
)

// managedApp is an app that was made or updated through app automation.
type managedApp struct {
	Token    string   `json:"token"`
	Name     string   `json:"name"`
	BundleID string   `json:"bundle_id"`
	StoreID  string   `json:"store_id"`
	Platform string   `json:"platform"`
	Editors  []string `json:"editors"`
	Tickets  []string `json:"tickets"` // oldest first
}

// managedApps lists the apps that app automation knows, oldest first.
func (s *appService) managedApps() (out []managedApp, err error) {
	out = []managedApp{}
	err = s.store.change(context.Background(), func(tx *sql.Tx) error {
		apps, err := (&call{s: s, tx: tx}).apps(true)
		if err != nil {
			return err
		}
		for _, a := range apps {
			m := managedApp{a.Token, a.Name, a.BundleID, a.StoreID, a.Platform, append([]string{}, a.Editors...), []string{}}
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

// admin answers the admin calls about app automation; known is false for other calls.
func (s *appService) admin(r *http.Request, call string) (answer any, known bool, err error) {
	switch call {
	case "GET apps":
		answer, err = s.managedApps()
		return answer, true, err
	case "PUT job-faults":
		var list []jobFault
		err := decodeStrict(r, &list)
		if err == nil {
			err = s.setFaults(list)
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
		if err := decodeStrict(r, &body); err != nil {
			return nil, true, fmt.Errorf("advance tickets: %w", err)
		}
		open, err := s.advanceTickets(body.Steps, body.Ticket)
		return map[string]int{"open": open}, true, err
	default:
		return nil, false, nil
	}
}
