// Command mutation makes one small change at a time in the emulator, and runs the emulator's tests
// to see whether they notice it. The changes are those of zimmski/go-mutesting (statements,
// branches and terms removed, boundaries moved) and those of values.go (other texts, numbers, signs
// and fields). The compiler sees a change through go's -overlay flag: no file of the tree is
// touched.
//
// A survivor is a change that no test noticed. Changes that no test could notice are listed with
// the reason in internal/emulator/testdata/mutants.txt. A survivor that isn't listed is an error, and so is a
// listed change that is noticed or can't be made any more.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	module   = "github.com/reportferry/reportferry/"
	emulator = "internal/emulator"
	page     = emulator + "/testdata/mutants.txt"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	only := flag.String("only", "", "mutate files only whose path has this in it")
	at := flag.Int("at", 2, "mutants at a time")
	again := flag.String("again", "", "judge only what survived an earlier run, which printed this file")
	each := flag.Bool("v", false, "print what became of each mutant")
	from := flag.Int("from", 0, "leave out so many of those that are drawn, which an earlier run has judged")
	list := flag.Bool("list", false, "print the sample, and run nothing")
	flag.Parse()
	n, err := strconv.Atoi(flag.Arg(0))
	if err != nil || flag.NArg() != 2 {
		return fmt.Errorf("usage: .ci/mutants [-only PART] [-at 2] [-from M] [-again FILE] [-v] [-list] N SEED")
	}
	seed, err := strconv.ParseUint(flag.Arg(1), 10, 64)
	if err != nil {
		return fmt.Errorf("the seed: %w", err)
	}
	reasons, err := readPage(page)
	if err != nil {
		return err
	}
	tree, err := loadTree("./"+emulator+"/...", *only)
	if err != nil {
		return err
	}
	fmt.Printf("mutants: %d can be made, %d are drawn with the seed %d\n", len(tree.candidates), n, seed)
	order := tree.drawn(seed)
	order = order[min(*from, len(order)):]
	if *again != "" {
		if order, err = tree.survivors(*again); err != nil {
			return err
		}
		fmt.Printf("mutants: %d of them survived an earlier run\n", len(order))
	}
	if *list {
		for _, i := range order[:min(n, len(order))] {
			m := tree.mutant(i)
			fmt.Printf("%s:%d: %s\n%s", m.file, m.line, m.by, m.diff)
		}
		return nil
	}
	if n > 0 {
		if out, err := goTool(ctx, "test", "-short", "-vet=off", "./"+emulator+"/..."); err != nil {
			return fmt.Errorf("without any change the tests fail, so that they would notice everything: %s", out)
		}
	}
	started := time.Now()
	results := tryAll(ctx, tree, order, n, *at, *each)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return report(results, reasons, tree, *from, time.Since(started))
}

// tryAll tests mutants in the given order until n of them compiled and were tested.
func tryAll(ctx context.Context, tree *tree, order []int, n, at int, each bool) []result {
	var (
		lock     sync.Mutex
		next     int
		results  []result
		compiled int
		group    sync.WaitGroup
		seen     = map[string]bool{}
	)
	for range at {
		group.Go(func() {
			for ctx.Err() == nil {
				lock.Lock()
				if next == len(order) || compiled >= n {
					lock.Unlock()
					return
				}
				place := next
				next++
				m := tree.mutant(order[place])
				again := seen[m.key()] || m.diff == ""
				seen[m.key()] = true
				lock.Unlock()
				if again { // another operator has made the same change
					continue
				}
				r := try(ctx, m)
				r.place = place + 1
				lock.Lock()
				results = append(results, r)
				if r.fate != notViable {
					compiled++
					if compiled%10 == 0 {
						fmt.Printf("%s: %d judged\n", time.Now().Format(time.TimeOnly), compiled)
					}
				}
				if each {
					fmt.Printf("%.1fs: %s, %s: %s:%d: %s\n", r.took.Seconds(), r.fate, r.by, m.file, m.line, m.by)
				}
				if r.fate == survived {
					fmt.Printf("survived: %s:%d: %s\n%s", m.file, m.line, m.by, m.diff)
				}
				lock.Unlock()
			}
		})
	}
	group.Wait()
	// Which mutant finishes last depends on the machine; cutting off after the first n in the order
	// makes the ones that count always the same.
	slices.SortFunc(results, func(a, b result) int { return a.place - b.place })
	for i, judged := 0, 0; i < len(results); i++ {
		if results[i].fate != notViable {
			judged++
		}
		if judged == n {
			return results[:i+1]
		}
	}
	return results
}

// report prints the figures, and returns an error when the survivors differ from those listed in
// the page.
func report(results []result, reasons map[string]string, tree *tree, from int, took time.Duration) error {
	count, folders := map[fate]int{}, map[string][2]int{}
	var wrong []string
	for _, r := range results {
		count[r.fate]++
		_, listed := reasons[r.key()]
		switch {
		case r.fate == survived && !listed:
			wrong = append(wrong, fmt.Sprintf("survived, and isn't in %s: %s:%d: %s\n%s", page, r.file, r.line,
				r.mutant.by, r.diff))
		case r.fate == survived:
			count[listedSurvivor]++
		case listed && r.fate != notViable:
			wrong = append(wrong, fmt.Sprintf("is in %s, but was %s: %s:%d: %s\n%s", page, r.fate, r.file, r.line,
				r.mutant.by, r.diff))
		}
		if r.fate != notViable {
			f := folders[r.folder()]
			f[0]++
			if r.fate == survived {
				f[1]++
			}
			folders[r.folder()] = f
		}
	}
	for key := range reasons {
		if !tree.has(key) {
			wrong = append(wrong, fmt.Sprintf("is in %s, but can't be made any more: %s", page, key))
		}
	}
	slices.Sort(wrong)
	for _, w := range wrong {
		fmt.Println(strings.TrimRight(w, "\n"))
	}
	for _, folder := range sortedKeys(folders) {
		fmt.Printf("%-32s %4d judged, %d survived\n", folder, folders[folder][0], folders[folder][1])
	}
	if last := len(results); last > 0 {
		fmt.Printf("drawn until -from %d\n", from+results[last-1].place)
	}
	fmt.Printf("%d judged: %d killed, %d timed out, %d survived, of which %d are listed with the reason; besides, "+
		"%d didn't compile; %s\n",
		count[killed]+count[timedOut]+count[survived], count[killed], count[timedOut], count[survived],
		count[listedSurvivor], count[notViable],
		took.Round(time.Second))
	if len(wrong) > 0 {
		return fmt.Errorf("%d mutants need a better test, or a line in %s, or none", len(wrong), page)
	}
	return nil
}
