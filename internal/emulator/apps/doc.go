// Package apps answers the emulated service's app automation: apps made or updated from a template,
// jobs that copy its settings, secrets, signatures and the vault. Without it the apps file of a
// config could only be tried on a real account, where an app can't be deleted again.
//
//	POST app ── the app's record ── ticket ──┬── new ── opened ── a section a step ── completed
//	                                         └──────────────────────────────────── failed
//
// A request runs alone, in one transaction: an error undoes all that it wrote. The same transaction
// declares apps' names and events to the facts.World, which reports, spend and sharing read. Jobs
// have no goroutine; each request first takes the steps that are due by the data's clock.
//
// # What is guessed
//
// What the interface document leaves open is decided here, always in its shapes. A client that
// depends on one of these may meet another service.
//
// A request is done whole or not at all. Rate limits are for reports.
//
//   - An app's traffic begins the day before it is made, on Android or iOS and from its default
//     store alone; all of it comes from seed and token, whatever was made before. A new name goes
//     for all days. Events of one slug are one event under its first name, an archived one stays. A
//     kept file comes back with all that, and one process at a time should declare things in it.
//   - Errors: 400 request_error, 401 and 403 auth_error, 422 validation_error with all that is
//     wrong, 500 service_error. What isn't found in the account, a ticket or secret too, is 400; a
//     path that is no endpoint 404. Messages are pydantic's. Bodies are at most 1 MiB, then 400;
//     what isn't a JSON object of UTF-8 is 422. null is absent, unknown fields are ignored. Values
//     are refused when they hold control characters, overrides' and the vault's data excepted.
//   - A slash behind a path is accepted. Readers may call nothing, not even to read.
//   - Options.Apps are found by the ID of their first store: Google Play's of an Android app, else
//     the App Store's. Any app of the account may be the template. An App Store ID is of digits.
//   - POST /app: absent channel_setup clears what was there, because values are never merged;
//     absent override_settings, editors, ios_pv_shared_secret and stores keep it; override_settings
//     replaces all saved ones. Partners' unknown parameters are dropped, partner_n and the slug are
//     the same partner, each comes back as it was sent. name, bundle_id, verification and stores
//     queue no job; verification does nothing. Without a job ticket_token is the app's newest,
//     failed or not. sk_app_id is always null.
//   - POST /app/{app_token} takes the same fields, all optional: what is absent stays,
//     channel_setup too. platform and store_id can't be changed. It manages apps that weren't made
//     by the API as well.
//   - additional_stores is an object of store type and {"store_id"}, added or replaced type by
//     type, Android's only, and never the default store. GET /app shows them beside overrides, and
//     with store finds an app only when it is in that store.
//   - Jobs are of kind migration. new has no result, opened the sections that are done. Order:
//     events, partners, trackers, the rest. An app's jobs come one after the other; each reads
//     template, overrides and setup when its step comes. Sections of the other platform are
//     skipped, chosen or not: attribution_privacy_model and skad_network_v4 on Android, signature
//     on iOS. A section with a failure has failed, and a job with such a section too, after all the
//     others.
//   - failures are of name and detail; successes of sections without items are the names of their
//     settings.
//   - Items of events, partners, trackers and external_data_forwarding are matched by name,
//     callbacks by id. Copying adds and replaces, and removes nothing. Tokens of events and
//     trackers stay the app's own, as do its fingerprints unless they are overridden. Objects
//     within overrides are merged, all else replaces; items that the template lacks are added.
//     Partners get links of those events that the app has.
//   - Vault data of csv_upload_settings goes to apps without access of their own: its bucket, type
//     and region are shown. purchase_verification only notes that there is a key. Other sections'
//     data is kept and used for nothing.
//   - A vault record is {id, section, store, data, created_at, updated_at}, data being sealed, in
//     base64.
//   - GET /apps/list is a bare array, oldest first, of all, or from offset on at most limit. GET
//     /settings/csv has a line for each value: app_token, app_name, section, setting (the way to
//     it, with dots), value; app_tokens and sections narrow it. An event's absent unique is false,
//     also when the event is there already.
//   - PATCH /app/{app_token}/signature takes enforce_install_signing and android_fingerprints
//     (SHA-1), or one of them, and answers both.
//   - Secrets: revoking the last one by its ID is allowed, revoke_outdated without force isn't. Any
//     scope is taken. Secrets of versions 1 and 2 show their value in these answers, and not in
//     settings. Options.Apps have one of each version, other apps one of version 3.
//   - Settings of sections that no document shows are made up. A reset of a token lasts as long as
//     the process.
package apps
