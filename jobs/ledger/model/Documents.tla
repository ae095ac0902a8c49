------------------------------ MODULE Documents ------------------------------
(* Runs keep the partitions of one month right through one document, which is replaced by compare-and-swap. The document has of each partition its
record, the records before it (history), and a lease of who is at work on it. A run

    reads the document ─ swap: leases ─ fetch ─ look at the sinks of what is in doubt ─ read the document: are the leases still its own?
    ─ put, each on its condition ─ swap: records, history, leases off

A run that takes no more steps has crashed; one that goes on after any time was suspended. Swaps and puts wait in `swaps` and `puts` until the store
applies them, however late; an answer may be lost (heard = FALSE). Nobody reads a clock: a lease may be taken over at any time, which is what `until`
comes to when clocks are wrong. The document has no version here: a swap that was made of an older document can't apply, and is forgotten when the
document moves, as is a put whose condition can't come true any more.

A partition lies in one or several sinks (Targets), each with its own object. Partitions in Plain lie in a sink without conditions that makes a job
of each put and no two jobs under one ID (BigQuery): the lease reserves the ID, and who takes over first uses up the IDs that are open.
Rows are there at times 1, 3, .., none at 2, 4, .. *)
EXTENDS Integers, Sequences, FiniteSets, TLC
CONSTANTS Runs, Parts, Targets, Plain, Windows, Times, \* who; the partitions; their sinks; those without conditions; what is begun together; how many states the truth has
    \* The protections, all TRUE in the product.
    SwapCond,   \* a swap applies only to the version that it was made of
    PutCond,    \* a put applies only to the version that it names
    Unique,     \* a version never comes back, unlike a hash over equal files
    JobIDs,     \* who takes over uses up the open job IDs before its put
    LeaseFirst, \* leases precede puts
    LookThenCheck, \* after the sinks of what is in doubt were looked at, the leases are read again before the first put
    Rebase,     \* who loses a swap plans again on what it reads then, and doesn't only repeat its change
    MineOnly,   \* records go only to partitions whose lease is still one's own
    AllTargets, \* a record is set only when every sink has confirmed
    DoubtPuts,  \* what is in doubt is put again, also when it is unchanged or there is nothing to put
    KeepDoubt,  \* the lease stays where a put was sent and its end isn't known
    Partly,     \* and where one sink has the rows and another wasn't tried
    Inherit,    \* the lease stays, too, where it was taken over in doubt and nothing was put
    Final,      \* who has sent a swap that gives a lease back never puts under that lease again
    Trace,      \* a lost answer is looked for in records and history, not in a name of the document's last writer
    Older,      \* and in that part of history, too, which has moved to objects of its own
    Token,      \* a lease belongs to who has its random token, and two attempts of one task have two
    OneObject   \* record and history change in one swap
VARIABLES doc, swaps, obj, puts, truth, done, run, log
vars == <<doc, swaps, obj, puts, truth, done, run, log>>

At(v) == [p \in Parts |-> v]              \* v for each partition
Each(v) == [p \in Parts |-> [k \in Targets |-> v]] \* v for each object
All(f, v) == \A k \in Targets : f[k] = v
Content(t) == IF t % 2 = 0 THEN "none" ELSE "rows"
NoRec == [by |-> "none", t |-> 0, ver |-> [k \in Targets |-> 0]]
NoLease == [by |-> "none", over |-> [k \in Targets |-> 0], n |-> 0, doubt |-> FALSE]
Idle == [at |-> "idle", s |-> {}, base |-> At(NoRec), doubt |-> {}, over |-> Each(0), n |-> At(0), open |-> At({}), got |-> 0, ps |-> Each("todo"), pv |-> Each(0)]
End(how) == [Idle EXCEPT !.at = how] \* what an ended run knew counts no more
Init ==
    /\ doc = [last |-> "none", rec |-> At(NoRec), lease |-> At(NoLease), hist |-> At(<<>>), n |-> At(0), open |-> At({})]
    /\ obj = Each([ver |-> 0, t |-> 0, made |-> 0, used |-> {}])
    /\ swaps = {} /\ puts = {} /\ truth = 1 /\ done = FALSE /\ run = [r \in Runs |-> Idle]
    /\ log = At(<<>>) \* of the model alone: what was committed
Is(r, at) == run[r].at = at
Set(r, f) == run' = [run EXCEPT ![r] = f]
Own(r, by) == IF Token THEN by = r ELSE by \in Runs \* without tokens all runs are attempts of one task
Next1(p) == IF p \in Plain THEN doc.n[p] + 1 ELSE 0 \* the job ID of the next lease

(* Begin. What is leased, by whomever, is in doubt. *)
Doubtful(p) == doc.lease[p].by # "none"
Swap(m) == swaps' = swaps \cup {m}
BeginOf(r, s, over) == [by |-> r, kind |-> "begin", of |-> s, s |-> s, over |-> over]
Begin(r) == \E s \in Windows :
    /\ Is(r, "idle") /\ ~done
    /\ LET over == [p \in Parts |-> IF p \notin s \/ Doubtful(p) THEN NoRec.ver ELSE doc.rec[p].ver]
       IN  /\ Set(r, [Idle EXCEPT !.at = IF LeaseFirst THEN "begin" ELSE "began", !.s = s, !.base = [p \in Parts |-> IF p \in s THEN doc.rec[p] ELSE NoRec],
                      !.doubt = {p \in s : Doubtful(p)}, !.n = [p \in Parts |-> Next1(p)], !.open = doc.open, !.over = over])
           /\ IF LeaseFirst THEN Swap(BeginOf(r, s, over)) ELSE UNCHANGED swaps
    /\ UNCHANGED <<doc, obj, puts, truth, done, log>>

Looks(r) == run[r].doubt \ Plain \* a sink without conditions isn't looked at
Fetch(r) ==
    /\ Is(r, "began") /\ Set(r, [run[r] EXCEPT !.at = IF Looks(r) = {} THEN "put" ELSE "look", !.got = truth])
    /\ UNCHANGED <<doc, swaps, obj, puts, truth, done, log>>

(* The versions in the sinks of what is in doubt. Whoever takes it over looks after its own lease, and so after a look of a lease that holds. *)
Look(r, p, k) ==
    /\ Is(r, "look") /\ p \in Looks(r) /\ run[r].ps[p][k] = "todo" /\ Set(r, [run[r] EXCEPT !.over[p][k] = obj[p][k].ver, !.ps[p][k] = "seen"])
    /\ UNCHANGED <<doc, swaps, obj, puts, truth, done, log>>
Check(r) ==
    /\ Is(r, "look") /\ \A p \in Looks(r) : All(run[r].ps[p], "seen")
    /\ LET holds == LookThenCheck => \A p \in run[r].s : Own(r, doc.lease[p].by)
       IN  Set(r, [run[r] EXCEPT !.at = "put", !.ps = Each(IF holds THEN "todo" ELSE "left")])
    /\ UNCHANGED <<doc, swaps, obj, puts, truth, done, log>>

(* Puts *)
Sure(r, p) == p \notin run[r].doubt \/ ~DoubtPuts
Same(r, p) == Sure(r, p) /\ Content(run[r].base[p].t) = Content(run[r].got)
Skip(r, p) == \* nothing to put: the sinks hold this already, or there never was anything
    /\ Is(r, "put") /\ p \in run[r].s /\ All(run[r].ps[p], "todo") /\ Same(r, p)
    /\ Set(r, [run[r] EXCEPT !.ps[p] = [k \in Targets |-> "ok"], !.pv[p] = run[r].base[p].ver])
    /\ UNCHANGED <<doc, swaps, obj, puts, truth, done, log>>
Applies(o, m) == IF m.p \in Plain THEN m.id \notin o[m.p][m.k].used ELSE PutCond => m.cond = o[m.p][m.k].ver
Live(o, ms) == {m \in ms : Unique /\ PutCond => Applies(o, m)}
Put(r, p, k) ==
    /\ Is(r, "put") /\ p \in run[r].s /\ run[r].ps[p][k] = "todo" /\ ~Same(r, p)
    /\ Set(r, [run[r] EXCEPT !.ps[p][k] = "sent"])
    /\ obj' = IF p \in Plain /\ JobIDs THEN [obj EXCEPT ![p][k].used = @ \cup (run[r].open[p] \ {run[r].n[p]})] ELSE obj
    /\ puts' = Live(obj', puts \cup {[by |-> r, p |-> p, k |-> k, t |-> run[r].got, cond |-> run[r].over[p][k], id |-> run[r].n[p]]})
    /\ UNCHANGED <<doc, swaps, truth, done, log>>
Made(o, p, t, id) == [o EXCEPT !.t = t, !.made = @ + 1, !.used = @ \cup IF p \in Plain THEN {id} ELSE {},
                      !.ver = IF p \in Plain THEN id ELSE IF Unique THEN o.made + 1 ELSE IF Content(t) = "rows" THEN 1 ELSE 2]
ApplyPut == \E m \in puts, heard \in BOOLEAN :
    /\ Applies(obj, m) /\ obj[m.p][m.k].made <= 2 * Cardinality(Runs)
    /\ obj' = [obj EXCEPT ![m.p][m.k] = Made(@, m.p, m.t, m.id)]
    /\ puts' = Live(obj', puts)
    /\ IF heard /\ run[m.by].ps[m.p][m.k] = "sent"
       THEN Set(m.by, [run[m.by] EXCEPT !.ps[m.p][m.k] = "ok", !.pv[m.p][m.k] = obj'[m.p][m.k].ver]) ELSE UNCHANGED run
    /\ UNCHANGED <<doc, swaps, truth, done, log>>
PutLost(r, p, k) == \* refused, or no answer came
    /\ Is(r, "put") /\ run[r].ps[p][k] = "sent" /\ Set(r, [run[r] EXCEPT !.ps[p][k] = "lost"])
    /\ UNCHANGED <<doc, swaps, obj, puts, truth, done, log>>

(* Commit, of all of a window that was put, and giving back of what wasn't tried. *)
Has(ps, how) == \E k \in Targets : ps[k] = how
Wrote(r) == IF Trace THEN \E p \in run[r].s : Own(r, doc.rec[p].by) \/ (Older /\ \E i \in DOMAIN doc.hist[p] : Own(r, doc.hist[p][i].by))
            ELSE doc.last = r /\ \E p \in run[r].s : doc.rec[p].by = r
Mine(r, p) == IF LeaseFirst THEN MineOnly => Own(r, doc.lease[p].by) ELSE doc.rec[p] = run[r].base[p]
Ready(r) == {p \in run[r].s : (IF AllTargets THEN All(run[r].ps[p], "ok") ELSE Has(run[r].ps[p], "ok")) /\ Mine(r, p)}
Off(r) == {p \in run[r].s \ Ready(r) : Own(r, doc.lease[p].by) /\ (Inherit => ~doc.lease[p].doubt) /\ (KeepDoubt => ~Has(run[r].ps[p], "lost")) /\ (Partly => ~Has(run[r].ps[p], "ok"))}
Commit(r) ==
    /\ Is(r, "put") /\ \A p \in run[r].s : ~Has(run[r].ps[p], "sent")
    /\ LET s == Ready(r)
           off == Off(r)
       IN  IF s \cup off = {} THEN Set(r, End(IF Wrote(r) THEN "over" ELSE "lost")) /\ UNCHANGED swaps
           ELSE /\ Set(r, [run[r] EXCEPT !.at = "commit", !.ps = [p \in Parts |-> IF Final /\ p \in off THEN [k \in Targets |-> IF @[p][k] = "todo" THEN "left" ELSE @[p][k]] ELSE @[p]]])
                /\ Swap([by |-> r, kind |-> "commit", of |-> run[r].s, s |-> s, off |-> off, t |-> run[r].got, pv |-> run[r].pv])
    /\ UNCHANGED <<doc, obj, puts, truth, done, log>>
New(m, p) == [by |-> m.by, t |-> m.t, ver |-> m.pv[p]]
After(m) == IF m.kind = "begin"
    THEN [doc EXCEPT !.last = m.by, !.n = [p \in Parts |-> IF p \in m.s THEN Next1(p) ELSE @[p]],
          !.open = [p \in Parts |-> IF p \in m.s \cap Plain THEN @[p] \cup {Next1(p)} ELSE @[p]],
          !.lease = [p \in Parts |-> IF p \in m.s THEN [by |-> m.by, over |-> m.over[p], n |-> Next1(p), doubt |-> Doubtful(p)] ELSE @[p]]]
    ELSE [doc EXCEPT !.last = m.by, !.rec = [p \in Parts |-> IF p \in m.s THEN New(m, p) ELSE @[p]],
          !.open = [p \in Parts |-> IF p \in m.s \cup m.off THEN {} ELSE @[p]],
          !.hist = [p \in Parts |-> IF OneObject /\ p \in m.s /\ doc.rec[p] # NoRec THEN Append(@[p], doc.rec[p]) ELSE @[p]],
          !.lease = [p \in Parts |-> IF p \in m.s \cup m.off THEN NoLease ELSE @[p]]]
Answers(x, m) == x.at = m.kind /\ x.s = m.of /\ (m.kind = "begin" => x.over = m.over) \* who waits for another answer doesn't take this one for it
Heard(x, m) == IF m.kind = "commit" THEN IF OneObject THEN End("over") ELSE [x EXCEPT !.at = "archive"]
    ELSE [x EXCEPT !.at = "began", !.doubt = IF Rebase THEN {p \in m.s : Doubtful(p)} ELSE @, !.n = [p \in Parts |-> Next1(p)], !.open = doc.open]
ApplySwap == \E m \in swaps, heard \in BOOLEAN :
    /\ \A p \in Parts : doc.n[p] < 2 * Cardinality(Runs)
    /\ doc' = After(m) /\ swaps' = IF SwapCond THEN {} ELSE swaps \ {m}
    /\ log' = IF m.kind = "commit" THEN [p \in Parts |-> IF p \in m.s THEN Append(log[p], New(m, p)) ELSE log[p]] ELSE log
    /\ IF heard /\ Answers(run[m.by], m) THEN Set(m.by, Heard(run[m.by], m)) ELSE UNCHANGED run
    /\ UNCHANGED <<obj, puts, truth, done>>
Archive(r) == \* history apart, from what the run remembers: it may crash before
    /\ Is(r, "archive") /\ Set(r, End("over"))
    /\ doc' = [doc EXCEPT !.hist = [p \in Parts |-> IF All(run[r].ps[p], "ok") /\ run[r].base[p] # NoRec THEN Append(@[p], run[r].base[p]) ELSE @[p]]]
    /\ UNCHANGED <<swaps, obj, puts, truth, done, log>>

(* Refused, or no answer came: the run reads the document again. *)
Began(r) == \A p \in run[r].s : Own(r, doc.lease[p].by)
Reread(r) ==
    /\ \/ Is(r, "begin") /\ Began(r) /\ UNCHANGED swaps
          /\ Set(r, [run[r] EXCEPT !.at = "began", !.doubt = {p \in @ \cup run[r].s : doc.lease[p].doubt}, !.over = [p \in Parts |-> doc.lease[p].over],
                     !.n = [p \in Parts |-> doc.lease[p].n], !.open = doc.open])
       \/ Is(r, "begin") /\ ~Began(r) /\ Rebase /\ Set(r, Idle) /\ UNCHANGED swaps
       \/ Is(r, "begin") /\ ~Began(r) /\ ~Rebase /\ ~done /\ UNCHANGED run /\ Swap(BeginOf(r, run[r].s, run[r].over))
       \/ Is(r, "commit") /\ Set(r, IF Wrote(r) THEN End("over") ELSE [run[r] EXCEPT !.at = "put"]) /\ UNCHANGED swaps
    /\ UNCHANGED <<doc, obj, puts, truth, done, log>>

Restate == truth < Times /\ ~done /\ truth' = truth + 1 /\ UNCHANGED <<doc, swaps, obj, puts, done, run, log>>

(* One clean run from any state, all its steps at once. What others have sent arrives after it, and sleepers wake up. *)
Clean ==
    /\ ~done /\ done' = TRUE
    /\ LET same(p) == (~Doubtful(p) \/ ~DoubtPuts) /\ Content(doc.rec[p].t) = Content(truth)
           after(p, k) == IF same(p) THEN obj[p][k] ELSE
               [Made(obj[p][k], p, truth, Next1(p)) EXCEPT !.used = IF p \in Plain /\ JobIDs THEN @ \cup doc.open[p] ELSE @]
           new(p) == [by |-> "clean", t |-> truth, ver |-> IF same(p) THEN doc.rec[p].ver ELSE [k \in Targets |-> obj'[p][k].ver]]
       IN  /\ obj' = [p \in Parts |-> [k \in Targets |-> after(p, k)]]
           /\ doc' = [doc EXCEPT !.last = "clean", !.rec = [p \in Parts |-> new(p)], !.lease = At(NoLease), !.n = [p \in Parts |-> Next1(p)], !.open = At({}),
                      !.hist = [p \in Parts |-> IF doc.rec[p] # NoRec THEN Append(@[p], doc.rec[p]) ELSE @[p]]]
           /\ log' = [p \in Parts |-> Append(log[p], new(p))]
    /\ puts' = Live(obj', puts) /\ swaps' = IF SwapCond THEN {} ELSE swaps
    /\ UNCHANGED <<truth, run>>

Next == \/ \E r \in Runs : Begin(r) \/ Fetch(r) \/ Check(r) \/ Commit(r) \/ Reread(r) \/ Archive(r)
                           \/ \E p \in Parts : Skip(r, p) \/ \E k \in Targets : Look(r, p, k) \/ Put(r, p, k) \/ PutLost(r, p, k)
        \/ ApplyPut \/ ApplySwap \/ Restate \/ Clean
Spec == Init /\ [][Next]_vars

Unleased(p) == doc.lease[p].by = "none"
\* A record without a lease names the very objects that readers see; so no record vouches for rows that aren't there.
Exact == \A p \in Parts : Unleased(p) => \A k \in Targets : obj[p][k].ver = doc.rec[p].ver[k]
\* What readers see is never older than what the newest record says, unless the partition is leased.
NeverOlder == \A p \in Parts : Unleased(p) => \A k \in Targets : obj[p][k].t >= doc.rec[p].t \/ Content(obj[p][k].t) = Content(doc.rec[p].t)
\* History and record together are all that was ever committed, once each and in order.
Whole == \A p \in Parts : log[p] = IF doc.rec[p] = NoRec THEN <<>> ELSE Append(doc.hist[p], doc.rec[p])
\* A run that says that it lost has committed nothing.
Honest == \A r \in Runs : Is(r, "lost") => \A p \in Parts : \A i \in DOMAIN log[p] : log[p][i].by # r
\* After one clean run readers, record and truth agree, and nothing that began before it changes that.
Reached == done => \A p \in Parts : Unleased(p) /\ Content(doc.rec[p].t) = Content(truth) /\ \A k \in Targets : Content(obj[p][k].t) = Content(truth)
Symmetry == Permutations(Runs) \cup IF Plain \in {{}, Parts} THEN Permutations(Parts) ELSE {}
==============================================================================
