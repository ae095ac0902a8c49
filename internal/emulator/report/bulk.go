package report

import (
	"net/http"
	"strconv"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// streamBulk sends Options.Bulk made-up rows without touching SQLite, for tests of memory and
// speed. They are spread over the days asked for, sorted by day, and depend on the seed and the
// row's number only. Each has a campaign of its own; without that dimension keys may repeat.
func (s *Service) streamBulk(x *wire.Exchange, r *http.Request, q *request) {
	q.Compared = false // made-up rows have nothing to be compared with
	skip := q.droppedColumn(x.Fault)
	s.leaveOutApp(q, r.URL.Query(), x.Fault)
	silent := q.silentFault(x.Fault)
	// Collect the slices whose texts the rows have.
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
	// Write the header.
	body := x.Body(r, wire.CSV)
	w := newCSV(body, x.Readings)
	w.header(q.reportColumns(make([]metrics.Unit, len(q.Metrics)), x.Fault))
	// Write the rows.
	days := q.Period.Days()
	rnd := facts.NewRandom(s.world.Seed, 6)
	dates := make([]string, len(q.Dimensions)) // labels of the current day
	cells := make([]int64, len(q.Metrics))
	lastDay, hour := -1, ""
	var sl *facts.Slice
	row := 0
	label := func(i int) string { // of the current row's i-th dimension
		switch d := &q.Dimensions[i]; {
		case d.Slug == "hour":
			return dates[i] + hour
		case d.Time != nil:
			return dates[i]
		case d.IsCurrency():
			return q.Currency.Label(d.Slug)
		case d.Slug == "campaign":
			return sl.Texts[d.Text] + " " + strconv.Itoa(row)
		default:
			return sl.Texts[d.Text]
		}
	}
	for n := range s.opts.Bulk {
		if n == q.Limit && n > 0 {
			break
		}
		row = n
		// n*days*24 stays far below 2^63.
		day := q.Period.From + n*days/s.opts.Bulk
		if day != lastDay {
			lastDay = day
			for i, d := range q.Dimensions {
				switch {
				case d.Slug == "hour":
					dates[i] = facts.DayTime(day).Format("2006-01-02")
				case d.Time != nil:
					dates[i] = d.Time.Print(facts.DayTime(day))
				}
			}
		}
		sl = slices[rnd.Below(len(slices))]
		hour = bulkHours[(n*days*24/s.opts.Bulk)%24]
		for i := range cells {
			cells[i] = int64(rnd.Next() >> 1)
		}
		times, halve := silent.effect(label)
		for range times {
			for i := range q.Dimensions {
				if i != skip {
					w.text(label(i))
				}
			}
			for i, v := range cells {
				at := i + len(q.Dimensions)
				if at == skip {
					continue
				}
				w.madeUp(v, q.Metrics[i].Def.Kind, halve && at == silent.halved)
			}
			if x.Fault.Drifts(wire.DriftExtra) {
				w.whole(0)
			}
			if w.endLine() != nil || r.Context().Err() != nil {
				return // the client is gone
			}
		}
	}
	if w.end() == nil {
		_ = body.Close()
	}
}

// made writes a made-up value of a metric, or half of it.
func (w *csvWriter) madeUp(v int64, k metrics.Kind, halve bool) {
	switch k {
	case metrics.Count, metrics.Seconds:
		v %= 5_000
	case metrics.Money:
		v %= 2_000_000_000
	default:
		v %= facts.Million
	}
	if halve {
		v /= 2
	}
	if k == metrics.Count || k == metrics.Seconds {
		w.whole(v)
		return
	}
	w.micros(v)
}

// bulkHours are what the labels of hours have behind the day.
var bulkHours = func() (h [24]string) {
	for i := range h {
		h[i] = "T" + string([]byte{byte('0' + i/10), byte('0' + i%10)}) + ":00:00"
	}
	return h
}()
