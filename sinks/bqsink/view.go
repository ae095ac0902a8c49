package bqsink

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"cloud.google.com/go/bigquery"
)

// Named returns the full name of a table or a view of the dataset.
func (s *Sink) Named(name string) string { return s.project + "." + s.dataset + "." + name }

// SaveView makes the view, or replaces its query.
func (s *Sink) SaveView(ctx context.Context, name, query string) error {
	view := s.table(name[strings.LastIndexByte(name, '.')+1:])
	err := repeat(ctx, func() error {
		return view.Create(ctx, &bigquery.TableMetadata{ViewQuery: query, Description: "Made by reportferry views"})
	})
	if hasStatus(err, http.StatusConflict) {
		if have, failed := s.getTable(ctx, view.TableID); failed == nil && have.Type == bigquery.RegularTable {
			return fmt.Errorf("save view %s: a table of that name is there, which a view can't replace; drop it, if "+
				"it is one that "+
				"earlier versions kept for audit", name)
		}
		err = repeat(ctx, func() error {
			_, err := view.Update(ctx, bigquery.TableMetadataToUpdate{ViewQuery: query}, "")
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("save view %s: %w", name, s.explain(err))
	}
	return nil
}
