package files

import (
	"testing"
	"time"
)

// Numbers and times as programs of several countries write them.
func TestSpell(t *testing.T) {
	number, when := Field{Name: "amount", Number: true}, Field{Name: "at", Time: true}
	zone := time.FixedZone("", 3600)
	const group = "amount has a separator of thousands that doesn't stand before three digits, which is the job's " +
		"format: {thousands}"
	const which = "amount has separators of thousands: say which sign they are by format: {thousands: comma}, or " +
		"point, space or apostrophe"
	for _, c := range []struct {
		f          Format
		text, want string
	}{
		{Format{}, "1.25", "1.25"}, {Format{}, "-1", "-1"}, {Format{}, "abc", "abc"}, {Format{}, "1e5", "1e5"},
		{Format{}, "", ""},
		{Format{}, "$1.25", "$1.25"}, {Format{}, "1.25 €", "€1.25"}, {Format{}, "EUR\u00a01.25", "EUR1.25"},
		{Format{}, "R$ 1.25", "R$1.25"},
		{Format{}, "Rs.500", "Rs.500"}, {Format{}, "500 kr.", "kr.500"}, {Format{}, "€.5", "€.5"},
		{Format{Decimal: ','}, "Rs. 1,25", "Rs.1.25"}, {Format{}, "$5 USD", "$5 USD"}, {Format{}, " 1", " 1"},
		{Format{}, "$1,234.50", which}, {Format{}, "1,234",
			"amount has a comma: if it is the decimal sign, say so by format: {decimal: comma}; if it separates " +
				"thousands, by format: {thousands: comma}"},
		{Format{Thousands: ','}, "$1,234,567.5", "$1234567.5"}, {Format{Thousands: ','}, "1,234", "1234"},
		{Format{Thousands: ','}, "1234.5", "1234.5"}, {Format{Thousands: ','}, "-1,234", "-1234"},
		{Format{Thousands: ','}, "1,23", group}, {Format{Thousands: ','}, "1234,567", group},
		{Format{Thousands: ','}, "12,34,567", group}, {Format{Thousands: ','}, "1,2345", group},
		{Format{Thousands: ','}, "1.234,5", which}, {Format{Thousands: ','}, ",234", group},
		{Format{Thousands: ','}, "1,,234", group},
		{Format{Thousands: '.', Decimal: ','}, "1.234,5 €", "€1234.5"}, {Format{Thousands: '.', Decimal: ','}, "1.234",
			"1234"}, {Format{Thousands: '.', Decimal: ','}, "1.25", group},
		{Format{Thousands: '.', Decimal: ','}, "1,25", "1.25"}, {Format{Decimal: ','}, "1.25",
			"amount has a point, and the job's format says decimal: comma"},
		{Format{Thousands: ' ', Decimal: ','}, "1\u202f234\u00a0567,5 zł", "zł1234567.5"},
		{Format{Thousands: ' '}, "1 234", "1234"}, {Format{Thousands: ' '}, "1 2", group},
		{Format{Thousands: '\''}, "CHF 1’234.50", "CHF1234.50"}, {Format{Thousands: '\''}, "1'234", "1234"},
	} {
		got, refused := c.f.Spell(number, c.text)
		if refused != nil {
			got = refused.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q is %q, want %q", c.f, c.text, got, c.want)
		}
	}
	for _, c := range []struct{ form, text, want string }{
		{"M/D/YYYY h:mm:ss A", "1/31/2026 8:05:00 PM", "2026-01-31T20:05:00+01:00"},
		{"M/D/YYYY h:mm:ss A", "1/31/2026 8:05:00\u202fpm", "2026-01-31T20:05:00+01:00"},
		{"M/D/YYYY h:mm A", "1/31/2026 12:05 a.m.", "2026-01-31T00:05:00+01:00"},
		{"MMM D, YYYY h:mm a", "jan 31, 2026 8:05 Pm", "2026-01-31T20:05:00+01:00"},
		{"M/D/YYYY h:mm A", "1/31/2026 13:05 PM",
			"at isn't written as M/D/YYYY h:mm A, which is the job's format: {date}"},
	} {
		got, refused := Format{Dates: c.form, Zone: zone}.Spell(when, c.text)
		if refused != nil {
			got = refused.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.form, c.text, got, c.want)
		}
	}
}
