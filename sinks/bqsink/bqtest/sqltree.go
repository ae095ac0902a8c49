package bqtest

// An expr is a node of an expression: what op means decides what the rest is for.
type expr struct {
	op   string  // see below, or the name of a function or operator
	args []*expr // operands
	text string  // of a literal, the path of a column with dots, or the type of a CAST
	kind string  // type of a literal; "" for NULL
	flag bool    // DISTINCT of an aggregate, NOT of IS NULL, IN, BETWEEN and LIKE, the ELSE of a CASE
	safe bool    // SAFE. before a function: NULL instead of an error
	pos  int
	over *window
}

// Nodes that are no functions or operators.
const (
	opLiteral = "literal"
	opColumn  = "column"
	opStar    = "star" // * alone, or behind an alias
	opPart    = "part" // DAY, HOUR, ... as an argument
)

// A window is what stands behind OVER.
type window struct {
	partition []*expr
	order     []ordering
}

type ordering struct {
	by   *expr
	desc bool
}

// A selection is a query: one or more SELECTs joined by UNION ALL, with what stands around them.
type selection struct {
	with  []relation
	parts []*selectPart
	order []ordering
	limit *expr
	pos   int
}

// A selectPart is one SELECT.
type selectPart struct {
	distinct bool
	items    []selectItem
	from     []fromItem
	where    *expr
	groups   []*expr
	having   *expr
	qualify  *expr
	pos      int
}

type selectItem struct {
	value *expr // opStar for * and alias.*
	alias string
}

// A fromItem is a table, or a query in parentheses.
type fromItem struct {
	relation
	join string // how it is joined to what stands before it: "", "JOIN", "LEFT JOIN", "CROSS JOIN"
	on   *expr
}

// A relation is something with rows and a name.
type relation struct {
	alias string
	path  string // of a table
	query *selection
	pos   int
}

// A statement is what a query job does: exactly one of its parts is set.
type statement struct {
	query *selection
	del   *deletion
}

// A deletion is DELETE FROM table WHERE condition.
type deletion struct {
	table relation
	where *expr
}

func (e *expr) is(op string) bool { return e != nil && e.op == op }
