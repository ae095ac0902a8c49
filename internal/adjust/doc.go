// Package adjust is the typed client of the measurement service; without it every caller would pace, retry, time and
// check its requests by itself, and one broken answer would be taken for a whole one.
//
// It knows HTTP, the limiter, retries and typed errors, and nothing of jobs. It holds all four areas of the service:
// reporting (events, CSV reports, and what the service says of its own metrics), app automation, third-party sharing and
// ad spend. Shapes come from the interface document kept with the emulator, and where that shows none from the pages of
// dev.adjust.com named beside each type. Fields of answers that this version doesn't know are kept, in Unknown.
//
// What is sent again: reads, and every write of app automation, because each of them sets what it names and finds what an
// earlier try made; records of third-party sharing, because the same choice twice is the same; records of ad spend only
// when nothing can have been taken. Each method says why.
//
// Retry-After, of a 429 or a 503, holds back all requests of the process, for as long as the patience of one at most. An
// answer whose Date is more than an hour from this machine's clock is ErrClock.
//
// What the documents leave open of ad spend is guessed here: the key is a Bearer token unless SpendAuth names another
// header; 429 and 503, which aren't among the documented answers, mean that nothing was taken; any 200 but a page of HTML
// means that the record was.
//
// Of app automation: X-Account-ID chooses the account there too; UpdateApp's payload and answer are CreateApp's; more
// Android stores are additional_stores, by store type; AppByStore's filter is store; SettingsCSV's parameters are
// app_tokens and sections; a signature's settings are enforce_install_signing and android_fingerprints, the answer all
// of them; RevokeSecret sends an empty object, ReactivateSecret a scope, and both answer like RevokeOutdatedSecrets; a
// failure in a ticket is a text or has a name and a detail; 404 and a 400 that says "not found" are ErrNotFound; 408,
// 429, 503 and 504 pass, although the documents have none of them; an answer begins within a minute.
//
// Of third-party sharing: the credential is optional, and a Bearer token unless SharingAuth names another header; all is
// sent in a form, settings and options as JSON text in it; a 202 about the authentication token, and a 400 that says
// "failed to authorize request", are ErrAuth; more than 1 MiB is refused; 408, 429 and 5xx pass.
package adjust
