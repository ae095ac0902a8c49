package spend

import (
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// mapping returns where a record's fields come from. A file needn't have times of engagements. If
// it has a column of that name, its times count, even if the config doesn't name the column.
func mapping(columns, constants map[string]string, format files.Format) files.Mapping {
	m := files.Mapping{Columns: columns, Constants: constants, Format: format}
	for f, name := range names {
		from := files.Own
		if field(f) == engagedAt {
			from = files.Found
		}
		m.Fields = append(m.Fields, files.Field{Name: name, From: from, ID: field(f) == costID,
			Number: field(f) == costAmount, Time: field(f) == engagedAt})
	}
	return m
}

// file returns a file of the job for the outbox.
func (k *Kind) file(p files.Path) *files.File[Cost] {
	return fileOf(p, k.mapping, k.check, k.o.SpoolDir, time.Now())
}

// fileOf returns a file of spend for the outbox. The file is read twice; both times, now decides
// what has expired.
func fileOf(p files.Path, m files.Mapping, c *checker, spool string, now time.Time) *files.File[Cost] {
	return &files.File[Cost]{Path: p, Mapping: m, Spool: spool, Record: func(cells []string, o *outbox.Record[Cost]) {
		r, refused := c.record((*values)(cells))
		switch {
		case refused != nil:
			o.Refusal, o.Value = &outbox.Rejection{Field: refused.Field, Reason: refused.Reason},
				c.cost((*values)(cells))
			return
		case r.Expired(now):
			o.Expired, o.Refusal = true, r.tooOld(now)
		}
		o.ID, o.Content, o.Value = r.ID(), r.Content(), r
	}}
}

// tooOld returns why an expired record isn't sent. Its age is in whole days, with hours only within
// the first day after the limit, so that the rows of a day have the same reason.
func (r Cost) tooOld(now time.Time) *outbox.Rejection {
	hours := int(now.Sub(r.Engaged) / time.Hour)
	age := fmt.Sprintf("%d days", hours/24)
	if hours/24 == 7 {
		age += fmt.Sprintf(" and %d hours", hours%24)
	}
	return &outbox.Rejection{Field: names[engagedAt], Reason: fmt.Sprintf(isExpired, age)}
}
