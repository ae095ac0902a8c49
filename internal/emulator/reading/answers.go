package reading

// The topics that concern all endpoints.
const (
	ErrorBody  = "error-body"
	RetryAfter = "retry-after"
	RateBy     = "rate-by"
	Overload   = "overload"
	Address    = "address-length"
)

// answers has the topics above with their readings.
var answers = []Topic{
	{ErrorBody, "Mapping of each error_code to each status code: not shown.", []Reading{
		{"model", "answers errors with error_code and error_desc in JSON"},
		{"error", `answers errors as {"error": text}`},
		{"detail", `answers errors as {"detail": text}`},
		{"text", "answers errors as plain text"},
		{"html", "answers errors as a page of HTML"},
		{"empty", "answers errors without a body"},
	}},
	{RetryAfter, "Rate limit value and window: not shown.", []Reading{
		{"seconds", "sends Retry-After with 429, in seconds"},
		{"none", "sends no Retry-After"},
		{"date", "sends Retry-After as a date"},
	}},
	{RateBy, "Rate limit value and window: not shown.", []Reading{
		{"address", "counts requests by the caller's address, as the service's documentation of 2026 has it"},
		{"token", "counts requests by token"},
	}},
	{Overload, "Rate limit value and window: not shown.", []Reading{
		{"none", "works on any number of reports at a time"},
		{"12", "works on 12 reports at a time, and answers 500 TimeoutError to one more"},
		{"6", "works on 6 reports at a time, and answers 500 TimeoutError to one more"},
		{"3", "works on 3 reports at a time, and answers 500 TimeoutError to one more"},
		{"2", "works on 2 reports at a time, and answers 500 TimeoutError to one more"},
	}},
	{Address, "400 malformed request or unsupported parameters", []Reading{
		{"any", "takes addresses of any length"},
		{"8000", "answers 414 to an address of more than 8000 bytes"},
	}},
}
