package simulation

// The protections of the engine and its sinks: each as its source has it, and as the source would be without it. Some are missing. The
// heartbeat that is answered too late only saves work, because the conditions of puts keep readers safe. The random token of a document
// keeps apart texts that are equal, and no month says the same twice. That the numbers of swept claims stay used, and that a month is
// missed which goes while a process is at work, have tests of their own in package ledger.
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
	{"a month is replaced on the condition of its version", []edit{{
		"jobs/ledger/document.go", "bucket.Condition{Version: d.stored.version, Absent:", "bucket.Condition{Absent:",
	}}},
	{"a month is created on the condition that there is none", []edit{{
		"jobs/ledger/document.go", `Absent: d.stored.version == ""}`, "}",
	}}},
	{"a record is committed on the one that it was made on", []edit{{
		"jobs/ledger/month.go", "case there && m.Records[at].Seq != e.After, !there && e.After != 0:", "case there && m.Records[at].Seq > 1<<30:",
	}}},
	{"a change whose answer was lost is looked for before it is made again", []edit{{
		"jobs/ledger/document.go", "case p.sent && p.Done != nil && p.Done(&content):", "case p.sent && p.Done != nil && p.over:",
	}}},
	{"a record is known from another of its number", []edit{{
		"jobs/ledger/month.go", "o.Seq == e.Seq && same(o, e)", "o.Seq == e.Seq",
	}}},
	{"what a record replaces goes into history in the same swap", []edit{{
		"jobs/ledger/month.go", "m.keep(m.Records[at], e)\n", "",
	}}},
	{"an object of history is there before its month names it", []edit{{
		"jobs/ledger/older.go", "if created, err := t.ledger.CreateOnce(ctx, key, older{lines, m.Shapes}); err != nil || !created {\n\t\treturn err\n\t}\n\tmoved", "moved",
	}, {
		"jobs/ledger/older.go", "return t.ledger.store.Delete(ctx, key)\n\t}\n\treturn err\n", "return t.ledger.store.Delete(ctx, key)\n\t}\n\tif err == nil {\n\t\t_, err = t.ledger.CreateOnce(ctx, key, older{lines, m.Shapes})\n\t}\n\treturn err\n",
	}}},
	{"a month loses lines of history in the swap that names their object", []edit{{
		"jobs/ledger/older.go", "return moved[lineID(e)] }); had-len(m.History) < len(moved) {", "return e.Seq < 0 }); had-len(m.History) > 0 {",
	}}},
	{"of two who move lines of history one does", []edit{{
		"jobs/ledger/older.go", "return errMoved //", "had = 0 //",
	}}},
	{"the index holds for months of its versions alone", []edit{{
		"jobs/ledger/index.go", `if t.months[name].version != "" || listed[name].Version != m.Version {`, `if t.months[name].version != "" {`,
	}, {
		"jobs/ledger/index.go", "known{version: m.Version, oldest: m.Oldest}", "known{version: listed[name].Version, oldest: m.Oldest}",
	}}},
	{"a month that is gone is damage", []edit{{
		"jobs/ledger/index.go", "return t.gone(t.monthKey(name), t.monthKey(indexName))", "continue",
	}}},
	{"the second look after a claim", []edit{{
		"jobs/ledger/claim.go", "if after.swept >= c.number || highest(after.keys) != c.number {", "if highest(after.keys) < 0 {",
	}}},
	{"claims don't depend on the page", []edit{{
		"jobs/refresh/window.go", "func (w Window) Claims() []string { return Claims(w.Period, w.Due) }", "func (w Window) Claims() []string { return []string{w.Name()} }",
	}}},
	{"leases go by the wall clock too", []edit{{
		"jobs/ledger/claim.go", "return max(i.wall.Sub(earlier.wall), i.running-earlier.running)", "return i.running - earlier.running",
	}}},
	{"leases go by the running time too", []edit{{
		"jobs/ledger/claim.go", "return max(i.wall.Sub(earlier.wall), i.running-earlier.running)", "return i.wall.Sub(earlier.wall)",
	}}},
	{"the fetch that brought a content is kept", []edit{{
		"jobs/ledger/month.go", "(brought || last)", "(brought && last || last)",
	}}},
	{"the last fetch of a content is kept", []edit{{
		"jobs/ledger/month.go", "(brought || last)", "(brought || last && brought)",
	}}},
}
