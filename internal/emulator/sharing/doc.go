// Package sharing answers the emulated service's third-party sharing: which device of an app shares
// what with whom. Without it nobody could say, after a crash or a retry, whether each device ended
// up with the choice that was sent last.
//
//	request ── read ──┬── valid parts ── deviceStore (one state a device) and log (every arrival, in order)
//	                  └── invalid parts ── 202 if something else is valid, else 400
//
// The states can be rebuilt from the log: that of a kept file is replayed when the file is opened.
// StateOf returns what a device shares, and Arrivals what arrived.
//
// # What is guessed
//
// What the interface document leaves open is decided here, always in its shapes. A client that
// depends on one of these may meet another service.
//
//   - Query, form and JSON bodies are taken, the body going first name by name; of a repeated plain
//     parameter the first counts, objects add up. Partner settings are {partner: {metric: bool}},
//     {partnerName, key, value} objects, alone or in an array, or the same in brackets:
//     partner_sharing_settings[0][key]=... Options may be in brackets too.
//   - Requests over 1 MiB are 400. Answers are 200, 202 and 400 only, in the words of the one
//     documented error. No token is asked for unless Options.SharingTokens has one of the app;
//     without it the request is 400.
//   - What is invalid in sharing, settings and options is skipped and named: 202 if something else
//     says something, else 400. Partners are those of the channel setup and of reports, and
//     Options.SharingPartners, by name, by ID and as "name (ID)" in any case; an ID is that of
//     reports, and from 9000 on where they have none. Metrics are in exact case.
//   - idfa and gps_adid are two devices, by the exact text; a request with both is taken for both.
//     No control characters.
//   - A partner's setting of a metric, else of the nearest group above it, else of its all; else
//     the same of the partner all; else it is shared. dynamic_callbacks is a partner like others.
//     Only session and install have metrics below them.
//   - Within a request the order doesn't matter, but of two settings of the same the last counts. A
//     later request's setting of a group goes over older ones of the metrics below it, of that
//     partner name only: a later all doesn't go over what was said of one partner. sharing=disable
//     goes over all, and enable lifts it and keeps the settings.
//   - Options are kept key by key. google_dma, or partner_dma, takes "1" and "0", and JSON's 1, 0,
//     true and false; eea is taken without the consents. One 0 of Facebook's two makes both 0.
//     Other groups are partners, and apple_ads, with any texts.
package sharing
