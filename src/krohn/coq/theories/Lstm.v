(* To be read for trained LSTMs: the cell, sigmoid and tanh by their accuracy, and the claim.  No
   proofs here. *)
From Krohn Require Export Tensors Transformer.
Import ListNotations.
Local Open Scope string_scope.
(* Inputs of the cell, its units; rows of the embedding and columns of the read-out, of which the
   last may stand for no letter and no state *)
Record lsizes := { LInputs : nat; LUnits : nat; LRows : nat; LColumns : nat; LClasses : nat }.
Section Read.
Variables (z : lsizes) (ts : list tensor).
Notation n := (LUnits z).
Definition F32 (name : string) (shape : list nat) : label :=
  {| Name := name; Type_ := "F32"; Shape := 1%nat :: shape |}.
Definition lstm_labels : list label :=
  [F32 "wte" [LRows z; LInputs z]; F32 "weight_ih" [LInputs z; 4 * n]%nat;
   F32 "weight_hh" [n; 4 * n]%nat; F32 "bias" [4 * n]%nat; F32 "head.weight" [n; LColumns z];
   F32 "head.bias" [LColumns z]].
Definition single (name : string) : vec := map float (words_named ts name).
Definition columns_named (name : string) (r c : nat) : matrix :=
  columns c (pieces r c (single name)).
(* a letter is a vector that is one at its row: the whole table is multiplied by it *)
Definition one_hot (a : nat) : vec :=
  map (fun i => if (i =? a)%nat then one else zero) (seq 0 (LRows z)).
Definition table : matrix := columns_named "wte" (LRows z) (LInputs z).
(* for each gate of each unit its weights of the input, of the units before, and its bias *)
Definition gates : list (vec * vec * f32) :=
  combine (combine (columns_named "weight_ih" (LInputs z) (4 * n))
                   (columns_named "weight_hh" n (4 * n))) (single "bias").
Definition read_out : matrix * vec :=
  (firstn (LClasses z) (columns_named "head.weight" n (LColumns z)),
   firstn (LClasses z) (single "head.bias")).
(* the results of the device's sigmoid and tanh *)
Variables (sg th : f32 -> f32 -> Prop).
(* c' = sigmoid f c + sigmoid i tanh g, h' = sigmoid o tanh c'; gates are in the order i, f, g,
   o *)
Definition cell (a : nat) (h c h' c' : vec) : Prop := exists x y si sf tg so tc : vec,
  times (one_hot a) table x /\
  each_sum (fun g => combine x (fst (fst g)) ++ combine h (snd (fst g)) ++
                     [(snd g, one)])%list gates y /\
  Forall2 sg (firstn n y) si /\ Forall2 sg (firstn n (skipn n y)) sf /\
  Forall2 th (firstn n (skipn (2 * n) y)) tg /\ Forall2 sg (skipn (3 * n) y) so /\
  each_sum (fun k => [(at_channel k sf, at_channel k c); (at_channel k si, at_channel k tg)])
           (seq 0 n) c' /\
  Forall2 th c' tc /\ each_sum (fun k => [(at_channel k so, at_channel k tc)]) (seq 0 n) h'.
Inductive after : list nat -> vec -> vec -> Prop :=
| at_start : after [] (repeat zero n) (repeat zero n)
| by_letter w h c a h' c' : after w h c -> cell a h c h' c' -> after (w ++ [a])%list h' c'.
Definition logits_after (w : list nat) (y : vec) : Prop :=
  exists h c, after w h c /\ with_bias h read_out y.
End Read.
(* Of sigmoid and tanh only this is assumed: each argument has results, and those of finite ones
   are finite and at most 8 roundings of 1 off. *)
Definition sigmoid (x : R) : R := (/ (1 + exp (- x)))%R.
Definition hyperbolic (x : R) : R := ((exp x - exp (- x)) / (exp x + exp (- x)))%R.
Definition is_near (f : R -> R) (g : f32 -> f32 -> Prop) : Prop :=
  (forall x, exists y, g x y) /\ forall x y, g x y -> is_finite x = true ->
  is_finite y = true /\ (Rabs (B2R y - f (B2R x)) <= bpow radix2 (-21))%R.
(* what the file of a training run has before its tensors *)
Definition run_mark : list string := ["""__metadata__"":{""krohn"":""1""}"].
(* After every word, of every length, read letter by letter, the device gives logits, and whatever
   it gives, that of the automaton's state is the largest. *)
Definition lstm_is_right (hash : Z) (names : list Z) (z : lsizes) (ts : list tensor)
  (d : automaton) : Prop :=
  is_file hash "LSTM" names run_mark (lstm_labels z) ts /\ is_complete d = true /\ (Letters d <=
    LRows z)%nat /\
  forall sg th, is_near sigmoid sg -> is_near hyperbolic th ->
  forall w a, is_word_of d (w ++ [a])%list ->
  (exists y, logits_after z ts sg th (w ++ [a])%list y) /\
  forall y, logits_after z ts sg th (w ++ [a])%list y -> answers d y (w ++ [a])%list.
