package pgsink

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reportferry/reportferry/internal/address"
	"github.com/reportferry/reportferry/sinks"
)

// A target is what a sink's URL says, without secrets.
type target struct {
	url    string // without its query
	store  string // the canonical identity of the store
	schema string
}

// urlForm ends the messages about a URL of another form.
const urlForm = "want postgres://user@host:5432/database/schema"

// connectTimeout bounds one attempt to connect, which would take minutes in a network that drops
// packets.
const connectTimeout = 10 * time.Second

// sslmodes are all the modes of TLS of libpq, and encrypted those that are never without TLS
// (https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION).
var (
	encrypted = []string{"require", "verify-ca", "verify-full"}
	sslmodes  = append([]string{"disable", "allow", "prefer"}, encrypted...)
)

// parseURL returns the target, and the config for connecting to it.
func parseURL(rawURL string) (t target, config *pgxpool.Config, err error) {
	u, err := url.Parse(rawURL)
	if err != nil { // the error's text contains the URL
		return t, nil, errors.New("not a URL; " + urlForm +
			"; in a password, write @ / : ? # % as %40 %2F %3A %3F %23 %25")
	}
	database, schema, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return t, nil, errors.New("the parameters after the ? can't be parsed; " + urlForm)
	case u.Fragment != "":
		return t, nil, errors.New("a # means nothing here; in a password, write it as %23")
	case database == "" || strings.Contains(schema, "/"):
		return t, nil, errors.New("behind the host stand the database and, if it isn't public, the schema; " + urlForm)
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return t, nil, fmt.Errorf("parameter %s: want one value", name)
		}
		if !slices.Contains([]string{"sslmode", "sslrootcert", "sslcert", "sslkey", "host"}, name) {
			return t, nil, fmt.Errorf("parameter %s: unknown; known parameters are host, sslcert, sslkey, sslmode "+
				"and sslrootcert", name)
		}
	}
	socket := query.Get("host")
	if (socket == "") == (u.Hostname() == "") || socket != "" && !path.IsAbs(socket) {
		return t, nil, errors.New("want one host in the URL, or the folder of a Unix socket by host=/folder; " +
			urlForm)
	}
	t = target{url: sinks.Redact(rawURL), schema: cmp.Or(schema, "public")}
	host, port := cmp.Or(socket, strings.ToLower(u.Hostname())), cmp.Or(u.Port(), "5432")
	t.store = "postgres://" + net.JoinHostPort(host, port) + "/" + database + "/" + t.schema
	// The password is left out of this text, so that no error of the library can repeat it.
	words := map[string]string{"host": host, "port": port, "dbname": database, "user": u.User.Username()}
	for _, name := range []string{"sslmode", "sslrootcert", "sslcert", "sslkey"} {
		words[name] = query.Get(name)
	}
	if config, err = connection(words, socket != "" || address.Loopback(host)); err != nil {
		return t, nil, err
	}
	if password, has := u.User.Password(); has {
		config.ConnConfig.Password = password
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.ConnConfig.RuntimeParams["application_name"] = "reportferry"
	// A pooler in transaction mode keeps no prepared statements.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	return t, config, nil
}

// connection returns the config for connecting, from these keywords and from what the library reads
// in the environment. It ensures that rows and passwords never go through a network unencrypted.
func connection(words map[string]string, local bool) (*pgxpool.Config, error) {
	mode := words["sslmode"]
	switch {
	case mode != "" && !slices.Contains(sslmodes, mode):
		return nil, fmt.Errorf("sslmode=%s: want one of %s", mode, strings.Join(sslmodes, ", "))
	case mode != "" && !local && !slices.Contains(encrypted, mode):
		return nil, fmt.Errorf("sslmode=%s would send rows, and perhaps the password, unencrypted; want at least "+
			"sslmode=require, "+
			"or verify-full, which also checks whose server it is; only a server on this machine is spoken to without",
			mode)
	}
	config, err := pgxpool.ParseConfig(keywords(words))
	if err == nil && !local && mayBeUnencrypted(config) { // no TLS mode was given, or the environment allows plain text
		words["sslmode"] = "require"
		config, err = pgxpool.ParseConfig(keywords(words))
	}
	return config, err
}

// mayBeUnencrypted reports whether a connection may be unencrypted.
func mayBeUnencrypted(config *pgxpool.Config) bool {
	return config.ConnConfig.TLSConfig == nil ||
		slices.ContainsFunc(config.ConnConfig.Fallbacks,
			func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}

// keywords returns the pairs in libpq's form key='value'
// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-KEYWORD-VALUE).
func keywords(words map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(words)) {
		if value := words[key]; value != "" {
			pairs = append(pairs, key+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)+"'")
		}
	}
	return strings.Join(pairs, " ")
}
