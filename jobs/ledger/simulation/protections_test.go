package simulation

// The protections of the engine and its sinks: each as its source has it, and as the source would be without it. Five
// are missing. The heartbeat that is answered too late only saves work, because the conditions of puts keep readers safe. The
// second look after a segment needs three compactors at once, which only the model has. That a fold lists segments after it
// has read records and ends when another was faster with a month of history, and that the numbers of swept claims stay used,
// have tests of their own in package ledger.
var protections = []protection{
	{"a put is made on the condition of a version", []edit{{
		"internal/bucket/condition.go", "upload.IfMatch = &quoted", "_ = quoted",
	}}},
	{"a first put is made on the condition that nothing is there", []edit{{
		"internal/bucket/cloud.go", "IfNotExist: c.On.Absent,", `IfNotExist: c.On.Absent && c.Key == "",`,
	}}},
	{"a write that fails half way is cancelled", []edit{{
		"internal/bucket/cloud.go", "abort()\n\t\t_ = w.Close() // frees the writer;", "_ = w.Close() // frees the writer;",
	}}},
	{"the same rows make another file", []edit{{
		"jobs/ledger/simulation/kind_test.go", `"fetch "+rand.Text()+"\n"`, `"fetch "+rand.Text()[:0]+"\n"`,
	}}},
	{"doubt is recorded before a put", []edit{{
		"jobs/partition/course.go", "return &w.doubt", "w.doubt.Seq = w.Base.Seq\n\t\t\treturn nil",
	}}},
	{"doubt is recorded before a first put too", []edit{{
		"jobs/partition/course.go", "return &w.doubt", "if w.Base.Seq == 0 {\n\t\t\t\treturn nil\n\t\t\t}\n\t\t\treturn &w.doubt",
	}}},
	{"a sink in doubt is looked at before the new doubt is recorded", []edit{{
		"jobs/partition/course.go", "var err error\n\tw.over, err = t.conditions(ctx, *p, w.stale)\n\treturn err", "return nil",
	}, {
		"jobs/partition/course.go", "w.e.After = w.doubt.Seq\n",
		"if w.over, w.Err = t.conditions(ctx, *w.Publication, w.stale); w.Err != nil {\n\t\t\tcontinue\n\t\t}\n\t\tw.e.After = w.doubt.Seq\n",
	}}},
	{"a fetch is published on the record that was read before it", []edit{{
		"jobs/partition/course.go", "p, old := w.Publication, w.Base\n", "w.Base, _ = t.Record(w.Part.Partition)\n\tp, old := w.Publication, w.Base\n",
	}}},
	{"a record is created on the condition that there is none", []edit{{
		"jobs/ledger/ledger.go", "err := l.put(ctx, key, data, &blob.WriterOptions{IfNotExist: true,",
		"err := l.put(ctx, key, data, &blob.WriterOptions{IfNotExist: !strings.Contains(key, \"/partitions/\"),",
	}}},
	{"the second look after a record", []edit{{
		"jobs/ledger/commit.go", "if newest <= segment {", "if newest >= 0 {",
	}}},
	{"the second look at a record knows it from another of its number", []edit{{
		"jobs/ledger/commit.go", "if !same(t.entries[e.Partition], e) {", "if t.entries[e.Partition].Seq > e.Seq {",
	}}},
	{"whoever finds a number taken sees whether its own partitions have been recorded", []edit{{
		"jobs/ledger/commit.go", "if t.entries[list[i].Partition].Seq != list[i].After {", "if t.entries[list[i].Partition].Seq > 1<<30 {",
	}}},
	{"a week's object whose number was folded away is void", []edit{{
		"jobs/ledger/table.go", "b.old || number > t.folded[first]", "b.old || number > 0 || number > t.folded[first]",
	}}},
	{"records are listed before segments", []edit{{
		"jobs/ledger/table.go", "keys, err := t.ledger.list(ctx, t.prefix(\"partitions\"))\n\tif err != nil {\n\t\treturn err\n\t}\n\t", "",
	}, {
		"jobs/ledger/table.go", "return t.readEntries(ctx, keys)",
		"keys, err := t.ledger.list(ctx, t.prefix(\"partitions\"))\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn t.readEntries(ctx, keys)",
	}}},
	{"the second look after a claim", []edit{{
		"jobs/ledger/claim.go", "if after.swept >= c.number || highest(after.keys) != c.number {", "if highest(after.keys) < 0 {",
	}}},
	{"claims don't depend on the page", []edit{{
		"jobs/refresh/window.go", "func (w Window) Claims() []string { return Claims(w.Period, w.Due) }", "func (w Window) Claims() []string { return []string{w.Name()} }",
	}}},
	{"leases go by the wall clock too", []edit{{
		"jobs/ledger/instant.go", "return max(i.wall.Sub(earlier.wall), i.running-earlier.running)", "return i.running - earlier.running",
	}}},
	{"leases go by the running time too", []edit{{
		"jobs/ledger/instant.go", "return max(i.wall.Sub(earlier.wall), i.running-earlier.running)", "return i.wall.Sub(earlier.wall)",
	}}},
	{"what a fold leaves out is in history before", []edit{{
		"jobs/ledger/fold.go", "if done, err := t.archive(ctx, replaced); err != nil || !done {\n\t\treturn err\n\t}\n", "",
	}, {
		"jobs/ledger/fold.go", "return t.forget(ctx)", "_, err := t.archive(ctx, replaced)\n\t\treturn err",
	}}},
	{"history has a number once", []edit{{
		"jobs/ledger/history.go", "if !there && e.State != Publishing {", "if (!there || list[at].Seq > 1) && e.State != Publishing {",
	}}},
	{"months of history are read after all else", []edit{{
		"jobs/ledger/history.go", "had, months, err := t.contents(ctx, within)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tfor _, month := range months {\n",
		"had := contents{}\n\tmonths, err := t.months(ctx)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tdefer func() {}()\n\tfor _, month := range months {\n",
	}, {
		"jobs/ledger/history.go", "\t}\n\treturn had.merged(), nil\n}\n\n// Changed is",
		"\t}\n\tlate, _, err := t.contents(ctx, within)\n\tfor _, list := range late {\n\t\thad.add(list)\n\t}\n\treturn had.merged(), err\n}\n\n// Changed is",
	}}},
	{"the fetch that brought a content is kept", []edit{{
		"jobs/ledger/fold.go", "(brought || last)", "(brought && last || last)",
	}}},
	{"the last fetch of a content is kept", []edit{{
		"jobs/ledger/fold.go", "(brought || last)", "(brought || last && brought)",
	}}},
}
