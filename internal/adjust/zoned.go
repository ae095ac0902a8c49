package adjust

import (
	"bytes"
	"context"
	csvform "encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
)

// dates are the dimensions of time.
var dates = []string{"hour", "day", "week", "month", "quarter", "year"}

// pieces are the days of a zone by name, as they are asked for. Where clocks change, all days are asked for with the offset that holds
// longest, unless the rows of two pieces may be added.
func (q ReportQuery) pieces() []zone.Piece {
	if q.Summable {
		return zone.Pieces(q.Zone, q.From, q.Until)
	}
	return []zone.Piece{{From: q.From, Until: q.Until, Offset: zone.Longest(q.Zone, q.From, q.Until)}}
}

// Offset is the utc_offset of all days of a query in a zone by name; empty: it is asked for in pieces, each with an offset of its own.
func (q ReportQuery) Offset() string {
	if list := q.pieces(); len(list) == 1 && list[0].First == "" {
		return list[0].Offset
	}
	return ""
}

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

// A piece is what one request asks for: days, and apps; none: the filters say which.
type piece struct {
	zone.Piece
	apps []string
}

// piece is the query for one piece. In a zone by name, of the dimensions of time it has one, by which rows go to theirs: where hours are chosen the hour, which
// the service is known to have as a dimension, while no parameter of it chooses hours of a day that is over.
func (q ReportQuery) piece(p piece) ReportQuery {
	if len(p.apps) > 0 {
		q.Filters = maps.Clone(q.Filters)
		q.Filters[appTokenIn] = p.apps
	}
	q.From, q.Until, q.Sort, q.Index = p.From, p.Until, nil, nil
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

func isDate(dimension string) bool { return slices.Contains(dates, dimension) }

// read adds the rows of the answer to the query for a piece.
func (s *sum) read(p piece, r io.Reader) error {
	answer := csvform.NewReader(r)
	header, err := answer.Read()
	if err != nil {
		return fmt.Errorf("the header of a report: %w", err)
	}
	place := map[string]int{}
	for i, name := range header {
		place[strings.ToLower(strings.TrimPrefix(name, "\ufeff"))] = i
	}
	asked := s.q.piece(p)
	for _, name := range slices.Concat(asked.Dimensions, asked.Metrics) {
		if _, has := place[strings.ToLower(name)]; !has {
			return fmt.Errorf("the answer has no column %s, which was asked for", name)
		}
	}
	names := slices.Concat(s.q.Dimensions, s.q.Metrics)
	for {
		cells, err := answer.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var at time.Time
		if grain := asked.Dimensions[0]; s.q.Zone != nil && isDate(grain) {
			if at, err = moment(cells[place[grain]]); err != nil {
				return err
			}
		}
		if hour := at.Format(zone.HourForm); p.First != "" && (hour < p.First || hour > p.Last) {
			continue
		}
		row := make([]string, len(names))
		for i, name := range names {
			if s.q.Zone != nil && isDate(name) {
				row[i] = dateCell(name, at)
			} else {
				row[i] = cells[place[strings.ToLower(name)]]
			}
		}
		if err := s.add(row); err != nil {
			return err
		}
	}
}

// moment reads an hour or a day in ISO form, without an offset.
func moment(cell string) (time.Time, error) {
	for _, form := range []string{"2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(form, cell); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither an hour nor a day in ISO form", cell)
}

// dateCell is what the service writes of a moment under a dimension of time. Weeks run from Sunday to
// Saturday, as in the service's own example.
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

// A sum adds rows up that have the same dimensions. It holds all of them in memory: they are those of one partition, twice a year.
type sum struct {
	q    ReportQuery
	rows map[string]*sumRow
	keys []string // in the order in which they came
}

func newSum(q ReportQuery) *sum { return &sum{q: q, rows: map[string]*sumRow{}} }

type sumRow struct {
	dimensions []string
	amounts    []amount
}

func (s *sum) add(row []string) error {
	var key strings.Builder
	dimensions, metrics := row[:len(s.q.Dimensions)], row[len(s.q.Dimensions):]
	for _, cell := range dimensions {
		key.WriteString(strconv.Itoa(len(cell)) + ":" + cell)
	}
	to := s.rows[key.String()]
	if to == nil {
		to = &sumRow{dimensions: dimensions, amounts: make([]amount, len(metrics))}
		s.rows[key.String()] = to
		s.keys = append(s.keys, key.String())
	}
	for i, cell := range metrics {
		if err := to.amounts[i].add(cell); err != nil {
			return fmt.Errorf("metric %s: %w", s.q.Metrics[i], err)
		}
	}
	return nil
}

// each gives the rows to use.
func (s *sum) each(use func(row []string) error) error {
	for _, key := range s.keys {
		row := slices.Clone(s.rows[key].dimensions)
		for _, a := range s.rows[key].amounts {
			row = append(row, a.String())
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return nil
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

// An amount is a cell of a metric, or the exact sum of several.
type amount struct {
	text   string // of the only cell that isn't blank; where there are more, their sum is in total
	total  *big.Rat
	digits int // most decimals of a cell
}

// add adds a cell. One that says that there is no number adds nothing.
func (a *amount) add(cell string) error {
	switch {
	case slices.Contains([]string{"", "null", "nan", "none", "-"}, strings.ToLower(cell)):
		return nil
	case a.text == "" && a.total == nil:
		a.text = cell
		return nil
	case a.total == nil:
		a.total = new(big.Rat)
		if err := a.addNumber(a.text); err != nil {
			return err
		}
	}
	return a.addNumber(cell)
}

func (a *amount) addNumber(cell string) error {
	_, err := strconv.ParseFloat(cell, 64) // an exponent beyond a double's would take all memory
	n, ok := new(big.Rat), err == nil
	if ok {
		_, ok = n.SetString(cell)
	}
	if !ok {
		return fmt.Errorf("%.80q is no number, and can't be added up over the hours of a day on which clocks change", cell)
	}
	if a.digits = max(a.digits, len(cell)-1-strings.Index(cell+".", ".")); strings.ContainsAny(cell, "eE") {
		digits, _ := n.FloatPrec()
		a.digits = max(a.digits, digits)
	}
	a.total.Add(a.total, n)
	return nil
}

func (a *amount) String() string {
	if a.total == nil {
		return a.text
	}
	return a.total.FloatString(a.digits)
}
