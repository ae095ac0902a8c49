package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// An Account is one of several accounts of the service. Values that it doesn't have are those of
// Service, except for the account's ID.
type Account struct {
	Name      string
	Token     string // a reference, as in Service; empty: that of Service
	AccountID string // sent as X-Account-ID; may be empty
	InFlight  int    // requests at a time; 0: as many as Service says

	key      strict.Node // its key in the file
	hasToken bool        // the file has a token for it, though perhaps a wrong one
}

// ServiceOf returns Service with the values of an account. The empty name stands for jobs without
// an account.
func (c *Config) ServiceOf(account string) Service {
	s := c.Service
	if a := c.account(account); a != nil {
		s.Account, s.AccountID = a.Name, a.AccountID
		s.Token, s.InFlight = cmp.Or(a.Token, s.Token), cmp.Or(a.InFlight, s.InFlight)
	}
	return s
}

// account returns the account of a name, or nil if there is none.
func (c *Config) account(name string) *Account {
	if i := slices.IndexFunc(c.Accounts, func(a *Account) bool { return a.Name == name }); i >= 0 {
		return c.Accounts[i]
	}
	return nil
}

// NoAccount returns the end of a message about a name that no account has.
func (c *Config) NoAccount(name string) string {
	var names []string
	for _, a := range c.Accounts {
		names = append(names, a.Name)
	}
	if near := strict.DidYouMean(name, names); near != "" || len(names) == 0 {
		return cmp.Or(near, "; the config has none: they stand under accounts, at the top, as in accounts: "+
			"{client_a: {token: ${TOKEN_A}}}")
	}
	if len(names) > 6 {
		names = append(names[:6], "...")
	}
	return "; the config has " + strings.Join(names, ", ")
}

// everyAccount stands for all accounts, so no account may have this name.
const everyAccount = "all"

var (
	accountForm = strict.Expr(`^[a-z0-9][a-z0-9_]{0,62}$`)
	accountName = strict.Matching(accountForm, accountWords)
)

const accountWords = "the name of an account: up to 63 small letters, digits and underscores, as in client_a, " +
	"because tables are named by it"

// accountObject describes the keys of an account, which fill a.
func accountObject(a *Account) strict.Object {
	return strict.Object{What: "account " + a.Name, Fields: []strict.Field{
		shape.Place("token", token, &a.Token, "${TOKEN_A}",
			"Where the account's API token is kept, never the token itself. Without the key it is that of service."),
		strict.Optional("account_id", strict.Word, &a.AccountID, "1234",
			"The account that is asked for, when the token's user has several. That of service isn't sent for it."),
		strict.Optional("in_flight", strict.Whole(1, 1000), &a.InFlight, "4",
			"Requests at a time at most of this account. Without the key it is in_flight of service."),
	}}
}

// accounts reads the key accounts at the top: a mapping of names to accounts, in the file's order.
var accounts = strict.Shape[[]*Account]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (list []*Account, ok bool) {
		entries, ok := d.Entries(n, key)
		for _, e := range entries {
			a := &Account{Name: e.Key, key: e.KeyNode}
			if !accountForm.MatchString(a.Name) || a.Name == everyAccount {
				d.Fail(e.KeyNode, "%s: want %s, and not the word all; got %q", key, accountWords, a.Name)
			}
			at := d.Object(e.Value, accountObject(a))
			a.hasToken = at == nil || at["token"] != nil
			list = append(list, a)
		}
		return list, ok
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type: "object", PropertyNames: &jsonschema.Schema{Pattern: accountForm.String()},
			AdditionalProperties: accountObject(new(Account)).Schema(),
		}
	},
}

// accountsOfJob reads the key accounts of a job: a list of names, or the word all, for which it
// returns a single item without a text.
var accountsOfJob = strict.Shape[[]strict.Item]{
	Read: func(d *strict.Decoder, n strict.Node, key string) ([]strict.Item, bool) {
		word, single := d.Scalar(n)
		switch {
		case word == everyAccount:
			return []strict.Item{{Node: n}}, true
		case single:
			d.Fail(n, "%s: want the word all, or a list of names such as [client_a, client_b]; got %v", key, word)
			return nil, false
		}
		return strict.Items(accountName).Read(d, n, key)
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: everyAccount},
			strict.ArrayOf(accountName.Schema())}}
	},
}

// spread replaces each entry that has accounts by one job for each of them. No two jobs may share a
// name or a table. The entry's own name and table are taken, too: they stand for all its jobs, and
// for the view over their tables.
func (c *Config) spread(d *strict.Decoder) {
	entries := c.Jobs
	c.Jobs = nil
	names, tables := map[string]int{}, map[string]int{} // -> line
	used := map[string]bool{}
	for _, entry := range entries {
		// The names and tables that the entry takes: those of its jobs, and its own.
		entry.Entry = entry.Name
		list := c.byAccount(d, entry)
		own := list
		if entry.accounts != nil {
			own = append(slices.Clone(list), entry)
		}
		where := entry.at["name"]
		if entry.at["table"] != nil {
			where = entry.at["table"]
		}
		// One clash is reported for each entry; the jobs are kept all the same.
		for _, j := range own {
			if line, taken := names[j.Name]; taken && j.Name != "" {
				d.Fail(entry.at["name"], "job %s already stands on line %d; give one of the two another name", j.Name,
					line)
				break
			}
			if line, taken := tables[j.Table]; taken && j.Table != "" {
				d.Fail(where, "table %s already belongs to the job on line %d; two jobs would replace each other's "+
					"rows; give this one another table", j.Table, line)
				break
			}
		}
		for _, j := range own {
			names[j.Name], tables[j.Table], used[j.Account] = j.line, j.line, true
		}
		for _, j := range list {
			j.at, j.accounts = nil, nil
			c.Jobs = append(c.Jobs, j)
		}
	}
	c.checkAccounts(d, used)
}

// byAccount returns the jobs of an entry: one for each of its accounts, or the entry itself. They
// share the entry's other values.
func (c *Config) byAccount(d *strict.Decoder, entry Job) (list []Job) {
	if entry.accounts == nil {
		return []Job{entry}
	}
	wanted := entry.accounts
	if every := wanted[0]; every.Text == "" {
		wanted = nil
		for _, a := range c.Accounts {
			wanted = append(wanted, strict.Item{Text: a.Name, Node: every.Node})
		}
		if wanted == nil {
			d.Fail(every.Node, "accounts: all of none%s", c.NoAccount(""))
		}
	}
	for _, item := range wanted {
		j := entry
		j.Account, j.Name, j.Table = item.Text, entry.Name+"_"+item.Text, entry.Table+"_"+item.Text
		switch {
		case item.Text == everyAccount:
			d.Fail(item.Node, "accounts: all stands alone, without brackets: accounts: all")
		case c.account(item.Text) == nil:
			d.Fail(item.Node, "accounts: there is no account %s%s", item.Text, c.NoAccount(item.Text))
		case !shape.NameForm.MatchString(j.Name) || !shape.NameForm.MatchString(j.Table):
			d.Fail(item.Node, "accounts: a job or table of account %s would have a name of more than 128 "+
				"characters; give the job a shorter one", item.Text)
		}
		list = append(list, j)
	}
	return list
}

// checkAccounts refuses accounts without a token, and two that are the same. It warns of an account
// that no job uses, which is likely a slip.
func (c *Config) checkAccounts(d *strict.Decoder, used map[string]bool) {
	type identity struct{ token, id string }
	owner := map[identity]string{} // -> name of the account that has them
	for _, a := range c.Accounts {
		s := c.ServiceOf(a.Name)
		is := identity{s.Token, s.AccountID}
		switch {
		case s.Embedded || s.Token == "" && a.hasToken:
		case s.Token == "":
			d.Fail(a.key, "account %s: required key \"token\" is missing, as in token: ${TOKEN_A}; service has none "+
				"either", a.Name)
		case owner[is] != "":
			d.Fail(a.key, "account %s has the token and the account_id of %s, so that both would be the same rows; "+
				"give it its own, or leave one of them out", a.Name, owner[is])
		}
		owner[is] = a.Name
		if len(c.Jobs) > 0 && !used[a.Name] {
			d.Warn(a.key, "account %s is used by no job; add it to the accounts of one, or leave it out", a.Name)
		}
	}
}
