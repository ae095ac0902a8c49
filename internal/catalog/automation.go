package catalog

// This file has what app automation knows by name: the sections of an app's settings, and the
// parameters that some ad networks need of each app. Both are tables of the interface document. The
// slugs of the networks are from https://dev.adjust.com/en/api/app-automation-api/channel-setup.

// A Section is one part of an app's settings that a migration copies from the template app.
type Section struct {
	Name string
	IOS  bool   // only iOS apps have it
	ID   string // the key that tells the objects of its list apart; empty when it is one object
}

var sections = []Section{
	{Name: "attribution_privacy_model", IOS: true},
	{Name: "attribution_settings"},
	{Name: "callbacks", ID: "id"},
	{Name: "csv_upload_settings"},
	{Name: "events", ID: "name"},
	{Name: "external_data_forwarding", ID: "name"},
	{Name: "fraud_prevention_settings"},
	{Name: "partners", ID: "name"},
	{Name: "purchase_verification"},
	{Name: "signature"},
	{Name: "sdk_secrets"},
	{Name: "skad_network_v4", IOS: true},
	{Name: "preview_link_settings"},
	{Name: "s2s"},
	{Name: "trackers", ID: "name"},
}

// Sections lists all sections that can be migrated. app_info isn't among them, because it is
// read-only.
func Sections() []Section { return sections }

// A Setup is one parameter of a partner in channel_setup.
type Setup struct {
	Name     string
	Type     SetupType
	Required bool
	Secret   bool // a credential, never shown
	Default  bool // default of a flag that isn't required
}

// A SetupType is the JSON type of a parameter.
type SetupType int

// The types.
const (
	SetupText  SetupType = iota // a string
	SetupTexts                  // a list of strings
	SetupFlag                   // true or false
)

// A Partner is an ad network that takes parameters of each app. The interface document calls the
// n-th partner_n.
type Partner struct {
	Slug  string
	Setup []Setup
}

// need returns a text parameter that is required, and secret one that is a credential as well.
func need(name string) Setup { return Setup{Name: name, Required: true} }

func secret(name string) Setup { return Setup{Name: name, Required: true, Secret: true} }

var partners = []Partner{
	{"applovin", []Setup{{Name: "sdk_keys", Type: SetupTexts, Required: true, Secret: true}}},
	{"chartboost", []Setup{need("app_id"), secret("token")}},
	{"facebook", []Setup{need("app_id"), {Name: "adimpression_forwarding", Type: SetupFlag}}},
	{"gameanalytics", []Setup{secret("key")}},
	{"google", []Setup{need("link_id")}},
	{"inmobi", []Setup{need("property_id"), need("advertiser_id")}},
	{"ironsource", []Setup{need("advertiser_id"), secret("password")}},
	{"mintegral", []Setup{{Name: "enabled", Type: SetupFlag, Required: true}}},
	{"snapchat", []Setup{need("snap_app_id")}},
	{"tapjoy", []Setup{need("app_id")}},
	{"tiktok", []Setup{need("app_id"), {Name: "enabled", Type: SetupFlag, Default: true}}},
	{"unityads", []Setup{need("game_id")}},
	{"vungle", []Setup{need("app_id")}},
}

// Partners lists the partners of channel_setup in the interface document's order: the first is its
// partner_1.
func Partners() []Partner { return partners }
