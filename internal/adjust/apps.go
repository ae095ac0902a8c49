package adjust

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// An App is what CreateApp and UpdateApp send. Zero values aren't sent. A map or list that is empty
// but not nil is sent, except Sections, and clears what the app has. The shape of App is that of
// dev.adjust.com/en/api/app-automation-api/app-endpoint, except AdditionalStores.
type App struct {
	Name     string `json:"name,omitempty"`
	BundleID string `json:"bundle_id,omitempty"`
	// StoreID is a number for iOS, and the package's name for Android.
	StoreID  string `json:"store_id,omitempty"`
	Platform string `json:"platform,omitempty"` // android or ios
	// TemplateAppToken names the app to copy settings from. Default: the account's template.
	TemplateAppToken string `json:"template_app_token,omitempty"`
	// Sections are the sections to copy from the template. Default: all.
	Sections []string `json:"sections,omitempty"`
	// ForceUpdate makes the service start a job even if nothing has changed.
	ForceUpdate bool `json:"force_update,omitempty"`
	// ChannelSetup has settings by partner. It must be complete each time, because the service
	// merges nothing.
	ChannelSetup map[string]map[string]any `json:"channel_setup,omitzero"`
	// OverrideSettings has settings by section. The service keeps them for later jobs.
	OverrideSettings map[string]any `json:"override_settings,omitzero"`
	// Editors are e-mail addresses of users with a role of their own.
	Editors []string `json:"editors,omitzero"`
	// IOSPVSharedSecret is the secret of purchase verification; it is in no error and no log.
	IOSPVSharedSecret string `json:"ios_pv_shared_secret,omitempty"`
	Verification      bool   `json:"verification,omitempty"` // ask for iOS app verification
	// AdditionalStores has further stores of an Android app, by store type such as huawei. Its name
	// is a guess, because the documents don't name the field.
	AdditionalStores map[string]Store `json:"additional_stores,omitzero"`
}

// A Store is a further store in which an Android app is sold.
type Store struct {
	StoreID string `json:"store_id"`
}

// A CreatedApp is the answer of CreateApp.
type CreatedApp struct {
	AppToken string `json:"adjust_app_token"`
	Name     string `json:"name"`
	BundleID string `json:"bundle_id"`
	StoreID  string `json:"store_id"`
	Ticket   string `json:"ticket_token"` // of the new job; if none was needed, of an older job, or empty
	SKAppID  Text   `json:"sk_app_id"`    // a string or a number, the documents differ; empty for null
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// AppDetails is an app as the reads of app automation show it. Numbers of unknown meaning are
// json.Number.
type AppDetails struct {
	Name           string                    `json:"name"`
	BundleID       string                    `json:"bundle_id"` // not in the documented answer
	StoreID        string                    `json:"store_id"`
	Platform       string                    `json:"platform"`
	AppToken       string                    `json:"adjust_app_token"`
	AdditionalInfo AdditionalInfo            `json:"additional_info"`
	ChannelSetup   map[string]map[string]any `json:"channel_setup"` // by partner
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// AdditionalInfo is what earlier requests set for an app.
type AdditionalInfo struct {
	Overrides map[string]any `json:"overrides"` // by section
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// CreateApp makes the app of this store ID and platform, or updates it if it exists: POST /app. The
// job that copies the template's settings runs later, see WaitTicket. Data that the service finds
// wrong is a *ValidationError. An answer that tells nothing of the app means that the request was
// taken; the result is empty then.
//
// It is sent again after a lost answer: the service looks the app up by store ID and platform, so a
// repeat finds what the first made. With ForceUpdate a repeat may make a second job, which copies
// the same once more.
func (c *Client) CreateApp(ctx context.Context, app App) (CreatedApp, error) {
	return c.postApp(ctx, call{op: "create app", path: []string{"app"}, body: app})
}

// UpdateApp changes an app of the account by its token: POST /app/{token}. Payload and answer are
// those of CreateApp, as far as the documents don't show them; store ID and platform needn't be
// known. It is sent again after a lost answer: it sets values, and the same values twice are the
// same.
func (c *Client) UpdateApp(ctx context.Context, token string, app App) (CreatedApp, error) {
	return c.postApp(ctx, call{op: "update app " + opPart(token), path: []string{"app", token}, body: app})
}

// postApp sends an app and reads the app in the answer, if there is one.
func (c *Client) postApp(ctx context.Context, q call) (created CreatedApp, err error) {
	q.method, q.what = http.MethodPost, "an app with its ticket"
	raw, err := sendCall(ctx, c, q)
	if err != nil {
		return created, err
	}
	raw = unwrap(raw, appFields, "app", "application")
	if list := asList(raw); len(list) == 1 {
		raw = list[0]
	}
	if Unmarshal(raw, &created) != nil {
		return CreatedApp{}, nil
	}
	created.AppToken = cmp.Or(created.AppToken, textOf(created.Unknown, "app_token", "token"))
	created.Ticket = cmp.Or(created.Ticket, textOf(created.Unknown, "ticket"))
	return created, nil
}

// appFields are fields that only an app itself has.
var appFields = []string{"adjust_app_token", "app_token", "token", "store_id", "ticket_token"}

// AppByStore finds an app by its default store ID and platform: GET /app. store narrows it to a
// type of store, under a parameter's name that is a guess; it may be empty. An app that wasn't made
// or updated through app automation isn't found: ErrNotManaged. For an answer without an app, or
// about another one, Unclear is true of the error.
func (c *Client) AppByStore(ctx context.Context, storeID, platform, store string) (AppDetails, error) {
	q := url.Values{"store_id": {storeID}, "platform": {platform}}
	if store != "" {
		q.Set("store", store)
	}
	return c.oneApp(ctx, call{op: "find app by store ID", path: []string{"app"}, query: q}, func(a AppDetails) bool {
		return store != "" || (a.StoreID == "" || strings.EqualFold(a.StoreID, storeID)) &&
			(a.Platform == "" || strings.EqualFold(a.Platform, platform))
	})
}

// App reads one app: GET /app/{token}. An app that wasn't made or updated through app automation
// isn't found: ErrNotManaged. For an answer without an app, or about another one, Unclear is true
// of the error.
func (c *Client) App(ctx context.Context, token string) (AppDetails, error) {
	return c.oneApp(ctx, call{op: "read app " + opPart(token), path: []string{"app", token}}, func(a AppDetails) bool {
		return a.AppToken == "" || a.AppToken == token
	})
}

// oneApp sends q and returns the app of the answer for which meant is true. More or less than one
// is an error.
func (c *Client) oneApp(ctx context.Context, q call, meant func(AppDetails) bool) (AppDetails, error) {
	q.what, q.absent = "an app", ErrNotManaged
	raw, err := sendCall(ctx, c, q)
	if err != nil {
		return AppDetails{}, err
	}
	all, ok := appsIn(raw)
	if !ok || len(all) == 0 {
		return AppDetails{}, q.unclear(raw)
	}
	mine := slices.DeleteFunc(all, func(a AppDetails) bool { return !meant(a) })
	switch {
	case len(mine) == 0:
		return AppDetails{}, &Error{Op: q.op, Status: http.StatusOK, Attempts: 1, Err: &unclearError{"another app"}}
	case len(mine) > 1:
		return AppDetails{}, &Error{Op: q.op, Status: http.StatusOK, Attempts: 1, Err: &unclearError{"several apps"}}
	}
	return mine[0], nil
}

// Apps lists the apps made or updated through app automation: GET /apps/list. The service's
// documents name no parameters and no pages; a list is taken bare or in an object, and may be the
// first page of more, see MoreApps.
func (c *Client) Apps(ctx context.Context) ([]AppDetails, error) { return c.appList(ctx, nil) }

// MoreApps lists at most limit apps behind the first offset ones. The parameters limit and offset
// are guesses: a service that doesn't know them may refuse them, or return the same list as for
// Apps.
func (c *Client) MoreApps(ctx context.Context, offset, limit int) ([]AppDetails, error) {
	return c.appList(ctx, url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}})
}

// appList lists apps with these parameters.
func (c *Client) appList(ctx context.Context, query url.Values) ([]AppDetails, error) {
	q := call{op: "list apps", path: []string{"apps", "list"}, query: query, what: "a list of apps"}
	raw, err := sendCall(ctx, c, q)
	if err != nil {
		return nil, err
	}
	all, ok := appsIn(raw)
	if !ok {
		return nil, q.unclear(raw)
	}
	return all, nil
}

// appsIn reads the apps of an answer: one app, a list of apps, or either of them wrapped in
// objects, at any depth that is likely. An empty answer and null have no apps; ok is false for
// anything else.
func appsIn(raw json.RawMessage) (all []AppDetails, ok bool) {
	raw = unwrap(raw, appFields, "app", "apps", "application", "applications")
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return nil, true
	case raw[0] == '[':
		for _, item := range asList(raw) {
			some, ok := appsIn(item)
			if !ok {
				return nil, false
			}
			all = append(all, some...)
		}
		return all, true
	case raw[0] == '{' && hasAny(asObject(raw), appFields):
		all = make([]AppDetails, 1)
		err := Unmarshal(raw, &all[0])
		all[0].AppToken = cmp.Or(all[0].AppToken, textOf(all[0].Unknown, "app_token", "token"))
		return all, err == nil
	}
	return nil, false
}
