package bqtest

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"
)

func TestTableMetadataComesBack(t *testing.T) {
	b := newBench(t, Options{Location: "EU"})
	table := b.client.Dataset("d").Table("t")
	schema := changed(func(s bigquery.Schema) bigquery.Schema { s[2].Description = "how many"; return s })
	given := &bigquery.TableMetadata{
		Description: "installs a day", Labels: map[string]string{"owner": "reports"}, Schema: schema,
		RequirePartitionFilter: true,
		TimePartitioning: &bigquery.TimePartitioning{Type: bigquery.MonthPartitioningType, Field: "date",
			Expiration: 48 * time.Hour},
		Clustering:       &bigquery.Clustering{Fields: []string{"app", "installs"}},
		EncryptionConfig: &bigquery.EncryptionConfig{KMSKeyName: "projects/p/locations/eu/keyRings/r/cryptoKeys/k"},
	}
	if err := table.Create(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	meta, err := table.Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if meta.Description != given.Description || meta.Labels["owner"] != "reports" || !meta.RequirePartitionFilter ||
		meta.Schema[2].Description != "how many" ||
		*meta.TimePartitioning != *given.TimePartitioning || strings.Join(meta.Clustering.Fields,
		",") != "app,installs" ||
		meta.EncryptionConfig.KMSKeyName != given.EncryptionConfig.KMSKeyName || meta.Location != "EU" ||
		meta.Type != bigquery.RegularTable ||
		meta.FullID != "p:d.t" || meta.ETag == "" || meta.CreationTime.IsZero() || meta.NumRows != 0 {
		t.Errorf("came back as %+v", meta)
	}

	update := bigquery.TableMetadataToUpdate{Description: "other", RequirePartitionFilter: false}
	update.DeleteLabel("owner")
	update.SetLabel("team", "x")
	changedMeta, err := table.Update(t.Context(), update, meta.ETag)
	if err != nil {
		t.Fatal(err)
	}
	if changedMeta.Description != "other" || changedMeta.Labels["owner"] != "" || changedMeta.Labels["team"] != "x" ||
		changedMeta.RequirePartitionFilter || len(changedMeta.Schema) != 5 || changedMeta.ETag == meta.ETag {
		t.Errorf("changed to %+v", changedMeta)
	}
	_, err = table.Update(t.Context(), bigquery.TableMetadataToUpdate{Description: "third"}, meta.ETag)
	if status, reason := reasonOf(err); status != http.StatusPreconditionFailed || reason != "conditionNotMet" {
		t.Errorf("an old etag gave %v", err)
	}
	var match []string
	for _, r := range b.Requests() {
		if r.Call == "tables.patch" {
			match = append(match, r.Match)
		}
	}
	if len(match) != 2 || match[0] != meta.ETag {
		t.Errorf("If-Match %q", match)
	}
}

func TestPatchMerges(t *testing.T) {
	b := newBench(t, Options{})
	b.createInstalls()
	const path = "/bigquery/v2/projects/p/datasets/d/tables/installs"
	_, _, _ = b.send("PATCH", path, nil, []byte(`{"description":"x","labels":{"a":"b","c":"d"}}`))
	if _, answer, _ := b.send("PATCH", path, nil, []byte(`{"labels":{"a":null}}`)); !strings.Contains(answer,
		`"labels":{"c":"d"}`) || !strings.Contains(answer, `"description":"x"`) {
		t.Errorf("a patch left %s", answer)
	}
	if status, answer, _ := b.send("PATCH", path, nil, []byte(`{"timePartitioning":null}`)); status != 400 ||
		!strings.Contains(answer, "input partitioning specification is none") {
		t.Errorf("a patch without partitioning gave %d %s", status, answer)
	}
	if status, _, _ := b.send("PATCH", path, nil, []byte(`{`)); status != 400 {
		t.Errorf("no JSON gave %d", status)
	}
}

func TestPatchOfASchema(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(bigquery.Schema) bigquery.Schema
		message string // "" when it is allowed
	}{
		{"a column more", func(s bigquery.Schema) bigquery.Schema {
			return append(s, &bigquery.FieldSchema{Name: "clicks", Type: bigquery.IntegerFieldType})
		}, ""},
		{"a description", func(s bigquery.Schema) bigquery.Schema { s[0].Description = "the day"; return s }, ""},
		{"relaxation", func(s bigquery.Schema) bigquery.Schema { s[1].Required = false; return s }, ""},
		{"a required column more", func(s bigquery.Schema) bigquery.Schema {
			return append(s, &bigquery.FieldSchema{Name: "clicks", Type: bigquery.IntegerFieldType, Required: true})
		}, "Cannot add required fields"},
		{"a column less", func(s bigquery.Schema) bigquery.Schema { return s[:4] },
			"Field rate is missing in new schema"},
		{"another type", func(s bigquery.Schema) bigquery.Schema { s[4].Type = bigquery.StringFieldType; return s },
			"Field rate has changed type from FLOAT to STRING"},
		{"tightening", func(s bigquery.Schema) bigquery.Schema { s[4].Required = true; return s },
			"changed mode from NULLABLE to REQUIRED"},
		{"twice the same", func(s bigquery.Schema) bigquery.Schema {
			return append(s, &bigquery.FieldSchema{Name: "APP", Type: bigquery.StringFieldType})
		}, "Duplicate column names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{})
			b.createInstalls()
			b.mustLoad(load{id: "one", to: "installs$20260101", file: oneRow(t, "2026-01-01", "a", 1),
				schema: installSchema})
			meta, err := b.client.Dataset("d").Table("installs").Update(t.Context(),
				bigquery.TableMetadataToUpdate{Schema: changed(c.change)}, "")
			if c.message != "" {
				if status, reason := reasonOf(err); status != 400 || reason != "invalid" ||
					!strings.Contains(err.Error(), c.message) {
					t.Errorf("got %v, want %s", err, c.message)
				}
				b.wantRows("installs", "2026-01-01|a|1|1|1")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(meta.Schema) == 6 {
				b.wantRows("installs", "2026-01-01|a|1|1|1|␀")
			} else {
				b.wantRows("installs", "2026-01-01|a|1|1|1")
			}
		})
	}
	b := newBench(t, Options{})
	b.createInstalls()
	_, err := b.client.Dataset("d").Table("installs").Update(t.Context(), bigquery.TableMetadataToUpdate{
		TimePartitioning: &bigquery.TimePartitioning{Type: bigquery.MonthPartitioningType, Field: "date"}}, "")
	if err == nil || !strings.Contains(err.Error(), "Cannot change partitioning of table p:d.installs") {
		t.Errorf("another partitioning gave %v", err)
	}
}

func TestTableDefinitionsThatAreRefused(t *testing.T) {
	b := newBench(t, Options{})
	day := &bigquery.TimePartitioning{Type: bigquery.DayPartitioningType, Field: "date"}
	for _, c := range []struct {
		id      string
		meta    bigquery.TableMetadata
		message string
	}{
		{"t", bigquery.TableMetadata{Schema: installSchema, TimePartitioning: &bigquery.TimePartitioning{Field: "day"}},
			"The field specified for partitioning cannot be found"},
		{"t", bigquery.TableMetadata{Schema: installSchema, TimePartitioning: &bigquery.TimePartitioning{Field: "app"}},
			"must be of type DATE, TIMESTAMP or DATETIME"},
		{"t", bigquery.TableMetadata{Schema: installSchema, TimePartitioning: &bigquery.TimePartitioning{Type: "HOUR",
			Field: "date"}}, "Cannot partition a DATE column by HOUR"},
		{"t", bigquery.TableMetadata{Schema: installSchema, TimePartitioning: &bigquery.TimePartitioning{Type: "WEEK",
			Field: "date"}}, `Invalid time partitioning type "WEEK"`},
		{"t", bigquery.TableMetadata{Schema: installSchema, Clustering: &bigquery.Clustering{Fields: []string{"rate"}}},
			"FLOAT64, which clustering doesn't support"},
		{"t", bigquery.TableMetadata{Schema: installSchema, Clustering: &bigquery.Clustering{Fields: []string{"nix"}}},
			"The field specified for clustering cannot be found"},
		{"t", bigquery.TableMetadata{Schema: installSchema,
			Clustering: &bigquery.Clustering{Fields: []string{"date", "app", "installs", "cost", "rate"}}},
			"1 to 4 columns"},
		{"t", bigquery.TableMetadata{Schema: installSchema, RequirePartitionFilter: true}, "not partitioned"},
		{"t", bigquery.TableMetadata{Schema: installSchema, TimePartitioning: day,
			Labels: map[string]string{"Team": "x"}}, `Label key "Team"`},
		{"t", bigquery.TableMetadata{Schema: installSchema, Labels: map[string]string{"1st": "x"}},
			"beginning with a letter"},
		{"t", bigquery.TableMetadata{Schema: bigquery.Schema{{Name: "a-b", Type: bigquery.StringFieldType}}},
			`Invalid field name "a-b"`},
		{"t", bigquery.TableMetadata{Schema: bigquery.Schema{{Name: "_PARTITIONtime", Type: bigquery.StringFieldType}}},
			"not allowed to start with"},
		{"t", bigquery.TableMetadata{Schema: bigquery.Schema{{Name: "a", Type: bigquery.StringFieldType,
			Description: strings.Repeat("x", 1025)}}}, "1024"},
		{"a/b", bigquery.TableMetadata{Schema: installSchema}, "Invalid table ID"},
	} {
		err := b.client.Dataset("d").Table(c.id).Create(t.Context(), &c.meta)
		if status, reason := reasonOf(err); status != 400 || reason != "invalid" ||
			!strings.Contains(err.Error(), c.message) {
			t.Errorf("got %v, want %s", err, c.message)
		}
	}
	if len(b.Tables()) != 0 {
		t.Error("a refused definition made a table")
	}
}

func TestTablesAreThereOnce(t *testing.T) {
	b := newBench(t, Options{})
	b.createInstalls()
	ctx := t.Context()
	want := func(what string, err error, status int, reason string) {
		t.Helper()
		if got, why := reasonOf(err); got != status || why != reason {
			t.Errorf("%s gave %v, want %d %s", what, err, status, reason)
		}
	}
	d := b.client.Dataset("d")
	want("the same table", d.Table("installs").Create(ctx, &bigquery.TableMetadata{}), 409, "duplicate")
	_, err := d.Table("none").Metadata(ctx)
	want("no table", err, 404, "notFound")
	_, err = b.client.Dataset("none").Metadata(ctx)
	want("no dataset", err, 404, "notFound")
	_, err = b.client.Dataset("none").Table("t").Metadata(ctx)
	want("a table of no dataset", err, 404, "notFound")

	var ids []string
	for it := d.Tables(ctx); ; {
		table, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, table.TableID)
	}
	if got := strings.Join(ids, " "); got != "installs" {
		t.Errorf("listed %s", got)
	}
	if err := d.Table("installs").Delete(ctx); err != nil {
		t.Fatal(err)
	}
	want("a deleted table", d.Table("installs").Delete(ctx), 404, "notFound")
}

func TestMissingPermissionsAndCredentials(t *testing.T) {
	b := newBench(t, Options{Denied: []string{"bigquery.tables.create"}})
	err := b.client.Dataset("d").Table("t").Create(t.Context(), &bigquery.TableMetadata{})
	if status, reason := reasonOf(err); status != 403 || reason != "accessDenied" ||
		!strings.Contains(err.Error(),
			"Access Denied: Dataset p:d: Permission bigquery.tables.create denied on dataset p:d (or it may not "+
				"exist).") {
		t.Errorf("got %v", err)
	}
	b.SetDenied("bigquery.jobs.create")
	b.wantRefusal(load{id: "one", to: "t", file: oneRow(t, "2026-01-01", "a", 1)}, 403, "accessDenied",
		"Access Denied: Project p: Permission bigquery.jobs.create denied on project p")
	b.SetDenied("bigquery.tables.updateData")
	b.wantFailure(load{id: "two", to: "t", file: oneRow(t, "2026-01-01", "a", 1)}, "accessDenied",
		"Permission bigquery.tables.updateData denied on table p:d.t")

	locked := newBench(t, Options{Token: "secret"})
	_, err = locked.client.Dataset("d").Metadata(t.Context())
	if status, reason := reasonOf(err); status != 401 || reason != "authError" {
		t.Errorf("no token: %v", err)
	}
	if status, _, _ := locked.send("GET", "/bigquery/v2/projects/p/datasets/d",
		http.Header{"Authorization": {"Bearer secret"}}, nil); status != 200 {
		t.Errorf("the token: %d", status)
	}
}
