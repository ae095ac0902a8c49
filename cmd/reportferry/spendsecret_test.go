package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A gossip is a service that repeats in its answers what it was sent, the credential too, in every way it can.
func gossip(w http.ResponseWriter, r *http.Request, way string) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	id, key := form.Get("cost_id"), r.Header.Get("Authorization")
	quoted, _ := json.Marshal(id)
	words := fmt.Sprintf("cost_id %s of %s (%s) by %s is malformed; %s", id, body, url.PathEscape(id), key, strings.ToUpper(id))
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
		answer(422, "application/json", fmt.Sprintf(`{"error_code":%s,"error":"no","error_desc":"by %s","detail":[{"loc":[%s],"msg":%s}]}`, quoted, key, quoted, quoted))
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

// Whatever a service answers, and whatever is wrong with a file, nothing that the program says or keeps holds a Cost ID
// or a credential: logs at debug as text and JSON, run records, the ledger, and what the commands say afterwards. The
// rejects files alone hold rows.
func TestSpendOutputsKeepSecrets(t *testing.T) {
	t.Parallel()
	var way atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gossip(w, r, way.Load().(string)) }))
	t.Cleanup(server.Close)
	p := newSpendPlace(t, &service{url: server.URL})
	config := filepath.Join(p.dir, "reportferry.yml")
	data, err := os.ReadFile(config)
	check(t, err)
	check(t, os.WriteFile(config, []byte(strings.Replace(string(data), "token: ", "attempts: 2, patience: 3s, token: ", 1)), 0o600))
	folder := filepath.Join(p.dir, "in", time.Now().UTC().Format(time.DateOnly))
	check(t, os.MkdirAll(folder, 0o755))
	said := &strings.Builder{}
	say := func(patience time.Duration, args ...string) {
		cmd, out := p.command(t.Context(), append(args, "--log-level", "debug")...)
		check(t, cmd.Start())
		over := make(chan struct{})
		go func() {
			_ = cmd.Wait() // killed or refused
			close(over)
		}()
		select {
		case <-over:
		case <-time.After(patience): // it would try for long
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
			<-over
		}
		said.WriteString(out.String())
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const names = "cost_id,cost_type,cost_currency,spend,tag,time\n"
	ways := []string{"400", "401", "403", "404", "429", "500", "503", "201", "422-json", "html", "redirect", "status-line", "cut", "lost", "silent"}
	for _, w := range ways {
		way.Store(w)
		for _, format := range []string{"text", "json"} {
			var text strings.Builder
			text.WriteString(names)
			for n := range 6 {
				fmt.Fprintf(&text, "\"%s-%s-%s-%d/a b&c=ü%%'\"\"<x>\",cpc,usd,1,t,%s\n", ownID, w, format, n, time.Now().UTC().Format(time.RFC3339))
			}
			fmt.Fprintf(&text, "%s,cpc,usd,one,t,\n", ownID)
			patience := 1500 * time.Millisecond
			if w == "400" || w == "422-json" || w == "html" && format == "text" {
				patience = time.Minute // until it is done, or gives up
			}
			say(patience, "spend", "push", write(w+"-"+format+".csv", text.String()), "--log-format", format)
		}
	}
	way.Store("400")
	// Files whose trouble lies where a Cost ID is.
	good := ownID + "-of-a-good-row,cpc,usd,1,t," + time.Now().UTC().Format(time.RFC3339) + "\n"
	for name, text := range map[string]string{
		"no-names.csv": good + good, "quote.csv": names + good + ownID + "\"-quoted,cpc,usd,1,t,\n", "open-quote.csv": names + "\"" + good,
		"odd.jsonl": `{"cost_id":"` + ownID + `-odd","cost_type":"` + ownID + `-type"}` + "\n{" + ownID, "wrong-column.csv": "cost_type,cost_id,cost_currency,spend,tag,time\n" + good,
		"named.csv": ownID + ",b\n1,2\n", "nul.csv": names + ownID + "-\x00-nul,cpc,usd,1,t,\n", "latin.csv": names + ownID + "-caf\xe9-caf\xe9,cpc,usd,1,t,\n",
	} {
		say(time.Minute, "spend", "check", write(name, text))
		say(time.Minute, "spend", "push", filepath.Join(folder, name), "--log-format", "json")
	}
	server.Close() // nobody listens
	say(time.Second, "spend", "push", write("nobody.csv", names+good))
	for _, word := range []string{"the service answered 400", "401", "403", "503", "HTML", "isn't known", "2 attempts", "quote", "refused"} {
		if !strings.Contains(said.String(), word) && !p.inLedger(word) {
			t.Errorf("nothing says %q: the test shows little", word)
		}
	}
	p.keepsSecrets(said.String() + p.pages())
	rejects, err := os.ReadFile(filepath.Join(p.dir, "rejects", filepath.Base(folder), "400-text.csv.rejects.csv"))
	if err != nil || !strings.Contains(string(rejects), ownID) {
		t.Errorf("the rejects file has no rows: %v", err)
	}
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
