package emulator

import "net/http"

// streamBulk sends Options.Bulk made-up rows without touching SQLite, for tests of memory and speed. They are spread over
// the days asked for, sorted by day, and depend on the seed and the row's number only; keys may repeat.
func (s *reportService) streamBulk(x *exchange, r *http.Request, q *request) {
	q.compared = false // made-up rows have nothing to be compared with
	skip := q.dropped(x.fault)
	var slices []*slice
	for _, i := range q.apps {
		for j := range s.world.apps[i].slices {
			slices = append(slices, &s.world.apps[i].slices[j])
		}
	}
	if len(slices) == 0 {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	body := x.body(r, csvType)
	w := &csvWriter{out: body}
	q.writeHeader(w, x.fault)
	days := q.period.days()
	rnd := newRandom(s.world.seed, 6)
	times := make([]string, len(q.dimensions)) // labels of the current day
	lastDay, hour := -1, ""
	for n := range s.opts.bulk {
		if n == q.limit && n > 0 {
			break
		}
		// n*days*24 stays far below 2^63.
		day := q.period.from + n*days/s.opts.bulk
		if day != lastDay {
			lastDay = day
			for i, d := range q.dimensions {
				switch {
				case d.slug == "hour":
					times[i] = dayTime(day).Format("2006-01-02")
				case d.time != nil:
					times[i] = d.time.print(dayTime(day))
				}
			}
		}
		sl := slices[rnd.below(len(slices))]
		hour = bulkHours[(n*days*24/s.opts.bulk)%24]
		for i := range q.dimensions {
			if i == skip {
				continue
			}
			switch d := &q.dimensions[i]; {
			case d.slug == "hour":
				w.text(times[i] + hour)
			case d.time != nil:
				w.text(times[i])
			case d.isCurrency():
				w.text(q.currency.label(d.slug))
			default:
				w.text(sl.texts[d.text])
			}
		}
		for i := range q.metrics {
			v := int64(rnd.next() >> 1)
			if i+len(q.dimensions) == skip {
				continue
			}
			switch q.metrics[i].def.kind {
			case count, seconds:
				w.whole(v % 5_000)
			case money:
				w.micros(v % 2_000_000_000)
			default:
				w.micros(v % million)
			}
		}
		if x.fault.drifts(driftExtra) {
			w.whole(0)
		}
		if w.endLine() != nil || r.Context().Err() != nil {
			return // the client is gone
		}
	}
	if w.flush() == nil {
		_ = body.Close()
	}
}

var bulkHours = func() (h [24]string) {
	for i := range h {
		h[i] = "T" + string([]byte{byte('0' + i/10), byte('0' + i%10)}) + ":00:00"
	}
	return h
}()
