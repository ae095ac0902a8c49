package sharing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
)

// slugs are the partners that the service's page on channel setup lists; the interface document
// calls them partner_1 to partner_13, in this order.
var slugs = []string{"applovin", "chartboost", "facebook", "gameanalytics", "google", "inmobi", "ironsource",
	"mintegral",
	"snapchat", "tapjoy", "tiktok", "unityads", "vungle"}

// partnerIDs are those that several clients have read from the service; reports show them as
// partner_id, and channel_id has them behind partner_. Its page on channel setup gives 34 to
// AppLovin, as an example. Any other ID is a partner of its own, unless a config ties it to a name.
var partnerIDs = map[string]string{"facebook": "34", "google": "254", "tiktok": "1678"}

// callbacks stands for the dynamic callbacks, which are made for each call.
const callbacks = "dynamic_callbacks"

// Partners are the partners that are known here. Each has one name, and may be named in several
// ways: by that name, by its ID, as "name (ID)", and in upper or lower case. Partners only tells
// which of these mean the same partner, and never changes what is sent: a mistake in a list of IDs
// would turn a choice about one partner into one about another.
type Partners struct {
	known map[string]string // as named, in lower case -> the one name of it
	ids   map[string]string // that name -> its ID
	list  []string          // the names, those that were added behind the service's own; callbacks is the last
}

// NewPartners returns the service's own partners and those of more, which may be names, IDs, or
// both as "name (ID)".
func NewPartners(more []string) Partners {
	p := Partners{map[string]string{all: all, callbacks: callbacks}, maps.Clone(partnerIDs), slices.Clone(slugs)}
	for i, s := range slugs {
		p.known[s], p.known[fmt.Sprintf("partner_%d", i+1)] = s, s
	}
	for s, id := range partnerIDs {
		p.known[id] = s
	}
	p.list = append(p.list, callbacks)
	return p.With(more)
}

// With returns p with the named partners added, each a partner of its own unless it is one of p's.
// A "name (ID)" among them says that the name and the ID are the same partner.
func (p Partners) With(named []string) Partners {
	if !slices.ContainsFunc(named, p.lacks) {
		return p
	}
	q := Partners{maps.Clone(p.known), maps.Clone(p.ids), slices.Clone(p.list)}
	for _, n := range named { // those that tie a name to an ID go first, in whatever order they come
		if name, id, both := nameAndID(n); both {
			q.tie(n, name, id)
		}
	}
	for _, n := range named {
		if _, known := q.Name(n); !known {
			q.add(n, n)
		}
	}
	return q
}

// lacks tells whether there is something to learn from how a partner is named.
func (p Partners) lacks(named string) bool {
	if name, id, both := nameAndID(named); both {
		return p.known[fold(name)] == "" || p.known[id] == ""
	}
	return p.known[fold(named)] == ""
}

// tie records that the name and the ID of "name (ID)" are one partner's, unless either is known to
// be another one's.
func (p *Partners) tie(named, name, id string) {
	one, known := p.Name(named)
	switch {
	case known:
	case p.known[fold(name)] == "" && p.known[id] == "":
		one = name
		p.add(name, name)
	default:
		return
	}
	p.known[fold(name)], p.known[id], p.ids[one] = one, one, id
}

// add makes a partner known by its one name.
func (p *Partners) add(named, one string) {
	p.known[fold(named)] = one
	p.list = append(p.list[:len(p.list)-1:len(p.list)-1], one, callbacks)
}

// List returns the names of the partners that data may go to.
func (p Partners) List() []string { return slices.Clone(p.list) }

// Name returns the one name of a partner. A partner that isn't known keeps the name that it is
// given.
func (p Partners) Name(named string) (one string, known bool) {
	if one, known = p.known[fold(named)]; known {
		return one, true
	}
	name, id, both := nameAndID(named)
	if !both {
		return fold(named), false
	}
	byName, byID := p.known[fold(name)], p.known[id]
	switch {
	case byID != "" && (byName == "" || byName == byID):
		return byID, true
	case byID == "" && byName != "" && byName != all && byName != callbacks && p.ids[byName] == "":
		return byName, true
	}
	return fold(named), false // also when the two are known to be two partners
}

// nameThenID matches what nameAndID reads.
var nameThenID = lazy.Regexp(`^\s*(\S.*?)\s*\(\s*(-?[0-9]+)\s*\)\s*$`)

// nameAndID reads "AppLovin (34)", which is how reports write a name beside its ID.
func nameAndID(named string) (name, id string, both bool) {
	m := nameThenID().FindStringSubmatch(named)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// fold returns a name in the form of the keys of Partners.known.
func fold(named string) string { return catalog.Fold(strings.TrimSpace(named)) }

// optionGroup returns the one name of a group of granular options, and its keys, which are nil if
// they are free. A group belongs to a partner, or is one of the service's own.
func (p Partners) optionGroup(named string) (one string, keys map[string][]string, known bool) {
	switch one, known = named, true; one {
	case "partner_dma":
		one = "google_dma"
	case "google_dma", "apple_ads":
	default:
		one, known = p.Name(named)
	}
	return one, optionKeys[one], known
}
