package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/reportferry/reportferry/internal/adjust"
)

// An appView is what the service shows of one app.
type appView struct {
	details adjust.AppDetails
	exists  bool
	opaque  bool   // it exists, and the service shows nothing of it
	unsure  bool   // no answer says that it exists, nor that it doesn't; exists is false
	unclear string // the answers that weren't plain; empty when all were
	refusal error  // set when the token was refused every read, so that nothing can be compared
}

// A finder looks apps up. It asks for the list of all apps at most once, and only when the answer
// to a lookup is unclear.
type finder struct {
	client  *adjust.Client
	once    sync.Once
	list    []adjust.AppDetails
	err     error // of the list
	refused bool  // the token was refused for the lists of apps and of the vault
}

// apps returns the list of all apps. If even that is forbidden, it asks for the list of the vault,
// which may show that not everything is forbidden. A refusal of the vault, too, doesn't prove that
// everything is: whether the token may create an app is known when it is sent.
func (f *finder) apps(ctx context.Context) ([]adjust.AppDetails, error) {
	f.once.Do(func() {
		f.list, f.err = List(ctx, f.client)
		if errors.Is(f.err, adjust.ErrAuth) && adjust.Unclear(f.err) {
			_, err := f.client.Vault(ctx)
			f.refused = errors.Is(err, adjust.ErrAuth)
		}
	})
	return f.list, f.err
}

// mostApps bounds the list of apps, for a service that has apps on every page that is asked for.
var mostApps = 1_000_000

// List returns all apps that were created or updated through app automation. The first answer may
// be only a page, so List asks for further pages of the same length until one has nothing new. A
// service without pages refuses that, or answers with the same list again.
func List(ctx context.Context, client *adjust.Client) ([]adjust.AppDetails, error) {
	all, err := client.Apps(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	identity := func(a adjust.AppDetails) string { return cmp.Or(a.AppToken, a.Platform+"/"+a.StoreID) }
	page := len(all)
	for fresh := all; len(fresh) > 0; all = append(all, fresh...) {
		if len(all) > mostApps {
			return nil, fmt.Errorf("list apps: the list has no end, %d apps came", len(all))
		}
		for _, a := range fresh {
			known[identity(a)] = true
		}
		more, err := client.MoreApps(ctx, len(all), page)
		if err != nil && !adjust.Unclear(err) {
			return nil, err
		}
		fresh = slices.DeleteFunc(more, func(a adjust.AppDetails) bool { return known[identity(a)] })
	}
	return all, nil
}

// find looks for an app by its declared store ID or token, then by the token in its record, and
// then in the list of all apps. The app counts as missing only after a plain answer that it is, or
// when the list lacks it. A token of the account that isn't valid, and trouble of the service, are
// errors.
func (f *finder) find(ctx context.Context, a App, known string) (s appView, err error) {
	var said []string
	denied := error(nil)
	// decides reports whether an answer is the last one needed: it says whether the app exists, or
	// is an error.
	decides := func(d adjust.AppDetails, e error, absent bool) bool {
		switch {
		case e == nil:
			s.details, s.exists = d, true
			return true
		case absent && errors.Is(e, adjust.ErrNotFound):
			return true
		case !adjust.Unclear(e):
			err = e
			return true
		}
		if errors.Is(e, adjust.ErrAuth) && denied == nil {
			denied = e
		}
		said = append(said, e.Error())
		return false
	}
	token := cmp.Or(a.Token, known)
	defer func() {
		s.unclear = strings.Join(said, "; ")
		if s.exists {
			s.details.AppToken = cmp.Or(s.details.AppToken, token)
		}
	}()
	if a.Token == "" {
		if d, e := f.client.AppByStore(ctx, a.StoreID, a.Platform, ""); decides(d, e, true) {
			if s.exists && cmp.Or(d.AppToken, token) == "" {
				s.details.AppToken, err = f.listedToken(ctx, a)
			}
			return s, err
		}
	}
	if token != "" {
		d, e := f.client.App(ctx, token)
		if e == nil && !a.mayBe(d) {
			said = append(said, "app "+token+" is another one now")
			token = a.Token
		} else if decides(d, e, false) {
			return s, err
		}
	}
	// No answer about the app itself decides, so the list of all apps may.
	list, e := f.apps(ctx)
	switch {
	case e != nil && !adjust.Unclear(e):
		return s, e
	case e != nil:
		said = append(said, e.Error())
		s.exists, s.opaque, s.unsure = token != "", token != "", token == ""
		if f.refused {
			s.refusal = denied
		}
		return s, nil
	}
	i := slices.IndexFunc(list, func(d adjust.AppDetails) bool {
		return token != "" && d.AppToken == token ||
			a.listed(d)
	})
	if i < 0 {
		said = append(said, "the list of apps hasn't got it")
		s.opaque, e = f.hasSettings(ctx, token)
		s.exists = s.opaque
		if e != nil && !adjust.Unclear(e) {
			return s, e
		}
		if a.Token != "" { // any app of the account can be updated by its token
			s.exists, s.opaque = true, true
		}
		return s, nil
	}
	s.details, s.exists = list[i], true
	said = append(said, "the list of apps has it")
	if token != list[i].AppToken { // the list may have less than the app's own answer
		if d, e := f.client.App(ctx, list[i].AppToken); e == nil && a.mayBe(d) {
			s.details = d
		}
	}
	return s, nil
}

// listed reports whether an app of the list is this one, by its platform and store ID.
func (a App) listed(d adjust.AppDetails) bool {
	return a.Token == "" && d.StoreID == a.StoreID && strings.EqualFold(d.Platform, a.Platform)
}

// listedToken returns the token that the list of apps has for an app whose own answer has none, or
// "".
func (f *finder) listedToken(ctx context.Context, a App) (string, error) {
	list, err := f.apps(ctx)
	if i := slices.IndexFunc(list, a.listed); i >= 0 {
		return list[i].AppToken, nil
	}
	if adjust.Unclear(err) {
		return "", nil
	}
	return "", err
}

// hasSettings reports whether an app whose token is known has settings, and so exists. A list that
// lacks the app may be only a page of the whole list.
func (f *finder) hasSettings(ctx context.Context, token string) (bool, error) {
	if token == "" {
		return false, nil
	}
	settings, err := f.client.Settings(ctx, token, "app_info")
	return len(settings) > 0, err
}

// mayBe reports whether what the service shows can be this app.
func (a App) mayBe(d adjust.AppDetails) bool {
	return a.Token != "" || (d.StoreID == "" || strings.EqualFold(d.StoreID, a.StoreID)) &&
		(d.Platform == "" || strings.EqualFold(d.Platform, a.Platform))
}

// Find returns the token of the app with a platform and store ID.
func Find(ctx context.Context, client *adjust.Client, platform, storeID string) (string, error) {
	s, err := (&finder{client: client}).find(ctx, App{Platform: platform, StoreID: storeID}, "")
	switch {
	case err != nil:
		return "", err
	case s.exists && s.details.AppToken != "":
		return s.details.AppToken, nil
	case s.exists:
		return "", fmt.Errorf("app %s/%s: the service shows it without its token", platform, storeID)
	case s.refusal != nil:
		return "", s.refusal
	case s.unclear != "":
		return "", fmt.Errorf("app %s/%s: %w: %s", platform, storeID, adjust.ErrNotManaged, s.unclear)
	}
	return "", fmt.Errorf("app %s/%s: %w", platform, storeID, adjust.ErrNotManaged)
}
