------------------------------- MODULE Outbox -------------------------------
(* A push is a log of segments, numbered and created once. A segment releases a record, which may be sent from then on, or says that it was acknowledged.
Who takes a push over reads the log and creates the next segment; only then is the one before fenced: its own next segment is refused before it sends
anything more. Requests to create wait in `wire` until the store gets them, however late; an answer may be lost, and who waits for it looks at the
number instead. What a deleted segment said is in the push's document before. *)
EXTENDS Integers, FiniteSets, TLC
CONSTANTS Procs, Recs,
    Numbered,     \* the next number is created once; else each holder's segments have names of its own, and only the document is swapped at take-over
    TakeOver,     \* who takes over creates a segment before it trusts what it has read
    ReleaseFirst, \* a segment releases a record before it is sent
    OwnSegment,   \* a number that is taken is taken by oneself only if one's own segment is there
    KeepNumbers,  \* no segment is deleted before its file has ended; else each may be, once the next is there
    SecondLook    \* not in the product: who has released something looks, before it sends, at who pushes
VARIABLES log, top, head, at, want, wire, known, len, out, got, blind
vars == <<log, top, head, at, want, wire, known, len, out, got, blind>>
Nothing == [n |-> 0, by |-> "none", k |-> "none", r |-> "none"]
Init == /\ log = {} /\ top = 0 /\ wire = {} /\ head = "none" /\ at = [x \in Procs |-> "idle"] /\ want = [x \in Procs |-> Nothing]
        /\ known = [x \in Procs |-> [r \in Recs |-> "new"]] /\ len = [x \in Procs |-> 0]
        /\ out = [x \in Procs |-> {}]   \* released by this process and not sent yet
        /\ got = {}                     \* what the service has had, and from whom
        /\ blind = FALSE                \* somebody sent what another had sent, and took it for new: nobody knows that it went twice
Go(x, a) == at' = [at EXCEPT ![x] = a]
Says(r) == IF \E e \in log : e.r = r /\ e.k = "ack" THEN "acked" ELSE IF \E e \in log : e.r = r THEN "doubt" ELSE "new"
ReadLog(x) == known' = [known EXCEPT ![x] = [r \in Recs |-> Says(r)]] /\ len' = [len EXCEPT ![x] = top]
At(n) == {e \in log : e.n = n /\ e.there}
Take(x) == \* swap of the document, and reading; at any time: leases are no protection
    /\ at[x] = "idle" /\ head' = x /\ Go(x, IF TakeOver THEN "take" ELSE "push") /\ ReadLog(x)
    /\ UNCHANGED <<log, top, want, wire, out, got, blind>>
Ask(x, k, r) == LET e == [n |-> len[x] + 1, by |-> x, k |-> k, r |-> r] IN want' = [want EXCEPT ![x] = e] /\ wire' = wire \cup {e} /\ Go(x, "wait")
Fence(x) == at[x] = "take" /\ Ask(x, "take", "none") /\ UNCHANGED <<log, top, head, known, len, out, got, blind>>
Release(x, r) ==
    /\ at[x] = "push" /\ known[x][r] # "acked" /\ r \notin out[x] /\ \A g \in got : g.r = r => g.by # x
    /\ IF ReleaseFirst THEN Ask(x, "release", r) /\ UNCHANGED out ELSE out' = [out EXCEPT ![x] = @ \cup {r}] /\ UNCHANGED <<want, wire, at>>
    /\ UNCHANGED <<log, top, head, known, len, got, blind>>
Send(x, r) == \* what was released goes out, also when its sender has been fenced meanwhile; "new" is what x took it for
    /\ r \in out[x] /\ out' = [out EXCEPT ![x] = @ \ {r}] /\ got' = got \cup {[r |-> r, by |-> x, new |-> known[x][r] = "new"]}
    /\ blind' = (blind \/ (known[x][r] = "new" /\ \E g \in got : g.r = r /\ g.new))
    /\ UNCHANGED <<log, top, head, at, want, wire, known, len>>
Ack(x, r) == /\ at[x] = "push" /\ [r |-> r, by |-> x, new |-> known[x][r] = "new"] \in got /\ known[x][r] # "acked" /\ Ask(x, "ack", r)
             /\ UNCHANGED <<log, top, head, known, len, out, got, blind>>
\* The segment that x wanted is there.
Made(x) == LET e == want[x] IN
    /\ len' = [len EXCEPT ![x] = e.n]
    /\ Go(x, IF e.k = "release" /\ SecondLook THEN "look" ELSE "push")
    /\ known' = IF e.k = "ack" THEN [known EXCEPT ![x][e.r] = "acked"] ELSE known
    /\ out' = IF e.k = "release" /\ ~SecondLook THEN [out EXCEPT ![x] = @ \cup {e.r}] ELSE out
Refused(x) == IF want[x].k = "take" THEN ReadLog(x) /\ Go(x, "take") /\ UNCHANGED out ELSE Go(x, "lost") /\ UNCHANGED <<known, len, out>>
Land == \E e \in wire, heard \in BOOLEAN :
    /\ Numbered => At(e.n) = {}
    /\ wire' = wire \ {e} /\ log' = log \cup {[n |-> e.n, by |-> e.by, k |-> e.k, r |-> e.r, there |-> TRUE]} /\ top' = IF e.n > top THEN e.n ELSE top
    /\ IF heard /\ at[e.by] = "wait" /\ want[e.by] = e THEN Made(e.by) ELSE UNCHANGED <<at, known, len, out>>
    /\ UNCHANGED <<head, want, got, blind>>
Look(x) == \* refused, or no answer came; where nothing is there the request is repeated, which is to wait for the first
    /\ at[x] = "wait" /\ At(want[x].n) # {}
    /\ IF ~OwnSegment \/ \E e \in At(want[x].n) : e.by = x THEN Made(x) ELSE Refused(x)
    /\ UNCHANGED <<log, top, head, want, wire, got, blind>>
Check(x) == /\ at[x] = "look" /\ IF head = x THEN out' = [out EXCEPT ![x] = @ \cup {want[x].r}] /\ Go(x, "push") ELSE UNCHANGED out /\ Go(x, "lost")
            /\ UNCHANGED <<log, top, head, want, wire, known, len, got, blind>>
Delete == \E e \in log : /\ ~KeepNumbers /\ e.there /\ e.n < top /\ log' = (log \ {e}) \cup {[e EXCEPT !.there = FALSE]}
                         /\ UNCHANGED <<top, head, at, want, wire, known, len, out, got, blind>>
Next == \/ Land \/ Delete
        \/ \E x \in Procs : Take(x) \/ Fence(x) \/ Look(x) \/ Check(x) \/ \E r \in Recs : Release(x, r) \/ Send(x, r) \/ Ack(x, r)
Spec == Init /\ [][Next]_vars
NeverBlind == ~blind
Symmetry == Permutations(Procs) \cup Permutations(Recs)
=============================================================================
