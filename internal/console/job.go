package console

import "context"

// job shows one job: its table, the files that it pushes, or the apps that it keeps.
func (c *Console) job(ctx context.Context, names vars) (view, error) {
	s, j, known := c.cache.one(ctx, names["job"])
	switch {
	case !known:
		return view{}, errNoPage
	case j.Err != nil:
		return view{j.Name, "unreadable.html", unreadable(j.Name, j.Err, "status "+j.Name)}, nil
	case j.Look != nil:
		return c.table(ctx, s, j), nil
	case j.Files != nil:
		return pushedOf(s, j), nil
	case j.Apps != nil:
		return declaredOf(s, j), nil
	}
	return view{}, errNoPage
}

// eachJob names the jobs that have a page.
func (c *Console) eachJob(context.Context) (all []vars) {
	for _, j := range c.o.Jobs {
		if hasPage(j) {
			all = append(all, vars{"job": j.Name})
		}
	}
	return all
}

func hasPage(j Job) bool {
	return pathSafe(j.Name) && (j.Look != nil || j.Files != nil || j.Apps != nil)
}
