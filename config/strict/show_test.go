package strict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config/strict"
)

// Keys are shown in the order of the table, with what they are once the file is read; a secret's
// reference stays one.
func TestShow(t *testing.T) {
	var b boat
	token, crew := "", []string(nil)
	o := boatObject(&b)
	o.Fields = append(o.Fields,
		strict.Required("token", strict.Reference(strict.Expr(`^\$\{\w+\}$`), "a reference"), &token, "${T}",
			"Secret."),
		strict.Optional("more", strict.TextsOf(strict.Text), &crew, "[a]",
			"More.").Noting(func() string { return fmt.Sprint(len(b.crew), " sail") }))
	o.Check = func(*strict.Decoder, strict.Node, map[string]strict.Node) { crew = []string{"taken ${from} elsewhere"} }
	env := func(string) (string, bool) { return "heron", true }
	hide := func(s string) string { return strings.TrimSuffix(s, " S3CRET") }
	text := "base: &b {no: 'Oslo S3CRET'}\n"
	if _, _, err := strict.Show([]byte(text), o, strict.Options{}, hide); err == nil {
		t.Error("an unknown key is shown")
	}
	text = "token: ${T}\nport: {<<: {no: '${N}'}, dk: '$${Ribe}'}\ncrew: [ana S3CRET, 0042]\nspeed: 1_0.5e1"
	shown, _, err := strict.Show([]byte(text), o, strict.Options{Env: env}, hide)
	const want = "[{name kestrel } {crew [ana 0042] without what may be secret} {speed 1_0.5e1 } {sails false } " +
		"{rest 2m } " +
		"{port [{dk $${Ribe} } {no heron }] } {token ${T} } {more [taken $${from} elsewhere] 2 sail}]"
	if got := fmt.Sprint(shown); err != nil || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	if spelled, is := shown[2].Value.(strict.Literal); !is {
		t.Errorf("the number is %T %v", spelled, spelled)
	}
}
