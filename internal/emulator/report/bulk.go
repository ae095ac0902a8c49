package report

import (
	"net/http"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// streamBulk sends Options.Bulk made-up rows without touching SQLite, for tests of memory and speed. They are spread over
// the days asked for, sorted by day, and depend on the seed and the row's number only; keys may repeat.
func (s *Service) streamBulk(x *wire.Exchange, r *http.Request, q *request) {
	q.Compared = false // made-up rows have nothing to be compared with
	skip := q.dropped(x.Fault)
	var slices []*facts.Slice
	for _, i := range q.Apps {
		for j := range s.account.Apps[i].Slices {
			slices = append(slices, &s.account.Apps[i].Slices[j])
		}
	}
	if len(slices) == 0 {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	body := x.Body(r, wire.CSV)
	w := newCSV(body, x.Readings)
	w.header(q.reportColumns(make([]metrics.Unit, len(q.Metrics)), x.Fault))
	days := q.Period.Days()
	rnd := facts.NewRandom(s.world.Seed, 6)
	times := make([]string, len(q.Dimensions)) // labels of the current day
	lastDay, hour := -1, ""
	for n := range s.opts.Bulk {
		if n == q.Limit && n > 0 {
			break
		}
		// n*days*24 stays far below 2^63.
		day := q.Period.From + n*days/s.opts.Bulk
		if day != lastDay {
			lastDay = day
			for i, d := range q.Dimensions {
				switch {
				case d.Slug == "hour":
					times[i] = facts.DayTime(day).Format("2006-01-02")
				case d.Time != nil:
					times[i] = d.Time.Print(facts.DayTime(day))
				}
			}
		}
		sl := slices[rnd.Below(len(slices))]
		hour = bulkHours[(n*days*24/s.opts.Bulk)%24]
		for i := range q.Dimensions {
			if i == skip {
				continue
			}
			switch d := &q.Dimensions[i]; {
			case d.Slug == "hour":
				w.text(times[i] + hour)
			case d.Time != nil:
				w.text(times[i])
			case d.IsCurrency():
				w.text(q.Currency.Label(d.Slug))
			default:
				w.text(sl.Texts[d.Text])
			}
		}
		for i := range q.Metrics {
			v := int64(rnd.Next() >> 1)
			if i+len(q.Dimensions) == skip {
				continue
			}
			switch q.Metrics[i].Def.Kind {
			case metrics.Count, metrics.Seconds:
				w.whole(v % 5_000)
			case metrics.Money:
				w.micros(v % 2_000_000_000)
			default:
				w.micros(v % facts.Million)
			}
		}
		if x.Fault.Drifts(wire.DriftExtra) {
			w.whole(0)
		}
		if w.endLine() != nil || r.Context().Err() != nil {
			return // the client is gone
		}
	}
	if w.end() == nil {
		_ = body.Close()
	}
}

var bulkHours = func() (h [24]string) {
	for i := range h {
		h[i] = "T" + string([]byte{byte('0' + i/10), byte('0' + i%10)}) + ":00:00"
	}
	return h
}()
