package reading

// The topics of ad spend.
const (
	SpendAuth       = "spend-auth"
	SpendAnswer     = "spend-answer"
	SpendRefusal    = "spend-refusal"
	SpendLate       = "spend-late"
	SpendUnknown    = "spend-unknown"
	SpendDuplicate  = "spend-duplicate"
	SpendCase       = "spend-case"
	SpendParameters = "spend-parameters"
	SpendBusy       = "spend-busy"
)

// spend has the topics above with their readings.
var spend = []Topic{
	{SpendAuth, "The form in which the credential is sent: not shown.", []Reading{
		{"bearer", "takes a partner's key as a Bearer token, or alone in the header of --spend-header"},
		{"header", "takes a partner's key alone in the header X-Partner-Key"},
		{"parameter", "takes a partner's key alone in the parameter partner_key"},
		{"open", "asks for no key"},
	}},
	{SpendAnswer, "Responses: 200 submitted", []Reading{
		{"text", "answers what it took with OK as plain text"},
		{"json", `answers what it took with {"status":"ok"}`},
		{"empty", "answers what it took with 200 and no body"},
		{"201", "answers what it took with 201"},
		{"202", "answers what it took with 202"},
		{"204", "answers what it took with 204"},
	}},
	{SpendRefusal, "400 malformed or missing parameters; 401 authentication information absent; 403 credential " +
		"lacks permission for what was posted.", []Reading{
		{"text", "answers what it refuses with the status's name as plain text"},
		{"words", "answers what it refuses with the reason as plain text"},
		{"error", `answers what it refuses with {"error": reason}`},
		{"html", "answers what it refuses with a page of HTML"},
		{"empty", "answers what it refuses without a body"},
		{"422", "answers values that it refuses with 422 and a list of what is wrong"},
	}},
	{SpendLate, "up to seven days after the engagement", []Reading{
		{"200", "answers spend that comes too late with 200 and books it nowhere"},
		{"400", "refuses spend that comes too late"},
	}},
	{SpendUnknown, "It matches the spend to a click or impression.", []Reading{
		{"200", "takes spend of an engagement that it doesn't know, and waits for it"},
		{"400", "refuses spend of an engagement that it doesn't know"},
		{"404", "answers spend of an engagement that it doesn't know with 404 and the reason"},
	}},
	{SpendDuplicate, "it must be unique", []Reading{
		{"replaces", "answers a Cost ID that it has with 200; the last content counts"},
		{"keeps", "answers a Cost ID that it has with 200; the first content stays"},
		{"409", "refuses a Cost ID that it has with 409"},
		{"400", "refuses a Cost ID that it has with 400, and says why"},
		{"bare", "refuses a Cost ID that it has with 400 Bad Request, as anything else"},
	}},
	{SpendCase, "All parameters are required and lowercase", []Reading{
		{"lower", "refuses a type or currency in capitals"},
		{"either", "takes types and currencies in capitals too"},
		{"all", "refuses capitals in any value, also in a Cost ID or tag"},
	}},
	{SpendParameters, "4.4 Ad spend: POST {cost_url}/cost", []Reading{
		{"both", "reads parameters from the query and from a form"},
		{"form", "reads parameters from a form alone"},
		{"query", "reads parameters from the query alone"},
	}},
	{SpendBusy, "Rate limit value and window: not shown.", []Reading{
		{"never", "has no limit of its own for spend"},
		{"429", "answers each 500th record with 429"},
		{"503", "answers each 500th record with 503"},
	}},
}
