package house

import (
	"path"
	"slices"
	"strings"
)

// A layer says what the packages of a folder may import of this project. What isn't listed is
// refused, so nothing imports cmd, and a new folder under internal/ needs a row here.
type layer struct {
	folder string   // pattern; the first row that fits counts
	code   []string // patterns of folders
	tests  []string // what its tests may import besides
}

// Tests are held to fewer rules: they run against the emulator and put parts into real buckets.
// Even they leave cmd and the other kinds alone.
var proving = []string{"internal/adjust/transport", "internal/bucket", "internal/bucket/buckettest",
	"internal/emulator", "internal/emulator/emutest", "internal/telemetry/collector", "sinks/blobsink", "sinks/bqsink",
	"sinks/bqsink/bqtest", "sinks/sinktest"}

// emulated is what the tests of the emulator's parts may use of it.
var emulated = []string{"internal/emulator", "internal/emulator/*"}

// everywhere are the leaves that every folder may import.
var everywhere = []string{"internal/lazy", "internal/panics", "internal/slow"}

// program is what every room of the program may import besides other rooms.
var program = []string{"config", "config/*", "jobs", "jobs/*", "jobs/outbox/*", "sinks", "sinks/*", "internal/*",
	"internal/adjust/*", "internal/telemetry/step"}

// shown are the rooms on which the commands stand.
var shown = []string{"cmd/*/text", "cmd/*/wire", "cmd/*/wire/*", "cmd/*/see", "cmd/*/see/*"}

var layers = []layer{
	// The rooms of the program: text knows none of the others, wire brings a config to jobs, ledger
	// and sinks, see shows what is recorded, and the commands stand on these three and leave each
	// other alone.
	{"cmd/*", slices.Concat(program, []string{"cmd/*/*", "cmd/*/*/*"}), proving},
	{"cmd/*/text", program, proving},
	{"cmd/*/wire", slices.Concat(program, []string{"cmd/*/text"}), proving},
	{"cmd/*/wire/*", slices.Concat(program, []string{"cmd/*/text", "cmd/*/wire", "cmd/*/wire/*"}), proving},
	{"cmd/*/see", slices.Concat(program, []string{"cmd/*/text", "cmd/*/wire", "cmd/*/wire/*"}), proving},
	{"cmd/*/*", slices.Concat(program, shown), proving},
	{"cmd/*/*/*", slices.Concat(program, shown), proving},

	{"config/strict", []string{"internal/catalog"}, nil}, // YAML with positions: nothing of jobs or the service
	{"config/strict/*", []string{"config/strict"}, nil},
	{"config/shape", []string{"config/strict", "internal/catalog", "internal/rooted"}, nil}, // of keys everywhere
	{"config/kinds", []string{"config/shape", "config/strict", "internal/catalog", "internal/dateform"},
		[]string{"config/strict/stricttest"}},
	{"config", []string{"config/kinds", "config/shape", "config/strict", "internal/catalog", "internal/rooted"},
		[]string{"config/strict/stricttest"}},
	{"config/draft", []string{"config"}, nil}, // writes what config reads
	{"config/preset", []string{"config/draft"}, []string{"config"}},
	{"config/*", []string{"config/strict", "internal/catalog"}, []string{"config/strict/stricttest"}},

	// The engine knows no service and no config: a kind brings the one, cmd the other. jobs imports
	// refresh because a Plan says which partitions are due, and how the table is, in its types.
	{"jobs", []string{"jobs/ledger", "jobs/refresh", "sinks", "internal/telemetry/step", "internal/terminal"},
		append([]string{"jobs/ledger/ledgertest"}, proving...)},
	{"jobs/ledger", []string{"internal/bucket", "internal/disk", "internal/telemetry/step", "sinks"},
		append([]string{"jobs/ledger/ledgertest"}, proving...)},
	{"jobs/ledger/ledgertest", []string{"internal/bucket"}, nil},
	{"jobs/ledger/simulation", nil, append([]string{"internal/bucket", "jobs", "jobs/ledger", "jobs/partition",
		"jobs/refresh", "jobs/state", "sinks"}, proving...)},
	{"jobs/refresh", []string{"jobs/ledger", "sinks", "internal/zone"}, nil},
	// No sender, page or command.
	{"jobs/status", []string{"internal/catalog", "jobs/ledger", "jobs/refresh", "sinks"}, nil},
	{"jobs/partition", []string{"jobs/ledger", "jobs/refresh", "internal/catalog", "internal/table",
		"internal/telemetry/step", "sinks"}, proving},
	{"jobs/outbox", []string{"jobs", "jobs/ledger", "jobs/outbox/store"},
		append([]string{"internal/bucket", "jobs/outbox/outboxtest"}, proving...)},
	{"jobs/outbox/outboxtest", nil, nil}, // never the writer of what it reads
	{"jobs/outbox/store", []string{"jobs/ledger"}, proving},
	{"jobs/outbox/*", []string{"jobs", "jobs/ledger", "jobs/refresh", "jobs/outbox", "jobs/outbox/store",
		"internal/dateform"}, proving},
	{"jobs/state", []string{"jobs", "jobs/ledger", "jobs/refresh", "jobs/partition", "internal/catalog",
		"internal/table", "sinks"}, proving},
	{"jobs/raw", []string{"internal/bucket", "internal/disk", "sinks"},
		append([]string{"jobs/ledger/ledgertest"}, proving...)},
	{"jobs/slugs", []string{"jobs/ledger", "jobs/refresh"}, proving},
	// A kind never imports another kind, nor config: what it needs of either comes through its
	// options.
	{"jobs/*", []string{
		"jobs", "jobs/ledger", "jobs/refresh", "jobs/partition", "jobs/outbox", "jobs/outbox/*", "jobs/raw",
		"jobs/slugs", "jobs/state", "jobs/status", "sinks", "internal/*", "internal/telemetry/step",
	}, append([]string{"jobs/ledger/ledgertest"}, proving...)},

	{"sinks", []string{"internal/address", "internal/bucket"}, proving},
	{"sinks/*", []string{"internal/address", "internal/bucket", "internal/disk", "internal/rooted", "sinks"},
		append([]string{"internal/views"}, proving...)},
	// Never a writer of ours: it reads Parquet with another library.
	{"sinks/bqsink/bqtest", []string{"internal/faults"}, nil},

	{"deploy", nil, append([]string{"config"}, proving...)}, // tests only: they run the program, and read its config

	{"deploy/licenses", nil, nil}, // asks the go command
	{"deploy/wheel", nil, nil},

	{"internal/adjust", []string{"internal/adjust/*", "internal/catalog", "internal/zone"}, proving},
	{"internal/adjust/*", []string{"internal/catalog", "internal/telemetry/step"}, nil},
	{"internal/bench", []string{"internal/catalog"}, []string{"internal/table", "jobs/raw"}},
	{"internal/address", []string{"internal/rooted"}, nil},
	// Below every sink and job.
	{"internal/bucket", []string{"internal/address", "internal/disk", "internal/rooted"},
		[]string{"internal/bucket/buckettest", "sinks/sinktest"}},
	{"internal/bucket/buckettest", []string{"internal/bucket"}, nil},
	{"internal/catalog", nil, nil},
	{"internal/wording", []string{"jobs", "jobs/ledger", "jobs/outbox", "jobs/refresh"}, nil},
	// Never the service, nor config.
	{"internal/console", []string{"internal/bucket", "internal/console/*", "internal/wording", "jobs", "jobs/ledger",
		"jobs/outbox", "jobs/refresh", "jobs/status"}, []string{"internal/bucket/buckettest",
		"jobs/ledger/ledgertest", "jobs/outbox/store", "sinks"}},
	{"internal/console/*", []string{"jobs/ledger", "jobs/outbox", "jobs/refresh"}, nil},
	{"internal/dateform", nil, nil},
	{"internal/disk", nil, nil},
	{"internal/zone", nil, nil},
	{"internal/rooted", nil, nil},
	// Never internal/adjust, not even in a test: one misreading of the service's document can't
	// hide in both.
	{"internal/emulator", []string{"internal/emulator/*", "internal/faults"}, nil},
	// Its parts leave each other alone, but for the facts that all of them are about. Their tests
	// ask the whole emulator.
	{"internal/emulator/reading", nil, nil},
	{"internal/emulator/wire", []string{"internal/emulator/reading", "internal/faults"}, nil},
	{"internal/emulator/store", nil, nil},
	{"internal/emulator/facts", []string{"internal/emulator/store"}, nil},
	{"internal/emulator/metrics", []string{"internal/emulator/facts", "internal/emulator/wire"}, emulated},
	{"internal/emulator/report", []string{"internal/emulator/facts", "internal/emulator/metrics",
		"internal/emulator/reading", "internal/emulator/store", "internal/emulator/wire"}, emulated},
	{"internal/emulator/emutest", []string{"internal/emulator", "internal/emulator/facts", "internal/emulator/metrics",
		"internal/emulator/reading"}, nil},
	{"internal/emulator/naive", nil, append([]string{"internal/catalog"}, emulated...)},
	{"internal/emulator/*", []string{"internal/emulator/facts", "internal/emulator/reading", "internal/emulator/store",
		"internal/emulator/wire"}, emulated},
	{"internal/faults", nil, nil},
	{"internal/formula", nil, nil},
	{"internal/house", nil, []string{"internal/emulator/reading"}},
	{"internal/lazy", nil, nil},
	{"internal/panics", nil, nil},
	{"internal/slow", nil, nil},
	// Never the service.
	{"internal/notify", []string{"internal/address", "jobs/ledger", "sinks"},
		[]string{"internal/bucket", "internal/bucket/buckettest"}},
	// Leaves that can be deleted: what they know of the rest would have to be untangled first.
	{"internal/parquet", []string{"internal/parquet/zstdframe"}, []string{"internal/bench", "internal/catalog"}},
	{"internal/parquet/zstdframe", nil, nil},
	{"internal/table/keys", nil, nil},
	{"internal/table", []string{"internal/catalog", "internal/parquet", "internal/table/keys"},
		append([]string{"internal/bench"}, proving...)},
	// It reads what pages read, and never the service. Its steps are a leaf: they know
	// OpenTelemetry and nothing of ours.
	{"internal/telemetry", []string{"internal/console", "internal/telemetry/step", "jobs/outbox", "jobs/refresh",
		"jobs/status"}, []string{"internal/telemetry/collector"}},
	{"internal/telemetry/collector", nil, nil}, // never the SDK of what it reads
	{"internal/telemetry/step", nil, nil},
	{"internal/terminal", nil, nil},
	{"internal/views", []string{"internal/catalog", "internal/formula"}, nil},
}

func checkLayers(t *tree) []string {
	var findings, strange []string
	for _, f := range t.files {
		row := slices.IndexFunc(layers, func(l layer) bool { return fits(l.folder, f.folder) })
		if row < 0 {
			if !slices.Contains(strange, f.folder) {
				strange = append(strange, f.folder)
				findings = append(findings,
					t.at(f.Name, "%s has no row among the layers; say in internal/house what it may import", f.folder))
			}
			continue
		}
		may, who := layers[row].code, f.folder
		if f.test {
			// f.folder: an outer test package imports what it tests.
			may, who = slices.Concat(may, layers[row].tests, []string{f.folder}), "a test of "+f.folder
		}
		for _, s := range f.Imports {
			folder, own := t.own(imported(s))
			if own && !slices.Contains(everywhere, folder) && !slices.ContainsFunc(may,
				func(pattern string) bool { return fits(pattern, folder) }) {
				findings = append(findings,
					t.at(s, "%s imports %s; of this project it may import: %s", who, folder, orNothing(may)))
			}
		}
	}
	return findings
}

// fits is path.Match for the patterns of this file, all of them well formed.
func fits(pattern, folder string) bool {
	ok, err := path.Match(pattern, folder)
	if err != nil {
		panic(err)
	}
	return ok
}

func orNothing(folders []string) string {
	if len(folders) == 0 {
		return "nothing"
	}
	return strings.Join(folders, ", ")
}

// importing is a file of package p that imports these packages of the module, one a line from line
// 3 on.
func importing(folders ...string) string {
	var b strings.Builder
	b.WriteString("package p\nimport (\n")
	for _, f := range folders {
		b.WriteString("\"example.org/m/" + f + "\"\n")
	}
	b.WriteString("\"fmt\"\n\"example.org/more\"\n)\n")
	return b.String()
}

var layerRules = []rule{{
	name: "layers", check: checkLayers,
	bad: map[string]string{
		"cmd/m/a.go": importing("jobs", "jobs/report", "config", "sinks/blobsink",
			"internal/table", "cmd/n", "cmd/m/group"),
		"cmd/m/group/a.go": importing("jobs", "jobs/report", "config", "cmd/m/wire", "cmd/m/other",
			"cmd/m"),
		"cmd/m/text/a.go":    importing("jobs", "cmd/m/wire"),
		"cmd/m/wire/a.go":    importing("cmd/m/text", "cmd/m/see/a"),
		"cmd/m/see/a.go":     importing("cmd/m/wire", "cmd/m/see/b"),
		"cmd/m/see/a/a.go":   importing("cmd/m/wire", "cmd/m/see", "cmd/m/see/b", "cmd/m/run"),
		"cmd/m/run/a.go":     importing("cmd/m/see", "cmd/m/see/b", "cmd/m/push"),
		"config/a.go":        importing("internal/catalog", "jobs", "internal/adjust"),
		"config/a_test.go":   importing("config", "internal/emulator"),
		"config/apps/a.go":   importing("config/strict", "config", "jobs/apps"),
		"config/strict/a.go": importing("internal/catalog", "config"),
		"jobs/a.go": importing("sinks", "internal/adjust", "internal/table", "internal/emulator",
			"config"),
		"jobs/a_test.go":      importing("jobs", "internal/emulator", "sinks/blobsink", "jobs/report"),
		"jobs/outbox/a.go":    importing("jobs", "config", "jobs/outbox/in"),
		"jobs/outbox/in/a.go": importing("jobs", "jobs/outbox", "jobs/report", "internal/adjust"),
		"jobs/report/a.go": importing("jobs", "jobs/outbox", "jobs/outbox/in", "internal/adjust",
			"jobs/events", "config", "cmd/m"),
		"jobs/report/a_test.go": importing("jobs/report", "internal/emulator", "sinks/blobsink",
			"jobs/events", "cmd/m"),
		"sinks/a.go":        importing("jobs"),
		"sinks/a/a.go":      importing("sinks", "sinks/b", "jobs", "internal/catalog"),
		"sinks/a/a_test.go": importing("sinks/a", "sinks/sinktest", "sinks/b"),
		"deploy/a.go":       importing("config"),
		"deploy/a_test.go": importing("config", "internal/emulator", "sinks/bqsink/bqtest", "jobs",
			"cmd/m"),
		"internal/adjust/a.go": importing("internal/catalog", "jobs", "sinks", "config", "internal/table",
			"internal/emulator"),
		"internal/adjust/a_test.go":       importing("internal/emulator", "jobs"),
		"internal/catalog/a.go":           importing("sinks"),
		"internal/emulator/a.go":          importing("internal/catalog", "internal/adjust", "sinks"),
		"internal/emulator/a_test.go":     importing("internal/emulator", "internal/adjust"),
		"internal/emulator/testdata/a.go": importing("internal/adjust"),
		"internal/table/a.go":             importing("internal/catalog", "sinks", "internal/adjust", "internal/lazy"),
		"internal/table/a_test.go":        importing("internal/emulator", "config"),
		"internal/fresh/a.go":             importing(),
		"internal/fresh/b.go":             importing("cmd/m"),
		"a.go":                            importing("jobs"),
		".hidden/a.go":                    importing("cmd/m"),
	},
	want: []string{
		"a.go:1: . has no row among the layers",
		"cmd/m/a.go:8: cmd/m imports cmd/n",
		"cmd/m/group/a.go:7: cmd/m/group imports cmd/m/other",
		"cmd/m/group/a.go:8: cmd/m/group imports cmd/m",
		"cmd/m/run/a.go:5: cmd/m/run imports cmd/m/push",
		"cmd/m/see/a/a.go:6: cmd/m/see/a imports cmd/m/run",
		"cmd/m/see/a.go:4: cmd/m/see imports cmd/m/see/b",
		"cmd/m/text/a.go:4: cmd/m/text imports cmd/m/wire",
		"cmd/m/wire/a.go:4: cmd/m/wire imports cmd/m/see/a",
		"config/a.go:4: config imports jobs",
		"config/a.go:5: config imports internal/adjust",
		"config/a_test.go:4: a test of config imports internal/emulator",
		"config/apps/a.go:4: config/apps imports config",
		"config/apps/a.go:5: config/apps imports jobs/apps",
		"config/strict/a.go:4: config/strict imports config",
		"deploy/a.go:3: deploy imports config",
		"deploy/a_test.go:6: a test of deploy imports jobs",
		"deploy/a_test.go:7: a test of deploy imports cmd/m",
		"internal/adjust/a.go:4: internal/adjust imports jobs",
		"internal/adjust/a.go:5: internal/adjust imports sinks",
		"internal/adjust/a.go:6: internal/adjust imports config",
		"internal/adjust/a.go:7: internal/adjust imports internal/table",
		"internal/adjust/a.go:8: internal/adjust imports internal/emulator",
		"internal/adjust/a_test.go:4: a test of internal/adjust imports jobs",
		"internal/catalog/a.go:3: internal/catalog imports sinks",
		"internal/emulator/a.go:3: internal/emulator imports internal/catalog",
		"internal/emulator/a.go:4: internal/emulator imports internal/adjust",
		"internal/emulator/a.go:5: internal/emulator imports sinks",
		"internal/emulator/a_test.go:4: a test of internal/emulator imports internal/adjust",
		"internal/fresh/a.go:1: internal/fresh has no row among the layers",
		"internal/table/a.go:4: internal/table imports sinks",
		"internal/table/a.go:5: internal/table imports internal/adjust",
		"internal/table/a_test.go:4: a test of internal/table imports config",
		"jobs/a.go:4: jobs imports internal/adjust",
		"jobs/a.go:5: jobs imports internal/table",
		"jobs/a.go:6: jobs imports internal/emulator",
		"jobs/a.go:7: jobs imports config",
		"jobs/a_test.go:6: a test of jobs imports jobs/report",
		"jobs/outbox/a.go:4: jobs/outbox imports config",
		"jobs/outbox/a.go:5: jobs/outbox imports jobs/outbox/in",
		"jobs/outbox/in/a.go:5: jobs/outbox/in imports jobs/report",
		"jobs/outbox/in/a.go:6: jobs/outbox/in imports internal/adjust",
		"jobs/report/a.go:7: jobs/report imports jobs/events",
		"jobs/report/a.go:8: jobs/report imports config",
		"jobs/report/a.go:9: jobs/report imports cmd/m",
		"jobs/report/a_test.go:6: a test of jobs/report imports jobs/events",
		"jobs/report/a_test.go:7: a test of jobs/report imports cmd/m",
		"sinks/a/a.go:4: sinks/a imports sinks/b",
		"sinks/a/a.go:5: sinks/a imports jobs",
		"sinks/a/a.go:6: sinks/a imports internal/catalog",
		"sinks/a/a_test.go:5: a test of sinks/a imports sinks/b",
		"sinks/a.go:3: sinks imports jobs",
	},
}}
