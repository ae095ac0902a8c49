package run

import "testing"

// The names of places are those that other producers of OpenLineage give the same places.
func TestDatasetPlace(t *testing.T) {
	for sink, want := range map[string][2]string{
		"bigquery://project/dataset":               {"bigquery", "project.dataset.installs"},
		"postgres://db.example/warehouse":          {"postgres://db.example:5432", "warehouse.public.installs"},
		"postgres://db.example:6000/warehouse/ads": {"postgres://db.example:6000", "warehouse.ads.installs"},
		"iceberg://lake/ads.eu":                    {"iceberg://lake", "ads.eu.installs"},
		"file:///out":                              {"file", "/out/installs"},
		"azblob://container/prefix":                {"wasbs://container", "prefix/installs"},
		"gs://bucket/prefix":                       {"gs://bucket", "prefix/installs"},
	} {
		if namespace, name := datasetPlace(sink, "installs"); [2]string{namespace, name} != want {
			t.Errorf("%s is %s, %s; want %v", sink, namespace, name, want)
		}
	}
}
