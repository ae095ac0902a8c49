package naive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// naiveVal is a value of SQL: NULL, an integer or a text. A NULL operand makes NULL, as in SQL.
type naiveVal struct {
	kind byte // 'n', 'i' or 's'
	i    int64
	s    string
}

var naiveNull = naiveVal{kind: 'n'}

func naiveInt(i int64) naiveVal   { return naiveVal{kind: 'i', i: i} }
func naiveText(s string) naiveVal { return naiveVal{kind: 's', s: s} }

func naiveTruth(b bool) naiveVal {
	if b {
		return naiveInt(1)
	}
	return naiveInt(0)
}

func (v naiveVal) is() bool { return v.kind == 'i' && v.i != 0 }

// naiveExpr is a row expression of the emulator's tables, read without SQLite.
type naiveExpr func(*naiveScope) naiveVal

// naiveReader reads the part of SQL that row expressions are written in: whole numbers, texts,
// columns, {placeholders}, arithmetic, comparisons, AND, OR, NOT, IN, CASE, and the functions min,
// max, abs and coalesce. Precedence is SQLite's.
type naiveReader struct {
	tokens []string
	column func(name string) (naiveExpr, error)
}

func naiveRead(sql string, column func(string) (naiveExpr, error)) (naiveExpr, error) {
	tokens, err := naiveTokens(sql)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", sql, err)
	}
	r := &naiveReader{tokens: tokens, column: column}
	e, err := r.or()
	if err == nil && len(r.tokens) > 0 {
		err = fmt.Errorf("unexpected %q", r.tokens[0])
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", sql, err)
	}
	return e, nil
}

func naiveWordChar(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func naiveTokens(sql string) (out []string, err error) {
	for i := 0; i < len(sql); {
		c := sql[i]
		end := i + 1
		switch {
		case c == ' ' || c == '\n' || c == '\t':
			i++
			continue
		case c == '\'':
			n := strings.IndexByte(sql[i+1:], '\'')
			if n < 0 {
				return nil, fmt.Errorf("an open text")
			}
			end = i + n + 2
		case c == '{':
			n := strings.IndexByte(sql[i:], '}')
			if n < 0 {
				return nil, fmt.Errorf("an open placeholder")
			}
			end = i + n + 1
		case naiveWordChar(c):
			for end < len(sql) && naiveWordChar(sql[end]) {
				end++
			}
		case i+1 < len(sql) && slices.Contains([]string{"<=", ">=", "<>", "!=", "==", "||"}, sql[i:i+2]):
			end = i + 2
		}
		out = append(out, sql[i:end])
		i = end
	}
	return out, nil
}

func (r *naiveReader) next() string {
	if len(r.tokens) == 0 {
		return ""
	}
	return r.tokens[0]
}

// take consumes the next token if it is one of words, without regard to case.
func (r *naiveReader) take(words ...string) (string, bool) {
	for _, w := range words {
		if strings.EqualFold(r.next(), w) && r.next() != "" {
			r.tokens = r.tokens[1:]
			return w, true
		}
	}
	return "", false
}

func (r *naiveReader) want(word string) error {
	if _, ok := r.take(word); !ok {
		return fmt.Errorf("found %q, want %q", r.next(), word)
	}
	return nil
}

// binary reads a row of operands joined by operators of one precedence.
func (r *naiveReader) binary(operand func() (naiveExpr, error), ops map[string]func(a, b naiveVal) naiveVal) (naiveExpr,
	error) {
	left, err := operand()
	for err == nil {
		op, ok := r.take(slices.Sorted(maps.Keys(ops))...)
		if !ok {
			break
		}
		var right naiveExpr
		if right, err = operand(); err != nil {
			break
		}
		a, b, do := left, right, ops[op]
		left = func(s *naiveScope) naiveVal { return do(a(s), b(s)) }
	}
	return left, err
}

// strict wraps an operator that gives NULL for NULL.
func naiveStrict(do func(a, b naiveVal) naiveVal) func(a, b naiveVal) naiveVal {
	return func(a, b naiveVal) naiveVal {
		if a.kind == 'n' || b.kind == 'n' {
			return naiveNull
		}
		return do(a, b)
	}
}

func naiveArithmetic(do func(a, b int64) int64) func(a, b naiveVal) naiveVal {
	return naiveStrict(func(a, b naiveVal) naiveVal {
		if a.kind != 'i' || b.kind != 'i' {
			panic(fmt.Sprintf("arithmetic over %v and %v", a, b))
		}
		return naiveInt(do(a.i, b.i))
	})
}

func naiveDivide(do func(a, b int64) int64) func(a, b naiveVal) naiveVal {
	return naiveStrict(func(a, b naiveVal) naiveVal {
		if b.i == 0 {
			return naiveNull
		}
		return naiveInt(do(a.i, b.i))
	})
}

func naiveCompare(a, b naiveVal) int {
	if a.kind != b.kind {
		return int(a.kind) - int(b.kind) // numbers before texts
	}
	if a.kind == 's' {
		return strings.Compare(a.s, b.s)
	}
	switch {
	case a.i < b.i:
		return -1
	case a.i > b.i:
		return 1
	}
	return 0
}

func naiveComparing(ok func(n int) bool) func(a, b naiveVal) naiveVal {
	return naiveStrict(func(a, b naiveVal) naiveVal { return naiveTruth(ok(naiveCompare(a, b))) })
}

var (
	naiveProducts = map[string]func(a, b naiveVal) naiveVal{"*": naiveArithmetic(func(a,
		b int64) int64 {
		return a * b
	}),
		"/": naiveDivide(func(a, b int64) int64 { return a / b }),
		"%": naiveDivide(func(a, b int64) int64 { return a % b })}
	naiveSums = map[string]func(a, b naiveVal) naiveVal{"+": naiveArithmetic(func(a, b int64) int64 { return a + b }),
		"-": naiveArithmetic(func(a, b int64) int64 { return a - b })}
	naiveOrders = map[string]func(a, b naiveVal) naiveVal{"<": naiveComparing(func(n int) bool { return n < 0 }),
		"<=": naiveComparing(func(n int) bool { return n <= 0 }),
		">":  naiveComparing(func(n int) bool { return n > 0 }),
		">=": naiveComparing(func(n int) bool { return n >= 0 })}
	naiveEqualities = map[string]func(a, b naiveVal) naiveVal{"=": naiveComparing(func(n int) bool { return n == 0 }),
		"==": naiveComparing(func(n int) bool { return n == 0 }),
		"<>": naiveComparing(func(n int) bool { return n != 0 }),
		"!=": naiveComparing(func(n int) bool { return n != 0 })}
	naiveAnds = map[string]func(a, b naiveVal) naiveVal{"AND": func(a, b naiveVal) naiveVal {
		if a.kind == 'i' && a.i == 0 || b.kind == 'i' && b.i == 0 {
			return naiveInt(0)
		}
		return naiveStrict(func(naiveVal, naiveVal) naiveVal { return naiveInt(1) })(a, b)
	}}
	naiveOrs = map[string]func(a, b naiveVal) naiveVal{"OR": func(a, b naiveVal) naiveVal {
		if a.is() || b.is() {
			return naiveInt(1)
		}
		return naiveStrict(func(naiveVal, naiveVal) naiveVal { return naiveInt(0) })(a, b)
	}}
)

func (r *naiveReader) or() (naiveExpr, error)    { return r.binary(r.and, naiveOrs) }
func (r *naiveReader) and() (naiveExpr, error)   { return r.binary(r.not, naiveAnds) }
func (r *naiveReader) order() (naiveExpr, error) { return r.binary(r.sum, naiveOrders) }
func (r *naiveReader) sum() (naiveExpr, error)   { return r.binary(r.product, naiveSums) }
func (r *naiveReader) product() (naiveExpr, error) {
	return r.binary(r.atom, naiveProducts)
}

func (r *naiveReader) not() (naiveExpr, error) {
	if _, ok := r.take("NOT"); !ok {
		return r.equality()
	}
	e, err := r.not()
	return func(s *naiveScope) naiveVal {
		v := e(s)
		if v.kind == 'n' {
			return v
		}
		return naiveTruth(!v.is())
	}, err
}

func (r *naiveReader) equality() (naiveExpr, error) {
	left, err := r.binary(r.order, naiveEqualities)
	if err != nil {
		return nil, err
	}
	no := false
	if len(r.tokens) > 1 && strings.EqualFold(r.tokens[1], "IN") {
		_, no = r.take("NOT")
	}
	if _, ok := r.take("IN"); !ok {
		return left, nil
	}
	list, err := r.list()
	return func(s *naiveScope) naiveVal {
		v, unknown := left(s), false
		for _, e := range list {
			same := naiveEqualities["="](v, e(s))
			if same.is() {
				return naiveTruth(!no)
			}
			unknown = unknown || same.kind == 'n'
		}
		if unknown {
			return naiveNull
		}
		return naiveTruth(no)
	}, err
}

// list reads expressions in parentheses.
func (r *naiveReader) list() (out []naiveExpr, err error) {
	if err := r.want("("); err != nil {
		return nil, err
	}
	for {
		e, err := r.or()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		if _, ok := r.take(","); !ok {
			return out, r.want(")")
		}
	}
}

func (r *naiveReader) atom() (naiveExpr, error) {
	token := r.next()
	if token == "" {
		return nil, fmt.Errorf("an operand is missing")
	}
	if token == "(" {
		list, err := r.list()
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("a list where a value should be")
		}
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	r.tokens = r.tokens[1:]
	if token == "-" || token == "+" {
		e, err := r.atom()
		if token == "+" {
			return e, err
		}
		return func(s *naiveScope) naiveVal { return naiveSums["-"](naiveInt(0), e(s)) }, err
	}
	if n, err := strconv.ParseInt(token, 10, 64); err == nil {
		return func(*naiveScope) naiveVal { return naiveInt(n) }, nil
	}
	if token[0] == '\'' {
		v := naiveText(strings.Trim(token, "'"))
		return func(*naiveScope) naiveVal { return v }, nil
	}
	if strings.EqualFold(token, "CASE") {
		return r.cases()
	}
	if r.next() == "(" {
		return r.call(strings.ToLower(token))
	}
	if token[0] != '{' && !strings.Contains(token, ".") {
		return nil, fmt.Errorf("unknown word %q", token)
	}
	return r.column(token)
}

func (r *naiveReader) call(name string) (naiveExpr, error) {
	args, err := r.list()
	if err != nil {
		return nil, err
	}
	pick := func(better func(n int) bool) naiveExpr {
		return func(s *naiveScope) naiveVal {
			best := args[0](s)
			for _, a := range args[1:] {
				v := a(s)
				if v.kind == 'n' || best.kind == 'n' {
					return naiveNull
				}
				if better(naiveCompare(v, best)) {
					best = v
				}
			}
			return best
		}
	}
	switch name {
	case "min":
		return pick(func(n int) bool { return n < 0 }), nil
	case "max":
		return pick(func(n int) bool { return n > 0 }), nil
	case "abs":
		return func(s *naiveScope) naiveVal {
			v := args[0](s)
			v.i = max(v.i, -v.i)
			return v
		}, nil
	case "coalesce":
		return func(s *naiveScope) naiveVal {
			for _, a := range args {
				if v := a(s); v.kind != 'n' {
					return v
				}
			}
			return naiveNull
		}, nil
	}
	return nil, fmt.Errorf("unknown function %q", name)
}

func (r *naiveReader) cases() (naiveExpr, error) {
	type branch struct{ when, then naiveExpr }
	var branches []branch
	otherwise := naiveExpr(func(*naiveScope) naiveVal { return naiveNull })
	for {
		if _, ok := r.take("WHEN"); !ok {
			break
		}
		when, err := r.or()
		if err == nil {
			err = r.want("THEN")
		}
		if err != nil {
			return nil, err
		}
		then, err := r.or()
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch{when, then})
	}
	if len(branches) == 0 {
		return nil, fmt.Errorf("CASE without WHEN")
	}
	if _, ok := r.take("ELSE"); ok {
		e, err := r.or()
		if err != nil {
			return nil, err
		}
		otherwise = e
	}
	return func(s *naiveScope) naiveVal {
		for _, b := range branches {
			if b.when(s).is() {
				return b.then(s)
			}
		}
		return otherwise(s)
	}, r.want("END")
}
