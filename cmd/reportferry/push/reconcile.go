package push

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// costMetrics gives, for each cost type of a record, the metric in which reports show it.
var costMetrics = map[string]string{"cpc": "click_cost", "cpm": "impression_cost", "cpi": "install_cost",
	"cpe": "event_cost"}

// setReports fetches the service's reports and sets Report of each sum. Each currency needs a
// report of its own, because a report converts all amounts to one currency.
func setReports(ctx context.Context, client *adjust.Client, sums []*balance, first, last civil.Date,
	network string) error {
	q := adjust.ReportQuery{
		Dimensions: []string{"day"}, Metrics: []string{"click_cost", "impression_cost", "install_cost", "event_cost"},
		From: first, Until: last.AddDays(1), UTCOffset: "+00:00", Parameters: kinds.DefaultParameters(),
	}
	if network != "" {
		q.Filters = map[string][]string{"network__in": {network}}
	}
	answers := map[string]map[string]string{} // by currency, then by day and metric
	for _, b := range sums {
		if answers[b.Currency] == nil {
			q.Currency = b.Currency
			figures, err := dailyFigures(ctx, client, q)
			if err != nil {
				return err
			}
			answers[b.Currency] = figures
		}
		b.Report = answers[b.Currency][b.Day+" "+costMetrics[b.Type]]
	}
	return nil
}

// dailyFigures fetches a report by day, as cells under keys such as "2026-01-31 click_cost".
func dailyFigures(ctx context.Context, client *adjust.Client, q adjust.ReportQuery) (figures map[string]string,
	err error) {
	figures = map[string]string{}
	_, err = client.CSVReport(ctx, q, func(body io.Reader) error {
		clear(figures) // this is another attempt, and the last one may have broken off half way
		r := csv.NewReader(body)
		header, err := r.Read()
		if err != nil {
			return err
		}
		day := slices.Index(header, "day")
		if day < 0 {
			return errors.New("the answer has no column day, which was asked for")
		}
		for {
			cells, err := r.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for i, metric := range header {
				figures[cells[day]+" "+metric] = cells[i]
			}
		}
	})
	return figures, err
}

// writeBalances writes a row for each sum, then the tags of each sum that differs, then how many
// sums are equal, waiting, more and different.
func writeBalances(w io.Writer, sums []*balance) error {
	g := text.Grid{
		Heads: []string{"day", "type", "in", "pushed", "report", "difference", "share", "verdict"},
		Right: []bool{false, false, false, true, true, true, true, false},
	}
	times := map[string]int{} // how often each verdict occurs
	var until time.Time
	for _, b := range sums {
		times[b.Verdict]++
		if b.Until != nil && b.Until.After(until) {
			until = *b.Until
		}
		share := "-"
		if b.Share != "" {
			share = b.Share + "%"
		}
		g.Rows = append(g.Rows, []string{b.Day, b.Type, b.Currency, b.Pushed, cmp.Or(b.Report, "-"), b.Difference,
			share, b.Verdict})
	}
	g.Write(w)
	for _, b := range sums {
		if b.Verdict == differs {
			b.writeTags(w)
		}
	}
	if times[differs] > 0 {
		fmt.Fprintln(w)
	}
	var counts []string
	for _, v := range [][2]string{{isEqual, "equal"}, {isWaiting, "waiting"}, {isMore, "with more in the report"},
		{differs, "differing"}} {
		if times[v[0]] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", times[v[0]], v[1]))
		}
	}
	fmt.Fprintf(w, "%s: %s\n", text.Plural(len(sums), "sum"), strings.Join(counts, ", "))
	if times[isWaiting] > 0 {
		fmt.Fprintf(w, "What waits may still be matched: ask again after %s.\n", until.Format("2006-01-02 15:04 MST"))
	}
	if times[isMore] > 0 {
		fmt.Fprintln(w, "Where the report has more, other partners' costs may be among it, and\nwhether all that "+
			"was pushed is there can't be told; --network NAME asks for the\ncosts of one network alone.")
	}
	return nil
}

// mostTags is how many tags are shown under a sum; csv and json have all.
const mostTags = 10

// notOnRecord stands for the tags of records that are summed up without one: an earlier version
// pushed them, their file has too many tags, or the tag names the click.
const notOnRecord = "(not on record)"

// writeTags writes what was pushed for a sum that differs, tag by tag.
func (b *balance) writeTags(w io.Writer) {
	more := ""
	if !strings.HasPrefix(b.Difference, "-") {
		more = "+"
	}
	fmt.Fprintf(w, "\n%s %s %s differs by %s%s. Reports know no tags; pushed for it were:\n", b.Day, b.Type, b.Currency,
		more, b.Difference)
	g := text.Grid{Heads: []string{"  tag", "records", "pushed", ""}, Right: []bool{false, true, true, false},
		Most: []int{36}}
	for _, t := range b.Tags[:min(len(b.Tags), mostTags)] {
		alone := ""
		if t.Alone {
			alone = "as much as is missing"
		}
		g.Rows = append(g.Rows, []string{"  " + cmp.Or(t.Tag, notOnRecord), text.Count(t.Records), t.Pushed, alone})
	}
	g.Write(w)
	if n := len(b.Tags) - mostTags; n > 0 {
		fmt.Fprintf(w, "  and %s; --output csv has all\n", text.Plural(n, "other tag"))
	}
}

// balancesCSV writes a row for each sum. Tags that a spreadsheet would take for a formula get an
// apostrophe before them.
func balancesCSV(w io.Writer, sums []*balance) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"day", "type", "currency", "records", "pushed", "report", "difference", "share", "verdict",
		"accepted", "tags"}}
	for _, b := range sums {
		var tags []string
		for _, t := range b.Tags {
			tags = append(tags, cmp.Or(t.Tag, notOnRecord)+": "+t.Pushed)
		}
		rows = append(rows, []string{b.Day, b.Type, b.Currency, strconv.FormatInt(b.Records, 10), b.Pushed, b.Report,
			b.Difference, b.Share, b.Verdict,
			b.Accepted.Format(time.RFC3339), outbox.Guarded(strings.Join(tags, "; "))})
	}
	return out.WriteAll(rows)
}
