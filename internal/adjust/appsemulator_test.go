package adjust

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

func runner(n int) App {
	return App{
		Name: fmt.Sprintf("Runner %d", n), BundleID: fmt.Sprintf("com.example.runner%d", n),
		StoreID: fmt.Sprintf("com.example.runner%d", n), Platform: "android",
		ChannelSetup: map[string]map[string]any{"facebook": {"app_id": "12"},
			"ironsource": {"advertiser_id": "77", "password": vungleToken}},
	}
}

// toldInFull are the readings whose answers tell all that the tests below look for;
// TestAutomationReadings has the others.
var toldInFull = []string{"error-body=model", "app-absent=400", "store-filter=default-id", "apps-list=list",
	"ticket-status=lower", "ticket-unknown=kept", "ticket-idle=newest",
	"events-answer=object", "secrets-answer=combined", "vault-answer=bare", "signature-answer=settings"}

// The emulator, written from the document alone, understands what this client says of apps, and
// answers what it reads.
func TestAppsEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := withEmulator(t, emulator.Options{TicketStep: -1, Readings: toldInFull}, nil)
		ctx := t.Context()
		if apps, err := c.Apps(ctx); err != nil || len(apps) != 0 {
			t.Fatalf("%v, %v", apps, err)
		}
		if _, err := c.AppByStore(ctx, runner(1).StoreID, "android", ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		made, err := c.CreateApp(ctx, runner(1))
		if err != nil || made.AppToken == "" || made.Ticket == "" || made.SKAppID != "" {
			t.Fatalf("%+v, %v", made, err)
		}
		again, err := c.CreateApp(ctx, runner(1))
		if err != nil || again.AppToken != made.AppToken || again.Ticket != made.Ticket {
			t.Errorf("made twice: %+v, %v", again, err)
		}
		app, err := c.App(ctx, made.AppToken)
		byStore, err2 := c.AppByStore(ctx, runner(1).StoreID, "android", "")
		if err != nil || err2 != nil || show(app) != show(byStore) ||
			app.ChannelSetup["ironsource"]["password"] != vungleToken || app.Platform != "android" {
			t.Errorf("%+v, %v; %+v, %v", app, err, byStore, err2)
		}
		if apps, err := c.Apps(ctx); err != nil || len(apps) != 1 || show(apps[0]) != show(app) {
			t.Errorf("%v, %v", apps, err)
		}

		// A ticket advances only when the emulator is told to.
		var seen []string
		_, err = c.WaitTicket(ctx, made.Ticket, Wait{Most: time.Minute,
			Seen: func(t Ticket) { seen = append(seen, t.Status) }})
		if !errors.Is(err, ErrTicketOpen) || slices.Compact(seen)[0] != "new" {
			t.Errorf("%v, %v", seen, err)
		}
		ticket, err := c.WaitTicket(ctx, made.Ticket, Wait{Seen: func(Ticket) {
			if _, err := s.AdvanceTickets(3, made.Ticket); err != nil {
				t.Error(err)
			}
		}})
		if err != nil || !ticket.Completed() || ticket.Kind != "migration" ||
			!slices.Contains(ticket.Result["partners"].Successes, "facebook") || len(ticket.Problems()) != 0 {
			t.Errorf("%+v, %v", ticket, err)
		}
		s.SetJobFaults([]emulator.JobFault{{App: made.AppToken, Section: "events", Detail: "made to fail"}})
		forced := runner(1)
		forced.ForceUpdate, forced.Sections = true, []string{"events", "partners"}
		again, err = c.CreateApp(ctx, forced)
		if err != nil || again.Ticket == made.Ticket {
			t.Fatalf("%+v, %v", again, err)
		}
		ticket, err = c.WaitTicket(ctx, again.Ticket, Wait{Seen: func(Ticket) { _, _ = s.AdvanceTickets(99, "") }})
		if !errors.Is(err, ErrTicketFailed) || !ticket.Failed() ||
			!strings.Contains(strings.Join(ticket.Problems(), "; "), "made to fail") ||
			!slices.Contains(ticket.Problems(), "partners: Could not be started because events section has failed") {
			t.Errorf("%q, %v", ticket.Problems(), err)
		}

		events, err := c.SubmitEvents(ctx, []string{made.AppToken, "nosuchapp"}, []EventSpec{{"purchase", true}})
		if err != nil || len(events.Successes) != 1 || events.Successes[0].Event.Name != "purchase" ||
			!events.Successes[0].Event.Unique || len(events.Successes[0].Event.Token) != 6 ||
			len(events.Failures) != 1 || events.Failures[0].AppToken != "nosuchapp" ||
			events.Failures[0].Details == "" {
			t.Errorf("%+v, %v", events, err)
		}
		settings, err := c.Settings(ctx, made.AppToken, "events", "app_info")
		if err != nil || len(settings) != 2 || !strings.Contains(string(settings["events"]), `"purchase"`) {
			t.Errorf("%s, %v", settings, err)
		}
		// Any app of the account.
		if settings, err = c.Settings(ctx, s.Apps()[1].Token); err != nil || len(settings) < 5 {
			t.Errorf("%s, %v", settings, err)
		}
		var out strings.Builder
		if err := c.SettingsCSV(ctx, &out, []string{made.AppToken}, []string{"events"}); err != nil ||
			!strings.HasPrefix(out.String(), "app_token,app_name,section,setting,value\n") ||
			strings.Count(out.String(), "\n") < 2 {
			t.Errorf("%s, %v", out.String(), err)
		}
		on, print := true, strings.TrimSuffix(strings.Repeat("c4:", 20), ":")
		signature, err := c.UpdateSignature(ctx, made.AppToken, SignatureSettings{EnforceInstallSigning: &on,
			AndroidFingerprints: []string{print}})
		if err != nil || !*signature.EnforceInstallSigning || !strings.EqualFold(signature.AndroidFingerprints[0],
			print) {
			t.Errorf("%+v, %v", signature, err)
		}
		stores, err := c.CreateApp(ctx, App{Name: runner(1).Name, BundleID: runner(1).BundleID,
			StoreID: runner(1).StoreID, Platform: "android", AdditionalStores: map[string]Store{"huawei": {"C100"}}})
		if err != nil || stores.StoreID != runner(1).StoreID {
			t.Errorf("%+v, %v", stores, err)
		}
		if found, err := c.AppByStore(ctx, runner(1).StoreID, "android", "huawei"); err != nil ||
			found.AppToken != made.AppToken {
			t.Errorf("%+v, %v", found, err)
		}

		secrets, err := c.RevokeOutdatedSecrets(ctx, made.AppToken, Outdated{})
		if err != nil || len(secrets.Combined.Secrets) == 0 {
			t.Fatalf("%+v, %v", secrets, err)
		}
		id := string(secrets.Combined.Secrets[0].ID)
		if secrets, err = c.RevokeSecret(ctx, made.AppToken, id); err != nil || secrets.Combined.Secrets[0].Active {
			t.Errorf("%+v, %v", secrets, err)
		}
		if secrets, err = c.ReactivateSecret(ctx, made.AppToken, id, "all-traffic"); err != nil ||
			!secrets.Combined.Secrets[0].Active || secrets.Combined.Secrets[0].Scope != "all-traffic" {
			t.Errorf("%+v, %v", secrets, err)
		}
		if _, err = c.RevokeSecret(ctx, made.AppToken, "987654321"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}

		for range 2 { // the same again replaces itself
			rec, err := c.PutVault(ctx, "csv_upload_settings", "", vaultDatum)
			if err != nil || rec.Section != "csv_upload_settings" || rec.Store != "" || rec.ID == "" ||
				strings.Contains(rec.Data.Text(), "AKIA") {
				t.Errorf("%+v, %v", rec, err)
			}
		}
		if records, err := c.Vault(ctx); err != nil || len(records) != 1 ||
			strings.Contains(records[0].Data.Text(), "AKIA") {
			t.Errorf("%+v, %v", records, err)
		}
	})
}

// Both agree on what is refused, and every field is named.
func TestAppsEmulatorRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := withEmulator(t, emulator.Options{Readings: toldInFull,
			Tokens: map[string]emulator.Role{secretToken: emulator.RoleEditor, "reader": emulator.RoleReader}}, nil)
		ctx := t.Context()
		for want, app := range map[string]App{
			"name: Field required; bundle_id: Field required; store_id: Field required; platform: Field required": {},
			"channel_setup.facebook.app_id: Field required":                                                       {Name: "n", BundleID: "b", StoreID: "s", Platform: "android", ChannelSetup: map[string]map[string]any{"facebook": {}}},
			"sections.1: ": {Name: "n", BundleID: "b", StoreID: "s", Platform: "android",
				Sections: []string{"events", "nonsense"}},
			"platform: Input should be 'android' or 'ios'": {Name: "n", BundleID: "b", StoreID: "s",
				Platform: "windows"},
			"channel_setup.nobody: ": {Name: "n", BundleID: "b", StoreID: "s",
				Platform: "android", ChannelSetup: map[string]map[string]any{"nobody": {}}},
			"name: String should not contain control": {Name: "n\r\nX-Evil: 1", BundleID: "b", StoreID: "s",
				Platform: "android"},
		} {
			_, err := c.CreateApp(ctx, app)
			var v *transport.ValidationError
			var e *Error
			if !errors.As(err, &v) || !errors.As(err, &e) || e.Status != 422 || e.Code != "validation_error" ||
				e.Attempts != 1 {
				t.Errorf("%s: %v", want, err)
				continue
			}
			for _, part := range strings.Split(want, "; ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v, want %s", err, part)
				}
			}
		}
		if apps, err := c.Apps(ctx); err != nil || len(apps) != 0 {
			t.Errorf("%v, %v", apps, err)
		}
		if _, err := c.PutVault(ctx, "csv_upload_settings", "", `{"type":"S3","secret":"hush-hush-hush"`); err == nil ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
		if _, err := c.Ticket(ctx, "no-such-ticket"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
		for _, token := range []string{"reader", "nobody"} {
			other, _ := open(t, play(csv), func(o *Options) {
				o.HTTP, o.Token = s.Client(),
					&fixed{tokens: []string{token}}
			})
			if _, err := other.CreateApp(ctx, runner(1)); !errors.Is(err, ErrAuth) {
				t.Errorf("%s: %v", token, err)
			}
		}
		fresh, ok := s.ResetToken(secretToken)
		if _, err := c.Apps(ctx); !ok || !errors.Is(err, ErrAuth) {
			t.Errorf("%v", err)
		}
		renewed, _ := open(t, play(csv), func(o *Options) {
			o.HTTP, o.Token = s.Client(),
				&fixed{tokens: []string{secretToken, fresh}}
		})
		if _, err := renewed.Apps(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Whatever happens to an answer, an app is made once.
func TestAppsEmulatorFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := withEmulator(t, emulator.Options{Readings: toldInFull}, nil)
		tokens := map[string]bool{}
		for i, f := range []emulator.Fault{
			{Kind: emulator.FaultSlow, Delay: 20 * time.Second}, {Kind: emulator.FaultSlow, Delay: 10 * time.Minute},
			{Kind: emulator.FaultStatus, Status: 429},
			{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 9},
			{Kind: emulator.FaultStatus, Status: 500, Times: 3}, {Kind: emulator.FaultStatus, Status: 503},
			{Kind: emulator.FaultReset}, {Kind: emulator.FaultHTML}, {Kind: emulator.FaultLost},
			{Kind: emulator.FaultLost, Status: 502}, {Kind: emulator.FaultCut}, {Kind: emulator.FaultEmpty},
		} {
			f.Path = "/app"
			s.SetFaults([]emulator.Fault{f})
			made, err := c.CreateApp(t.Context(), runner(i))
			if err != nil {
				t.Errorf("%s: %v", f.String(), err)
				continue
			}
			tokens[made.AppToken] = true
			if ticket, err := c.WaitTicket(t.Context(), made.Ticket, Wait{}); err != nil {
				t.Errorf("%s: %+v, %v", f.String(), ticket, err)
			}
		}
		apps, err := c.Apps(t.Context())
		if err != nil || len(apps) != 12 || len(tokens) != 12 {
			t.Errorf("%d apps of %d tokens, %v", len(apps), len(tokens), err)
		}
	})
}
