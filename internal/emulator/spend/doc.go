// Package spend answers the emulated service's ad spend endpoint, POST /cost, and keeps the books
// of what arrived. Without it no test could show that each record of a spend file is counted
// exactly once, in the campaign and on the day of its engagement.
//
//	record ── credential, form ── engagement of its Cost ID ──┬── matched: a row of facts, by Publish
//	                                                          ├── late: answered 200, booked nowhere
//	                                                          └── pending, then expired: nobody's engagement
//
// Amounts are kept exactly, in units of 0.00001 of their currency, and become micros of USD once a
// row, rounded up.
//
// # What is guessed
//
// What the interface document leaves open is decided here, always in its shapes. A client that
// depends on one of these may meet another service.
//
// Spend is booked on its engagement's day, by the engagement's hour: in the cost metrics of its
// campaign and in no other.
//
//   - The key is a Bearer token, or the value of the header Options.SpendHeader; absent or unknown
//     it is 401, and 403 when the engagement is another network's. Then come the parameters: 400.
//     Bodies are the statuses' names, 200's is OK.
//   - Parameters come in the query or as a form, the query going first; an empty one is missing.
//     Letters' case matters in names, types and currencies, not in the rest. Lengths are in
//     characters, amounts plain decimals of at most nine digits before the point and five behind
//     it, zero included. Currencies are those of ISO 4217 that people pay in.
//   - cpc is a click's cost, cpm an impression's, cpi an install's, cpe an event's, whatever the
//     campaign is paid by. A cpm amount is for a thousand impressions, so a thousandth of it is
//     booked.
//   - The same cost_id with the same content is answered 200 and counted; with other content it
//     replaces what was there.
//   - Within seven days of its engagement spend is booked; later it is answered 200 and booked
//     nowhere, because the real service matches afterwards. Spend of nobody's engagement is pending
//     for seven days, then expired; the emulator makes no engagement of it later.
//   - Amounts are kept exactly and become micros of USD once a row of facts, rounded up. Currencies
//     that reports don't know are booked nowhere. ad_spend_mode=network, and mixed where the
//     network reports spend, leave it out.
//   - A kept file holds every record before it is answered 200, and only one process at a time
//     should take spend into it.
package spend
