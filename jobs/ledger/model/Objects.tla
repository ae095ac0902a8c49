------------------------------- MODULE Objects -------------------------------
(* Old history lies in objects that are created once, beside the document that names them. A writer reads the document, creates an object, and swaps the
document so that it names the object. A sweeper reads the document, and later deletes what it found unnamed. Swaps wait in `swaps` until the store
applies them; an answer may be lost; anybody may stop between two steps. *)
EXTENDS Integers, FiniteSets, TLC
CONSTANTS Writers, Sweepers, Swaps, \* how often the document is swapped at most
    Before, \* the object is there before the swap that names it is sent
    Fresh,  \* who loses a swap creates a new object, under a new name, for the next
    Aged,   \* an object is deleted only when it is older than the version of the document that doesn't name it
    Leave   \* who loses a swap, or gets no answer, leaves its object to the sweeper
VARIABLES doc, objects, swaps, writer, copy
vars == <<doc, objects, swaps, writer, copy>>
Init == /\ doc = [ver |-> 0, names |-> {}] /\ objects = {} /\ swaps = {} /\ copy = [y \in Sweepers |-> doc]
        /\ writer = [x \in Writers |-> [at |-> "idle", ver |-> 0, n |-> 0]]
Name(x) == <<x, writer[x].n>>
Is(x, at) == writer[x].at = at
Go(x, at) == writer' = [writer EXCEPT ![x].at = at]
Read(x) == /\ Is(x, "idle") /\ writer' = [writer EXCEPT ![x] = [at |-> IF ~Fresh /\ @.n > 0 THEN "swap" ELSE IF Before THEN "create" ELSE "swap", ver |-> doc.ver,
                                                                    n |-> IF ~Fresh /\ @.n > 0 THEN @.n ELSE @.n + 1]]
           /\ UNCHANGED <<doc, objects, swaps, copy>>
Create(x) == /\ Is(x, "create") /\ objects' = objects \cup {[name |-> Name(x), made |-> doc.ver]} /\ Go(x, IF Before THEN "swap" ELSE "over") /\ UNCHANGED <<doc, swaps, copy>>
Swap(x) == /\ Is(x, "swap") /\ swaps' = swaps \cup {[by |-> x, ver |-> writer[x].ver, name |-> Name(x)]} /\ Go(x, "wait") /\ UNCHANGED <<doc, objects, copy>>
Apply == \E m \in swaps, heard \in BOOLEAN :
    /\ m.ver = doc.ver /\ doc.ver < Swaps /\ doc' = [ver |-> doc.ver + 1, names |-> doc.names \cup {m.name}] /\ swaps' = {}
    /\ IF heard /\ Is(m.by, "wait") /\ m.name = Name(m.by) THEN Go(m.by, IF Before THEN "over" ELSE "create") ELSE UNCHANGED writer
    /\ UNCHANGED <<objects, copy>>
Reread(x) == \* refused, or no answer came: what one wanted is there, or one begins anew
    /\ Is(x, "wait")
    /\ IF \E k \in 1..writer[x].n : <<x, k>> \in doc.names THEN Go(x, IF Before THEN "over" ELSE "create") /\ UNCHANGED objects
       ELSE Go(x, "idle") /\ objects' = IF Leave THEN objects ELSE {o \in objects : o.name # Name(x)}
    /\ UNCHANGED <<doc, swaps, copy>>
Other == doc.ver < Swaps /\ doc' = [doc EXCEPT !.ver = @ + 1] /\ swaps' = {} /\ UNCHANGED <<objects, writer, copy>> \* any other swap of the document
Look(y) == copy' = [copy EXCEPT ![y] = doc] /\ copy' # copy /\ UNCHANGED <<doc, objects, swaps, writer>>
Sweep(y) == \E o \in objects : /\ o.name \notin copy[y].names /\ (Aged => o.made < copy[y].ver)
                               /\ objects' = objects \ {o} /\ UNCHANGED <<doc, swaps, writer, copy>>
Next == Apply \/ Other \/ (\E x \in Writers : Read(x) \/ Create(x) \/ Swap(x) \/ Reread(x)) \/ \E y \in Sweepers : Look(y) \/ Sweep(y)
Spec == Init /\ [][Next]_vars
Bound == \A x \in Writers : writer[x].n <= 2
\* What the document names is there.
Complete == \A name \in doc.names : \E o \in objects : o.name = name
Symmetry == Permutations(Writers) \cup Permutations(Sweepers)
=============================================================================
