package adjust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
)

// An App is what CreateApp sends. Zero values aren't sent; empty maps and lists are, and so empty what is
// there. Its shape is that of dev.adjust.com/en/api/app-automation-api/app-endpoint, except AdditionalStores.
type App struct {
	Name              string                    `json:"name,omitempty"`
	BundleID          string                    `json:"bundle_id,omitempty"`
	StoreID           string                    `json:"store_id,omitempty"`             // iOS: digits; Android: the package's name
	Platform          string                    `json:"platform,omitempty"`             // android or ios
	TemplateAppToken  string                    `json:"template_app_token,omitempty"`   // default: the account's template
	Sections          []string                  `json:"sections,omitempty"`             // to be copied from the template; none: all
	ForceUpdate       bool                      `json:"force_update,omitempty"`         // make a job although nothing changed
	ChannelSetup      map[string]map[string]any `json:"channel_setup,omitzero"`         // by partner; always all of it, the service merges nothing
	OverrideSettings  map[string]any            `json:"override_settings,omitzero"`     // by section; the service keeps them for later jobs
	Editors           []string                  `json:"editors,omitzero"`               // e-mail addresses of users with a role of their own
	IOSPVSharedSecret string                    `json:"ios_pv_shared_secret,omitempty"` // of purchase verification; in no error and no log
	Verification      bool                      `json:"verification,omitempty"`         // ask for iOS app verification
	AdditionalStores  map[string]Store          `json:"additional_stores,omitzero"`     // Android, by store type such as huawei. A guess: the documents don't name the field
}

// A Store is where else an Android app is sold.
type Store struct {
	StoreID string `json:"store_id"`
}

// A CreatedApp is the answer of CreateApp.
type CreatedApp struct {
	AppToken string `json:"adjust_app_token"`
	Name     string `json:"name"`
	BundleID string `json:"bundle_id"`
	StoreID  string `json:"store_id"`
	Ticket   string `json:"ticket_token"` // of the job; of an older one, or empty, when none was needed
	SKAppID  Text   `json:"sk_app_id"`    // a string or a number, the documents differ; empty for null
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// AppDetails is an app as the reads of app automation tell it. Numbers of unknown meaning are json.Number.
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

// AdditionalInfo is what earlier requests said of an app.
type AdditionalInfo struct {
	Overrides map[string]any `json:"overrides"` // by section
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads an answer and keeps its unknown fields.
func (a *CreatedApp) UnmarshalJSON(b []byte) (err error) {
	type fields CreatedApp
	a.Unknown, err = unmarshalRecord(b, (*fields)(a))
	return err
}

// UnmarshalJSON reads an answer and keeps its unknown fields.
func (a *AppDetails) UnmarshalJSON(b []byte) (err error) {
	type fields AppDetails
	a.Unknown, err = unmarshalRecord(b, (*fields)(a))
	return err
}

// UnmarshalJSON reads an answer and keeps its unknown fields.
func (a *AdditionalInfo) UnmarshalJSON(b []byte) (err error) {
	type fields AdditionalInfo
	a.Unknown, err = unmarshalRecord(b, (*fields)(a))
	return err
}

// CreateApp makes the app of this store ID and platform, or updates it when it is there: POST /app. The job that copies
// the template's settings runs later, see WaitTicket. Data that the service finds wrong is a *ValidationError.
//
// It is sent again after a lost answer: the service looks the app up by store ID and platform, so a repeat finds what
// the first made. With ForceUpdate a repeat may make a second job, which copies the same once more.
func (c *Client) CreateApp(ctx context.Context, app App) (CreatedApp, error) {
	return automate[CreatedApp](ctx, c, call{
		op: "create app", method: http.MethodPost, path: []string{"app"}, body: app, what: "an app with its ticket",
	})
}

// AppByStore finds an app by its default store ID and platform: GET /app. store narrows it to a type of store, under a
// parameter's name that is a guess; it may be empty. An app that wasn't made or updated through app automation isn't
// found: ErrNotFound.
func (c *Client) AppByStore(ctx context.Context, storeID, platform, store string) (AppDetails, error) {
	q := url.Values{"store_id": {storeID}, "platform": {platform}}
	if store != "" {
		q.Set("store", store)
	}
	return automate[AppDetails](ctx, c, call{op: "find app by store ID", path: []string{"app"}, query: q, what: "an app"})
}

// App reads one app: GET /app/{token}. An app that wasn't made or updated through app automation isn't found: ErrNotFound.
func (c *Client) App(ctx context.Context, token string) (AppDetails, error) {
	return automate[AppDetails](ctx, c, call{op: "read app " + opPart(token), path: []string{"app", token}, what: "an app"})
}

// Apps lists the apps made or updated through app automation: GET /apps/list. The service's documents name no parameters
// and no pages; a list and an object {"apps": list} are both taken.
func (c *Client) Apps(ctx context.Context) ([]AppDetails, error) {
	return automate[appList](ctx, c, call{op: "list apps", path: []string{"apps", "list"}, what: "a list of apps", mayBeEmpty: true})
}

type appList []AppDetails

// UnmarshalJSON takes both forms that were seen.
func (l *appList) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var object struct {
			Apps *[]AppDetails `json:"apps"`
		}
		if err := json.Unmarshal(b, &object); err != nil {
			return err
		}
		if object.Apps == nil {
			return errors.New(`the object has no "apps"`)
		}
		*l = *object.Apps
		return nil
	}
	return json.Unmarshal(b, (*[]AppDetails)(l))
}
