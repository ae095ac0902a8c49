package apps

import (
	"strconv"

	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// appDetails is an app as GET shows it.
type appDetails struct {
	Name     string         `json:"name"`
	StoreID  string         `json:"store_id"`
	Platform string         `json:"platform"`
	Token    string         `json:"adjust_app_token"`
	Info     additionalInfo `json:"additional_info"`
	Channels map[string]any `json:"channel_setup"`
}

// additionalInfo is what earlier requests have set for an app.
type additionalInfo struct {
	Overrides map[string]any        `json:"overrides"`
	Stores    map[string]otherStore `json:"additional_stores,omitempty"`
}

// details returns the app as answers show it.
func (a *accountApp) details() appDetails {
	return appDetails{a.Name, a.StoreID, a.Platform, a.Token, additionalInfo{merged(a.Overrides, nil), a.Stores},
		merged(a.Channels, nil)}
}

// managed returns the details of an app, or an error if the app wasn't made or updated through app
// automation.
func managed(a *accountApp, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if a == nil || !a.Managed {
		return nil, errNoApp
	}
	return a.details(), nil
}

// getApp answers GET /app/{app_token}.
func (c *call) getApp() (any, error) { return managed(c.app(c.path[0])) }

// getAppByStore answers GET /app?store_id=&platform=. The parameter store may name the store to
// look in; without it that is the platform's default store.
func (c *call) getAppByStore() (any, error) {
	query := c.request.URL.Query()
	values := map[string]any{}
	for _, name := range []string{"store_id", "platform", "store"} {
		if query.Get(name) != "" {
			values[name] = query.Get(name)
		}
	}
	f := fields{values: values, at: []any{"query"}, errs: &fieldErrors{}}
	storeID, platform, store := f.text("store_id"), f.text("platform"), f.optionalText("store")
	if platform != "" && platform != android && platform != ios {
		f.wrong("platform", "Input should be 'android' or 'ios'")
	}
	if err := f.errs.err(); err != nil {
		return nil, err
	}
	if store == "" || store == defaultStores[platform] {
		return managed(c.appByStore(storeID, platform))
	}
	if c.service.opts.Readings.Is(reading.StoreFilter, "default-id") {
		a, err := c.appByStore(storeID, platform)
		if a != nil && a.Stores[store].StoreID == "" {
			a = nil
		}
		return managed(a, err)
	}
	apps, err := c.apps(true)
	if err != nil {
		return nil, err
	}
	for _, a := range apps {
		if o, ok := a.Stores[store]; ok && o.StoreID == storeID && a.Platform == platform {
			return managed(a, nil)
		}
	}
	return managed(nil, nil)
}

// listApps answers GET /apps/list, by limit and offset.
func (c *call) listApps() (any, error) {
	query := c.request.URL.Query()
	var errs fieldErrors
	number := func(name string, absent int) int {
		if query.Get(name) == "" {
			return absent
		}
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < 0 {
			errs.add([]any{"query", name}, "Input should be a whole number that isn't negative")
		}
		return n
	}
	limit, offset := number("limit", -1), number("offset", 0)
	if err := errs.err(); err != nil {
		return nil, err
	}
	apps, err := c.apps(true)
	if err != nil {
		return nil, err
	}
	out := []appDetails{}
	for i, a := range apps {
		if i >= offset && (limit < 0 || i-offset < limit) {
			out = append(out, a.details())
		}
	}
	return out, nil
}
