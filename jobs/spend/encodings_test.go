package spend

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// readAs reads a file that is written as f says, with times of Berlin.
func readAs(t *testing.T, data []byte, f files.Format) outcome {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	f.Zone = zone
	return readIn(t, data, mapping(map[string]string{"engaged_at": "Datum"}, nil, f), zone)
}

// partnerFile is what a partner in Germany sends.
const partnerFile = "cost_id;cost_type;cost_currency;cost_amount;tag;Datum\r\n" +
	"0f8fad5b-d9cd-469f-a165-70867728950e;cpi;EUR;12,5;Müller & Söhne;31.01.2026 08:30\r\n" +
	"7c9e6679-7425-40de-944b-e07fc1f90ae7;cpi;EUR;0,25;\"a;b\";01.02.2026 00:00\r\n"

func partnerCosts() []Cost {
	return []Cost{
		{Type: "cpi", Currency: "eur", Amount: "12.5", CostID: "0f8fad5b-d9cd-469f-a165-70867728950e",
			Tag: "Müller & Söhne", Engaged: time.Date(2026, 1, 31, 7, 30, 0, 0, time.UTC)},
		{Type: "cpi", Currency: "eur", Amount: "0.25", CostID: "7c9e6679-7425-40de-944b-e07fc1f90ae7", Tag: "a;b",
			Engaged: time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)},
	}
}

var partnerFormat = files.Format{Decimal: ',', Dates: "DD.MM.YYYY HH:mm"}

// encodings write a text.
var encodings = map[string]func(testing.TB, string) []byte{
	"utf-8":        func(_ testing.TB, s string) []byte { return []byte(s) },
	"utf-8 marked": func(_ testing.TB, s string) []byte { return []byte("\ufeff" + s) },
	"utf-16le":     func(_ testing.TB, s string) []byte { return utf16of(s, binary.LittleEndian, false) },
	"utf-16be":     func(_ testing.TB, s string) []byte { return utf16of(s, binary.BigEndian, false) },
	"little":       func(_ testing.TB, s string) []byte { return utf16of(s, binary.LittleEndian, true) },
	"big":          func(_ testing.TB, s string) []byte { return utf16of(s, binary.BigEndian, true) },
	"windows-1252": func(t testing.TB, s string) []byte {
		b, err := charmap.Windows1252.NewEncoder().Bytes([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return b
	},
}

// The same records come out of every encoding and separator that is said, or that the file says
// itself.
func TestWritten(t *testing.T) {
	for encoding, write := range encodings {
		for _, sep := range []string{";", ",", "\t"} {
			f := partnerFormat
			if !strings.Contains(" utf-8 marked little big ", " "+encoding+" ") {
				f.Encoding = strings.TrimSuffix(encoding, " marked")
			}
			text := strings.NewReplacer(";", sep).Replace(strings.ReplaceAll(partnerFile, "a;b", "a b"))
			if sep == "," {
				text = strings.NewReplacer("12,5", `"12,5"`, "0,25", `"0,25"`).Replace(text)
			}
			want := partnerCosts()
			want[1].Tag = "a b"
			got := readAs(t, write(t, text), f)
			if got.err != nil || len(got.refused) > 0 || fmt.Sprint(got.records) != fmt.Sprint(want) {
				t.Errorf("%s, %q: %v, refused %q, error %v", encoding, sep, got.records, got.refused, got.err)
			}
		}
	}
}

// A text that is read in another encoding than its own is an error with its place, or its records
// are right: what is sent is never another text.
func TestWrongEncoding(t *testing.T) {
	slow.Test(t)
	dice := rand.New(rand.NewPCG(19, 1))
	letters := []rune("abc üöäßéèñçÅø€œ’“” ŠšŽžŸ")
	for n := range 60 {
		tag := []rune{'t'}
		for range 1 + dice.IntN(12) {
			tag = append(tag, letters[dice.IntN(len(letters))])
		}
		tag = append(tag, 'e')
		text := strings.ReplaceAll(partnerFile, "Müller & Söhne", string(tag))
		latin := encodings["windows-1252"](t, string(tag))
		if utf8.Valid(latin) && string(latin) != string(tag) {
			continue // by chance, such as "Åœ", it is a text of both encodings
		}
		for encoding, write := range encodings {
			for _, declared := range []string{"", "utf-8", "utf-16le", "utf-16be", "windows-1252"} {
				f := partnerFormat
				f.Encoding = declared
				got := readAs(t, write(t, text), f)
				for _, c := range got.records {
					if c.Tag != string(tag) && c.Tag != "a;b" {
						t.Fatalf("%d: %s as %q: the tag %q is %q", n, encoding, declared, string(tag), c.Tag)
					}
				}
				if got.err == nil && len(got.records)+len(got.refused) != 2 {
					t.Fatalf("%d: %s as %q: %d records, refused %q", n, encoding, declared, len(got.records),
						got.refused)
				}
			}
		}
	}
}
