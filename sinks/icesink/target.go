package icesink

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/reportferry/reportferry/internal/address"
	"github.com/reportferry/reportferry/internal/rooted"
	"github.com/reportferry/reportferry/sinks"
)

// A target is what a sink's URL says.
type target struct {
	url        string // without its query, which may hold secrets
	store      string // the identity
	name       string // of the catalog
	namespace  []string
	properties iceberg.Properties
}

// urlForm ends the messages about a URL of another form.
const urlForm = "want iceberg://catalog/namespace?type=rest&uri=https://catalog.example.com&warehouse=NAME"

// keys are the configuration keys that a URL may have, besides those that begin with one of
// prefixes. Others are refused, because the library would ignore a misspelt key. The keys are those
// of https://py.iceberg.apache.org/configuration that the library for Go knows as well.
var (
	keys = []string{
		"type", "uri", "warehouse", "credential", "token", "scope", "audience", "resource", "prefix",
		"oauth2-server-uri", "client.region",
		"rest.sigv4-enabled", "rest.signing-region", "rest.signing-name",
		"s3.region", "s3.endpoint", "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.proxy-uri",
		"s3.connect-timeout",
		"s3.force-virtual-addressing", "s3.remote-signing-enabled", "s3.signer.uri", "s3.compat-mode",
		"gcs.endpoint", "gcs.keypath", "gcs.jsonkey", "gcs.credtype", "gcs.usejsonapi", "gcs.oauth2.token",
		"adls.auth.shared-key.account.name", "adls.auth.shared-key.account.key", "adls.endpoint", "adls.protocol",
		"adls.auth.managed-identity.enabled", "adls.client-id",
		"glue.id", "glue.region", "glue.endpoint", "glue.skip-archive", "glue.access-key-id", "glue.secret-access-key",
		"glue.session-token",
		"jdbc.schema-version",
	}
	prefixes = []string{"header.", "adls.sas-token.", "adls.connection-string."}
)

// parseURL reads and checks a sink's URL.
func parseURL(rawURL string) (t target, err error) {
	u, err := url.Parse(rawURL)
	if err != nil { // not wrapped: its text has the URL, which may hold secrets
		return t, errors.New("not a URL; " + urlForm + "; in a parameter, write # % & + as %23 %25 %26 %2B")
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return t, errors.New("the parameters after the ? can't be parsed; " + urlForm)
	case u.Fragment != "":
		return t, errors.New("a # means nothing here; in a parameter, write it as %23")
	case u.User != nil:
		return t, errors.New("a user means nothing before the catalog's name; credentials are parameters, such as " +
			"credential=${CATALOG_CREDENTIAL}")
	}
	t = target{url: sinks.Redact(rawURL), name: u.Host, properties: iceberg.Properties{}}
	t.namespace = strings.Split(strings.Trim(u.Path, "/"), ".")
	if t.name == "" || slices.Contains(t.namespace, "") || strings.Contains(strings.Trim(u.Path, "/"), "/") {
		return t, errors.New("behind the catalog's name stands the namespace, with a dot between its levels; " +
			urlForm)
	}
	for name, values := range query {
		known := slices.Contains(keys, name) || slices.ContainsFunc(prefixes,
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		switch {
		case !known:
			return t, fmt.Errorf("parameter %s: unknown; known are the keys of catalogs and stores, such as type, "+
				"uri, warehouse, credential, token, "+
				"scope, s3.region, s3.endpoint and glue.region", name)
		case len(values) != 1 || values[0] == "":
			return t, fmt.Errorf("parameter %s: want one value", name)
		}
		t.properties[name] = values[0]
	}
	if err := t.complete(); err != nil {
		return t, err
	}
	t.store = t.identity()
	return t, nil
}

// complete checks the parameters of each type of catalog, and changes them to the form that the
// library takes.
func (t *target) complete() error {
	uri, warehouse := t.properties["uri"], t.properties["warehouse"]
	switch of := t.properties["type"]; of {
	case "rest":
		at, err := url.Parse(uri)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
			return errors.New("parameter uri: want the address of the catalog, such as https://catalog.example.com/api")
		}
		secret := t.properties["credential"] != "" || t.properties["token"] != ""
		if secret && at.Scheme == "http" && !address.Loopback(at.Hostname()) {
			return errors.New("parameter uri: http:// would send the credential unencrypted; want https://, or a " +
				"catalog on this machine")
		}
	case "glue":
		if warehouse == "" {
			return errors.New("parameter warehouse: want the place of new tables, such as s3://bucket/warehouse")
		}
	case "sql":
		if err := t.database(uri); err != nil {
			return err
		}
		if warehouse == "" {
			return errors.New("parameter warehouse: want the place of new tables, such as s3://bucket/warehouse or " +
				"file:///folder")
		}
	case "":
		return errors.New("parameter type: want rest, glue or sql; " + urlForm)
	default:
		return fmt.Errorf("parameter type: %s isn't a catalog that is known; want rest, glue or sql", of)
	}
	if local, is := strings.CutPrefix(warehouse, "file://"); is && !strings.HasPrefix(local, "/") {
		folder, err := filepath.Abs(local)
		if err != nil {
			return err
		}
		t.properties["warehouse"] = "file://" + folder
	}
	return nil
}

// database sets the driver and the address of a catalog in a database. uri is written as for
// PyIceberg: sqlite:///file or postgresql://user@host/database.
func (t *target) database(uri string) error {
	scheme, rest, _ := strings.Cut(uri, "://")
	scheme, _, _ = strings.Cut(scheme, "+") // leaves out a driver of another language
	switch scheme {
	case "sqlite":
		file := strings.TrimPrefix(rest, "/") // sqlite:////folder/file is absolute
		if file == "" {
			return errors.New("parameter uri: want the database's file, such as sqlite:///catalog.db")
		}
		t.properties["sql.driver"], t.properties["sql.dialect"] = "sqlite", "sqlite"
		t.properties["uri"] = "file:" + (&url.URL{Path: file}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	case "postgres", "postgresql":
		t.properties["sql.driver"], t.properties["sql.dialect"] = "pgx", "postgres"
		t.properties["uri"] = "postgres://" + rest
	default:
		return errors.New("parameter uri: want the catalog's database, such as sqlite:///catalog.db or " +
			"postgresql://user@host/database")
	}
	return nil
}

// identity returns what tells this store from others, without secrets.
func (t *target) identity() string {
	p := t.properties
	uri := p["uri"]
	if u, err := url.Parse(uri); err == nil {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		uri = u.String()
	}
	if file, was := rooted.Cut(uri); was && strings.HasPrefix(uri, "file:") {
		uri = "file:" + file
	}
	parts := []string{"iceberg", p["type"], strings.TrimRight(uri, "/")}
	if p["type"] == "glue" {
		parts = append(parts, p["glue.id"], p["glue.region"], p["glue.endpoint"])
	}
	if p["type"] == "sql" {
		parts = append(parts, t.name) // one database may hold several catalogs
	} else {
		parts = append(parts, p["prefix"])
	}
	return strings.Join(append(parts, p["warehouse"], strings.Join(t.namespace, ".")), " ")
}
