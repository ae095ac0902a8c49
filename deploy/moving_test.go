package deploy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config"
)

// The pages for those who come from another tool show good configs, and say truly until when their
// days are fetched again.
func TestMoving(t *testing.T) {
	yaml := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for page, want := range map[string]string{"ingestr": "14 [21 28]", "airbyte": "14 []", "script": "7 []"} {
		blocks := yaml.FindAllStringSubmatch(read(t, "moving/"+page+".md"), -1)
		if len(blocks) != 1 {
			t.Fatalf("%s.md has %d configs", page, len(blocks))
		}
		c, err := config.Parse(page, []byte(blocks[0][1]), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Errorf("%s.md: %v", page, err)
			continue
		}
		if r := c.Jobs[0].Report; fmt.Sprint(r.Lookback, " ", r.Horizons) != want {
			t.Errorf("%s.md: fetched again for %d days and at %v, want %s", page, r.Lookback, r.Horizons, want)
		}
		for _, w := range c.Warnings {
			t.Errorf("%s.md: %v", page, w)
		}
	}
	// The statements that compare take both sides from the two views, so that only these know the
	// tables.
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(read(t, "moving/README.md"),
		-1)[1:] {
		if strings.Contains(block[1], "read_") || !strings.Contains(block[1], "FROM was") {
			t.Errorf("a statement that doesn't read the views:\n%s", block[1])
		}
	}
}
