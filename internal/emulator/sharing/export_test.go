package sharing

// The words of the requests that the tests of this package send.
const (
	FacebookCountry = facebookCountry
	FacebookState   = facebookState
	OptionsName     = optionsName
	SettingsName    = settingsName
)
