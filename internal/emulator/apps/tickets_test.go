package apps_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
)

// What queues a job, and what doesn't.
func TestWhatQueuesAJob(t *testing.T) {
	t.Parallel()
	all := garden("channel_setup", object{"tapjoy": object{"app_id": "1"}}, "override_settings",
		object{"s2s": object{"enabled": true}},
		"editors", []any{"a@example.com"}, "ios_pv_shared_secret", "abc")
	for _, c := range []struct {
		name string
		more []any // what the second request changes
		job  bool
	}{
		{"nothing", nil, false},
		{"name, bundle_id, verification", []any{"name", "N", "bundle_id", "B", "verification", true}, false},
		{"sections", []any{"sections", []any{"events"}}, false},
		{"a store", []any{"additional_stores", object{"amazon": object{"store_id": "B0"}}}, false},
		{"force_update false", []any{"force_update", false}, false},
		{"force_update", []any{"force_update", true}, true},
		{"channel_setup", []any{"channel_setup", object{"tapjoy": object{"app_id": "2"}}}, true},
		{"channel_setup gone", []any{"channel_setup", nil}, true},
		{"override_settings", []any{"override_settings", object{"s2s": object{"enabled": false}}}, true},
		{"override_settings absent", []any{"override_settings", nil}, false},
		{"override_settings empty", []any{"override_settings", object{}}, true},
		{"editors", []any{"editors", []any{"b@example.com"}}, true},
		{"editors absent", []any{"editors", nil}, false},
		{"editors none", []any{"editors", []any{}}, true},
		{"the secret", []any{"ios_pv_shared_secret", "abd"}, true},
		{"the secret absent", []any{"ios_pv_shared_secret", nil}, false},
	} {
		s := manual(t)
		body := apps.Merged(all, nil)
		first := create(t, s, body)
		for i := 0; i < len(c.more); i += 2 {
			body[c.more[i].(string)] = c.more[i+1]
			if c.more[i+1] == nil {
				delete(body, c.more[i].(string))
			}
		}
		second := create(t, s, body)
		if second.Token != first.Token || (second.Ticket != first.Ticket) != c.job || second.Ticket == "" {
			t.Errorf("%s: tickets %s, %s, want a new one: %t", c.name, first.Ticket, second.Ticket, c.job)
		}
		if third := create(t, s, body); third.Ticket != second.Ticket && body["force_update"] != true {
			t.Errorf("%s: the same a third time queued a job", c.name)
		}
	}
}

// Jobs go on with the data's clock, a step each TicketStep, an app's jobs one after the other.
func TestTicketsOnAClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, TicketStep: time.Minute, Rate: -1})
		if err != nil {
			t.Fatal(err)
		}
		body := garden("sections", []any{"events", "s2s"}, "force_update", true)
		first, second := create(t, s, body), create(t, s, body)
		other := create(t, s, garden("store_id", "com.other", "sections", []any{"s2s"}))
		shift := false
		for _, step := range []struct {
			wait                 time.Duration
			first, second, other string
		}{
			{0, "new 0", "new 0", "new 0"},
			{59 * time.Second, "new 0", "new 0", "new 0"},
			{time.Second, "opened 0", "new 0", "opened 0"},
			{time.Minute, "opened 1", "new 0", "completed 1"},
			{time.Minute, "completed 2", "new 0", "completed 1"},
			{59 * time.Second, "completed 2", "new 0", "completed 1"},
			{time.Second, "completed 2", "opened 0", "completed 1"},
			{10 * time.Minute, "completed 2", "completed 2", "completed 1"},
		} {
			if shift = !shift; shift { // by waiting, or by the admin call
				time.Sleep(step.wait)
			} else {
				if w := adminCall(s, "POST", "clock", fmt.Sprintf(`{"shift":%q}`, step.wait), ""); w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
			for ticket, want := range map[string]string{first.Ticket: step.first, second.Ticket: step.second,
				other.Ticket: step.other} {
				st := statusOf(t, s, ticket)
				if got := fmt.Sprint(st.Status, " ", len(st.Result)); got != want {
					t.Errorf("after %v more: %s, want %s", step.wait, got, want)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAdvanceTickets(t *testing.T) {
	t.Parallel()
	s := manual(t)
	body := garden("sections", []any{"s2s"}, "force_update", true)
	first, second := create(t, s, body), create(t, s, body)
	other := create(t, s, garden("store_id", "com.other"))
	s.Shift(1000 * time.Hour)
	admin := func(body, want string) {
		t.Helper()
		if w := adminCall(s, "POST", "tickets", body, ""); strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
		}
	}
	states := func(want string) {
		t.Helper()
		var got []string
		for _, ticket := range []string{first.Ticket, second.Ticket, other.Ticket} {
			got = append(got, statusOf(t, s, ticket).Status)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	states("new new new")
	admin(`{"steps":5,"ticket":"`+second.Ticket+`"}`, `{"open":2}`) // it waits for the first one
	states("new new new")
	admin(`{"ticket":"`+first.Ticket+`"}`, `{"open":2}`)
	states("opened new new")
	admin(`{"ticket":"`+first.Ticket+`","steps":7}`, `{"open":1}`)
	states("completed new new")
	admin(`{}`, `{"open":2}`)
	states("completed opened opened")
	admin(`{"steps":100}`, `{"open":0}`)
	states("completed completed completed")
	admin(`{"step":1}`, `{"error_code":"request_error","error_desc":"advance tickets: json: unknown field \"step\""}`)
}
