// Package naive compares the emulated service's reports with a second implementation, which has
// nothing but plain loops: it evaluates any query over the rows of the facts, one by one, with
// formulas read from the glossary. Without it a wrong JOIN, a wrong rounding or a formula that is
// wrong in one place would be found by nobody, because the emulator's own answers are what
// everything else is compared with.
//
// It is tests only, over accounts as a seed makes them and with what app automation adds.
// TestAnyQueryEqualsANaiveEvaluation draws queries that touch every dimension, metric family,
// filter and mode, and prints the seed of a query that differs. Other tests check rules that hold
// for all metrics: those of sums, ratios, parts and cohorts.
package naive
