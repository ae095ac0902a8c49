package adjust

import (
	"bytes"
	"context"
	csvform "encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/reportferry/reportferry/internal/zone"
)

// mostHeldBytes is the most bytes of rows that are held in memory to be added or joined. For more,
// the caller has to ask for less at once.
const mostHeldBytes = 256 << 20

// errFull means that the rows exceed mostHeldBytes, so that less has to be asked for at once.
var errFull = fmt.Errorf("%w: its rows, which are joined in memory, have too many bytes", ErrTooSlow)

// errRepeated means that rows of two groups of metrics can't be joined.
var errRepeated = errors.New("two rows have the same dimensions, so that groups of metrics can't be joined on them: " +
	"divide the metrics among several tables")

// Requests returns how many requests CSVReport makes for a query, unless the service is too slow
// for one of them. It is more than one if the zone's offset changes during the days, or if one
// address has no room for all metrics or all apps. For a query that can't be sent it is 1. A nil
// client stands for the usual length of addresses.
func (c *Client) Requests(q ReportQuery) int {
	query, err := q.Encode()
	if err != nil {
		return 1
	}
	address, most := "", UsualMaxURL
	if c != nil {
		address, most = c.reportsURL("csv_report")+"?", c.maxURL
	}
	parts, err := q.parts(address, query, most)
	if err != nil {
		return 1
	}
	return len(q.split(parts))
}

// split returns what each request asks for: each part for each range of days with one offset.
func (q ReportQuery) split(parts []part) (pieces []piece) {
	for _, a := range parts {
		if q.Zone == nil {
			pieces = append(pieces, piece{zone.Piece{From: q.From, Until: q.Until}, a})
			continue
		}
		for _, p := range q.zonePieces() {
			pieces = append(pieces, piece{p, a})
		}
	}
	return pieces
}

// fetchPieces asks for a report in pieces: one request for each offset, each group of apps and each
// group of metrics. It adds and joins the rows, and read gets the result in the form of one answer.
// If the service is too slow for a piece of several days, the piece is asked for again in two
// halves of its days.
func (c *Client) fetchPieces(ctx context.Context, q ReportQuery, parts []part, read func(io.Reader) error) (Answer,
	error) {
	whole := newSum(q, c.mostHeldBytes)
	all := Answer{Empty: true, Status: 204}
	for pieces := q.split(parts); len(pieces) > 0; pieces = pieces[1:] {
		p := pieces[0]
		days := p.Until.DaysSince(p.From)
		var some *sum
		got, err := c.CSVReport(ctx, q.pieceQuery(p), func(r io.Reader) error {
			some = newSum(q, c.mostHeldBytes) // of this attempt alone
			return some.read(p, r)
		})
		// Too slow: ask for each half of the days instead.
		if errors.Is(err, ErrTooSlow) && !errors.Is(err, errFull) && days > 1 && q.Summable {
			first, rest := p, p
			first.Until = p.From.AddDays(days / 2)
			rest.From = first.Until
			pieces = append([]piece{{}, first, rest}, pieces[1:]...)
			continue
		}
		if err != nil {
			var failed *Error
			switch {
			case !errors.As(err, &failed):
			case errors.Is(err, errRepeated):
				failed.AnyDays = true
			case len(failed.Apps) > 0 &&
				len(failed.Apps) < len(q.Filters[appTokenIn]): // the refused apps are a group, and not the whole list
				failed.AnyDays = false
			}
			return got, err
		}
		// Add the answer to those before it.
		if all.Started.IsZero() {
			all.Started = got.Started
		}
		all.Attempts, all.Resent = all.Attempts+got.Attempts, all.Resent+got.Resent
		if got.Empty {
			continue
		}
		all.Empty, all.Status, all.Header = false, got.Status, got.Header
		if err := whole.join(some); err != nil {
			return all, &Error{Op: "csv_report " + q.period(), Err: err}
		}
	}
	if all.Empty {
		return all, nil
	}
	text := whole.csv()
	all.Bytes = int64(text.Len())
	return all, read(text)
}

// csv writes the sum as an answer to its query.
func (s *sum) csv() *bytes.Buffer {
	out := &bytes.Buffer{}
	w := csvform.NewWriter(out)
	_ = w.Write(slices.Concat(s.query.Dimensions, s.query.Metrics)) // a buffer takes all
	for _, key := range s.keys {
		_ = w.Write(s.row(key))
	}
	w.Flush()
	return out
}
