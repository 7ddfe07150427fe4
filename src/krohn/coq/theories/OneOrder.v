(* The device that adds from left to right: the checker runs the same binary32 operations. *)
From Coq Require Import ZArith List Bool Lia.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Closed Exists.
Import ListNotations.

Definition gate_known (mid : option f32) (x : f32) : option f32 :=
  if smaller x (Bopp far) then Some zero else if smaller far x then Some one else if Beqb x zero
    then mid else None.
Definition tanh_known (x : f32) : option f32 :=
  if smaller x (Bopp far) then Some (Bopp one) else if smaller far x then Some one
  else if Beqb x zero then Some x else None.
Definition same_floats : Arith f32 (list f32) option := @Build_Arith f32 (list f32) option
  (fun z => Some (literal z 0 false)) (fun x => Some (Bopp x)) (fun x c => Some (left_to_right x
    c)) (fun
    x y => Some (left_to_right x y))
  (fun x y => Some (Bminus mode_NE x y)) (fun x y => Some (Bmult mode_NE x y)) (fun x y =>
    Some (Bplus mode_NE x y))
  (fun x y => Some (Bdiv mode_NE x y)) (fun x => Some (Bsqrt mode_NE x))
  (fun x => Some (if smaller x zero then zero else x)) (gate_known (Some half)) tanh_known
    (gate_known None)
  (fun x n => Some (Bdiv mode_NE x (at_least tiny n))) (fun x => Some (at_least one x)).

Lemma all_eq {A} (l k : list A) : Forall2 eq l k -> l = k.
Proof. intros H. induction H; congruence. Qed.
Lemma known_gate g mid x y r : is_gate g -> g x y -> (forall r, Beqb x zero = true ->
  mid = Some r -> y = r) ->
  gate_known mid x = Some r -> y = r.
Proof.
  intros H Hy Hm E. destruct (proj2 H x y Hy) as [A B]. unfold gate_known in E.
  destruct (smaller x (Bopp far)); [rewrite A by auto; congruence|].
  destruct (smaller far x); [rewrite B by auto; congruence|].
  destruct (Beqb x zero); [now apply Hm|discriminate].
Qed.
Lemma known_tanh th x y r : is_tanh th -> th x y -> tanh_known x = Some r -> y = r.
Proof.
  intros H Hy E. destruct (proj2 H x y Hy) as [A [B C]]. unfold tanh_known in E.
  destruct (smaller x (Bopp far)); [rewrite A by auto; congruence|].
  destruct (smaller far x); [rewrite B by auto; congruence|].
  destruct (Beqb x zero); [rewrite C by auto; congruence|discriminate].
Qed.
Lemma same_list {A} (l : list A) : Forall2 eq l l. Proof. induction l; constructor; auto. Qed.
Lemma same_floats_sound sig gat th : is_sigmoid sig -> is_gate gat -> is_tanh th ->
  sound_arith (device one_order sig gat th) same_floats (map float) eq.
Proof.
  intros [Hs H0] Hg Ht. constructor; unfold refines; cbn; unfold one_order; intros; subst;
    repeat match goal with H : Forall2 eq _ _ |- _ => apply all_eq in H; subst end;
    try match goal with H : Some _ = Some _ |- _ => injection H as <- end; auto using same_list.
  - eapply (known_gate sig (Some half)); eauto. intros r Z [= <-]. eapply H0; eauto.
  - eapply known_tanh; eauto.
  - eapply (known_gate gat None); eauto. discriminate.
Qed.

Definition same_float (x y : f32) : bool :=
  match x, y with
  | B754_zero s, B754_zero t => Bool.eqb s t
  | B754_finite s m e _, B754_finite t n f _ => Bool.eqb s t && Pos.eqb m n && Z.eqb e f
  | _, _ => false
  end.
Lemma same_float_ok x y : same_float x y = true -> x = y.
Proof.
  destruct x as [s|s| |s m e p], y as [t|t| |t n f q]; cbn; intros H; try discriminate.
  - apply eqb_prop in H. congruence.
  - apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
    apply eqb_prop in H1. apply Pos.eqb_eq in H2. apply Z.eqb_eq in H3. subst.
    apply B2SF_inj. reflexivity.
Qed.

Definition closed_in_one_order (n : network (list word)) := closed same_floats same_float smaller
  (network_map (map float) n).
Theorem one_order_right n d hints : closed_in_one_order n d hints = true ->
  answers_every_word one_order n d.
Proof.
  intros K. split; [now apply andb_prop in K as [K _]|]. intros sig gat th Hs Hg Ht w a Hw.
  split; [apply a_result_exists; [intros x y; now exists (left_to_right x y)|]; intros x;
          split; [apply Hs|split; [apply Hg|apply Ht]]|].
  apply (closed_is_right _ _ _ _ (same_floats_sound sig gat th Hs Hg Ht) same_float smaller) with
    hints; auto.
  - apply same_float_ok.
  - intros. subst. auto.
Qed.
