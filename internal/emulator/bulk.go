package emulator

import "net/http"

// streamBulk sends Options.Bulk made-up rows without touching SQLite, for tests of memory and speed. They are spread over
// the days asked for, sorted by day, and depend on the seed and the row's number only; keys may repeat.
func (s *Server) streamBulk(x *exchange, r *http.Request, q *query) {
	skip := q.dropped(x.fault)
	var slices []bulkSlice
	for _, i := range q.apps {
		for j := range s.apps[i].slices {
			slices = append(slices, bulkSlice{&s.apps[i], &s.apps[i].slices[j]})
		}
	}
	body := x.body(r, csvType)
	w := &csvWriter{out: body}
	q.writeHeader(w, x.fault)
	days := q.period.days()
	rnd := newRandom(s.opts.Seed, 6)
	times := make([]string, len(q.dimensions)) // labels of the current day
	lastDay, hour := -1, ""
	for n := range s.opts.Bulk {
		// n*days*24 stays far below 2^63.
		day := q.period.from + n*days/s.opts.Bulk
		if day != lastDay {
			lastDay = day
			for i, d := range q.dimensions {
				times[i] = bulkTime(d.slug, day)
			}
		}
		sl := slices[rnd.below(len(slices))]
		hour = bulkHours[(n*days*24/s.opts.Bulk)%24]
		for i := range q.dimensions {
			if i == skip {
				continue
			}
			switch d := &q.dimensions[i]; {
			case d.slug == "hour":
				w.text(times[i] + hour)
			case d.time != "":
				w.text(times[i])
			default:
				w.text(sl.cell(d.slug))
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
		if x.fault.drifts(DriftExtra) {
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

type bulkSlice struct {
	app   *app
	slice *slice
}

func (b bulkSlice) cell(slug string) string {
	switch slug {
	case "app":
		return b.app.Name
	case "app_token":
		return b.app.Token
	case "os_name":
		return b.slice.osName
	case "country_code":
		return b.slice.country
	case "network":
		return b.slice.network
	case "campaign":
		return b.slice.campaign
	case "campaign_network":
		return b.slice.campaignNet
	default:
		return b.slice.partner
	}
}

var bulkHours = func() (h [24]string) {
	for i := range h {
		h[i] = "T" + string([]byte{byte('0' + i/10), byte('0' + i%10)}) + ":00:00"
	}
	return h
}()

func bulkTime(slug string, day int) string {
	t := dayTime(day)
	switch slug {
	case "month":
		return t.Format("2006-01")
	case "week":
		sunday := t.AddDate(0, 0, -int(t.Weekday()))
		return sunday.Format("2006-01-02 - ") + sunday.AddDate(0, 0, 6).Format("2006-01-02")
	default: // day, and hour without its hour
		return t.Format("2006-01-02")
	}
}
