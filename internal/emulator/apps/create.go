package apps

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
	"github.com/reportferry/reportferry/internal/lazy"
)

// appRequest is what POST /app and POST /app/{app_token} ask for. Nil maps and lists were absent.
type appRequest struct {
	name, bundleID, storeID, platform string

	template  string   // token of the template app; "": the account's
	sections  []string // to migrate; none: all
	force     bool     // queue a job even if nothing changes
	channels  map[string]any
	overrides map[string]any
	editors   []string // addresses of mail
	secret    string   // ios_pv_shared_secret
	stores    map[string]otherStore
}

// readApp reads either request. platform is that of an app that exists, or "". The request for an
// app that exists may lack the fields that identify an app.
func readApp(f fields, platform string) appRequest {
	text := f.text
	if platform != "" {
		text = f.optionalText
	}
	q := appRequest{name: text("name"), bundleID: text("bundle_id"), storeID: text("store_id"),
		platform: text("platform"),
		template: f.optionalText("template_app_token"), sections: readSections(f),
		force:     f.boolean("force_update", false),
		overrides: readOverrides(f), secret: f.optionalText("ios_pv_shared_secret")}
	if q.platform != "" && q.platform != android && q.platform != ios {
		f.wrong("platform", "Input should be 'android' or 'ios'")
	}
	if q.platform == ios && q.storeID != "" && strings.Trim(q.storeID, "0123456789") != "" {
		f.wrong("store_id", "Input should be the number that the app has in the App Store")
	}
	if f.has("channel_setup") {
		q.channels = readChannels(f)
	}
	if f.has("editors") {
		q.editors = append([]string{}, f.texts("editors")...)
		for i, mail := range q.editors {
			if mail != "" && !strings.Contains(mail, "@") {
				f.errs.add(f.loc("editors", i), "Input should be a valid email address")
			}
		}
	}
	if f.has("verification") {
		f.boolean("verification", false) // checked alone: nothing that can be read depends on it
	}
	if platform == "" {
		platform = q.platform
	}
	if f.has("additional_stores") {
		q.stores = readStores(f, platform)
	}
	return q
}

// storeKind matches the store type of an additional store.
var storeKind = lazy.Regexp(`^[a-z0-9_]+$`)

// readStores reads the additional stores, which only Android apps have.
func readStores(f fields, platform string) map[string]otherStore {
	if platform == ios {
		f.wrong("additional_stores", "Only Android apps have additional stores")
		return nil
	}
	o := f.object("additional_stores")
	out := map[string]otherStore{}
	for _, kind := range slices.Sorted(maps.Keys(o.values)) {
		switch {
		case len(kind) > 64 || !storeKind().MatchString(kind):
			o.wrong(kind, "A store type is of a-z, 0-9 and _")
		case kind == defaultStores[android]:
			o.wrong(kind, "This is the default store: its ID is store_id")
		default:
			if store, ok := itemAt(o.values[kind], o.errs, o.loc(kind)); ok {
				out[kind] = otherStore{store.text("store_id")}
			}
		}
	}
	return out
}

// templateFor returns the token of the template: the one asked for, or else the account's. It has
// to be an app of the account.
func (c *call) templateFor(asked string) string {
	token := asked
	switch {
	case token != "":
	case c.service.opts.NoTemplate:
		c.body.wrong("template_app_token", "The account has no template app configured")
		return ""
	case c.service.opts.Template != "":
		token = c.service.opts.Template
	default:
		return c.service.madeUp()[0].Token
	}
	if _, err := c.app(token); err != nil {
		c.body.wrong("template_app_token", "The template app was not found")
	}
	return token
}

// postApp answers POST /app: it makes the app of a store ID, or updates it when it is there.
func (c *call) postApp() (any, error) {
	q := readApp(c.body, "")
	template := c.templateFor(q.template)
	if err := c.body.errs.err(); err != nil {
		return nil, err
	}
	if q.channels == nil {
		q.channels = map[string]any{} // the request replaces all of them, so those that it lacks are gone
	}
	a, err := c.appByStore(q.storeID, q.platform)
	if err != nil {
		return nil, err
	}
	if a == nil {
		if len(c.service.world.Account().Apps) == facts.MaxApps {
			return nil, wire.BadRequest("The account holds at most %d apps", facts.MaxApps)
		}
		token, err := c.newAppToken(q.platform, q.storeID)
		if err != nil {
			return nil, err
		}
		a = &accountApp{Token: token, StoreID: q.storeID, Platform: q.platform, Settings: emptySettings()}
		a.ID = 100_000 + c.service.streamOf("app id", token).Below(1_000_000_000)
		secret := c.service.newSecret(a, 3)
		secret.CreatedAt, secret.UpdatedAt = stamp(c.now), stamp(c.now)
		a.Secrets = []sdkSecret{secret}
	}
	return c.updateApp(a, q, template)
}

// postAppByToken answers POST /app/{app_token}: it updates any app of the account.
func (c *call) postAppByToken() (any, error) {
	a, err := c.app(c.path[0])
	if err != nil {
		return nil, err
	}
	q := readApp(c.body, a.Platform)
	if q.platform != "" && q.platform != a.Platform {
		c.body.wrong("platform", "An app's platform can't be changed")
	}
	if q.storeID != "" && q.storeID != a.StoreID {
		c.body.wrong("store_id", "An app's default store ID can't be changed")
	}
	template := c.templateFor(q.template)
	if err := c.body.errs.err(); err != nil {
		return nil, err
	}
	return c.updateApp(a, q, template)
}

// updateApp puts into the app what the request has, and queues a job if the change calls for one.
func (c *call) updateApp(a *accountApp, q appRequest, template string) (any, error) {
	before := a.jobReason()
	a.Managed = true
	if q.name != "" {
		a.Name = q.name
	}
	if q.bundleID != "" {
		a.BundleID = q.bundleID
	}
	if q.channels != nil {
		a.Channels = q.channels
	}
	if q.overrides != nil {
		a.Overrides = q.overrides
	}
	if q.editors != nil {
		a.Editors = q.editors
	}
	if q.secret != "" {
		a.SecretHash = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %s", a.Token, q.secret)))
	}
	for kind, store := range q.stores {
		if a.Stores == nil {
			a.Stores = map[string]otherStore{}
		}
		a.Stores[kind] = store
	}
	if err := c.save(a); err != nil {
		return nil, err
	}
	token, err := c.newestTicket(a.Token)
	if err == nil && (token == "" || q.force || before != a.jobReason() ||
		c.service.opts.Readings.Is(reading.TicketIdle, "new-job")) {
		token, err = c.queueTicket(a, template, q.sections)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"adjust_app_token": a.Token, "name": a.Name, "bundle_id": a.BundleID, "store_id": a.StoreID,
		"ticket_token": token, "sk_app_id": nil}, nil
}

// jobReason returns, as a text, the part of an app that calls for a job when it changes.
func (a *accountApp) jobReason() string {
	channels := map[string]any{}
	for name, values := range a.Channels { // under one name, whichever it came by
		c, _ := findChannel(name)
		channels[c.slug] = values
	}
	text, err := json.Marshal([]any{channels, merged(a.Overrides, nil), append([]string{}, a.Editors...), a.SecretHash})
	if err != nil {
		panic(err) // it came as JSON
	}
	return string(text)
}
