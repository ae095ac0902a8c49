package bqsink

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// Named is the full name of a table or a view of the dataset.
func (s *Sink) Named(name string) string { return s.project + "." + s.dataset + "." + name }

// SaveView makes the view, or replaces its query.
func (s *Sink) SaveView(ctx context.Context, name, query string) error {
	view := name[strings.LastIndexByte(name, '.')+1:]
	definition := &bq.ViewDefinition{Query: query, ForceSendFields: []string{"UseLegacySql"}} // which is true where it isn't sent
	err := repeat(ctx, func() error {
		return s.insertTable(ctx, view, &bq.Table{View: definition, Description: "Made by reportferry views"})
	})
	if hasStatus(err, http.StatusConflict) {
		if have, failed := s.getTable(ctx, view); failed == nil && have.Type == regularTable {
			return fmt.Errorf("save view %s: a table of that name is there, which a view can't replace; drop it, if it is one that "+
				"earlier versions kept for audit", name)
		}
		err = repeat(ctx, func() error {
			_, err := s.client.Tables.Patch(s.project, s.dataset, view, &bq.Table{View: definition}).Context(ctx).Do()
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("save view %s: %w", name, s.explain(err))
	}
	return nil
}
