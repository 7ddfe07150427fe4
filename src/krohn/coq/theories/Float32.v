(* To be read: numbers of the device, sums in any order, automata.  No proofs here. *)
From Coq Require Export ZArith List Permutation Bool.
From Flocq Require Export Core BinarySingleNaN.
Import ListNotations.
Local Open Scope Z_scope.
(* IEEE 754 binary32, as Flocq defines it *)
Notation f32 := (binary_float 24 128).
#[global] Instance prec24 : Prec_gt_0 24 := eq_refl.
#[global] Instance prec24_128 : Prec_lt_emax 24 128 := eq_refl.
(* m 2^e, rounded to nearest even; the sign of a zero is given apart *)
Definition literal (m e : Z) (minus : bool) : f32 :=
  binary_normalize 24 128 prec24 prec24_128 mode_NE m e minus.
Definition zero : f32 := B754_zero false.
Definition one : f32 := literal 1 0 false.
Definition smaller (x y : f32) : bool := Bltb x y.
Definition rectified (x : f32) : f32 := if smaller x zero then zero else x.
(* A stored weight is its bits: a sign, k bits of exponent, p bits of fraction; rounded to
   binary32 where it has more. *)
Definition word := Z.
Definition decoded (k p : Z) (w : word) : f32 :=
  let minus := Z.testbit w (k + p) in let e := w / 2 ^ p mod 2 ^ k in
  let m := w mod 2 ^ p in let bias := 2 ^ (k - 1) + p - 2 in
  if e =? 2 ^ k - 1 then (if m =? 0 then B754_infinity minus else B754_nan)
  else let '(m, e) := if e =? 0 then (m, - bias) else (m + 2 ^ p, e - (bias + 1)) in
    literal (if minus then - m else m) e minus.
Definition float : word -> f32 := decoded 8 23.         (* words of 32 bits *)
Definition rounded : word -> f32 := decoded 11 52.      (* words of 64 bits *)
(* Sums of products in any order and bracketing, every operation rounded to nearest even, fused
   or not. *)
Inductive sums : list (f32 * f32) -> f32 -> Prop :=
| no_terms : sums [] zero
| product x y : sums [(x, y)] (Bmult mode_NE x y)
| plus k l a b : sums k a -> sums l b -> sums (k ++ l) (Bplus mode_NE a b)
| fused x y l a : sums l a -> sums ((x, y) :: l) (Bfma mode_NE x y a)
| in_other_order k l a : Permutation k l -> sums k a -> sums l a.
(* Automata: a row of the table for each state, a column for each letter; the state after a word *)
Record automaton := { First : nat; Letters : nat; Table : list (list nat) }.
Definition is_complete (d : automaton) : bool :=
  (First d <? length (Table d))%nat &&
  forallb (fun r => (length r =? Letters d)%nat &&
                    forallb (fun q => (q <? length (Table d))%nat) r) (Table d).
Definition follow (d : automaton) (q a : nat) : nat := nth a (nth q (Table d) []) O.
Definition run (d : automaton) (w : list nat) : nat := fold_left (follow d) w (First d).
Definition is_word_of (d : automaton) (w : list nat) : Prop :=
  Forall (fun a => (a < Letters d)%nat) w.
(* One logit for each state, and that of q is larger than every other. *)
Definition strictly_largest (y : list f32) (q : nat) : Prop :=
  (q < length y)%nat /\
  forall j, (j < length y)%nat -> j <> q -> smaller (nth j y zero) (nth q y zero) = true.
Definition answers (d : automaton) (y : list f32) (w : list nat) : Prop :=
  length y = length (Table d) /\ strictly_largest y (run d w).
