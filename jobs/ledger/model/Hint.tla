-------------------------------- MODULE Hint --------------------------------
(* The line of a month in table.json may only err towards reading the month: while the month's document has a lease, or isn't complete, the line isn't
closed. Some lease and commit, others close; each step reads or swaps one document, and anybody may stop between two steps. *)
EXTENDS Integers, TLC
CONSTANTS Procs,
    Flag,  \* closed is said in the month's document first, and who leases in a month that says so opens its line first
    Count  \* openings are counted, and a line is closed only at the count that was read before the month
VARIABLES month, line, at, m, l
vars == <<month, line, at, m, l>>
Init == /\ month = [ver |-> 0, leased |-> FALSE, closed |-> FALSE] /\ line = [closed |-> FALSE, opens |-> 0]
        /\ at = [x \in Procs |-> "idle"] /\ m = [x \in Procs |-> month] /\ l = [x \in Procs |-> line]
Go(x, a) == at' = [at EXCEPT ![x] = a]
Read(x, a, b) == at[x] = a /\ m' = [m EXCEPT ![x] = month] /\ Go(x, b) /\ UNCHANGED <<month, line, l>>
Look(x, a, b) == at[x] = a /\ l' = [l EXCEPT ![x] = line] /\ Go(x, b) /\ UNCHANGED <<month, line, m>>
\* Who publishes: reads the line, for its plan, and the month; opens the line where that is needed; leases; commits.
Needs(x) == IF Flag THEN m[x].closed ELSE l[x].closed
Open(x) == /\ at[x] = "open" /\ Needs(x) /\ line' = [closed |-> FALSE, opens |-> IF Count THEN line.opens + 1 ELSE line.opens]
           /\ Go(x, "lease") /\ UNCHANGED <<month, m, l>>
NoOpen(x) == at[x] = "open" /\ ~Needs(x) /\ Go(x, "lease") /\ UNCHANGED <<month, line, m, l>>
Lease(x) == /\ at[x] = "lease" /\ IF month.ver = m[x].ver THEN month' = [ver |-> month.ver + 1, leased |-> TRUE, closed |-> FALSE] /\ Go(x, "commit")
                                  ELSE UNCHANGED month /\ Go(x, "month")
            /\ UNCHANGED <<line, m, l>>
Commit(x) == at[x] = "commit" /\ month' = [month EXCEPT !.ver = @ + 1, !.leased = FALSE] /\ Go(x, "idle") /\ UNCHANGED <<line, m, l>>
\* Who closes: reads the line and the month; says so in the month; says so in the line, which is swapped again on what is read when others moved it.
CloseMonth(x) == /\ at[x] = "close" /\ ~m[x].leased
                 /\ IF ~Flag THEN UNCHANGED month /\ Go(x, "line")
                    ELSE IF month.ver = m[x].ver THEN month' = [month EXCEPT !.ver = @ + 1, !.closed = TRUE] /\ Go(x, "line") ELSE UNCHANGED month /\ Go(x, "idle")
                 /\ UNCHANGED <<line, m, l>>
CloseLine(x) == /\ at[x] = "line" /\ Go(x, "idle")
                /\ line' = IF line.opens = l[x].opens THEN [line EXCEPT !.closed = TRUE] ELSE line
                /\ UNCHANGED <<month, m, l>>
Next == \E x \in Procs : Look(x, "idle", "month") \/ Read(x, "month", "open") \/ Open(x) \/ NoOpen(x) \/ Lease(x) \/ Commit(x)
                         \/ Look(x, "idle", "toclose") \/ Read(x, "toclose", "close") \/ CloseMonth(x) \/ CloseLine(x)
Spec == Init /\ [][Next]_vars
Bound == month.ver < 7 /\ line.opens < 4
Listed == month.leased => ~line.closed
Symmetry == Permutations(Procs)
=============================================================================
