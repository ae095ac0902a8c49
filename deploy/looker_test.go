package deploy

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// The addresses that make a report in Looker Studio are as its Linking API has them, and name a
// table that views makes.
func TestLookerStudioAddresses(t *testing.T) {
	page := read(t, "bi/looker-studio.md")
	links := regexp.MustCompile(
		`\((https://lookerstudio\.google\.com/reporting/create\?[^)]+)\)`).FindAllStringSubmatch(page, -1)
	if len(links) != 2 {
		t.Fatalf("the page has %d addresses", len(links))
	}
	for i, link := range links {
		u, err := url.Parse(link[1])
		if err != nil || strings.ContainsAny(link[1], " \n") {
			t.Fatalf("%s: %v", link[1], err)
		}
		q := u.Query()
		for name, want := range map[string]string{"ds.ds0.connector": "bigQuery", "ds.ds0.type": "TABLE",
			"ds.ds0.projectId": "my-project", "ds.ds0.datasetId": "reportferry", "c.mode": "edit"} {
			if q.Get(name) != want {
				t.Errorf("address %d has %s=%s, want %s", i+1, name, q.Get(name), want)
			}
		}
		if table := q.Get("ds.ds0.tableId"); !strings.Contains(page, "`"+table+"`") &&
			table != "campaigns_daily_by_day_network_app" {
			t.Errorf("address %d names the table %s, of which the page says nothing", i+1, table)
		}
		if i == 0 { // the block above it is the same address, in three lines
			_, block, _ := strings.Cut(page, "```\n")
			block, _, _ = strings.Cut(block, "```")
			if strings.Join(strings.Fields(block), "") != link[1] {
				t.Errorf("the block and the link differ:\n%s\n%s", strings.Join(strings.Fields(block), ""), link[1])
			}
		}
	}
	if config := read(t, "config.yml"); !strings.Contains(config, "my-project/reportferry") ||
		!strings.Contains(config, "campaigns_daily") {
		t.Error("the config of this folder has another dataset, or another table, than the addresses")
	}
}
