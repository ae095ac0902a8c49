//go:build !fuzz

package spend

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// A drawn file of spend is one of many ways to write one, with what must come of it. What draws it
// shares no code with what reads it.
type drawn struct {
	dice   *rand.Rand
	n      int
	format files.Format
	kind   string // csv, lines, array or xlsx
	sep    string
	clock  int // 0: as RFC 3339, 1: seconds, 2: as DD.MM.YYYY HH:mm, 3: as M/D/YYYY h:mm A

	columns                     []string            // names in their order
	taken                       map[string]string   // columns of the job
	rows                        []map[string]string // by field; nil: in other
	other                       map[int][]string    // cells of rows that are no records
	books                       map[string]string   // Cost ID: amount and currency, as the service has them
	first                       map[string]string   // Cost ID: its amount as the file has it first
	refused                     []string            // row and field
	skipped, duplicate, between int
}

func (d *drawn) chance(sides int) bool { return d.dice.IntN(sides) == 0 }

func pick[T any](d *drawn, choices ...T) T { return choices[d.dice.IntN(len(choices))] }

// id is a Cost ID that no other row of any file has.
func (d *drawn) id() string {
	d.between++
	return fmt.Sprintf(pick(d, "click-%04d-%05d", "{%04d-%05d-abcdef}", "Größe %04d é%05d", "%04d__%05d__zz",
		"1202171%04d2345%05d", "total-%04d-%05d"), d.n, d.between)
}

// amount is a drawn amount as the file writes it, and as the service has it.
func (d *drawn) amount(sign string) (written, sent string) {
	whole, decimals := d.dice.IntN(pick(d, 1, 10, 1000, 3_000_000)), d.dice.IntN(6)
	digits, fraction := fmt.Sprint(whole), ""
	for range decimals {
		fraction += fmt.Sprint(d.dice.IntN(10))
	}
	sent = digits
	if trimmed := strings.TrimRight(fraction, "0"); trimmed != "" {
		sent += "." + trimmed
	}
	if between := map[rune][]string{',': {","}, '.': {"."}, ' ': {" ", "\u00a0", "\u202f"},
		'\'': {"'", "’"}}[d.format.Thousands]; between != nil && d.format.Encoding != "windows-1252" && !d.chance(4) {
		mark := pick(d, between...)
		for at := len(digits) - 3; at > 0; at -= 3 {
			digits = digits[:at] + mark + digits[at:]
		}
	}
	written = digits
	if fraction != "" {
		written += map[bool]string{false: ".", true: ","}[d.format.Decimal == ','] + fraction
	}
	if sign != "" {
		written = pick(d, sign+written, sign+" "+written, written+" "+sign, written)
	}
	return written, sent
}

func (d *drawn) time(at time.Time) string {
	switch d.clock {
	case 1:
		return fmt.Sprint(at.Unix())
	case 2:
		return fmt.Sprintf("%02d.%02d.%04d %02d:%02d", at.Day(), at.Month(), at.Year(), at.Hour(), at.Minute())
	case 3:
		half, hour := "AM", at.Hour()
		if hour >= 12 {
			half, hour = pick(d, "PM", "pm", "p.m."), hour-12
		}
		if hour == 0 {
			hour = 12
		}
		return fmt.Sprintf("%d/%d/%d %d:%02d %s", at.Month(), at.Day(), at.Year(), hour, at.Minute(), half)
	}
	return at.Format("2006-01-02T15:04:05Z")
}

// draw draws a file with good rows, bad ones, repeated ones, and rows that are no records.
func draw(n int, dice *rand.Rand) *drawn {
	d := &drawn{dice: dice, n: n, taken: map[string]string{}, books: map[string]string{}, first: map[string]string{},
		other: map[int][]string{}}
	d.kind, d.sep, d.clock = pick(d, "csv", "csv", "csv", "csv", "csv", "lines", "array", "xlsx"),
		pick(d, ",", ";", "\t"), dice.IntN(4)
	d.format.Encoding = pick(d, "", "", "mark", "windows-1252", "utf-16le", "utf-16be")
	if d.kind != "csv" {
		d.format.Encoding = ""
	}
	if d.chance(2) {
		d.format.Decimal = ','
	}
	d.format.Thousands = pick(d, 0, 0, '.', ',', ' ', '\'')
	if d.format.Thousands == '.' != (d.format.Decimal == ',') && (d.format.Thousands == '.' ||
		d.format.Thousands == ',') || d.format.Thousands == d.format.Decimal {
		d.format.Thousands = 0
	}
	d.format.Dates = []string{"", "", "DD.MM.YYYY HH:mm", "M/D/YYYY h:mm A"}[d.clock]
	for field, called := range map[string]string{"cost_id": "Click ID", "cost_amount": "Spend; net",
		"cost_currency": "Curr", "engaged_at": "When"} {
		d.columns = append(d.columns, called)
		d.taken[field] = called
	}
	d.columns = append(d.columns, "Campaign, or \"none\"")
	slices.Sort(d.columns)
	dice.Shuffle(len(d.columns), func(i, j int) { d.columns[i], d.columns[j] = d.columns[j], d.columns[i] })
	now := time.Now().UTC()
	for range 1 + dice.IntN(40) {
		row := map[string]string{"cost_id": d.id(), "campaign": pick(d, "Summer", "A, B; C", "say \"hi\"", "")}
		code := pick(d, "EUR", "usd", "GBP")
		sign := map[string]string{"EUR": "€", "usd": "$", "GBP": "GBP"}[code]
		if d.chance(3) {
			sign = ""
		}
		var sent string
		row["cost_currency"] = code
		row["cost_amount"], sent = d.amount(sign)
		row["engaged_at"] = d.time(now.Add(-time.Duration(1+dice.IntN(6*24)) * time.Hour))
		switch kind := dice.IntN(24); {
		case d.kind == "csv" && kind == 0:
			d.skip(row)
			continue
		case d.kind == "csv" && kind < 12 && d.spoil(kind, row, now, code):
		case d.kind != "csv" && kind >= 2 && kind < 12 && d.spoil(kind, row, now, code):
		case kind == 12 && len(d.rows) > 0: // an earlier row once more, as it is or with another amount
			before := d.rows[dice.IntN(len(d.rows))]
			if first, sent := d.first[before["cost_id"]]; before != nil && sent {
				again := map[string]string{}
				for k, v := range before {
					again[k] = v
				}
				if d.chance(2) {
					again["cost_amount"] = map[bool]string{false: "77.5", true: "77,5"}[d.format.Decimal == ',']
				}
				d.rows = append(d.rows, again)
				if again["cost_amount"] == first {
					d.duplicate++
				} else {
					d.refused = append(d.refused, fmt.Sprintf("%d,cost_id", len(d.rows)))
				}
				continue
			}
			fallthrough
		default:
			d.first[row["cost_id"]] = row["cost_amount"]
			d.books[row["cost_id"]] = sent + " " + strings.ToLower(code)
		}
		d.rows = append(d.rows, row)
	}
	return d
}

// skip makes a row that is no record: one of totals, a note, an empty one, or the names again.
func (d *drawn) skip(row map[string]string) {
	d.rows = append(d.rows, nil)
	cells := make([]string, len(d.columns))
	id := slices.Index(d.columns, d.taken["cost_id"])
	switch d.dice.IntN(5) {
	case 0:
		cells[id], cells[slices.Index(d.columns, d.taken["cost_amount"])] = pick(d, "Total", "Grand total", "Summe:",
			"Total: 5 clicks"), row["cost_amount"]
	case 1:
		cells[0], cells[id] = pick(d, "Total", "TOTALS", "Gesamt"), pick(d, "", "--")
		if id == 0 {
			cells[0] = "Total"
		}
	case 2:
		cells[0] = pick(d, "Generated by a person", "© Müller & Söhne, all rights reserved")
		cells = cells[:pick(d, 1, len(cells))]
	case 3: // empty
	case 4:
		copy(cells, d.columns)
	}
	d.other[len(d.rows)] = cells
	d.skipped++
}

// spoil makes a row wrong, and notes the field for which it must be refused.
func (d *drawn) spoil(kind int, row map[string]string, now time.Time, code string) bool {
	field := "cost_id"
	switch kind {
	case 1:
		row[field] = pick(d, "1.20217112345678E+17", "1,20217112345678E+17", "120217112345678912.0")
	case 2:
		row[field] = pick(d, "short", "(not provided)", "00000000-0000-0000-0000-000000000000", "{transaction_id}",
			"------------", "__CLICK_ID__")
	case 3:
		row[field] += pick(d, "\u00a0x", " ", "\u00adx")
	case 4:
		row[field] = ""
		row["campaign"] = "Summer"
	case 5:
		field = "cost_amount"
		row[field] = pick(d, "-1", "1e3", "one", "1.2.3", "1,2,3", "--")
	case 6:
		field = "cost_amount"
		row[field] = map[string]string{"EUR": "$", "usd": "€", "GBP": "EUR"}[code] + "1"
	case 7:
		field = "cost_amount"
		row[field] = map[bool]string{false: "0.123456", true: "0,123456"}[d.format.Decimal == ',']
	case 8:
		field = "cost_currency"
		row[field] = pick(d, "", "XXX", "€")
	case 9:
		field = "engaged_at"
		row[field] = d.time(now.Add(-8 * 24 * time.Hour))
	case 10:
		field = "engaged_at"
		row[field] = pick(d, "", "yesterday", "31.02.2026 08:00", "2026-02-30T08:00:00Z")
	case 11:
		field = "cost_amount"
		if d.format.Thousands != 0 {
			return false
		}
		row[field] = pick(d, "1,234.50", "1.234,50")
	}
	d.refused = append(d.refused, fmt.Sprintf("%d,%s", len(d.rows)+1, field))
	return true
}

// bytes is the file.
func (d *drawn) bytes(t *testing.T) []byte {
	t.Helper()
	fields := map[string]string{"Campaign, or \"none\"": "campaign"}
	for field, column := range d.taken {
		fields[column] = field
	}
	var b strings.Builder
	switch d.kind {
	case "lines", "array":
		var objects []string
		for _, row := range d.rows {
			var members []string
			for _, column := range d.columns {
				members = append(members, fmt.Sprintf("%s:%s", quoted(column), quoted(row[fields[column]])))
			}
			objects = append(objects, "{"+strings.Join(members, ", ")+"}")
		}
		b.WriteString(map[bool]string{false: strings.Join(objects, "\n"),
			true: "[" + strings.Join(objects, pick(d, ",", ",\n ", "\r\n,")) + "]"}[d.kind == "array"])
	case "xlsx":
		return d.sheet(t, fields)
	default:
		end := pick(d, "\n", "\r\n")
		if d.chance(6) {
			b.WriteString("sep=" + d.sep + end)
		}
		for range d.dice.IntN(6) {
			b.WriteString(pick(d, "Report: Spend", "", "Range"+d.sep+"2026",
				"a"+d.sep+"b"+d.sep+"c"+d.sep+"d"+d.sep+"e", "by Müller") + end)
		}
		d.line(&b, d.columns, end)
		for i, row := range d.rows {
			if row == nil {
				d.line(&b, d.other[i+1], end)
				continue
			}
			cells := make([]string, len(d.columns))
			for at, column := range d.columns {
				cells[at] = row[fields[column]]
			}
			d.line(&b, cells, end)
		}
	}
	return d.encoded(b.String())
}

// line writes cells, in quotes where they need them and now and then where not.
func (d *drawn) line(b *strings.Builder, cells []string, end string) {
	for at, cell := range cells {
		if at > 0 {
			b.WriteString(d.sep)
		}
		if strings.ContainsAny(cell, "\",;\t\r\n") || d.chance(8) {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		b.WriteString(cell)
	}
	b.WriteString(end)
}

// quoted is a text in JSON.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "\u00a0", `\u00A0`, "é",
		`\u00e9`).Replace(s) + `"`
}

// encoded is a text in the file's encoding; what is drawn has none but a few letters beyond ASCII.
func (d *drawn) encoded(s string) (data []byte) {
	switch d.format.Encoding {
	case "mark":
		d.format.Encoding = ""
		return []byte("\xef\xbb\xbf" + s)
	case "windows-1252":
		return []byte(strings.NewReplacer("ö", "\xf6", "ü", "\xfc", "ß", "\xdf", "é", "\xe9", "€", "\x80", "©", "\xa9",
			"\u00a0", "\xa0", "\u00ad", "\xad").Replace(s))
	case "utf-16le", "utf-16be":
		for _, r := range "\ufeff" + s {
			pair := []byte{byte(r), byte(r >> 8)}
			if d.format.Encoding == "utf-16be" {
				slices.Reverse(pair)
			}
			data = append(data, pair...)
		}
		if d.chance(2) {
			d.format.Encoding = "" // its mark says it
		}
		return data
	}
	return []byte(s)
}

// sheet is an XLSX file of texts, behind a sheet of something else and below titles.
func (d *drawn) sheet(t *testing.T, fields map[string]string) []byte {
	t.Helper()
	rows := "<row><c t=\"inlineStr\"><is><t>Spend</t></is></c></row><row/>"
	for i := -1; i < len(d.rows); i++ {
		rows += "<row>"
		for _, column := range d.columns {
			cell := column
			if i >= 0 {
				cell = d.rows[i][fields[column]]
			}
			rows += `<c t="inlineStr"><is><t xml:space="preserve">` + strings.NewReplacer("&", "&amp;", "<", "&lt;",
				`"`, "&quot;").Replace(cell) + "</t></is></c>"
		}
		rows += "</row>"
	}
	return packedZip(t, "_rels/.rels",
		`<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml",
		`<workbook><sheets><sheet name="Notes" id="n"/><sheet name="Data" id="d"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels",
		`<Relationships><Relationship Id="n" Type="x" Target="n.xml"/><Relationship Id="d" Type="x" Target="d.xml"/></Relationships>`,
		"xl/n.xml",
		`<worksheet><sheetData><row><c t="inlineStr"><is><t>Notes</t></is></c></row></sheetData></worksheet>`,
		"xl/d.xml", "<worksheet><sheetData>"+rows+"</sheetData></worksheet>")
}

func packedZip(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		if err == nil {
			_, err = f.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Two hundred drawn files, each pushed twice: every amount is in the service's books once and
// right, every refusal is in the rejects with its row and field, rows that are no records are
// skipped, and nothing is sent twice. take puts a drawn file, packed or not, where the job of a
// table finds it, and has the job read it as it is written.
func (r *rig) take(t *testing.T, d *drawn, key, table string) {
	t.Helper()
	data := d.bytes(t)
	switch {
	case d.kind != "xlsx" && d.chance(5):
		data = packedZip(t, "spend.csv", string(data))
	case d.chance(6):
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	r.o.Job, r.o.Table = table, table
	r.put(t, key, string(data))
	r.o.Columns, r.o.Format, r.o.Constants = d.taken, d.format, map[string]string{"cost_type": "cpc", "tag": "drawn"}
}

// hasBooked holds the service's books against what they must have, of which so many records may
// have come twice.
func (r *rig) hasBooked(t *testing.T, want map[string]string, twice int64) {
	t.Helper()
	got := map[string]string{}
	for _, record := range r.server.SpendRecords() {
		got[record.CostID] = record.Amount + " " + record.Currency
	}
	for id, amount := range want {
		if got[id] != amount {
			t.Errorf("%q is %q in the books, want %q", id, got[id], amount)
		}
	}
	if books := r.server.Spend(); books.Records != len(want) || len(got) != len(want) ||
		int64(books.Duplicates) > twice || books.Replaced != 0 {
		t.Errorf("%d records, want %d, of which %d may have come twice; %+v", len(got), len(want), twice, books)
	}
}

// Drawn files are pushed by runs that end at any moment, and then the ledger is lost, or an older
// one is restored as the page on recovery says: every amount is right, and what came twice was
// counted as doubtful.
func TestDrawnFilesWhateverHappens(t *testing.T) {
	slow.Test(t)
	const many = 100
	r := newRig(t, "partner-key")
	r.o.MaxRejects = nil
	dice := rand.New(rand.NewPCG(43, 0))
	want := map[string]string{}
	var doubtful int64
	stopped := map[string]int{}
	for n := range many {
		table := fmt.Sprintf("drawn_%d", n)
		store := bucket.NewMemory()
		open := func(b *bucket.Bucket) {
			r.ledger = ledger.Open(ledger.Options{Store: b, URL: "mem://", Lease: time.Minute})
			r.o.Ledger = r.ledger
		}
		push := func(id int) string {
			d, before := draw(1000+4*n+id, dice), len(want)
			for id, amount := range d.books {
				want[id] = amount
			}
			key := fmt.Sprintf("%s/%04d-%d.csv", today(3), n, id)
			r.take(t, d, key, table)
			r.o.First = true // which counts only while nothing was sent
			ctx, cancel := context.WithCancel(t.Context())
			after := before + dice.IntN(len(d.books)+2)
			go func() {
				for ctx.Err() == nil && r.server.Spend().Records < after {
					runtime.Gosched()
				}
				cancel()
			}()
			r.runIn(ctx, t)
			cancel()
			switch sent := r.server.Spend().Records; {
			case sent == before:
				stopped["before"]++
			case sent < len(want):
				stopped["within"]++
			}
			if res := r.run(t); len(res.Errs) > 0 {
				t.Fatalf("file %d of %d goes on: %v", id, n, res.Errs)
			}
			r.o.First = false
			return key
		}
		open(store)
		first := push(0)
		older := bucket.NewMemory()
		for it := store.Blob().List(nil); ; {
			o, err := it.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			data, err := store.Blob().ReadAll(t.Context(), o.Key)
			if err != nil || older.Blob().WriteAll(t.Context(), o.Key, data, nil) != nil {
				t.Fatal(err)
			}
		}
		second := push(1)
		pushed, err := outbox.New(outbox.Options{Ledger: r.ledger, Table: table}).Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range pushed {
			doubtful += f.Doubtful
		}
		if n%2 == 0 { // lost
			open(bucket.NewMemory())
			if res := r.run(t); len(res.Errs) != 1 || !errors.Is(res.Errs[0], ledger.ErrRefused) ||
				!strings.Contains(res.Errs[0].Error(), "first: true") {
				t.Errorf("without a ledger: %v", res.Errs)
			}
			new := fmt.Sprintf("%s/%04d-2.csv", today(0), n) // pushed by name, it is all that is on record
			d := draw(1000+4*n+2, dice)
			for id, amount := range d.books {
				want[id] = amount
			}
			r.take(t, d, new, table)
			r.o.Inbox.Files = []files.Path{{Name: new, Bucket: r.source, Key: new}}
			if res := r.run(t); len(res.Errs) > 0 {
				t.Errorf("a new file by its name: %v", res.Errs)
			}
			r.o.Inbox.Files = nil
			// Which files of a bucket in memory are old can't be set: see the command's test.
			for _, key := range []string{first, second, new} {
				_ = r.source.Delete(t.Context(), key)
			}
		} else { // restored, and what came after the copy is taken away
			open(older)
			if err := r.source.Delete(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			r.run(t)
		}
		r.hasBooked(t, want, doubtful)
		for _, key := range []string{first, second} {
			_ = r.source.Delete(t.Context(), key) // it may be gone
		}
		if t.Failed() {
			t.Fatalf("after file %d", n)
		}
	}
	t.Logf("%d files, %d records, %d doubtful, stopped %v, %d came twice", 2*many, len(want), doubtful, stopped,
		r.server.Spend().Duplicates)
	if stopped["within"] < many/10 {
		t.Errorf("only %d runs were stopped", stopped["within"])
	}
}

func TestDrawnFiles(t *testing.T) {
	slow.Test(t)
	const many = 200
	r := newRig(t, "partner-key")
	r.o.MaxRejects = nil
	dice := rand.New(rand.NewPCG(42, 0))
	want := map[string]string{}
	refused, skipped := 0, 0
	for n := range many {
		d := draw(n, dice)
		key := fmt.Sprintf("%s/%04d.csv", today(1), n)
		r.take(t, d, key, fmt.Sprintf("drawn_%d", n/20)) // all pushes of a table are looked at for each
		said := fmt.Sprintf("file %d, %s, %q, %+v", n, d.kind, d.sep, d.format)
		checked, err := New(r.o).Check(t.Context(), files.Path{Name: key, Bucket: r.source, Key: key})
		if err != nil || checked.Skipped != int64(d.skipped) || checked.Duplicates != int64(d.duplicate) {
			t.Errorf("%s: %v; %d rows are skipped and %d are duplicates, want %d and %d", said, err, checked.Skipped,
				checked.Duplicates, d.skipped, d.duplicate)
		}
		if res := r.run(t); len(res.Errs) > 0 || res.Outcome.Rows != int64(len(d.books)) {
			t.Errorf("%s: %d rows and errors %v, want %d rows", said, res.Outcome.Rows, res.Errs, len(d.books))
		}
		if res := r.run(t); res.Outcome.Windows != 0 || res.Outcome.Requests != 0 {
			t.Errorf("%s: again: %+v", said, res)
		}
		if err := r.source.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range r.rejected(t, key) {
			row, rest, _ := strings.Cut(line, ",")
			field, _, _ := strings.Cut(rest, ",")
			got = append(got, row+","+field)
		}
		slices.Sort(got)
		slices.Sort(d.refused)
		if !slices.Equal(got, d.refused) {
			t.Errorf("%s: the rejects are %q, want %q\n%q", said, got, d.refused, r.rejected(t, key))
		}
		refused, skipped = refused+len(d.refused), skipped+d.skipped
		for id, amount := range d.books {
			want[id] = amount
		}
	}
	r.hasBooked(t, want, 0)
	if len(want) < 5*many || refused < many || skipped < many/8 {
		t.Errorf("%d records, %d refused and %d skipped are few", len(want), refused, skipped)
	}
	t.Logf("%d files, %d records, %d refused, %d skipped", many, len(want), refused, skipped)
}
