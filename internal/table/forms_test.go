package table

import (
	"slices"
	"strings"
	"testing"
)

// The same rows in every form that a service may give a CSV answer are the same table, whatever the
// size of the blocks.
func TestForms(t *testing.T) {
	const plain = "day,campaign,installs,cost,rate,note\n2026-01-01,a,1,2.5,0.00001,\n2026-01-01,,1000,1000.0,,\n"
	quoted := func(text string) string {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range lines {
			lines[i] = `"` + strings.ReplaceAll(line, ",", `","`) + `"`
		}
		return strings.Join(lines, "\n") + "\n"
	}
	crlf := strings.NewReplacer("\n", "\r\n")
	want := formHash(t, plain)
	for name, text := range map[string]string{
		"CR and LF":                 crlf.Replace(plain),
		"a byte order mark":         "\ufeff" + plain,
		"a byte order mark and CR":  "\ufeff" + crlf.Replace(plain),
		"all quoted":                quoted(plain),
		"all quoted, a mark and CR": "\ufeff" + crlf.Replace(quoted(plain)),
		"no line end":               strings.TrimSuffix(plain, "\n"),
		"a blank line at the end":   plain + "\n",
		"a blank line of CR":        crlf.Replace(plain) + "\r\n",
		"three blank lines":         plain + "\n\n\n",
		"a header in capitals":      "DAY,Campaign,INSTALLS,cost,Rate,NOTE\n" + strings.SplitN(plain, "\n", 2)[1],
		"another order": "installs,note,rate,cost,campaign,day\n1,,0.00001,2.5,a,2026-01-01\n1000," +
			",,1000.0,,2026-01-01\n",
		"whole numbers as floats": strings.NewReplacer(",1,", ",1.0,", ",1000,", ",1000.0,", "0.00001",
			"1e-05").Replace(plain),
		"numbers without decimals":        strings.Replace(plain, "1000.0", "1000", 1),
		"a number that is null":           strings.Replace(plain, "1000.0,,", "1000.0,null,", 1),
		"a number that is NaN":            strings.Replace(plain, "1000.0,,", "1000.0,NaN,", 1),
		"a number that is nan and quotes": strings.Replace(plain, "1000.0,,", `1000.0,"nan",`, 1),
		"a number that is None":           strings.Replace(plain, "1000.0,,", "1000.0,None,", 1),
	} {
		if got := formHash(t, text); got != want {
			t.Errorf("%s: another table than of %q: %q", name, plain, text)
		}
	}
	for name, text := range map[string]string{
		"another number":     strings.Replace(plain, "2.5", "2.6", 1),
		"zero for no number": strings.Replace(plain, "1000.0,,", "1000.0,0,", 1),
		"a row less":         strings.Join(strings.SplitAfter(plain, "\n")[:2], ""),
	} {
		if formHash(t, text) == want {
			t.Errorf("%s is the same table", name)
		}
	}
}

// Blank lines behind the last row may be cut in two by the end of a block.
func TestBlankLinesAtTheEndOfABlock(t *testing.T) {
	for rows := range 40 {
		body := "day,installs\n" + strings.Repeat("2026-01-01,1\n", rows)
		for blank := range 4 {
			for size := 24; size < 64; size++ {
				s := scanner{ctx: t.Context(), r: strings.NewReader(body + strings.Repeat("\r\n", blank)),
					buffer: make([]byte, size)}
				header, err := s.header()
				if err != nil || !slices.Equal(header, []string{"day", "installs"}) {
					t.Fatal(header, err)
				}
				n := 0
				for {
					b, err := s.next(2)
					if b != nil {
						n += b.rows
					}
					if err != nil {
						if err.Error() != "EOF" {
							t.Fatalf("%d rows, %d blank lines, blocks of %d: %v", rows, blank, size, err)
						}
						break
					}
				}
				if n != rows {
					t.Fatalf("%d rows of %d, %d blank lines, blocks of %d", n, rows, blank, size)
				}
			}
		}
	}
}

// A blank line between rows is an error wherever a block ends.
func TestBlankLinesBetweenRows(t *testing.T) {
	body := "day,installs\n" + strings.Repeat("2026-01-01,1\n", 7)
	for size := 24; size < 160; size++ {
		s := scanner{ctx: t.Context(), r: strings.NewReader(body + "\n\n" + body[13:]), buffer: make([]byte, size)}
		if _, err := s.header(); err != nil {
			t.Fatal(err)
		}
		var err error
		for err == nil {
			_, err = s.next(2)
		}
		if !strings.Contains(err.Error(), "row 8 (line 9): the line is blank") {
			t.Fatalf("blocks of %d: %v", size, err)
		}
	}
}

// Two columns that differ in case alone are found by their exact names alone.
func TestColumnsThatDifferInCase(t *testing.T) {
	columns := []Column{{Source: "buy"}, {Source: "Buy"}, {Source: "day"}}
	for header, want := range map[string]string{"BUY,bUY,DAY": "BUY,bUY,day", "Buy,buy,Day": "Buy,buy,day",
		"buy,BUY,day": "buy,BUY,day"} {
		if got := strings.Join(asAsked(strings.Split(header, ","), columns), ","); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
}

// What isn't a number and no word for none is refused, and so is a word for none where a value must
// be.
func TestWordsForNoNumber(t *testing.T) {
	for cell, want := range map[string]bool{
		"null": true, "NULL": true, "NaN": true, "nan": true, "None": true, "": true, "-": true, "N/A": true,
		"nil": false, "Inf": false, "--": false, "nulls": false, "nan ": false, "na": false,
	} {
		_, err := convert(smallOptions(t),
			strings.NewReader("day,campaign,installs,cost,rate,note\n2026-01-01,a,1,1,"+cell+",\n"))
		if (err == nil) != want {
			t.Errorf("%q: %v", cell, err)
		}
	}
}

func formHash(t *testing.T, text string) string {
	t.Helper()
	parts, err := convert(smallOptions(t), strings.NewReader(text))
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return ""
	}
	return parts[0].Hash
}
