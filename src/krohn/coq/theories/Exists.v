(* The claim is about something: whatever a network is, the device gives some logits after every
   word. *)
From Coq Require Import ZArith List.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network.
Import ListNotations.

Definition some {A} (m : possible A) : Prop := exists a, m a.
Lemma some_ret {A} (a : A) : some (ret a). Proof. now exists a. Qed.
Lemma some_bind {A B} (m : possible A) (k : A -> possible B) : some m -> (forall a, some (k a)) ->
  some (bind m k).
Proof. intros [a Ha] H. destruct (H a) as [b Hb]. exists b, a. auto. Qed.
Lemma some_mapM {A B} (f : A -> possible B) l : (forall a, some (f a)) -> some (mapM f l).
Proof. intros H. induction l; cbn [mapM]; [apply some_ret|]. apply some_bind; auto. intros.
apply some_bind; auto using some_ret. Qed.
Lemma some_map2M {A B C} (f : A -> B -> possible C) : (forall a b, some (f a b)) ->
  forall l k, some (map2M f l k).
Proof.
  intros H l. induction l; intros [|b k]; cbn [map2M]; auto using some_ret.
  apply some_bind; auto. intros. apply some_bind; auto using some_ret.
Qed.
Lemma some_foldM {A B} (f : B -> A -> possible B) : (forall b a, some (f b a)) ->
  forall l b, some (foldM f l b).
Proof. intros H l. induction l; intros b; cbn [foldM]; auto using some_ret. apply some_bind; auto.
Qed.

Lemma some_sum x y : some (any_order x y).
Proof.
  unfold any_order, some. induction (combine x y) as [|[a b] l [r Hr]].
  - exists zero. constructor.
  - exists (Bfma mode_NE a b r). now constructor.
Qed.

Section Device.
Variables (sums_of : list f32 -> list f32 -> f32 -> Prop) (sig gat th : f32 -> f32 -> Prop).
Hypothesis summable : forall x y, some (sums_of x y).
Hypothesis bent : forall x, some (sig x) /\ some (gat x) /\ some (th x).
Notation dev := (device sums_of sig gat th).
Local Instance the_device : Arith f32 (list word) possible := dev.

Lemma some_equal {A} (a : A) : some (fun r => a = r). Proof. now exists a. Qed.
Ltac go := repeat lazymatch goal with
  | |- forall _, _ => intros ?
  | |- some (ret _) => apply some_ret
  | |- some (bind _ _) => apply some_bind
  | |- some (mapM _ _) => apply some_mapM
  | |- some (map2M _ _ _) => apply some_map2M
  | |- some (foldM _ _ _) => apply some_foldM
  | |- some (dot _ _) => apply summable
  | |- some (weighted_sum _ _) => apply summable
  | |- some (constant _) => apply some_equal
  | |- some (opposite _) => apply some_equal
  | |- some (sub _ _) => apply some_equal
  | |- some (mul _ _) => apply some_equal
  | |- some (add _ _) => apply some_equal
  | |- some (quotient _ _) => apply some_equal
  | |- some (sqroot _) => apply some_equal
  | |- some (relu _) => apply some_equal
  | |- some (sigmoid _) => apply bent
  | |- some (tanh _) => apply bent
  | |- some (forget_gate _) => apply bent
  | |- some (over_norm _ _) => apply some_equal
  | |- some (at_least_one _) => apply some_equal
  | |- some (match ?x with _ => _ end) => destruct x
  | |- some ((match ?x with _ => _ end) _) => destruct x
  | |- some ?m => let h := head_of m in unfold h
  end
with head_of m := match m with ?g _ => head_of g | ?g => g end.

Lemma some_one_block two b x s : some (one_block two b x s).
Proof. destruct s as [[m p] q]. unfold one_block. go. Qed.
Lemma some_all_blocks two bs : forall x s, some (all_blocks two bs x s).
Proof.
  induction bs as [|b bs IH]; intros x [|t s]; cbn [all_blocks]; try apply some_ret.
  apply some_bind; [apply some_one_block|]. intros [y t1]. apply some_bind; [apply IH|].
  intros [z s1]. apply some_ret.
Qed.
Lemma some_step n s a : some (step n s a).
Proof.
  unfold step. apply some_bind; [go|]. intros. apply some_bind; [apply some_all_blocks|].
  intros [y s1]. go.
Qed.
Lemma some_start n : some (start n).
Proof. go. Qed.

Theorem a_result_exists n w a : exists y, logits_after dev n w a y.
Proof.
  assert (H : forall w, exists s, leads_to dev n w s).
  { intros v. induction v as [|b v [s Hs]] using rev_ind.
    - destruct (some_start n) as [s Hs]. exists s. now constructor.
    - destruct (some_step n s b) as [[y t] H]. exists t. now apply (by_letter dev n v s b y t). }
  destruct (H w) as [s Hs]. destruct (some_step n s a) as [[y t] Ht]. exists y, s, t. auto.
Qed.
End Device.
