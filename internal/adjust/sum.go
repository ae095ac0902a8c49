package adjust

import (
	csvform "encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/zone"
)

// A sum adds up rows that have the same dimensions and metrics, and joins rows that have the same
// dimensions and other metrics. It holds all of them in memory; see mostHeldBytes.
type sum struct {
	query     ReportQuery
	rows      map[string]*sumRow
	keys      []string // of rows, in the order in which they came
	heldBytes int      // bytes, roughly
	maxBytes  int      // bytes that may be held of a query that can be split
}

func newSum(q ReportQuery, most int) *sum {
	return &sum{query: q, rows: map[string]*sumRow{}, maxBytes: most}
}

// A sumRow is a row of a sum, with an amount for each metric of the query.
type sumRow struct {
	dimensions []string
	amounts    []amount
}

// read adds the rows of r, which is the answer to piece p of the query.
func (s *sum) read(p piece, r io.Reader) error {
	answer := csvform.NewReader(r)
	header, err := answer.Read()
	if err != nil {
		return fmt.Errorf("the header of a report: %w", err)
	}
	asked := s.query.pieceQuery(p)
	place, err := columnIndexes(header, slices.Concat(asked.Dimensions, asked.Metrics))
	if err != nil {
		return err
	}
	metrics := map[int]int{} // from a metric's index in the sum to the column of the answer
	for i, name := range asked.Metrics {
		metrics[slices.Index(s.query.Metrics, name)] = place[len(asked.Dimensions)+i]
	}
	grain := asked.Dimensions[0]  // the dimension of time, if the query has a Zone and such a dimension
	keysRead := map[string]bool{} // the keys of this answer's rows
	for {
		cells, err := answer.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// In a query with a Zone, leave out hours that belong to another piece.
		var at time.Time
		if s.query.Zone != nil && isDate(grain) {
			if at, err = parseMoment(cells[place[0]]); err != nil {
				return err
			}
		}
		if hour := at.Format(zone.HourForm); p.First != "" && (hour < p.First || hour > p.Last) {
			continue
		}
		// Rows of groups of metrics are joined on their dimensions, which must differ.
		named := make([]string, len(asked.Dimensions))
		for i := range named {
			named[i] = cells[place[i]]
		}
		if len(asked.Metrics) < len(s.query.Metrics) {
			if key := rowKey(named); keysRead[key] {
				return fmt.Errorf("%w (%s)", errRepeated, strings.Join(named, ", "))
			} else {
				keysRead[key] = true
			}
		}
		// Compute the dimensions that the sum has, and add the metrics to that row.
		dimensions := make([]string, len(s.query.Dimensions))
		for i, name := range s.query.Dimensions {
			if s.query.Zone != nil && isDate(name) {
				dimensions[i] = dateCell(name, at)
			} else {
				dimensions[i] = named[slices.Index(asked.Dimensions, name)]
			}
		}
		to := s.rowOf(dimensions)
		for i, place := range metrics {
			if err := s.add(to, i, cells[place]); err != nil {
				return err
			}
		}
		if s.heldBytes > s.maxBytes && s.query.Splittable {
			return errFull
		}
	}
}

// columnIndexes returns the indexes of columns in the header of an answer, in the order of names.
// The case of names doesn't matter.
func columnIndexes(header, names []string) (list []int, err error) {
	place := map[string]int{}
	for i, name := range header {
		place[strings.ToLower(strings.TrimPrefix(name, "\ufeff"))] = i
	}
	for _, name := range names {
		i, has := place[strings.ToLower(name)]
		if !has {
			return nil, fmt.Errorf("the answer has no column %s, which was asked for", name)
		}
		list = append(list, i)
	}
	return list, nil
}

// rowKey returns the key of a row: its dimensions, each behind its length.
func rowKey(dimensions []string) string {
	var key strings.Builder
	for _, cell := range dimensions {
		key.WriteString(strconv.Itoa(len(cell)) + ":" + cell)
	}
	return key.String()
}

// rowOf returns the row that has these dimensions, a new one if there is none.
func (s *sum) rowOf(dimensions []string) *sumRow {
	key := rowKey(dimensions)
	to := s.rows[key]
	if to == nil {
		to = &sumRow{dimensions: dimensions, amounts: make([]amount, len(s.query.Metrics))}
		s.rows[key] = to
		s.keys = append(s.keys, key)
		s.heldBytes += 2*len(key) + len(to.amounts)*amountSize
	}
	return to
}

// add adds a cell to one amount of a row.
func (s *sum) add(to *sumRow, metric int, cell string) error {
	s.heldBytes += len(cell)
	if err := to.amounts[metric].add(cell); err != nil {
		return fmt.Errorf("metric %s: %w", s.query.Metrics[metric], err)
	}
	return nil
}

// join adds the rows of another sum.
func (s *sum) join(other *sum) error {
	for _, key := range other.keys {
		row := other.rows[key]
		to := s.rowOf(row.dimensions)
		for i, a := range row.amounts {
			if !a.hasCell {
				continue
			}
			if err := s.add(to, i, a.String()); err != nil {
				return err
			}
		}
	}
	if s.heldBytes > s.maxBytes && s.query.Splittable {
		return errFull
	}
	return nil
}

// row returns the cells of a row. A metric that no answer has had is 0 if it is among
// ZeroWhenAbsent, or else empty.
func (s *sum) row(key string) []string {
	row := slices.Clone(s.rows[key].dimensions)
	for i, a := range s.rows[key].amounts {
		if cell := a.String(); a.hasCell || !slices.Contains(s.query.ZeroWhenAbsent, s.query.Metrics[i]) {
			row = append(row, cell)
		} else {
			row = append(row, "0")
		}
	}
	return row
}
