//go:build !fuzz

package table

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// What an answer has in another form than the file is taken in the file's, and counted by column,
// with the first row. Without the mending, texts stop the answer. Rows that aren't altered stay as
// they are, whether texts are in a dictionary or not.
func TestAltered(t *testing.T) {
	const header = "day,campaign,installs,network_installs,cost\n"
	mending := Mending{UTF8: true, DropNUL: true}
	for name, c := range map[string]struct {
		answer  string
		mending Mending
		want    string // the first row's cells
		altered string
		err     string
	}{
		"a letter cut in half": {"2026-01-01,Somm\xc3,1,2,3\n2026-01-01,\xff\xfe x,1,2,3\n", mending,
			"Somm\ufffd 1 2 3000000", `campaign: bytes that aren't UTF-8 became U+FFFD: 2, row 1 "Somm\xc3"`, ""},
		"no mending": {"2026-01-01,Somm\xc3,1,2,3\n", Mending{}, "", "", `"Somm\xc3" is not valid UTF-8`},
		"U+0000": {"2026-01-01,b,1,2,3\n2026-01-01,a\x00b\x00,1,2,3\n", mending, "b 1 2 3000000",
			`campaign: the character U+0000 was left out: 1, row 2 "a\x00b\x00"`, ""},
		"U+0000 that may stay": {"2026-01-01,a\x00b,1,2,3\n", Mending{UTF8: true}, "a\x00b 1 2 3000000", "", ""},
		"both": {"2026-01-01,\x00\xc3,1,2,3\n", mending, "\ufffd 1 2 3000000",
			`campaign: bytes that aren't UTF-8 became U+FFFD: 1, row 1 "\x00\xc3"; campaign: the character U+0000 was left out: 1, row 1 "\x00�"`, ""},
		"words for no number": {"2026-01-01,a,NaN,null,-\n2026-01-01,b,NaN,none,3\n", Mending{}, "a NULL NULL NULL",
			`installs: "NaN" is no number, and became NULL: 2, row 1 "NaN"; network_installs: "null" is no number, and became NULL: 1, row 1 "null"; ` +
				`network_installs: "none" is no number, and became NULL: 1, row 2 "none"; cost: "-" is no number, and became NULL: 1, row 1 "-"`, ""},
		"fractions of what networks model": {"2026-01-01,a,1,2.5,3\n2026-01-01,b,1,3.5,3\n2026-01-01,c,1,-0.75," +
			"3\n2026-01-01,c,1,4.0,3\n", Mending{}, "a 1 2 3000000",
			`network_installs: a fraction was rounded to a whole number: 3, row 1 "2.5"`, ""},
		"a fraction of what is counted": {"2026-01-01,a,1.5,2,3\n", Mending{}, "", "",
			`"1.5" is not a whole number`},
		"a fraction too large": {"2026-01-01,a,1,12345678901234567890.5,3\n", Mending{}, "", "",
			"is beyond the 64 bits of an int64"},
	} {
		for _, words := range []int{0, 50_000} { // so many texts end a dictionary
			if words > 0 && c.mending != mending {
				continue
			}
			t.Run(fmt.Sprint(name, " ", words), func(t *testing.T) {
				answer := bytes.NewBufferString(header)
				for i := range words {
					fmt.Fprintf(answer, "2026-01-01,word %d %[1]d %[1]d %[1]d %[1]d %[1]d,1,2,3\n", i)
				}
				answer.WriteString(c.answer)
				conv, err := New(Options{Mending: c.mending, Route: 0, Partitions: []civil.Date{firstDay},
					Dir: t.TempDir(), Columns: []Column{
						{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
						{Name: "campaign", Source: "campaign", Dimension: true},
						{Name: "installs", Source: "installs", Type: catalog.Int64, Additive: true},
						{Name: "network_installs", Source: "network_installs", Type: catalog.Int64, Additive: true,
							Rounds: true},
						{Name: "cost", Source: "cost", Type: catalog.Decimal, Additive: true},
					}})
				if err != nil {
					t.Fatal(err)
				}
				defer conv.Abort()
				if err = conv.Read(t.Context(), answer); err != nil || c.err != "" {
					if err == nil || !strings.Contains(err.Error(), c.err) || c.err == "" {
						t.Errorf("error %v, want %q", err, c.err)
					}
					return
				}
				parts, err := conv.Finish()
				if err != nil {
					t.Fatal(err)
				}
				var altered []string
				for _, a := range parts[0].Altered {
					altered = append(altered, fmt.Sprintf("%s: %s: %d, row %d %s", a.Column, a.What, a.Cells,
						a.Row-int64(words), a.Value))
				}
				if got := strings.Join(altered, "; "); got != c.altered {
					t.Errorf("altered %s\nwant    %s", got, c.altered)
				}
				rows := readPart(t, parts[0], conv.columns).rows
				if got := strings.ReplaceAll(strings.Join(rows[words][1:], " "), null, "NULL"); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				if fractions := strings.HasPrefix(name, "fractions"); fractions !=
					(parts[0].Decimals["network_installs"] == 2) {
					t.Errorf("decimals %v", parts[0].Decimals)
				}
			})
		}
	}
}

// Columns that weren't asked for are left out and named, wherever they stand, and whatever is in
// them.
func TestColumnsMore(t *testing.T) {
	want := formHash(t, "day,campaign,installs,cost,rate,note\n2026-01-01,a,1,2,3,n\n")
	for header, extra := range map[string]string{
		"attr_dependency,day,campaign,installs,cost,rate,note": "attr_dependency 1",
		"day,campaign,installs,cost,rate,note,x,x":             "x 1",
		"Day,day,campaign,installs,cost,rate,note":             "Day 1",
	} {
		row := strings.NewReplacer("attr_dependency", `"{""a"":1}"`, "Day", "\xff", "day", "2026-01-01", "campaign",
			"a", "installs", "1", "cost", "2", "rate", "3", "note", "n").Replace(header)
		parts, err := convert(smallOptions(t), strings.NewReader(header+"\n"+row+"\n"))
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		if a := parts[0].Altered; len(a) != 1 || fmt.Sprint(a[0].Column, " ", a[0].Cells) != extra ||
			a[0].What != unasked || parts[0].Hash != want {
			t.Errorf("%s: %+v", header, parts[0])
		}
	}
}
