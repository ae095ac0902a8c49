package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
	"github.com/reportferry/reportferry/sinks/pgsink"
)

// inCatalogs are the dialects of engines that read an Iceberg catalog.
var inCatalogs = []views.Dialect{views.Trino, views.Spark, views.DuckDB}

// DialectsOf returns the names of the SQL dialects of the engines that read a sink with this URL.
func DialectsOf(url string) (names []string) {
	switch scheme, _, _ := strings.Cut(url, ":"); scheme {
	case "bigquery":
		return []string{views.BigQuery.Name}
	case "postgres":
		return []string{views.Postgres.Name}
	case "iceberg":
		for _, d := range inCatalogs {
			names = append(names, d.Name)
		}
		return names
	}
	return []string{views.DuckDB.Name}
}

// dialectNames returns the names of all dialects.
func dialectNames() []string {
	return append([]string{views.BigQuery.Name, views.Postgres.Name}, DialectsOf("iceberg:")...)
}

// oneOf joins words, as in "a, b or c".
func oneOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// A fileSink is a sink whose tables are files, which readers find by a pattern.
type fileSink interface{ Pattern(table string) string }

// A catalogSink is a sink whose tables are in a namespace of an Iceberg catalog.
type catalogSink interface {
	Catalog() string
	Namespace() []string
}

// A Reading says how an engine reads a sink, and which state tables it can read there. Those say
// which partitions are final, and what was restated. In a Place, Table names what the sink holds,
// and Named a view that is made beside it. sinks.Flat is how sinks without folders name a state
// table.
type Reading struct {
	views.Place
	// Whole is what the view of the table itself reads. It is empty where views are made beside the
	// table; DuckDB makes them in a database of its own, which needs one of the table too.
	Whole      string
	States     map[string][]string // state tables by kind, as FROM names them; nil for a kind without any
	Partitions string              // the state table that has the job's own partitions; empty if there is none yet
	Freshness  string              // the table or view that says how fresh tables are
	Prefix     string              // begins the names of the state tables
	Longest    int                 // most bytes that a view's name may have; 0: no limit
}

// readingOf returns how a job's table is read in a sink. It needs a dialect only where several
// engines read the sink, and the caller has checked it.
func readingOf(ctx context.Context, s *wire.Session, target ledger.Target, table, dialect string) (r Reading,
	err error) {
	prefix := cmp.Or(s.Config.States, state.Prefix)
	own, err := StateTables(ctx, s.Ledger, prefix, []string{table})
	if err != nil {
		return r, err
	}
	partitions := sinks.Derived(prefix+state.Partitions, table)
	switch at := target.Sink.(type) {
	case *bqsink.Sink: // a wildcard stands for the tables of all jobs; each table that a query names is paid for
		named := func(name string) string { return views.BigQuery.Quote(at.Named(name)) }
		r = Reading{Place: views.Place{Dialect: views.BigQuery, Table: named, Named: named},
			States:     map[string][]string{},
			Partitions: named(sinks.Flat(partitions)), Freshness: named("INFORMATION_SCHEMA.PARTITIONS")}
		for kind := range own {
			r.States[kind] = []string{named(prefix + kind + "_*")}
		}
	case *pgsink.Sink:
		r.Place, r.Longest = views.Place{Dialect: views.Postgres, Table: at.Named, Named: at.Named}, pgsink.LongestName
		r.Partitions = r.Table(sinks.Flat(partitions))
	case catalogSink:
		i := slices.IndexFunc(inCatalogs, func(d views.Dialect) bool { return d.Name == dialect })
		r.Place = views.InCatalog(inCatalogs[i], at.Catalog(), at.Namespace())
		r.Partitions = r.Table(sinks.Flat(partitions))
		if dialect == views.DuckDB.Name {
			r.Whole = r.Table(table)
		}
	case fileSink:
		quote, scan := views.DuckDB.Quote, func(table string) string { return see.DuckDBScan(at.Pattern(table), false) }
		r.Place, r.Whole, r.States = views.Place{Dialect: views.DuckDB, Table: quote, Named: quote},
			see.DuckDBScan(at.Pattern(table), true), map[string][]string{}
		for kind := range own {
			r.States[kind] = []string{scan(sinks.Derived(prefix+kind, "*"))}
		}
		r.Partitions = scan(partitions)
	default:
		return r, fmt.Errorf("%w: no engine is known that reads %s", ledger.ErrRefused, target.Name)
	}
	r.Prefix, r.Freshness = prefix, cmp.Or(r.Freshness, r.Named(prefix+state.Partitions))
	if own[state.Partitions] == nil {
		r.Partitions = ""
	}
	if r.States != nil {
		return r, nil
	}
	// No wildcard stands for the state tables, so each one is named.
	beside, err := tablesIn(ctx, s, target)
	if err != nil {
		return r, err
	}
	tables, err := StateTables(ctx, s.Ledger, prefix, beside)
	r.States = map[string][]string{}
	for kind, of := range tables {
		for _, table := range of {
			r.States[kind] = append(r.States[kind], r.Table(sinks.Flat(sinks.Derived(prefix+kind, table))))
		}
	}
	return r, err
}

// tablesIn returns the tables of all jobs that have a sink in the target's store, in the config's
// order.
func tablesIn(ctx context.Context, s *wire.Session, target ledger.Target) (tables []string, err error) {
	scheme, _, _ := strings.Cut(target.Name, ":")
	for _, c := range s.Config.Jobs {
		for _, url := range c.Sinks {
			if !strings.HasPrefix(url, scheme+":") {
				continue
			}
			sink, err := s.OpenSink(ctx, url)
			if err != nil {
				return nil, fmt.Errorf("look whether job %s has a table beside this one: %w", c.Name, err)
			}
			if sink.Store() == target.Store {
				tables = append(tables, c.Table)
				break
			}
		}
	}
	return tables, nil
}

// StateTables returns, for each of StateKinds, those of the tables that have rows in a table of
// states of this kind. For the others there is no such table, and a view on it couldn't be made.
// The error is the ledger's.
func StateTables(ctx context.Context, l *ledger.Ledger, prefix string, tables []string) (byKind map[string][]string,
	err error) {
	byKind = map[string][]string{}
	for _, name := range tables {
		t, err := l.Table(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, kind := range StateKinds {
			if len(t.Derived(prefix+kind).Records()) > 0 {
				byKind[kind] = append(byKind[kind], name)
			}
		}
	}
	return byKind, nil
}

// Views returns the views of a table, in the order in which they can be made, because some read
// others. BigQuery makes no view on a table that doesn't exist; elsewhere such a view has no rows.
// No view has rows of another meaning, such as of another currency, so that nobody adds them to the
// other rows.
func (r Reading) Views(t views.Table, long ...views.Long) (list []views.View, err error) {
	where := r.where(t)
	if r.Whole != "" {
		list = append(list, views.View{Name: t.Name, Query: "SELECT * FROM " + r.Whole + where})
		where = ""
	}
	sums, err := r.Summed(t, where)
	if err != nil {
		return nil, err
	}
	list = append(list, sums)
	for _, l := range long {
		v, err := r.Long(l, where)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	all := r.Name != views.BigQuery.Name
	for _, kind := range StateKinds {
		if all || r.States[kind] != nil {
			list = append(list, r.StateUnion(r.Prefix+kind, stateColumns(kind), r.States[kind]))
		}
	}
	if all || r.States[state.Partitions] != nil {
		list = append(list, r.Final(t, cmp.Or(r.Partitions, r.Named(r.Prefix+state.Partitions))))
	}
	list = append(list, r.Fresh(r.Prefix, r.Freshness))
	for _, v := range list {
		if r.Longest > 0 && len(v.Name) > r.Longest {
			return nil, fmt.Errorf("%w: the name of the view %s is longer than the %d bytes of a name in %s; keep "+
				"fewer dimensions by --by, or give the job a shorter table",
				ledger.ErrRefused, v.Name, r.Longest, r.Name)
		}
	}
	return list, nil
}

// where returns the WHERE clause that leaves out the rows of another meaning. It is empty when
// there is no table of partitions yet.
func (r Reading) where(t views.Table) string {
	if r.Partitions == "" {
		return ""
	}
	return r.Without(t, r.Partitions, state.OtherMeaning)
}

// accountColumn is the first column of the view over the tables of all accounts.
const accountColumn = "account"

// member returns an account's table as a part of the view over the tables of all accounts. Where
// the table has a view of its own, the part reads that, which has no rows of another meaning.
func (r Reading) member(account string, t views.Table, s *sinks.Schema) (m views.Member, err error) {
	m = views.Member{Name: account, Rows: r.Table(t.Name) + r.where(t)}
	if r.Whole != "" {
		m.Rows = r.Named(t.Name)
	}
	for _, c := range s.Columns {
		if c.Name == accountColumn {
			return m, fmt.Errorf("%w: its table has a column %s, which --union adds; leave --union out",
				ledger.ErrRefused, accountColumn)
		}
		m.Columns = append(m.Columns, views.Column{Name: c.Name, Type: columnTypes[c.Type]})
	}
	return m, nil
}

// columnTypes maps the types of sinks' columns to the catalogue's types.
var columnTypes = map[sinks.ColumnType]catalog.Type{
	sinks.String: catalog.String, sinks.Date: catalog.Day, sinks.DateTime: catalog.Hour, sinks.Instant: catalog.Instant,
	sinks.Int64: catalog.Int64, sinks.Decimal: catalog.Decimal, sinks.Double: catalog.Double,
}

// stateColumns returns the columns of a table of states of a kind.
func stateColumns(kind string) (list []views.Column) {
	for _, c := range state.Columns(kind) {
		list = append(list, views.Column{Name: c.Name, Type: c.Type})
	}
	return list
}
