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
