(* The bound of AnyOrder.v for binary32, and what else is known of sums of products there. *)
From Coq Require Import ZArith List Bool Lia Permutation Reals Lra.
From Flocq Require Import Core BinarySingleNaN Plus_error Relative.
From Krohn Require Import Float32 Network.
From Krohn Require AnyOrder.
Import ListNotations.
Open Scope R_scope.

Definition u := bpow radix2 (-24).
Definition eta := bpow radix2 (-150).
Definition room := bpow radix2 127.
Definition tot (l : list (f32 * f32)) : R :=
  fold_right (fun p s => B2R (fst p) * B2R (snd p) + s) 0 l.
Definition size (l : list (f32 * f32)) : R :=
  fold_right (fun p s => Rabs (B2R (fst p) * B2R (snd p)) + s) 0 l.
Definition top (l : list (f32 * f32)) : R := (size l + Rabs (tot l)) / 2.
Definition err (n : nat) (s m : R) : R :=
  (u * s + INR (Nat.pred n) * u * m + INR n * eta) * (1 + u) ^ Nat.pred n.
(* terms that are 0 are added without error *)
Fixpoint nz (l : list (f32 * f32)) : nat :=
  match l with
  | [] => O
  | p :: l => if Req_EM_T (B2R (fst p) * B2R (snd p)) 0 then nz l else S (nz l)
  end.
Definition all_finite (l : list (f32 * f32)) : Prop :=
  Forall (fun p => is_finite (fst p) = true /\ is_finite (snd p) = true) l.
Notation rnd := (round radix2 (SpecFloat.fexp 24 128) (round_mode mode_NE)).

Lemma u_pos : 0 < u. Proof. apply bpow_gt_0. Qed.
Lemma eta_pos : 0 < eta. Proof. apply bpow_gt_0. Qed.
Lemma tot_app k l : tot (k ++ l) = tot k + tot l. Proof. exact (AnyOrder.tot_app 24 128 k l). Qed.
Lemma size_app k l : size (k ++ l) = size k + size l.
Proof. exact (AnyOrder.size_app 24 128 k l). Qed.
Lemma size_pos l : 0 <= size l. Proof. exact (AnyOrder.size_pos 24 128 l). Qed.
Lemma nz_app k l : nz (k ++ l) = (nz k + nz l)%nat. Proof. exact (AnyOrder.nz_app 24 128 k l). Qed.
Lemma nz_le l : (nz l <= length l)%nat. Proof. exact (AnyOrder.nz_le 24 128 l). Qed.
Lemma err_mono p n s t a b : (p <= n)%nat -> 0 <= s <= t -> 0 <= a <= b -> err p s a <= err n t b.
Proof. exact (AnyOrder.err_mono 24 128 p n s t a b). Qed.
Lemma top_pos l : 0 <= top l. Proof. exact (AnyOrder.top_pos 24 128 l). Qed.
Lemma top_at_most l : top l <= size l. Proof. exact (AnyOrder.top_at_most 24 128 l). Qed.
Lemma rnd_any x : exists d h, Rabs d <= u /\ Rabs h <= eta /\ rnd x = x * (1 + d) + h.
Proof. exact (AnyOrder.rnd_any 24 128 prec24 x). Qed.
Lemma rnd_plus (x y : f32) : exists d,
  Rabs d <= u /\ rnd (B2R x + B2R y) = (B2R x + B2R y) * (1 + d).
Proof. exact (AnyOrder.rnd_plus 24 128 prec24 x y). Qed.
Lemma below_room x : Rabs x < room -> Rlt_bool (Rabs x) (bpow radix2 128) = true.
Proof. exact (AnyOrder.below_room 128 x). Qed.
Lemma sums_in l r : sums l r -> AnyOrder.sums 24 128 prec24 prec24_128 l r.
Proof. intros H. induction H; econstructor; eassumption. Qed.
Theorem any_order_error l r : sums l r -> all_finite l ->
  top l + err (nz l) (size l) (top l) < room ->
  is_finite r = true /\ Rabs (B2R r - tot l) <= err (nz l) (size l) (top l).
Proof. intros H. exact (AnyOrder.any_order_error 24 128 _ _ l r (sums_in l r H)). Qed.
