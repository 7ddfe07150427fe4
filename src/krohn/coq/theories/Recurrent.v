(* To be read: recurrent networks by the names of their tensors, what is assumed of the device,
   the claim.  No proofs here. *)
From Krohn Require Export Tensors.
Import ListNotations.
Declare Scope set_scope.
Notation vector := (list f32).
(* Sums of products x1 y1 + x2 y2 + ... in any order, or in one: from left to right, not fused *)
Definition any_order (x y : vector) (r : f32) : Prop := sums (combine x y) r.
Definition left_to_right (x y : vector) : f32 :=
  match combine x y with
  | [] => zero
  | (a, b) :: l =>
      fold_left (fun s p => Bplus mode_NE s (Bmult mode_NE (fst p) (snd p))) l (Bmult mode_NE a b)
  end.
Definition one_order (x y : vector) (r : f32) : Prop := left_to_right x y = r.
(* Of sigmoid and tanh only this is assumed: each argument has results, and they are known at 0
  and
   where the functions are saturated.  A gate need not be 1/2 at 0. *)
Definition half : f32 := literal 1 (-1) false.
Definition far : f32 := literal 110 0 false.
Definition results := f32 -> f32 -> Prop.
Definition is_gate (f : results) : Prop := (forall x, exists y, f x y) /\ forall x y, f x y ->
  (smaller x (Bopp far) = true -> y = zero) /\ (smaller far x = true -> y = one).
Definition is_sigmoid (f : results) : Prop :=
  is_gate f /\ forall x y, f x y -> Beqb x zero = true -> y = half.
Definition is_tanh (f : results) : Prop := (forall x, exists y, f x y) /\ forall x y, f x y ->
  (smaller x (Bopp far) = true -> y = Bopp one) /\ (smaller far x = true -> y = one) /\
  (Beqb x zero = true -> y = x).
Record device := { Sums : vector -> vector -> f32 -> Prop;
  Sigmoid : results; Gate : results; Tanh : results }.
(* The device may give any element of a set of results.  x <- m ;; k: take any x of m, then what
   k gives of it. *)
Definition then_any {A B} (m : A -> Prop) (k : A -> B -> Prop) (b : B) : Prop :=
  exists a, m a /\ k a b.
Notation "x <- m ;; k" := (then_any m (fun x => k))
  (at level 61, m at next level, right associativity) : set_scope.
Notation "' p <- m ;; k" := (then_any m (fun p => k))
  (at level 61, p pattern, m at next level, right associativity) : set_scope.
Definition each2 {A B C} (f : A -> B -> C -> Prop) (l : list A) (k : list B) : list C -> Prop :=
  Forall2 (fun p => f (fst p) (snd p)) (combine l k).
Definition added (x y : vector) : vector :=
  map (fun p => Bplus mode_NE (fst p) (snd p)) (combine x y).
Definition at_least (c x : f32) : f32 := if smaller x c then c else x.
(* A matrix is a list of columns; one with a bias has it as its last row. *)
Definition linear (D : device) (x : vector) (w : list (list word)) : vector -> Prop :=
  Forall2 (fun c => Sums D x (map float c)) w.
Definition affine (D : device) (x : vector) (w : list (list word)) : vector -> Prop :=
  linear D (x ++ [one]) w.
(* a + x y *)
Definition plus_product (D : device) (a x y : f32) : f32 -> Prop := Sums D [a; x] [one; y].
Definition matrix (ts : list tensor) (name : string) (biases : list string) (rows cols : nat)
  : list (list word) :=
  columns cols (pieces rows cols (words_named ts name) ++ map (words_named ts) biases).
Definition biased (ts : list tensor) (p : string) : nat -> nat -> list (list word) :=
  matrix ts (p ++ ".weight") [p ++ ".bias"]%string.
Definition F32 (name : string) (shape : list nat) : label :=
  {| Name := name; Type_ := "F32"; Shape := shape |}.
Definition biased_labels (p : string) (rows cols : nat) : list label :=
  [F32 (p ++ ".weight") [rows; cols]; F32 (p ++ ".bias") [cols]].
(* What mixes letters (Delta.v, Diagonal.v): its name and numbers in a line, how many numbers it
   gives, its tensors (for so many inputs, after a prefix), its memory before the first letter,
     and
   what it gives of an input and a memory *)
Notation memory := (list (list vector)).
Record mixer := { Line : string; ReadOut : nat; MixerLabels : nat -> string -> list label;
  Empty : memory;
  Mix : device -> list tensor -> nat -> string -> vector -> memory -> vector * memory -> Prop }.
Record sizes := { LettersRead : nat; Width : nat; LooksBack : bool; Layers : nat; Hidden : nat;
  Classes : nat }.
Section Network.
Variables (m : mixer) (z : sizes) (ts : list tensor) (D : device).
Local Open Scope set_scope.
Definition inputs : nat := if LooksBack z then 2 * Width z else Width z.
Definition block (i : nat) (part : string) : string := "h." ++ decimal i ++ "." ++ part.
Definition mlp_labels (p : string) : list label :=
  match Hidden z with
  | O => []
  | n => [F32 (p ++ "in") [inputs; n]; F32 (p ++ "in_bias") [n]; F32 (p ++ "out") [n; Width z]]
  end.
Definition labels : list label :=
  F32 "wte" [LettersRead z; Width z] :: biased_labels "head" (Width z) (Classes z) ++
  flat_map (fun i => F32 (block i "mix.out") [ReadOut m; Width z] ::
                     MixerLabels m inputs (block i "mix.") ++ mlp_labels (block i "mlp."))
           (seq 0 (Layers z)).
(* A block: mixer, then MLP, each added to the stream; both may look one letter back.  Its state:
   memory, the stream before each *)
Notation state := (list (memory * vector * vector)).
Definition window (x before : vector) : vector := if LooksBack z then x ++ before else x.
Definition kept (x : vector) : vector := if LooksBack z then x else [].
Fixpoint blocks (numbers : list nat) (x : vector) (states : state) : vector * state -> Prop :=
  match numbers, states with
  | i :: numbers, (M, before_mixer, before_mlp) :: states =>
      '(r, M') <- Mix m D ts inputs (block i "mix.") (window x before_mixer) M ;;
      change <- linear D r (matrix ts (block i "mix.out") [] (ReadOut m) (Width z)) ;;
      let y := added x change in
      out <- match Hidden z with O => eq y | n =>
               h <- affine D (window y before_mlp)
                      (matrix ts (block i "mlp.in") [block i "mlp.in_bias"] inputs n) ;;
               c <- linear D (map rectified h) (matrix ts (block i "mlp.out") [] n (Width z)) ;;
               eq (added y c) end ;;
      '(end_, rest) <- blocks numbers out states ;; eq (end_, (M', kept x, kept y) :: rest)
  | _, _ => eq (x, [])
  end.
(* a letter is a vector that is one at its row: the whole table is multiplied by it *)
Definition one_hot (letter : nat) : vector :=
  map (fun i => if (i =? letter)%nat then one else zero) (seq 0 (LettersRead z)).
Definition step (states : state) (letter : nat) : vector * state -> Prop :=
  x <- linear D (one_hot letter) (matrix ts "wte" [] (LettersRead z) (Width z)) ;;
  '(y, after) <- blocks (seq 0 (Layers z)) x states ;;
  logits <- affine D y (biased ts "head" (Width z) (Classes z)) ;; eq (logits, after).
Inductive leads_to : list nat -> state -> Prop :=
| at_start : let zeros := kept (repeat zero (Width z)) in
    leads_to [] (repeat (Empty m, zeros, zeros) (Layers z))
| by_letter w s a y t : leads_to w s -> step s a (y, t) -> leads_to (w ++ [a]) t.
Definition logits_after (w : list nat) (a : nat) (y : vector) : Prop :=
  exists s t, leads_to w s /\ step s a (y, t).
End Network.
(* The only way of reading: one letter, with all of its layers, after the other.  To read several
   letters at once (chunks) is to take other sums, of which nothing is said here. *)
Inductive reading := letter_by_letter.
(* After every word the device gives logits, and whatever it gives, that of the automaton's state
   is the largest. *)
Definition right_on_every_word (how : reading) (order : vector -> vector -> f32 -> Prop)
  (hash : Z) (names : list Z) (m : mixer) (z : sizes) (ts : list tensor) (d : automaton) :=
  is_file hash (Line m) names [] (labels m z) ts /\ is_complete d = true /\ LettersRead z =
    Letters d /\
  forall s g t, is_sigmoid s -> is_gate g -> is_tanh t ->
  let D := {| Sums := order; Sigmoid := s; Gate := g; Tanh := t |} in
  forall w a, is_word_of d (w ++ [a]) ->
  (exists y, logits_after m z ts D w a y) /\
  forall y, logits_after m z ts D w a y -> answers d y (w ++ [a]).
