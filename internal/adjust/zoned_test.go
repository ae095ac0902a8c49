package adjust

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// text answers with a CSV.
func text(lines ...string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	}
}

func autumn() ReportQuery {
	q := query()
	q.Dimensions, q.Metrics = []string{"campaign", "week", "day"}, []string{"installs", "cost"}
	q.UTCOffset, q.Zone, q.Summable, q.From, q.Until = "", berlin(), true, date(2026, 10, 25), date(2026, 10, 26)
	return q
}

// The two pieces of a day on which clocks go back are added exactly, whatever the order and the
// case of an answer's columns, its blanks and the form of its numbers. An attempt that breaks
// leaves nothing behind.
func TestSumOfPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(
			func(w http.ResponseWriter, r *http.Request) {
				text("COST,INSTALLS,HOUR,CAMPAIGN", "0.1,7,2026-10-25T00:00:00,\"a,1\"")(w, r)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			},
			text("\ufeffCOST,INSTALLS,HOUR,CAMPAIGN",
				"0.1,1,2026-10-25T00:00:00,\"a,1\"", ",2,2026-10-25T02:00:00,\"a,1\"",
				"0.25,4,2026-10-25T03:00:00,\"a,1\"", "null,3,2026-10-25T01:00:00,b"),
			text("hour,campaign,installs,cost,extra", "2026-10-25T01:00:00,b,100,9,x",
				"2026-10-25 02:00:00,\"a,1\",1e1,1e-05,x", "2026-10-25T23:00:00,c,5.0,12345678901234567890.5,x"),
		)
		c, _ := open(t, s, nil)
		got, a, err := fetch(t.Context(), c, autumn())
		const week = ",2026-10-25 - 2026-10-31,2026-10-25,"
		want := "campaign,week,day,installs,cost\n\"a,1\"" + week + "13,0.10001\nb" + week + "3,\nc" + week +
			"5.0,12345678901234567890.5\n"
		if err != nil || got != want || a.Bytes != int64(len(want)) || a.Empty || a.Status != 200 || a.Attempts != 3 ||
			a.Started.IsZero() {
			t.Errorf("%q, %+v, %v; want %q", got, a, err, want)
		}
		var offsets []string
		for _, u := range s.urls {
			asked, err := url.Parse("http://" + u)
			if err != nil {
				t.Fatal(err)
			}
			v := asked.Query()
			offsets = append(offsets, v.Get("utc_offset")+v.Get("timezone_id"))
			if v.Get("dimensions") != "hour,campaign" || v.Get("date_period") != "2026-10-25:2026-10-25" {
				t.Errorf("asked %v", v)
			}
		}
		if want := []string{"+02:00", "+02:00", "+01:00"}; !slices.Equal(offsets, want) {
			t.Errorf("by the offsets %q, want %q", offsets, want)
		}
	})
}

func TestPiecesWithoutRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, play(status(204)), nil)
		if got, a, err := fetch(t.Context(), c, autumn()); err != nil || got != "" || !a.Empty || a.Status != 204 {
			t.Errorf("%q, %+v, %v", got, a, err)
		}
		c, _ = open(t, play(text("hour,campaign,installs,cost", "2026-10-25T00:00:00,a,1,2"), status(204)), nil)
		if got, a, err := fetch(t.Context(), c, autumn()); err != nil || !strings.HasSuffix(got, "2026-10-25,1,2\n") ||
			a.Empty || a.Status != 200 {
			t.Errorf("%q, %+v, %v", got, a, err)
		}
	})
}

// What can't be added is refused, and says what it is.
func TestPiecesThatCannotBeAdded(t *testing.T) {
	for want, second := range map[string]string{
		`metric cost: "1/2" is no number, and can't be added`:   "2026-10-25T01:00:00,a,1,1/2",
		`metric cost: "1e999999999" is no number`:               "2026-10-25T01:00:00,a,1,1e999999999",
		`metric installs: "many" is no number`:                  "2026-10-25T01:00:00,a,many,1",
		`"25 October" is neither an hour nor a day in ISO form`: "25 October,a,1,1",
		"the answer has no column cost, which was asked for":    "",
		"record on line 3: wrong number of fields":              "2026-10-25T01:00:00,a",
		"multiple Read calls return no data":                    "2026-10-25T01:00:00,a,1,1",
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := text("hour,campaign,installs,cost", "2026-10-25T00:00:00,a,1,2", second)
				if second == "" {
					answer = text("hour,campaign,installs", "2026-10-25T00:00:00,a,1")
				}
				c, _ := open(t, play(answer), func(o *Options) { o.Attempts = 2 })
				_, err := c.CSVReport(t.Context(), autumn(), func(io.Reader) error { return io.ErrNoProgress })
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			})
		})
	}
}
