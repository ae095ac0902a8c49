package adjust

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
)

// dateDimensions are the dimensions of time.
var dateDimensions = []string{"hour", "day", "week", "month", "quarter", "year"}

// zonePieces cuts the days of a query with a Zone into pieces that have one offset each. Without
// Summable, the rows of two pieces can't be added, and so it returns all days as one piece, with
// the offset that holds longest.
func (q ReportQuery) zonePieces() []zone.Piece {
	if q.Summable {
		return zone.Pieces(q.Zone, q.From, q.Until)
	}
	return []zone.Piece{{From: q.From, Until: q.Until, Offset: zone.Longest(q.Zone, q.From, q.Until)}}
}

// Offset returns the utc_offset of all days of a query with a Zone, or "" if the query is asked for
// in pieces, each with an offset of its own.
func (q ReportQuery) Offset() string {
	if list := q.zonePieces(); len(list) == 1 && list[0].First == "" {
		return list[0].Offset
	}
	return ""
}

// A piece is what one request asks for: days with one offset, apps (none, or several, as the
// filters have them) and metrics.
type piece struct {
	zone.Piece
	part
}

// pieceQuery returns the query for one piece. If q has a Zone, the result has one dimension of
// time, from which those of q are computed: the hour if q has it or the piece begins or ends within
// a day, or else the day. Hours are chosen by the dimension hour, which the service is known to
// have, because no parameter of the service chooses hours of a day that is over.
func (q ReportQuery) pieceQuery(p piece) ReportQuery {
	if len(p.apps) > 0 {
		q.Filters = maps.Clone(q.Filters)
		q.Filters[appTokenIn] = p.apps
	}
	q.From, q.Until, q.Sort, q.Index, q.Metrics = p.From, p.Until, nil, nil, p.metrics
	q.Splittable = q.Splittable || q.Summable && p.Until.DaysSince(p.From) > 1
	if q.Zone == nil {
		return q
	}
	grain := ""
	switch {
	case p.First != "" || slices.Contains(q.Dimensions, "hour"):
		grain = "hour"
	case slices.ContainsFunc(q.Dimensions, isDate):
		grain = "day"
	}
	rest := slices.DeleteFunc(slices.Clone(q.Dimensions), isDate)
	q.Zone, q.UTCOffset = nil, p.Offset
	if q.Dimensions = rest; grain != "" {
		q.Dimensions = append([]string{grain}, rest...)
	}
	return q
}

// isDate reports whether a dimension is one of time.
func isDate(dimension string) bool { return slices.Contains(dateDimensions, dimension) }

// parseMoment reads an hour or a day in ISO form, without an offset.
func parseMoment(cell string) (time.Time, error) {
	for _, form := range []string{"2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(form, cell); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither an hour nor a day in ISO form", cell)
}

// dateCell returns what the service writes of a moment under a dimension of time. Weeks run from
// Sunday to Saturday, as in the service's own example.
func dateCell(dimension string, at time.Time) string {
	switch dimension {
	case "hour":
		return at.Format("2006-01-02T15:00:00")
	case "day":
		return at.Format(time.DateOnly)
	case "week":
		first := civil.DateOf(at).AddDays(-int(at.Weekday()))
		return first.String() + " - " + first.AddDays(6).String()
	case "month":
		return at.Format("2006-01")
	case "quarter":
		return fmt.Sprintf("Q%d %d", (at.Month()+2)/3, at.Year())
	}
	return at.Format("2006")
}
