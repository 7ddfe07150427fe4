(* Heads that copy: one position has nearly the whole share.  It is the latest that writes, or the
   first, or the one that is a fixed distance back, and a counter says what stood there: it is set
   by each writer, or by the first alone, or is the end of a delay line.  The result of the head is
   then a form of that counter: the value at position 0, and a unit for each mark, give or take
   what the other positions weigh. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting.
Import ListNotations.
Open Scope R_scope.

(* ---------- sums in which one term counts ---------- *)
Lemma Sum_small f r n : (forall i, (i < n)%nat -> Rabs (f i) <= r) -> Rabs (Sum f n) <= INR n * r.
Proof.
  induction n as [|n IH]; intros H; cbn [Sum]; [cbn; rewrite Rabs_R0; lra|]. rewrite S_INR.
  eapply Rle_trans; [apply Rabs_triang|].
  specialize (IH (fun i Hi => H i ltac:(lia))). specialize (H n ltac:(lia)). lra.
Qed.
Lemma Sum_one f r n L : (L < n)%nat -> (forall i, (i < n)%nat -> i <> L -> Rabs (f i) <= r) ->
  Rabs (Sum f n - f L) <= INR (n - 1) * r.
Proof.
  intros HL H. induction n as [|n IH]; [lia|]. cbn [Sum]. replace (S n - 1)%nat with n by lia.
  destruct (Nat.eq_dec L n) as [->|N].
  - replace (Sum f n + f n - f n) with (Sum f n) by ring. apply Sum_small. intros; apply H; lia.
  - replace (Sum f n + f n - f L) with ((Sum f n - f L) + f n) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    specialize (IH ltac:(lia) (fun i Hi => H i ltac:(lia))).
    specialize (H n ltac:(lia) ltac:(lia)).
    replace (INR n) with (INR (n - 1) + 1) by (rewrite <- S_INR; f_equal; lia). lra.
Qed.
Lemma Sum_most f r n L T : (L < n <= S T)%nat -> 0 <= r -> (forall i, (i < n)%nat -> i <> L ->
  Rabs (f i) <= r) -> Rabs (Sum f n - f L) <= INR T * r.
Proof.
  intros HL Hr H. eapply Rle_trans; [apply Sum_one; [lia|exact H]|]. apply Rmult_le_compat_r;
    [exact Hr|]. apply le_INR. lia.
Qed.

(* ---------- the shares: of the position with the largest score, and the most that another may
   have ---------- *)
Notation far := 288230376151711744%Z.       (* 2^58: no score is larger *)
Definition behind (M : Z) : box := (- (2 * far) + Z.shiftr (- (2 * far)) 24, - M - Z.shiftr (- M)
  24)%Z.
Definition copy_shares (T : nat) (M : Z) : option (box * Z) :=
  match device_exp_box (behind M) with None => None | Some f =>
  let r := (Z.of_nat T * (size_of_box f * grid))%Z in
  match widened (Z.of_nat (S T)) (grid2 - r) (grid2 + r) (grid2 + r) with None =>
    None | Some total =>
  match divided_box one_box total, abs_divided (size_of_box f) total with Some w, Some v =>
    Some (w, v) | _, _ => None end end end.
Lemma copy_shares_sound ex T n t L M s w w1 f1 : is_exp ex -> (0 < M)%Z -> (L <= t < n)%nat ->
  (n <= S T)%nat -> copy_shares T M = Some (w1, f1) ->
  (forall i, (i <= t)%nat -> inb (- far, far)%Z (s i)) -> (forall i, (i <= t)%nat -> i <> L ->
    exists z, at40 (B2R (s i)) <= IZR z /\ IZR (z + M) <= at40 (B2R (s L))) ->
  softmax ex n t s w -> inb w1 (w L) /\ (forall i, i <> L -> is_finite (w i) = true /\
    Rabs (at40 (B2R (w i))) <= IZR f1).
Proof.
  intros HX HM HL Hn E HB HS [m [total [x [[j [Hj Hm]] [Hmax [HE [HT HW]]]]]]].
  unfold copy_shares in E.
  destruct (device_exp_box (behind M)) as [f|] eqn:EF; [|discriminate]. cbv zeta in E.
  set (sz := size_of_box f) in *. destruct (widened _ _ _ _) as [tb|] eqn:ET; [|discriminate].
  destruct (divided_box one_box tb) as [q|] eqn:EQ; [|discriminate].
  destruct (abs_divided sz tb) as [v|] eqn:EV; [|discriminate]. injection E as -> ->.
  pose proof grid_pos as GP. destruct one_is as [F1 R1].
  assert (M0 : 0 < IZR M) by (apply IZR_lt; exact HM).
  assert (mL : m = s L).
  { destruct (Nat.eq_dec j L) as [->|N]; [congruence|]. exfalso.
    destruct (HS j Hj N) as [z [Z1 Z2]]. specialize (Hmax L ltac:(lia)).
    rewrite <- Hm in Hmax. rewrite smaller_if in Hmax; [discriminate|apply HB; lia|apply HB;
      lia|]. rewrite plus_IZR in Z2. unfold at40 in *. nra. }
  clear Hm Hmax j Hj. subst m.
  assert (XL : x L = one).
  { pose proof (HE L) as Hx. unfold exponential in Hx. rewrite (proj2 (Nat.leb_le L t)) in
      Hx by lia.
    destruct (minus_self (s L) (proj1 (HB L ltac:(lia)))) as [F R]. apply (proj2 HX _ _ Hx); auto.
    lra. }
  assert (XO : forall i, i <> L -> is_finite (x i) = true /\ Rabs (at40 (B2R (x i))) <= IZR sz).
  { intros i N. pose proof (HE i) as Hx. unfold exponential in Hx.
    destruct (Nat.leb_spec i t) as [Hi|Hi].
    - destruct (HS i Hi N) as [z [Z1 Z2]]. destruct (HB i Hi) as [Fi [I1 I2]].
      destruct (HB L ltac:(lia)) as [FL [L1 L2]]. cbn [fst snd] in *.
      assert (D : minus_box (- far, z)%Z (z + M, far)%Z = Some (behind M)).
      { unfold minus_box, behind. cbn [fst snd]. replace (- far - far)%Z with (- (2 * far))%Z by
          lia. replace (z - (z + M))%Z with (- M)%Z by lia.
        replace (- 2 ^ 60 <=? - (2 * far))%Z with true by reflexivity.
        rewrite (proj2 (Z.leb_le (- M) 0)) by lia. reflexivity. }
      pose proof (minus_box_sound _ _ _ (s i) (s L) D (conj Fi (conj I1 Z1)) (conj FL (conj Z2
        L2))) as B.
      pose proof (device_exp_sound _ _ _ _ _ HX EF B Hx) as X. split; [apply X|].
      now apply size_of_box_sound.
    - rewrite Hx. split; [reflexivity|]. cbn [B2R zero]. unfold at40. rewrite Rmult_0_l, Rabs_R0.
      apply IZR_le. unfold sz, size_of_box. lia. }
  assert (S0 : 0 <= IZR sz) by (apply IZR_le; unfold sz, size_of_box; lia).
  assert (AT : forall i, at80 (B2R (x i) * B2R one) = at40 (B2R (x i)) * IZR grid) by (intros;
    rewrite R1; unfold at80, at40; ring).
  assert (ST : Rabs (Sum (fun i => at80 (B2R (x i) * B2R one)) n - at80 (B2R (x L) * B2R one)) <=
    INR T * (IZR sz * IZR grid)).
  { apply (Sum_most (fun i => at80 (B2R (x i) * B2R one)) (IZR sz * IZR grid) n L T); [lia|nra|].
    intros i _ N. rewrite AT, Rabs_mult, (Rabs_pos_eq (IZR grid)) by lra. apply Rmult_le_compat_r;
      [lra|now apply XO]. }
  assert (SA : Rabs (Sum (fun i => Rabs (at80 (B2R (x i) * B2R one))) n - Rabs (at80 (B2R (x L) *
    B2R one))) <= INR T * (IZR sz * IZR grid)).
  { apply (Sum_most (fun i => Rabs (at80 (B2R (x i) * B2R one))) (IZR sz * IZR grid) n L T);
      [lia|nra|]. intros i _ N. rewrite Rabs_Rabsolu, AT, Rabs_mult, (Rabs_pos_eq (IZR grid)) by
      lra. apply Rmult_le_compat_r; [lra|now apply XO]. }
  assert (A1 : at80 (B2R (x L) * B2R one) = IZR grid2) by (rewrite XL, R1, grid2_is; unfold at80;
    ring). rewrite A1 in ST, SA.
  assert (G2 : 0 <= IZR grid2) by (apply IZR_le; lia). rewrite (Rabs_pos_eq _ G2) in SA.
  assert (TB : inb tb total).
  { eapply widened_sound with (m := S T); [exact HT| | | | |exact ET].
    - unfold all_finite. apply Forall_forall. intros p Hp. apply in_map_iff in Hp as [i [<- Hi]].
      cbn [fst snd]. split; [|exact F1].
      destruct (Nat.eq_dec i L) as [->|N]; [rewrite XL; exact F1|now apply XO].
    - eapply Nat.le_trans; [apply nz_le|]. rewrite map_length, seq_length. lia.
    - rewrite tot_positions. rewrite minus_IZR, plus_IZR, !mult_IZR, <- INR_IZR_INZ.
      apply Rabs_le_inv in ST. lra.
    - rewrite size_positions. rewrite plus_IZR, !mult_IZR, <- INR_IZR_INZ.
      apply Rabs_le_inv in SA. lra. }
  split.
  - eapply divided_sound; [exact EQ|apply inb_one|exact TB|]. rewrite <- XL. apply HW.
  - intros i N. destruct (XO i N) as [Fx Bx]. eapply abs_divided_sound;
      [exact EV|exact Fx|exact Bx|exact TB|apply HW].
Qed.

(* ---------- the sum of values: that of the position with the whole share, give or take
   ---------- *)
Definition copy_off (T : nat) (e f V dl : Z) : Z := (e * V + grid * dl + Z.of_nat T * (f * V))%Z.
Definition copy_size (T : nat) (e f V : Z) : Z := ((grid + e) * V + Z.of_nat T * (f * V))%Z.
Lemma copy_sound T n L e f V dl G (w v : nat -> f32) y : (L < n <= S T)%nat -> (0 <= e)%Z ->
  (0 <= f)%Z -> (0 <= V)%Z ->
  has_bound (Z.of_nat (S T)) (copy_size T e f V) = true ->
  (forall i, (i < n)%nat -> is_finite (w i) = true /\ is_finite (v i) = true /\
    Rabs (at40 (B2R (v i))) <= IZR V) ->
  Rabs (at40 (B2R (w L)) - IZR grid) <= IZR e -> (forall i, (i < n)%nat -> i <> L ->
    Rabs (at40 (B2R (w i))) <= IZR f) ->
  Rabs (at40 (B2R (v L)) - IZR G) <= IZR dl -> sums (map (fun i => (w i, v i)) (seq 0 n)) y ->
  is_finite y = true /\ Rabs (at80 (B2R y) - IZR (grid * G)) <= IZR (copy_off T e f V dl +
    rounding (Z.of_nat (S T)) (copy_size T e f V)).
Proof.
  intros HL e_ f_ V_ HB HF HWL HWO HVL HS. apply IZR_le in e_, f_, V_. pose proof grid_pos as GP.
  destruct (HF L ltac:(lia)) as [_ [_ VL]].
  assert (P : forall i, at80 (B2R (w i) * B2R (v i)) = at40 (B2R (w i)) * at40 (B2R (v i))) by
    (intros; unfold at80, at40; ring).
  assert (fV : 0 <= IZR f * IZR V) by nra.
  assert (O : forall i, (i < n)%nat -> i <> L -> Rabs (at80 (B2R (w i) * B2R (v i))) <= IZR f *
    IZR V).
  { intros i Hi N. rewrite P, Rabs_mult. destruct (HF i Hi) as [_ [_ B]]. apply Rmult_le_compat;
      auto using Rabs_pos. }
  assert (ST := Sum_most (fun i => at80 (B2R (w i) * B2R (v i))) _ n L T HL fV O).
  assert (SA := Sum_most (fun i => Rabs (at80 (B2R (w i) * B2R (v i)))) _ n L T HL fV (fun i Hi N
    => eq_ind_r (fun z => z <= IZR f * IZR V) (O i Hi N) (Rabs_Rabsolu _))). cbv beta in ST, SA.
  assert (TL : Rabs (at80 (B2R (w L) * B2R (v L)) - IZR grid * IZR G) <= IZR e * IZR V + IZR grid
    * IZR dl).
  { rewrite P. replace (at40 (B2R (w L)) * at40 (B2R (v L)) - IZR grid * IZR G) with ((at40 (B2R
      (w L)) - IZR grid) * at40 (B2R (v L)) + IZR grid * (at40 (B2R (v L)) - IZR G)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq (IZR grid)) by lra.
    assert (Rabs (at40 (B2R (w L)) - IZR grid) * Rabs (at40 (B2R (v L))) <= IZR e * IZR V) by
      (apply Rmult_le_compat; auto using Rabs_pos).
    assert (IZR grid * Rabs (at40 (B2R (v L)) - IZR G) <= IZR grid * IZR dl) by (apply
      Rmult_le_compat_l; lra). lra. }
  assert (SL : Rabs (at80 (B2R (w L) * B2R (v L))) <= (IZR grid + IZR e) * IZR V).
  { rewrite P, Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. apply Rabs_le_inv in HWL.
    apply Rabs_le. lra. }
  destruct (sum_error (S T) _ y (copy_size T e f V) HS) as [Fy Ey].
  - unfold all_finite. apply Forall_forall. intros p Hp. apply in_map_iff in Hp as [i [<- Hi]].
    apply in_seq in Hi. cbn [fst snd]. destruct (HF i ltac:(lia)) as [A [B _]]. auto.
  - eapply Nat.le_trans; [apply nz_le|]. rewrite map_length, seq_length. lia.
  - rewrite size_positions. unfold copy_size. rewrite !plus_IZR, !mult_IZR, !plus_IZR,
      <- INR_IZR_INZ. apply Rabs_le_inv in SA. lra.
  - exact HB.
  - split; [exact Fy|]. rewrite tot_positions in Ey. unfold copy_off.
    rewrite !plus_IZR, !mult_IZR, <- INR_IZR_INZ. apply Rabs_le_inv in Ey, ST, TL. apply Rabs_le.
    lra.
Qed.
Open Scope Z_scope.
Definition copy_form (j : nat) (u base r : Z) : form := {| Coefs := only j u; Low :=
  base + Z.shiftr (- r) 40; High := base - Z.shiftr (- r) 40 |}.
Lemma copy_form_sound j u base r (n : nat -> Z) y : is_finite y = true ->
  (Rabs (at80 (B2R y) - IZR (grid * (base + u * n j))) <= IZR r)%R -> inf (copy_form j u base r) n
  y.
Proof.
  intros F H. split; [exact F|]. cbn [copy_form Coefs Low High]. rewrite dot_only.
  apply Rabs_le_inv in H. change (at80 (B2R y)) with (at40 (B2R y) * IZR grid)%R in H.
  pose proof grid_pos.
  pose proof (IZR_shiftr (- r) 40 ltac:(lia)) as [L _]. change (2 ^ 40) with grid in L.
  rewrite opp_IZR in L. rewrite (mult_IZR grid), !plus_IZR in H.
  rewrite ?plus_IZR, ?minus_IZR. split; apply Rmult_le_reg_r with (IZR grid); lra.
Qed.

(* ---------- the latest position that writes; 0, the padding, always does ---------- *)
Fixpoint latest (wr : nat -> bool) (t : nat) : nat := match t with O => O | S i => if wr t then
  t else latest wr i end.
Lemma latest_le wr t : (latest wr t <= t)%nat.
Proof. induction t; cbn [latest]; [lia|]. destruct (wr (S t)); lia. Qed.
Lemma latest_writes wr t : latest wr t = O \/ wr (latest wr t) = true.
Proof. induction t; cbn [latest]; [now left|]. destruct (wr (S t)) eqn:E; [now right|exact IHt].
Qed.
Lemma after_latest wr t i : (latest wr t < i <= t)%nat -> wr i = false.
Proof.
  induction t as [|t IH]; cbn [latest]; intros H; [lia|]. destruct (wr (S t)) eqn:E; [lia|].
  destruct (Nat.eq_dec i (S t)) as [->|]; [exact E|]. apply IH. lia.
Qed.
Lemma counts_latest h cls j (wr : nat -> bool) t : is_own h j = true ->
  (forall i, (1 <= i <= t)%nat -> if wr i then set_of h j (cls i) <> None
    else set_of h j (cls i) = None /\ step_of h j (cls i) = 0) ->
  counts h cls t j = match latest wr t with O => 0 | S _ => match set_of h j (cls (latest wr t))
    with Some v => v | None => 0 end end.
Proof.
  intros HO. induction t as [|t IH]; intros H; [reflexivity|]. rewrite own_next by exact HO.
  cbn [latest]. pose proof (H (S t) ltac:(lia)) as H0. unfold own_moved. destruct (wr (S t)).
  - destruct (set_of h j (cls (S t))); [reflexivity|congruence].
  - destruct H0 as [-> ->]. rewrite IH by (intros; apply H; lia). lia.
Qed.
(* ---------- the first position that writes; 0 if none does ---------- *)
Fixpoint first_of (wr : nat -> bool) (t : nat) : nat := match t with O => O | S i =>
  match first_of wr i with O => if wr t then t else O | k => k end end.
Lemma first_le wr t : (first_of wr t <= t)%nat.
Proof. induction t; cbn [first_of]; [lia|]. destruct (first_of wr t); [destruct (wr (S t))|];
  lia. Qed.
Lemma first_writes wr t : first_of wr t = O \/ wr (first_of wr t) = true.
Proof.
  induction t as [|t IH]; cbn [first_of]; [now left|].
  destruct (first_of wr t); [destruct (wr (S t)) eqn:E; [now right|now left]|].
  destruct IH as [IH|IH]; [discriminate|now right].
Qed.
Lemma before_first wr t i : (1 <= i <= t)%nat -> wr i = true ->
  (1 <= first_of wr t <= i)%nat.
Proof.
  induction t as [|t IH]; cbn [first_of]; intros H W; [lia|].
  destruct (Nat.eq_dec i (S t)) as [->|N].
  - pose proof (first_le wr t). destruct (first_of wr t); [rewrite W|]; lia.
  - specialize (IH ltac:(lia) W). destruct (first_of wr t); lia.
Qed.
(* a counter that moves only while another is 0, which each class that writes sets *)
Lemma counts_first h cls j g (wr : nat -> bool) t : rule_said h j = Once g -> is_own h g = true ->
  (forall i, (1 <= i <= t)%nat -> if wr i
    then set_of h j (cls i) <> None /\ exists v, set_of h g (cls i) = Some v /\ v <> 0
    else (set_of h j (cls i) = None /\ step_of h j (cls i) = 0) /\
         set_of h g (cls i) = None /\ step_of h g (cls i) = 0) ->
  (counts h cls t g = 0 <-> first_of wr t = O) /\
  counts h cls t j = match first_of wr t with O => 0 | S _ =>
    match set_of h j (cls (first_of wr t)) with Some v => v | None => 0 end end.
Proof.
  intros HR HG. induction t as [|t IH]; intros H; [now cbn [counts first_of]|].
  destruct (IH ltac:(intros; apply H; lia)) as [I1 I2]. pose proof (H (S t) ltac:(lia)) as H0.
  rewrite own_next by exact HG.
  assert (EJ : counts h cls (S t) j = if counts h cls t g =? 0
    then own_moved h j (cls (S t)) (counts h cls t j) else counts h cls t j)
    by (cbn [counts]; unfold moved, rule_of; now rewrite HR).
  rewrite EJ. cbn [first_of].
  destruct (first_of wr t) as [|k] eqn:EF.
  - rewrite (proj2 I1 eq_refl). cbn [Z.eqb]. rewrite I2. unfold own_moved.
    destruct (wr (S t)).
    + destruct H0 as [N [v [-> V]]]. split; [split; [contradiction|discriminate]|].
      destruct (set_of h j (cls (S t))); [reflexivity|congruence].
    + destruct H0 as [[-> ->] [-> ->]]. split; [split; reflexivity|reflexivity].
  - assert (NZ : counts h cls t g <> 0) by (intros E; apply I1 in E; discriminate).
    apply Z.eqb_neq in NZ as NB. rewrite NB. split; [|exact I2].
    split; [|discriminate]. unfold own_moved. destruct (wr (S t)).
    + destruct H0 as [_ [v [-> V]]]. intros; contradiction.
    + destruct H0 as [_ [-> ->]]. intros; lia.
Qed.
(* the latest position that writes, or the first *)
Definition found_at (first : bool) : (nat -> bool) -> nat -> nat :=
  if first then first_of else latest.
Lemma found_le first wr t : (found_at first wr t <= t)%nat.
Proof. destruct first; [apply first_le|apply latest_le]. Qed.
Lemma found_writes first wr t : found_at first wr t = O \/ wr (found_at first wr t) = true.
Proof. destruct first; [apply first_writes|apply latest_writes]. Qed.
(* ---------- delay lines: what a counter had d letters before ---------- *)
Fixpoint delayed (h : layer_hint) (d j : nat) : bool := match d with
  | O => is_own h j
  | S d => match rule_of h j with After i => delayed h d i | _ => false end end.
Lemma counts_delayed h cls d : forall j t, delayed h d j = true ->
  (forall i, (1 <= i <= t)%nat -> set_of h j (cls i) <> None) ->
  counts h cls t j = match (t - d)%nat with O => 0 | S _ => match set_of h j (cls (t - d)%nat)
    with Some v => v | None => 0 end end.
Proof.
  induction d as [|d IH]; intros j [|t] HD HS; cbn [delayed] in HD; try reflexivity.
  - rewrite own_next by exact HD. cbn [Nat.sub]. unfold own_moved.
    specialize (HS (S t) ltac:(lia)). destruct (set_of h j (cls (S t))); [reflexivity|congruence].
  - destruct (rule_of h j) as [|i|i] eqn:E; try discriminate. cbn [counts]. unfold moved.
    rewrite E. cbn [Nat.sub].
    assert (R : forall k, set_of h j k = set_of h i k).
    { intros k. unfold rule_of in E. destruct (rule_said h j) as [|i'|i']; try discriminate.
      destruct (same_rows h i' j) eqn:ES; [|discriminate]. injection E as ->.
      unfold same_rows in ES. apply andb_prop in ES as [_ ES]. unfold set_of.
      destruct (list_eq_dec maybe_eq _ _) as [->|]; [reflexivity|discriminate]. }
    rewrite (IH i t HD) by (intros a Ha; rewrite <- R; apply HS; lia). now rewrite R.
Qed.

Section Layer.
Variables (T : nat) (X : list (list box)) (h : layer_hint).
Notation span := (span T h).
(* what is known of a position and its class together; where a class cannot be at a position, what
   is known of the class *)
Definition meet_box (a b : box) : box :=
  let lo := Z.max (fst a) (fst b) in let hi := Z.min (snd a) (snd b) in
  if lo <=? hi then (lo, hi) else b.
Definition meet (A B : list box) : list box :=
  map (fun q => meet_box (fst q) (snd q)) (combine A B).
Lemma meet_sound A B x : inv A x -> inv B x -> inv (meet A B) x.
Proof.
  intros H. revert B. unfold meet, inv. induction H as [|a y A xs [F [L U]] H IH]; intros B HB;
    inversion HB as [|b y' B' xs' [_ [L' U']] HB']; subst; cbn; constructor; auto.
  unfold meet_box. destruct (Z.leb _ _); [|split; auto]. split; [exact F|]. cbn [fst snd].
  rewrite IZR_max, IZR_min. split; [apply Rmax_lub; assumption|apply Rmin_glb; assumption].
Qed.
(* of the scores at a position: the least and the largest of those that write, the largest of the
   others *)
Definition ends_of (l : list (bool * box)) : Z * Z * Z :=
  (fold_right (fun (e : bool * box) m => if fst e then Z.min (fst (snd e)) m else m) (8 * far) l,
   fold_right (fun (e : bool * box) m => if fst e then Z.max (snd (snd e)) m else m)
     (- (8 * far)) l,
   fold_right (fun (e : bool * box) m => if fst e then m else Z.max (snd (snd e)) m)
     (- (8 * far)) l).
Definition lies_between (writer : bool) (e : Z * Z * Z) (s : f32) : Prop :=
  let '(bot, top, non) := e in
  if writer then (IZR bot <= at40 (B2R s) <= IZR top)%R else (at40 (B2R s) <= IZR non)%R.
Lemma ends_of_sound l w b s : In (w, b) l -> inb b s -> lies_between w (ends_of l) s.
Proof.
  intros I [_ [Lb Ub]]. unfold ends_of, lies_between. destruct w.
  - assert (Z1 : fold_right (fun (e : bool * box) m => if fst e then Z.min (fst (snd e)) m else m)
      (8 * far) l <= fst b /\ snd b <= fold_right (fun (e : bool * box) m =>
      if fst e then Z.max (snd (snd e)) m else m) (- (8 * far)) l).
    { induction l as [|[w c] l IH]; [contradiction|]. cbn [fold_right fst snd].
      destruct I as [[= -> ->]|I]; [lia|]. specialize (IH I). destruct w; lia. }
    destruct Z1 as [A B]. apply IZR_le in A, B.
    split; [eapply Rle_trans; [exact A|exact Lb]|eapply Rle_trans; [exact Ub|exact B]].
  - assert (Z2 : snd b <= fold_right (fun (e : bool * box) m => if fst e then m else
      Z.max (snd (snd e)) m) (- (8 * far)) l).
    { induction l as [|[w c] l IH]; [contradiction|]. cbn [fold_right fst snd].
      destruct I as [[= -> ->]|I]; [lia|]. specialize (IH I). destruct w; lia. }
    apply IZR_le in Z2. eapply Rle_trans; [exact Ub|exact Z2].
Qed.
Definition score_of (q : list box) (writer : bool) (key : list box) : option (bool * box) :=
  match sum_box (combine q key) with
  | Some s => if sub s (- far, far) then Some (writer, s) else None | None => None end.
(* each position that writes is above all before it, and above all that do not write *)
Fixpoint rising (M top : Z) (ends : list (Z * Z * Z)) : bool :=
  match ends with [] => true
  | (bot, t, _) :: ends => (top + M <=? bot) && rising M (Z.max top t) ends end.
Definition in_order (M : Z) (ends : list (Z * Z * Z)) : bool :=
  let most := fold_right (fun e m => Z.max (snd e) m) (- (8 * far)) ends in
  forallb (fun e => most + M <=? fst (fst e)) ends && rising M (- (16 * far)) ends.
Notation end_at i ends := (nth i ends (0, 0, 0)).
(* the largest margin for which they are in order, and no more than is of use *)
Fixpoint room (top : Z) (ends : list (Z * Z * Z)) : Z :=
  match ends with [] => 64 * grid
  | (bot, t, _) :: ends => Z.min (bot - top) (room (Z.max top t) ends) end.
Definition margin_of (ends : list (Z * Z * Z)) : Z :=
  let most := fold_right (fun e m => Z.max (snd e) m) (- (8 * far)) ends in
  fold_right (fun e m => Z.min (fst (fst e) - most) m) (room (- (16 * far)) ends) ends.
Lemma rising_sound M ends : forall top, rising M top ends = true ->
  (forall j, (j < length ends)%nat -> top + M <= fst (fst (end_at j ends))) /\
  forall i j, (i < j < length ends)%nat ->
  snd (fst (end_at i ends)) + M <= fst (fst (end_at j ends)).
Proof.
  induction ends as [|[[b t] n] ends IH]; intros top H; cbn [rising length] in *; [split; lia|].
  apply andb_prop in H as [H1 H2]. apply Z.leb_le in H1. destruct (IH _ H2) as [A B].
  split; [intros [|j] Hj; cbn [nth fst]; [exact H1|specialize (A j ltac:(lia)); lia]|].
  intros i [|j] Hj; [lia|]. destruct i as [|i]; cbn [nth fst snd].
  - specialize (A j ltac:(lia)). lia.
  - apply B. lia.
Qed.
Lemma in_order_sound M ends : in_order M ends = true -> forall i j,
  (i < length ends)%nat -> (j < length ends)%nat ->
  snd (end_at i ends) + M <= fst (fst (end_at j ends)) /\
  ((i < j)%nat -> snd (fst (end_at i ends)) + M <= fst (fst (end_at j ends))).
Proof.
  unfold in_order. cbv zeta. intros H i j Hi Hj. apply andb_prop in H as [H1 H2].
  split; [|intros; apply (rising_sound _ _ _ H2); lia].
  rewrite forallb_forall in H1. specialize (H1 _ (nth_In _ (0, 0, 0) Hj)). apply Z.leb_le in H1.
  assert (G : snd (end_at i ends) <= fold_right (fun e m => Z.max (snd e) m) (- (8 * far)) ends).
  { clear -Hi. revert i Hi. induction ends as [|e ends IH]; intros [|i] Hi; cbn in *; try lia.
    specialize (IH i ltac:(lia)). lia. }
  lia.
Qed.
(* The latest position that writes has the largest score, by the margin. *)
Lemma latest_leads M ends (wr : nat -> bool) (s : nat -> f32) t : in_order M ends = true ->
  (t < length ends)%nat -> (forall i, (i <= t)%nat ->
    lies_between ((i =? 0)%nat || wr i) (end_at i ends) (s i)) ->
  forall i, (i <= t)%nat -> i <> latest wr t -> exists z, (at40 (B2R (s i)) <= IZR z)%R /\
    (IZR (z + M) <= at40 (B2R (s (latest wr t))))%R.
Proof.
  intros HO Ht SC i Hi N. set (L := latest wr t) in *. pose proof (latest_le wr t) as LL.
  fold L in LL. pose proof (SC i Hi) as Ci. pose proof (SC L LL) as CL.
  destruct (in_order_sound M ends HO i L ltac:(lia) ltac:(lia)) as [B1 B2].
  assert (WL : ((L =? 0)%nat || wr L) = true) by (destruct (latest_writes wr t) as [E|E];
    fold L in E; [rewrite E; reflexivity|rewrite E; apply orb_true_r]).
  rewrite WL in CL. unfold lies_between in *. destruct (end_at i ends) as [[boti topi] noni].
  destruct (end_at L ends) as [[botL topL] nonL]. cbn [fst snd] in *.
  destruct ((i =? 0)%nat || wr i) eqn:Wi.
  - exists topi. split; [apply Ci|]. assert (Hl : (i < L)%nat).
    { destruct (Nat.lt_ge_cases i L) as [|G]; [assumption|exfalso].
      apply orb_prop in Wi as [Wi|Wi]; [apply Nat.eqb_eq in Wi; lia|].
      rewrite (after_latest wr t i) in Wi by (fold L; lia). discriminate. }
    specialize (B2 Hl). apply IZR_le in B2. eapply Rle_trans; [exact B2|apply CL].
  - exists noni. split; [exact Ci|]. apply IZR_le in B1. eapply Rle_trans; [exact B1|apply CL].
Qed.
(* The first position that writes has the largest score, if those of positions that write fall;
   position 0, whose score lies in e0, is between them and all others. *)
Definition top_after (ends : list (Z * Z * Z)) : Z :=
  fold_right (fun e m => Z.max (snd (fst e)) m) (- (8 * far)) ends.
Definition most_other (ends : list (Z * Z * Z)) : Z :=
  fold_right (fun e m => Z.max (snd e) m) (- (8 * far)) ends.
Fixpoint falls (ends : list (Z * Z * Z)) : list Z := match ends with [] => []
  | e :: ends => (fst (fst e) - top_after ends) :: falls ends end.
Definition first_margin (e0 : box) (ends : list (Z * Z * Z)) : Z :=
  fold_right Z.min (64 * grid) ((fst e0 - most_other ends) ::
    map (fun e => fst (fst e) - snd e0) ends ++ falls ends).
Lemma least_of l m z : In z l -> fold_right Z.min m l <= z.
Proof. induction l as [|a l IH]; intros []; cbn [fold_right]; [lia|]. specialize (IH H). lia. Qed.
Lemma greatest_of {A} (f : A -> Z) l m a : In a l ->
  f a <= fold_right (fun e m => Z.max (f e) m) m l.
Proof. induction l as [|b l IH]; intros []; cbn [fold_right]; [subst; lia|]. specialize (IH H).
lia. Qed.
Lemma falls_sound ends : forall i j, (i < j < length ends)%nat ->
  nth i (falls ends) 0 + snd (fst (end_at j ends)) <= fst (fst (end_at i ends)) /\
  In (nth i (falls ends) 0) (falls ends).
Proof.
  induction ends as [|e ends IH]; intros [|i] [|j] H; cbn [length] in H; try lia;
    cbn [falls nth].
  - split; [|now left]. pose proof (greatest_of (fun e : Z * Z * Z => snd (fst e)) ends
      (- (8 * far)) (end_at j ends) ltac:(apply nth_In; lia)) as G. cbv beta in G.
    unfold top_after. lia.
  - destruct (IH i j ltac:(lia)) as [A B]. split; [exact A|now right].
Qed.
Lemma first_leads e0 ends (wr : nat -> bool) (s : nat -> f32) t : 0 < first_margin e0 ends ->
  (t <= length ends)%nat -> inb e0 (s O) -> (forall i, (1 <= i <= t)%nat ->
    lies_between (wr i) (end_at (i - 1) ends) (s i)) ->
  forall i, (i <= t)%nat -> i <> first_of wr t -> exists z, (at40 (B2R (s i)) <= IZR z)%R /\
    (IZR (z + first_margin e0 ends) <= at40 (B2R (s (first_of wr t))))%R.
Proof.
  intros HM Ht [_ [S0a S0b]] SC i Hi N. set (M := first_margin e0 ends) in *.
  assert (E0 : fst e0 <= snd e0) by (apply le_IZR; lra).
  pose proof (first_le wr t) as LL. pose proof (first_writes wr t) as LW.
  pose proof (before_first wr t) as BF. set (L := first_of wr t) in *.
  assert (M1 : M + most_other ends <= fst e0).
  { assert (I : M <= fst e0 - most_other ends) by (apply least_of; now left). lia. }
  assert (OTHER : (1 <= i)%nat -> wr i = false -> snd (end_at (i - 1) ends) <= most_other ends).
  { intros H1 _. apply (greatest_of (fun e : Z * Z * Z => snd e)), nth_In. lia. }
  destruct (Nat.eq_dec L 0) as [Z0|NZ].
  - rewrite Z0 in *. destruct i as [|i]; [congruence|].
    assert (W : wr (S i) = false).
    { destruct (wr (S i)) eqn:W; [|reflexivity]. specialize (BF (S i) ltac:(lia) W). lia. }
    specialize (SC (S i) ltac:(lia)). rewrite W in SC. specialize (OTHER ltac:(lia) W).
    unfold lies_between in SC. destruct (end_at (S i - 1) ends) as [[bot top] non].
    cbn [snd] in OTHER. exists non. split; [exact SC|].
    assert (K : non + M <= fst e0) by lia. apply IZR_le in K.
    eapply Rle_trans; [exact K|exact S0a].
  - destruct LW as [|LW]; [contradiction|].
    pose proof (SC L ltac:(lia)) as CL. rewrite LW in CL.
    assert (ML : M + snd e0 <= fst (fst (end_at (L - 1) ends))).
    { assert (I : M <= fst (fst (end_at (L - 1) ends)) - snd e0); [|lia].
      apply least_of. right. apply in_or_app. left.
      apply (in_map (fun e : Z * Z * Z => fst (fst e) - snd e0)), nth_In. lia. }
    assert (DONE : forall z, (at40 (B2R (s i)) <= IZR z)%R ->
      z + M <= fst (fst (end_at (L - 1) ends)) -> exists z, (at40 (B2R (s i)) <= IZR z)%R /\
      (IZR (z + M) <= at40 (B2R (s L)))%R).
    { intros z Hz K. exists z. split; [exact Hz|]. apply IZR_le in K.
      eapply Rle_trans; [exact K|]. unfold lies_between in CL.
      destruct (end_at (L - 1) ends) as [[bot top] non]. apply CL. }
    destruct i as [|i]; [apply (DONE (snd e0)); [exact S0b|lia]|].
    specialize (SC (S i) ltac:(lia)). destruct (wr (S i)) eqn:W.
    + specialize (BF (S i) ltac:(lia) W).
      destruct (falls_sound ends (L - 1) (S i - 1) ltac:(lia)) as [F1 F2].
      assert (I : M <= nth (L - 1) (falls ends) 0).
      { apply least_of. right. apply in_or_app. now right. }
      unfold lies_between in SC. destruct (end_at (S i - 1) ends) as [[bot top] non].
      cbn [fst snd] in F1. apply (DONE top); [apply SC|]. lia.
    + specialize (OTHER ltac:(lia) eq_refl). unfold lies_between in SC.
      destruct (end_at (S i - 1) ends) as [[bot top] non]. cbn [snd] in OTHER.
      apply (DONE non); [exact SC|lia].
Qed.
(* the counter is set by the classes that write, to marks: value = that of the padding + unit *
   mark, give or take *)
Definition base_of (v0 : list box) (c : nat) : Z :=
  let b := nth c v0 zero_box in (fst b + snd b) / 2.
Definition copy_slack (v0 : list box) (vx : list (list box)) (c : nat) (ch : channel) : Z :=
  fold_right (fun k m => match set_of h (Number ch) k with
    | Some mark => let g := base_of v0 c + UnitOf ch * mark in
                   Z.max (off_by (nth c (nth k vx []) zero_box) g) m
    | None => m end) (off_by (nth c v0 zero_box) (base_of v0 c)) (seq 0 (length X)).
Definition copied_fits (wr : nat -> bool) (v0 : list box) (vx : list (list box)) (c : nat) (ch :
  channel) : bool :=
  let base := base_of v0 c in let dl := copy_slack v0 vx c ch in
  sub (nth c v0 zero_box) (base - dl, base + dl) &&
  forallb (fun k => match set_of h (Number ch) k with
    | Some m => wr k && let g := base + UnitOf ch * m in
                        sub (nth c (nth k vx []) zero_box) (g - dl, g + dl)
    | None => negb (wr k) && (step_of h (Number ch) k =? 0) end) (seq 0 (length X)).
Definition copied_form (w : box) (f : Z) (v0 : list box) (vx : list (list box)) (c : nat) (ch :
  channel) : option form :=
  let e := Z.max (snd w - grid) (grid - fst w) in let V := Z.max (size_of_box (nth c v0 zero_box))
    (largest c vx) in
  if (0 <=? e) && (0 <=? f) && has_bound (Z.of_nat (S T)) (copy_size T e f V) then
    Some (copy_form (Number ch) (UnitOf ch) (base_of v0 c) (copy_off T e f V (copy_slack v0 vx c
      ch) + rounding (Z.of_nat (S T)) (copy_size T e f V)))
  else None.
(* what the head adds to the stream, if it copies these values *)
Definition copied_forms (bh : bhead) (w : box) (f : Z) (v0 : list box) (vx : list (list box))
  (chs : list channel) : option (list form) :=
  match mapM (fun c => copied_form w f v0 vx c (nth c chs no_channel))
         (seq 0 (length (BV bh))) with
  | Some ys => mapM (fun C => form_sum span (combine ys C)) (BC bh) | None => None end.
Lemma copied_forms_sound n t L bh th w1 f1 v0 vx chs Fs cls (v : stream) (w : nat -> f32) y z :
  (t < n <= S T)%nat -> (L <= t)%nat -> inh bh th ->
  copied_forms bh w1 f1 v0 vx chs = Some Fs -> length vx = length X -> inv v0 (v O) ->
  (forall i, (1 <= i < n)%nat -> (cls i < length X)%nat /\ inv (nth (cls i) vx []) (v i)) ->
  (forall c, (c < length (BV bh))%nat -> let ch := nth c chs no_channel in
    (Rabs (at40 (B2R (at_channel c (v L))) - IZR (base_of v0 c + UnitOf ch *
      counts h cls t (Number ch))) <= IZR (copy_slack v0 vx c ch))%R) ->
  inb w1 (w L) -> (forall i, i <> L -> is_finite (w i) = true /\
    (Rabs (at40 (B2R (w i))) <= IZR f1)%R) ->
  each_sum (fun c => map (fun i => (w i, at_channel c (v i))) (seq 0 n)) (seq 0 (length (WV th))) y
  -> times y (WC th) z -> infs Fs (counts h cls t) z.
Proof.
  intros Hn LL [_ [_ [IV IC]]] HP LV V0 VL VG W1 WO Hy HC. unfold copied_forms in HP.
  destruct (mapM _ (seq 0 (length (BV bh)))) as [yf|] eqn:EY; [|discriminate].
  assert (IY : infs yf (counts h cls t) y).
  { assert (LB : length (BV bh) = length (WV th)) by apply (Forall2_len _ _ _ IV).
    rewrite LB in EY, VG. apply mapM_some in EY. unfold each_sum in Hy. unfold infs.
    assert (G : forall l yb y, (forall c, In c l -> In c (seq 0 (length (WV th)))) ->
       Forall2 (fun F c => copied_form w1 f1 v0 vx c (nth c chs no_channel) = Some F) yb l
         ->
       Forall2 (fun c r => sums (map (fun i => (w i, at_channel c (v i))) (seq 0 n)) r) l y ->
         Forall2 (fun F r => inf F (counts h cls t) r) yb y).
    2: { eapply G; [|exact EY|exact Hy]. auto. }
    intros l. induction l as [|c l IH]; intros yb' y' HI H1 H2; inversion H1 as [|F c' yb'' l' EF
      H1']; subst; inversion H2 as [|c'' r l'' y'' SS H2']; subst; constructor.
    2: { eapply IH; eauto. intros; apply HI; now right. }
    assert (IC0 := HI c (or_introl eq_refl)). apply in_seq in IC0.
    specialize (VG c ltac:(lia)). cbv zeta in VG. clear IH H1 H2 H1' H2' HI IC0.
    set (ch := nth c chs no_channel) in *. set (base := base_of v0 c) in *.
    set (dl := copy_slack v0 vx c ch) in *.
    unfold copied_form in EF. cbv zeta in EF. fold base dl in EF.
    set (e := Z.max (snd w1 - grid) (grid - fst w1)) in *. set (V := Z.max (size_of_box (nth c v0
      zero_box)) (largest c vx)) in *.
    destruct ((0 <=? e) && (0 <=? f1) && has_bound (Z.of_nat (S T)) (copy_size T e f1 V)) eqn:CC;
      [|discriminate]. apply some_inj in EF. subst F.
    apply andb_prop in CC as [CC HBd]. apply andb_prop in CC as [e_ f_]. apply Z.leb_le in e_, f_.
    apply copy_form_sound with (n := counts h cls t); [|];
    destruct (copy_sound T n L e f1 V dl (base + UnitOf ch * counts h cls t (Number
      ch)) w (fun i => at_channel c (v i)) r ltac:(lia) e_ f_) as [Fy Ey]; try assumption.
    all: try (unfold V, size_of_box; lia).
    all: try (intros i Hi N; now apply WO).
    all: try (destruct W1 as [_ [Wa Wb]]; apply Rabs_le; assert (E1 : grid - fst w1 <= e) by
      (unfold e; lia); assert (E2 : snd w1 - grid <= e) by (unfold e; lia); apply IZR_le in
      E1, E2; rewrite minus_IZR in E1, E2; lra).
    all: intros i Hi; split; [destruct (Nat.eq_dec i L) as [->|N]; [apply W1|now apply WO]|].
    all: destruct i as [|i]; [split; [apply (inv_at _ _ c V0)|]; eapply Rle_trans;
      [apply size_of_box_sound, (inv_at _ _ c V0)|apply IZR_le; unfold V; lia]|].
    all: destruct (VL (S i) ltac:(lia)) as [C1 I]; split; [apply (inv_at _ _ c I)|];
      eapply Rle_trans; [apply size_of_box_sound, (inv_at _ _ c I)|apply IZR_le].
    all: assert (LG : size_of_box (nth c (nth (cls (S i)) vx []) zero_box) <= largest c vx) by
      (apply largest_sound, nth_In; lia); unfold V; lia. }
  eapply (out_sound T h); [|exact IY|exact IC|exact HP|exact HC]. lia.
Qed.
(* a value that is copied lies where its counter says *)
Lemma copied_value wr v0 vx c ch cls (v : stream) L count : copied_fits wr v0 vx c ch = true ->
  inv v0 (v O) -> ((1 <= L)%nat -> (cls L < length X)%nat /\ inv (nth (cls L) vx []) (v L)) ->
  (L = O \/ wr (cls L) = true) ->
  count = match L with O => 0 | S _ => match set_of h (Number ch) (cls L) with Some v => v
    | None => 0 end end ->
  (Rabs (at40 (B2R (at_channel c (v L))) - IZR (base_of v0 c + UnitOf ch * count)) <=
    IZR (copy_slack v0 vx c ch))%R.
Proof.
  intros A5 V0 VL LW ->. unfold copied_fits in A5. cbv zeta in A5.
  apply andb_prop in A5 as [B0 BX]. rewrite forallb_forall in BX. destruct L as [|L].
  - rewrite Z.mul_0_r, Z.add_0_r. eapply near; [exact B0|now apply inv_at].
  - destruct LW as [|LW]; [discriminate|]. destruct (VL ltac:(lia)) as [C1 IL].
    specialize (BX (cls (S L)) ltac:(apply in_seq; lia)).
    destruct (set_of h (Number ch) (cls (S L))) as [mk|].
    + apply andb_prop in BX as [_ BX]. eapply near; [exact BX|now apply inv_at].
    + rewrite LW in BX. discriminate.
Qed.
(* the counter of a value says what the latest, or the first, writer has *)
Definition way_fits (first : bool) (wr : nat -> bool) (j : nat) : bool :=
  if first then match rule_said h j with
    | Once g => is_own h g && forallb (fun k => match set_of h g k with
      | Some v => wr k && negb (v =? 0) | None => negb (wr k) && (step_of h g k =? 0) end)
      (seq 0 (length X))
    | _ => false end
  else is_own h j.
Lemma counts_found first wr v0 vx c ch cls t : way_fits first wr (Number ch) = true ->
  copied_fits wr v0 vx c ch = true -> (forall i, (1 <= i <= t)%nat -> (cls i < length X)%nat) ->
  let L := found_at first (fun i => wr (cls i)) t in counts h cls t (Number ch) =
  match L with O => 0 | S _ => match set_of h (Number ch) (cls L) with Some v => v | None => 0 end
  end.
Proof.
  intros HW HC HX L. unfold copied_fits in HC. cbv zeta in HC. apply andb_prop in HC as [_ HC].
  rewrite forallb_forall in HC.
  assert (CF : forall i, (1 <= i <= t)%nat -> if wr (cls i)
    then set_of h (Number ch) (cls i) <> None
    else set_of h (Number ch) (cls i) = None /\ step_of h (Number ch) (cls i) = 0).
  { intros i Hi. specialize (HC (cls i) ltac:(apply in_seq; specialize (HX i Hi); lia)).
    destruct (set_of h (Number ch) (cls i)).
    - apply andb_prop in HC as [-> _]. discriminate.
    - apply andb_prop in HC as [Bw Bs]. apply negb_true_iff in Bw. rewrite Bw.
      split; [reflexivity|now apply Z.eqb_eq]. }
  unfold L, way_fits, found_at in *. destruct first.
  - destruct (rule_said h (Number ch)) as [| |g] eqn:ER; try discriminate.
    apply andb_prop in HW as [HG HW]. rewrite forallb_forall in HW.
    apply (counts_first h cls (Number ch) g (fun i => wr (cls i)) t ER HG).
    intros i Hi. specialize (CF i Hi). specialize (HW (cls i) ltac:(apply in_seq;
      specialize (HX i Hi); lia)).
    destruct (set_of h g (cls i)) as [v|] eqn:EG; apply andb_prop in HW as [W1 W2].
    + rewrite W1 in *. split; [exact CF|]. exists v. split; [reflexivity|].
      now apply negb_true_iff, Z.eqb_neq in W2.
    + apply negb_true_iff in W1. rewrite W1 in *. split; [exact CF|]. split; [reflexivity|].
      now apply Z.eqb_eq.
  - now apply (counts_latest h cls (Number ch) (fun i => wr (cls i)) t HW).
Qed.
Definition copied_out (first : bool) (bh : bhead) (hh : copy_hint) (M : Z) (wr : nat -> bool)
  (v0 : list box) (vx : list (list box)) : option (list form) :=
  match copy_shares T M with None => None | Some (w, f) =>
  if (0 <? M) && forallb (fun c => let ch := nth c (Copied hh) no_channel in
       way_fits first wr (Number ch) && copied_fits wr v0 vx c ch) (seq 0 (length (BV bh)))
  then copied_forms bh w f v0 vx (Copied hh) else None end.
Lemma copied_out_sound first ex n t bh th hh M wr v0 vx Fs cls (v : stream) s w y z : is_exp ex ->
  (t < n <= S T)%nat -> inh bh th -> copied_out first bh hh M wr v0 vx = Some Fs ->
  length vx = length X -> inv v0 (v O) ->
  (forall i, (1 <= i < n)%nat -> (cls i < length X)%nat /\ inv (nth (cls i) vx []) (v i)) ->
  (forall i, (i <= t)%nat -> inb (- far, far) (s i)) ->
  (forall i, (i <= t)%nat -> i <> found_at first (fun i => wr (cls i)) t ->
    exists a, (at40 (B2R (s i)) <= IZR a)%R /\
    (IZR (a + M) <= at40 (B2R (s (found_at first (fun i => wr (cls i)) t))))%R) ->
  softmax ex n t s w ->
  each_sum (fun c => map (fun i => (w i, at_channel c (v i))) (seq 0 n)) (seq 0 (length (WV th))) y
  -> times y (WC th) z -> infs Fs (counts h cls t) z.
Proof.
  intros HX Hn IH HP LV V0 VL SB HS Hw Hy HC. unfold copied_out in HP.
  destruct (copy_shares T M) as [[w1 f1]|] eqn:EW; [|discriminate].
  destruct andb eqn:A; [|discriminate]. apply andb_prop in A as [A3 A5]. apply Z.ltb_lt in A3.
  rewrite forallb_forall in A5. set (wri := fun i => wr (cls i)) in *.
  set (L := found_at first wri t) in *.
  pose proof (found_le first wri t) as LL. fold L in LL.
  destruct (copy_shares_sound ex T n t L M s w w1 f1 HX A3 ltac:(lia) ltac:(lia) EW SB
    HS Hw) as [W1 WO].
  eapply copied_forms_sound; eauto. intros c Hc ch.
  specialize (A5 c ltac:(apply in_seq; lia)). cbv zeta in A5. fold ch in A5.
  apply andb_prop in A5 as [A5 A6].
  eapply (copied_value wr); [exact A6|exact V0|intros; apply VL; lia| |].
  - apply (found_writes first wri t).
  - apply (counts_found first wr v0 vx c ch cls t A5 A6). intros i Hi. apply VL. lia.
Qed.
(* the same for the position a fixed distance back *)
Definition back_out (d : nat) (bh : bhead) (w : box) (f : Z) (chs : list channel) (v0 : list box)
  (vx : list (list box)) : option (list form) :=
  if forallb (fun c => let ch := nth c chs no_channel in
       delayed h d (Number ch) && copied_fits (fun _ => true) v0 vx c ch) (seq 0 (length (BV bh)))
  then copied_forms bh w f v0 vx chs else None.
Lemma back_out_sound d n t bh th w1 f1 chs v0 vx Fs cls (v : stream) (w : nat -> f32) y z :
  (t < n <= S T)%nat -> inh bh th -> back_out d bh w1 f1 chs v0 vx = Some Fs ->
  length vx = length X -> inv v0 (v O) ->
  (forall i, (1 <= i < n)%nat -> (cls i < length X)%nat /\ inv (nth (cls i) vx []) (v i)) ->
  inb w1 (w (t - d)%nat) -> (forall i, i <> (t - d)%nat -> is_finite (w i) = true /\
    (Rabs (at40 (B2R (w i))) <= IZR f1)%R) ->
  each_sum (fun c => map (fun i => (w i, at_channel c (v i))) (seq 0 n)) (seq 0 (length (WV th))) y
  -> times y (WC th) z -> infs Fs (counts h cls t) z.
Proof.
  intros Hn IH HP LV V0 VL W1 WO Hy HC. unfold back_out in HP.
  destruct forallb eqn:A; [|discriminate]. rewrite forallb_forall in A.
  eapply (copied_forms_sound n t (t - d)); eauto; [lia|]. intros c Hc ch.
  specialize (A c ltac:(apply in_seq; lia)). cbv zeta in A. fold ch in A.
  apply andb_prop in A as [A1 A2].
  eapply (copied_value (fun _ => true)); [exact A2|exact V0|intros; apply VL; lia|now right|].
  apply (counts_delayed h cls d (Number ch) t A1). intros i Hi. unfold copied_fits in A2.
  cbv zeta in A2. apply andb_prop in A2 as [_ A2]. rewrite forallb_forall in A2.
  specialize (A2 (cls i) ltac:(apply in_seq; destruct (VL i ltac:(lia)); lia)).
  destruct (set_of h (Number ch) (cls i)); discriminate.
Qed.
End Layer.
