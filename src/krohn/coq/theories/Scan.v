(* Scans: every head looks back, and each layer composes two windows of letters into one.
   A letter is a transformation of a few points, and register i holds where point i goes.  A layer
   copies the registers of position t - d and composes them with those of t, so that windows
   double, and after the last layer each holds the whole word.  No automaton of the network's
   states is needed, which would have as many as there are transformations. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting.
From Krohn Require Import Variables Copying Looking Layers Counted.
Import ListNotations.
Local Open Scope Z_scope.

Ltac split_andb :=
  repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end.
Ltac some_of H :=
  match type of H with
  | match ?o with Some _ => _ | None => _ end = _ => let E := fresh "E" in destruct o eqn:E;
    [|discriminate H]
  | (if ?c then _ else _) = _ => let E := fresh "E" in destruct c eqn:E; [|discriminate H]
  end.

(* ---------- letters as transformations of registers, and windows of a word ---------- *)
Section Windows.
Variables (rows : list (list nat)) (R : nat) (w : list nat).
Definition through (x a : nat) : nat := nth x (nth a rows []) O.
Definition window (m t : nat) : list nat := skipn (t - m) (firstn t w).
Definition held (m t i : nat) : nat := fold_left through (window m t) i.
Lemma window_doubles m t : (t <= length w)%nat -> window (m + m) t = window m (t - m) ++ window m
  t.
Proof.
  intros Ht. unfold window. rewrite <- (firstn_skipn (t - m) (firstn t w)) at 1.
  rewrite firstn_firstn, Nat.min_l by lia. rewrite skipn_app, firstn_length, Nat.min_l by lia.
  replace (t - m - m)%nat with (t - (m + m))%nat by lia. f_equal.
  replace (t - (m + m) - (t - m))%nat with O by lia. reflexivity.
Qed.
Lemma held_doubles m t i : (t <= length w)%nat -> held (m + m) t i = held m t (held m (t - m) i).
Proof. intros H. unfold held. rewrite window_doubles, fold_left_app by exact H. reflexivity. Qed.
Lemma held_first t i : (1 <= t <= length w)%nat -> held 1 t i = through i (letter_at w t).
Proof.
  intros H. unfold held, window, letter_at. destruct t as [|t]; [lia|].
  rewrite (firstn_next w t) by lia.
  replace (S t - 1)%nat with t by lia. rewrite skipn_app, firstn_length, Nat.min_l by lia.
  replace (t - t)%nat with O by lia. rewrite skipn_all2 by (rewrite firstn_length; lia).
  reflexivity.
Qed.
Lemma held_zero m i : held m 0 i = i. Proof. reflexivity. Qed.
Definition rows_fit : bool :=
  forallb (fun r => (length r =? R)%nat && forallb (fun x => (x <? R)%nat) r) rows.
Lemma through_range x a : rows_fit = true -> (x < R)%nat -> (a < length rows)%nat ->
  (through x a < R)%nat.
Proof.
  intros H Hx Ha. unfold rows_fit in H. rewrite forallb_forall in H.
  specialize (H (nth a rows []) ltac:(now apply nth_In)). split_andb.
  match goal with H : (_ =? _)%nat = true |- _ => apply Nat.eqb_eq in H end.
  match goal with H : forallb _ _ = true |- _ => rewrite forallb_forall in H; apply Nat.ltb_lt,
    H end.
  apply nth_In. lia.
Qed.
Lemma held_range m t i : rows_fit = true -> Forall (fun a => (a < length rows)%nat) w ->
  (i < R)%nat ->
  (held m t i < R)%nat.
Proof.
  intros H HF Hi. unfold held, window.
  assert (G : Forall (fun a => (a < length rows)%nat) (skipn (t - m) (firstn t w))).
  { rewrite Forall_forall in *. intros a Ha. apply HF. rewrite <- (firstn_skipn t w).
    apply in_or_app. left.
    rewrite <- (firstn_skipn (t - m) (firstn t w)). apply in_or_app. now right. }
  revert i Hi. induction G as [|a l Ha G IH]; intros i Hi; cbn [fold_left]; [exact Hi|].
  apply IH. now apply through_range.
Qed.
End Windows.

(* ---------- one box replaced ---------- *)
Fixpoint put (c : nat) (b : box) (B : list box) : list box :=
  match B, c with [], _ => [] | _ :: B, O => b :: B | h :: B, S c => h :: put c b B end.
Lemma put_sound c b : forall B x, inv B x -> inb b (at_channel c x) -> inv (put c b B) x.
Proof.
  induction c as [|c IH]; intros B x H I; destruct H as [|h y B x Hh H]; cbn [put];
    try constructor; auto.
  apply IH; auto.
Qed.
Lemma each_at {A} (f : A -> list (f32 * f32)) l y c d : each_sum f l y -> (c < length l)%nat ->
  sums (f (nth c l d)) (at_channel c y).
Proof. intros H Hc. exact (Forall2_nth _ _ _ d zero H c Hc). Qed.
Lemma each_seq (f : nat -> list (f32 * f32)) m y c : each_sum f (seq 0 m) y -> (c < m)%nat ->
  sums (f c) (at_channel c y).
Proof.
  intros H Hc. pose proof (each_at f _ y c O H ltac:(rewrite seq_length; exact Hc)) as S.
  rewrite seq_nth in S by exact Hc. exact S.
Qed.

(* ---------- a copied number: that of one position, give or take ---------- *)
Lemma around b r x : (Rabs (at80 x - IZR (grid * b)) <= IZR r)%R ->
  (IZR (b + Z.shiftr (- r) 40) <= at40 x <= IZR (b - Z.shiftr (- r) 40))%R.
Proof.
  intros H. apply Rabs_le_inv in H. change (at80 x) with (at40 x * IZR grid)%R in H.
  pose proof grid_pos.
  pose proof (IZR_shiftr (- r) 40 ltac:(lia)) as [K _]. change (2 ^ 40) with grid in K.
  rewrite opp_IZR in K.
  rewrite mult_IZR in H. rewrite plus_IZR, minus_IZR. split; apply Rmult_le_reg_r with (IZR grid);
    lra.
Qed.
Lemma from_low b x : inb b x -> (Rabs (at40 (B2R x) - IZR (fst b)) <= IZR (snd b - fst b))%R.
Proof. intros [_ [B1 B2]]. rewrite minus_IZR. apply Rabs_le. lra. Qed.
Definition copy_error (T : nat) (e f V dl : Z) : Z := copy_off T e f V dl + rounding (Z.of_nat (S
  T)) (copy_size T e f V).
Definition around_box (g r : Z) : box := (g + Z.shiftr (- r) 40, g - Z.shiftr (- r) 40).
Lemma around_box_sound g r x : is_finite x = true -> (Rabs (at80 (B2R x) - IZR (grid * g)) <= IZR
  r)%R -> inb (around_box g r) x.
Proof. intros F H. split; [exact F|]. cbn [around_box fst snd]. now apply around. Qed.
Definition copied_box (T : nat) (e f V : Z) (b : box) : option box :=
  if has_bound (Z.of_nat (S T)) (copy_size T e f V) then Some (around_box (fst b) (copy_error T e
    f V (snd b - fst b))) else None.
Lemma copied_box_if T e f V b c : copied_box T e f V b = Some c ->
  has_bound (Z.of_nat (S T)) (copy_size T e f V) = true /\ c = around_box (fst b) (copy_error T e
    f V (snd b - fst b)).
Proof. unfold copied_box. destruct has_bound; [|discriminate]. intros E. apply some_inj in E.
now split. Qed.
Lemma copied_box_sound T n L e f V b c (w v : nat -> f32) y : (L < n <= S T)%nat ->
  0 <= e -> 0 <= f -> 0 <= V -> copied_box T e f V b = Some c ->
  (forall i, (i < n)%nat -> is_finite (w i) = true /\ is_finite (v i) = true /\
                            (Rabs (at40 (B2R (v i))) <= IZR V)%R) ->
  (Rabs (at40 (B2R (w L)) - IZR grid) <= IZR e)%R ->
  (forall i, (i < n)%nat -> i <> L -> (Rabs (at40 (B2R (w i))) <= IZR f)%R) ->
  inb b (v L) -> sums (map (fun i => (w i, v i)) (seq 0 n)) y -> inb c y.
Proof.
  intros HL He Hf HV E HF HW HO Hb HS. apply copied_box_if in E as [HB ->].
  destruct (copy_sound T n L e f V (snd b - fst b) (fst b) w v y HL He Hf HV HB HF HW HO (from_low
    b (v L) Hb) HS) as [Fy Ey].
  exact (around_box_sound _ _ _ Fy Ey).
Qed.

(* ---------- hidden units whose weight in a column is 0 may stay as they were ---------- *)
Definition refined_units (span : nat -> Z * Z) (Ys Us : list form) (col : list box) (W : list
  (list box) * list box)
  : option (list form) :=
  mapM (fun q => let '(U, c, Cb) := q in if is_zero c then Some U
                 else option_map (relu_form span) (form_sum span (biased_terms Ys (fst Cb) (snd
                   Cb))))
       (combine (combine Us col) (combine (fst W) (snd W))).
Lemma refined_units_sound span n Ys y W w Us col Vs z : within span n -> infs Ys n y -> inw W w ->
  infs Us n (map rectified z) -> length col = length z ->
  refined_units span Ys Us col W = Some Vs -> with_bias y w z -> infs Vs n (map rectified z).
Proof.
  intros HW HY [IW IB] HU HL E HZ. unfold refined_units in E. apply mapM_some in E.
  unfold with_bias, each_sum in HZ.
  pose proof (Forall2_combine _ _ _ _ _ _ IW IB) as IC.
  unfold infs in *. revert Us col Vs z HU HL E HZ.
  induction IC as [|Cb cb Cs cs [H1 H2] IC IH]; intros Us col Vs z HU HL E HZ; inversion HZ; subst.
  - assert (EN : combine (combine Us col) (combine (@nil (list box)) (@nil box)) = []) by now
      destruct (combine Us col).
    inversion HU; subst. cbn [combine] in E. inversion E. constructor.
  - inversion HU as [|U ? Us' ? HU1 HU2]; subst. destruct col as [|c col]; [discriminate|].
    cbn [combine] in E.
    inversion E as [|V ? Vs' ? EV E']; subst. cbn [map]. constructor.
    + destruct (is_zero c); [injection EV as <-; exact HU1|].
      destruct (form_sum span (biased_terms Ys (fst Cb) (snd Cb))) as [F|] eqn:EF; [|discriminate].
      injection EV as <-. apply relu_form_sound; [exact HW|].
      eapply biased_sound; [exact HW|exact HY|exact H1|exact H2|exact EF|eassumption].
    + eapply (IH Us' col); eauto.
Qed.

(* ---------- one layer ---------- *)
(* The channels of the registers, of their copies, and of the registers after the layer; which
   value of the head is copied. *)
Record scan_hint := { Cur : list nat; Value : list nat; Back : list nat; Next : list nat }.
Definition reg (XR : list (list box)) (i v : nat) : box := nth v (nth i XR []) zero_box.
Definition chan (cs : list nat) (i : nat) : nat := nth i cs O.

Section Head.
Variables (T m : nat) (P XR : list (list box)) (everywhere : list box) (h : scan_hint) (bh :
  bhead) (th : thead).
Hypothesis in_h : inh bh th.
Definition share_off (w : box) : Z := Z.max (snd w - grid) (grid - fst w).
Definition copied (w : box) (f : Z) (vh : list box) (j : nat) (vb : box) : option box :=
  if (0 <=? share_off w) && (0 <=? f)
  then copied_box T (share_off w) f (size_of_box (nth j vh zero_box)) vb else None.
Lemma copied_sound n t w1 f1 vh j vb c (w : nat -> f32) (v : stream) y : (t < n <= S T)%nat ->
  inb w1 (w (t - m)%nat) ->
  (forall i, i <> (t - m)%nat -> is_finite (w i) = true /\ (Rabs (at40 (B2R (w i))) <= IZR f1)%R)
    ->
  (forall i, (i < n)%nat -> inv vh (v i)) -> inb vb (at_channel j (v (t - m)%nat)) ->
  copied w1 f1 vh j vb = Some c -> sums (map (fun i => (w i, at_channel j (v i))) (seq 0 n)) y ->
    inb c y.
Proof.
  intros Ht W1 WO HV Hb E HS. unfold copied in E. some_of E. split_andb.
  repeat match goal with H : (_ <=? _) = true |- _ => apply Z.leb_le in H end.
  eapply (copied_box_sound T n (t - m) (share_off w1) f1 (size_of_box (nth j vh zero_box)) vb c w
            (fun i => at_channel j (v i))); eauto; try lia.
  - unfold size_of_box. lia.
  - intros i Hi. pose proof (inv_at _ _ j (HV i Hi)) as I.
    repeat split; [|apply I|now apply size_of_box_sound].
    destruct (Nat.eq_dec i (t - m)) as [->|N]; [apply W1|now apply WO].
  - destruct W1 as [_ [A B]]. unfold share_off. apply Rabs_le.
    assert (E1 : grid - fst w1 <= share_off w1) by (unfold share_off; lia).
    assert (E2 : snd w1 - grid <= share_off w1) by (unfold share_off; lia).
    apply IZR_le in E1, E2. rewrite minus_IZR in E1, E2. fold (share_off w1). lra.
  - intros i Hi N. now apply WO.
Qed.

(* what the head gives at any position, and for each value of a register that is copied *)
Record head_boxes := { OutHull : list box; OutBack : nat -> nat -> option box }.
Definition back_of (w : box) (f : Z) (vh ch : list box) (i v : nat) : option box :=
  let j := chan (Value h) i in let c := chan (Back h) i in
  if (j <? length (BV bh))%nat && (c <? length (BC bh))%nat then
    match sum_box (combine (put (chan (Cur h) i) (reg XR i v) everywhere) (nth j (BV bh) [])) with
      None => None | Some vb =>
    match copied w f vh j vb with None => None | Some yb => sum_box (combine (put j yb ch) (nth c
      (BC bh) [])) end end
  else None.
Definition head_out : option head_boxes :=
  match looks T m P bh, times_box everywhere (BV bh) with
  | Some (w, f), Some vh =>
      match mapM (fun j => copied w f vh j (nth j vh zero_box)) (seq 0 (length (BV bh))) with None
        => None | Some ch =>
      match times_box ch (BC bh) with None => None | Some out =>
      Some {| OutHull := out; OutBack := back_of w f vh ch |} end end
  | _, _ => None end.
Lemma head_out_sound ex n xs ys o t : is_exp ex -> (t < n <= S T)%nat -> head_out = Some o ->
  at_places P n xs ->
  (forall i, (i < n)%nat -> inv everywhere (xs i)) -> head_on ex n th xs ys ->
    inv (OutHull o) (ys t) /\
  forall i v B, inb (reg XR i v) (at_channel (chan (Cur h) i) (xs (t - m)%nat)) ->
    OutBack o i v = Some B ->
    inb B (at_channel (chan (Back h) i) (ys t)).
Proof.
  intros HX Ht E HA HE [q [k [v [Hqkv Hrow]]]]. unfold head_out in E.
  destruct (looks T m P bh) as [[w1 f1]|] eqn:EL; [|discriminate].
  destruct (times_box everywhere (BV bh)) as [vh|] eqn:EV; [|discriminate].
  destruct (mapM _ (seq 0 (length (BV bh)))) as [ch|] eqn:EC; [|discriminate].
  destruct (times_box ch (BC bh)) as [out|] eqn:EO; [|discriminate]. apply some_inj in E. subst o.
  cbn [OutHull OutBack].
  destruct (Hrow t ltac:(lia)) as [s [w [y [Hs [Hw [Hy HC]]]]]].
  pose proof in_h as [IQ [IK [IV IC]]].
  destruct (looks_sound T m P bh th in_h ex n xs q k t s w w1 f1 HX Ht EL HA
              (fun i Hi => proj1 (Hqkv i Hi))
              (fun i Hi => proj1 (proj2 (Hqkv i Hi))) Hs Hw) as [W1 WO].
  assert (HV : forall i, (i < n)%nat -> inv vh (v i)).
  { intros i Hi. eapply times_sound; [exact (HE i Hi)|exact IV|exact EV|apply Hqkv; exact Hi]. }
  assert (LB : length (BV bh) = length (WV th)) by apply (Forall2_len _ _ _ IV).
  assert (Ly : length y = length (WV th)) by (pose proof (Forall2_len _ _ _ Hy) as L;
    rewrite seq_length in L; symmetry; exact L).
  assert (copy : forall j vb c, (j < length (BV bh))%nat -> inb vb (at_channel j (v (t - m)%nat))
    ->
            copied w1 f1 vh j vb = Some c -> inb c (at_channel j y)).
  { intros j vb c Hj Ib Ec. eapply (copied_sound n t w1 f1 vh j vb c w v); eauto.
    apply (each_seq (fun c => map (fun i => (w i, at_channel c (v i))) (seq 0 n)) _ y j Hy). lia. }
  assert (IH : inv ch y).
  { apply inv_from; [rewrite (mapM_len _ _ _ EC), seq_length; lia|]. intros j Hj.
    rewrite (mapM_len _ _ _ EC), seq_length in Hj.
    pose proof (mapM_nth _ _ _ j O zero_box EC ltac:(rewrite seq_length; exact Hj)) as Ej.
    rewrite seq_nth in Ej by exact Hj.
    cbn [Nat.add] in Ej. eapply copy; [exact Hj| |exact Ej]. apply inv_at. apply (HV (t - m)%nat).
    lia. }
  split; [eapply times_sound; eauto|]. intros i u B Hu EB. unfold back_of in EB. cbv zeta in EB.
  some_of EB. split_andb.
  repeat match goal with H : (_ <? _)%nat = true |- _ => apply Nat.ltb_lt in H end.
  set (j := chan (Value h) i) in *. set (c := chan (Back h) i) in *.
  destruct (sum_box (combine (put _ _ everywhere) _)) as [vb|] eqn:Evb; [|discriminate].
  destruct (copied w1 f1 vh j vb) as [yb|] eqn:Eyb; [|discriminate].
  assert (Iv : inb vb (at_channel j (v (t - m)%nat))).
  { assert (Hj : (j < length (WV th))%nat) by (rewrite <- LB; assumption).
    eapply sum_box_sound; [|exact Evb|exact (each_at _ _ _ j [] (proj2 (proj2 (Hqkv (t - m)%nat
      ltac:(lia)))) Hj)].
    apply Forall2_combine; [|apply (Forall2_at inv); [constructor|exact IV]].
    apply put_sound; [apply HE; lia|exact Hu]. }
  assert (Hc : (c < length (WC th))%nat) by (rewrite <- (Forall2_len _ _ _ IC); assumption).
  eapply sum_box_sound; [|exact EB|exact (each_at _ _ _ c [] HC Hc)].
  apply Forall2_combine; [|apply (Forall2_at inv); [constructor|exact IC]].
  apply put_sound; [exact IH|]. eapply copy; eauto.
Qed.
End Head.

Definition hull_all (l : list box) : box := fold_right hull (hd zero_box l) l.
Lemma hull_all_in l b x : In b l -> inb b x -> inb (hull_all l) x.
Proof.
  intros I [F [A B]]. assert (G : forall a, fst (fold_right hull a l) <= fst b /\
    snd b <= snd (fold_right hull a l)).
  { intros a. induction l as [|c l IH]; [contradiction|]. cbn [fold_right hull fst snd].
    destruct I as [->|I]; [lia|]. specialize (IH I). lia. }
  destruct (G (hd zero_box l)) as [G1 G2]. apply IZR_le in G1, G2. split; [exact F|].
  unfold hull_all. lra.
Qed.
Definition table2 {A} (R : nat) (f : nat -> nat -> option A) : option (list (list A)) :=
  mapM (fun i => mapM (f i) (seq 0 R)) (seq 0 R).
Lemma mapM_seq {A} (f : nat -> option A) R l i d : mapM f (seq 0 R) = Some l -> (i < R)%nat ->
  f i = Some (nth i l d).
Proof.
  intros E Hi. pose proof (mapM_nth _ _ _ i O d E ltac:(rewrite seq_length; exact Hi)) as H.
  rewrite seq_nth in H by exact Hi. exact H.
Qed.
Lemma table2_at {A} R (f : nat -> nat -> option A) L i v d : table2 R f = Some L -> (i < R)%nat ->
  (v < R)%nat ->
  f i v = Some (nth v (nth i L []) d).
Proof. intros E Hi Hv. unfold table2 in E. pose proof (mapM_seq _ R L i [] E Hi) as H.
now apply (mapM_seq _ R). Qed.
Definition kept_at (keep : list box) (c : nat) (x z : box) : option box :=
  sum_box [(x, nth c keep zero_box); (z, one_box)].
Lemma kept_at_sound keep k c x xv z zv B r : inv keep k -> inb x xv -> inb z zv ->
  kept_at keep c x z = Some B ->
  sums [(xv, at_channel c k); (zv, one)] r -> inb B r.
Proof.
  intros Hk Hx Hz E S. eapply sum_box_sound; [|exact E|exact S]. constructor; [split;
    [exact Hx|now apply inv_at]|].
  constructor; [split; [exact Hz|apply inb_one]|constructor].
Qed.
Section Layer.
Variables (T R m : nat) (P XR : list (list box)) (h : scan_hint) (b : blayer) (l : tlayer).
Hypothesis in_l : inl b l.
(* what each position has; of the registers, what each value has *)
Definition all_places : list box := hull_of (map (fun t => nth t P []) (seq 0 (S T))).
Definition covers : bool := forallb (fun t => subs (nth t P []) all_places) (seq 0 (S T)).
Definition every : list box :=
  fold_right (fun i B => put (chan (Cur h) i) (hull_all (map (reg XR i) (seq 0 R))) B) all_places
    (seq 0 R).
Definition in_registers (x : vec) (f : nat -> nat) : Prop :=
  forall i, (i < R)%nat -> (f i < R)%nat /\ inb (reg XR i (f i)) (at_channel (chan (Cur h) i) x).
Lemma every_sound n xs t f : covers = true -> at_places P n xs -> (t < n <= S T)%nat ->
  in_registers (xs t) f ->
  inv every (xs t).
Proof.
  intros H HA Ht HR. assert (I0 : inv all_places (xs t)).
  { unfold covers in H. rewrite forallb_forall in H. eapply subs_sound; [apply (H t), in_seq;
      lia|apply HA; lia]. }
  assert (G : forall is, (forall i, In i is -> (i < R)%nat) -> inv (fold_right (fun i B =>
    put (chan (Cur h) i) (hull_all (map (reg XR i) (seq 0 R))) B) all_places is) (xs t)).
  { induction is as [|i is IH]; intros Hi; cbn [fold_right]; [exact I0|].
    apply put_sound; [apply IH; intros; apply Hi; now right|].
    destruct (HR i (Hi i ltac:(now left))) as [V I].
    eapply hull_all_in; [|exact I]. apply in_map, in_seq. lia. }
  apply G. intros i Hi. apply in_seq in Hi. lia.
Qed.

Section Tables.
Variables (o : head_boxes) (w1 w2 : list (list box) * list box).
Definition mixed_at (c : nat) (x : box) : option box := kept_at (BKeep b) c x (nth c (OutHull o)
  zero_box).
Definition back_at (i v : nat) : option box := let c := chan (Back h) i in
  match OutBack o i v with Some z => kept_at (BKeep b) c (nth c every zero_box) z | None =>
    None end.
Definition cur_at (i v : nat) : option box := mixed_at (chan (Cur h) i) (reg XR i v).
Definition mixed_hull : option (list box) := mapM (fun c => mixed_at c (nth c every zero_box))
  (seq 0 (length (BKeep b))).
(* the register i after the layer, where its copy is v: for each value of register v *)
Definition register_after (Yh : list box) (YB YC : list (list box)) (Us : list form) (i v : nat) :
  option (list box) :=
  let c := chan (Next h) i in let col := nth c (fst w2) [] in
  let Y := put (chan (Back h) i) (reg YB i v) Yh in let span := spread Y in
  let Ys := map variable (seq 0 (length Yh)) in
  if (c <? length (fst w2))%nat && (c <? length (snd w2))%nat && (c <? length Yh)%nat &&
    (c <? length (BKeepMlp b))%nat &&
     (length col =? length (combine (fst w1) (snd w1)))%nat then
    match refined_units span Ys Us col w1 with None => None | Some Vs =>
    match form_sum span (biased_terms Vs col (nth c (snd w2) zero_box)) with None =>
      None | Some Z =>
    match form_sum span [(variable c, nth c (BKeepMlp b) zero_box); (Z, one_box)] with None =>
      None | Some F =>
    Some (map (fun u => form_box F (spread (put (chan (Cur h) v) (reg YC v u) Y))) (seq 0 R)) end
      end end
  else None.
Definition registers_after (Fs : list (list (list box))) : list (list box) :=
  map (fun i => map (fun u => hull_all (map (fun v => nth u (nth v (nth i Fs []) []) zero_box)
    (seq 0 R))) (seq 0 R)) (seq 0 R).
Definition place_after (Zm : list box) (t c : nat) : option box :=
  match mixed_at c (nth c (nth t P []) zero_box) with Some y => kept_at (BKeepMlp b) c y (nth c Zm
    zero_box) | None => None end.
Definition in_range : bool := (length (BKeepMlp b) <=? length (BKeep b))%nat &&
  forallb (fun i => (chan (Back h) i <? length (BKeep b))%nat && (chan (Cur h) i <? length (BKeep
    b))%nat &&
                    (chan (Next h) i <? length (BKeepMlp b))%nat) (seq 0 R).
End Tables.
Definition scan_layer : option (list (list box) * list (list box)) :=
  match BHeads b, BMlps b with
  | [bh], [w1; w2] =>
      match head_out T m P XR every h bh with None => None | Some o =>
      match mixed_hull o with None => None | Some Yh =>
      match table2 R (back_at o), table2 R (cur_at o), unit_forms (spread Yh) (map variable (seq 0
        (length Yh))) w1, mlp_box [w1; w2] Yh with
      | Some YB, Some YC, Some Us, Some Zm =>
          match table2 R (register_after w1 w2 Yh YB YC Us),
                mapM (fun t => mapM (place_after o Zm t) (seq 0 (length (BKeepMlp b)))) (seq 0 (S
                  T)) with
          | Some Fs, Some P' => if covers && in_range then Some (P', registers_after Fs) else None
          | _, _ => None end
      | _, _, _, _ => None end end end
  | _, _ => None end.

Lemma registers_after_sound Fs i v u x : (i < R)%nat -> (v < R)%nat -> (u < R)%nat ->
  inb (nth u (nth v (nth i Fs []) []) zero_box) x -> inb (reg (registers_after Fs) i u) x.
Proof.
  intros Hi Hv Hu I. unfold reg, registers_after.
  rewrite (nth_map _ _ i O) by (rewrite seq_length; exact Hi).
  rewrite seq_nth by exact Hi. rewrite (nth_map _ _ u O) by (rewrite seq_length; exact Hu).
  rewrite seq_nth by exact Hu.
  cbn [Nat.add]. eapply hull_all_in; [|exact I]. apply (in_map (fun v =>
    nth u (nth v (nth i Fs []) []) zero_box)), in_seq. lia.
Qed.
Lemma register_after_sound w1 w2 m1 m2 Yh YB YC Us i v L u y z hid r :
  inw w1 m1 -> inw w2 m2 -> inv Yh y -> infs Us (floors y) (map rectified hid) ->
  with_bias y m1 hid -> with_bias (map rectified hid) m2 z ->
  register_after w1 w2 Yh YB YC Us i v = Some L -> (u < R)%nat ->
  inb (reg YB i v) (at_channel (chan (Back h) i) y) -> inb (reg YC v u) (at_channel (chan (Cur h)
    v) y) ->
  sums [(at_channel (chan (Next h) i) y, at_channel (chan (Next h) i) (KeepMlp l));
    (at_channel (chan (Next h) i) z, one)] r ->
  inb (nth u L zero_box) r.
Proof.
  intros I1 I2 IY IU H1 H2 E Hu IB IC HS. unfold register_after in E. cbv zeta in E. some_of E.
  split_andb.
  repeat match goal with H : (_ <? _)%nat = true |- _ => apply Nat.ltb_lt in H end.
  match goal with H : (_ =? _)%nat = true |- _ => apply Nat.eqb_eq in H; rename H into LC end.
  set (c := chan (Next h) i) in *. set (Y := put (chan (Back h) i) (reg YB i v) Yh) in *.
  assert (IY' : inv Y y) by (now apply put_sound). pose proof (floors_within Y y IY') as HW.
  pose proof (variables_sound Yh y IY) as IV. destruct (refined_units _ _ _ _ _) as [Vs|] eqn:EV;
    [|discriminate].
  destruct (form_sum (spread Y) (biased_terms Vs _ _)) as [Z|] eqn:EZ; [|discriminate].
  destruct (form_sum (spread Y) [_; _]) as [F|] eqn:EF; [|discriminate]. apply some_inj in E.
  subst L.
  assert (LH : length (combine (fst w1) (snd w1)) = length hid).
  { pose proof (Forall2_len _ _ _ H1) as K. pose proof (Forall2_len _ _ _ (Forall2_combine _ _ _ _
      _ _ (proj1 I1) (proj2 I1))) as K'.
    etransitivity; [exact K'|exact K]. }
  pose proof (refined_units_sound _ _ _ _ _ _ _ _ _ _ HW IV I1 IU ltac:(rewrite LC;
    exact LH) EV H1) as IVs.
  destruct I2 as [J1 J2]. pose proof (Forall2_len _ _ _ J1) as L1.
  pose proof (Forall2_len _ _ _ J2) as L2.
  assert (SZ : sums (combine (map rectified hid) (nth c (fst m2) []) ++ [(nth c (snd m2) zero,
    one)]) (at_channel c z)).
  { assert (K1 : (c < length (fst m2))%nat) by (rewrite <- L1; assumption).
    assert (K2 : (c < length (snd m2))%nat) by (rewrite <- L2; assumption).
    assert (K : (c < length (combine (fst m2) (snd m2)))%nat) by (rewrite combine_length;
      now apply Nat.min_glb_lt).
    pose proof (each_at _ _ _ c ([], zero) H2 K) as S. rewrite combine_nth_min in S by assumption.
    exact S. }
  assert (IZ : inf Z (floors y) (at_channel c z)).
  { eapply biased_sound; [exact HW|exact IVs| | |exact EZ|exact SZ].
    - apply (Forall2_at inv); [constructor|exact J1].
    - apply (Forall2_at inb); [apply inb_zero|exact J2]. }
  destruct in_l as [_ [_ [_ I4]]].
  assert (IF : inf F (floors y) r).
  { eapply form_sum_sound; [exact HW| |exact EF|exact HS]. constructor; [split; cbn [fst snd];
      [|now apply inv_at]|].
    - apply variable_sound. apply (inv_at Yh y c IY).
    - constructor; [split; [exact IZ|apply inb_one]|constructor]. }
  rewrite (nth_map _ _ u O) by (rewrite seq_length; exact Hu). rewrite seq_nth by exact Hu.
  cbn [Nat.add].
  eapply form_box_sound; [|exact IF]. apply floors_within. now apply put_sound.
Qed.
Definition holds (rows : list (list nat)) (w : list nat) (m : nat) (cur : list nat) (P XR : list
  (list box)) (n : nat) (xs : stream) : Prop :=
  at_places P n xs /\ forall t i, (t < n)%nat -> (i < R)%nat -> inb (reg XR i (held rows w m t i))
    (at_channel (chan cur i) (xs t)).
Lemma scan_layer_sound ex rows w xs ys P' XR' : is_exp ex -> (length w <= T)%nat ->
  rows_fit rows R = true ->
  Forall (fun a => (a < length rows)%nat) w -> scan_layer = Some (P', XR') ->
  holds rows w m (Cur h) P XR (S (length w)) xs -> layer_on ex (S (length w)) l xs ys ->
  holds rows w (m + m) (Next h) P' XR' (S (length w)) ys.
Proof.
  intros HX Hn HRF HF E [HA HR] [hs [HH HL]]. set (n := S (length w)) in *. unfold scan_layer in E.
  destruct (BHeads b) as [|bh [|]] eqn:EBH; try discriminate.
  destruct (BMlps b) as [|w1 [|w2 [|]]] eqn:EBM; try discriminate.
  destruct (head_out T m P XR every h bh) as [o|] eqn:EO; [|discriminate].
  destruct (mixed_hull o) as [Yh|] eqn:EY; [|discriminate].
  destruct (table2 R (back_at o)) as [YB|] eqn:EB; [|discriminate].
  destruct (table2 R (cur_at o)) as [YC|] eqn:EC; [|discriminate].
  destruct (unit_forms _ _ w1) as [Us|] eqn:EU; [|discriminate]. destruct (mlp_box [w1;
    w2] Yh) as [Zm|] eqn:EZ; [|discriminate].
  destruct (table2 R (register_after w1 w2 Yh YB YC Us)) as [Fs|] eqn:EF; [|discriminate].
  destruct (mapM _ (seq 0 (S T))) as [Ps|] eqn:EP; [|discriminate]. some_of E. apply some_inj in E.
  assert (E1 : P' = Ps) by congruence. assert (E2 : XR' = registers_after Fs) by congruence.
  clear E. subst P' XR'. split_andb.
  match goal with H : in_range = true |- _ => rename H into IR end.
  match goal with H : covers = true |- _ => rename H into CV end.
  pose proof in_l as [I1 [I2 [I3 I4]]]. rewrite EBH in I1. rewrite EBM in I3.
  destruct (Heads l) as [|th [|]] eqn:EHL; inversion I1 as [|? ? ? ? Ih I1']; subst;
    try (inversion I1'; fail). clear I1 I1'.
  inversion HH as [|? hd ? hs' Hhd HH']; subst. inversion HH'; subst. clear HH HH'.
  destruct (Mlps l) as [|m1 [|m2 [|]]] eqn:EML; inversion I3 as [|? ? ? ? J1 I3']; subst;
    inversion I3' as [|? ? ? ? J2 I3'']; subst;
    try (inversion I3''; fail). clear I3 I3' I3''.
  assert (HI : forall t, (t < n)%nat -> in_registers (xs t) (held rows w m t)).
  { intros t Ht i Hi. split; [now apply held_range|now apply HR]. }
  assert (HE : forall t, (t < n)%nat -> inv every (xs t)) by (intros t Ht; eapply every_sound;
    eauto; unfold n in *; lia).
  assert (Main : forall t, (t < n)%nat -> inv (nth t Ps []) (ys t) /\ forall i, (i < R)%nat ->
     inb (reg (registers_after Fs) i (held rows w m t (held rows w m (t - m) i))) (at_channel
       (chan (Next h) i) (ys t))).
  2: { split; [intros t Ht; now apply Main|]. intros t i Ht Hi.
  rewrite held_doubles by (unfold n in *; lia). now apply Main. }
  intros t Ht. destruct (HL t Ht) as [y [z [Hy [Hz Ho]]]].
  destruct (head_out_sound T m P XR every h bh th Ih ex n xs hd o t HX ltac:(unfold n in *;
    lia) EO HA HE Hhd) as [OH OB].
  assert (YS : forall c, (c < length (BKeep b))%nat -> sums [(at_channel c (xs t), at_channel c
    (KeepAttention l)); (at_channel c (hd t), one)] (at_channel c y)).
  { intros c Hc. rewrite (Forall2_len _ _ _ I2) in Hc. exact (each_seq _ _ y c Hy Hc). }
  assert (MA : forall c x B, (c < length (BKeep b))%nat -> inb x (at_channel c (xs t)) ->
    mixed_at o c x = Some B -> inb B (at_channel c y)).
  { intros c x B Hc Ix EBx. eapply kept_at_sound; [exact I2|exact Ix|apply (inv_at _ _ c OH)|exact
      EBx|now apply YS]. }
  assert (Ly : length y = length (BKeep b)).
  { pose proof (Forall2_len _ _ _ Hy) as K. rewrite seq_length in K.
    rewrite (Forall2_len _ _ _ I2). symmetry. exact K. }
  assert (IY : inv Yh y).
  { apply inv_from; [unfold mixed_hull in EY; rewrite (mapM_len _ _ _ EY), seq_length; exact Ly|].
    intros c Hc.
    unfold mixed_hull in EY. rewrite (mapM_len _ _ _ EY), seq_length in Hc.
    pose proof (mapM_seq _ _ _ c zero_box EY Hc) as Ec.
    eapply MA; [exact Hc| |exact Ec]. apply inv_at. now apply HE. }
  destruct Hz as [hid [Hh Hz]].
  pose proof (unit_forms_sound _ _ _ _ _ _ _ _ (floors_within Yh y IY) (variables_sound Yh y IY)
    J1 EU Hh) as IU.
  assert (IZ : inv Zm z).
  { eapply mlp_sound; [constructor; [exact J1|constructor; [exact J2|constructor]]|exact IY|exact
      EZ|]. exists hid. split; assumption. }
  unfold in_range in IR. apply andb_prop in IR as [LK IR]. apply Nat.leb_le in LK.
  rewrite forallb_forall in IR.
  assert (RA : forall i, (i < R)%nat -> (chan (Back h) i < length (BKeep b))%nat /\
    (chan (Cur h) i < length (BKeep b))%nat /\ (chan (Next h) i < length (BKeepMlp b))%nat).
  { intros i Hi. specialize (IR i ltac:(apply in_seq; lia)). split_andb.
    repeat split; now apply Nat.ltb_lt. }
  split.
  - pose proof (mapM_seq _ _ _ t [] EP ltac:(unfold n in *; lia)) as Et.
    apply inv_from; [rewrite (mapM_len _ _ _ Et), seq_length, (Forall2_len _ _ _ I4);
      pose proof (Forall2_len _ _ _ Ho) as K; rewrite seq_length in K; symmetry; exact K|].
    intros c Hc. rewrite (mapM_len _ _ _ Et), seq_length in Hc.
    pose proof (mapM_seq _ _ _ c zero_box Et Hc) as Ec. unfold place_after in Ec.
    destruct (mixed_at o c (nth c (nth t P []) zero_box)) as [yb|] eqn:Eyb; [|discriminate].
    eapply kept_at_sound; [exact I4| |apply (inv_at _ _ c IZ)|exact Ec|rewrite (Forall2_len _ _ _
      I4) in Hc; exact (each_seq _ _ (ys t) c Ho Hc)].
    eapply MA; [lia|apply inv_at; now apply HA|exact Eyb].
  - intros i Hi. set (v := held rows w m (t - m) i).
    assert (Hv : (v < R)%nat) by (now apply held_range).
    set (u := held rows w m t v). assert (Hu : (u < R)%nat) by (now apply held_range).
    destruct (RA i Hi) as [C1 [C2 C4]]. destruct (RA v Hv) as [_ [C3 _]].
    eapply registers_after_sound; [exact Hi|exact Hv|exact Hu|].
    eapply (register_after_sound w1 w2 m1 m2 Yh YB YC Us i v _ u y z hid); eauto.
    + now apply (table2_at R).
    + pose proof (table2_at R _ YB i v zero_box EB Hi Hv) as K. unfold back_at in K. cbv zeta in K.
      destruct (OutBack o i v) as [zb|] eqn:Ezb; [|discriminate].
      eapply kept_at_sound; [exact I2|apply (inv_at _ _ (chan (Back h) i) (HE t Ht))|eapply OB;
        [|exact Ezb]|exact K|now apply YS].
      apply HR; [lia|exact Hi].
    + pose proof (table2_at R _ YC v u zero_box EC Hv Hu) as K. eapply MA; [exact C3| |exact K].
      now apply HR.
    + apply (each_seq (fun c => [(at_channel c y, at_channel c (KeepMlp l)); (at_channel c z,
        one)]) _ (ys t) _ Ho). rewrite <- (Forall2_len _ _ _ I4). exact C4.
Qed.
End Layer.

(* ---------- all layers ---------- *)
Section Layers.
Variables (T R : nat) (rows : list (list nat)).
Fixpoint layers_scan (ls : list tlayer) (hs : list scan_hint) (m : nat) (cur : list nat) (P XR :
  list (list box))
  : option (nat * list nat * list (list box) * list (list box)) :=
  match ls, hs with
  | [], [] => Some (m, cur, P, XR)
  | l :: ls, h :: hs =>
      match box_layer l with None => None | Some b =>
      if list_eq_dec Nat.eq_dec (Cur h) cur then
        match scan_layer T R m P XR h b with None => None | Some (P', XR') =>
          layers_scan ls hs (m + m) (Next h) P' XR' end
      else None end
  | _, _ => None end.
Lemma layers_scan_sound ex w ys : is_exp ex -> (length w <= T)%nat -> rows_fit rows R = true ->
  Forall (fun a => (a < length rows)%nat) w -> forall ls hs m cur P XR xs m' cur' P' XR',
  layers_scan ls hs m cur P XR = Some (m', cur', P', XR') -> holds R rows w m cur P XR (S (length
    w)) xs ->
  layers_on ex (S (length w)) ls xs ys -> holds R rows w m' cur' P' XR' (S (length w)) ys.
Proof.
  intros HX HT HRF HF ls. induction ls as [|l ls IH]; intros [|h hs] m cur P XR xs m' cur' P' XR'
    E H HL; try discriminate.
  - cbn in E. assert (m = m' /\ cur = cur' /\ P = P' /\ XR = XR') as [<- [<- [<- <-]]] by (repeat
      split; congruence).
    cbn in HL. now subst ys.
  - cbn [layers_scan] in E. destruct (box_layer l) as [b|] eqn:EB; [|discriminate].
    apply box_layer_sound in EB.
    destruct (list_eq_dec Nat.eq_dec (Cur h) cur) as [<-|]; [|discriminate].
    destruct (scan_layer T R m P XR h b) as [[P1 XR1]|] eqn:ES; [|discriminate].
    destruct HL as [zs [H1 H2]].
    eapply IH; [exact E| |exact H2]. eapply (scan_layer_sound T R m P XR h b l EB); eauto.
Qed.
End Layers.

(* ---------- the start: what each letter, and the padding, has in each register ----------
   A value that no letter has in a register gets the number that stands for it in the padding. *)
Definition first_registers (R : nat) (rows : list (list nat)) (cur : list nat) (P X : list (list
  box)) : list (list box) :=
  map (fun i => map (fun v => let c := chan cur i in hull_all
        (nth (chan cur v) (nth 0 P []) zero_box ::
         map (fun a => nth c (nth a X []) zero_box) (filter (fun a => (through rows i a =? v)%nat)
           (seq 0 (length X))))) (seq 0 R)) (seq 0 R).
Lemma first_registers_at R rows cur P X i v : (i < R)%nat -> (v < R)%nat ->
  reg (first_registers R rows cur P X) i v =
  hull_all (nth (chan cur v) (nth 0 P []) zero_box ::
            map (fun a => nth (chan cur i) (nth a X []) zero_box) (filter (fun a =>
              (through rows i a =? v)%nat) (seq 0 (length X)))).
Proof.
  intros Hi Hv. unfold reg, first_registers. rewrite (nth_map _ _ i O) by (rewrite seq_length;
    exact Hi).
  rewrite seq_nth by exact Hi. rewrite (nth_map _ _ v O) by (rewrite seq_length; exact Hv).
  rewrite seq_nth by exact Hv. reflexivity.
Qed.
Lemma first_holds R rows cur P X w xs : rows_fit rows R = true -> Forall (fun a =>
  (a < length rows)%nat) w ->
  at_places P (S (length w)) xs -> by_class X (S (length w)) (letter_at w) xs ->
  holds R rows w 1 cur P (first_registers R rows cur P X) (S (length w)) xs.
Proof.
  intros HRF HF HA HB. split; [exact HA|]. intros t i Ht Hi. rewrite first_registers_at by (auto;
    now apply held_range).
  destruct t as [|t].
  - rewrite held_zero. eapply hull_all_in; [now left|]. apply inv_at. apply HA. lia.
  - rewrite held_first by lia. destruct (HB (S t) ltac:(lia)) as [C1 C2].
    eapply hull_all_in; [|apply inv_at; exact C2]. right.
    apply (in_map (fun a => nth (chan cur i) (nth a X []) zero_box)), filter_In.
    split; [apply in_seq; lia|apply Nat.eqb_refl].
Qed.

(* ---------- the read-out, and the automaton ---------- *)
Definition box_leads (Y : list box) (q : nat) : bool :=
  (q <? length Y)%nat && forallb (fun j => (j =? q)%nat || (snd (nth j Y zero_box) <? fst (nth q Y
    zero_box))) (seq 0 (length Y)).
Lemma box_leads_sound Y y q : box_leads Y q = true -> inv Y y -> strictly_largest y q.
Proof.
  intros H I. unfold box_leads in H. apply andb_prop in H as [H1 H2]. apply Nat.ltb_lt in H1.
  rewrite forallb_forall in H2.
  pose proof (Forall2_len _ _ _ I) as L. split; [lia|]. intros j Hj N.
  specialize (H2 j ltac:(apply in_seq; lia)).
  apply orb_prop in H2 as [H2|H2]; [apply Nat.eqb_eq in H2; contradiction|].
  apply Z.ltb_lt, IZR_lt in H2.
  destruct (inv_at Y y j I) as [Fj [_ Uj]]. destruct (inv_at Y y q I) as [Fq [Lq _]].
  apply smaller_if; auto.
  unfold at40, at_channel in *. pose proof grid_pos. nra.
Qed.
Definition state_box (R : nat) (cur : list nat) (P XR : list (list box)) (T : nat) (row : list
  nat) : list box :=
  fold_right (fun i B => put (chan cur i) (reg XR i (nth i row O)) B) (all_places T P) (seq 0 R).
Definition reads_state (R : nat) (cur : list nat) (P XR : list (list box)) (T states : nat) (U :
  list (list box) * list box)
  (rows : list (list nat)) (q : nat) : bool :=
  match bias_box (state_box R cur P XR T (nth q rows [])) U with
  | Some Y => (length Y =? states)%nat && box_leads Y q | None => false end.
Lemma state_box_sound R cur P XR T row x : inv (all_places T P) x ->
  (forall i, (i < R)%nat -> inb (reg XR i (nth i row O)) (at_channel (chan cur i) x)) ->
    inv (state_box R cur P XR T row) x.
Proof.
  intros I H. unfold state_box. assert (G : forall is, (forall i, In i is -> (i < R)%nat) ->
    inv (fold_right (fun i B => put (chan cur i) (reg XR i (nth i row O)) B) (all_places T P) is)
      x).
  { induction is as [|i is IH]; intros Hi; cbn [fold_right]; [exact I|].
    apply put_sound; [apply IH; intros; apply Hi; now right|apply H, Hi; now left]. }
  apply G. intros i Hi. apply in_seq in Hi. lia.
Qed.
(* the rows of states move as the automaton does *)
Definition rows_follow (R : nat) (d : automaton) (letters states : list (list nat)) : bool :=
  (if list_eq_dec Nat.eq_dec (nth (First d) states []) (seq 0 R) then true else false) &&
  forallb (fun q => forallb (fun a =>
     if list_eq_dec Nat.eq_dec (map (fun x => through letters x a) (nth q states [])) (nth (follow
       d q a) states []) then true else false)
     (seq 0 (Letters d))) (seq 0 (length (Table d))).
Lemma run_range d w : is_complete d = true -> is_word_of d w -> (run d w < length (Table d))%nat.
Proof.
  intros H HW. unfold is_complete in H. apply andb_prop in H as [H1 H2]. apply Nat.ltb_lt in H1.
  rewrite forallb_forall in H2.
  unfold run. revert H1. generalize (First d) as q. unfold is_word_of in HW.
  induction HW as [|a w Ha HW IH]; intros q Hq; cbn [fold_left]; [exact Hq|].
  apply IH. unfold follow. specialize (H2 (nth q (Table d) []) ltac:(now apply nth_In)).
  apply andb_prop in H2 as [H3 H4].
  apply Nat.eqb_eq in H3. rewrite forallb_forall in H4. apply Nat.ltb_lt, H4, nth_In. lia.
Qed.
Lemma rows_follow_sound R d letters states w : is_complete d = true ->
  rows_follow R d letters states = true -> is_word_of d w ->
  nth (run d w) states [] = map (fun i => fold_left (through letters) w i) (seq 0 R).
Proof.
  intros HC H. unfold rows_follow in H. apply andb_prop in H as [H1 H2].
  rewrite forallb_forall in H2.
  destruct (list_eq_dec _ _ _) as [E1|] in H1; [|discriminate].
  induction w as [|a w IH] using rev_ind; intros HW.
  - cbn [run fold_left]. unfold run. cbn [fold_left]. rewrite E1. symmetry. apply map_id.
  - apply Forall_app in HW as [HW Ha]. inversion Ha as [|? ? Ha' _]; subst. specialize (IH HW).
    specialize (H2 (run d w) ltac:(apply in_seq; split; [lia|now apply run_range])).
    rewrite forallb_forall in H2.
    specialize (H2 a ltac:(apply in_seq; lia)). destruct (list_eq_dec _ _ _) as [E2|] in H2;
      [|discriminate].
    unfold run in *. rewrite fold_left_app. cbn [fold_left]. rewrite <- E2, IH, map_map.
    apply map_ext. intros i. now rewrite fold_left_app.
Qed.

(* ---------- the theorem ---------- *)
Record scan_hints := { Registers : nat; LetterRows : list (list nat); StateRows : list (list nat);
  LayerScans : list scan_hint }.
Definition first_channels (hs : list scan_hint) : list nat := match hs with [] => [] | h :: _ =>
  Cur h end.
Definition scans_right (T : nat) (tr : transformer) (d : automaton) (g : scan_hints) : bool :=
  let R := Registers g in let cur := first_channels (LayerScans g) in
  is_complete d && (length (Tokens tr) =? Letters d)%nat && (length (LetterRows g) =? Letters
    d)%nat && rows_fit (LetterRows g) R &&
  rows_follow R d (LetterRows g) (StateRows g) &&
  match box_affine (Unembed tr), begin_with 1 T tr with
  | Some U, Some (P, X) =>
      match layers_scan T R (TLayers tr) (LayerScans g) 1 cur P (first_registers R (LetterRows g)
        cur P X) with
      | Some (m, cur', P', XR') => (T <=? m)%nat && covers T P' &&
          forallb (reads_state R cur' P' XR' T (length (Table d)) U (StateRows g)) (seq 0 (length
            (Table d)))
      | None => false end
  | _, _ => false end.
Theorem scans_right_sound T tr d g : scans_right T tr d g = true -> right_up_to T tr d.
Proof.
  unfold scans_right. cbv zeta. intros H. apply andb_prop in H as [H H6].
  apply andb_prop in H as [H H5]. apply andb_prop in H as [H H4].
  apply andb_prop in H as [H H3]. apply andb_prop in H as [H0 H1]. apply Nat.eqb_eq in H1, H3.
  destruct (box_affine (Unembed tr)) as [U|] eqn:EU; [|discriminate]. apply box_affine_sound in EU.
  destruct (begin_with 1 T tr) as [[P X]|] eqn:EB; [|discriminate].
  set (R := Registers g) in *. set (cur := first_channels (LayerScans g)) in *.
  destruct (layers_scan _ _ _ _ _ _ _ _) as [[[[m cur'] P'] XR']|] eqn:EL; [|discriminate].
  apply andb_prop in H6 as [H6 H7]. apply andb_prop in H6 as [H6 CV].
  apply Nat.leb_le in H6. rewrite forallb_forall in H7. split; [exact H0|]. intros ex HX w Hw HF.
  split; [now apply forward_exists|].
  intros ys [xs [zs [HE [HL HR]]]] t Ht. pose proof (begin_padding 1 T tr P X EB) as LP.
  rewrite LP in *. cbn [Nat.add] in *.
  destruct (begin_sound 1 T tr P X w xs EB Hw ltac:(rewrite H1; exact HF) HE) as [_ [LL [HA [HB
    _]]]].
  assert (HF' : Forall (fun a => (a < length (LetterRows g))%nat) w) by (rewrite H3; exact HF).
  assert (HB' : by_class X (S (length w)) (letter_at w) xs).
  { intros i Hi. specialize (HB i Hi). unfold class_at in HB.
    rewrite Nat.mod_1_r, Nat.mul_0_r, Nat.add_0_r in HB. exact HB. }
  pose proof (first_holds R (LetterRows g) cur P X w xs H4 HF' HA HB') as H8.
  destruct (layers_scan_sound T R (LetterRows g) ex w zs HX Hw H4 HF' _ _ _ _ _ _ _ _ _ _ _ EL H8
    HL) as [HA' HR'].
  set (q := run d (firstn (S t) w)). assert (HQ : is_word_of d (firstn (S t) w)).
  { unfold is_word_of in *. rewrite Forall_forall in *. intros a Ha. apply HF.
    rewrite <- (firstn_skipn (S t) w). apply in_or_app. now left. }
  assert (Hq : (q < length (Table d))%nat) by (now apply run_range).
  specialize (H7 q ltac:(apply in_seq; lia)). unfold reads_state in H7.
  destruct (bias_box _ U) as [Y|] eqn:EY; [|discriminate]. apply andb_prop in H7 as [H7 H9].
  apply Nat.eqb_eq in H7.
  assert (IY : inv Y (ys t)).
  { eapply bias_sound; [|exact EU|exact EY|exact (HR t Ht)]. apply state_box_sound.
    - unfold covers in CV. rewrite forallb_forall in CV. eapply subs_sound; [apply (CV (S t)),
        in_seq; lia|apply HA'; lia].
    - intros i Hi. pose proof (HR' (S t) i ltac:(lia) Hi) as I. unfold held, window in I.
      replace (S t - m)%nat with O in I by lia. cbn [skipn] in I.
      unfold q. rewrite (rows_follow_sound R d (LetterRows g) (StateRows g) _ H0 H5 HQ).
      rewrite (nth_map _ _ i O) by (rewrite seq_length; exact Hi). rewrite seq_nth by exact Hi.
      exact I. }
  split; [rewrite <- (Forall2_len _ _ _ IY); exact H7|]. eapply box_leads_sound; eauto.
Qed.
