package icesink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"

	"github.com/reportferry/reportferry/sinks"
)

// Probe tries what Put needs and leaves nothing behind. It creates a table, writes and removes a
// file of it, changes the table, and drops it. It also drops the namespace if it had to create it.
func (s *Sink) Probe(ctx context.Context) error {
	if err := s.probe(ctx); err != nil {
		return fmt.Errorf("probe %s: %w", s.url, s.explain(err))
	}
	return nil
}

func (s *Sink) probe(ctx context.Context) (err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	there, err := c.CheckNamespaceExists(ctx, s.namespace)
	if err != nil {
		return fmt.Errorf("look for the namespace: %w", err)
	}
	name := "_reportferry_probe_" + strings.ToLower(rand.Text())
	schema := &sinks.Schema{Period: "whole", Columns: []sinks.Column{{Name: "probe", Type: sinks.String}}}
	if err := s.create(ctx, name, schema, ""); err != nil {
		return fmt.Errorf("make a table: %w", err)
	}
	defer func() {
		ended := context.WithoutCancel(ctx)
		if dropped := drop(ended, c, s.identifier(name)); dropped != nil {
			err = errors.Join(err, fmt.Errorf("drop the table %s, which is left behind: %w", name, dropped))
			return
		}
		if !there {
			if dropped := c.DropNamespace(ended, s.namespace); dropped != nil {
				err = errors.Join(err, fmt.Errorf("drop the namespace, which is left behind: %w", dropped))
			}
		}
	}()
	t, err := s.load(ctx, name)
	if err != nil {
		return fmt.Errorf("load the table that was made: %w", err)
	}
	places, err := t.LocationProvider()
	if err != nil {
		return err
	}
	file := places.NewDataLocation("probe.txt")
	if err := t.files.WriteFile(file, []byte("written by reportferry check, which deletes it\n")); err != nil {
		return fmt.Errorf("write a file of the table: %w", err)
	}
	if err := t.files.Remove(file); err != nil {
		return fmt.Errorf("remove the file %s, which is left behind: %w", file, err)
	}
	tx := t.NewTransaction()
	if err := tx.SetProperties(iceberg.Properties{propertyRun: "probe"}); err != nil {
		return err
	}
	if _, err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("change the table: %w", err)
	}
	return nil
}

// drop drops a table with its files. If the catalog doesn't allow it to remove files, the table's
// metadata files stay in the warehouse.
func drop(ctx context.Context, c catalog.Catalog, name []string) error {
	if whole, ok := c.(catalog.PurgeableTable); ok && whole.PurgeTable(ctx, name) == nil {
		return nil
	}
	if err := c.DropTable(ctx, name); err != nil && !errors.Is(err, catalog.ErrNoSuchTable) {
		return err
	}
	return nil
}
