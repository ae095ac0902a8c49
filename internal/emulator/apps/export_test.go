package apps

// What the tests of this package decode answers into, and expect.
type (
	AppDetails   = appDetails
	EventFailure = eventFailure
	ItemFailure  = itemFailure
	SDKSecret    = sdkSecret
)

var (
	Endpoints = endpoints
	Merged    = merged
	Stamp     = stamp
)
