package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// An export is a file in the shape of a platform's own: the names of its columns are those of the
// page beside it, as far as that shows them, and its numbers are made up. In its text HOUR is an
// hour of yesterday as 2026-01-31T08, DAY that day, US the day as 1/31/2026, and EPOCH a time of
// that day in seconds.
type export struct {
	name, text string
	flags      string
	want       []string // of the records that arrive; or
	sums       string   // what the file has sums by
}

var exports = []export{
	// learn.microsoft.com/en-us/xandr/log-level-data/standard-feed; tabs between cells, NULL for
	// what isn't visible.
	{name: "xandr.tsv", flags: "--cost-type cpm",
		text: "auction_id_64\tdate_time\tevent_type\tbuyer_currency\tmedia_cost_dollars_cpm\tadvertiser_id\tcampaign_id\n" +
			"677373076784237441\tEPOCH\timp\tUSD\t1.25\t7\tNULL\n677373076784237442\tEPOCH\timp\tUSD\t0.975\t7\tNULL\n",
		want: []string{"677373076784237441 cpm usd 1.25 xandr", "677373076784237442 cpm usd 0.975 xandr"}},
	// support.kochava.com/advanced-tools/query-reference, click_properties.
	{name: "kochava-clicks.csv.zip", flags: "--constant cost_currency=USD",
		text: "click_id,date_received,cost_type,click_cost,country_code,app_name\nKC-0f8fad5b-d9cb,EPOCH,CPC,0.25," +
			"DE,Game\nKC-7c9e6679-7425,EPOCH,CPC,1.5,US,\"Game, too\"\n",
		want: []string{"KC-0f8fad5b-d9cb cpc usd 0.25 kochava-clicks", "KC-7c9e6679-7425 cpc usd 1.5 kochava-clicks"}},
	// developers.everflow.io/api-reference/post-affiliatesreportingclicksstream, the rows of its
	// table.
	{name: "everflow.json", flags: "--column cost_amount=revenue --column cost_currency=currency_id --cost-type cpc " +
		"--tag clicks",
		text: `[{"transaction_id":"0f8fad5bd9cb469fa165","is_unique":1,"unix_timestamp":EPOCH,"revenue_type":"cpc","revenue":0.5,"currency_id":"EUR","relationship":{"offer":{"network_offer_id":1}}},
			{"transaction_id":"7c9e667974254b3f8b71","is_unique":1,"unix_timestamp":EPOCH,"revenue_type":"cpc","revenue":2,"currency_id":"EUR","relationship":{}}]`,
		want: []string{"0f8fad5bd9cb469fa165 cpc eur 0.5 clicks", "7c9e667974254b3f8b71 cpc eur 2 clicks"}},
	// dev.kevel.com/docs/impression-log; a partner's spreadsheet of it, with signs, thousands, AM
	// and PM, and a row of totals.
	{name: "kevel.csv", flags: "--cost-type cpm",
		text: "sep=;\nImpression log;\nExported;DAY\n\nImpressionId;EventCreatedOn;CampaignId;Price\n" +
			"90e19b84e78f436286aa4195140c2998;US 8:05:00 PM;1331048;€1.234,50\n80e19b84e78f436286aa4195140c2999;US " +
			"9:15:30 AM;1331048;0,25 €\nTotal;;;€1.234,75\nExported by a person\n",
		want: []string{"90e19b84e78f436286aa4195140c2998 cpm eur 1234.5 kevel",
			"80e19b84e78f436286aa4195140c2999 cpm eur 0.25 kevel"}},
	// appmetrica.yandex.com/docs/en/mobile-api/logs/ref/clicks; the clicks have one price.
	{name: "appmetrica-DAY.csv", flags: "--constant cost_amount=0.12 --constant cost_currency=USD --cost-type cpc",
		text: "application_id,click_datetime,click_id,publisher_name,tracker_name,touch_type\n1,DAY " +
			"08:05:00,4930427281347811,Net,Summer,click\n1,DAY 09:05:00,4930427281347812,Net,Summer,click\n",
		want: []string{"4930427281347811 cpc usd 0.12 appmetrica", "4930427281347812 cpc usd 0.12 appmetrica"}},

	// developers.google.com/adwords/api/docs/appendix/reports, display names; titles above and rows
	// of totals below.
	{name: "google.csv", sums: "Day and Campaign",
		text: "Campaign report\n\"January 1, 2026 - January 31, 2026\"\nDay,Campaign,Campaign " +
			"ID,Currency,Cost,Impressions,Clicks\nDAY,Summer,20123456789,EUR,\"1,234.50\",10,2\nTotal: Account, --, " +
			"--,EUR,\"1,234.50\",10,2\n"},
	// After an export of Meta's Ads Manager; no document of its names was read.
	{name: "meta.csv", sums: "Reporting starts and Campaign name",
		text: "Reporting starts,Reporting ends,Campaign name,Campaign delivery,Results,Reach,Impressions,Amount " +
			"spent (EUR)\nDAY,DAY,Summer,active,3,50,90,12.5\n"},
	// After an export of TikTok's campaigns; no document of its names was read.
	{name: "tiktok.csv", sums: "By Day and Campaign name",
		text: "Campaign name,Campaign ID,By " +
			"Day,Cost,Impressions,Clicks,Currency\nSummer,1801234567890123456,DAY,12.50,900,4,USD\nTotal of 1 " +
			"results,-,-,12.50,900,4,USD\n"},
	// learn.microsoft.com/en-us/advertising/guides/reports: header, names as the columns, and a
	// footer.
	{name: "microsoft.csv", sums: "TimePeriod and AccountName",
		text: "\ufeff\"Report Name: Spend\"\n\"Report Time: DAY\"\n\"Rows: " +
			"1\"\n\n\"TimePeriod\",\"AccountName\",\"CampaignName\",\"CurrencyCode\",\"Impressions\",\"Clicks\"," +
			"\"Spend\"\n\"DAY\",\"Shop\",\"Summer\",\"USD\",\"900\",\"4\",\"12.50\"\n\n\"©2026 Microsoft " +
			"Corporation. All rights reserved. \"\n"},
	// yandex.com/dev/direct/doc/en/report-format: the report's name, the names, rows, and how many
	// they are.
	{name: "yandex.tsv", sums: "Date and CampaignName",
		text: "\"Spend (DAY - " +
			"DAY)\"\nDate\tCampaignName\tCampaignId\tImpressions\tClicks\tCost\nDAY\tSummer\t12345678\t900\t4\t12.50\nTotal rows: 1\n"},
}

// Files in the shape of ten platforms' own. Those by click or impression are pushed without an
// editor, and their records are in the service's books; those by day and campaign are recognised,
// and refused with the reason.
func TestPlatformsExports(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "2", "--days", "10")
	dir := t.TempDir()
	p := &place{t: t, dir: dir, token: "secret-token-of-the-test", env: []string{"TEST_KEY=" + spendKey,
		"ADJUST_TOKEN=secret-token-of-the-test"}, service: s}
	at := time.Now().UTC().AddDate(0, 0, -1)
	fill := strings.NewReplacer("DAY", at.Format(time.DateOnly))
	us := strings.NewReplacer("US ", at.Format("1/2/2006")+" ", "DAY", at.Format(time.DateOnly), "EPOCH",
		fmt.Sprint(at.Unix()))
	var want []string
	for _, e := range exports {
		name, text := fill.Replace(e.name), us.Replace(e.text)
		if strings.HasSuffix(name, ".zip") {
			text = zipOf(t, strings.TrimSuffix(name, ".zip"), text)
		}
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		job := strings.NewReplacer(".", "_", "-", "_").Replace(e.name[:strings.IndexAny(e.name, ".-")])
		init := append([]string{"spend", "init", name, "--out", job + ".yml", "--job", job, "--base-url", s.url,
			"--cost-url", s.url, "--key", "TEST_KEY"}, strings.Fields(e.flags)...)
		out, code := p.run(init...)
		if e.sums != "" {
			_, err := os.Stat(filepath.Join(dir, job+".yml"))
			if code != 2 || !strings.Contains(strings.Join(strings.Fields(out), " "),
				"it has sums by "+e.sums+", and no ID of a click or impression.") || !strings.Contains(out, "/cost") ||
				!os.IsNotExist(err) {
				t.Errorf("%s: exit code %d: %s", name, code, out)
			}
			continue
		}
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", name, code, out)
			continue
		}
		want = append(want, e.want...)
		for _, args := range [][]string{{"spend", "check"}, {"spend", "push"}, {"spend", "push"}} {
			if out, code := p.run(append(args, "--config", job+".yml", name)...); code != 0 {
				t.Errorf("%s of %s: exit code %d: %s", args, name, code, out)
			}
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(s.admin(t, http.MethodGet, "spend-records", nil))).ReadAll()
	check(t, err)
	var got []string
	for _, c := range rows[1:] {
		got = append(got, strings.Join(c[:5], " "))
		if c[7] != "1" {
			t.Errorf("%q came %s times", c, c[7])
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != 10 || !slices.Equal(got, want) {
		t.Errorf("the service has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// zipOf is a ZIP archive of one file.
func zipOf(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	check(t, err)
	_, err = f.Write([]byte(text))
	check(t, err)
	check(t, w.Close())
	return b.String()
}
