package adjust

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

// What the client makes of each reading of app automation: what differs from the first readings.
func TestAutomationReadings(t *testing.T) {
	slow.Test(t)
	usual := map[string]string{
		"absent by store": "not there", "absent by token": "not there", "by store": "found", "by token": "found",
		"in a store": "found", "by a store's ID": "not there", "list": "3",
		"the first ticket": "completed", "an unchanged app": "the same ticket", "update": "Runner 3",
		"events": "1 and 1 failed", "settings": "1 section", "signature": "enforced",
		"secrets": "1 told", "vault": "purchase_verification", "records": "1",
	}
	for choice, differs := range map[string]map[string]string{
		"app-absent=400": {},
		"app-absent=400-words": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},
		"app-absent=404": {},
		"app-absent=403": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},
		"app-absent=204": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},
		"app-absent=422": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},
		"app-absent=empty-object": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},
		"app-absent=empty-list": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},
		"app-absent=null": {"absent by store": "unclear", "absent by token": "unclear",
			"by a store's ID": "unclear"},

		"app-answer=object": {}, "app-answer=list": {}, "app-answer=app": {}, "app-answer=apps": {},
		"store-filter=default-id": {},
		"store-filter=store-id":   {"in a store": "not there", "by a store's ID": "found"},
		"apps-list=list":          {}, "apps-list=apps": {}, "apps-list=data": {}, "apps-list=204": {},
		"apps-list=denied":    {"list": "unclear"},
		"apps-list=page":      {"list": "2"},
		"ticket-status=lower": {}, "ticket-status=upper": {}, "ticket-status=words": {},
		"ticket-unknown=kept": {},
		"ticket-unknown=400":  {"the first ticket": "not there"},
		"ticket-unknown=404":  {"the first ticket": "not there"},
		"ticket-idle=newest":  {},
		"ticket-idle=null":    {"an unchanged app": "no ticket"},
		"ticket-idle=empty":   {"an unchanged app": "no ticket"},
		"ticket-idle=absent":  {"an unchanged app": "no ticket"},
		"ticket-idle=new-job": {"an unchanged app": "another ticket"},

		"update-answer=created": {}, "update-answer=details": {}, "update-answer=wrapped": {},
		"update-answer=empty-object": {"update": "taken"},
		"update-answer=204":          {"update": "taken"},
		"events-answer=object":       {}, "events-answer=list": {}, "events-answer=empty-object": {},
		"events-answer=204":        {},
		"settings-answer=sections": {}, "settings-answer=settings": {}, "settings-answer=data": {},
		"secrets-answer=combined": {}, "secrets-answer=bare": {}, "secrets-answer=list": {},
		"secrets-answer=empty-object": {"secrets": "0 told"},
		"secrets-answer=204":          {"secrets": "0 told"},
		"vault-answer=bare":           {}, "vault-answer=wrapped": {},
		"vault-answer=empty-object":     {"vault": "taken"},
		"vault-answer=204":              {"vault": "taken"},
		"signature-answer=settings":     {},
		"signature-answer=wrapped":      {},
		"signature-answer=empty-object": {"signature": "taken"},
		"signature-answer=204":          {"signature": "taken"},
	} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := maps.Clone(usual)
				maps.Copy(want, differs)
				for what, got := range automated(t, choice) {
					if got != want[what] {
						t.Errorf("%s: %s, want %s", what, got, want[what])
					}
				}
			})
		})
	}
}

// automated calls every endpoint of app automation under a reading, and tells what the client made
// of the answers.
func automated(t *testing.T, choice string) map[string]string {
	t.Helper()
	c, s := withEmulator(t, emulator.Options{Readings: alone(choice)}, nil)
	ctx, got := t.Context(), map[string]string{}
	verdict := func(err error, otherwise string) string {
		switch {
		case errors.Is(err, ErrNotFound):
			return "not there"
		case Unclear(err):
			return "unclear"
		case err != nil:
			return err.Error()
		}
		return otherwise
	}
	_, err := c.AppByStore(ctx, "com.example.none", "android", "")
	got["absent by store"] = verdict(err, "found")
	_, err = c.App(ctx, "abcdefghijkl")
	got["absent by token"] = verdict(err, "found")

	var first CreatedApp
	for n := range 3 {
		app := runner(n)
		app.AdditionalStores = map[string]Store{"huawei": {fmt.Sprintf("C%d", n)}}
		made, err := c.CreateApp(ctx, app)
		if err != nil || made.AppToken == "" {
			t.Fatalf("%+v, %v", made, err)
		}
		if n == 0 {
			first = made
		}
	}
	ticket, err := c.WaitTicket(ctx, first.Ticket, Wait{})
	got["the first ticket"] = verdict(err, map[bool]string{true: "completed", false: "open"}[ticket.Completed()])
	_, err = c.AppByStore(ctx, runner(0).StoreID, "android", "")
	got["by store"] = verdict(err, "found")
	_, err = c.App(ctx, first.AppToken)
	got["by token"] = verdict(err, "found")
	_, err = c.AppByStore(ctx, runner(0).StoreID, "android", "huawei")
	got["in a store"] = verdict(err, "found")
	_, err = c.AppByStore(ctx, "C0", "android", "huawei")
	got["by a store's ID"] = verdict(err, "found")
	list, err := c.Apps(ctx)
	got["list"] = verdict(err, fmt.Sprint(len(list)))
	again, err := c.CreateApp(ctx, runner(0))
	got["an unchanged app"] = verdict(err, map[string]string{"": "no ticket",
		first.Ticket: "the same ticket"}[again.Ticket])
	if got["an unchanged app"] == "" {
		got["an unchanged app"] = "another ticket"
	}

	updated, err := c.UpdateApp(ctx, first.AppToken, App{Name: "Runner 3"})
	got["update"] = verdict(err, cmp.Or(updated.Name, "taken"))
	if apps, err := s.ManagedApps(); err != nil || len(apps) != 3 || apps[0].Name != "Runner 3" {
		t.Errorf("%+v", apps)
	}
	partly, err := c.SubmitEvents(ctx, []string{first.AppToken, "nosuchapp"}, []EventSpec{{"purchase", true}})
	got["events"] = verdict(err, fmt.Sprintf("%d and %d failed", len(partly.Successes), len(partly.Failures)))
	if all, err := c.SubmitEvents(ctx, []string{first.AppToken}, []EventSpec{{"level", false}}); err != nil ||
		len(all.Failures) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	settings, err := c.Settings(ctx, first.AppToken, "events")
	got["settings"] = verdict(err, fmt.Sprintf("%d section", len(settings)))
	if settings["events"] == nil {
		t.Errorf("%s", settings)
	}
	on := true
	signature, err := c.UpdateSignature(ctx, first.AppToken, SignatureSettings{EnforceInstallSigning: &on})
	got["signature"] = verdict(err, map[bool]string{true: "taken",
		false: "enforced"}[signature.EnforceInstallSigning == nil])
	secrets, err := c.RevokeOutdatedSecrets(ctx, first.AppToken, Outdated{})
	got["secrets"] = verdict(err, fmt.Sprintf("%d told", len(secrets.Combined.Secrets)))
	record, err := c.PutVault(ctx, "purchase_verification", "google", "a key of Google's")
	got["vault"] = verdict(err, cmp.Or(record.Section, "taken"))
	records, err := c.Vault(ctx)
	got["records"] = verdict(err, fmt.Sprint(len(records)))
	return got
}
