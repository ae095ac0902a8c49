package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// A gossip is a service that repeats in its answers what it was sent, the credential too, in every
// way it can.
func gossip(w http.ResponseWriter, r *http.Request, way string) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	id, key := form.Get("cost_id"), r.Header.Get("Authorization")
	quoted, _ := json.Marshal(id)
	words := fmt.Sprintf("cost_id %s of %s (%s) by %s is malformed; %s", id, body, url.PathEscape(id), key,
		strings.ToUpper(id))
	answer := func(status int, kind, text string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
	switch way {
	case "400", "401", "403", "404", "429", "500", "503", "201":
		var status int
		_, _ = fmt.Sscan(way, &status)
		answer(status, "text/plain", words)
	case "422-json":
		answer(422, "application/json",
			fmt.Sprintf(`{"error_code":%s,"error":"no","error_desc":"by %s","detail":[{"loc":[%s],"msg":%s}]}`, quoted,
				key, quoted, quoted))
	case "html":
		answer(200, "text/html", "<p>"+html.EscapeString(words))
	case "redirect":
		w.Header().Set("Location", "/sorry?"+string(body)+"&key="+url.QueryEscape(key))
		answer(302, "text/plain", words)
	case "status-line", "cut", "lost":
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		switch way {
		case "status-line":
			_, _ = fmt.Fprintf(rw, "HTTP/1.1 %s %s\r\n\r\n", url.PathEscape(id), key)
		case "cut":
			_, _ = fmt.Fprintf(rw, "HTTP/1.1 400 no\r\nContent-Length: 9999\r\n\r\n%s", words)
		}
		_ = rw.Flush()
		_ = conn.Close()
	case "silent":
		<-r.Context().Done()
	}
}

// ways are those in which a gossip answers, each to a place of its own. Those that are marked come
// to an end by themselves.
var ways = map[string]bool{
	"400": true, "401": false, "403": false, "404": false, "429": false, "500": false, "503": false, "201": false,
	"422-json": true, "html": true,
	"redirect": false, "status-line": false, "cut": false, "lost": false, "silent": false,
}

// Whatever a service answers, and whatever is wrong with a file, nothing that the program says or
// keeps holds a Cost ID or a credential: logs at debug as text and JSON, run records, the ledger,
// and what the commands say afterwards. The rejects files alone hold rows.
func TestSpendOutputsKeepSecrets(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	var mu sync.Mutex
	said, ledgers := &strings.Builder{}, []*place{}
	note := func(p *place, text string) {
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(text)
		ledgers = append(ledgers, p)
	}
	t.Run("ways", func(t *testing.T) {
		for way, ends := range ways {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				g := newGossip(t, way)
				for _, format := range []string{"text", "json"} {
					var text strings.Builder
					text.WriteString(spendNames)
					for n := range 6 {
						fmt.Fprintf(&text, "\"%s-%s-%s-%d/a b&c=ü%%'\"\"<x>\",cpc,usd,1,t,%s\n", ownID, way, format, n,
							time.Now().UTC().Format(time.RFC3339))
					}
					fmt.Fprintf(&text, "%s,cpc,usd,one,t,\n", ownID)
					patience := 1500 * time.Millisecond
					if ends && (way != "html" || format == "text") {
						patience = time.Minute // until it is done, or gives up
					}
					g.say(patience, "spend", "push", g.write(way+"-"+format+".csv", text.String()), "--log-format",
						format)
				}
				if way == "400" {
					g.spoilt()
					rejects, err := os.ReadFile(filepath.Join(g.dir, "rejects", filepath.Base(g.folder),
						"400-text.csv.rejects.csv"))
					if err != nil || !strings.Contains(string(rejects), ownID) {
						t.Errorf("the rejects file has no rows: %v", err)
					}
					g.keepsSecrets(g.pages())
				}
				g.keptSecrets(g.said.String(), map[string]string{})
				note(g.place, g.said.String())
			})
		}
	})
	for _, word := range []string{"the service answered 400", "401", "403", "503", "HTML", "isn't known", "2 attempts",
		"quote", "refused"} {
		if !strings.Contains(said.String(), word) && !slices.ContainsFunc(ledgers,
			func(p *place) bool { return p.inLedger(word) }) {
			t.Errorf("nothing says %q: the test shows little", word)
		}
	}
}

const spendNames = "cost_id,cost_type,cost_currency,spend,tag,time\n"

// A gossipPlace pushes files of one day to a gossip, and keeps what it says.
type gossipPlace struct {
	*place
	folder string
	said   strings.Builder
	server *httptest.Server
}

func newGossip(t *testing.T, way string) *gossipPlace {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gossip(w, r, way) }))
	t.Cleanup(server.Close)
	g := &gossipPlace{place: newSpendPlace(t, &service{url: server.URL}), server: server}
	g.edit(t, "token: ", "attempts: 2, patience: 3s, token: ")
	g.folder = filepath.Join(g.dir, "in", time.Now().UTC().Format(time.DateOnly))
	check(t, os.MkdirAll(g.folder, 0o755))
	return g
}

func (g *gossipPlace) write(name, text string) string {
	path := filepath.Join(g.folder, name)
	check(g.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// say runs a command, and interrupts it when it would try for longer.
func (g *gossipPlace) say(patience time.Duration, args ...string) {
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	cmd, out := g.command(ctx, append(args, "--log-level", "debug")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	_ = cmd.Run() // interrupted or refused
	g.said.WriteString(out.String())
}

// spoilt pushes files whose trouble lies where a Cost ID is, and one when nobody listens.
func (g *gossipPlace) spoilt() {
	good := ownID + "-of-a-good-row,cpc,usd,1,t," + time.Now().UTC().Format(time.RFC3339) + "\n"
	for name, text := range map[string]string{
		"no-names.csv": good + good, "quote.csv": spendNames + good + ownID + "\"-quoted,cpc,usd,1,t,\n",
		"open-quote.csv":   spendNames + "\"" + good,
		"odd.jsonl":        `{"cost_id":"` + ownID + `-odd","cost_type":"` + ownID + `-type"}` + "\n{" + ownID,
		"wrong-column.csv": "cost_type,cost_id,cost_currency,spend,tag,time\n" + good,
		"named.csv":        ownID + ",b\n1,2\n", "nul.csv": spendNames + ownID + "-\x00-nul,cpc,usd,1,t,\n",
		"latin.csv": spendNames + ownID + "-caf\xe9-caf\xe9,cpc,usd,1,t,\n",
	} {
		g.say(time.Minute, "spend", "check", g.write(name, text))
		g.say(time.Minute, "spend", "push", filepath.Join(g.folder, name), "--log-format", "json")
	}
	g.server.Close()
	g.say(time.Second, "spend", "push", g.write("nobody.csv", spendNames+good))
}

// pages are all pages of the console, as an export has them.
func (p *place) pages() string {
	p.t.Helper()
	to := filepath.Join(p.t.TempDir(), "pages")
	if out, code := p.run("console", "--export", to); code != 0 {
		p.t.Fatalf("exit code %d: %s", code, out)
	}
	var all strings.Builder
	n := 0
	check(p.t, filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		n++
		return err
	}))
	if n < 5 || !strings.Contains(all.String(), "400-text.csv") {
		p.t.Errorf("%d pages, and no file of spend is on them", n)
	}
	return all.String()
}

// inLedger looks for a word in the ledger's files.
func (p *place) inLedger(word string) (found bool) {
	check(p.t, filepath.WalkDir(filepath.Join(p.dir, "ledger"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || found {
			return err
		}
		data, err := os.ReadFile(path)
		found = strings.Contains(string(data), word)
		return err
	}))
	return found
}
