package adjust

import (
	"bytes"
	"context"
	csvform "encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/reportferry/reportferry/internal/zone"
)

// appTokenIn is the filter that names the apps whose rows are wanted.
const appTokenIn = "app_token__in"

// longestQuery is the most bytes of a query that isn't asked for in groups of apps. Servers and proxies take addresses of 8,000 bytes, as RFC
// 9110, section 4.1, asks them to.
const longestQuery = 6000

// groups cuts the list of apps so that each address is short enough. It is one group where the list isn't what makes the address long.
func (q ReportQuery) groups(query string) (list [][]string, err error) {
	apps, taken := q.Filters[appTokenIn], 0
	for _, app := range apps {
		taken += len(url.QueryEscape(app)) + 1
	}
	rest := len(query) - taken
	if len(query) <= longestQuery || rest > longestQuery/2 || q.DatePeriod != "" {
		return [][]string{apps}, nil
	}
	if !q.Summable && !slices.Contains(q.Dimensions, "app_token") {
		return nil, fmt.Errorf("the list of %d apps makes a query of %d bytes, and servers may refuse one of more than %d: add app_token to the dimensions or name "+
			"fewer apps, because not all metrics here add up over apps, so that it can't be asked for in groups of them", len(apps), len(query), longestQuery)
	}
	left := 0
	for _, app := range apps {
		size := len(url.QueryEscape(app)) + 1
		if left -= size; left < 0 {
			list, left = append(list, nil), longestQuery-rest-size
		}
		list[len(list)-1] = append(list[len(list)-1], app)
	}
	return list, nil
}

// inPieces asks for a report by one offset after the other, and by one group of apps after the other, and adds the rows up. read gets the sum
// in the form of an answer. A piece of days that the service is too slow for is asked for in halves of them.
func (c *Client) inPieces(ctx context.Context, q ReportQuery, groups [][]string, read func(io.Reader) error) (Answer, error) {
	whole := newSum(q)
	all := Answer{Empty: true, Status: 204}
	var pieces []piece
	for _, apps := range groups {
		if q.Zone == nil {
			pieces = append(pieces, piece{zone.Piece{From: q.From, Until: q.Until}, apps})
			continue
		}
		for _, p := range q.pieces() {
			pieces = append(pieces, piece{p, apps})
		}
	}
	for ; len(pieces) > 0; pieces = pieces[1:] {
		p := pieces[0]
		days := p.Until.DaysSince(p.From)
		part := newSum(q)
		got, err := c.CSVReport(ctx, q.piece(p), func(r io.Reader) error {
			part = newSum(q) // of this attempt alone
			return part.read(p, r)
		})
		if errors.Is(err, ErrTooSlow) && days > 1 && q.Summable {
			first, rest := p, p
			first.Until = p.From.AddDays(days / 2)
			rest.From = first.Until
			pieces = append([]piece{{}, first, rest}, pieces[1:]...)
			continue
		}
		if err != nil {
			return got, err
		}
		if all.Started.IsZero() {
			all.Started = got.Started
		}
		all.Attempts, all.Resent = all.Attempts+got.Attempts, all.Resent+got.Resent
		if !got.Empty {
			all.Empty, all.Status, all.Header = false, got.Status, got.Header
		}
		if err := part.each(whole.add); err != nil {
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
	_ = w.Write(slices.Concat(s.q.Dimensions, s.q.Metrics)) // a buffer takes all
	_ = s.each(w.Write)
	w.Flush()
	return out
}
