package spend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// outcome is what came of a file, for tests.
type outcome struct {
	records []Cost
	refused []string // row: field reason
	cells   [][]string
	header  []string
	err     error
}

func readAll(t testing.TB, data []byte, m files.Mapping) (o outcome) {
	t.Helper()
	c := newReader(m, []string{"QQQ"}, time.UTC)
	o.err = read(context.Background(), bytes.NewReader(data), c, t.TempDir(), func(h []string) { o.header = h },
		func(l *line) error {
			if l.refused == nil {
				o.records = append(o.records, l.record)
				return nil
			}
			if len(o.refused) == 2000 {
				return nil // a bomb's
			}
			o.refused = append(o.refused, fmt.Sprintf("%d: %v", l.row, l.refused))
			o.cells = append(o.cells, bytesOf(l.cells()))
			return nil
		})
	return o
}

func bytesOf(cells []string) []string { return append([]string(nil), cells...) }

const goodID = "0f8fad5b-d9cd-469f-a165-70867728950e"

var (
	plain = mapping(nil, nil, files.Format{})
	timed = mapping(map[string]string{"engaged_at": "engaged_at"}, nil, files.Format{}) // every row must have a time
)

// A reader makes records of files, for tests.
type reader struct {
	files.Mapping
	*checker
}

func newReader(m files.Mapping, more []string, zone *time.Location) reader {
	return reader{m, newChecker(m.Has(names[engagedAt]), more, zone)}
}

// A line is what came of one row.
type line struct {
	row     int64
	record  Cost
	refused *files.Refusal
	cells   func() []string
}

// read reads a file once.
func read(ctx context.Context, in io.Reader, r reader, dir string, names func([]string), each func(*line) error) error {
	return files.Read(ctx, in, r.Mapping, dir, func(n []string, _ files.Understanding) { names(n) },
		func(l *files.Row) error {
			mine := line{row: l.Row, refused: l.Refused, cells: l.Cells}
			switch {
			case l.Skipped != "":
				mine.refused = &files.Refusal{Reason: "skipped: it " + l.Skipped}
			case l.Refused == nil:
				mine.record, mine.refused = r.record((*values)(l.Values))
			}
			return each(&mine)
		})
}

// Each row has one thing wrong. The reasons are exact, because people search for them.
func TestRefusals(t *testing.T) {
	at := "2026-01-31T08:30:00Z"
	good := values{goodID, "cpi", "usd", "1.25", "tonight", at}
	var tests []struct {
		v    values
		want string
	}
	bad := func(f field, cell, want string) {
		v := good
		v[f] = cell
		tests = append(tests, struct {
			v    values
			want string
		}{v, names[f] + " " + want})
	}
	const (
		notDecimal = "isn't a plain decimal number such as 1.25"
		notType    = "is none of cpc, cpi, cpe, cpm"
		notMoney   = "isn't a currency of ISO 4217, nor one listed under currencies"
		otherSign  = "has the sign of another currency than cost_currency"
		notTime    = "isn't a time such as 2026-01-31T08:30:00Z"
		blankEnds  = "begins or ends with a blank"
	)
	bad(costID, "", "is missing")
	bad(costID, "elevenchars", "has 11 characters; want 12 to 256")
	bad(costID, "a", "has 1 characters; want 12 to 256")
	bad(costID, strings.Repeat("é", 11), "has 11 characters; want 12 to 256")
	bad(costID, strings.Repeat("a", 257), "has 257 characters; want 12 to 256")
	bad(costID, strings.Repeat("𝄞", 257), "has 257 characters; want 12 to 256")
	bad(costID, "tab\tinside-the-id", "holds the control character U+0009")
	bad(costID, "nul\x00inside-the-id", "holds the control character U+0000")
	bad(costID, "line\ninside-the-id", "holds the control character U+000A")
	bad(costID, "return\rinside-the-id", "holds the control character U+000D")
	bad(costID, "delete\x7finside-the-id", "holds the control character U+007F")
	bad(costID, "next line\u0085inside", "holds the control character U+0085")
	bad(costID, "latin \xe9 one here", "is not UTF-8")
	bad(costID, "cut at the end \xe2\x82", "is not UTF-8")
	bad(costID, "lost \ufffd character", "holds U+FFFD, which stands for a character that was lost")
	bad(costID, " "+goodID, blankEnds)
	bad(costID, goodID+" ", blankEnds)
	bad(costID, goodID+"\u00a0", blankEnds)
	bad(costID, "\u2003"+goodID, blankEnds)
	bad(costID, "            ", blankEnds)
	for _, seen := range []string{"\u00a0", "\u00ad", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b", "\u200d",
		"\u200e", "\u202e", "\u2028", "\u202f", "\u2060", "\u2800", "\u3000", "\u3164", "\ufe0f", "\ufeff", "\uffa0",
		"\U000e0041"} {
		bad(costID, "inside"+seen+"the-id", fmt.Sprintf("holds the invisible character %U", []rune(seen)[0]))
	}
	const rounded = "is a number that a spreadsheet or a program has rounded; export the column as text"
	for _, number := range []string{"1.20217112345678E+17", "1,20217112345678E+17", "1.2021711234567891e+17",
		"1.20217112345E17", "-1.20217112345678E+17", "120217112345678912.0", "120217112345.00"} {
		bad(costID, number, rounded)
	}
	const none = "is a way of writing that there is no ID"
	for _, word := range []string{"(not provided)", "NOT AVAILABLE", "not applicable", "not_determined",
		"[object Object]", "Limit Ad Tracking", "__HIVE_DEFAULT_PARTITION__",
		"java.util.Optional.empty", "d41d8cd98f00b204e9800998ecf8427e",
		"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", "9f89c84a559f573636a47ff8daed0d33"} {
		bad(costID, word, none)
	}
	bad(costID, "00000000-0000-0000-0000-000000000000", "is all zeros, as of every device that hides its ID")
	bad(costID, "ffffffff-FFFF-ffff-ffff-ffffffffffff", "is one character over and over")
	bad(costID, "------------", "has neither letters nor digits")
	bad(costID, "############", "has neither letters nor digits")
	for _, macro := range []string{"{transaction_id}", "{{ad.click_id}}", "${CLICK_ID_1}", "__CLICK_ID2__",
		"%%CLICK_ID_UNESC%%", "[transaction_id]", "<click-identifier>"} {
		bad(costID, macro, "is a placeholder that the program which wrote the file hasn't filled in")
	}
	bad(costType, "", "is missing")
	bad(costType, "cpa", notType)
	bad(costType, " cpc", notType)
	bad(costType, "cpc ", notType)
	bad(costType, "cp\u0441", notType) // a Cyrillic letter
	bad(costType, "cpc\x00", notType)
	bad(costCurrency, "", "is missing")
	bad(costCurrency, "us", notMoney)
	bad(costCurrency, "İDR", notMoney)
	bad(costCurrency, "H\u212aD", notMoney) // the Kelvin sign
	bad(costType, "CPİ", notType)
	bad(costCurrency, "usdt", notMoney)
	bad(costCurrency, "DEM", notMoney) // gone since 2002
	bad(costCurrency, "XXX", notMoney)
	bad(costCurrency, "XTS", notMoney)
	bad(costCurrency, "zzz", notMoney)
	bad(costCurrency, "840", notMoney)
	bad(costCurrency, "$", notMoney)
	bad(costCurrency, " USD", notMoney)
	bad(costAmount, "", "is missing")
	bad(costAmount, "1e-3", notDecimal)
	bad(costAmount, "1E5", notDecimal)
	bad(costAmount, "1,25", notDecimal)
	bad(costAmount, "1,000.00", notDecimal)
	bad(costAmount, "1.2.3", notDecimal)
	bad(costAmount, ".", notDecimal)
	bad(costAmount, "-", notDecimal)
	bad(costAmount, "--1", notDecimal)
	bad(costAmount, "+1", notDecimal)
	bad(costAmount, " 1", notDecimal)
	bad(costAmount, "1 ", notDecimal)
	bad(costAmount, "1_000", notDecimal)
	bad(costAmount, "0x10", notDecimal)
	bad(costAmount, "NaN", notDecimal)
	bad(costAmount, "Infinity", notDecimal)
	bad(costAmount, "-inf", notDecimal)
	bad(costAmount, "€1", otherSign)
	bad(costAmount, "EUR1", otherSign)
	bad(costAmount, "x1", notDecimal)
	bad(costAmount, "$$1", notDecimal)
	bad(costAmount, "$", notDecimal)
	bad(costAmount, "$-1", "is negative")
	bad(costAmount, "-$1", notDecimal)
	bad(costAmount, "١٢", notDecimal) // Arabic digits
	bad(costAmount, "-1", "is negative")
	bad(costAmount, "-0", "is negative")
	bad(costAmount, "-0.000001", "is negative")
	bad(costAmount, "0.000001", "has 6 decimals; at most 5")
	bad(costAmount, "1.100001", "has 6 decimals; at most 5")
	bad(costAmount, "0.30000000000000004", "has 17 decimals; at most 5")
	bad(costAmount, "1234567890123", "has 13 digits before the point; at most 12")
	bad(tag, "", "is missing")
	bad(tag, strings.Repeat("é", 129), "has 129 characters; at most 128")
	bad(tag, "line\nend", "holds the control character U+000A")
	bad(tag, "bell\a", "holds the control character U+0007")
	bad(tag, "\xff", "is not UTF-8")
	bad(tag, "tonight ", blankEnds)
	bad(engagedAt, "", "is missing")
	bad(engagedAt, "yesterday", notTime)
	bad(engagedAt, "2026-01-31", notTime)
	bad(engagedAt, "2026-02-30T00:00:00Z", notTime)
	bad(engagedAt, "31.01.2026 08:30:00", notTime)
	bad(engagedAt, "2026-01-31T25:00:00Z", notTime)
	bad(engagedAt, "2026-01-31T08:30:00+25:00", notTime)
	bad(engagedAt, "176985", notTime)
	bad(engagedAt, "17698590001234567890", notTime)
	bad(engagedAt, "2026-01-31 08:30:00 CET", notTime)
	if len(tests) < 60 {
		t.Fatalf("%d rows, want at least 60", len(tests))
	}
	c := newReader(timed, nil, time.UTC)
	if _, refused := c.record(&good); refused != nil {
		t.Fatalf("the good row: %v", refused)
	}
	for _, test := range tests {
		_, refused := c.record(&test.v)
		if refused == nil {
			t.Errorf("%q is taken, want: %s", test.v, test.want)
		} else if refused.Error() != test.want {
			t.Errorf("%q: got %q, want %q", test.v, refused.Error(), test.want)
		}
	}
}

// What is right, and how it is sent.
func TestRecords(t *testing.T) {
	at := time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := newReader(timed, []string{"QQQ"}, berlin)
	for _, test := range []struct {
		f    field
		cell string
		want Cost
	}{
		{costID, strings.Repeat("é", 12), Cost{CostID: strings.Repeat("é", 12)}},
		{costID, strings.Repeat("𝄞", 256), Cost{CostID: strings.Repeat("𝄞", 256)}},
		{costID, "3P4OXS8dMAQbqn4Y inner blank", Cost{CostID: "3P4OXS8dMAQbqn4Y inner blank"}},
		{costID, "120217112345678912", Cost{CostID: "120217112345678912"}},
		{costID, "12345678901e4567", Cost{CostID: "12345678901e4567"}}, // hexadecimal
		{costID, "1e34567890123456", Cost{CostID: "1e34567890123456"}},
		{costID, "{5F9B6C2E-0D3A-4B1C-9E2F-111111111112}", Cost{CostID: "{5F9B6C2E-0D3A-4B1C-9E2F-111111111112}"}},
		{costID, "total-0f8fad5bd9cb", Cost{CostID: "total-0f8fad5bd9cb"}},
		{costID, "null-island-0001", Cost{CostID: "null-island-0001"}},
		{tag, "❤️ 👩‍💻", Cost{Tag: "❤️ 👩‍💻"}},
		{costType, "CPM", Cost{Type: "cpm"}},
		{costType, "Cpe", Cost{Type: "cpe"}},
		{costCurrency, "EUR", Cost{Currency: "eur"}},
		{costCurrency, "Sle", Cost{Currency: "sle"}}, // Sierra Leone since 2022
		{costCurrency, "ZWG", Cost{Currency: "zwg"}}, // Zimbabwe since 2024
		{costCurrency, "qqq", Cost{Currency: "qqq"}}, // of the config
		{costAmount, "1.100000", Cost{Amount: "1.1"}},
		{costAmount, "$1.10", Cost{Amount: "1.1"}},
		{costAmount, "US$.10", Cost{Amount: "0.1"}},
		{costAmount, "Usd0.1", Cost{Amount: "0.1"}},
		{costAmount, "0", Cost{Amount: "0"}},
		{costAmount, "0.00000", Cost{Amount: "0"}},
		{costAmount, "00.50", Cost{Amount: "0.5"}},
		{costAmount, ".5", Cost{Amount: "0.5"}},
		{costAmount, "5.", Cost{Amount: "5"}},
		{costAmount, "007", Cost{Amount: "7"}},
		{costAmount, "0.00001", Cost{Amount: "0.00001"}},
		{costAmount, "999999999999.99999", Cost{Amount: "999999999999.99999"}},
		{costAmount, "100", Cost{Amount: "100"}},
		{tag, strings.Repeat("é", 128), Cost{Tag: strings.Repeat("é", 128)}},
		{tag, "t", Cost{Tag: "t"}},
		{engagedAt, "2026-01-31T08:30:00Z", Cost{Engaged: at}},
		{engagedAt, "2026-01-31T09:30:00+01:00", Cost{Engaged: at}},
		{engagedAt, "2026-01-31 08:30:00 UTC", Cost{Engaged: at}},
		{engagedAt, "2026-01-31 08:30:00.25 UTC", Cost{Engaged: at.Add(250 * time.Millisecond)}},
		{engagedAt, "2026-01-31 03:30:00-05:00", Cost{Engaged: at}},
		{engagedAt, "2026-01-31 09:30:00", Cost{Engaged: at}}, // in Berlin
		{engagedAt, "2026-01-31T09:30:00.000", Cost{Engaged: at}},
		{engagedAt, "1769848200", Cost{Engaged: at}},
		{engagedAt, "1769848200000", Cost{Engaged: at}},
	} {
		v := values{goodID, "cpi", "usd", "1.25", "tonight", "2026-01-31T08:30:00Z"}
		v[test.f] = test.cell
		want := Cost{"cpi", "usd", "1.25", goodID, "tonight", at}
		switch w := test.want; test.f {
		case costID:
			want.CostID = w.CostID
		case costType:
			want.Type = w.Type
		case costCurrency:
			want.Currency = w.Currency
		case costAmount:
			want.Amount = w.Amount
		case tag:
			want.Tag = w.Tag
		case engagedAt:
			want.Engaged = w.Engaged
		}
		got, refused := c.record(&v)
		if refused != nil {
			t.Errorf("%s %q: %v", names[test.f], test.cell, refused)
			continue
		}
		if !got.Engaged.Equal(want.Engaged) {
			t.Errorf("%s %q: engaged %v, want %v", names[test.f], test.cell, got.Engaged, want.Engaged)
		}
		if got.Engaged = want.Engaged; got != want {
			t.Errorf("%s %q: got %+v, want %+v", names[test.f], test.cell, got, want)
		}
	}
}

// The seventh day is inside; a moment later is not. Without a time nothing expires.
func TestExpired(t *testing.T) {
	now := time.Date(2026, 2, 7, 8, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		engaged time.Time
		want    bool
	}{{now.AddDate(0, 0, -7), false}, {now.AddDate(0, 0, -7).Add(-time.Nanosecond), true}, {now.Add(time.Hour), false},
		{time.Time{}, false}} {
		if got := (Cost{Engaged: test.engaged}).Expired(now); got != test.want {
			t.Errorf("engaged %v: expired %v", test.engaged, got)
		}
	}
}

// The time of an engagement counts where a file has one, named in the mapping or not; a constant is
// as good as a column.
func TestConstants(t *testing.T) {
	m := mapping(map[string]string{"cost_id": "click_id", "cost_amount": "spend"},
		map[string]string{"cost_type": "CPC", "cost_currency": "EUR", "tag": "partner"}, files.Format{})
	want := Cost{Type: "cpc", Currency: "eur", Amount: "2.5", CostID: goodID, Tag: "partner"}
	dated := want
	dated.Engaged = time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)
	const at = "2026-01-31T08:30:00Z"
	type fields = map[string]string
	columns := func(more fields) fields {
		maps.Copy(more, fields{"cost_id": "click_id", "cost_amount": "spend"})
		return more
	}
	for _, test := range []struct {
		name, file string
		columns    fields
		want       Cost
		refused    string
	}{
		{"no column", "spend,click_id\n2.50," + goodID, columns(fields{}), want, ""},
		{"its own column", "spend,engaged_at,click_id\n2.50," + at + "," + goodID, columns(fields{}), dated, ""},
		{"nothing in it", "spend,engaged_at,click_id\n2.50,," + goodID, columns(fields{}), want, ""},
		{"no time in it", "spend,engaged_at,click_id\n2.50,soon," + goodID, columns(fields{}), want,
			"1: engaged_at isn't a time such as 2026-01-31T08:30:00Z"},
		{"a name like it", "spend,Engaged_At,click_id\n2.50," + at + "," + goodID, columns(fields{}), want, ""},
		{"another column is named", "spend,engaged_at,time,click_id\n2.50,soon," + at + "," + goodID,
			columns(fields{"engaged_at": "time"}), dated, ""},
		{"the named one is empty", "spend,engaged_at,click_id\n2.50,," + goodID,
			columns(fields{"engaged_at": "engaged_at"}), want, "1: engaged_at is missing"},
		{"another field's column", "spend,engaged_at\n2.50," + goodID,
			fields{"cost_id": "engaged_at", "cost_amount": "spend"}, want, ""},
		{"JSON", `{"spend":2.50,"click_id":"` + goodID + `","engaged_at":"` + at + `"}`, columns(fields{}), dated, ""},
		{"JSON, without it", `{"spend":2.50,"click_id":"` + goodID + `"}`, columns(fields{}), want, ""},
		{"JSON, null", `{"spend":2.50,"click_id":"` + goodID + `","engaged_at":null}`, columns(fields{}), want, ""},
		{"JSON, seconds", `{"spend":2.50,"click_id":"` + goodID + `","engaged_at":1769848200}`, columns(fields{}),
			dated, ""},
	} {
		m.Columns = test.columns
		switch o := readAll(t, []byte(test.file+"\n"), m); {
		case o.err != nil:
			t.Errorf("%s: %v", test.name, o.err)
		case test.refused != "":
			if fmt.Sprint(o.refused) != "["+test.refused+"]" {
				t.Errorf("%s: refused %q, want %q", test.name, o.refused, test.refused)
			}
		case len(o.records) != 1 || !o.records[0].Engaged.Equal(test.want.Engaged):
			t.Errorf("%s: %+v", test.name, o)
		default:
			if o.records[0].Engaged = test.want.Engaged; o.records[0] != test.want {
				t.Errorf("%s: %+v, want %+v", test.name, o.records[0], test.want)
			}
		}
	}
}

// Records that are sent alike are alike, however their files spell them; a NUL can't move from one
// value to the next.
func TestHashes(t *testing.T) {
	a := Cost{Type: "cpi", Currency: "usd", Amount: "1.5", CostID: goodID, Tag: "x"}
	b := a
	b.Engaged = time.Now()
	if a.ID() != b.ID() || a.Content() != b.Content() {
		t.Error("the time of the engagement changes the record, though it isn't sent")
	}
	for i, other := range []Cost{{"cpc", "usd", "1.5", goodID, "x", time.Time{}},
		{"cpi", "eur", "1.5", goodID, "x", time.Time{}},
		{"cpi", "usd", "1.51", goodID, "x", time.Time{}}, {"cpi", "usd", "1.5", goodID, "y", time.Time{}},
		{"cpiu", "sd", "1.5", goodID, "x", time.Time{}}} {
		if other.Content() == a.Content() || other.ID() != a.ID() {
			t.Errorf("%d: content %x, ID %x", i, other.Content(), other.ID())
		}
	}
	if b.CostID += "x"; a.ID() == b.ID() {
		t.Error("two engagements have one ID")
	}
}
