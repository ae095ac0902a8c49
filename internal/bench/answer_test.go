package bench

import (
	"bytes"
	"encoding/csv"
	"io"
	"testing"
	"testing/iotest"
)

func TestAnswers(t *testing.T) {
	for _, s := range Shapes() {
		t.Run(s.Name, func(t *testing.T) {
			s.Rows = 5000
			text, err := io.ReadAll(NewAnswer(s, 7))
			if err != nil {
				t.Fatal(err)
			}
			again, err := io.ReadAll(iotest.HalfReader(NewAnswer(s, 7)))
			if err != nil || !bytes.Equal(text, again) {
				t.Fatalf("an answer isn't the same again (%v)", err)
			}
			if other, err := io.ReadAll(NewAnswer(s, 8)); err != nil || bytes.Equal(text, other) {
				t.Fatalf("another seed gives the same answer (%v)", err)
			}
			rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != 5001 || len(rows[0]) != len(s.Columns()) {
				t.Fatalf("%d rows of %d cells", len(rows), len(rows[0]))
			}
			seen, mixed := map[string]bool{}, false
			for i, row := range rows[1:] {
				seen[row[0]] = true
				mixed = mixed || i > 0 && row[0] < rows[i][0]
			}
			if len(seen) != days || mixed != s.Shuffled {
				t.Errorf("%d days, mixed: %v", len(seen), mixed)
			}
		})
	}
}
