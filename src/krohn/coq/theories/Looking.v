(* Where a head looks back by a fixed distance: from the places alone, the score of each query is
   bounded for each earlier position.  The position m back leads by a margin, and so has nearly the
   whole share. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting Copying.
Import ListNotations.
Local Open Scope Z_scope.

Section Looks.
Variables (T m : nat) (P : list (list box)) (bh : bhead) (th : thead).
Hypothesis in_h : inh bh th.
(* how far at position t the score of t - m is above all others *)
Definition score (qs ks : list (list box)) (t j : nat) : option box :=
  match sum_box (combine (nth t qs []) (nth j ks [])) with
  | Some s => if sub s (- far, far) then Some s else None | None => None end.
Definition lead_at (qs ks : list (list box)) (t : nat) : option Z :=
  match score qs ks t (t - m), mapM (score qs ks t) (seq 0 (S t)) with
  | Some top, Some ss => Some (fst top - fold_right (fun q high => if (fst q =? t - m)%nat
      then high else Z.max (snd (snd q)) high) (- far) (combine (seq 0 (S t)) ss))
  | _, _ => None end.
Lemma lead_at_sound qs ks t l top j : lead_at qs ks t = Some l ->
  score qs ks t (t - m) = Some top -> (j <= t)%nat -> j <> (t - m)%nat ->
  exists s, score qs ks t j = Some s /\ snd s + l <= fst top.
Proof.
  unfold lead_at. intros E ET Hj N. rewrite ET in E.
  destruct (mapM _ _) as [ss|] eqn:EM; [|discriminate].
  apply some_inj in E. subst l. apply mapM_some in EM.
  assert (I : In j (seq 0 (S t))) by (apply in_seq; lia). revert I.
  set (high := fold_right _ _ _).
  assert (G : forall js, Forall2 (fun s i => score qs ks t i = Some s) ss js -> In j js ->
    exists s, score qs ks t j = Some s /\ snd s <= fold_right (fun q high =>
      if (fst q =? t - m)%nat then high else Z.max (snd (snd q)) high) (- far) (combine js ss)).
  { clear EM high. intros js EM. induction EM as [|s i ss js Es EM IH]; intros [];
      cbn [combine fold_right fst snd].
    - subst i. exists s. split; [exact Es|].
      destruct (Nat.eqb_spec j (t - m)); [contradiction|lia].
    - destruct (IH H) as [s' [E1 E2]]. exists s'. split; [exact E1|].
      destruct (i =? t - m)%nat; lia. }
  intros I. destruct (G _ EM I) as [s [E1 E2]]. exists s. split; [exact E1|]. unfold high. lia.
Qed.
(* the least of these, and no more than is of use *)
Definition gap_of (leads : list Z) : Z := fold_right Z.min (64 * grid) leads.
Lemma gap_least leads l : In l leads -> gap_of leads <= l.
Proof.
  unfold gap_of. induction leads; intros []; cbn [fold_right]; [lia|]. specialize (IHleads H). lia.
Qed.
Definition projections (w : list (list box)) : option (list (list box)) :=
  mapM (fun t => times_box (nth t P []) w) (seq 0 (S T)).
Definition looks : option (box * Z) :=
  match projections (BQ bh), projections (BK bh) with
  | Some qs, Some ks => match mapM (lead_at qs ks) (seq 0 (S T)) with None => None | Some leads =>
      if 0 <? gap_of leads then copy_shares T (gap_of leads) else None end
  | _, _ => None end.
Lemma projections_sound W w Ks n xs k t : projections W = Some Ks -> Forall2 inv W w ->
  at_places P n xs ->
  (t < n <= S T)%nat -> times (xs t) w k -> inv (nth t Ks []) k.
Proof.
  intros E HW HA Ht HT. unfold projections in E.
  pose proof (mapM_nth _ _ _ t O [] E ltac:(rewrite seq_length; lia)) as Et.
  rewrite seq_nth in Et by lia. cbn [Nat.add] in Et.
  eapply times_sound; [exact (HA t ltac:(lia))|exact HW|exact Et|exact HT].
Qed.
Lemma looks_sound ex n xs (q k : stream) t (s w : nat -> f32) w1 f1 : is_exp ex ->
  (t < n <= S T)%nat ->
  looks = Some (w1, f1) -> at_places P n xs ->
  (forall i, (i < n)%nat -> times (xs i) (WQ th) (q i)) -> (forall i, (i < n)%nat ->
    times (xs i) (WK th) (k i)) ->
  (forall i, (i < n)%nat -> sums (combine (q t) (k i)) (s i)) -> softmax ex n t s w ->
  inb w1 (w (t - m)%nat) /\
  forall i, i <> (t - m)%nat -> is_finite (w i) = true /\ (Rabs (at40 (B2R (w i))) <= IZR f1)%R.
Proof.
  intros HX Ht E HA HQ HK HS HW. unfold looks in E. destruct in_h as [IQ [IK _]].
  destruct (projections (BQ bh)) as [qs|] eqn:EQ; [|discriminate].
  destruct (projections (BK bh)) as [ks|] eqn:EK; [|discriminate].
  destruct (mapM (lead_at qs ks) _) as [leads|] eqn:EL; [|discriminate].
  destruct (Z.ltb_spec 0 (gap_of leads)) as [HG|]; [|discriminate]. set (M := gap_of leads) in *.
  pose proof (mapM_nth _ _ _ t O 0 EL ltac:(rewrite seq_length; lia)) as Et.
  rewrite seq_nth in Et by lia. cbn [Nat.add] in Et.
  assert (HM : M <= nth t leads 0) by (apply gap_least, nth_In; apply mapM_some in EL;
    rewrite (Forall2_len _ _ _ EL), seq_length; lia).
  destruct (score qs ks t (t - m)) as [top|] eqn:ET;
    [|unfold lead_at in Et; rewrite ET in Et; discriminate].
  pose proof (projections_sound _ _ _ n xs (q t) t EQ IQ HA ltac:(lia) (HQ t ltac:(lia))) as Q.
  assert (SJ : forall j B, (j < n)%nat -> score qs ks t j = Some B ->
    inb B (s j) /\ inb (- far, far) (s j)).
  { intros j B Hj EB. pose proof (projections_sound _ _ _ n xs (k j) j EK IK HA ltac:(lia) (HK j
      Hj)) as K.
    unfold score in EB. destruct (sum_box _) as [b|] eqn:ES; [|discriminate].
    destruct (sub b _) eqn:EF; [|discriminate]. apply some_inj in EB. subst b.
    assert (I : inb B (s j)) by (eapply sum_box_sound; [exact (Forall2_combine _ _ _ _ _ _ Q
      K)|exact ES|apply HS; exact Hj]). split; [exact I|]. eapply sub_sound; eauto. }
  destruct (SJ (t - m)%nat _ ltac:(lia) ET) as [ST far_top].
  assert (other : forall j, (j <= t)%nat -> j <> (t - m)%nat -> inb (- far, far) (s j) /\
     exists z, (at40 (B2R (s j)) <= IZR z)%R /\ (IZR (z + M) <= at40 (B2R (s (t - m)%nat)))%R).
  { intros j Hj N. destruct (lead_at_sound _ _ _ _ _ _ Et ET Hj N) as [B [EB L]].
    destruct (SJ j B ltac:(lia) EB) as [I J]. split; [exact J|]. exists (snd B).
    split; [apply I|]. assert (L' : snd B + M <= fst top) by lia. apply IZR_le in L'.
    eapply Rle_trans; [exact L'|apply ST]. }
  eapply (copy_shares_sound ex T n t (t - m) M s w w1 f1); eauto; try lia.
  - intros i Hi. destruct (Nat.eq_dec i (t - m)) as [->|N]; [exact far_top|now apply other].
  - intros i Hi N. now apply other.
Qed.
End Looks.
