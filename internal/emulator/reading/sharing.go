package reading

// The topics of third-party sharing.
const (
	SharingPartner = "sharing-partner"
	SharingOK      = "sharing-ok"
	SharingPartly  = "sharing-partly"
	SharingRefusal = "sharing-refusal"
	SharingAuth    = "sharing-auth"
	SharingBoth    = "sharing-both"
	SharingForm    = "sharing-form"
)

// sharing has the topics above with their readings.
var sharing = []Topic{
	{SharingPartner, "an object keyed by partner ID; the reserved keys all (every partner) and dynamic_callbacks " +
		"(dynamically created callbacks) are also accepted.", []Reading{
		{"any", `knows partners by ID, by name, and by both as "name (ID)"`},
		{"id", "knows partners by ID alone"},
		{"name", "knows partners by name alone"},
	}},
	{SharingOK, "200 all parts valid and applied {status: string}", []Reading{
		{"ok", `answers what it took with {"status":"OK"}`},
		{"success", `answers what it took with {"status":"success"} and more`},
		{"text", "answers what it took with OK as plain text"},
		{"empty", "answers what it took with 200 and no body"},
		{"204", "answers what it took with 204"},
	}},
	{SharingPartly, "202 some parts invalid (for example nonexistent partner IDs or badly formatted options); valid " +
		"parts are applied {error: string} with details of the issues", []Reading{
		{"error", `answers what it took in part with {"error": text}`},
		{"errors", `answers what it took in part with {"errors": [{"message": text}]}`},
		{"text", "answers what it took in part with plain text"},
		{"html", "answers what it took in part with a page of HTML"},
		{"empty", "answers what it took in part without a body"},
	}},
	{SharingRefusal, "400 malformed request, missing mandatory parameters, or no valid data (for example unknown " +
		"app) {error: string}", []Reading{
		{"400", "answers all that it refuses with 400"},
		{"sibling", "answers an unknown app with 404, and a request that is too large with 413, as the service's " +
			"other server-to-server endpoints do"},
		{"403", "answers an unknown app with 403 App is inactive"},
		{"422", "answers what it refuses with 422 and a list of what is wrong"},
	}},
	{SharingAuth, "Third-party sharing endpoint: how requests are authenticated: not shown.", []Reading{
		{"400", "answers a wrong token with 400 Failed to authorize request"},
		{"401", "answers a wrong token with 401"},
		{"403", "answers a wrong token with 403"},
		{"202", "answers a missing or wrong token with 202 and words, and takes nothing"},
	}},
	{SharingBoth, "gps_adid, idfa string device ID; at least one is required", []Reading{
		{"two", "takes a request with both IDs for two devices"},
		{"one", "takes a request with both IDs for one device, and knows it by either from then on"},
	}},
	{SharingForm, "Parameters may be sent in the URL query, as form data, or (for granular options) in a JSON body.",
		[]Reading{
			{"anywhere", "takes every parameter from the query, a form and a JSON body"},
			{"json-options", "takes granular options from a JSON body alone, and calls those in a form or in the " +
				"query " +
				"invalid"},
		}},
}
