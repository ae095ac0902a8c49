package reading

// The topics of app automation.
const (
	AppAbsent       = "app-absent"
	AppAnswer       = "app-answer"
	StoreFilter     = "store-filter"
	AppsList        = "apps-list"
	TicketStatus    = "ticket-status"
	TicketUnknown   = "ticket-unknown"
	TicketIdle      = "ticket-idle"
	UpdateAnswer    = "update-answer"
	EventsAnswer    = "events-answer"
	SettingsAnswer  = "settings-answer"
	SecretsAnswer   = "secrets-answer"
	VaultAnswer     = "vault-answer"
	SignatureAnswer = "signature-answer"
)

// appLookup is what the service's document says about looking an app up.
const appLookup = "Returns app details by default store ID and platform, with an optional store filter. Query " +
	"parameter names and response: not shown."

// automation has the topics above with their readings.
var automation = []Topic{
	{AppAbsent, appLookup, []Reading{
		{"400", `answers 400 "App not found" about an app that isn't there, by store ID and by token`},
		{"400-words", "answers 400 in other words, without not found in them"},
		{"404", "answers 404"},
		{"403", "answers 403, as about somebody else's app"},
		{"204", "answers 204"},
		{"422", "answers 422 about the field that names the app"},
		{"empty-object", "answers 200 with {}"},
		{"empty-list", "answers 200 with []"},
		{"null", "answers 200 with null"},
	}},
	{AppAnswer, appLookup, []Reading{
		{"object", "answers a lookup by store ID with the app itself"},
		{"list", "answers with a list of the one app"},
		{"app", `answers with {"app": app}`},
		{"apps", `answers with {"apps": [app]}`},
	}},
	{StoreFilter, appLookup, []Reading{
		{"default-id", "takes store_id for the default store's ID always, and finds nothing in apps that aren't in " +
			"the store named by store"},
		{"store-id", "takes store_id for the ID in the store named by store"},
	}},
	{AppsList, "Lists all apps created or updated through the API. Query parameters and response: not shown.",
		[]Reading{
			{"list", "answers a list of all apps"},
			{"apps", `answers {"apps": list}`},
			{"data", `answers {"data": list}`},
			{"denied", "answers 403 to everybody"},
			{"204", "answers 204 when there are none"},
			{"page", "answers two apps at most unless limit says how many, from offset on"},
		}},
	{TicketStatus, "Other status values: not shown.", []Reading{
		{"lower", "calls a job new, opened, completed or failed"},
		{"upper", "calls it NEW, OPENED, COMPLETED or FAILED"},
		{"words", "calls it queued, processing, completed or error"},
	}},
	{TicketUnknown, "The job's status is read with the status endpoint.", []Reading{
		{"kept", "knows every ticket for ever"},
		{"400", "forgets a ticket as soon as its job is over, and answers 400 then"},
		{"404", "forgets it likewise, and answers 404"},
	}},
	{TicketIdle, "A create or update request queues a background job and returns a ticket token.", []Reading{
		{"newest", "answers a request that changes nothing with the app's newest ticket, and queues no job"},
		{"null", "answers it with the ticket null"},
		{"empty", "answers it with an empty ticket"},
		{"absent", "answers it without a ticket"},
		{"new-job", "queues a job for every request"},
	}},
	{UpdateAnswer, "Updates app details, saved overrides or additional Android stores. Payload and response: not " +
		"shown.", []Reading{
		{"created", "answers an update by token as it answers POST /app, with a ticket"},
		{"details", "answers it with the app's details, as GET does"},
		{"wrapped", `answers it with {"app": what POST /app answers}`},
		{"empty-object", "answers it with {}"},
		{"204", "answers it with 204"},
	}},
	{EventsAnswer, "Creates or updates events for one or more apps. Payload and response: not shown.", []Reading{
		{"object", `answers {"successes": list, "failures": list}`},
		{"list", "answers a list of both"},
		{"empty-object", "answers {} when nothing has failed"},
		{"204", "answers 204 when nothing has failed"},
	}},
	{SettingsAnswer, "Returns detailed settings by section. Query parameter names and response: not shown.", []Reading{
		{"sections", "answers an object of sections"},
		{"settings", `answers {"settings": object of sections}`},
		{"data", `answers {"data": object of sections}`},
	}},
	{SecretsAnswer, "Fields of vault records, SDK secrets and signature settings: not shown.", []Reading{
		{"combined", `answers {"combined_secrets": {"secrets": list}}`},
		{"bare", `answers {"secrets": list}`},
		{"list", "answers a list of the secrets"},
		{"empty-object", "answers {}"},
		{"204", "answers 204"},
	}},
	{VaultAnswer, "Fields of vault records, SDK secrets and signature settings: not shown.", []Reading{
		{"bare", "answers a record, and a list of records"},
		{"wrapped", `answers {"record": record}, and {"records": list}`},
		{"empty-object", "answers a stored credential with {}, and a list of records"},
		{"204", "answers a stored credential with 204, and the list likewise when it is empty"},
	}},
	{SignatureAnswer, "Updates SDK signature settings of one app. Payload and response: not shown.", []Reading{
		{"settings", "answers all signature settings"},
		{"wrapped", `answers {"signature": settings}`},
		{"empty-object", "answers {}"},
		{"204", "answers 204"},
	}},
}
