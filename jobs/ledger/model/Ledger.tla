------------------------------- MODULE Ledger -------------------------------
(* This module describes how runs of reportferry, which know nothing of each other but what they find in a bucket, keep
one partition of one table right: what readers see in the sink, what the ledger records of it, and who works on it.

A run takes the partition's claim, reads the newest record, fetches the rows, puts them into the sink, and records that
it did. It may stop at any step and never go on, which is a crash, or go on after any time, which is a process that was
suspended, or a machine that slept. For TLC a crash needs no action of its own: a run that takes no more steps has
crashed. What a run has sent may arrive after it is dead: writes of claims and puts wait in `writes` and `sent` until the
store applies them, and a put may be applied more than once. An answer that is lost is a run that takes no more steps; the
run that comes after it is another one. Creations of numbered objects have no such channel, as one that is applied late is
one of a run that was slow and then crashed.

The records of the partitions that begin in one week share a row of numbers: an object has records of several of them under
one number. This partition's are the ones that matter here; those of its neighbours only take numbers, and whoever finds a
number taken reads what took it.

Three rules keep the data right:

  1. A number is used once. Claims, records, segments and what was swept are numbered objects that are created only when
     they are absent. As used numbers are deleted, creation is no proof, and the creator looks again whether anybody has
     gone past. Who finds the number of a record taken takes the next one only while the partition's newest record is the
     one that it builds on.
  2. A put is made on the condition of the version that the sink's object had before the run made its doubt record: the
     newest record names it, or, when that is a doubt record itself, the run looks.
  3. A doubt record (state "publishing") precedes every put, so that no record vouches for what a put may replace.

None of them needs claims. Claims save work: with clocks that run on and are read rightly there is one holder at a time,
and the code may rely on that for quotas and speed, but not for data. Between the moment at which a holder reads its clock
and its next step any time may pass, so two runs can be in the middle of a put at once, and all that is said of data below
is checked with runs that hold no claims at all, and believe that they do (Claiming = FALSE).

What is left out: several sinks (each has its own receipt), all of other partitions but their numbers, the body of files,
tables that aren't this one, the policy for zero rows (here zero rows are put, as on_empty: clear asks), and the two
listings in which records and segments are read. The listing of records comes first, the newest number only grows, and a
record is deleted only when a segment holds it or a newer one, so that what is read was the newest at one moment between
the two listings. Creating a record and looking again is one step here: what a later look finds is what a crash right
after it leaves.

Bounds: the runs, each of which does its work once, and the times at which the data changes. Nothing else is cut: the
limit in Apply binds only where puts have no precondition. *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Runs,         \* the runs; any of them may stop for good or sleep at any step
    Times,        \* how many states the service's data has: rows at times 1, 3, ..., no rows at 2, 4, ...
    Persons,      \* how often a person replaces or deletes the object in the sink
    Neighbours,   \* how many records of other partitions of the week are made by others
    Folders,      \* how many folds may be under way at once; with 0 a fold is one step
    Claiming,     \* runs take claims; else each of them believes that it holds the unit
    Working,      \* holders publish; else they only hold
    Suspicion,    \* a run may doubt the newest record for no reason: an old listing says so, or --force
    LoserMarks,   \* a run whose last record lost adds a doubt record, which nothing below needs
    \* The protections, each of them on in the product. A variant switches one off, and TLC must find what goes wrong.
    ClaimLook,    \* a claimant looks again after it created its number
    SweptWritten, \* a sweep writes numbers down before it deletes their objects
    WallClock,    \* a lease ends by the later of wall and monotonic clock; the latter stands still in a suspended machine
    BeatInTime,   \* an answer to a heartbeat counts only when the lease that it renews hasn't ended
    BeatLists,    \* a heartbeat lists first, and doesn't renew when a higher number exists
    RecordLook,   \* the creator of a record looks at the highest segment for "entry": one that has its number or a higher one
                  \* and isn't its own; for "number": a higher one; "none": not at all
    RetryLooks,   \* who finds a number taken goes on only if the partition's newest record is still the one it builds on
    SegmentLook,  \* a folder looks whether its segment is the highest before it deletes what it folded
    BaseFirst,    \* a run builds on the newest record from before its fetch, not on the one at the time of its put
    LookFirst,    \* in doubt a run looks at the sink before it makes its doubt record, not after it
    DoubtFirst,   \* a doubt record precedes a partition's first put
    DoubtLater,   \* a doubt record precedes every other put
    Precondition, \* the store applies a put only to the version that it names
    UniqueVersion,\* a version never comes back, unlike a hash of the content
    Listing       \* planning compares the sink's listing with the receipt, and doubts what differs

VARIABLES
    claims,       \* the objects tables/T/claims/UNIT/N.json: number, run, and "held", "lapsed" by the store's clock or "released"
    swept,        \* the highest number that tables/T/swept says was dropped
    writes,       \* heartbeats and releases that were sent and not applied
    over,         \* the runs whose lease has ended by their own clock, a tenth earlier than by the store's
    records,      \* the objects tables/T/partitions/SUNDAY.N.json: of which fetch, and the object's version
    neighbours,   \* how many of them others made of other partitions
    segment,      \* the partition's record in the highest segment
    segmentTop,   \* the highest number of the week in that segment
    segmentNo,    \* the number of that segment
    folds,        \* what folds under way have read
    object,       \* what readers see: version (0: no object), the time of its fetch, and how many there were
    sent,         \* puts that were sent and not refused
    truth,        \* the time that it is at the service
    persons,      \* what persons did so far
    done,         \* the clean run is over; from then on nothing begins, and what had begun goes on
    run           \* of each run: where it is, and what it remembers
claimVars == <<claims, swept, writes, over>>
ledgerVars == <<neighbours, segment, segmentTop, segmentNo, folds>>
worldVars == <<truth, persons, done>>
dataVars == <<records, ledgerVars, object, sent, worldVars>>
vars == <<claimVars, dataVars, run>>

Symmetry == Permutations(Runs)
Max(S) == CHOOSE n \in S : \A m \in S : m <= n
Content(t) == IF t = 0 \/ t % 2 = 0 THEN "none" ELSE "rows"
Theirs == -1 \* the "fetch" of what a person put into the sink
NoEntry == [n |-> 0, kind |-> "none", t |-> 0, version |-> 0, by |-> "none"]
Idle == [at |-> "idle", seen |-> 0, number |-> 0, base |-> NoEntry, top |-> 0, got |-> 0, cond |-> 0]

Init ==
    /\ claims = {} /\ swept = 0 /\ writes = {} /\ over = {}
    /\ records = {} /\ neighbours = 0 /\ segment = NoEntry /\ segmentTop = 0 /\ segmentNo = 0 /\ folds = {}
    /\ object = [version |-> 0, t |-> 0, made |-> 0] /\ sent = {}
    /\ truth = 1 /\ persons = 0 /\ done = FALSE
    /\ run = [r \in Runs |-> Idle]

Is(r, at) == run[r].at = at
Goto(r, at) == run' = [run EXCEPT ![r].at = at]
End(r) == run' = [run EXCEPT ![r] = [Idle EXCEPT !.at = "over"]]

(*--------------------------------- Claims ---------------------------------*)

Numbers == {c.n : c \in claims}
Top == Max(Numbers \cup {0})
Before == {"idle", "listed", "create", "look1", "look2", "over"}
Holds(r) == Claiming /\ run[r].at \notin Before /\ r \notin over

\* A run that finds the unit held ends, which is the same as one that lists later.
List(r) ==
    /\ Claiming /\ Is(r, "idle") /\ ~done
    /\ run' = [run EXCEPT ![r].at = "listed", ![r].seen = Top]
    /\ UNCHANGED <<claimVars, dataVars>>

\* The objects are listed first and the numbers swept are read after, here and in the second look.
ReadSwept(r) ==
    /\ Is(r, "listed")
    /\ run[r].seen > swept => \E c \in claims : c.n = run[r].seen /\ c.state # "held"
    /\ run' = [run EXCEPT ![r].at = "create", ![r].number = Max({run[r].seen, swept}) + 1, ![r].seen = 0]
    /\ UNCHANGED <<claimVars, dataVars>>

CreateClaim(r) ==
    /\ Is(r, "create")
    /\ IF run[r].number \in Numbers
       THEN End(r) /\ UNCHANGED claims
       ELSE /\ claims' = claims \cup {[n |-> run[r].number, by |-> r, state |-> "held"]}
            /\ Goto(r, IF ClaimLook THEN "look1" ELSE "hold")
    /\ UNCHANGED <<swept, writes, over, dataVars>>

LookAtNumbers(r) ==
    /\ Is(r, "look1")
    /\ run' = [run EXCEPT ![r].at = "look2", ![r].seen = Top]
    /\ UNCHANGED <<claimVars, dataVars>>

\* Who was outrun deletes its number, who won deletes the older ones; both may crash before they do.
LookAtSwept(r) ==
    /\ Is(r, "look2")
    /\ \E deletes \in BOOLEAN :
        IF swept >= run[r].number \/ run[r].seen # run[r].number
        THEN /\ claims' = IF deletes THEN {c \in claims : c.n # run[r].number} ELSE claims
             /\ End(r) /\ over' = over \ {r}
        ELSE /\ claims' = IF deletes THEN {c \in claims : c.n >= run[r].number} ELSE claims
             /\ run' = [run EXCEPT ![r].at = "hold", ![r].seen = 0] /\ UNCHANGED over
    /\ UNCHANGED <<swept, writes, dataVars>>

LeaseEnds(r) ==
    /\ run[r].number > 0 /\ r \notin over
    /\ over' = over \cup {r}
    /\ UNCHANGED <<claims, swept, writes, dataVars, run>>

\* The store's clock ends a lease after its holder's has, unless the holder's stood still.
Lapse == \E c \in claims :
    /\ c.state = "held"
    /\ WallClock => run[c.by].number # c.n \/ c.by \in over
    /\ claims' = (claims \ {c}) \cup {[c EXCEPT !.state = "lapsed"]}
    /\ UNCHANGED <<swept, writes, over, dataVars, run>>

Beat(r) ==
    /\ Holds(r) /\ (BeatLists => Top = run[r].number)
    /\ writes' = writes \cup {[n |-> run[r].number, by |-> r, state |-> "held"]} /\ writes' # writes
    /\ UNCHANGED <<claims, swept, over, dataVars, run>>

\* Heartbeats and releases replace the object whatever it is, also when it was deleted. Its number says that it is old.
Land == \E w \in writes :
    /\ claims' = {c \in claims : c.n # w.n} \cup {w}
    /\ writes' = writes \ {w}
    /\ over' = IF BeatInTime \/ w.state # "held" THEN over ELSE over \ {w.by}
    /\ UNCHANGED <<swept, dataVars, run>>

Release(r) ==
    /\ Is(r, IF Working THEN "release" ELSE "hold")
    /\ End(r) /\ over' = over \ {r}
    /\ writes' = IF Holds(r) THEN writes \cup {[n |-> run[r].number, by |-> r, state |-> "released"]} ELSE writes
    /\ UNCHANGED <<claims, swept, dataVars>>

Sweep ==
    /\ \E c \in claims :
        /\ c.state = "released"
        /\ IF SweptWritten THEN c.n > swept /\ swept' = c.n /\ UNCHANGED claims ELSE claims' = claims \ {c} /\ UNCHANGED swept
    /\ UNCHANGED <<writes, over, dataVars, run>>

DropSwept ==
    /\ claims' = {c \in claims : c.n > swept} /\ claims' # claims
    /\ UNCHANGED <<swept, writes, over, dataVars, run>>

(*-------------------------------- Records ---------------------------------*)

\* What is in no segment and not above the one that holds counts for nothing: it was folded, or came under a number that
\* was used before. Of the others the highest number holds.
Live(all, top) == {e \in all : e.n > top}
Latest(all) == CHOOSE e \in all : \A f \in all : f.n <= e.n
NewestOf(all, top, folded) == Latest({e \in Live(all, top) : e.kind # "other"} \cup {folded})
TopOf(all, top) == Max({e.n : e \in all} \cup {top})
Newest == NewestOf(records, segmentTop, segment)
RowTop == TopOf(records, segmentTop)
Entry(r, n, kind, version) == [n |-> n, kind |-> kind, t |-> run[r].got, version |-> version, by |-> r]
Taken(e) == \E f \in records : f.n = e.n
Create(e) == records' = IF Taken(e) THEN records ELSE records \cup {e}
\* Only folds delete records, and what they delete is in the segment, or older than what is.
Void(n) == (RecordLook = "entry" /\ segmentTop >= n) \/ (RecordLook = "number" /\ segmentTop > n)
Lost(e) == Taken(e) \/ Void(e.n)

\* Others record other partitions of the week. Those who have slept may use a number that was folded and deleted.
Neighbour ==
    /\ neighbours < Neighbours
    /\ neighbours' = neighbours + 1
    /\ \E n \in 1..RowTop + 1 :
        LET e == [NoEntry EXCEPT !.n = n, !.kind = "other"] IN ~Taken(e) /\ records' = records \cup {e}
    /\ UNCHANGED <<claimVars, segment, segmentTop, segmentNo, folds, object, sent, worldVars, run>>

Fold ==
    /\ Folders = 0 /\ RowTop > segmentTop
    /\ segment' = Newest /\ segmentTop' = RowTop /\ records' = {}
    /\ UNCHANGED <<claimVars, neighbours, segmentNo, folds, object, sent, worldVars, run>>

\* A folder lists the records and then the segments, and begins anew when one that it has to read is gone by then.
FoldList ==
    /\ Cardinality(folds) < Folders /\ segmentNo < Folders
    /\ folds' = folds \cup {[no |-> 0, entry |-> NoEntry, top |-> 0, loose |-> records]}
    /\ UNCHANGED <<claimVars, records, neighbours, segment, segmentTop, segmentNo, object, sent, worldVars, run>>

FoldRead == \E f \in folds :
    /\ f.no = 0 /\ \A e \in f.loose : e.n > segmentTop => e \in records
    /\ folds' = (folds \ {f}) \cup {[f EXCEPT !.no = segmentNo + 1, !.top = TopOf(f.loose, segmentTop),
                                              !.entry = NewestOf(f.loose, segmentTop, segment)]}
    /\ UNCHANGED <<claimVars, records, neighbours, segment, segmentTop, segmentNo, object, sent, worldVars, run>>

\* The highest segment exists, and those below it were deleted: their numbers can be created again.
FoldWrite == \E f \in folds :
    /\ f.no > 0
    /\ folds' = folds \ {f}
    /\ IF f.no > segmentNo
       THEN segment' = f.entry /\ segmentTop' = f.top /\ segmentNo' = f.no /\ records' = records \ f.loose
       ELSE /\ records' = IF f.no < segmentNo /\ ~SegmentLook THEN records \ f.loose ELSE records
            /\ UNCHANGED <<segment, segmentTop, segmentNo>>
    /\ UNCHANGED <<claimVars, neighbours, object, sent, worldVars, run>>

\* Where no runs work, somebody records something, so that there is something to fold.
Append ==
    /\ Folders > 0 /\ ~Working /\ Newest.n < Times
    /\ records' = records \cup {[NoEntry EXCEPT !.n = RowTop + 1]}
    /\ UNCHANGED <<claimVars, ledgerVars, object, sent, worldVars, run>>

(*------------------------------- Publishing -------------------------------*)

same == UNCHANGED <<claimVars, ledgerVars, object, worldVars>>
Leave(r) ==
    IF Claiming THEN run' = [run EXCEPT ![r] = [Idle EXCEPT !.at = "release", !.number = run[r].number]] ELSE End(r)

Doubted(e) == e.kind = "doubt" \/ (Listing /\ e.version # object.version)
Based(e) == IF Doubted(e) THEN [e EXCEPT !.kind = "doubt"] ELSE e
BaseOf(r) == IF BaseFirst THEN run[r].base ELSE Based(Newest)
Nothing(base, t) == base.kind \in {"none", "empty"} /\ Content(t) = "none"
Following(r) == (IF BaseFirst THEN run[r].top ELSE RowTop) + 1
Retries(r) == Taken([n |-> Following(r)]) /\ run[r].top < RowTop /\ (RetryLooks => Newest.n = run[r].base.n)
Unchanged(base, t) == base.kind = "clean" /\ Content(base.t) = Content(t)
NeedsPut(r) == ~Nothing(BaseOf(r), run[r].got) /\ ~Unchanged(BaseOf(r), run[r].got)

Plan(r) ==
    /\ Working /\ Is(r, IF Claiming THEN "hold" ELSE "idle") /\ ~done
    /\ \E suspects \in IF Suspicion THEN BOOLEAN ELSE {FALSE} :
        LET base == IF suspects THEN [Newest EXCEPT !.kind = "doubt"] ELSE Based(Newest)
        IN  run' = [run EXCEPT ![r].at = "fetch", ![r].base = IF BaseFirst THEN base ELSE NoEntry, ![r].top = RowTop]
    /\ same /\ UNCHANGED <<records, sent>>

Fetch(r) ==
    /\ Is(r, "fetch")
    /\ run' = [run EXCEPT ![r].at = "fetched", ![r].got = truth]
    /\ same /\ UNCHANGED <<records, sent>>

\* Nothing to put: the sink holds these rows, or none and never had any.
Vouch(r) ==
    /\ Is(r, "fetched") /\ ~NeedsPut(r) /\ ~Retries(r)
    /\ LET base == BaseOf(r)
       IN  Create(Entry(r, Following(r), IF base.kind = "clean" THEN "clean" ELSE "empty", base.version))
    /\ Leave(r)
    /\ same /\ UNCHANGED sent

\* In doubt the run takes the version that is there, before it says that it will replace it.
Look(r) ==
    /\ Is(r, "fetched") /\ NeedsPut(r) /\ BaseOf(r).kind = "doubt" /\ LookFirst
    /\ run' = [run EXCEPT ![r].at = "looked", ![r].base = BaseOf(r), ![r].cond = object.version]
    /\ same /\ UNCHANGED <<records, sent>>

Doubt(r) ==
    LET base == BaseOf(r)
        before == IF base.n = 0 THEN DoubtFirst ELSE DoubtLater
        e == Entry(r, Following(r), "doubt", 0)
    IN  /\ before => ~Retries(r)
        /\ \/ Is(r, "looked")
           \/ Is(r, "fetched") /\ NeedsPut(r) /\ (base.kind = "doubt" => ~LookFirst)
        /\ IF before THEN Create(e) ELSE UNCHANGED records
        /\ IF before /\ Lost(e)
           THEN Leave(r)
           ELSE run' = [run EXCEPT ![r].base = IF before THEN e ELSE base,
                                   ![r].top = IF before THEN e.n ELSE @,
                                   ![r].cond = IF Is(r, "looked") THEN @ ELSE base.version,
                                   ![r].at = IF base.kind = "doubt" /\ ~LookFirst THEN "look late" ELSE "put"]
        /\ same /\ UNCHANGED sent

LookLate(r) ==
    /\ Is(r, "look late")
    /\ run' = [run EXCEPT ![r].at = "put", ![r].cond = object.version]
    /\ same /\ UNCHANGED <<records, sent>>

\* Guard: a holder asks before its put whether it still is one.
Put(r) ==
    /\ Is(r, "put")
    /\ IF Claiming /\ ~(Holds(r) /\ Top = run[r].number)
       THEN Leave(r) /\ UNCHANGED sent
       ELSE Goto(r, "wait") /\ sent' = sent \cup {[by |-> r, t |-> run[r].got, cond |-> run[r].cond]}
    /\ same /\ UNCHANGED records

Fits(m) == Precondition => m.cond = object.version
Made(t) == [t |-> t, made |-> object.made + 1,
            version |-> IF UniqueVersion THEN object.made + 1 ELSE IF Content(t) = "rows" THEN 1 ELSE 2]

\* The store applies a put whenever it likes, and again when a client sent it again, as long as its condition holds.
Apply == \E m \in sent :
    /\ Fits(m) /\ object.made < 2 * Cardinality(Runs) + 2
    /\ object' = Made(m.t)
    /\ IF Is(m.by, "wait") THEN run' = [run EXCEPT ![m.by].at = "record", ![m.by].cond = object'.version] ELSE UNCHANGED run
    /\ UNCHANGED <<claimVars, records, ledgerVars, sent, worldVars>>

Refuse == \E m \in sent :
    /\ ~Fits(m)
    /\ sent' = sent \ {m}
    /\ IF Is(m.by, "wait") THEN Leave(m.by) ELSE UNCHANGED run
    /\ same /\ UNCHANGED records

Record(r) ==
    LET e == Entry(r, run[r].top + 1, "clean", run[r].cond)
    IN  /\ Is(r, "record") /\ ~Retries(r)
        /\ Create(e)
        /\ IF Lost(e) /\ LoserMarks THEN Goto(r, "mark") ELSE Leave(r)
        /\ same /\ UNCHANGED sent

\* A run that finds its number taken reads what took it, and goes on when that is of other partitions.
Again(r) ==
    /\ run[r].at \in {"looked", "fetched", "record"} /\ Retries(r)
    /\ run' = [run EXCEPT ![r].top = RowTop]
    /\ UNCHANGED <<claimVars, dataVars>>

Mark(r) ==
    /\ Is(r, "mark")
    /\ IF Newest.kind = "doubt" THEN UNCHANGED records ELSE Create(Entry(r, RowTop + 1, "doubt", 0))
    /\ Leave(r)
    /\ same /\ UNCHANGED sent

(*-------------------------------- The world -------------------------------*)

Restate ==
    /\ Working /\ truth < Times /\ ~done
    /\ truth' = truth + 1
    /\ UNCHANGED <<claimVars, records, ledgerVars, object, sent, persons, done, run>>

Person ==
    /\ persons < Persons /\ ~done
    /\ persons' = persons + 1
    /\ \/ object' = [Made(Theirs) EXCEPT !.version = object.made + 1]
       \/ object' = [version |-> 0, t |-> 0, made |-> object.made + 1]
    /\ UNCHANGED <<claimVars, records, ledgerVars, sent, truth, done, run>>

\* One clean run from any state whatever: all its steps at once, while every other run sleeps or is dead, and no put of
\* theirs arrives. They arrive after it, and the sleepers wake up.
Clean ==
    LET base == Based(Newest)
        fits == Precondition => (base.kind = "doubt" \/ base.version = object.version)
        e(n, kind, version) == [n |-> RowTop + n, kind |-> kind, t |-> truth, version |-> version, by |-> "clean"]
    IN  /\ Working /\ ~done /\ done' = TRUE
        /\ CASE Nothing(base, truth) -> records' = records \cup {e(1, "empty", base.version)} /\ UNCHANGED object
             [] Unchanged(base, truth) -> records' = records \cup {e(1, "clean", base.version)} /\ UNCHANGED object
             [] OTHER -> IF fits
                         THEN object' = Made(truth) /\ records' = records \cup {e(1, "doubt", 0), e(2, "clean", object'.version)}
                         ELSE records' = records \cup {e(1, "doubt", 0)} /\ UNCHANGED object
        /\ UNCHANGED <<claimVars, ledgerVars, sent, truth, persons, run>>

Next ==
    \/ \E r \in Runs :
        \/ List(r) \/ ReadSwept(r) \/ CreateClaim(r) \/ LookAtNumbers(r) \/ LookAtSwept(r)
        \/ LeaseEnds(r) \/ Beat(r) \/ Release(r)
        \/ Plan(r) \/ Fetch(r) \/ Vouch(r) \/ Look(r) \/ Doubt(r) \/ LookLate(r) \/ Put(r) \/ Record(r) \/ Mark(r) \/ Again(r)
    \/ Lapse \/ Land \/ Sweep \/ DropSwept
    \/ Neighbour \/ Fold \/ FoldList \/ FoldRead \/ FoldWrite \/ Append
    \/ Apply \/ Refuse \/ Restate \/ Person \/ Clean

Spec == Init /\ [][Next]_vars

(*------------------------------- Invariants -------------------------------*)

\* Of two runs that have taken the claim, the lease of at least one has ended by its own clock. What a run did after it
\* last read that clock isn't covered: that is what preconditions are for.
OneHolder == \A r, s \in Runs : Holds(r) /\ Holds(s) => r = s

\* What readers see is never older than what the newest record says, unless that record says that it is in doubt.
Says == Newest.kind \in {"clean", "empty"}
NeverOlder == Says /\ persons = 0 => object.t >= Newest.t \/ Content(object.t) = Content(Newest.t)

\* The same and more: the newest record names the very object that is there.
Exact == Says /\ persons = 0 => object.version = Newest.version

\* After one clean run readers, the newest record and the service agree, and nothing that began before it changes that.
\* With LoserMarks a sleeper may put the partition in doubt once more: the rows are right, and are fetched once again.
Reached ==
    done => /\ Content(object.t) = Content(truth) /\ object.t # Theirs
            /\ \/ Says /\ Content(Newest.t) = Content(truth) /\ Newest.version = object.version
               \/ LoserMarks /\ Newest.kind = "doubt" /\ Newest.by # "clean"

\* The newest number never goes down: no record is lost, whoever folds. (A property of steps.)
Forward == [][Newest'.n >= Newest.n]_vars
==============================================================================
