package emulator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ManagedApp is an app that was made or updated through app automation.
type ManagedApp struct {
	Token    string   `json:"token"`
	Name     string   `json:"name"`
	BundleID string   `json:"bundle_id"`
	StoreID  string   `json:"store_id"`
	Platform string   `json:"platform"`
	Editors  []string `json:"editors"`
	Tickets  []string `json:"tickets"` // oldest first
}

// ManagedApps lists the apps that app automation knows, oldest first.
func (s *Server) ManagedApps() (out []ManagedApp, err error) {
	out = []ManagedApp{}
	err = s.store.change(context.Background(), func(tx *sql.Tx) error {
		apps, err := (&call{s: s, tx: tx}).apps(true)
		if err != nil {
			return err
		}
		for _, a := range apps {
			m := ManagedApp{a.Token, a.Name, a.BundleID, a.StoreID, a.Platform, append([]string{}, a.Editors...), []string{}}
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

// administerApps answers the admin calls about app automation.
func (s *Server) administerApps(r *http.Request) (any, error) {
	switch strings.TrimPrefix(r.URL.Path, adminPrefix) {
	case "job-faults":
		var faults []JobFault
		err := decodeStrict(r, &faults)
		if err == nil {
			err = s.replaceJobFaults(faults)
		}
		if err != nil {
			return nil, fmt.Errorf("set job faults: %w", err)
		}
		return map[string]int{"faults": len(faults)}, nil
	case "tickets":
		body := struct {
			Steps  int    `json:"steps"`
			Ticket string `json:"ticket"`
		}{Steps: 1}
		if err := decodeStrict(r, &body); err != nil {
			return nil, fmt.Errorf("advance tickets: %w", err)
		}
		open, err := s.AdvanceTickets(body.Steps, body.Ticket)
		return map[string]int{"open": open}, err
	case "reset-token":
		var body struct {
			Token string `json:"token"`
		}
		if err := decodeStrict(r, &body); err != nil {
			return nil, fmt.Errorf("reset a token: %w", err)
		}
		token, ok := s.ResetToken(body.Token)
		if !ok {
			return nil, errors.New("reset a token: it isn't one that is let in")
		}
		return map[string]string{"token": token}, nil
	default:
		return s.ManagedApps()
	}
}
