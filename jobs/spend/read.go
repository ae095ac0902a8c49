package spend

import (
	"time"

	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// mapping says where a record's fields come from. A file needn't have the times of engagements.
func mapping(columns, constants map[string]string) files.Mapping {
	m := files.Mapping{Columns: columns, Constants: constants}
	for f, name := range names {
		from := files.Own
		if field(f) == engagedAt {
			from = files.Named
		}
		m.Fields = append(m.Fields, files.Field{Name: name, From: from})
	}
	return m
}

func (k *Kind) file(p files.Path) *files.File[Cost] {
	return fileOf(p, k.mapping, k.check, k.o.SpoolDir, time.Now())
}

// fileOf is a file of spend for the outbox. What has expired is judged by one clock for both readings.
func fileOf(p files.Path, m files.Mapping, c *checker, spool string, now time.Time) *files.File[Cost] {
	return &files.File[Cost]{Path: p, Mapping: m, Spool: spool, Record: func(cells []string, o *outbox.Record[Cost]) {
		r, refused := c.record((*values)(cells))
		switch {
		case refused != nil:
			o.Refusal = &outbox.Rejection{Field: refused.Field, Reason: refused.Reason}
			return
		case r.Expired(now):
			o.Expired, o.Refusal = true, expired()
		}
		o.ID, o.Content, o.Value = r.ID(), r.Content(), r
	}}
}

func expired() *outbox.Rejection {
	return &outbox.Rejection{Field: names[engagedAt], Reason: isExpired}
}
